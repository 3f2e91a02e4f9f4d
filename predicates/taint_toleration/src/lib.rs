//! TaintToleration: rejects nodes with a taint of effect NoSchedule or NoExecute that the pod does not tolerate.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/tainttoleration. Taints of effect PreferNoSchedule
//! reject no node: `score` counts them.

mod score;

use nodesift_sdk::columns::node_taints;
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict, kernels, taints};

/// Reason: the node has an untolerated taint.
pub const REASON: &str = "node(s) had untolerated taint(s)";

/// The bit of a row with a taint that the pod does not tolerate.
const UNTOLERATED: u8 = 1;

/// Rejects nodes with a taint of effect NoSchedule or NoExecute that the pod does not tolerate.
#[derive(Debug)]
pub struct TaintToleration;

impl Predicate for TaintToleration {
    const NAME: &'static str = "TaintToleration";
    const SUMMARY: &'static str = "rejects nodes with a taint that the pod does not tolerate";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let Some(table) = taints::untolerated_sets(UNTOLERATED) else { return Verdict::FitsAll };
        let mut patterns = vec![0; rows];
        kernels::mark_by_table(&mut patterns, &node_taints::column(), &table, UNTOLERATED);
        Verdict::by_pattern(&patterns, |_| Failure::unresolvable(REASON))
    }
}

impl Scorer for TaintToleration {
    fn normalization(&self) -> Normalization {
        Normalization::ByLargestReversed
    }

    fn score(&self, rows: usize) -> Scores {
        Scores::ByRow(score::untolerated(rows))
    }
}

nodesift_sdk::export!(TaintToleration, scorer);

#[cfg(test)]
mod tests {
    use nodesift_sdk::columns::node_taints::Effect;
    use nodesift_sdk::columns::pod_tolerations::Operator;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn rejected(pod: Pod) -> Vec<String> {
        Cluster::new(pod)
            .node(Node::new("plain"))
            .node(Node::new("schedule").taint("a", "1", Effect::NoSchedule))
            .node(Node::new("execute").taint("a", "1", Effect::NoExecute))
            .node(Node::new("both").taint("a", "1", Effect::NoSchedule).taint("b", "2", Effect::NoExecute))
            .node(Node::new("soft").taint("c", "3", Effect::PreferNoSchedule))
            .node(Node::new("unknown").taint("d", "4", Effect::Other))
            .rejected(&TaintToleration)
            .iter()
            .map(|line| line.replace(&format!(": {REASON}"), ""))
            .collect()
    }

    #[test]
    fn only_taints_of_two_effects_filter() {
        assert_eq!(rejected(Pod::new("default")), ["schedule", "execute", "both"]);
    }

    #[test]
    fn preemption_does_not_help() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("a").taint("a", "", Effect::NoSchedule));
        assert_eq!(
            cluster.verdict(&TaintToleration),
            Verdict::ByRow(nodesift_sdk::Outcome { codes: vec![1; 1], failures: vec![Failure::unresolvable(REASON)] })
        );
    }

    #[test]
    fn all_taints_of_a_node_must_be_tolerated() {
        let pod = Pod::new("default").toleration("a", Operator::Equal, "1", None);
        assert_eq!(rejected(pod.clone()), ["both"]);
        assert_eq!(rejected(pod.toleration("b", Operator::Exists, "", None)), [""; 0]);
    }

    #[test]
    fn a_toleration_of_one_effect_leaves_the_other() {
        let pod = Pod::new("default").toleration("a", Operator::Exists, "", Some(Effect::NoExecute));
        assert_eq!(rejected(pod), ["schedule", "both"]);
    }

    #[test]
    fn numeric_operators_never_match() {
        assert_eq!(rejected(Pod::new("default").toleration("a", Operator::Other, "0", None)).len(), 3);
    }

    #[test]
    fn a_cluster_without_taints_fits() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("a")).node(Node::new("b"));
        assert_eq!(cluster.verdict(&TaintToleration), Verdict::FitsAll);
    }
}
