//! Scorers and scores in the output of `nodesift policy diff`: which scorers differ, and for which pods other nodes would be best. Start at
//! [`BestNodes::new`].

use std::fmt::Write as _;
use std::sync::Arc;

use comfy_table::Table;
use serde::Serialize;

use crate::terminal::{Paint, counted, table};
use nodesift_cache::{Row, Snapshot};
use nodesift_engine::{BestChange, PodDifference, ScoreDifferences, ScorerChanges, WeightChange};

/// A pod for which no node is among the best by both policies, or that would have no scores.
#[derive(Debug, Serialize)]
pub(super) struct Best {
    pub(super) pod: String,
    #[serde(flatten)]
    pub(super) best: BestNodes,
}

/// The nodes with the highest totals by both policies.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BestNodes {
    /// None where the pod would have no scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<Sides>,
    /// Why it would have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Sides {
    before: Nodes,
    after: Nodes,
}

/// Some nodes, and how many there are.
#[derive(Debug, Serialize)]
struct Nodes {
    count: usize,
    nodes: Vec<String>,
}

impl BestNodes {
    /// The best nodes, with the names of so many at most; `None` where some node is best by both, or not both policies score the pod.
    pub(super) fn new(difference: &PodDifference, snapshot: &Snapshot, most: usize) -> Option<Self> {
        if !difference.changes_best() {
            return None;
        }
        let nodes = |rows: &[Row]| {
            let names = rows.iter().take(most).map(|row| snapshot.node_name(*row).to_owned());
            Nodes { count: rows.len(), nodes: names.collect() }
        };
        let sides = |BestChange { before, after }: &BestChange| Sides { before: nodes(before), after: nodes(after) };
        let best = difference.scores.as_ref().and_then(|scores| scores.best.as_ref()).map(sides);
        Some(Self { best, score_error: difference.score_error.clone() })
    }
}

impl Nodes {
    fn text(&self) -> String {
        let mut text = self.nodes.join(", ");
        if self.count > self.nodes.len() {
            // Writing to a String cannot fail.
            let _infallible = write!(text, " and {} more", self.count - self.nodes.len());
        }
        text
    }
}

/// How the scorers of two policies differ, a line for each kind of change.
pub(super) fn changed(changes: &ScorerChanges) -> String {
    let ScorerChanges { added, removed, replaced, reconfigured, weights } = changes;
    let weighted = |scorers: &[(Arc<str>, i64)]| -> Vec<String> {
        scorers.iter().map(|(scorer, weight)| format!("{scorer} ×{weight}")).collect()
    };
    let names = |scorers: &[Arc<str>]| scorers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let weight = |WeightChange { scorer, before, after }: &WeightChange| format!("{scorer} ×{before} → ×{after}");
    let mut out = String::new();
    for (what, scorers) in [
        ("scorers added", weighted(added)),
        ("scorers removed", weighted(removed)),
        ("scorers with another component", names(replaced)),
        ("scorers with other arguments or limits", names(reconfigured)),
        ("weights", weights.iter().map(weight).collect()),
    ] {
        if !scorers.is_empty() {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "{what}: {}", scorers.join(", "));
        }
    }
    out
}

/// How the order of nodes changes, in a line; empty where nothing could be compared.
pub(super) fn ordered(scores: &ScoreDifferences) -> String {
    if scores.pods == 0 {
        return String::new();
    }
    let pods = counted(usize::try_from(scores.pods).unwrap_or(usize::MAX), "pod");
    let mean = scores.mean_places();
    let mean = mean.map(|mean| format!("; a node that fits by both moves {mean:.1} places on average"));
    format!("{pods} scored by both: {} have other best nodes{}\n", scores.best_changed, mean.unwrap_or_default())
}

/// Examples of pods with other best nodes.
pub(super) fn table_of(pods: &[Best], paint: Paint) -> Table {
    let mut rows = table(paint, &["POD", "BEST NOW", "WOULD BE BEST"], &[]);
    for Best { pod, best: BestNodes { best, score_error } } in pods {
        let [before, after] = match (best, score_error) {
            (Some(Sides { before, after }), _) => [before.text(), after.text()],
            (None, error) => [String::new(), format!("no scores: {}", error.as_deref().unwrap_or_default())],
        };
        rows.add_row([pod.clone(), before, after]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_scorers_are_told_by_kind_and_nothing_where_there_are_none() {
        assert_eq!(changed(&ScorerChanges::default()), "");
        let changes = ScorerChanges {
            added: vec![("A".into(), 2), ("B".into(), 1)],
            removed: vec![("C".into(), 3)],
            replaced: vec!["D".into()],
            reconfigured: vec!["E".into()],
            weights: vec![WeightChange { scorer: "F".into(), before: 1, after: 5 }],
        };
        let expected = "scorers added: A ×2, B ×1\nscorers removed: C ×3\nscorers with another component: D\n\
                        scorers with other arguments or limits: E\nweights: F ×1 → ×5\n";
        assert_eq!(changed(&changes), expected);
    }

    #[test]
    fn an_order_is_told_where_both_policies_score() {
        assert_eq!(ordered(&ScoreDifferences::default()), "");
        let sum = ScoreDifferences { pods: 9, best_changed: 2, nodes: 8, places: 4, ..ScoreDifferences::default() };
        assert_eq!(
            ordered(&sum),
            "9 pods scored by both: 2 have other best nodes; a node that fits by both moves 0.5 places on average\n"
        );
    }
}
