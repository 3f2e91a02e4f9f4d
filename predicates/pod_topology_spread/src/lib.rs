//! PodTopologySpread: rejects nodes on which the pod would exceed the maximum skew of one of its topology spread
//! constraints.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/podtopologyspread.
//! [`constraint`] parses the constraints of the pod and of the policy, [`skew`] counts pods by domain and marks rows,
//! [`Args`] are the policy's arguments.

mod args;
mod constraint;
mod skew;

use nodesift_sdk::{Failure, Predicate, Verdict};

pub use args::Args;
use constraint::Constraint;

/// Reason: the domain of the node would exceed the maximum skew.
pub const REASON_SKEW: &str = "node(s) didn't match pod topology spread constraints";

/// Reason: the node does not have the topology key of a constraint.
pub const REASON_MISSING_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// The prefix of the reason for an invalid selector, as in kube-scheduler.
const ERROR_PREFIX: &str = "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's \
                          hard topology spread constraints: ";

/// Rejects nodes where the pod would exceed the maximum skew of one of its topology spread constraints.
#[derive(Debug)]
pub struct PodTopologySpread {
    /// The constraints of pods without constraints. Their selectors are set for each pod.
    defaults: Vec<Constraint>,
}

impl Predicate for PodTopologySpread {
    const NAME: &'static str = "PodTopologySpread";
    const SUMMARY: &'static str = "rejects nodes where the pod would break one of its topology spread constraints";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self { defaults: args.constraints()? })
    }

    fn filter(&self, rows: usize) -> Verdict {
        match constraint::for_pod(&self.defaults) {
            Err(error) => Verdict::FitsNone(Failure::error(format!("{ERROR_PREFIX}{error}"))),
            Ok(constraints) if constraints.is_empty() => Verdict::FitsAll,
            Ok(constraints) => Verdict::by_pattern(&skew::patterns(&constraints, rows), |pattern| match pattern {
                // Preempting pods does not change the labels of a node.
                skew::MISSING_KEY => Failure::unresolvable(REASON_MISSING_LABEL),
                _ => Failure::unschedulable(REASON_SKEW),
            }),
        }
    }
}

nodesift_sdk::export!(PodTopologySpread);

#[cfg(test)]
mod tests;
