//! NeonFit: an example of a predicate beside an accounting module. A node that would have more processors or memory in use than it
//! has is rejected, also where the pod takes none of what is overcommitted already.
//!
//! The accounting of `neon` says what pods take, so that this is what is left of the filter of Neon's scheduler plugin.

use nodesift_sdk::per_node::{Node, NodePredicate, Pod};
use nodesift_sdk::{Failure, NoArgs};

/// Reason: the text of the plugin.
pub const REASON: &str = "Not enough resources for Pod";

/// Rejects nodes without enough processors or memory for a virtual machine.
#[derive(Debug)]
pub struct NeonFit;

impl NodePredicate for NeonFit {
    const NAME: &'static str = "NeonFit";
    const SUMMARY: &'static str = "rejects nodes without enough processors or memory for a virtual machine";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, pod: &Pod, node: &Node) -> Result<(), Failure> {
        let fits = |resource: &str| pod.request(resource) <= node.free(resource);
        if fits("cpu") && fits("memory") { Ok(()) } else { Err(Failure::unschedulable(REASON)) }
    }
}

nodesift_sdk::export!(NeonFit);

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn rejected(pod: Pod) -> Vec<String> {
        Cluster::new(pod)
            .node(Node::new("free").resource("cpu", 4_000, 1_000).resource("memory", 100, 0))
            .node(Node::new("cpu").resource("cpu", 4_000, 3_001).resource("memory", 100, 0))
            .node(Node::new("memory").resource("cpu", 4_000, 0).resource("memory", 100, 51))
            .node(Node::new("over").resource("cpu", 4_000, 4_001).resource("memory", 100, 0))
            .rejected(&NeonFit)
    }

    #[test]
    fn a_node_must_have_room_for_processors_and_memory() {
        let reasons =
            |nodes: &[&str]| -> Vec<String> { nodes.iter().map(|node| format!("{node}: {REASON}")).collect() };
        assert_eq!(rejected(Pod::new("ns").request("cpu", 999).request("memory", 49)), reasons(&["over"]));
        assert_eq!(
            rejected(Pod::new("ns").request("cpu", 1_000).request("memory", 50)),
            reasons(&["cpu", "memory", "over"])
        );
        assert_eq!(rejected(Pod::new("ns")), reasons(&["over"]), "it is over already");
    }
}
