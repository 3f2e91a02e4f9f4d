//! NodeResourcesFit: how much of a node's resources would be taken, by one of three strategies.
//!
//! Sources: P/noderesources/fit.go, least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go.

use nodesift_fixtures::json::{at, list, text};
use serde_json::Value;

use super::resources::{Amounts, amounts, listed};
use super::shape::{line, rounded_ratio, shape};
use super::{LARGEST, Raw, World};
use crate::requests::{asked_non_zero, taken_non_zero_under, taken_under};

/// The weighted mean over the resources that count.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let strategy = at(world.profile.arguments("NodeResourcesFit"), "scoringStrategy");
    let resources = listed(strategy, "resources");
    let shape = shape(list(strategy, "requestedToCapacityRatio.shape"));
    let asked = asked_non_zero(pod);
    let score = |node: &&Value| {
        let (mut sum, mut weights) = (0_i64, 0_i64);
        let is_ratio = text(strategy, "type") == "RequestedToCapacityRatio";
        for resource in &resources {
            // The default amounts are of CPU and memory alone; of an extended resource both sums are the same.
            let amounts = match resource.name.as_str() {
                "cpu" | "memory" => {
                    amounts(world, node, &resource.name, &asked, |pod| taken_non_zero_under(pod, world.switches))
                }
                _ => amounts(world, node, &resource.name, &asked, |pod| taken_under(pod, world.switches)),
            };
            let Some(amounts) = amounts else { continue };
            let score = match text(strategy, "type") {
                "MostAllocated" => most_allocated(amounts),
                "RequestedToCapacityRatio" => line(&shape, utilization(amounts)),
                _ => least_allocated(amounts),
            };
            if is_ratio && score <= 0 {
                continue;
            }
            sum = sum.wrapping_add(score.wrapping_mul(resource.weight));
            weights += resource.weight;
        }
        match weights {
            0 => Some(0),
            _ if is_ratio => Some(rounded_ratio(sum, weights)),
            _ => Some(sum / weights),
        }
    };
    Ok(Some(feasible.iter().map(score).collect()))
}

fn least_allocated(amounts: Amounts) -> i64 {
    if amounts.requested > amounts.allocatable {
        return 0;
    }
    amounts.allocatable.wrapping_sub(amounts.requested).wrapping_mul(LARGEST) / amounts.allocatable
}

fn most_allocated(amounts: Amounts) -> i64 {
    amounts.requested.min(amounts.allocatable).wrapping_mul(LARGEST) / amounts.allocatable
}

fn utilization(amounts: Amounts) -> i64 {
    if amounts.requested > amounts.allocatable {
        return LARGEST;
    }
    amounts.requested.wrapping_mul(LARGEST) / amounts.allocatable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_wrap_give_scores_that_end_the_cycle_of_kube_scheduler() {
        // The component of this plugin has the nearest score instead: see `strategy` there.
        let requested = i64::MAX.wrapping_add(i64::MAX - 5_998);
        let wrapped = Amounts { allocatable: 100_000, allocated: requested, requested };
        assert_eq!((least_allocated(wrapped), most_allocated(wrapped)), (106, -6));
    }
}
