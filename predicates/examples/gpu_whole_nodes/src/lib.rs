//! GpuWholeNodes: an example of a cluster-wide predicate over columns. Small pods do not break into the last nodes whose GPUs are all free.
//!
//! A pod that requests fewer GPUs than the node has is small there. It may take a whole node while more than `keep` of them are left;
//! after that it goes where GPUs are in use already. A pod of a whole node, and one without GPUs, fits every node.

use nodesift_sdk::columns::cluster_pods::{self, PodSelector};
use nodesift_sdk::columns::{node_resources, node_taints, pod_resources};
use nodesift_sdk::{Failure, Predicate, Verdict};
use serde::Deserialize;

/// Reason: the node is one of the last with all GPUs free.
pub const REASON: &str = "node(s) were kept whole for pods that need all GPUs of a node";

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    /// The resource that nodes with GPUs list in `status.allocatable`, and that pods request.
    pub resource: String,
    /// The number of GPUs from which on a node is worth keeping whole.
    pub size: i64,
    /// The number of whole nodes that are kept.
    pub keep: usize,
}

impl Default for Args {
    fn default() -> Self {
        Self { resource: "nvidia.com/gpu".into(), size: 2, keep: 1 }
    }
}

/// Rejects the last nodes with all GPUs free, for pods that do not need all of them.
#[derive(Debug)]
pub struct GpuWholeNodes(Args);

impl Predicate for GpuWholeNodes {
    const NAME: &'static str = "GpuWholeNodes";
    const SUMMARY: &'static str = "rejects the last nodes with all GPUs free, for pods that do not need all of them";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.resource.is_empty() {
            return Err("resource: must not be empty".into());
        }
        if args.size < 2 {
            return Err(format!("size: must be 2 or more, not {}", args.size));
        }
        Ok(Self(args))
    }

    fn filter(&self, _: usize) -> Verdict {
        let Args { resource, size, keep } = &self.0;
        let requested = pod_resources::requests().into_iter().find(|request| request.resource == *resource);
        let wanted = requested.map_or(0, |request| request.amount);
        if wanted == 0 {
            return Verdict::FitsAll;
        }
        // Of every pod in every namespace, as columns over the whole cluster: a column of `node_resources` alone would not make the
        // predicate cluster-wide, and it could not count nodes.
        let every_pod =
            PodSelector { namespaces: Vec::new(), namespace_requirements: Some(Vec::new()), requirements: Vec::new() };
        let in_use = cluster_pods::requested(&[every_pod], resource, true);
        let gpus = node_resources::allocatable(resource);
        // A node that takes no pods is no node for a large one.
        let closed = node_taints::unschedulable();
        let is_whole = |((in_use, gpus), closed): ((&i64, &i64), &u8)| *gpus >= *size && *in_use == 0 && *closed == 0;
        let whole: Vec<bool> = in_use.iter().zip(&gpus).zip(&closed).map(is_whole).collect();
        if whole.iter().filter(|whole| **whole).count() > *keep {
            return Verdict::FitsAll;
        }
        let kept: Vec<u8> = whole.iter().zip(&gpus).map(|(whole, gpus)| u8::from(*whole && wanted < *gpus)).collect();
        // Nothing runs there, so there is nothing to preempt.
        Verdict::by_pattern(&kept, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(GpuWholeNodes);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const GPU: &str = "nvidia.com/gpu";

    fn gpus(count: i64) -> Pod {
        Pod::new("default").request(GPU, count)
    }

    fn rejected(args: &str, pod: Pod) -> Vec<String> {
        Cluster::new(pod)
            .node(Node::new("whole").resource(GPU, 8, 0))
            .node(Node::new("begun").resource(GPU, 8, 0).running(gpus(1)))
            .node(Node::new("small").resource(GPU, 1, 0))
            .node(Node::new("closed").resource(GPU, 8, 0).unschedulable())
            .node(Node::new("plain"))
            .rejected(&configure::<GpuWholeNodes>(args).unwrap())
    }

    #[test]
    fn the_last_whole_node_is_kept_for_a_pod_that_needs_all_of_it() {
        assert_eq!(rejected("{}", gpus(1)), [format!("whole: {REASON}")]);
        assert_eq!(rejected("{}", gpus(7)), [format!("whole: {REASON}")]);
        assert!(rejected("{}", gpus(8)).is_empty());
    }

    #[test]
    fn a_small_pod_may_take_a_whole_node_while_there_are_more() {
        assert!(rejected(r#"{"keep":0}"#, gpus(1)).is_empty());
        assert_eq!(rejected(r#"{"keep":2}"#, gpus(1)), [format!("whole: {REASON}")]);
    }

    #[test]
    fn pods_without_gpus_fit_everywhere() {
        assert!(rejected("{}", Pod::new("default").request("cpu", 500)).is_empty());
        assert!(rejected("{}", gpus(0)).is_empty());
    }

    #[test]
    fn small_nodes_are_no_whole_nodes() {
        assert!(rejected(r#"{"size":16}"#, gpus(1)).is_empty());
        assert!(rejected(r#"{"resource":"amd.com/gpu"}"#, gpus(1)).is_empty());
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (args, path) in [
            (r#"{"sizes":8}"#, "sizes: unknown field"),
            (r#"{"resource":""}"#, "resource: "),
            (r#"{"size":1}"#, "size: "),
            (r#"{"keep":-1}"#, "keep: "),
        ] {
            let error = configure::<GpuWholeNodes>(args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
