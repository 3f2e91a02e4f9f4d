//! How the order of the nodes that fit changes where another policy scores them.
//!
//! A node has the places that its total allows: nodes with equal totals share theirs, since any of them can come first. So a change that only
//! puts an order among equals, or ends one, changes nothing. Start at [`ScoreDifference::between`].

use std::cmp::Reverse;
use std::sync::Arc;

use nodesift_cache::Row;

use crate::answer::PodAnswer;
use crate::evaluate::row_set::RowSet;

/// The totals of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    /// The rows that fit.
    rows: Arc<RowSet>,
    /// One for each, ascending by row.
    totals: Vec<i64>,
}

/// The scores of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Scored {
    /// No scorer was asked, or one had no time left: the query wants no scores, no node fits, the policy has no scorers, or the time for
    /// scores was up, which says nothing about the policy.
    No,
    Totals(Totals),
    /// Why the pod has no scores.
    Error(String),
}

impl Scored {
    /// Of an answer to a query that wants totals.
    pub(crate) fn new(answer: &PodAnswer) -> Self {
        let Some(scores) = answer.scores.as_deref().filter(|scores| !scores.scorers.is_empty()) else {
            return Self::No;
        };
        if scores.is_late() {
            return Self::No;
        }
        if let Some(error) = &scores.error {
            return Self::Error(error.clone());
        }
        if scores.totals.len() != answer.feasible.len() {
            return Self::No;
        }
        Self::Totals(Totals { rows: Arc::clone(&answer.feasible), totals: scores.totals.clone() })
    }
}

/// How the order of one pod's nodes changes, where both policies score it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreDifference {
    /// The best nodes by both policies, where none is among both.
    pub best: Option<BestChange>,
    /// Nodes that fit by both policies: their order is compared.
    pub nodes: u64,
    /// Places that these nodes move, summed up: each the least number that equal totals allow.
    pub places: u64,
}

/// The nodes with the highest total, by both policies. They have none in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestChange {
    /// By the one policy, in ascending order.
    pub before: Vec<Row>,
    /// By the other policy, in ascending order.
    pub after: Vec<Row>,
}

impl ScoreDifference {
    pub(crate) fn between(before: &Totals, after: &Totals) -> Self {
        let (had, has) = (before.best(), after.best());
        let is_kept = had.iter().any(|row| has.binary_search(row).is_ok());
        let best = (!is_kept).then_some(BestChange { before: had, after: has });
        let common: Vec<(i64, i64)> = before.common(after);
        let [places_before, places_after] = [places(&common, |pair| pair.0), places(&common, |pair| pair.1)];
        let moved = places_before.iter().zip(&places_after).map(|((from, to), (first, last))| {
            let distance = first.saturating_sub(*to).max(from.saturating_sub(*last));
            u64::try_from(distance).unwrap_or(u64::MAX)
        });
        Self {
            best,
            nodes: u64::try_from(common.len()).unwrap_or(u64::MAX),
            places: moved.fold(0, u64::saturating_add),
        }
    }
}

impl Totals {
    /// Number of rows that have a total.
    pub(super) fn count(&self) -> usize {
        self.totals.len()
    }

    fn iter(&self) -> impl Iterator<Item = (Row, i64)> {
        self.rows.iter().zip(self.totals.iter().copied())
    }

    /// The rows with the highest total, ascending.
    fn best(&self) -> Vec<Row> {
        let highest = self.totals.iter().max();
        self.iter().filter(|(_, total)| Some(total) == highest).map(|(row, _)| row).collect()
    }

    /// The totals by both of the rows that both have.
    fn common(&self, other: &Self) -> Vec<(i64, i64)> {
        let mut others = other.iter().peekable();
        let mut common = Vec::new();
        for (row, total) in self.iter() {
            while others.next_if(|(other, _)| *other < row).is_some() {}
            if let Some((_, other)) = others.next_if(|(other, _)| *other == row) {
                common.push((total, other));
            }
        }
        common
    }
}

/// The first and the last place that each entry can have by its total, from 0.
fn places(common: &[(i64, i64)], total: impl Fn(&(i64, i64)) -> i64) -> Vec<(usize, usize)> {
    let mut ranked: Vec<(Reverse<i64>, usize)> =
        common.iter().enumerate().map(|(at, pair)| (Reverse(total(pair)), at)).collect();
    ranked.sort_unstable();
    let mut places = vec![(0, 0); common.len()];
    let mut first = 0;
    for equal in ranked.chunk_by(|one, other| one.0 == other.0) {
        for (_, at) in equal {
            if let Some(entry) = places.get_mut(*at) {
                *entry = (first, first + equal.len() - 1);
            }
        }
        first += equal.len();
    }
    places
}

