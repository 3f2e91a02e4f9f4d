//! Scores of the nodes that a pod fits: as a table of `filter` and `explain`, and as the part `scores` of their documents. Start at
//! [`scores`] and [`Scores`].

use comfy_table::{Cell, CellAlignment};
use nodesift_proto::v1;
use serde::Serialize;

use super::faults::{Fault, fault_lines, faults};
use crate::terminal::{Paint, counted, escaped, render, table};

/// Table of the best nodes with their totals. Where the answer has the score of each scorer, that is a column with the normalized score and, in
/// parentheses, the raw one. Below it: ties, scorers that add nothing, and faults.
pub(super) fn scores(found: &v1::PodScores, paint: Paint) -> String {
    let v1::PodScores { best, ties, scorers, error, faults } = found;
    if !error.is_empty() {
        let text = format!("no scores: {}", escaped(error));
        return format!("{}\n{}", paint.bad(&text), fault_lines(faults, paint));
    }
    let has_each = best.iter().any(|node| !node.each.is_empty());
    let is_scored = |scorer: &&v1::ScorerAnswer| scorer.outcome == SCORED;
    let heads =
        scorers.iter().filter(is_scored).map(|scorer| format!("{} ×{}", escaped(&scorer.scorer), scorer.weight));
    let heads: Vec<String> = if has_each { heads.collect() } else { Vec::new() };
    let columns: Vec<&str> = ["node", "total"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let numbers: Vec<usize> = (1..columns.len()).collect();
    let mut rows = table(paint, &columns, &numbers);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for node in best {
        let each = scorers.iter().zip(&node.each).filter(|(scorer, _)| is_scored(scorer));
        let each = each.map(|(_, score)| right(cell(score)));
        let head = [Cell::new(escaped(&node.node)), right(node.total.to_string())];
        rows.add_row(head.into_iter().chain(each));
    }
    let mut text = if rows.is_empty() { String::new() } else { format!("{}\n", render(&rows)) };
    if let Some(last) = best.last().filter(|_| *ties > 0) {
        text.push_str(&paint.dim(&format!("{} more with a total of {}", counted(*ties as usize, "node"), last.total)));
        text.push('\n');
    }
    for (outcome, label) in OTHERS {
        let named = scorers.iter().filter(|scorer| scorer.outcome == outcome);
        let named: Vec<String> = named.map(|scorer| escaped(&scorer.scorer)).collect();
        if !named.is_empty() {
            text.push_str(&paint.dim(&format!("{label}: {}", named.join(", "))));
            text.push('\n');
        }
    }
    text.push_str(&fault_lines(faults, paint));
    text
}

/// Outcome of a scorer whose scores are in the totals.
const SCORED: &str = "Scored";

/// Outcomes of scorers that add nothing, with how people read them.
const OTHERS: [(&str, &str); 2] =
    [("Skipped", "nothing to say about the pod"), ("Failed", "failed, and added nothing")];

/// The normalized score, and the raw one where it is another.
fn cell(score: &v1::NodeScore) -> String {
    match (score.normalized, score.raw) {
        (Some(normalized), Some(raw)) if raw != normalized => format!("{normalized} ({raw})"),
        (Some(normalized), Some(_)) => normalized.to_string(),
        (Some(normalized), None) => format!("{normalized} (-)"),
        (None, _) => String::new(),
    }
}

/// Scores of one pod in a document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scores<'a> {
    best: Vec<Node<'a>>,
    /// Nodes with the total of the last one that are not among them.
    ties: u32,
    scorers: Vec<Scorer<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault<'a>>,
}

/// A node with its total.
#[derive(Debug, Serialize)]
struct Node<'a> {
    node: &'a str,
    total: i64,
    /// In the order of the scorers; without the score of each, empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    each: Vec<Score>,
}

/// The score of a node by one scorer; all but `weighted` is null where it added nothing.
#[derive(Debug, Serialize)]
struct Score {
    raw: Option<i64>,
    normalized: Option<i64>,
    weighted: i64,
}

/// A scorer, and its part in the totals.
#[derive(Debug, Serialize)]
struct Scorer<'a> {
    scorer: &'a str,
    weight: u32,
    outcome: &'a str,
}

