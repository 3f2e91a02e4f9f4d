//! NodeResourcesFit, the score: how much of a node is used, or is left, once the pod is there.
//!
//! Equivalent to the scores of kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/noderesources. A component of its
//! own, because it reads sums that the filter does not read. [`Args`] choose a formula of `strategy`; here are the columns that it is
//! applied to. Start at [`NodeResourcesFit`].

mod args;
mod strategy;

use nodesift_resource_scores::{Listed, Weighed, counts};
use nodesift_sdk::columns::{node_non_zero_requests, node_resources, pod_non_zero_requests};

pub use args::Args;
use strategy::Strategy;

/// Scores nodes by the part of their resources that is used.
#[derive(Debug)]
pub struct NodeResourcesFit {
    strategy: Strategy,
    resources: Vec<Listed>,
}

impl NodeResourcesFit {
    fn by_row(&self, rows: usize) -> Vec<i64> {
        let resources = weighed(&self.resources);
        (0..rows).map(|row| self.strategy.score(&resources, row)).collect()
    }
}

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
