//! POST /extender/prioritize: scores from 0 to 10 of the nodes that kube-scheduler names, by the scorers of the policy.
//!
//! kube-scheduler multiplies them by the weight of the extender and by ten, and adds that to its own totals. Start at [`evaluate`].

use std::collections::HashMap;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use nodesift_proto::v1::Consistency;
use serde::Serialize;

use super::filter::{Args, candidates, node_names};
use super::go_object::Go;
use super::{answered, whole_pod};
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::admission::staleness::Staleness;
use crate::calls::driver::Call;
use crate::calls::request;
use crate::protocols::json::codec;
use crate::{Error, Service};
use nodesift_engine::limits::{MAX_SCORE, TOP_NODES};
use nodesift_engine::{Engine, Nodes, Options, PodRef, PodScores, Query, ScoreRequest, ScorerOutcome};

/// Highest score of a node in a reply: MaxExtenderPriority of kube-scheduler.
const MAX_PRIORITY: i64 = 10;

/// Handles requests to POST /extender/prioritize. An error is an HTTP status: kube-scheduler logs it, and goes on without the scores.
pub(crate) async fn prioritize(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    body: Body,
) -> Result<Response, Error> {
    answered::<Prioritize>(&service, scope, body).await
}

/// The call, from body to body.
enum Prioritize {}

impl Call for Prioritize {
    type Request = Bytes;
    type Parsed = Bytes;
    type Response = Vec<u8>;

    fn consistency(_: &Bytes) -> Option<&Consistency> {
        None
    }

    fn held_bytes(body: &Bytes) -> usize {
        request::json_bytes(body)
    }

    /// It is about one pod.
    fn size(_: &Bytes) -> Size {
        Size::Small
    }

    fn parse(body: Bytes) -> Result<Bytes, Error> {
        Ok(body)
    }

    fn answer(engine: &Engine, _: &Staleness, deadline: Deadline, body: &mut Bytes) -> Result<Vec<u8>, Error> {
        evaluate(engine, deadline, body)
    }
}

/// An item of `HostPriorityList` of k8s.io/kube-scheduler/extender/v1.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct HostPriority<'a> {
    host: &'a str,
    score: i64,
}

/// Decodes the request, scores its nodes on one snapshot, and encodes the scores in the request's order. Nodes that do not fit, that are not
/// in the cache, or that are worse than the best [`TOP_NODES`] have 0.
fn evaluate(engine: &Engine, deadline: Deadline, body: &[u8]) -> Result<Vec<u8>, Error> {
    let Go(args) = codec::decode::<Go<Args<'_>>>(body)?;
    let pod = whole_pod(args.pod)?;
    let names = node_names(&args)?;
    let snapshot = engine.snapshot();
    let candidates: Vec<&str> = candidates(&args, &names).map(|candidate| candidate.name).collect();
    let known: Vec<String> =
        candidates.iter().filter(|name| snapshot.node_row(name).is_some()).map(|name| (*name).to_owned()).collect();
    if known.is_empty() {
        return codec::encode(&candidates.iter().map(|name| HostPriority { host: name, score: 0 }).collect::<Vec<_>>());
    }
    let scores = ScoreRequest { top: TOP_NODES, seed: None, each: false };
    let question = Query::new([PodRef::Whole(Box::new(pod))]).with_nodes(Nodes::Named(known)).with_scores(scores);
    let question = question.with_deadline(deadline.for_engine());
    let answer = engine.answer(&question, Options::on(&snapshot))?;
    let pod = answer.pods.first().ok_or(Error::Internal)?;
    let scores = pod.scores.as_ref().ok_or(Error::Internal)?;
    if scores.is_late() {
        return Err(deadline.exceeded());
    }
    if let Some(error) = &scores.error {
        return Err(Error::invalid("Pod", format!("cannot be scored: {error}")));
    }
    let most = most(scores);
    let priority = |total: i64| total.saturating_mul(MAX_PRIORITY).checked_div(most).unwrap_or(0);
    let by_name: HashMap<&str, i64> =
        scores.nodes.iter().map(|node| (snapshot.node_name(node.row), priority(node.total))).collect();
    let score = |name: &str| by_name.get(name).copied().unwrap_or(0);
    codec::encode(&candidates.iter().map(|name| HostPriority { host: name, score: score(name) }).collect::<Vec<_>>())
}

/// The highest total that a node can have by the scorers that count.
fn most(scores: &PodScores) -> i64 {
    let counts = scores.scorers.iter().filter(|scorer| scorer.outcome == ScorerOutcome::Scored);
    counts.map(|scorer| scorer.weight.saturating_mul(MAX_SCORE)).fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_engine::ScorerScores;

    use super::*;

    #[test]
    fn the_most_is_that_of_the_scorers_that_count() {
        let scorer = |weight, outcome| ScorerScores { scorer: "S".into(), weight, outcome };
        let scores = PodScores {
            scorers: vec![
                scorer(3, ScorerOutcome::Scored),
                scorer(50, ScorerOutcome::Skipped),
                scorer(1, ScorerOutcome::Scored),
                scorer(9, ScorerOutcome::Failed),
            ],
            ..PodScores::default()
        };
        assert_eq!(most(&scores), 400);
        assert_eq!(most(&PodScores::default()), 0);
    }

    #[test]
    fn items_have_the_names_of_go_fields() {
        let item = HostPriority { host: "n1", score: 7 };
        assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"Host":"n1","Score":7}"#);
    }
}