impl<'a> From<&'a v1::PodScores> for Scores<'a> {
    fn from(found: &'a v1::PodScores) -> Self {
        let score =
            |score: &v1::NodeScore| Score { raw: score.raw, normalized: score.normalized, weighted: score.weighted };
        let node = |node: &'a v1::ScoredNode| Node {
            node: &node.node,
            total: node.total,
            each: node.each.iter().map(score).collect(),
        };
        let scorer = |scorer: &'a v1::ScorerAnswer| Scorer {
            scorer: &scorer.scorer,
            weight: scorer.weight,
            outcome: &scorer.outcome,
        };
        Self {
            best: found.best.iter().map(node).collect(),
            ties: found.ties,
            scorers: found.scorers.iter().map(scorer).collect(),
            error: &found.error,
            faults: faults(&found.faults),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answer(each: bool) -> v1::PodScores {
        let scorer = |name: &str, weight, outcome: &str| v1::ScorerAnswer {
            scorer: name.into(),
            weight,
            outcome: outcome.into(),
        };
        let score = |raw, normalized: i64, weight: i64| v1::NodeScore {
            raw,
            normalized: Some(normalized),
            weighted: weight * normalized,
        };
        let node = |node: &str, total, scores: Vec<v1::NodeScore>| v1::ScoredNode {
            node: node.into(),
            row: None,
            total,
            each: if each { scores } else { Vec::new() },
        };
        v1::PodScores {
            best: vec![
                node("n1", 350, vec![score(Some(0), 100, 3), v1::NodeScore::default(), score(Some(50), 50, 1)]),
                node("n2", 20, vec![score(Some(2), 0, 3), v1::NodeScore::default(), score(None, 20, 1)]),
            ],
            ties: 2,
            scorers: vec![
                scorer("TaintToleration", 3, "Scored"),
                scorer("NodeAffinity", 2, "Skipped"),
                scorer("Mine", 1, "Scored"),
            ],
            ..v1::PodScores::default()
        }
    }

    #[test]
    fn nodes_have_their_totals_and_where_asked_for_the_score_of_each_scorer() {
        let each = [
            " node  total  TaintToleration ×3   Mine ×1",
            "───────────────────────────────────────────",
            " n1      350             100 (0)        50",
            " n2       20               0 (2)    20 (-)",
            "2 nodes more with a total of 20",
            "nothing to say about the pod: NodeAffinity",
            "",
        ];
        let words = |text: &str| -> Vec<Vec<String>> {
            text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
        };
        let (shown, expected) = (words(&scores(&answer(true), Paint::PLAIN)), words(&each.join("\n")));
        // The line of the table's head is as wide as the table.
        assert_eq!((&shown[0], &shown[2..]), (&expected[0], &expected[2..]));
        let totals = words(&scores(&answer(false), Paint::PLAIN));
        assert_eq!(totals[0], ["node", "total"]);
        assert_eq!(totals[2], ["n1", "350"]);
    }

    #[test]
    fn a_pod_that_cannot_be_scored_has_the_reason_and_no_table() {
        let failed = v1::PodScores { error: "scorer Mine: no\rreason".into(), ..v1::PodScores::default() };
        assert_eq!(scores(&failed, Paint::PLAIN), "no scores: scorer Mine: no\\u{d}reason\n");
    }

    #[test]
    fn a_document_has_numbers_and_leaves_out_what_was_not_asked_for() {
        let document = serde_json::to_value(Scores::from(&answer(true))).unwrap();
        assert_eq!(document["best"][0]["each"][0], serde_json::json!({"raw": 0, "normalized": 100, "weighted": 300}));
        assert_eq!(document["best"][1]["each"][1], serde_json::json!({"raw": null, "normalized": null, "weighted": 0}));
        assert_eq!(
            document["scorers"][1],
            serde_json::json!({"scorer": "NodeAffinity", "weight": 2, "outcome": "Skipped"})
        );
        let document = serde_json::to_value(Scores::from(&answer(false))).unwrap();
        assert_eq!(document["best"][0], serde_json::json!({"node": "n1", "total": 350}));
    }
}
