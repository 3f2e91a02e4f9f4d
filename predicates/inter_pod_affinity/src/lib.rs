//! InterPodAffinity: a node takes a pod only where the pods around it are those that it asks to be near, and neither
//! those that it asks to be away from nor those that ask to be away from it.
//!
//! As kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go. [`terms`]
//! reads what the pod asks for, [`neighbours`] compares it with the pods in the domains, [`Args`] are the policy's
//! arguments.

mod args;
mod neighbours;
mod terms;

use nodesift_sdk::{Failure, Predicate, Verdict};

pub use args::Args;
use neighbours::Judge;
use terms::Terms;

/// Why a node is rejected without the pods that the pod asks to be near.
pub const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";

/// Why a node is rejected with a pod that the pod asks to be away from.
pub const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";

/// Why a node is rejected with a pod that asks to be away from the pod.
pub const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// The predicate.
#[derive(Debug)]
pub struct InterPodAffinity;

impl Predicate for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const SUMMARY: &'static str =
        "rejects nodes where the pod's affinity or anti-affinity to other pods, or theirs to it, fails";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        args.check()?;
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let terms = match Terms::of_pod() {
            Ok(terms) => terms,
            Err(error) => return Verdict::FitsNone(Failure::unresolvable(format!("parsing pod: {error}"))),
        };
        let mut judge = Judge::new(rows);
        judge.mark_without_wanted(&terms.affinity);
        judge.mark_with_unwanted(&terms.anti_affinity);
        judge.mark_unwelcoming();
        Verdict::by_pattern(&judge.patterns, reason)
    }
}

nodesift_sdk::export!(InterPodAffinity);

/// The first check that a row fails, in kube-scheduler's order: only that one is given.
fn reason(pattern: u8) -> Failure {
    if pattern & (neighbours::KEYLESS | neighbours::LONELY) != 0 {
        // Preempting pods brings none nearer.
        Failure::unresolvable(REASON_AFFINITY)
    } else if pattern & neighbours::UNWANTED != 0 {
        Failure::unschedulable(REASON_ANTI_AFFINITY)
    } else {
        Failure::unschedulable(REASON_EXISTING)
    }
}

#[cfg(test)]
mod tests;
