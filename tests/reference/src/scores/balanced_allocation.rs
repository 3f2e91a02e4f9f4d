//! NodeResourcesBalancedAllocation: how alike the shares of a node's resources are that would be taken.
//!
//! Source: P/noderesources/balanced_allocation.go. Since 1.36 the node with the pod is compared to the node without it.

use serde_json::Value;

use super::resources::{Amounts, amounts, listed};
use super::{Raw, World};
use crate::requests::{asked_by, taken_under};

/// The score of a node that the pod leaves as balanced as it was is 75: 50, and half of 50.
const UNCHANGED: i64 = 50;

/// The balance per node; a pod that asks nothing of the resources is not scored.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let resources = listed(world.profile.arguments("NodeResourcesBalancedAllocation"), "resources");
    let asked = asked_by(pod);
    if resources.iter().all(|resource| asked.get(&resource.name).copied().unwrap_or(0) == 0) {
        return Ok(None);
    }
    let score = |node: &&Value| {
        let all: Vec<Amounts> = resources
            .iter()
            .filter_map(|listed| amounts(world, node, &listed.name, &asked, |pod| taken_under(pod, world.switches)))
            .collect();
        let with_pod = balance(&all, |amounts| amounts.requested);
        let without = balance(&all, |amounts| amounts.allocated);
        Some(match world.profile.balance_is_compared {
            true => UNCHANGED + (UNCHANGED + with_pod - without) / 2,
            false => with_pod,
        })
    };
    Ok(Some(feasible.iter().map(score).collect()))
}

/// 100 where all shares are the same, less the more they differ.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as Go does")]
fn balance(all: &[Amounts], taken: impl Fn(&Amounts) -> i64) -> i64 {
    let share = |amounts: &Amounts| (taken(amounts) as f64 / amounts.allocatable as f64).min(1.0);
    let shares: Vec<f64> = all.iter().map(share).collect();
    let deviation = match shares[..] {
        [] | [_] => 0.0,
        [one, other] => ((one - other) / 2.0).abs(),
        _ => {
            let count = shares.len() as f64;
            let mean = shares.iter().fold(0.0, |sum, share| sum + share) / count;
            let squares = shares.iter().fold(0.0, |sum, share| sum + (share - mean) * (share - mean));
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_is_that_of_floating_point() {
        let amounts = |requested| Amounts { allocatable: 100, allocated: 0, requested };
        // In exact arithmetic it would be 66.
        assert_eq!(balance(&[amounts(68), amounts(0)], |amounts| amounts.requested), 65);
        assert_eq!(balance(&[amounts(68)], |amounts| amounts.requested), 100);
        assert_eq!(balance(&[], |amounts| amounts.requested), 100);
    }
}
