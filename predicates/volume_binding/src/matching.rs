//! Finds existing volumes for unbound claims, per node: `findMatchingVolumes` of the plugin and `FindMatchingVolume` in
//! k8s.io/component-helpers/storage/volume. Start at [`find`].
//!
//! Conditions that do not depend on the node are checked once per claim and volume. Per row only the node affinity of
//! volumes is compared.

use nodesift_sdk::columns::cluster_storage::{self, Claim, ExactSize, ExactSizes, Volume};
use nodesift_sdk::columns::pod_volumes;
use nodesift_sdk::label_selector::Selector;
use nodesift_sdk::node_selector::Matcher;

use crate::bound;
use crate::rows::Rows;

/// The phase of a volume that is not bound.
const AVAILABLE: &str = "Available";

/// No volume.
const NONE: usize = usize::MAX;

/// The candidate volumes of one StorageClass, and which of them are assigned to claims.
struct ClassVolumes {
    class: String,
    volumes: Vec<Volume>,
    /// The size of each volume.
    sizes: Vec<ExactSize>,
    /// Per volume, 1 in the rows that its node affinity does not match; computed on first use.
    mismatches: Vec<Option<Vec<u8>>>,
    /// Per claim that was matched, the index of the assigned volume or [`NONE`]; one entry per row.
    assigned: Vec<Vec<usize>>,
}

/// Assigns volumes to claims in the open rows, the claim with the smallest request first. Returns each claim with a
/// column: 1 in the open rows without a volume for it, else 0.
///
/// # Errors
///
/// The error text of kube-scheduler for an invalid selector. It applies to all open rows.
pub(crate) fn find(rows: &Rows, claims: Vec<Claim>) -> Result<Vec<(Claim, Vec<u8>)>, String> {
    // The facts do not change during a call, so every claim has its sizes.
    let sized = |claim: Claim| cluster_storage::exact_sizes_for(&claim.name).map(|sizes| (claim, sizes));
    let mut claims: Vec<(Claim, ExactSizes)> = claims.into_iter().filter_map(sized).collect();
    claims.sort_by_key(|(_, sizes)| sizes.requested);
    let mut matcher = Matcher::new(rows.len());
    let mut classes: Vec<ClassVolumes> = Vec::new();
    let mut found = Vec::new();
    if !rows.open().contains(&1) {
        return Ok(found);
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
            let (volumes, sizes, mismatches, assigned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            classes.push(ClassVolumes { class, volumes, sizes, mismatches, assigned });
            classes.len() - 1
        });
        if let Some(class) = classes.get_mut(index) {
            let without = class.assign_to_claim(rows, &mut matcher, (&claim, &sizes), selector.as_ref(), volumes);
            found.push((claim, without));
        }
    }
    Ok(found)
}

impl ClassVolumes {
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
        let sized = volumes.into_iter().zip(sizes.capacities.iter().copied());
        let large = sized.filter(|(_, size)| *size >= sizes.requested);
        for (volume, size) in large.filter(|(volume, _)| has_required_properties(claim, volume)) {
            // The candidates exclude volumes that are reserved for other claims.
            let is_reserved = volume.claim_ref.is_some();
            if is_reserved || is_available(claim, selector, &volume) {
                let index = self.add(volume, size);
                if is_reserved { reserved.push(index) } else { free.push(index) }
            }
        }
        // The smallest volume first; volumes of equal size by name.
        free.sort_by_key(|index| self.sizes.get(*index).copied());
        let mut without = rows.open().to_vec();
        let mut assigned = vec![NONE; rows.len()];
        // With a reserved volume there is no other choice, even where its node affinity does not match.
        let mut searching = without.clone();
        for index in reserved {
            self.assign(index, matcher, &mut assigned, &mut without, &mut searching, true);
        }
        for index in free {
            if !searching.contains(&1) {
                break;
            }
            self.assign(index, matcher, &mut assigned, &mut without, &mut searching, false);
        }
        self.assigned.push(assigned);
        without
    }

    /// Assigns a volume in the rows with `searching` 1, unless its node affinity does not match the row or it is
    /// assigned to another claim there.
    fn assign(
        &mut self,
        volume: usize,
        matcher: &mut Matcher,
        assigned: &mut [usize],
        without: &mut [u8],
        searching: &mut [u8],
        is_only_choice: bool,
    ) {
        self.compute_mismatch(volume, matcher, assigned.len());
        let Some(Some(mismatch)) = self.mismatches.get(volume) else { return };
        for row in 0..assigned.len() {
            let is_searching = searching.get(row) == Some(&1);
            if !is_searching || self.assigned.iter().any(|earlier| earlier.get(row) == Some(&volume)) {
                continue;
            }
            let matches = mismatch.get(row) == Some(&0);
            if matches {
                assigned[row] = volume;
                without[row] = 0;
            }
            if matches || is_only_choice {
                searching[row] = 0;
            }
        }
    }

    /// Compares the node affinity of a volume with all rows, unless that is done.
    fn compute_mismatch(&mut self, volume: usize, matcher: &mut Matcher, rows: usize) {
        if let (Some(volume), Some(mismatch @ None)) = (self.volumes.get(volume), self.mismatches.get_mut(volume)) {
            *mismatch = Some(bound::affinity_mismatch(matcher, rows, volume.node_terms.as_deref()));
        }
    }

    /// The index of a volume; adds the volume where it is not in the list.
    fn add(&mut self, volume: Volume, size: ExactSize) -> usize {
        self.volumes.iter().position(|known| known.name == volume.name).unwrap_or_else(|| {
            self.volumes.push(volume);
            self.sizes.push(size);
            self.mismatches.push(None);
            self.volumes.len() - 1
        })
    }
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
