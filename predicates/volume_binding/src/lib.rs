//! VolumeBinding: a node takes a pod only where the volumes of its bound claims can be mounted, and where volumes can
//! be found or made for claims that wait for their first consumer.
//!
//! As kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/volumebinding. [`claims`] sorts the pod's
//! claims and rejects pods whose claims are not ready; [`bound`] looks at volumes of bound claims ([`migration`]: of
//! in-tree kinds too), [`matching`] finds volumes for the others and [`provisioning`] asks whether they can be made.
//! [`Rows`] keeps what is known of each row.

mod args;
mod bound;
mod claims;
mod matching;
mod migration;
mod provisioning;
mod rows;

use nodesift_sdk::columns::cluster_storage::Claim;
use nodesift_sdk::columns::node_identity;
use nodesift_sdk::{Predicate, Verdict};

pub use args::Args;
use claims::Claims;
use rows::Rows;

/// Why a node is rejected where the volume of a bound claim cannot be mounted.
pub const REASON_NODE: &str = "node(s) didn't match PersistentVolume's node affinity";

/// Why a node is rejected where a claim finds no volume and none can be made.
pub const REASON_BIND: &str = "node(s) didn't find available persistent volumes to bind";

/// Why a node is rejected where there is not enough storage to make a volume.
pub const REASON_SPACE: &str = "node(s) did not have enough free storage";

/// Why a node is rejected where a claim is bound to a volume that does not exist.
pub const REASON_MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Why every node is rejected where a claim should have been bound without a pod.
pub const REASON_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// The predicate.
#[derive(Debug)]
pub struct VolumeBinding;

impl Predicate for VolumeBinding {
    const NAME: &'static str = "VolumeBinding";
    const SUMMARY: &'static str = "rejects nodes where the pod's volumes can be neither mounted nor found nor made";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        args.check()?;
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let claims = match Claims::of_pod() {
            Ok(claims) => claims,
            Err(failure) => return Verdict::FitsNone(failure),
        };
        if claims.bound.is_empty() && claims.waiting.is_empty() {
            return Verdict::FitsAll;
        }
        let mut rows = Rows::new(rows);
        bound::check(&mut rows, &claims.bound);
        find(&mut rows, claims.waiting);
        rows.verdict()
    }
}

nodesift_sdk::export!(VolumeBinding);

/// Looks for volumes of claims that wait for their first consumer: `FindPodVolumes` of the plugin, from where bound
/// claims are done.
fn find(rows: &mut Rows, waiting: Vec<Claim>) {
    let (selected, to_match): (Vec<Claim>, Vec<Claim>) =
        waiting.into_iter().partition(|claim| claim.selected_node.is_some());
    // Where a node was chosen for a claim before, no other will do.
    for node in selected.iter().filter_map(|claim| claim.selected_node.as_deref()) {
        let row = node_identity::row(node).map(|row| row as usize);
        rows.reject_others(row, rows::BIND);
    }
    let unmatched = match matching::find(rows, to_match) {
        Ok(unmatched) => unmatched,
        Err(error) => return rows.break_open(&error),
    };
    let all = rows.open().to_vec();
    for claim in &selected {
        provisioning::check(rows, claim, &all);
    }
    for (claim, rows_without) in &unmatched {
        provisioning::check(rows, claim, rows_without);
    }
}

#[cfg(test)]
mod tests;
