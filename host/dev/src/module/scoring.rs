//! The scores of one module about one pod, without an engine: raw scores of a call, normalized among the nodes that fit as the engine does
//! it, and how they are shown. Start at [`scored`].

use std::sync::Arc;

use nodesift_engine::{Batch, Context, NodeScore, normalize};
use nodesift_object::Pod;
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::wire::scoring::{NO_SCORE, Normalization, Scores};
use nodesift_sandbox::{Interface, Module};
use serde::Serialize;

use super::world::World;
use crate::limits::SCORES_SHOWN;
use nodesift::terminal::{Paint, counted, render, table};

/// Answer of a scorer, judged and normalized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scoring {
    /// It has nothing to say about the pod.
    Skipped,
    /// The pod cannot be scored, for this reason.
    Failed(String),
    /// One entry per row; `None` where the pod does not fit.
    Scored(Vec<Option<NodeScore>>),
}

/// The facts with which a module scores a pod. `feasible` has an entry for each row of the cluster: whether the pod fits.
pub(super) fn facts(module: &Module, world: &World, pod: &Pod, batch: Batch, feasible: &[bool]) -> Context {
    let context = world.context(pod, batch);
    if !module.imports().contains(&Interface::ClusterCandidates) {
        return context;
    }
    let flags: Arc<[u8]> = feasible.iter().map(|fits| u8::from(*fits)).collect();
    context.with_candidates(flags)
}

/// Scores among the nodes that fit, of what the call about all rows has returned.
///
/// # Errors
///
/// A score that is not from 0 to 100 once it is normalized, as a fault of the module: with its node, its raw score and the normalization.
pub(super) fn scored(module: &Module, world: &World, scores: Scores, feasible: &[bool]) -> Result<Scoring, Fault> {
    let by_row = match scores {
        Scores::Skip => return Ok(Scoring::Skipped),
        Scores::Failed(text) => return Ok(Scoring::Failed(text)),
        Scores::ByRow(by_row) => by_row,
    };
    // One that does not score has no scores.
    let normalization = module.normalization().unwrap_or(Normalization::None);
    let name = |row: usize| world.nodes().nth(row).unwrap_or_default().to_owned();
    normalized(normalization, &by_row, feasible).map(Scoring::Scored).map_err(|Outside { row, raw, score }| {
        let (node, normalization) = (name(row), normalization.name());
        let text = format!(
            "the score of the node {node} is {score}: not from 0 to 100 (raw {raw}, normalization {normalization})"
        );
        Fault::new(FaultKind::MalformedVerdict, &text)
    })
}

/// A score that is not from 0 to 100.
#[derive(Debug, PartialEq, Eq)]
struct Outside {
    row: usize,
    raw: i64,
    score: i64,
}

fn normalized(
    normalization: Normalization,
    by_row: &[i64],
    feasible: &[bool],
) -> Result<Vec<Option<NodeScore>>, Outside> {
    let rows: Vec<(usize, i64)> =
        by_row.iter().copied().enumerate().filter(|(row, _)| feasible.get(*row) == Some(&true)).collect();
    let mut scores: Vec<i64> = rows.iter().map(|(_, raw)| *raw).collect();
    normalize(normalization, &mut scores).map_err(|(place, score)| {
        let (row, raw) = rows.get(place).copied().unwrap_or_default();
        Outside { row, raw, score }
    })?;
    let mut found = vec![None; by_row.len()];
    for ((row, raw), normalized) in rows.into_iter().zip(scores) {
        if let Some(entry) = found.get_mut(row) {
            *entry = Some(NodeScore { raw: Some(raw).filter(|raw| *raw != NO_SCORE), normalized });
        }
    }
    Ok(found)
}

/// The lowest and the highest normalized score; `None` where no node is scored.
pub(super) fn bounds(scores: &[Option<NodeScore>]) -> Option<(i64, i64)> {
    let known = || scores.iter().flatten().map(|score| score.normalized);
    known().min().zip(known().max())
}

/// The score of a node, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Shown {
    node: String,
    /// Null for a node that has none.
    raw: Option<i64>,
    normalized: i64,
}

/// Scores with the names of their nodes, from the highest; equal ones by name. `names` has one for each row.
pub(super) fn ranked<'n>(names: impl Iterator<Item = &'n str>, scores: &[Option<NodeScore>]) -> Vec<Shown> {
    let shown = |(node, score): (&str, &Option<NodeScore>)| {
        let NodeScore { raw, normalized } = (*score)?;
        Some(Shown { node: node.to_owned(), raw, normalized })
    };
    let mut ranked: Vec<Shown> = names.zip(scores).filter_map(shown).collect();
    ranked.sort_by(|one, other| other.normalized.cmp(&one.normalized).then_with(|| one.node.cmp(&other.node)));
    ranked
}

/// Table of the best nodes with their scores, and how many there are besides.
pub(super) fn table_of(ranked: &[Shown], paint: Paint) -> String {
    let mut rows = table(paint, &["NODE", "RAW", "NORMALIZED"], &[1, 2]);
    for Shown { node, raw, normalized } in ranked.iter().take(SCORES_SHOWN) {
        let raw = raw.map_or_else(|| "-".to_owned(), |raw| raw.to_string());
        rows.add_row([node.clone(), raw, normalized.to_string()]);
    }
    let others = ranked.len().saturating_sub(SCORES_SHOWN);
    let more = if others > 0 { format!("… and {}\n", counted(others, "more node")) } else { String::new() };
    format!("{}\n{more}", render(&rows))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn scores_are_normalized_among_the_nodes_that_fit() {
        let scores = normalized(Normalization::ByLargest, &[1, 8, NO_SCORE, 4], &[true, false, true, true]).unwrap();
        let score = |raw, normalized| Some(NodeScore { raw, normalized });
        assert_eq!(scores, [score(Some(1), 25), None, score(None, 0), score(Some(4), 100)]);
        assert_eq!(bounds(&scores), Some((0, 100)));
        assert!(normalized(Normalization::None, &[], &[]).unwrap().is_empty());
        assert_eq!(bounds(&[None]), None);
        let outside = normalized(Normalization::None, &[300, 7, 101], &[false, true, true]);
        assert_eq!(outside, Err(Outside { row: 2, raw: 101, score: 101 }));
    }

    #[test]
    fn the_best_nodes_come_first_and_no_more_than_a_screen_of_them() {
        let scores: Vec<_> =
            (0..12).map(|row| Some(NodeScore { raw: Some(row), normalized: if row < 2 { 5 } else { 0 } })).collect();
        let names = ["b", "a", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n09", "n10", "n11"];
        let ranked = ranked(names.into_iter(), &scores);
        assert_eq!(ranked.first(), Some(&Shown { node: "a".to_owned(), raw: Some(1), normalized: 5 }));
        let text = table_of(&ranked, Paint::PLAIN);
        let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            (&words[0], &words[2], &words[3]),
            (&vec!["NODE", "RAW", "NORMALIZED"], &vec!["a", "1", "5"], &vec!["b", "0", "5"])
        );
        assert_eq!(words.len(), SCORES_SHOWN + 3);
        assert!(text.ends_with("… and 2 more nodes\n"), "{text}");
    }
}
