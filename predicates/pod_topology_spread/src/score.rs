//! The score: how many matching pods are in the topology domains of a row, weighed by how many domains there are (scoring.go). Start at
//! [`raw`]; `log` has the weights' logarithm.
//!
//! Counts and domains are indexed by label code, as in [`skew`](crate::skew): the work per row depends neither on the number of pods nor
//! on the length of labels.

mod log;

use nodesift_sdk::columns::node_labels;
use nodesift_sdk::scorer::NO_SCORE;

use crate::constraint::Constraint;
use crate::skew::{self, ABSENT, NO_DOMAIN};

/// The key of which each row is a domain of its own, whatever its value, and whose pods are those of the row.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The raw score of each row; [`NO_SCORE`] for those that are not feasible or that the constraints ignore. With `needs_all_keys`, rows
/// that lack the key of some constraint are ignored, and their pods are not counted; otherwise a missing label is an empty value.
pub(crate) fn raw(constraints: &[Constraint], needs_all_keys: bool, feasible: &[u8]) -> Vec<i64> {
    let rows = feasible.len();
    let columns: Vec<Vec<u32>> = constraints.iter().map(|one| node_labels::column(&one.topology_key)).collect();
    let excluded = skew::excluded(constraints, &columns, rows);
    let lacks_key = |row: usize| needs_all_keys && excluded.get(row).is_some_and(|bits| bits & NO_DOMAIN != 0);
    let scored: Vec<bool> =
        feasible.iter().enumerate().map(|(row, feasible)| *feasible != 0 && !lacks_key(row)).collect();
    let mut sums = vec![0.0; rows];
    for (constraint, codes) in constraints.iter().zip(&columns) {
        let mask = skew::mask(constraint) & if needs_all_keys { u8::MAX } else { !NO_DOMAIN };
        let is_counted = |row: usize| excluded.get(row).is_some_and(|bits| bits & mask == 0);
        let counts = skew::counts(constraint, rows);
        let (size, counts) = if constraint.topology_key == HOSTNAME {
            (scored.iter().filter(|scored| **scored).count(), counts)
        } else {
            by_domain(&domains(constraint, codes, needs_all_keys), &counts, &scored, is_counted)
        };
        // Their number is that of rows at most.
        let weight = log::ln(u32::try_from(size + 2).unwrap_or(u32::MAX));
        let allowed = f64::from(constraint.max_skew.wrapping_sub(1));
        let keyed = sums.iter_mut().zip(&counts).zip(codes).filter(|(_, code)| **code != ABSENT);
        keyed.for_each(|((sum, count), _)| *sum += f64::from(*count) * weight + allowed);
    }
    // Half away from zero, as in Go.
    let rounded = |(sum, scored): (f64, bool)| if scored { round(sum) } else { NO_SCORE };
    sums.into_iter().zip(scored).map(rounded).collect()
}

#[allow(clippy::cast_possible_truncation, reason = "as kube-scheduler computes")]
fn round(sum: f64) -> i64 {
    sum.round() as i64
}

/// The domain of each row: its label code. Where a missing label is an empty value, such rows are in the domain of that value.
fn domains(constraint: &Constraint, codes: &[u32], needs_all_keys: bool) -> Vec<u32> {
    let empty = if needs_all_keys { None } else { node_labels::code(&constraint.topology_key, "") };
    match empty {
        None => codes.to_vec(),
        Some(empty) => codes.iter().map(|code| if *code == ABSENT { empty } else { *code }).collect(),
    }
}

/// The number of domains that rows with a score are in, and per row the number of pods in its domain. Pods count on the rows that
/// `is_counted` says.
fn by_domain(
    domains: &[u32],
    counts: &[u32],
    scored: &[bool],
    is_counted: impl Fn(usize) -> bool,
) -> (usize, Vec<u32>) {
    let len = domains.iter().max().map_or(0, |domain| *domain as usize) + 1;
    let (mut exists, mut pods) = (vec![false; len], vec![0_u32; len]);
    for (row, ((domain, count), scored)) in domains.iter().zip(counts).zip(scored).enumerate() {
        if let (Some(exists), Some(pods)) = (exists.get_mut(*domain as usize), pods.get_mut(*domain as usize)) {
            *exists |= *scored;
            *pods = pods.saturating_add(if is_counted(row) { *count } else { 0 });
        }
    }
    // Of a domain that does not exist no row has a score, so that its pods do not matter.
    let size = exists.into_iter().filter(|exists| *exists).count();
    (size, domains.iter().map(|domain| pods.get(*domain as usize).copied().unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests;
