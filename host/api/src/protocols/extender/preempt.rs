//! POST /extender/preempt: on which of the nodes that kube-scheduler names the pod fits once their victims are gone.
//!
//! The response names victims by UID, whichever form the request has. A node without victims is left out, since
//! kube-scheduler takes none: static pods stay, so they are no victims. Start at [`encode`].

use std::collections::BTreeMap;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use nodesift_proto::v1::Consistency;
use serde::de::MapAccess;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::go_object::{Go, GoObject};
use super::{answered, whole_pod};
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::staleness::Staleness;
use crate::calls::driver::Call;
use crate::calls::request;
use crate::error::at_most;
use crate::protocols::json::codec;
use crate::{Error, Service, limits};
use nodesift_engine::{Candidate, Engine, PodRef, Preemption, PreemptionAnswer};

/// POST /extender/preempt. The response has no field for errors, unlike that of `filter`: an error is an HTTP status, which
/// kube-scheduler takes as a failure of the extender.
pub(crate) async fn preempt(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    body: Body,
) -> Result<Response, Error> {
    answered::<Preempt>(&service, scope, body).await
}

/// The call, from body to body.
enum Preempt {}

/// Checked request of a preemption.
struct Parsed {
    query: Preemption,
    /// Field `NumPDBViolations` of the request, by node.
    budget_violations: BTreeMap<String, i64>,
}

impl Call for Preempt {
    // The whole body is decoded, which only a slot does.
    const PARSE_IS_CHEAP: bool = false;

    type Request = Bytes;
    type Parsed = Parsed;
    type Response = Vec<u8>;

    fn consistency(_: &Bytes) -> Option<&Consistency> {
        None
    }

    fn held_bytes(body: &Bytes) -> usize {
        request::json_bytes(body)
    }

    fn parse(body: Bytes) -> Result<Parsed, Error> {
        let Go(args) = codec::decode::<Go<Args<'_>>>(&body)?;
        let pod = whole_pod(args.pod)?;
        let plans = plans(args)?;
        at_most("victims", plans.iter().map(|plan| plan.candidate.victims.len()).sum(), limits::REQUEST_VICTIMS)?;
        let budget_violations =
            plans.iter().map(|plan| (plan.candidate.node.clone(), plan.budget_violations)).collect();
        let candidates = plans.into_iter().map(|plan| plan.candidate).collect();
        Ok(Parsed {
            query: Preemption { pod: PodRef::Whole(Box::new(pod)), candidates, deadline: None },
            budget_violations,
        })
    }

    fn answer(engine: &Engine, _: &Staleness, deadline: Deadline, parsed: &mut Parsed) -> Result<Vec<u8>, Error> {
        parsed.query.deadline = Some(deadline.for_engine());
        let snapshot = engine.snapshot();
        parsed.query.candidates.retain(|candidate| snapshot.node_row(&candidate.node).is_some());
        encode(parsed, &engine.preempt(&parsed.query, &snapshot)?)
    }
}

/// Victims by node; Go writes `null` for a pointer to nothing.
type ByNode<P> = BTreeMap<String, Option<Go<Victims<P>>>>;

/// Request body: `ExtenderPreemptionArgs` of k8s.io/kube-scheduler/extender/v1.
#[derive(Debug, Default)]
struct Args<'a> {
    pod: Option<&'a RawValue>,
    whole: Option<ByNode<&'a RawValue>>,
    by_uid: Option<ByNode<Go<MetaPod>>>,
}

/// Victims on a node: `Victims` or `MetaVictims` of k8s.io/kube-scheduler/extender/v1.
#[derive(Debug)]
struct Victims<P> {
    pods: Vec<P>,
    budget_violations: i64,
}

impl<P> Default for Victims<P> {
    fn default() -> Self {
        Self { pods: Vec::new(), budget_violations: 0 }
    }
}

/// Victim by UID: `MetaPod` of k8s.io/kube-scheduler/extender/v1.
#[derive(Debug, Default)]
struct MetaPod {
    uid: String,
}

/// Response body: `ExtenderPreemptionResult` of k8s.io/kube-scheduler/extender/v1.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Reply<'a> {
    node_name_to_meta_victims: BTreeMap<&'a str, MetaVictims<'a>>,
}

#[derive(Debug, Serialize)]
struct MetaVictims<'a> {
    #[serde(rename = "Pods")]
    pods: Vec<Uid<'a>>,
    #[serde(rename = "NumPDBViolations")]
    budget_violations: i64,
}

#[derive(Debug, Serialize)]
struct Uid<'a> {
    #[serde(rename = "UID")]
    uid: &'a str,
}

/// The victims that kube-scheduler has chosen on a node.
#[derive(Debug)]
struct Plan {
    candidate: Candidate,
    budget_violations: i64,
}

/// The nodes on which the pod fits, with the victims that go.
fn encode(parsed: &Parsed, answer: &PreemptionAnswer) -> Result<Vec<u8>, Error> {
    let mut nodes = BTreeMap::new();
    for (candidate, outcome) in parsed.query.candidates.iter().zip(&answer.outcomes) {
        let stays = |index: &usize| outcome.stay.binary_search(index).is_ok();
        let leaving = candidate.victims.iter().enumerate().filter(|(index, _)| !stays(index));
        let pods: Vec<Uid<'_>> = leaving.map(|(_, uid)| Uid { uid }).collect();
        if outcome.index.is_some() && !pods.is_empty() {
            let budget_violations = parsed.budget_violations.get(&candidate.node).copied().unwrap_or_default();
            nodes.insert(candidate.node.as_str(), MetaVictims { pods, budget_violations });
        }
    }
    codec::encode(&Reply { node_name_to_meta_victims: nodes })
}

