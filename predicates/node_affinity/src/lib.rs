//! NodeAffinity: rejects nodes that do not match the pod's node selector, its required node affinity, or the required
//! node affinity that the policy adds to every pod, and scores nodes by preferred node affinity.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodeaffinity. Terms are parsed
//! and compared with columns in [`nodesift_sdk::node_selector`], [`Args`] are the policy's arguments, `preference` has the score.

mod args;
mod preference;

use std::collections::BTreeSet;

use nodesift_sdk::columns::node_identity;
use nodesift_sdk::columns::pod_placement::{self, Operator, Requirement, Term};
use nodesift_sdk::node_selector::{Matcher, NAME_FIELD, RequiredAffinity};
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Failure, Predicate, Verdict};

use args::Added;
pub use args::Args;
use preference::{Preference, weigh};

/// Reason: the node does not match the node selector or the affinity of the pod.
pub const REASON_POD: &str = "node(s) didn't match Pod's node affinity/selector";

/// Reason: the node does not match the affinity that the policy adds.
pub const REASON_ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";

/// Reason for all nodes: every term selects nodes by name, and the names of each term contradict each other.
pub const REASON_CONFLICT: &str = "pod affinity terms conflict";

/// The bit of a row that does not match the added affinity. Its reason replaces that of [`POD`].
const ENFORCED: u8 = 1;

/// The bit of a row that does not match the pod.
const POD: u8 = 2;

/// Rejects nodes that the pod's node selector or required node affinity does not match.
#[derive(Debug)]
pub struct NodeAffinity {
    /// The affinity that the policy adds to every pod.
    added: Added,
}

impl Predicate for NodeAffinity {
    const NAME: &'static str = "NodeAffinity";
    const SUMMARY: &'static str = "rejects nodes that the pod's node selector or required node affinity does not match";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self { added: args.added()? })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let labels = pod_placement::node_selector();
        let terms = pod_placement::required_terms();
        if self.added.required.is_none() && labels.is_empty() && terms.is_none() {
            return Verdict::FitsAll;
        }
        if terms.as_deref().is_some_and(conflict) {
            return Verdict::FitsNone(Failure::unresolvable(REASON_CONFLICT));
        }
        let named = terms.as_deref().and_then(named_rows);
        let mut matcher = Matcher::new(rows);
        let mut patterns = vec![0; rows];
        if let Some(added) = &self.added.required {
            matcher.mark_unmatched_node_selector(&mut patterns, added, ENFORCED);
        }
        matcher.mark_unmatched_affinity(&mut patterns, &RequiredAffinity::new(labels, terms), POD);
        let verdict = Verdict::by_pattern(&patterns, |pattern| {
            Failure::unresolvable(if pattern & ENFORCED != 0 { REASON_ENFORCED } else { REASON_POD })
        });
        match named {
            Some(rows) => verdict.with_named_rows(rows),
            None => verdict,
        }
    }
}

impl NodeAffinity {
    /// Per row the weights of the preferences that it meets, added up; none where neither the pod nor the policy has a list of preferences.
    ///
    /// # Errors
    ///
    /// The first preference of the pod that is invalid.
    fn weigh(&self, rows: usize) -> Result<Option<Vec<i64>>, String> {
        let own = match pod_placement::preferred_terms() {
            Some(terms) => Some(Preference::read(terms, "preferredDuringSchedulingIgnoredDuringExecution")?),
            None => None,
        };
        if own.is_none() && self.added.preferred.is_none() {
            return Ok(None);
        }
        Ok(Some(weigh(rows, self.added.preferred.iter().chain(&own).flatten())))
    }
}

impl Scorer for NodeAffinity {
    fn normalization(&self) -> Normalization {
        Normalization::ByLargest
    }

    fn score(&self, rows: usize) -> Scores {
        match self.weigh(rows) {
            Ok(Some(sums)) => Scores::ByRow(sums),
            Ok(None) => Scores::Skip,
            Err(invalid) => Scores::Failed(invalid),
        }
    }
}

nodesift_sdk::export!(NodeAffinity, scorer);

/// Whether every term has requirements on the name, and no name meets those of any term: `PreFilter` of the plugin. It
/// uses the terms as written, even where they are invalid.
fn conflict(terms: &[Term]) -> bool {
    !terms.is_empty() && terms.iter().all(|term| names(term).is_some_and(|names| names.is_empty()))
}

/// The rows of the nodes that the terms select by name. None where a term has no requirement on the name.
fn named_rows(terms: &[Term]) -> Option<Vec<u32>> {
    if terms.is_empty() {
        return None;
    }
    let named: BTreeSet<&str> = terms.iter().map(names).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
    Some(named.into_iter().filter_map(node_identity::row).collect())
}

/// The names that a term selects: the intersection of its `In` requirements on the name. None where it has no such
/// requirement.
fn names(term: &Term) -> Option<BTreeSet<&str>> {
    let names_nodes =
        |requirement: &&Requirement| requirement.key == NAME_FIELD && requirement.operator == Operator::In;
    let sets = term.fields.iter().filter(names_nodes);
    sets.map(|requirement| requirement.values.iter().map(String::as_str).collect::<BTreeSet<_>>())
        .reduce(|common, set| common.intersection(&set).copied().collect())
}

#[cfg(test)]
mod tests;
