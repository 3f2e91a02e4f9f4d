//! Scores by the part of the storage that the pod's unbound claims would take: `Score` of the plugin. Start at [`by_row`].

use nodesift_resource_scores::{Shape, rounded};
use nodesift_sdk::node_selector::Matcher;

use crate::Delayed;
use crate::claims::Claims;
use crate::matching::{self, ClassVolumes};
use crate::provisioning;
use crate::rows::Rows;

/// All of the storage, in per cent.
const ALL: i64 = 100;

/// The claims of one class for which volumes are provisioned, as one: a pod may have many. Requests for volumes of the same storage are added
/// up, and its size is that of the last one.
struct Provisioned {
    class: String,
    /// Per row bytes that they ask for.
    requested: Vec<i64>,
    /// Per row bytes of the storage, as of [`provisioning::capacities`]; none where they have other volumes.
    capacities: Vec<Option<i64>>,
}

impl Provisioned {
    fn new(class: String, rows: usize) -> Self {
        Self { class, requested: vec![0; rows], capacities: vec![None; rows] }
    }

    /// Adds a claim that asks for so many bytes, with the storage of each row.
    fn add(&mut self, bytes: i64, capacities: Vec<Option<i64>>) {
        let sums = self.requested.iter_mut().zip(&mut self.capacities);
        for ((requested, of_class), capacity) in sums.zip(capacities) {
            if capacity.is_some() {
                *requested = requested.wrapping_add(bytes);
                *of_class = capacity;
            }
        }
    }

    fn of_row(&self, row: usize) -> Option<(i64, i64)> {
        Some((*self.requested.get(row)?, (*self.capacities.get(row)?)?))
    }
}

/// The score per row: the mean over classes of the shape at the used part, from existing volumes where a claim gets one, otherwise from
/// storage of which volumes are provisioned. 0 where neither is known. What rows have that do not fit does not matter.
pub(crate) fn by_row(rows: usize, shape: &Shape) -> Vec<i64> {
    let delayed = Claims::for_pod().map(|claims| claims.delayed).unwrap_or_default();
    if delayed.is_empty() {
        return vec![0; rows];
    }
    let mut open = Rows::new(rows);
    let Delayed { selected, to_match } = Delayed::divide(&mut open, delayed);
    let Ok(found) = matching::find(&open, to_match) else { return vec![0; rows] };
    let all = open.open().to_vec();
    let to_provision = selected.into_iter().map(|claim| (claim, all.clone())).chain(found.unmatched);
    let (mut matcher, mut provisioned) = (Matcher::new(rows), Vec::<Provisioned>::new());
    for (claim, needed) in to_provision {
        let Some(capacities) = provisioning::capacities(&mut matcher, &claim, &needed) else { continue };
        let class = claim.class_name.unwrap_or_default();
        let index = provisioned.iter().position(|known| known.class == class).unwrap_or_else(|| {
            provisioned.push(Provisioned::new(class, rows));
            provisioned.len() - 1
        });
        if let Some(of_class) = provisioned.get_mut(index) {
            of_class.add(claim.requested.unwrap_or(0), capacities);
        }
    }
    (0..rows).map(|row| of_row(&found.classes, &provisioned, row, shape)).collect()
}

fn of_row(classes: &[ClassVolumes], provisioned: &[Provisioned], row: usize, shape: &Shape) -> i64 {
    let mut sums: Vec<(i64, i64)> = classes.iter().filter_map(|class| class.taken(row)).collect();
    if sums.is_empty() {
        sums.extend(provisioned.iter().filter_map(|class| class.of_row(row)));
    }
    mean(sums.into_iter(), shape)
}

/// The mean of the scores of classes, by bytes that are asked for and bytes that there are.
fn mean(classes: impl ExactSizeIterator<Item = (i64, i64)>, shape: &Shape) -> i64 {
    let count = i64::try_from(classes.len()).unwrap_or(i64::MAX);
    if count == 0 {
        return 0;
    }
    let score = |(requested, capacity): (i64, i64)| match capacity == 0 || requested > capacity {
        true => shape.at(ALL),
        // Wraps, as Go does.
        false => shape.at(requested.wrapping_mul(ALL).wrapping_div(capacity)),
    };
    rounded(classes.map(score).sum(), count)
}
