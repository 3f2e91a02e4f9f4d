//! PodTopologySpread: rejects nodes on which the pod would exceed the maximum skew of one of its topology spread
//! constraints, and scores nodes by the pods in their topology domains.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/podtopologyspread.
//! [`constraint`] parses the constraints of the pod and of the policy, [`skew`] counts pods by domain and marks rows, [`score`] adds up
//! pods by domain, [`Args`] are the policy's arguments.

mod args;
mod constraint;
mod score;
mod skew;

use nodesift_sdk::columns::cluster_candidates;
use nodesift_sdk::columns::pod_spread::WhenUnsatisfiable;
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Failure, Predicate, Verdict};

pub use args::Args;
use args::Defaults;
use constraint::ForPod;

/// Reason: the domain of the node would exceed the maximum skew.
pub const REASON_SKEW: &str = "node(s) didn't match pod topology spread constraints";

/// Reason: the node does not have the topology key of a constraint.
pub const REASON_MISSING_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// The prefix of the reason for an invalid selector, as in kube-scheduler.
const ERROR_PREFIX: &str = "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's \
                          hard topology spread constraints: ";

/// The prefix of the error for an invalid selector where nodes are scored, as in kube-scheduler.
const SCORE_ERROR_PREFIX: &str = "running PreScore plugin \"PodTopologySpread\": calculating preScoreState: obtaining pod's soft \
                                topology spread constraints: ";

/// Rejects nodes where the pod would exceed the maximum skew of one of its topology spread constraints, and scores the others.
#[derive(Debug)]
pub struct PodTopologySpread {
    defaults: Defaults,
}

impl PodTopologySpread {
    /// The raw score of each row of the cluster, of which these are feasible; none where no constraint scores the pod.
    fn raw(&self, feasible: &[u8]) -> Result<Option<Vec<i64>>, String> {
        let ForPod { constraints, are_own } =
            constraint::for_pod(WhenUnsatisfiable::ScheduleAnyway, &self.defaults.scoring)
                .map_err(|error| format!("{SCORE_ERROR_PREFIX}{error}"))?;
        if constraints.is_empty() {
            return Ok(None);
        }
        Ok(Some(score::raw(&constraints, are_own || !self.defaults.are_of_system, feasible)))
    }
}

impl Predicate for PodTopologySpread {
    const NAME: &'static str = "PodTopologySpread";
    const SUMMARY: &'static str = "rejects nodes where the pod would break one of its topology spread constraints";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self { defaults: args.defaults()? })
    }

    fn filter(&self, rows: usize) -> Verdict {
        match constraint::for_pod(WhenUnsatisfiable::DoNotSchedule, &self.defaults.filtering) {
            Err(error) => Verdict::FitsNone(Failure::error(format!("{ERROR_PREFIX}{error}"))),
            Ok(ForPod { constraints, .. }) if constraints.is_empty() => Verdict::FitsAll,
            Ok(ForPod { constraints, .. }) => {
                Verdict::by_pattern(&skew::patterns(&constraints, rows), |pattern| match pattern {
                    // Preempting pods does not change the labels of a node.
                    skew::MISSING_KEY => Failure::unresolvable(REASON_MISSING_LABEL),
                    _ => Failure::unschedulable(REASON_SKEW),
                })
            }
        }
    }
}

impl Scorer for PodTopologySpread {
    fn normalization(&self) -> Normalization {
        Normalization::ByDistance
    }

    fn score(&self, _: usize) -> Scores {
        match self.raw(&cluster_candidates::feasible()) {
            Ok(Some(raw)) => Scores::ByRow(raw),
            Ok(None) => Scores::Skip,
            Err(error) => Scores::Failed(error),
        }
    }
}

nodesift_sdk::export!(PodTopologySpread, scorer);

#[cfg(test)]
mod tests;
