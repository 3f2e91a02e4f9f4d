//! GpuReserved: an example of a pointwise predicate over a column. Nodes with GPUs take only pods that request one, so that other
//! pods do not fill up CPU and memory of expensive nodes.
//!
//! A taint does the same where every pod that requests a GPU tolerates it. This predicate needs nothing in pods but the request.

use nodesift_sdk::columns::{node_resources, pod_labels, pod_resources};
use nodesift_sdk::{Failure, Predicate, Verdict, syntax};
use serde::Deserialize;

/// Reason: the node has GPUs, and the pod requests none.
pub const REASON: &str = "node(s) were reserved for pods that request a GPU";

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    /// The resource that nodes with GPUs list in `status.allocatable`, and that pods request.
    pub resource: String,
    /// Namespaces whose pods run on every node, such as those of agents that each node needs.
    pub exempt_namespaces: Vec<String>,
    /// The key of a pod label. A pod that has it, with any value, runs on every node.
    pub exempt_label: String,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            resource: "nvidia.com/gpu".into(),
            exempt_namespaces: vec!["kube-system".into()],
            exempt_label: "example.com/runs-beside-gpus".into(),
        }
    }
}

/// Rejects nodes with GPUs for pods that request none, unless the pod is exempt by namespace or label.
#[derive(Debug)]
pub struct GpuReserved(Args);

impl GpuReserved {
    fn is_exempt(&self) -> bool {
        let Args { resource, exempt_namespaces, exempt_label } = &self.0;
        pod_resources::requests().iter().any(|request| request.resource == *resource && request.amount > 0)
            || exempt_namespaces.contains(&pod_labels::namespace())
            || pod_labels::label(exempt_label).is_some()
    }
}

impl Predicate for GpuReserved {
    const NAME: &'static str = "GpuReserved";
    const SUMMARY: &'static str = "rejects nodes with GPUs for pods that request none";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.resource.is_empty() {
            return Err("resource: must not be empty".into());
        }
        if !syntax::is_label_key(&args.exempt_label) {
            return Err(format!("exemptLabel: `{}` is not a label key", args.exempt_label));
        }
        Ok(Self(args))
    }

    fn filter(&self, _: usize) -> Verdict {
        if self.is_exempt() {
            return Verdict::FitsAll;
        }
        // What is allocatable, not what is free: a node whose GPUs are all in use stays reserved.
        let gpus = node_resources::allocatable(&self.0.resource);
        let reserved: Vec<u8> = gpus.iter().map(|gpus| u8::from(*gpus > 0)).collect();
        Verdict::by_pattern(&reserved, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(GpuReserved);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const GPU: &str = "nvidia.com/gpu";

    fn rejected(args: &str, pod: Pod) -> Vec<String> {
        Cluster::new(pod)
            .node(Node::new("gpu").resource(GPU, 8, 0))
            .node(Node::new("full").resource(GPU, 8, 8))
            .node(Node::new("broken").resource(GPU, 0, 0))
            .node(Node::new("plain").resource("cpu", 4000, 0))
            .rejected(&configure::<GpuReserved>(args).unwrap())
    }

    #[test]
    fn nodes_with_gpus_take_only_pods_that_request_one() {
        let expected = [format!("gpu: {REASON}"), format!("full: {REASON}")];
        assert_eq!(rejected("{}", Pod::new("default").request("cpu", 500)), expected);
        assert_eq!(rejected("{}", Pod::new("default").request(GPU, 0)), expected);
        assert!(rejected("{}", Pod::new("default").request(GPU, 1)).is_empty());
    }

    #[test]
    fn exempt_pods_run_everywhere() {
        assert!(rejected("{}", Pod::new("kube-system")).is_empty());
        assert!(rejected("{}", Pod::new("default").label("example.com/runs-beside-gpus", "")).is_empty());
        assert_eq!(rejected(r#"{"exemptNamespaces":["ops"],"exemptLabel":"agent"}"#, Pod::new("kube-system")).len(), 2);
        assert!(rejected(r#"{"exemptNamespaces":["ops"],"exemptLabel":"agent"}"#, Pod::new("ops")).is_empty());
    }

    #[test]
    fn the_resource_is_an_argument() {
        assert!(rejected(r#"{"resource":"amd.com/gpu"}"#, Pod::new("default")).is_empty());
        assert_eq!(rejected(r#"{"resource":"cpu"}"#, Pod::new("default")), [format!("plain: {REASON}")]);
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (args, path) in [
            (r#"{"resources":"a"}"#, "resources: unknown field"),
            (r#"{"resource":""}"#, "resource: "),
            (r#"{"exemptLabel":"a b"}"#, "exemptLabel: "),
        ] {
            let error = configure::<GpuReserved>(args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
