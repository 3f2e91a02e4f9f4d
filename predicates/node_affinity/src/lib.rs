//! NodeAffinity: a node takes a pod only where the pod's node selector and required node affinity match it, and the
//! affinity that the policy adds for every pod.
//!
//! As kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodeaffinity. Terms are read and compared
//! with columns in [`nodesift_sdk::node_selector`], [`Args`] are the policy's arguments.

mod args;

use std::collections::BTreeSet;

use nodesift_sdk::columns::node_identity;
use nodesift_sdk::columns::pod_placement::{self, Operator, Requirement, Term};
use nodesift_sdk::node_selector::{Matcher, NAME_FIELD, NodeSelector, RequiredAffinity};
use nodesift_sdk::{Failure, Predicate, Verdict};

pub use args::Args;

/// Why a node is rejected that does not match the pod.
pub const REASON_POD: &str = "node(s) didn't match Pod's node affinity/selector";

/// Why a node is rejected that does not match what the policy adds.
pub const REASON_ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";

/// Why all nodes are rejected where every term names nodes and none can be meant.
pub const REASON_CONFLICT: &str = "pod affinity terms conflict";

/// The bit of a row that does not match what the policy adds: the reason that is given alone.
const ENFORCED: u8 = 1;

/// The bit of a row that does not match the pod.
const POD: u8 = 2;

/// The predicate.
#[derive(Debug)]
pub struct NodeAffinity {
    /// What every node must match, whatever the pod.
    added: Option<NodeSelector>,
}

impl Predicate for NodeAffinity {
    const NAME: &'static str = "NodeAffinity";
    const SUMMARY: &'static str = "rejects nodes that the pod's node selector or required node affinity does not match";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self { added: args.selector()? })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let labels = pod_placement::node_selector();
        let terms = pod_placement::required_terms();
        if self.added.is_none() && labels.is_empty() && terms.is_none() {
            return Verdict::FitsAll;
        }
        if terms.as_deref().is_some_and(conflict) {
            return Verdict::FitsNone(Failure::unresolvable(REASON_CONFLICT));
        }
        let named = terms.as_deref().and_then(named_rows);
        let mut matcher = Matcher::new(rows);
        let mut patterns = vec![0; rows];
        if let Some(added) = &self.added {
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

nodesift_sdk::export!(NodeAffinity);

/// Whether every term names nodes, and none names any: `PreFilter` of the plugin. It looks at the terms as they are
/// written, also where they cannot be read otherwise.
fn conflict(terms: &[Term]) -> bool {
    !terms.is_empty() && terms.iter().all(|term| names(term).is_some_and(|names| names.is_empty()))
}

/// The rows of the nodes that the terms name; none where some term names none, so that any node can be meant.
fn named_rows(terms: &[Term]) -> Option<Vec<u32>> {
    if terms.is_empty() {
        return None;
    }
    let named: BTreeSet<&str> = terms.iter().map(names).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
    Some(named.into_iter().filter_map(node_identity::row).collect())
}

/// The nodes that a term names: what all of its requirements on the name have in common; none without such.
fn names(term: &Term) -> Option<BTreeSet<&str>> {
    let names_nodes =
        |requirement: &&Requirement| requirement.key == NAME_FIELD && requirement.operator == Operator::In;
    let sets = term.fields.iter().filter(names_nodes);
    sets.map(|requirement| requirement.values.iter().map(String::as_str).collect::<BTreeSet<_>>())
        .reduce(|common, set| common.intersection(&set).copied().collect())
}

#[cfg(test)]
mod tests;
