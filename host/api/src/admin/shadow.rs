//! `GET /v1/policy/shadow`: what predicates in the mode `Shadow`, and a second policy, would change, of verdicts and of scores.

use std::time::{Duration, SystemTime};

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use super::differences::Summary;
use super::time::rfc3339;
use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service};
use nodesift_engine::{Comparison, Record, RecordedBest, RecordedChange, RecordedDifference, Shadow};

/// Answers `GET /v1/policy/shadow`, ready or not.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`]: megabytes of differences count among the responses that clients have not read.
pub(crate) async fn shadow(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
) -> Result<Response, Error> {
    scope.until_read().await?;
    let shadow = service.engine().shadow();
    let records: Vec<(&Comparison, Record)> = shadow
        .iter()
        .flat_map(|shadow| &shadow.comparisons)
        .map(|comparison| (comparison, comparison.record()))
        .collect();
    Encoded::from_text(codec::encode(&Status::new(shadow.as_deref(), &records))?).respond(scope.unsent.as_ref())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    /// The generation of the active policy that is compared; none where nothing is.
    policy_generation: Option<String>,
    /// Since when, in RFC 3339.
    since: Option<String>,
    /// Answers that were not compared, because too many waited.
    dropped: u64,
    shadows: Vec<Compared<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Compared<'a> {
    /// The document of the second policy, or the shadow predicates of the active one.
    source: &'a str,
    /// All of it in one line.
    verdict: String,
    #[serde(flatten)]
    summary: Summary<'a>,
    /// Calls that failed; the failure policies decided in their place.
    faults: u64,
    /// Answers that could not be compared.
    failed: u64,
    /// The last ones, newest first.
    differences: Vec<Difference<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference<'a> {
    time: String,
    pod: &'a str,
    /// How many nodes fit, and how many would.
    before: usize,
    after: usize,
    lost: Vec<Change<'a>>,
    gained: Vec<Change<'a>>,
    /// Entries of both lists beyond these.
    unlisted: usize,
    /// The best nodes, where none is among the best by both policies.
    best: Option<Best<'a>>,
    /// Why the pod would have no scores, where it has some.
    score_error: Option<&'a str>,
}

#[derive(Serialize)]
struct Best<'a> {
    before: BestNodes<'a>,
    after: BestNodes<'a>,
}

#[derive(Serialize)]
struct BestNodes<'a> {
    /// How many nodes; `nodes` has the first of them.
    count: usize,
    nodes: &'a [String],
}

impl<'a> From<&'a RecordedBest> for Best<'a> {
    fn from(best: &'a RecordedBest) -> Self {
        let nodes = |(count, nodes): &'a (usize, Vec<String>)| BestNodes { count: *count, nodes };
        Self { before: nodes(&best.before), after: nodes(&best.after) }
    }
}

#[derive(Serialize)]
struct Change<'a> {
    predicate: &'a str,
    reasons: &'a str,
    /// How many nodes; `nodes` has the first of them.
    count: usize,
    nodes: &'a [String],
}

impl<'a> Status<'a> {
    fn new(shadow: Option<&Shadow>, records: &'a [(&'a Comparison, Record)]) -> Self {
        let since = shadow.map(|shadow| shadow.since);
        let compared = |(comparison, record): &'a (&'a Comparison, Record)| Compared {
            source: &comparison.source,
            verdict: format!("over {}, {}", age(since), record.differences),
            summary: Summary::new(&record.differences),
            faults: record.faults,
            failed: record.failed,
            differences: record.last.iter().rev().map(|difference| Difference::new(difference)).collect(),
        };
        Self {
            policy_generation: shadow.map(|shadow| shadow.generation.to_string()),
            since: since.map(rfc3339),
            dropped: shadow.map_or(0, Shadow::dropped),
            shadows: records.iter().map(compared).collect(),
        }
    }
}

impl<'a> Difference<'a> {
    fn new(difference: &'a RecordedDifference) -> Self {
        let change = |change: &'a RecordedChange| Change {
            predicate: &change.predicate,
            reasons: &change.reasons,
            count: change.count,
            nodes: &change.nodes,
        };
        Self {
            time: rfc3339(difference.at),
            pod: &difference.pod,
            before: difference.before,
            after: difference.after,
            lost: difference.lost.iter().map(change).collect(),
            gained: difference.gained.iter().map(change).collect(),
            unlisted: difference.unlisted,
            best: difference.best.as_ref().map(Best::from),
            score_error: difference.score_error.as_deref(),
        }
    }
}

/// How long ago, in the largest unit of which there is at least one.
fn age(since: Option<SystemTime>) -> String {
    #[allow(clippy::disallowed_methods, reason = "shown to people and never compared")]
    let age = since.and_then(|since| SystemTime::now().duration_since(since).ok()).unwrap_or(Duration::ZERO);
    let seconds = age.as_secs();
    for (unit, length) in [("d", 86_400), ("h", 3_600), ("min", 60)] {
        if seconds >= length {
            return format!("{} {unit}", seconds / length);
        }
    }
    format!("{seconds} s")
}
