//! Finds volumes that claims could take, node by node: `findMatchingVolumes` of the plugin and `FindMatchingVolume` in
//! k8s.io/component-helpers/storage/volume.
//!
//! What does not depend on the node is decided once per claim and volume, so that rows compare node affinity only.

use nodesift_sdk::columns::cluster_storage::{self, Claim, Volume};
use nodesift_sdk::columns::pod_volumes;
use nodesift_sdk::label_selector::Selector;
use nodesift_sdk::node_selector::Matcher;

use crate::bound;
use crate::rows::Rows;

/// The phase of a volume that nobody has.
const AVAILABLE: &str = "Available";

/// No volume.
const NONE: usize = usize::MAX;

/// Volumes of one class, as far as rows have asked for them.
struct Shelf {
    class: String,
    volumes: Vec<Volume>,
    /// Per volume 1 on rows that cannot mount it; made when a row first asks.
    unreachable: Vec<Option<Vec<u8>>>,
    /// Per claim that was matched, the volume that each row took.
    taken: Vec<Vec<usize>>,
}

/// Finds volumes for claims on open rows, the smallest claim first. Returns claims with 1 on the open rows that have no
/// volume for them.
///
/// # Errors
///
/// Kubernetes' words for a selector that it cannot read; then no open row has an answer.
pub(crate) fn find(rows: &Rows, mut claims: Vec<Claim>) -> Result<Vec<(Claim, Vec<u8>)>, String> {
    claims.sort_by_key(|claim| claim.requested.unwrap_or(0));
    let mut matcher = Matcher::new(rows.len());
    let mut shelves: Vec<Shelf> = Vec::new();
    let mut found = Vec::new();
    if !rows.open().contains(&1) {
        return Ok(found);
    }
    for claim in claims {
        let class = claim.class_name.clone().unwrap_or_default();
        let selector = claim.selector.clone().map(|selector| Selector::read(Some(selector))).transpose();
        let selector = selector.map_err(|error| {
            let (namespace, _, _) = pod_volumes::owner();
            format!("error creating internal label selector for claim: {namespace}/{}: {error}", claim.name)
        })?;
        let volumes = cluster_storage::volumes_for(&claim.name);
        let at = shelves.iter().position(|shelf| shelf.class == class).unwrap_or_else(|| {
            shelves.push(Shelf { class, volumes: Vec::new(), unreachable: Vec::new(), taken: Vec::new() });
            shelves.len() - 1
        });
        if let Some(shelf) = shelves.get_mut(at) {
            let without = shelf.take(rows, &mut matcher, &claim, selector.as_ref(), volumes);
            found.push((claim, without));
        }
    }
    Ok(found)
}

impl Shelf {
    /// Takes a volume for the claim on every open row. Returns 1 on the open rows that found none.
    fn take(
        &mut self,
        rows: &Rows,
        matcher: &mut Matcher,
        claim: &Claim,
        selector: Option<&Selector>,
        volumes: Vec<Volume>,
    ) -> Vec<u8> {
        let mut reserved = Vec::new();
        let mut free = Vec::new();
        for volume in volumes.into_iter().filter(|volume| holds(claim, volume)) {
            // Volumes for the claim are those that nobody else has: a reserved one is reserved for it.
            let is_reserved = volume.claim_ref.is_some();
            let suits = is_reserved || suits(claim, selector, &volume);
            if suits {
                let at = self.place(volume);
                if is_reserved { reserved.push(at) } else { free.push(at) }
            }
        }
        // The smallest will do, of equal ones the first by name.
        free.sort_by_key(|at| self.volumes.get(*at).map_or(i64::MAX, |volume| volume.capacity));
        let mut without = rows.open().to_vec();
        let mut taken = vec![NONE; rows.len()];
        // A volume that is reserved for the claim is the only one, also where the node cannot mount it.
        let mut searching = without.clone();
        for at in reserved {
            self.offer(at, matcher, &mut taken, &mut without, &mut searching, true);
        }
        for at in free {
            if !searching.contains(&1) {
                break;
            }
            self.offer(at, matcher, &mut taken, &mut without, &mut searching, false);
        }
        self.taken.push(taken);
        without
    }

    /// Gives a volume to rows that are searching, can mount it and have not taken it for another claim.
    fn offer(
        &mut self,
        at: usize,
        matcher: &mut Matcher,
        taken: &mut [usize],
        without: &mut [u8],
        searching: &mut [u8],
        is_only_choice: bool,
    ) {
        self.ask_reach(at, matcher, taken.len());
        let Some(Some(unreachable)) = self.unreachable.get(at) else { return };
        for row in 0..taken.len() {
            let is_searching = searching.get(row) == Some(&1);
            if !is_searching || self.taken.iter().any(|earlier| earlier.get(row) == Some(&at)) {
                continue;
            }
            let reaches = unreachable.get(row) == Some(&0);
            if reaches {
                taken[row] = at;
                without[row] = 0;
            }
            if reaches || is_only_choice {
                searching[row] = 0;
            }
        }
    }

    /// Finds out which rows can mount a volume, the first time.
    fn ask_reach(&mut self, at: usize, matcher: &mut Matcher, rows: usize) {
        if let (Some(volume), Some(known @ None)) = (self.volumes.get(at), self.unreachable.get_mut(at)) {
            *known = Some(bound::unreachable(matcher, rows, volume.node_terms.as_deref()));
        }
    }

    /// The place of a volume on the shelf.
    fn place(&mut self, volume: Volume) -> usize {
        self.volumes.iter().position(|known| known.name == volume.name).unwrap_or_else(|| {
            self.volumes.push(volume);
            self.unreachable.push(None);
            self.volumes.len() - 1
        })
    }
}

/// What a volume must be whether it is reserved for the claim or not.
fn holds(claim: &Claim, volume: &Volume) -> bool {
    volume.capacity >= claim.requested.unwrap_or(0)
        && volume.volume_mode == claim.volume_mode
        && volume.attributes_class == claim.attributes_class
        && !volume.deleting
}

/// What a volume must be that is not reserved for the claim.
fn suits(claim: &Claim, selector: Option<&Selector>, volume: &Volume) -> bool {
    let label = |key: &str| volume.labels.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
    volume.phase == AVAILABLE
        && selector.is_none_or(|selector| selector.matches(label))
        && claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
}
