//! NodePorts: rejects nodes where a host port that the pod requests is in use.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodeports. The host detects the
//! conflicts, because it maintains the used ports of each node.

use nodesift_sdk::columns::node_ports;
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict};

/// Reason: a requested host port is in use.
pub const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// Rejects nodes where a host port that the pod requests is in use.
#[derive(Debug)]
pub struct NodePorts;

impl Predicate for NodePorts {
    const NAME: &'static str = "NodePorts";
    const SUMMARY: &'static str = "rejects nodes where a host port that the pod asks for is taken";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, _: usize) -> Verdict {
        match node_ports::conflicts() {
            Some(conflicts) => Verdict::by_pattern(&conflicts, |_| Failure::unschedulable(REASON)),
            None => Verdict::FitsAll,
        }
    }
}

nodesift_sdk::export!(NodePorts);

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn cluster(pod: Pod) -> Cluster {
        Cluster::new(pod).node(Node::new("free")).node(Node::new("taken").port_taken())
    }

    #[test]
    fn a_pod_without_host_ports_fits_everywhere() {
        assert_eq!(cluster(Pod::new("default")).verdict(&NodePorts), Verdict::FitsAll);
    }

    #[test]
    fn a_taken_port_rejects_the_node_and_preemption_may_help() {
        let failures = cluster(Pod::new("default").host_port()).failures(&NodePorts);
        assert_eq!(failures, [None, Some(Failure::unschedulable(REASON))]);
    }
}
