//! Scorers as a function of one pod and one node. Start at [`NodeScorer`].

use super::{Columns, Node, NodePredicate, Pod};
use crate::scorer::{Normalization, Scorer, Scores};

/// A scorer over one pod and one node. Every `NodeScorer` is a [`Scorer`]. A type that only scores has a
/// [`filter`](NodePredicate::filter) that returns `Ok(())`.
pub trait NodeScorer: NodePredicate {
    /// How the host makes scores from 0 to 100 of raw scores; [`Normalization::None`] where they are from 0 to 100 already.
    const NORMALIZATION: Normalization;

    /// Scores one node for the pod. The result must depend only on the pod, the node and the arguments.
    /// [`NO_SCORE`](crate::scorer::NO_SCORE) stands for none.
    fn score(&self, pod: &Pod, node: &Node) -> i64;
}

impl<P: NodeScorer> Scorer for P {
    fn normalization(&self) -> Normalization {
        P::NORMALIZATION
    }

    fn score(&self, rows: usize) -> Scores {
        let (pod, columns) = (Pod::default(), Columns::default());
        Scores::ByRow((0..rows).map(|row| NodeScorer::score(self, &pod, &Node { row, columns: &columns })).collect())
    }
}
