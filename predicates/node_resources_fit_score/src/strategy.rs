//! The three formulas by which NodeResourcesFit scores a node. Start at [`Strategy::score`].
//!
//! Arithmetic wraps, as Go's does: amounts above 92·10¹⁵ overflow when multiplied by 100, and requests of pods that are on a node by name
//! may add up to a negative sum. Where the score of a node is then not from 0 to 100, kube-scheduler ends the cycle of whatever pod it
//! scores; here the node has the nearest score that there is, so that one tenant's pods keep no other pod from being scored.

use nodesift_resource_scores::{Amounts, Shape, Weighed, rounded};

/// Greatest score of a node, and all of a resource in per cent.
const ALL: i64 = 100;

/// Formula of the score of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// More for nodes of which more is left: least_allocated.go.
    LeastAllocated,
    /// More for nodes of which more is used: most_allocated.go.
    MostAllocated,
    /// A line over the used part: requested_to_capacity_ratio.go.
    RequestedToCapacityRatio(Shape),
}

impl Strategy {
    /// The score of a row, from 0 to 100: the weighted mean over the resources that count there, and 0 where none does.
    pub(crate) fn score(&self, resources: &[Weighed], row: usize) -> i64 {
        let (mut score, mut weight) = (0_i64, 0_i64);
        for resource in resources {
            let Some(amounts) = resource.amounts(row) else { continue };
            let of_resource = self.score_of(amounts);
            // By the ratio, a resource without score does not count.
            if of_resource > 0 || !matches!(self, Self::RequestedToCapacityRatio(_)) {
                score = score.wrapping_add(of_resource.wrapping_mul(resource.weight));
                weight = weight.wrapping_add(resource.weight);
            }
        }
        let mean = match self {
            _ if weight == 0 => 0,
            Self::RequestedToCapacityRatio(_) => rounded(score, weight),
            _ => score.wrapping_div(weight),
        };
        mean.clamp(0, ALL)
    }

    fn score_of(&self, Amounts { allocatable, requested, .. }: Amounts) -> i64 {
        let percent = |amount: i64| amount.wrapping_mul(ALL).wrapping_div(allocatable);
        match self {
            Self::LeastAllocated if requested > allocatable => 0,
            Self::LeastAllocated => percent(allocatable.wrapping_sub(requested)),
            Self::MostAllocated => percent(requested.min(allocatable)),
            Self::RequestedToCapacityRatio(shape) if requested > allocatable => shape.at(ALL),
            Self::RequestedToCapacityRatio(shape) => shape.at(percent(requested)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_resource_scores::Point;

    use super::*;

    /// A resource on one row.
    fn resource(weight: i64, allocatable: i64, allocated: i64, asked: i64) -> Weighed {
        Weighed { weight, allocatable: vec![allocatable], allocated: vec![allocated], asked }
    }

    fn ratio(points: &[(i64, i64)]) -> Strategy {
        let points = points.iter().map(|(utilization, score)| Point { utilization: *utilization, score: *score });
        Strategy::RequestedToCapacityRatio(Shape::new(points.collect()).unwrap())
    }

    #[test]
    fn least_allocated_cuts_each_resource_and_then_the_mean() {
        // 100·2/3 = 66 and 100·1/3 = 33; their mean is 49.5.
        let resources = [resource(1, 3, 0, 1), resource(1, 3, 1, 1)];
        assert_eq!(Strategy::LeastAllocated.score(&resources, 0), 49);
        assert_eq!(Strategy::LeastAllocated.score(&[resource(1, 3, 3, 1)], 0), 0, "more than there is");
        // 66 three times and 33 once: 231 / 4.
        assert_eq!(Strategy::LeastAllocated.score(&[resource(3, 3, 0, 1), resource(1, 3, 1, 1)], 0), 57);
    }

    #[test]
    fn most_allocated_is_100_at_most() {
        assert_eq!(Strategy::MostAllocated.score(&[resource(1, 3, 3, 5), resource(1, 3, 0, 1)], 0), 66);
    }

    #[test]
    fn a_resource_that_a_node_does_not_offer_has_no_part_in_the_mean() {
        let resources = [resource(5, 0, 0, 1), resource(1, 4, 0, 1)];
        assert_eq!(Strategy::LeastAllocated.score(&resources, 0), 75);
        assert_eq!(Strategy::MostAllocated.score(&resources[..1], 0), 0, "there is none");
    }

    #[test]
    fn the_ratio_rounds_half_away_from_zero_and_leaves_out_resources_without_score() {
        let strategy = ratio(&[(0, 0), (100, 100)]);
        assert_eq!(strategy.score(&[resource(1, 100, 0, 50), resource(1, 100, 0, 51)], 0), 51);
        assert_eq!(strategy.score(&[resource(9, 100, 0, 0), resource(1, 100, 0, 40)], 0), 40);
        assert_eq!(strategy.score(&[resource(1, 100, 90, 20)], 0), 100);
        assert_eq!(strategy.score(&[resource(1, 100, 0, 0)], 0), 0);
    }

    #[test]
    fn the_mean_alone_is_bounded_and_not_the_score_of_each_resource() {
        // Requests of the pods on the node have wrapped: 110 of one resource and 50 of the other.
        let resources = [resource(1, 1_000, -200, 100), resource(1, 1_000, 400, 100)];
        assert_eq!(Strategy::LeastAllocated.score(&resources, 0), 80);
        assert_eq!(Strategy::LeastAllocated.score(&resources[..1], 0), ALL);
        assert_eq!(Strategy::MostAllocated.score(&resources, 0), 20);
        assert_eq!(Strategy::MostAllocated.score(&resources[..1], 0), 0);
    }

    #[test]
    fn scores_are_from_0_to_100_whatever_pods_ask_for() {
        const AMOUNTS: [i64; 9] = [i64::MIN, i64::MIN + 1, -4_000, -1, 0, 1, 4_000, i64::MAX - 1, i64::MAX];
        let strategies = [Strategy::LeastAllocated, Strategy::MostAllocated, ratio(&[(0, 0), (100, 100)])];
        for (allocatable, allocated) in AMOUNTS.into_iter().flat_map(|a| AMOUNTS.map(|b| (a, b))) {
            for asked in AMOUNTS {
                let resources = [resource(100, allocatable, allocated, asked), resource(1, 4_000, 1_000, 100)];
                for (strategy, count) in strategies.iter().flat_map(|strategy| [(strategy, 1), (strategy, 2)]) {
                    let resources = resources.get(..count).unwrap();
                    let score = strategy.score(resources, 0);
                    assert!((0..=ALL).contains(&score), "{score} by {strategy:?} of {resources:?}");
                }
            }
        }
    }

    #[test]
    fn amounts_that_overflow_wrap_and_do_not_trap() {
        let huge = resource(1, i64::MAX, i64::MIN, -1);
        for strategy in [Strategy::LeastAllocated, Strategy::MostAllocated, ratio(&[(0, 0), (100, 100)])] {
            strategy.score(std::slice::from_ref(&huge), 0);
            strategy.score(&[resource(1, -1, 0, i64::MIN)], 0);
        }
    }
}