/// Nodes with the UIDs of their victims, all of which go: the pod has to fit with the last one gone.
fn plans(args: Args<'_>) -> Result<Vec<Plan>, Error> {
    let plan = |node: String, victims: Vec<String>, budget_violations: i64| {
        let start = victims.len().saturating_sub(1);
        Plan { candidate: Candidate { node, victims, start }, budget_violations }
    };
    match (args.by_uid, args.whole) {
        (Some(nodes), _) => {
            let nodes = nodes.into_iter().filter_map(|(node, victims)| Some((node, victims?.0)));
            let uids = |pods: Vec<Go<MetaPod>>| pods.into_iter().map(|pod| pod.0.uid).collect();
            Ok(nodes.map(|(node, victims)| plan(node, uids(victims.pods), victims.budget_violations)).collect())
        }
        (None, Some(nodes)) => {
            let nodes = nodes.into_iter().filter_map(|(node, victims)| Some((node, victims?.0)));
            let read = |(node, victims): (String, Victims<&RawValue>)| {
                let field = |at: usize| format!("NodeNameToVictims.{node}.Pods[{at}]");
                let pods = victims.pods.iter().enumerate();
                let uids = pods.map(|(at, pod)| uid(&field(at), pod)).collect::<Result<_, _>>()?;
                Ok(plan(node, uids, victims.budget_violations))
            };
            nodes.map(read).collect()
        }
        (None, None) => Err(Error::invalid("NodeNameToMetaVictims", "is missing, and so is NodeNameToVictims")),
    }
}

/// The UID that the cache has for a pod given whole.
fn uid(field: &str, pod: &RawValue) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Pod {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        uid: String,
        #[serde(default)]
        namespace: String,
        name: String,
    }
    let Metadata { uid, namespace, name } = request::from_text::<Pod>(field, pod.get())?.metadata;
    Ok(if uid.is_empty() { format!("{namespace}/{name}") } else { uid })
}

impl<'de> GoObject<'de> for Args<'de> {
    const NAME: &'static str = "ExtenderPreemptionArgs";

    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        if key.eq_ignore_ascii_case("Pod") {
            self.pod = map.next_value::<&RawValue>().map(|raw| (raw.get() != "null").then_some(raw))?;
        } else if key.eq_ignore_ascii_case("NodeNameToVictims") {
            self.whole = map.next_value()?;
        } else if key.eq_ignore_ascii_case("NodeNameToMetaVictims") {
            self.by_uid = map.next_value()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

impl<'de, P: Deserialize<'de>> GoObject<'de> for Victims<P> {
    const NAME: &'static str = "Victims";

    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        if key.eq_ignore_ascii_case("Pods") {
            self.pods = map.next_value::<Option<Vec<P>>>()?.unwrap_or_default();
        } else if key.eq_ignore_ascii_case("NumPDBViolations") {
            self.budget_violations = map.next_value::<Option<i64>>()?.unwrap_or_default();
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

impl<'de> GoObject<'de> for MetaPod {
    const NAME: &'static str = "MetaPod";

    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        if key.eq_ignore_ascii_case("UID") {
            self.uid = map.next_value::<Option<String>>()?.unwrap_or_default();
            return Ok(true);
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::calls::driver;
    use crate::calls::testing::idle;

    fn read(request: &str) -> Result<Vec<(String, Vec<String>, i64)>, String> {
        let Go(args) = codec::decode::<Go<Args<'_>>>(request.as_bytes()).map_err(|error| error.text())?;
        let plans = plans(args).map_err(|error| error.text())?;
        let shown = |plan: Plan| (plan.candidate.node, plan.candidate.victims, plan.budget_violations);
        Ok(plans.into_iter().map(shown).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_too_large_for_any_room_is_not_decoded() {
        let malformed = Bytes::from(",".repeat(limits::BODY_BYTES));
        let error = driver::admit::<Preempt>(&idle(), &mut RequestScope::detached(), malformed).await.err().unwrap();
        assert!(matches!(error, Error::TooMuch { .. }), "{}", error.text());
    }

    #[test]
    fn victims_come_by_uid_or_whole_in_any_case() {
        let by_uid = r#"{"Pod":{},"NodeNameToVictims":null,"nodeNameToMetaVictims":{
            "n1":{"Pods":[{"UID":"u1"},{"uid":"u2"}],"NumPDBViolations":2},"n2":null,"n3":{"Pods":null}}}"#;
        let expected = [("n1", vec!["u1", "u2"], 2), ("n3", vec![], 0)];
        let shown = |(node, uids, violations): (&str, Vec<&str>, i64)| {
            (node.to_owned(), uids.into_iter().map(str::to_owned).collect::<Vec<String>>(), violations)
        };
        assert_eq!(read(by_uid).unwrap(), expected.map(shown));
        let whole = r#"{"NodeNameToVictims":{"n1":{"pods":[{"metadata":{"uid":"u1","name":"a"}},
            {"metadata":{"namespace":"ns","name":"b","creationTimestamp":null}}]}}}"#;
        assert_eq!(read(whole).unwrap(), [("n1", vec!["u1", "ns/b"], 0)].map(shown));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        assert_eq!(read("{}").unwrap_err(), "NodeNameToMetaVictims: is missing, and so is NodeNameToVictims");
        let nameless = read(r#"{"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{}}]}}}"#).unwrap_err();
        assert!(nameless.starts_with("NodeNameToVictims.n1.Pods[0].metadata: missing field `name`"), "{nameless}");
    }
}
