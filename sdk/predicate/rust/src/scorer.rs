//! The trait [`Scorer`], for a component that says how good a node is for a pod, among those on which the pod fits. Its types are those of
//! the contract's interface `scorer`, which `wit/predicate.wit` describes. [`NodeScorer`](crate::per_node::NodeScorer) is the form per
//! node.

pub use crate::bindings::scoring::exports::nodesift::predicate::scorer::{Normalization, Scores};
use crate::predicate::{Instance, Predicate};

/// A raw score that stands for none: the row counts for no smallest or largest score, and its score is 0.
pub const NO_SCORE: i64 = i64::MIN;

/// A scorer over columns: one call scores a whole batch of nodes. [`export!`](crate::export) takes `scorer` after the type of one.
///
/// It must be deterministic, as a [`Predicate`]. Where it reads only `pod-*` and `node-*` facts, the score of a row must depend on that row
/// alone. A type that only scores has a [`filter`](Predicate::filter) that fits all.
pub trait Scorer: Predicate {
    /// How the host makes scores from 0 to 100 of raw scores.
    fn normalization(&self) -> Normalization;

    /// Scores every row of the batch; higher is better, unless [`normalization`](Self::normalization) says otherwise. `rows` is the number
    /// of rows. The facts are in [`columns`](crate::columns), as for `filter`, but there are no row sets.
    fn score(&self, rows: usize) -> Scores;
}

impl<P: Scorer> Instance<P> {
    /// How raw scores are normalized.
    #[must_use]
    pub fn normalize_by(&self) -> Normalization {
        // The host always configures first.
        self.predicate().map_or(Normalization::None, Scorer::normalization)
    }

    /// Scores one batch of `rows` rows.
    #[must_use]
    pub fn score(&self, rows: u32) -> Scores {
        match self.predicate() {
            Some(scorer) => scorer.score(rows as usize),
            None => Scores::Failed("the scorer was called before it was configured".into()),
        }
    }
}
