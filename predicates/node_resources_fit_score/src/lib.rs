//! NodeResourcesFit, the score: how much of a node is used, or is left, once the pod is there.
//!
//! Equivalent to the scores of kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/noderesources. A component of its
//! own, because it reads sums that the filter does not read. [`Args`] choose a formula of `strategy`; here are the columns that it is
//! applied to. Start at [`NodeResourcesFit`].

mod args;
mod strategy;

use nodesift_resource_scores::{Listed, Weighed, counts};
use nodesift_sdk::columns::{node_non_zero_requests, node_resources, pod_non_zero_requests};
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Predicate, Verdict};

pub use args::Args;
use strategy::Strategy;

/// Scores nodes by the part of their resources that is used.
#[derive(Debug)]
pub struct NodeResourcesFit {
    strategy: Strategy,
    resources: Vec<Listed>,
    /// Whether devices count where nodes do not list an extended resource.
    counts_devices: bool,
}

impl Predicate for NodeResourcesFit {
    const NAME: &'static str = "NodeResourcesFit";
    const SUMMARY: &'static str = "rejects no node; scores nodes by the part of their resources that is used";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        let counts_devices = args.switches.extended_resources;
        let (strategy, resources) = args.strategy()?;
        Ok(Self { strategy, resources, counts_devices })
    }

    fn filter(&self, _: usize) -> Verdict {
        Verdict::FitsAll
    }
}

impl Scorer for NodeResourcesFit {
    fn normalization(&self) -> Normalization {
        Normalization::None
    }

    fn score(&self, rows: usize) -> Scores {
        let resources = self.weighed();
        Scores::ByRow((0..rows).map(|row| self.strategy.score(&resources, row)).collect())
    }
}

nodesift_sdk::export!(NodeResourcesFit, scorer);

