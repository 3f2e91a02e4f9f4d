//! NodeUnschedulable: rejects nodes with `spec.unschedulable`, unless the pod tolerates the taint
//! `node.kubernetes.io/unschedulable`.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodeunschedulable. Whether the
//! node has that taint does not matter here.

use nodesift_sdk::columns::node_taints::{self, Effect, Taint};
use nodesift_sdk::columns::pod_tolerations;
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict, kernels};

/// Reason: the node is marked unschedulable.
pub const REASON: &str = "node(s) were unschedulable";

/// The key of the taint that a pod must tolerate to run on a node with `spec.unschedulable`.
pub const TAINT_KEY: &str = "node.kubernetes.io/unschedulable";

/// Rejects nodes with `spec.unschedulable`, unless the pod tolerates the corresponding taint.
#[derive(Debug)]
pub struct NodeUnschedulable;

impl Predicate for NodeUnschedulable {
    const NAME: &'static str = "NodeUnschedulable";
    const SUMMARY: &'static str = "rejects nodes that are marked unschedulable, unless the pod tolerates that";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, _: usize) -> Verdict {
        let unschedulable = node_taints::unschedulable();
        // Tolerations are expensive to read, and most clusters have no unschedulable node.
        if kernels::union(&unschedulable) == 0 {
            return Verdict::FitsAll;
        }
        let taint = Taint { key: TAINT_KEY.into(), value: String::new(), effect: Effect::NoSchedule };
        if pod_tolerations::tolerations().iter().any(|toleration| toleration.tolerates(&taint)) {
            return Verdict::FitsAll;
        }
        Verdict::by_pattern(&unschedulable, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(NodeUnschedulable);

#[cfg(test)]
mod tests {
    use nodesift_sdk::columns::pod_tolerations::Operator;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn rejected(pod: Pod) -> Vec<String> {
        let tainted = Node::new("tainted").unschedulable().taint(TAINT_KEY, "", Effect::NoSchedule);
        Cluster::new(pod)
            .node(Node::new("plain").unschedulable())
            .node(tainted)
            .node(Node::new("taint-alone").taint(TAINT_KEY, "", Effect::NoSchedule))
            .rejected(&NodeUnschedulable)
    }

    #[test]
    fn an_unschedulable_node_is_rejected_with_or_without_the_taint() {
        assert_eq!(rejected(Pod::new("default")), [format!("plain: {REASON}"), format!("tainted: {REASON}")]);
    }

    #[test]
    fn preemption_does_not_help() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("a").unschedulable());
        assert_eq!(
            cluster.verdict(&NodeUnschedulable),
            Verdict::ByRow(nodesift_sdk::Outcome { codes: vec![1; 1], failures: vec![Failure::unresolvable(REASON)] })
        );
    }

    #[test]
    fn a_toleration_of_the_taint_lets_the_pod_pass() {
        for (key, effect) in [(TAINT_KEY, Some(Effect::NoSchedule)), (TAINT_KEY, None), ("", None)] {
            let pod = Pod::new("default").toleration(key, Operator::Exists, "", effect);
            assert_eq!(rejected(pod), [""; 0], "{key:?} {effect:?}");
        }
        assert_eq!(rejected(Pod::new("default").toleration(TAINT_KEY, Operator::Equal, "", None)), [""; 0]);
    }

    #[test]
    fn a_toleration_of_another_effect_or_value_does_not() {
        let effect = Some(Effect::NoExecute);
        assert_eq!(rejected(Pod::new("default").toleration(TAINT_KEY, Operator::Exists, "", effect)).len(), 2);
        assert_eq!(rejected(Pod::new("default").toleration(TAINT_KEY, Operator::Equal, "true", None)).len(), 2);
    }
}
