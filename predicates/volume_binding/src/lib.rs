//! VolumeBinding: rejects nodes that cannot use the volumes of the pod's bound claims, and nodes where no volume can be
//! found or provisioned for its unbound claims. Scores nodes by the storage that these would take of what there is.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/volumebinding. [`claims`]
//! divides the pod's claims and rejects pods with unusable ones. [`bound`] checks the volumes of bound claims;
//! [`migration`] translates those of in-tree types. [`matching`] finds existing volumes for unbound claims,
//! [`provisioning`] checks whether new ones can be provisioned. [`Rows`] collects the results per row, [`score`] makes scores of the
//! volumes that are found.

mod args;
mod bound;
mod claims;
mod matching;
mod migration;
mod provisioning;
mod rows;
mod score;

use nodesift_resource_scores::Shape;
use nodesift_sdk::columns::cluster_storage::Claim;
use nodesift_sdk::columns::node_identity;
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Predicate, Verdict};

pub use args::Args;
use claims::Claims;
use rows::Rows;

/// Reason: the node affinity of the volume of a bound claim does not match the node.
pub const REASON_NODE: &str = "node(s) didn't match PersistentVolume's node affinity";

/// Reason: there is no volume for a claim, and none can be provisioned.
pub const REASON_BIND: &str = "node(s) didn't find available persistent volumes to bind";

/// Reason: the node cannot access enough storage to provision a volume.
pub const REASON_SPACE: &str = "node(s) did not have enough free storage";

/// Reason: a claim is bound to a volume that does not exist.
pub const REASON_MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Reason for all nodes: a claim without delayed binding is not bound.
pub const REASON_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// Rejects nodes where the pod's volumes can be neither mounted nor bound nor provisioned.
#[derive(Debug, Default)]
pub struct VolumeBinding {
    /// Score by the used part of the storage; none where nodes are not scored.
    shape: Option<Shape>,
}

impl Predicate for VolumeBinding {
    const NAME: &'static str = "VolumeBinding";
    const SUMMARY: &'static str =
        "rejects nodes where the pod's volumes can be neither mounted nor bound nor provisioned";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        args.check()?;
        Ok(Self { shape: args.shape() })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let claims = match Claims::for_pod() {
            Ok(claims) => claims,
            Err(failure) => return Verdict::FitsNone(failure),
        };
        if claims.bound.is_empty() && claims.delayed.is_empty() {
            return Verdict::FitsAll;
        }
        let mut rows = Rows::new(rows);
        bound::check(&mut rows, &claims.bound);
        find_volumes(&mut rows, claims.delayed);
        rows.verdict()
    }
}

impl Scorer for VolumeBinding {
    fn normalization(&self) -> Normalization {
        Normalization::None
    }

    fn score(&self, rows: usize) -> Scores {
        self.shape.as_ref().map_or(Scores::Skip, |shape| Scores::ByRow(score::by_row(rows, shape)))
    }
}

nodesift_sdk::export!(VolumeBinding, scorer);

/// Claims for which volumes are still to be found, on the rows that can be open for them.
struct Delayed {
    /// Claims of which a node was selected before: a volume is provisioned there.
    selected: Vec<Claim>,
    to_match: Vec<Claim>,
}

impl Delayed {
    /// Divides claims, and rejects the rows that no selected node is. Only that one can run the pod.
    fn divide(rows: &mut Rows, claims: Vec<Claim>) -> Self {
        let (selected, to_match): (Vec<Claim>, Vec<Claim>) =
            claims.into_iter().partition(|claim| claim.selected_node.is_some());
        for node in selected.iter().filter_map(|claim| claim.selected_node.as_deref()) {
            let row = node_identity::row(node).map(|row| row as usize);
            rows.reject_others(row, rows::BIND);
        }
        Self { selected, to_match }
    }
}

/// Marks the rows without volumes for unbound claims: the second part of `FindPodVolumes` of the plugin.
fn find_volumes(rows: &mut Rows, delayed: Vec<Claim>) {
    let Delayed { selected, to_match } = Delayed::divide(rows, delayed);
    let unmatched = match matching::find(rows, to_match) {
        Ok(found) => found.unmatched,
        Err(error) => return rows.set_error_on_open(&error),
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
