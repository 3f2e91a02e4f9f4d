//! Differences between two policies as JSON: what `GET /v1/policy/shadow`, `GET /v1/policy/history` and `nodesift policy diff` say. Start at
//! [`Summary`] and [`Scorers`].

use std::sync::Arc;

use nodesift_engine::{Differences, Extent, ScoreDifferences, ScorerChanges, WeightChange};
use serde::Serialize;

/// Differences summed up over pods.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary<'a> {
    /// Pods that were compared.
    pods: u64,
    /// Pods of which some node has another verdict.
    differing: u64,
    /// Pods that no node fits any more.
    rejected_everywhere: u64,
    /// Pods that some node fits, where none did.
    newly_placeable: u64,
    /// Pods that lose some nodes and keep others.
    losing: u64,
    /// Pods that gain nodes beside those that they had.
    gaining: u64,
    /// Changes by predicate, sorted by name.
    predicates: Vec<Predicate<'a>>,
    scores: Scores,
}

/// Changes of scores, of pods that both policies score.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Scores {
    /// Pods that both policies score.
    pods: u64,
    /// Pods of these for which no node is among the best by both.
    best_changed: u64,
    /// Pods that would have an error in the place of scores, and have scores now.
    unscored: u64,
    /// How many places a node moves on average among those that fit by both, equal totals sharing their places; null where there are none.
    mean_places: Option<f64>,
}

impl From<ScoreDifferences> for Scores {
    fn from(sum: ScoreDifferences) -> Self {
        let ScoreDifferences { pods, best_changed, unscored, .. } = sum;
        // As many digits as say something.
        let mean_places = sum.mean_places().map(|mean| (mean * 1_000.0).round() / 1_000.0);
        Self { pods, best_changed, unscored, mean_places }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Predicate<'a> {
    predicate: &'a str,
    /// Nodes that fit now and that the predicate would reject.
    would_reject: Count,
    /// Nodes that the predicate rejects now and that would fit.
    would_allow: Count,
}

#[derive(Debug, Serialize)]
struct Count {
    pods: u64,
    /// Summed up over the pods.
    nodes: u64,
}

impl From<Extent> for Count {
    fn from(Extent { pods, nodes }: Extent) -> Self {
        Self { pods, nodes }
    }
}

impl<'a> Summary<'a> {
    /// Returns a summary that can be serialized.
    pub fn new(differences: &'a Differences) -> Self {
        let predicates = differences.predicates.iter().map(|(predicate, effect)| Predicate {
            predicate,
            would_reject: effect.rejects.into(),
            would_allow: effect.allows.into(),
        });
        Self {
            pods: differences.pods,
            differing: differences.differing,
            rejected_everywhere: differences.rejected_everywhere,
            newly_placeable: differences.newly_placeable,
            losing: differences.losing,
            gaining: differences.gaining,
            predicates: predicates.collect(),
            scores: differences.scores.into(),
        }
    }
}

/// How the scorers of a policy differ from those of the one before.
#[derive(Debug, Serialize)]
pub struct Scorers<'a> {
    added: Vec<Weighted<'a>>,
    removed: Vec<Weighted<'a>>,
    /// Scorers whose component is another one.
    replaced: Vec<&'a str>,
    /// Scorers whose component has other arguments, limits or allowed imports.
    reconfigured: Vec<&'a str>,
    /// Scorers with another weight.
    weights: Vec<Weight<'a>>,
}

#[derive(Debug, Serialize)]
struct Weighted<'a> {
    scorer: &'a str,
    weight: i64,
}

#[derive(Debug, Serialize)]
struct Weight<'a> {
    scorer: &'a str,
    before: i64,
    after: i64,
}

impl<'a> From<&'a ScorerChanges> for Scorers<'a> {
    fn from(changes: &'a ScorerChanges) -> Self {
        let ScorerChanges { added, removed, replaced, reconfigured, weights } = changes;
        let weighted = |scorers: &'a [(Arc<str>, i64)]| -> Vec<Weighted<'a>> {
            scorers.iter().map(|(scorer, weight)| Weighted { scorer, weight: *weight }).collect()
        };
        let names = |scorers: &'a [Arc<str>]| scorers.iter().map(|scorer| &**scorer).collect();
        let weight = |WeightChange { scorer, before, after }: &'a WeightChange| Weight {
            scorer,
            before: *before,
            after: *after,
        };
        Self {
            added: weighted(added),
            removed: weighted(removed),
            replaced: names(replaced),
            reconfigured: names(reconfigured),
            weights: weights.iter().map(weight).collect(),
        }
    }
}
