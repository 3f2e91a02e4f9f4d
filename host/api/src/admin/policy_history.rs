//! `GET /v1/policy/history`: the last reloads of the policy, each with its result and what it has changed. Start at [`history`].

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use super::differences::Scorers;
use super::policy::Step;
use super::time::{microseconds, rfc3339};
use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service};
use nodesift_engine::{PastReload, ReloadStep};

/// Answers `GET /v1/policy/history`, ready or not.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`]: fifty refusals take some hundred kilobytes.
pub(crate) async fn history(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
) -> Result<Response, Error> {
    scope.until_read().await?;
    let reloads = service.engine().reloads();
    let document = History { reloads: reloads.iter().map(Reload::new).collect() };
    Encoded::from_text(codec::encode(&document)?).respond(scope.unsent.as_ref())
}

#[derive(Serialize)]
struct History<'a> {
    /// The newest first; none since the start of the process.
    reloads: Vec<Reload<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reload<'a> {
    /// When it ended, in RFC 3339; of repeated ones the last.
    time: String,
    /// `active`, `refused` or `rolledBack`.
    result: &'static str,
    /// Later attempts that were refused for the same reasons.
    repeats: u32,
    /// The generation that was active then.
    generation: String,
    source: &'a str,
    name: &'a str,
    /// From the reading of the files on.
    took_ms: u64,
    /// Steps of that, in their order; of a refused reload those up to the one that failed, of a rollback none.
    steps: Vec<StepTime>,
    /// The exchange of the policies alone, in microseconds.
    swap_us: Option<u64>,
    /// Predicates that the active policy has since then.
    added: Vec<&'a str>,
    /// Predicates that it has no more.
    removed: Vec<&'a str>,
    /// Predicates whose component is another one since then.
    replaced: Vec<&'a str>,
    /// Differences of the scorers from those of the policy before.
    scorers: Scorers<'a>,
    failures: Vec<Step<'a>>,
    /// Failures beyond those listed.
    unlisted: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepTime {
    /// `read`: the document and its files; `load`: modules pulled, verified, compiled and linked; `follow`: kinds that the policy reads listed;
    /// `trial`; `switch`: pods recounted where that changes, and the policies exchanged.
    step: &'static str,
    took_ms: u64,
}

impl<'a> Reload<'a> {
    fn new(past: &'a PastReload) -> Self {
        let names = |names: &'a [std::sync::Arc<str>]| names.iter().map(|name| &**name).collect();
        Self {
            time: rfc3339(past.reload.at),
            result: past.reload.outcome.name(),
            repeats: past.repeats,
            generation: past.reload.generation.to_string(),
            source: &past.source,
            name: &past.name,
            took_ms: microseconds(past.reload.took) / 1_000,
            steps: past.reload.steps.iter().map(StepTime::from).collect(),
            swap_us: past.reload.swap.map(microseconds),
            added: names(&past.added),
            removed: names(&past.removed),
            replaced: names(&past.replaced),
            scorers: Scorers::from(&past.scorers),
            failures: past.failures.iter().map(Step::from).collect(),
            unlisted: past.unlisted,
        }
    }
}

impl From<&ReloadStep> for StepTime {
    fn from(step: &ReloadStep) -> Self {
        Self { step: step.name, took_ms: microseconds(step.took) / 1_000 }
    }
}
