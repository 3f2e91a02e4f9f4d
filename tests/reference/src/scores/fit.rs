//! NodeResourcesFit: how much of a node's resources would be taken, by one of three strategies.
//!
//! Sources: P/noderesources/fit.go, least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go; P/helper/shape_score.go.

use nodesift_fixtures::json::{at, list, text};
use serde_json::Value;

use super::resources::{Amounts, amounts, listed};
use super::{LARGEST, Raw, World};
use crate::requests::{asked_non_zero, taken_non_zero_under, taken_under};

/// The score of a point of the shape is at most 10.
const SHAPE_FACTOR: i64 = 10;

/// The weighted mean over the resources that count.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let strategy = at(world.profile.arguments("NodeResourcesFit"), "scoringStrategy");
    let resources = listed(strategy, "resources");
    let shape: Vec<(i64, i64)> = list(strategy, "requestedToCapacityRatio.shape")
        .iter()
        .map(|point| {
            let number = |field: &str| at(point, field).as_i64().unwrap_or(0);
            (number("utilization"), number("score") * SHAPE_FACTOR)
        })
        .collect();
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

/// The value at `x` of the line through these points.
fn line(points: &[(i64, i64)], x: i64) -> i64 {
    let mut before: Option<(i64, i64)> = None;
    for (x1, y1) in points.iter().copied() {
        if x <= x1 {
            return before.map_or(y1, |(x0, y0)| y0 + (y1 - y0) * (x - x0) / (x1 - x0));
        }
        before = Some((x1, y1));
    }
    before.map_or(0, |(_, y)| y)
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as Go does")]
fn rounded_ratio(sum: i64, weights: i64) -> i64 {
    (sum as f64 / weights as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cuts_toward_zero_where_it_falls_too() {
        let points = [(0, 0), (33, 70), (70, 100), (100, 10)];
        let at = |x: i64| line(&points, x);
        assert_eq!([at(0), at(1), at(33), at(34), at(71), at(99), at(100)], [0, 2, 70, 70, 97, 13, 10]);
        assert_eq!(line(&[(10, 40), (20, 0)], 5), 40);
        assert_eq!(line(&[(10, 40), (20, 0)], 30), 0);
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!((rounded_ratio(5, 2), rounded_ratio(7, 2), rounded_ratio(1, 3)), (3, 4, 0));
    }
}
