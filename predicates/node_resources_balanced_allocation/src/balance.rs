//! How evenly the resources of a node are used. Start at [`Balance::score`].
//!
//! The order of operations is kube-scheduler's, since the scores depend on how floating-point numbers are rounded.
//!
//! Where requests of the pods on a node add up to a negative sum, since sums wrap, kube-scheduler may have a score that is not from 0 to 100,
//! and ends the cycle of whatever pod it scores; here the node has the nearest score that there is.

use nodesift_resource_scores::{Amounts, Weighed};

/// Greatest score, for resources that are used to the same part.
const GREATEST: f64 = 100.0;
/// Score of a node that the pod leaves as even as it is, less half of what else is divided by two.
const MIDDLE: i64 = 50;
/// Greatest score of a node.
const ALL: i64 = 100;

/// Form of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Balance {
    /// The balance with the pod, as of Kubernetes 1.34 and 1.35.
    WithPod,
    /// The change that the pod makes to the balance; 75 where it makes none.
    Change,
}

impl Balance {
    /// The score of a row, from 0 to 100, over the resources that count there.
    pub(crate) fn score(self, resources: &[Weighed], row: usize) -> i64 {
        let with = evenness(resources, row, |amounts| amounts.requested);
        let score = match self {
            Self::WithPod => with,
            Self::Change => {
                let without = evenness(resources, row, |amounts| amounts.allocated);
                MIDDLE.saturating_add(MIDDLE.saturating_add(with).saturating_sub(without) / 2)
            }
        };
        score.clamp(0, ALL)
    }
}

/// 100 less the standard deviation of the used parts of the resources, in per cent.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as in Go")]
fn evenness(resources: &[Weighed], row: usize, used: impl Fn(Amounts) -> i64) -> i64 {
    let amounts = resources.iter().filter_map(|resource| resource.amounts(row));
    let parts: Vec<f64> = amounts
        .map(|amounts| {
            let part = used(amounts) as f64 / amounts.allocatable as f64;
            if part > 1.0 { 1.0 } else { part }
        })
        .collect();
    let deviation = match parts[..] {
        [] | [_] => 0.0,
        [first, second] => ((first - second) / 2.0).abs(),
        _ => {
            let count = parts.len() as f64;
            let mean = sum(parts.iter().copied()) / count;
            (sum(parts.iter().map(|part| (part - mean) * (part - mean))) / count).sqrt()
        }
    };
    ((1.0 - deviation) * GREATEST) as i64
}

/// The sum from the left.
fn sum(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |sum, part| sum + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A resource of 100 on one row.
    fn resource(allocated: i64, asked: i64) -> Weighed {
        Weighed { weight: 1, allocatable: vec![100], allocated: vec![allocated], asked }
    }

    #[test]
    fn floating_point_is_visible() {
        // 1 less 0.34 is not exactly 0.66.
        assert_eq!(Balance::WithPod.score(&[resource(0, 68), resource(0, 0)], 0), 65);
        // Three resources that are used to the same part, which has no exact form.
        assert_eq!(Balance::WithPod.score(&[resource(0, 70), resource(0, 70), resource(0, 70)], 0), 99);
    }

    #[test]
    fn fewer_than_two_resources_are_even() {
        assert_eq!(Balance::WithPod.score(&[resource(0, 68)], 0), 100);
        assert_eq!(Balance::WithPod.score(&[], 0), 100);
        let absent = Weighed { weight: 1, allocatable: vec![0], allocated: vec![0], asked: 3 };
        assert_eq!(Balance::WithPod.score(&[resource(0, 68), absent], 0), 100);
    }

    #[test]
    fn scores_are_from_0_to_100_whatever_pods_ask_for() {
        const AMOUNTS: [i64; 9] = [i64::MIN, i64::MIN + 1, -4_000, -1, 0, 1, 4_000, i64::MAX - 1, i64::MAX];
        for (allocated, asked) in AMOUNTS.into_iter().flat_map(|a| AMOUNTS.map(|b| (a, b))) {
            for allocatable in AMOUNTS {
                let huge = Weighed { weight: 1, allocatable: vec![allocatable], allocated: vec![allocated], asked };
                let resources = [huge, resource(10, 20), resource(30, 40)];
                for count in 1..=resources.len() {
                    let resources = resources.get(..count).unwrap_or_default();
                    for balance in [Balance::WithPod, Balance::Change] {
                        let score = balance.score(resources, 0);
                        assert!((0..=ALL).contains(&score), "{score} by {balance:?} of {resources:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn more_than_all_counts_as_all() {
        assert_eq!(Balance::WithPod.score(&[resource(90, 90), resource(90, 10)], 0), 100);
    }

    #[test]
    fn a_pod_that_changes_nothing_has_75() {
        assert_eq!(Balance::Change.score(&[resource(10, 20), resource(10, 20)], 0), 75);
        // From a difference of 40 to none, from none to 40: the quotient is cut.
        assert_eq!(Balance::Change.score(&[resource(10, 40), resource(50, 0)], 0), 85);
        assert_eq!(Balance::Change.score(&[resource(10, 40), resource(10, 0)], 0), 65);
    }
}
