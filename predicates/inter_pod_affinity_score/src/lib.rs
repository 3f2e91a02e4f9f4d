//! InterPodAffinity, the score: points of preferred pod affinity and anti-affinity, of the pod and of the pods on nodes, and of required
//! affinity of these to the pod.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/interpodaffinity/scoring.go. A component of its own,
//! because it reads terms that the filter does not read, and that the host keeps only for it. [`terms`] parses the terms of the pod,
//! [`sums`] adds up points by topology domain, [`Args`] are the policy's arguments. Start at [`InterPodAffinity`].

mod args;
mod sums;
mod terms;

use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Predicate, Verdict};

pub use args::Args;
use args::Switches;
use sums::Sums;
use terms::Preferred;

/// Scores nodes by preferred pod affinity.
#[derive(Debug)]
pub struct InterPodAffinity {
    required_weight: i32,
    ignores_preferred_terms_of_others: bool,
    switches: Switches,
}

impl InterPodAffinity {
    /// The raw score of each row; none where the plugin skips the pod.
    fn raw(&self, rows: usize) -> Result<Option<Vec<i64>>, String> {
        let Preferred { terms } =
            Preferred::for_pod(self.switches).map_err(|error| format!("failed to parse pod: {error}"))?;
        // With terms of its own, the argument changes nothing: those of other pods count as always.
        if terms.is_empty() && self.ignores_preferred_terms_of_others {
            return Ok(None);
        }
        let mut sums = Sums::new(rows);
        sums.add_own(&terms);
        sums.add_others(self.required_weight);
        Ok(sums.raw())
    }
}

impl Predicate for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const SUMMARY: &'static str = "scores nodes by preferred affinity between the pod and other pods; rejects none";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self {
            required_weight: args.required_weight()?,
            ignores_preferred_terms_of_others: args.ignores_preferred_terms_of_others(),
            switches: args.switches,
        })
    }

    fn filter(&self, _: usize) -> Verdict {
        Verdict::FitsAll
    }
}

impl Scorer for InterPodAffinity {
    fn normalization(&self) -> Normalization {
        Normalization::ByRange
    }

    fn score(&self, rows: usize) -> Scores {
        match self.raw(rows) {
            Ok(Some(raw)) => Scores::ByRow(raw),
            Ok(None) => Scores::Skip,
            Err(error) => Scores::Failed(error),
        }
    }
}

nodesift_sdk::export!(InterPodAffinity, scorer);

#[cfg(test)]
mod tests;
