//! Finds existing volumes for unbound claims, per node: `findMatchingVolumes` of the plugin and `FindMatchingVolume` in
//! k8s.io/component-helpers/storage/volume. Start at [`find`].
//!
//! Conditions that do not depend on the node are checked once per claim and volume. Per volume only the rows are visited
//! that its node affinity matches: clusters with local volumes have some for each node.

use std::collections::BTreeMap;

use nodesift_sdk::columns::cluster_storage::{self, Claim, ExactSize, ExactSizes, Volume};
use nodesift_sdk::columns::pod_volumes;
use nodesift_sdk::label_selector::Selector;
use nodesift_sdk::node_selector::Matcher;

use crate::bound;
use crate::rows::Rows;

/// The phase of a volume that is not bound.
const AVAILABLE: &str = "Available";

/// Marks a row without an assigned volume.
const NONE: usize = usize::MAX;

/// Volumes that were found for claims.
#[derive(Default)]
pub(crate) struct Found {
    /// Each claim with a column: 1 in the open rows without a volume for it, else 0.
    pub(crate) unmatched: Vec<(Claim, Vec<u8>)>,
    /// The volumes, by class.
    pub(crate) classes: Vec<ClassVolumes>,
}

/// The candidate volumes of one StorageClass, and which of them are assigned to claims.
pub(crate) struct ClassVolumes {
    class: String,
    volumes: Vec<Volume>,
    /// The size of each volume.
    sizes: Vec<ExactSize>,
    /// Per volume, the rows that its node affinity matches; computed on first use.
    matching: Vec<Option<Matching>>,
    /// The index of each volume by its name, once a second claim has candidates.
    by_name: BTreeMap<String, usize>,
    /// Per claim that was matched, the index of the assigned volume or [`NONE`]; one entry per row.
    assigned: Vec<Vec<usize>>,
    /// Bytes that these claims ask for, in the same order.
    requested: Vec<i64>,
}

/// The rows that the node affinity of a volume matches.
enum Matching {
    All,
    /// Only these rows, ascending.
    Some(Vec<u32>),
}

/// The rows in which a claim has no volume yet.
struct Search {
    /// 1 in these rows, else 0.
    rows: Vec<u8>,
    /// How many they are.
    left: usize,
}

/// Assigns volumes to claims in the open rows, the claim with the smallest request first.
///
/// # Errors
///
/// The error text of kube-scheduler for an invalid selector. It applies to all open rows.
pub(crate) fn find(rows: &Rows, claims: Vec<Claim>) -> Result<Found, String> {
    // The facts do not change during a call, so every claim has its sizes.
    let sized = |claim: Claim| cluster_storage::exact_sizes_for(&claim.name).map(|sizes| (claim, sizes));
    let mut claims: Vec<(Claim, ExactSizes)> = claims.into_iter().filter_map(sized).collect();
    claims.sort_by_key(|(_, sizes)| sizes.requested);
    let mut matcher = Matcher::new(rows.len());
    let mut classes: Vec<ClassVolumes> = Vec::new();
    let mut unmatched = Vec::new();
    if !rows.open().contains(&1) {
        return Ok(Found::default());
    }
    for (claim, sizes) in claims {
        let class = claim.class_name.clone().unwrap_or_default();
        let selector = claim.selector.clone().map(|selector| Selector::read(Some(selector))).transpose();
        let selector = selector.map_err(|error| {
            let (namespace, _, _) = pod_volumes::owner();
            format!("error creating internal label selector for claim: {namespace}/{}: {error}", claim.name)
        })?;
        let volumes = cluster_storage::volumes_for(&claim.name);
        let index = classes.iter().position(|known| known.class == class).unwrap_or_else(|| {
            classes.push(ClassVolumes::new(class));
            classes.len() - 1
        });
        if let Some(class) = classes.get_mut(index) {
            let without = class.assign_to_claim(rows, &mut matcher, (&claim, &sizes), selector.as_ref(), volumes);
            unmatched.push((claim, without));
        }
    }
    Ok(Found { unmatched, classes })
}

impl ClassVolumes {
    fn new(class: String) -> Self {
        let (volumes, sizes, matching) = (Vec::new(), Vec::new(), Vec::new());
        let (assigned, requested) = (Vec::new(), Vec::new());
        Self { class, volumes, sizes, matching, by_name: BTreeMap::new(), assigned, requested }
    }

    /// Bytes that the claims with a volume in the row ask for, and bytes of these volumes; none where no claim has one.
    pub(crate) fn taken(&self, row: usize) -> Option<(i64, i64)> {
        let assigned =
            self.assigned.iter().map(|assigned| assigned.get(row).and_then(|index| self.volumes.get(*index)));
        let volumes = self.requested.iter().zip(assigned).filter_map(|(requested, volume)| Some((*requested, volume?)));
        let pairs = volumes.map(|(requested, volume)| (requested, volume.capacity));
        pairs.reduce(|sums, pair| (sums.0.wrapping_add(pair.0), sums.1.wrapping_add(pair.1)))
    }

