//! GpuMemoryFit: an example of a predicate that reads a sum of an accounting module. A pod with a slice of GPU memory runs only where
//! so much is left.
//!
//! The accounting of `gpu_memory` makes the sum.

use nodesift_sdk::per_node::{Node, NodePredicate, Pod};
use nodesift_sdk::{Failure, NoArgs};

/// The annotation of pods: mebibytes, as a number.
pub const ANNOTATION: &str = "example.com/gpu-memory-mib";

/// Name of the sum of a node's unused GPU memory, in mebibytes.
pub const LEFT: &str = "gpu-memory.left-mib";

/// Reason: too little is left.
pub const REASON: &str = "node(s) had too little GPU memory left";

/// Rejects nodes with less GPU memory left than the pod's slice.
#[derive(Debug)]
pub struct GpuMemoryFit;

impl NodePredicate for GpuMemoryFit {
    const NAME: &'static str = "GpuMemoryFit";
    const SUMMARY: &'static str = "rejects nodes with less GPU memory left than the pod's slice";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, pod: &Pod, node: &Node) -> Result<(), Failure> {
        let Some(text) = pod.annotation(ANNOTATION) else { return Ok(()) };
        let slice: u32 =
            text.parse().map_err(|_| Failure::unresolvable("the pod's slice of GPU memory was no number"))?;
        if i64::from(slice) <= node.sum(LEFT) { Ok(()) } else { Err(Failure::unschedulable(REASON)) }
    }
}

nodesift_sdk::export!(GpuMemoryFit);

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    #[test]
    fn a_slice_must_be_left() {
        let rejected = |pod: Pod| {
            let nodes = [Node::new("whole").sum(LEFT, 81_920), Node::new("part").sum(LEFT, 4_095), Node::new("none")];
            nodes.into_iter().fold(Cluster::new(pod), Cluster::node).rejected(&GpuMemoryFit)
        };
        let reasons = [format!("part: {REASON}"), format!("none: {REASON}")];
        assert_eq!(rejected(Pod::new("ns").annotation(ANNOTATION, "4096")), reasons);
        assert!(rejected(Pod::new("ns")).is_empty());
        assert_eq!(rejected(Pod::new("ns").annotation(ANNOTATION, "much")).len(), 3);
    }
}