/// Changes of scores summed up over pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScoreDifferences {
    /// Pods that both policies score.
    pub pods: u64,
    /// Pods of these for which no node is among the best by both.
    pub best_changed: u64,
    /// Pods that would have an error in the place of scores, and have scores now.
    pub unscored: u64,
    /// Nodes that fit by both policies, summed up over pods.
    pub nodes: u64,
    /// Places that these nodes move, summed up.
    pub places: u64,
}

impl ScoreDifferences {
    pub(super) fn add(&mut self, difference: &ScoreDifference) {
        self.pods += 1;
        self.best_changed += u64::from(difference.best.is_some());
        self.nodes = self.nodes.saturating_add(difference.nodes);
        self.places = self.places.saturating_add(difference.places);
    }

    /// How many places a node moves on average; `None` where none was compared.
    #[allow(clippy::cast_precision_loss, reason = "shown to people")]
    pub fn mean_places(&self) -> Option<f64> {
        (self.nodes > 0).then(|| self.places as f64 / self.nodes as f64)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::print_stdout)]
mod tests {
    use super::*;

    fn totals(all: &[Option<i64>]) -> Totals {
        let rows = all.iter().zip(0..).filter(|(total, _)| total.is_some()).map(|(_, row)| Row(row)).collect();
        Totals { rows: Arc::new(RowSet::new(rows, all.len())), totals: all.iter().copied().flatten().collect() }
    }

    /// The places of a node among some, counted one by one.
    fn counted(total: i64, all: &[i64]) -> std::ops::RangeInclusive<usize> {
        let better = all.iter().filter(|other| **other > total).count();
        better..=better + all.iter().filter(|other| **other == total).count() - 1
    }

    #[test]
    fn an_order_among_equals_is_no_change() {
        let difference = |before: &[i64], after: &[i64]| {
            let [before, after] = [before, after].map(|all| totals(&all.iter().copied().map(Some).collect::<Vec<_>>()));
            let found = ScoreDifference::between(&before, &after);
            (found.best.is_some(), found.nodes, found.places)
        };
        assert_eq!(difference(&[5, 5, 5], &[1, 2, 3]), (false, 3, 0));
        assert_eq!(difference(&[3, 2, 1], &[30, 20, 10]), (false, 3, 0));
        assert_eq!(difference(&[3, 2, 1], &[2, 3, 1]), (true, 3, 2));
        assert_eq!(difference(&[3, 2, 1], &[1, 2, 3]), (true, 3, 4));
        assert_eq!(difference(&[3, 3, 1], &[1, 3, 3]), (false, 3, 2));
        assert_eq!(difference(&[], &[]), (true, 0, 0));
    }

    #[test]
    fn random_changes_are_those_that_are_counted_one_by_one() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..2_000 {
            let (rows, spread) = (random.usize(1..30), random.i64(1..12));
            let mut side = || -> Vec<Option<i64>> {
                (0..rows).map(|_| (random.u8(..4) > 0).then(|| random.i64(..spread))).collect()
            };
            let (before, after) = (side(), side());
            let both: Vec<(i64, i64)> = before.iter().zip(&after).filter_map(|(one, other)| one.zip(*other)).collect();
            let [had, has] = [|pair: &(i64, i64)| pair.0, |pair: &(i64, i64)| pair.1]
                .map(|side| both.iter().map(side).collect::<Vec<i64>>());
            let mut places = 0;
            for (one, other) in &both {
                let (from, to) = (counted(*one, &had), counted(*other, &has));
                let distances = from.flat_map(|from| to.clone().map(move |to| from.abs_diff(to)));
                places += distances.min().unwrap_or(0) as u64;
            }
            let found = ScoreDifference::between(&totals(&before), &totals(&after));
            assert_eq!((found.nodes, found.places), (both.len() as u64, places), "{before:?}, {after:?}");
            let best = |side: &[Option<i64>]| -> Vec<Row> {
                let highest = side.iter().flatten().max().copied();
                let rows = side.iter().zip(0..).filter(|(total, _)| total.is_some() && **total == highest);
                rows.map(|(_, row)| Row(row)).collect()
            };
            let (had, has) = (best(&before), best(&after));
            let expected = if had.iter().any(|row| has.contains(row)) { None } else { Some((had, has)) };
            assert_eq!(found.best.map(|best| (best.before, best.after)), expected, "{before:?}, {after:?}");
        }
    }
}
