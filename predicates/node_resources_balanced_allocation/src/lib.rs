//! NodeResourcesBalancedAllocation: scores nodes by how evenly their resources are used once the pod is there.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. The formula is
//! in `balance`, its arguments are in [`Args`]; here are the columns. Start at [`NodeResourcesBalancedAllocation`].

mod args;
mod balance;

use nodesift_resource_scores::{Weighed, counts};
use nodesift_sdk::columns::{node_resources, pod_resources};

pub use args::Args;
use balance::Balance;

/// Scores nodes by how evenly their resources are used.
#[derive(Debug)]
pub struct NodeResourcesBalancedAllocation {
    balance: Balance,
    /// Names of the resources that are compared.
    resources: Vec<String>,
}

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
            .map(|(name, asked)| Weighed {
                weight: 1,
                allocatable: node_resources::allocatable(name),
                allocated: node_resources::requested(name),
                asked,
            })
            .collect();
        Some((0..rows).map(|row| self.balance.score(&resources, row)).collect())
    }
}
