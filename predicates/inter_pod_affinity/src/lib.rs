//! InterPodAffinity: rejects nodes whose topology domains do not satisfy the pod's required affinity or anti-affinity,
//! or the required anti-affinity of existing pods.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
//! [`terms`] parses the terms of the pod, [`domains`] compares them with the pods in the topology domains, [`Args`] are
//! the policy's arguments.

mod args;
mod domains;
mod terms;

use nodesift_sdk::{Failure, Predicate, Verdict};

pub use args::Args;
use args::Switches;
use domains::DomainMatcher;
use terms::Terms;

/// Reason: the domains of the node do not satisfy the affinity of the pod.
pub const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";

/// Reason: a domain of the node has a pod that the anti-affinity of the pod matches.
pub const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";

/// Reason: a domain of the node has an existing pod whose anti-affinity matches the pod.
pub const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// Rejects nodes where required affinity or anti-affinity between the pod and other pods fails.
#[derive(Debug)]
pub struct InterPodAffinity {
    switches: Switches,
}

impl Predicate for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const SUMMARY: &'static str =
        "rejects nodes where the pod's affinity or anti-affinity to other pods, or theirs to it, fails";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        args.check()?;
        Ok(Self { switches: args.switches })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let terms = match Terms::for_pod(self.switches) {
            Ok(terms) => terms,
            Err(error) => return Verdict::FitsNone(Failure::unresolvable(format!("parsing pod: {error}"))),
        };
        let mut matcher = DomainMatcher::new(rows);
        matcher.mark_affinity(&terms.affinity);
        matcher.mark_anti_affinity(&terms.anti_affinity);
        matcher.mark_existing_anti_affinity();
        Verdict::by_pattern(&matcher.patterns, failure)
    }
}

nodesift_sdk::export!(InterPodAffinity);

/// The failure for the first failed check in kube-scheduler's order; later ones are not reported.
fn failure(pattern: u8) -> Failure {
    if pattern & (domains::MISSING_KEY | domains::AFFINITY) != 0 {
        // Preempting pods does not add the pods that are missing.
        Failure::unresolvable(REASON_AFFINITY)
    } else if pattern & domains::ANTI_AFFINITY != 0 {
        Failure::unschedulable(REASON_ANTI_AFFINITY)
    } else {
        Failure::unschedulable(REASON_EXISTING)
    }
}

#[cfg(test)]
mod tests;