impl NodeResourcesFit {
    /// The columns of the listed resources that count. Of `cpu` and `memory` every container counts, also one that names neither.
    fn weighed(&self) -> Vec<Weighed> {
        let requests = pod_non_zero_requests::requests();
        let resource = |(name, weight): &Listed| {
            let asked = requests.iter().find(|request| request.resource == *name).map_or(0, |request| request.amount);
            if !counts(name, asked) {
                return None;
            }
            let weighed = Weighed {
                weight: *weight,
                allocatable: node_resources::allocatable(name),
                allocated: match name.as_str() {
                    "cpu" | "memory" => node_non_zero_requests::requested(name),
                    _ => node_resources::requested(name),
                },
                asked,
            };
            Some(if self.counts_devices { weighed.served_by_devices(name) } else { weighed })
        };
        self.resources.iter().filter_map(resource).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::columns::node_devices::{Answer, DeviceColumns, Kind, Pool, PoolState, Situation};
    use nodesift_sdk::columns::pod_claims::{Class, ExtendedClaim, ExtendedResource, ExtendedResources, MORE, NONE};
    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const GPU: &str = "example.com/gpu";

    fn scores(args: &str, cluster: &Cluster) -> Vec<i64> {
        match cluster.scores(&configure::<NodeResourcesFit>(args).unwrap()) {
            Scores::ByRow(scores) => scores,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn cpu_and_memory_are_counted_with_what_containers_do_not_name() {
        let pod = Pod::new("default").request("cpu", 1).non_zero_request("cpu", 100).non_zero_request("memory", 200);
        let node = |name| Node::new(name).resource("cpu", 1_000, 1).resource("memory", 1_000, 1);
        let cluster = Cluster::new(pod)
            .node(node("empty"))
            .node(node("used").non_zero("cpu", 400).non_zero("memory", 300))
            .node(Node::new("without-memory").resource("cpu", 1_000, 0));
        assert_eq!(scores("{}", &cluster), [85, 50, 90]);
    }

    #[test]
    fn other_resources_are_counted_as_they_are_named() {
        let args = r#"{"scoringStrategy":{"type":"MostAllocated",
            "resources":[{"name":"example.com/gpu","weight":3},{"name":"ephemeral-storage"},{"name":"pods"}]}}"#;
        let node = |name| Node::new(name).resource("ephemeral-storage", 100, 50);
        let nodes = |pod| Cluster::new(pod).node(node("with").resource(GPU, 4, 1)).node(node("without"));
        // A GPU that the pod does not ask for does not count, storage does.
        assert_eq!(scores(args, &nodes(Pod::new("default"))), [50, 50]);
        assert_eq!(scores(args, &nodes(Pod::new("default").non_zero_request(GPU, 1))), [50, 50]);
        assert_eq!(scores(args, &nodes(Pod::new("default").non_zero_request(GPU, 3))), [87, 50]);
    }

    /// A cluster of three nodes: one with 4 GPUs of its own, and two with 4 devices of the class, of which 1 and 3 are in use, and one of
    /// another class.
    fn served(pod: Pod, matches: Answer) -> Cluster {
        let class = Class { name: "gpu".into(), selectors: Some(vec!["true".into()]) };
        let own = vec![MORE, NONE, NONE];
        let resources =
            vec![ExtendedResource { class: None, own: vec![MORE; 3] }, ExtendedResource { class: Some(class), own }];
        let extended = ExtendedResources { claim: ExtendedClaim::ToBeMade(Vec::new()), resources };
        let kind = |matches| Kind {
            matches: vec![matches],
            reaches: Answer::Yes,
            taints: 0,
            multiple_allocations: false,
            capacities: Vec::new(),
            consumes: Vec::new(),
        };
        let pool = |devices| Pool { driver: 0, state: PoolState::Ok, devices, counters: 0 };
        let devices = DeviceColumns {
            codes: vec![0, 1, 2],
            situations: [0, 2, 1].map(Situation::Pools).to_vec(),
            pools: [2, 3, 5].map(pool).to_vec(),
            counters: Vec::new(),
            device_kinds: vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
            in_use: vec![1, 1, 0, 0, 0, 1, 2, 0, 1, 0],
            held: Vec::new(),
            values: Vec::new(),
            pool_names: Vec::new(),
            names: Vec::new(),
            kinds: vec![kind(matches), kind(Answer::No)],
            drivers: vec!["gpu.example.com".into()],
            taints: vec![Vec::new()],
        };
        let node = |name: &str| Node::new(name).resource("example.com/fpga", 1, 0);
        Cluster::new(pod.extended("default/<extended-resources>", extended))
            .node(node("own").resource(GPU, 4, 2))
            .node(node("little-used"))
            .node(node("much-used").resource(GPU, 0, 7))
            .devices(devices)
    }

    #[test]
    fn devices_count_where_a_class_serves_what_a_node_does_not_list() {
        let args = |more: &str| {
            format!(r#"{{"scoringStrategy":{{"type":"MostAllocated","resources":[{{"name":"{GPU}"}}]}}{more}}}"#)
        };
        let asks = |pod: Pod, resource| pod.request(resource, 1).non_zero_request(resource, 1);
        let pod = asks(asks(Pod::new("default").request("cpu", 1), "example.com/fpga"), GPU);
        assert_eq!(scores(&args(""), &served(pod.clone(), Answer::Yes)), [75, 50, 100]);
        let off = args(r#","switches":{"DRAExtendedResource":false}"#);
        assert_eq!(scores(&off, &served(pod.clone(), Answer::Yes)), [75, 0, 0], "the gate is off");
        // The selector of the class fails on a device of both.
        assert_eq!(scores(&args(""), &served(pod, Answer::Error("no".into()))), [75, 0, 0]);
        // The class is not known by its place, since what the pod asks for is said by another component.
        let accounted = asks(Pod::new("default"), GPU);
        assert_eq!(scores(&args(""), &served(accounted, Answer::Yes)), [75, 0, 0]);
    }
}
