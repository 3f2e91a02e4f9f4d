//! Verdicts and raw scores as one entry per node, and where two answers differ. Start at [`rows_of`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_engine::Batch;
use nodesift_object::Pod;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::wire::scoring::{NO_SCORE, Scores};
use nodesift_sandbox::{Failure, Module};

use super::super::scoring;
use super::super::world::World;

/// Answer of a module about one node of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// `None` where the pod fits.
    pub(super) failure: Option<Failure>,
    score: Score,
}

/// Answer of a scorer about one node. One about the pod is there for each of its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Score {
    /// The module does not score.
    Unasked,
    Skipped,
    Failed(Arc<str>),
    Raw(i64),
}

/// Answers of a module, one per row of a batch.
pub(super) type Rows = Vec<Said>;

/// The verdict of a module about a pod and some rows, and its raw scores where it scores.
///
/// # Errors
///
/// The fault of a call.
pub(super) fn rows_of(module: &Module, world: &World, pod: &Pod, rows: &[Row]) -> Result<Rows, Fault> {
    let failures = failures_of(module, world, pod, rows)?;
    // In a sidecar, nothing is scored where there is no node.
    let scores = match module.normalization() {
        Some(_) if !rows.is_empty() => by_row(scores_of(module, world, pod, rows, &fitting(&failures))?, rows.len()),
        _ => vec![Score::Unasked; failures.len()],
    };
    Ok(failures.into_iter().zip(scores).map(|(failure, score)| Said { failure, score }).collect())
}

/// The failure of each row of a batch; `None` where it fits.
///
/// # Errors
///
/// The fault of the call.
pub(super) fn failures_of(
    module: &Module,
    world: &World,
    pod: &Pod,
    rows: &[Row],
) -> Result<Vec<Option<Failure>>, Fault> {
    let context = world.context(pod, batch(world, rows));
    let count = context.rows();
    let verdict = module.filter(Arc::new(context), count, None)?;
    Ok((0..count as usize).map(|place| verdict.failure_at(place).cloned()).collect())
}

/// The raw scores of a batch. `feasible` is about every row of the cluster; a module that reads it has all of them in its batch.
///
/// # Errors
///
/// The fault of the call.
pub(super) fn scores_of(
    module: &Module,
    world: &World,
    pod: &Pod,
    rows: &[Row],
    feasible: &[bool],
) -> Result<Scores, Fault> {
    let context = scoring::facts(module, world, pod, batch(world, rows), feasible);
    let count = context.rows();
    module.score(Arc::new(context), count, None)
}

/// Flags of the rows on which the pod fits.
pub(super) fn fitting(failures: &[Option<Failure>]) -> Vec<bool> {
    failures.iter().map(Option::is_none).collect()
}

/// Some rows as the engine asks about them: every row is no list of rows.
fn batch(world: &World, rows: &[Row]) -> Batch {
    if rows.len() == world.snapshot.node_count() { Batch::All } else { Batch::Rows(rows.into()) }
}

fn by_row(scores: Scores, rows: usize) -> Vec<Score> {
    match scores {
        Scores::Skip => vec![Score::Skipped; rows],
        Scores::Failed(text) => vec![Score::Failed(text.into()); rows],
        Scores::ByRow(scores) => scores.into_iter().map(Score::Raw).collect(),
    }
}

/// The first difference, in words.
pub(super) fn first_difference(world: &World, one: &Result<Rows, Fault>, two: &Result<Rows, Fault>) -> Option<String> {
    let (one, two) = match (one, two) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(one), Err(two)) if one.kind == two.kind => return None,
        (one, two) => return Some(format!("{} at first, then {}", ended(one), ended(two))),
    };
    if one.len() != two.len() {
        return Some(format!("{} rows at first, then {}", one.len(), two.len()));
    }
    let (node, (one, two)) = world.nodes().zip(one.iter().zip(two)).find(|(_, (one, two))| one != two)?;
    Some(match one.failure == two.failure {
        true => format!("node {node} {} at first, then {}", score_text(&one.score), score_text(&two.score)),
        false => format!("node {node} {} at first, then {}", told(one.failure.as_ref()), told(two.failure.as_ref())),
    })
}

fn ended(outcome: &Result<Rows, Fault>) -> String {
    outcome.as_ref().map_or_else(|fault| format!("the fault {fault}"), |_| "an answer".to_owned())
}

fn told(failure: Option<&Failure>) -> String {
    failure.map_or_else(
        || "fits".to_owned(),
        |failure| format!("is rejected as {}: {}", failure.code.name(), failure.reasons.join("; ")),
    )
}

fn score_text(score: &Score) -> String {
    match score {
        Score::Unasked => "is not scored".to_owned(),
        Score::Skipped => "is skipped with its pod".to_owned(),
        Score::Failed(text) => format!("cannot be scored for its pod: {text}"),
        Score::Raw(NO_SCORE) => "has no score".to_owned(),
        Score::Raw(raw) => format!("has the raw score {raw}"),
    }
}
