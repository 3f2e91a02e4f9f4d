//! PodTopologySpread: a node takes a pod only where that leaves the pods of its kind spread evenly enough over zones,
//! racks, nodes, or whatever else its constraints name.
//!
//! As kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/podtopologyspread. [`constraint`] reads
//! what the pod and the policy ask for, [`skew`] counts pods by domain and judges rows, [`Args`] are the policy's
//! arguments.

mod args;
mod constraint;
mod skew;

use nodesift_sdk::{Failure, Predicate, Verdict};

pub use args::Args;
use constraint::Constraint;

/// Why a node is rejected whose domain has too many pods of the kind.
pub const REASON_SKEW: &str = "node(s) didn't match pod topology spread constraints";

/// Why a node is rejected that is in no domain.
pub const REASON_KEYLESS: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// What comes before the words for a selector that cannot be read.
const UNREADABLE: &str = "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's \
                          hard topology spread constraints: ";

/// The predicate.
#[derive(Debug)]
pub struct PodTopologySpread {
    /// What holds for pods without any constraint of their own; their selectors are those of the pods' owners.
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
        match constraint::of_pod(&self.defaults) {
            Err(error) => Verdict::FitsNone(Failure::error(format!("{UNREADABLE}{error}"))),
            Ok(constraints) if constraints.is_empty() => Verdict::FitsAll,
            Ok(constraints) => Verdict::by_pattern(&skew::patterns(&constraints, rows), |pattern| match pattern {
                // Preempting pods gives a node no label.
                skew::KEYLESS => Failure::unresolvable(REASON_KEYLESS),
                _ => Failure::unschedulable(REASON_SKEW),
            }),
        }
    }
}

nodesift_sdk::export!(PodTopologySpread);

#[cfg(test)]
mod tests;
