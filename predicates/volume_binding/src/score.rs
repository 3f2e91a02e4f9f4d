//! Scores by the part of the storage that the pod's unbound claims would take: `Score` of the plugin. Start at [`by_row`].

use nodesift_resource_scores::{Shape, rounded};

use crate::Delayed;
use crate::claims::Claims;
use crate::matching::{self, ClassVolumes};
use crate::provisioning;
use crate::rows::Rows;

/// All of the storage, in per cent.
const ALL: i64 = 100;

/// A claim for which a volume is provisioned.
struct Provisioned {
    class: String,
    /// Bytes that it asks for.
    requested: i64,
    /// Per row bytes of the storage, as of [`provisioning::capacities`]; none where it has another volume.
    capacities: Vec<Option<i64>>,
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
    let provisioned: Vec<Provisioned> = to_provision
        .filter_map(|(claim, needed)| {
            let mut capacities = provisioning::capacities(rows, &claim)?;
            for (capacity, needed) in capacities.iter_mut().zip(needed) {
                *capacity = capacity.filter(|_| needed == 1);
            }
            Some(Provisioned { class: claim.class_name?, requested: claim.requested.unwrap_or(0), capacities })
        })
        .collect();
    (0..rows).map(|row| of_row(&found.classes, &provisioned, row, shape)).collect()
}

fn of_row(classes: &[ClassVolumes], provisioned: &[Provisioned], row: usize, shape: &Shape) -> i64 {
    let bound: Vec<(i64, i64)> = classes.iter().filter_map(|class| class.taken(row)).collect();
    if !bound.is_empty() {
        return mean(bound.into_iter(), shape);
    }
    // Of one class there are requests for volumes of the same storage: they are added up, and its size is that of the last one.
    let mut by_class: Vec<(&str, i64, i64)> = Vec::new();
    for claim in provisioned {
        let Some(capacity) = claim.capacities.get(row).copied().flatten() else { continue };
        match by_class.iter_mut().find(|(class, ..)| *class == claim.class) {
            Some((_, requested, of_class)) => {
                *requested = requested.wrapping_add(claim.requested);
                *of_class = capacity;
            }
            None => by_class.push((&claim.class, claim.requested, capacity)),
        }
    }
    mean(by_class.into_iter().map(|(_, requested, capacity)| (requested, capacity)), shape)
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
