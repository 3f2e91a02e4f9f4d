//! Scores: how good each node is on which a pod fits, by the scorers of the policy, as kube-scheduler's Score plugins say it.
//!
//! ```text
//! scorer          a scorer of a policy
//! pod_scores      what a query asks for, and the best nodes with their totals
//! normalization   raw scores → scores from 0 to 100 among the feasible nodes
//! ranking         totals → the best nodes in their order, and how many more are as good as the last
//! run             the scorers called about one pod, and their scores added up
//! changes         how the scorers of two policies differ
//! ```
//!
//! A pod is scored after its feasible nodes are known, with the facts of the same snapshot. Start at [`run::score`].

mod changes;
mod normalization;
mod pod_scores;
mod ranking;
mod run;
mod scorer;

#[cfg(test)]
mod tests;

pub(crate) use changes::KnownScorers;
pub use changes::{ScorerChanges, WeightChange};
pub use normalization::normalize;
pub use pod_scores::{NodeScore, PodScores, ScoreRequest, ScoredNode, ScorerOutcome, ScorerScores};
pub(crate) use run::{normalized, score};
pub use scorer::ActiveScorer;
