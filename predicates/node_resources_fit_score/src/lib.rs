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
}

impl Predicate for NodeResourcesFit {
    const NAME: &'static str = "NodeResourcesFit";
    const SUMMARY: &'static str = "rejects no node; scores nodes by the part of their resources that is used";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        let (strategy, resources) = args.strategy()?;
        Ok(Self { strategy, resources })
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
        let resources = weighed(&self.resources);
        Scores::ByRow((0..rows).map(|row| self.strategy.score(&resources, row)).collect())
    }
}

nodesift_sdk::export!(NodeResourcesFit, scorer);

/// The columns of the listed resources that count. Of `cpu` and `memory` every container counts, also one that names neither.
fn weighed(listed: &[Listed]) -> Vec<Weighed> {
    let requests = pod_non_zero_requests::requests();
    let resource = |(name, weight): &Listed| {
        let asked = requests.iter().find(|request| request.resource == *name).map_or(0, |request| request.amount);
        counts(name, asked).then(|| Weighed {
            weight: *weight,
            allocatable: node_resources::allocatable(name),
            allocated: match name.as_str() {
                "cpu" | "memory" => node_non_zero_requests::requested(name),
                _ => node_resources::requested(name),
            },
            asked,
        })
    };
    listed.iter().filter_map(resource).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

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
}