    /// Assigns a volume to the claim in every open row. Returns 1 in the open rows without a volume, else 0.
    fn assign_to_claim(
        &mut self,
        rows: &Rows,
        matcher: &mut Matcher,
        (claim, sizes): (&Claim, &ExactSizes),
        selector: Option<&Selector>,
        volumes: Vec<Volume>,
    ) -> Vec<u8> {
        let mut reserved = Vec::new();
        let mut free = Vec::new();
        // No candidate is there twice, so those of the first claim are all new.
        let are_new = self.volumes.is_empty();
        let sized = volumes.into_iter().zip(sizes.capacities.iter().copied());
        let large = sized.filter(|(_, size)| *size >= sizes.requested);
        for (volume, size) in large.filter(|(volume, _)| has_required_properties(claim, volume)) {
            // The candidates exclude volumes that are reserved for other claims.
            let is_reserved = volume.claim_ref.is_some();
            if is_reserved || is_available(claim, selector, &volume) {
                let index = self.add(volume, size, are_new);
                if is_reserved { reserved.push(index) } else { free.push(index) }
            }
        }
        // The smallest volume first; volumes of equal size by name.
        free.sort_by_key(|index| self.sizes.get(*index).copied());
        let mut without = rows.open().to_vec();
        let mut assigned = vec![NONE; rows.len()];
        let left = without.iter().filter(|open| **open == 1).count();
        let mut search = Search { rows: without.clone(), left };
        // With a reserved volume there is no other choice, even where its node affinity does not match.
        for index in reserved {
            self.assign(index, matcher, &mut assigned, &mut without, &mut search);
            self.give_up(index, &mut search);
        }
        for index in free {
            if search.left == 0 {
                break;
            }
            self.assign(index, matcher, &mut assigned, &mut without, &mut search);
        }
        self.assigned.push(assigned);
        self.requested.push(claim.requested.unwrap_or(0));
        without
    }

    /// Assigns a volume in the rows without one that its node affinity matches, unless it is assigned to another claim there.
    fn assign(
        &mut self,
        volume: usize,
        matcher: &mut Matcher,
        assigned: &mut [usize],
        without: &mut [u8],
        search: &mut Search,
    ) {
        self.compute_matching(volume, matcher);
        let rows = without.len();
        let mut assign = |row: usize| {
            if search.rows.get(row) == Some(&1) && !is_taken(&self.assigned, row, volume) {
                assigned[row] = volume;
                without[row] = 0;
                search.rows[row] = 0;
                search.left -= 1;
            }
        };
        match self.matching.get(volume) {
            Some(Some(Matching::All)) => (0..rows).for_each(assign),
            Some(Some(Matching::Some(rows))) => rows.iter().for_each(|row| assign(*row as usize)),
            Some(None) | None => {}
        }
    }

    /// Ends the search in all rows but those in which the volume is assigned to another claim.
    fn give_up(&self, volume: usize, search: &mut Search) {
        for (row, searching) in search.rows.iter_mut().enumerate() {
            if *searching == 1 && !is_taken(&self.assigned, row, volume) {
                *searching = 0;
                search.left -= 1;
            }
        }
    }

    /// Compares the node affinity of a volume with the rows, unless that is done.
    fn compute_matching(&mut self, volume: usize, matcher: &mut Matcher) {
        if let (Some(volume), Some(matching @ None)) = (self.volumes.get(volume), self.matching.get_mut(volume)) {
            let affinity = bound::affinity(volume.node_terms.as_deref());
            *matching =
                Some(affinity.map_or(Matching::All, |affinity| Matching::Some(matcher.matching_rows(&affinity))));
        }
    }

    /// The index of a volume; adds the volume where it is not in the list.
    fn add(&mut self, volume: Volume, size: ExactSize, is_new: bool) -> usize {
        if !is_new {
            if self.by_name.len() < self.volumes.len() {
                self.by_name = (0..).zip(&self.volumes).map(|(index, known)| (known.name.clone(), index)).collect();
            }
            if let Some(index) = self.by_name.get(&volume.name) {
                return *index;
            }
            self.by_name.insert(volume.name.clone(), self.volumes.len());
        }
        self.volumes.push(volume);
        self.sizes.push(size);
        self.matching.push(None);
        self.volumes.len() - 1
    }
}

/// Whether one of the claims before has the volume in this row.
fn is_taken(assigned: &[Vec<usize>], row: usize, volume: usize) -> bool {
    assigned.iter().any(|earlier| earlier.get(row) == Some(&volume))
}

/// Whether a volume has the properties besides its size that the claim needs. Reserved volumes must have them too.
fn has_required_properties(claim: &Claim, volume: &Volume) -> bool {
    volume.volume_mode == claim.volume_mode && volume.attributes_class == claim.attributes_class && !volume.deleting
}

/// Whether a volume that is not reserved can be assigned to the claim.
fn is_available(claim: &Claim, selector: Option<&Selector>, volume: &Volume) -> bool {
    let label = |key: &str| volume.labels.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
    volume.phase == AVAILABLE
        && selector.is_none_or(|selector| selector.matches(label))
        && claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
}
