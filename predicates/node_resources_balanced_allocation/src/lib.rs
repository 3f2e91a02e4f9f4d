//! NodeResourcesBalancedAllocation: scores nodes by how evenly their resources are used once the pod is there.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. The formula is
//! in `balance`, its arguments are in [`Args`]; here are the columns. Start at [`NodeResourcesBalancedAllocation`].

mod args;
mod balance;

use nodesift_resource_scores::{Weighed, counts};
use nodesift_sdk::columns::{node_resources, pod_resources};
use nodesift_sdk::scorer::{Normalization, Scorer, Scores};
use nodesift_sdk::{Predicate, Verdict};

pub use args::Args;
use balance::Balance;

/// Scores nodes by how evenly their resources are used.
#[derive(Debug)]
pub struct NodeResourcesBalancedAllocation {
    balance: Balance,
    /// Names of the resources that are compared.
    resources: Vec<String>,
    /// Whether devices count where nodes do not list an extended resource.
    counts_devices: bool,
}

impl Predicate for NodeResourcesBalancedAllocation {
    const NAME: &'static str = "NodeResourcesBalancedAllocation";
    const SUMMARY: &'static str = "rejects no node; scores nodes by how evenly their resources are used";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        let counts_devices = args.switches.extended_resources;
        let (balance, resources) = args.read()?;
        Ok(Self { balance, resources, counts_devices })
    }

    fn filter(&self, _: usize) -> Verdict {
        Verdict::FitsAll
    }
}

impl Scorer for NodeResourcesBalancedAllocation {
    fn normalization(&self) -> Normalization {
        Normalization::None
    }

    fn score(&self, rows: usize) -> Scores {
        self.by_row(rows).map_or(Scores::Skip, Scores::ByRow)
    }
}

nodesift_sdk::export!(NodeResourcesBalancedAllocation, scorer);

impl NodeResourcesBalancedAllocation {
    /// A score per row; none where the pod asks for nothing of what is compared.
    fn by_row(&self, rows: usize) -> Option<Vec<i64>> {
        let requests = pod_resources::requests();
        let asked = |name: &String| {
            requests.iter().find(|request| request.resource == *name).map_or(0, |request| request.amount)
        };
        let listed: Vec<(&String, i64)> = self.resources.iter().map(|name| (name, asked(name))).collect();
        if listed.iter().all(|(_, asked)| *asked == 0) {
            return None;
        }
        let counted = listed.into_iter().filter(|(name, asked)| counts(name, *asked));
        let resources: Vec<Weighed> = counted
            .map(|(name, asked)| {
                let weighed = Weighed {
                    weight: 1,
                    allocatable: node_resources::allocatable(name),
                    allocated: node_resources::requested(name),
                    asked,
                };
                if self.counts_devices { weighed.served_by_devices(name) } else { weighed }
            })
            .collect();
        Some((0..rows).map(|row| self.balance.score(&resources, row)).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn scores(args: &str, cluster: &Cluster) -> Scores {
        cluster.scores(&configure::<NodeResourcesBalancedAllocation>(args).unwrap())
    }

    #[test]
    fn a_pod_that_asks_for_nothing_of_what_is_compared_is_not_scored() {
        let node = Node::new("a").resource("cpu", 100, 10);
        let cluster = |pod| Cluster::new(pod).node(node.clone());
        let gpu = Pod::new("default").request("example.com/gpu", 1);
        assert_eq!(scores("{}", &cluster(gpu.clone().non_zero_request("cpu", 100))), Scores::Skip);
        let args = r#"{"resources":[{"name":"cpu"},{"name":"example.com/gpu"}]}"#;
        assert_eq!(scores(args, &cluster(gpu)), Scores::ByRow(vec![75]));
    }

    #[test]
    fn the_balance_with_the_pod_and_the_change_that_it_makes_differ() {
        let cluster = Cluster::new(Pod::new("default").request("cpu", 40))
            .node(Node::new("evened").resource("cpu", 100, 10).resource("memory", 100, 50))
            .node(Node::new("tilted").resource("cpu", 100, 10).resource("memory", 100, 10));
        assert_eq!(scores("{}", &cluster), Scores::ByRow(vec![85, 65]));
        assert_eq!(scores(r#"{"switches":{"BalanceByChange":false}}"#, &cluster), Scores::ByRow(vec![100, 80]));
    }
}
