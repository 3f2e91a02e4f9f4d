//! NodeResourcesFit: rejects nodes that have less of a resource free than the pod requests, or that have reached their
//! pod limit.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/noderesources/fit.go. [`fit`]
//! compares requests with columns; [`Args`] can exempt resources.

mod args;
mod fit;

use nodesift_sdk::columns::pod_resources;
use nodesift_sdk::{Predicate, Verdict};

pub use args::Args;
use fit::Dimension;

/// Rejects nodes without enough free resources, or without room for one more pod.
#[derive(Debug)]
pub struct NodeResourcesFit {
    args: Args,
}

impl Predicate for NodeResourcesFit {
    const NAME: &'static str = "NodeResourcesFit";
    const SUMMARY: &'static str = "rejects nodes without enough free resources, or without room for one more pod";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        args.check()?;
        Ok(Self { args })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let dimensions: Vec<Dimension> = pod_resources::requests()
            .into_iter()
            // A request of 0 is never checked, even on an overcommitted node.
            .filter(|request| request.amount != 0 && !self.args.ignores(&request.resource))
            .map(|request| Dimension::new(request, self.args.switches.extended_resources))
            .collect();
        fit::verdict(rows, &dimensions)
    }
}

nodesift_sdk::export!(NodeResourcesFit);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::native::{Cluster, Node, Pod};
    use nodesift_sdk::{Failure, configure};

    use super::*;

    const GPU: &str = "example.com/gpu";

    fn failures(args: &str, cluster: &Cluster) -> Vec<Option<Failure>> {
        cluster.failures(&configure::<NodeResourcesFit>(args).unwrap())
    }

    fn roomy(name: &str) -> Node {
        Node::new(name).pods(110, 10)
    }

    #[test]
    fn a_pod_that_fits_exactly_fits() {
        let cluster = Cluster::new(Pod::new("default").request("cpu", 1000).request("memory", 1 << 30))
            .node(roomy("exact").resource("cpu", 3000, 2000).resource("memory", 1 << 30, 0))
            .node(roomy("short").resource("cpu", 3000, 2001).resource("memory", 1 << 30, 0));
        assert_eq!(failures("{}", &cluster), [None, Some(Failure::unschedulable("Insufficient cpu"))]);
    }

    #[test]
    fn all_reasons_are_given() {
        let pod = Pod::new("default").request("cpu", 10).request("memory", 10).request("ephemeral-storage", 10);
        let full = Node::new("full").pods(10, 10).resource("cpu", 10, 1).resource("memory", 10, 1).resource(
            "ephemeral-storage",
            10,
            1,
        );
        let failure = Failure::unschedulable("Too many pods")
            .and("Insufficient cpu")
            .and("Insufficient memory")
            .and("Insufficient ephemeral-storage");
        assert_eq!(failures("{}", &Cluster::new(pod).node(full)), [Some(failure)]);
    }

    #[test]
    fn a_request_above_the_allocatable_amount_is_unresolvable() {
        let pod = Pod::new("default").request("cpu", 10).request("memory", 10);
        let cluster = Cluster::new(pod)
            .node(roomy("small").resource("cpu", 9, 0).resource("memory", 10, 0))
            .node(roomy("small-and-full").resource("cpu", 9, 0).resource("memory", 10, 1));
        let small = Failure::unresolvable("Insufficient cpu");
        assert_eq!(failures("{}", &cluster), [Some(small.clone()), Some(small.and("Insufficient memory"))]);
    }

    #[test]
    fn a_node_without_a_pod_limit_accepts_no_pod_and_that_is_resolvable() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("a"));
        assert_eq!(failures("{}", &cluster), [Some(Failure::unschedulable("Too many pods"))]);
    }

    #[test]
    fn a_request_of_0_is_not_checked_on_an_overcommitted_node() {
        let pod = Pod::new("default").request(GPU, 0);
        let cluster = Cluster::new(pod).node(roomy("a").resource(GPU, 1, 5).resource("cpu", 1, 5));
        assert_eq!(failures("{}", &cluster), [None]);
    }

    #[test]
    fn a_device_class_provides_a_resource_that_a_node_does_not_list() {
        let cluster = Cluster::new(Pod::new("default").request(GPU, 2))
            .node(roomy("lists-none"))
            .node(roomy("lists-zero").resource(GPU, 0, 0))
            .node(roomy("lists-one").resource(GPU, 1, 0))
            .node(roomy("lists-two").resource(GPU, 2, 1));
        let (too_small, full) = (Failure::unresolvable, Failure::unschedulable);
        let reason = "Insufficient example.com/gpu";
        let served = failures("{}", &cluster.clone().device_class(GPU));
        assert_eq!(served, [None, None, Some(too_small(reason)), Some(full(reason))]);
        let unserved = failures("{}", &cluster);
        assert_eq!(unserved[..2], [Some(too_small(reason)), Some(too_small(reason))]);
    }

    #[test]
    fn a_device_class_provides_nothing_where_the_gate_is_off() {
        let cluster = Cluster::new(Pod::new("default").request(GPU, 2)).node(roomy("lists-none")).device_class(GPU);
        let off = failures(r#"{"switches":{"DRAExtendedResource":false}}"#, &cluster);
        assert_eq!(off, [Some(Failure::unresolvable("Insufficient example.com/gpu"))]);
        assert_eq!(failures(r#"{"switches":{"DRAExtendedResource":true}}"#, &cluster), [None]);
    }

    #[test]
    fn a_device_class_does_not_provide_cpu() {
        let cluster = Cluster::new(Pod::new("default").request("cpu", 1)).node(roomy("a")).device_class("cpu");
        assert_eq!(failures("{}", &cluster), [Some(Failure::unresolvable("Insufficient cpu"))]);
    }

    #[test]
    fn ignored_resources_are_not_checked() {
        let cluster = Cluster::new(Pod::new("default").request("cpu", 1).request(GPU, 1)).node(roomy("a"));
        let ignored = failures(r#"{"ignoredResources":["example.com/gpu","cpu"]}"#, &cluster);
        assert_eq!(ignored, [Some(Failure::unresolvable("Insufficient cpu"))]);
        assert_eq!(failures(r#"{"ignoredResourceGroups":["example.com"]}"#, &cluster), ignored);
    }
}
