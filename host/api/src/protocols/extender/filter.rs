//! POST /extender/filter: which of the nodes that kube-scheduler names fit.
//!
//! The response is always 200, since kube-scheduler drops the body of any other: failures are in its field `Error`. Start at
//! [`evaluate`].

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use nodesift_proto::v1::Consistency;
use serde::de::MapAccess;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::go_object::{Go, GoObject};
use super::whole_pod;
use crate::admission::staleness::Staleness;
use crate::calls::driver::{self, Call, Stage};
use crate::calls::request;
use crate::protocols::json::codec;
use crate::transport::body_buffer;
use crate::{Error, Service};
use nodesift_cache::Row;
use nodesift_engine::{Code, Depth, Engine, FaultEffect, Nodes, Phase, PodAnswer, PodRef, Query};

/// The reason for a node that is not in the cache.
const UNKNOWN_NODE: &str = "predicates were not run because node was not found in cache";

/// POST /extender/filter.
pub(crate) async fn filter(State(service): State<Service>, body: Body) -> Result<Response, Error> {
    let response = async {
        let body = body_buffer::read(body).await?;
        driver::run(&service, Stage::<Filter>::Decoded(body), Ok).await
    };
    match response.await {
        Ok(text) => Ok(codec::reply(text)),
        // A body over the limit is refused by its HTTP status, as everywhere: it is not read.
        Err(error @ (Error::BodyTooLarge { .. } | Error::BodyTooSlow | Error::BodyBroken { .. })) => Err(error),
        Err(error) => Ok(codec::reply(codec::encode(&Reply::failed(&error))?)),
    }
}

/// The call, from body to body: the response borrows from the request.
enum Filter {}

impl Call for Filter {
    type Request = Bytes;
    type Parsed = Bytes;
    type Response = Vec<u8>;

    fn consistency(_: &Bytes) -> Option<&Consistency> {
        None
    }

    fn parse(body: Bytes) -> Result<Bytes, Error> {
        Ok(body)
    }

    fn answer(engine: &Engine, _: &Staleness, body: &mut Bytes) -> Result<Vec<u8>, Error> {
        evaluate(engine, body)
    }
}

/// `ExtenderArgs`.
#[derive(Debug, Default)]
struct Args<'a> {
    pod: Option<&'a RawValue>,
    nodes: Option<NodeList<'a>>,
    node_names: Option<Vec<Name<'a>>>,
}

/// A node's name, borrowed from the body unless it has escapes.
#[derive(Debug, Clone, Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A v1 `NodeList`; its items go back unchanged.
#[derive(Debug, Default)]
struct NodeList<'a> {
    items: Vec<&'a RawValue>,
}

/// `ExtenderFilterResult`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Reply<'a> {
    nodes: Option<EchoedNodes<'a>>,
    node_names: Option<Vec<&'a str>>,
    failed_nodes: BTreeMap<&'a str, Reason>,
    failed_and_unresolvable_nodes: BTreeMap<&'a str, Reason>,
    error: String,
}

/// Why a node is rejected; nodes share one text in memory.
#[derive(Debug, Clone)]
struct Reason(Arc<str>);

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[derive(Debug, Serialize)]
struct EchoedNodes<'a> {
    metadata: NoFields,
    items: Vec<&'a RawValue>,
}

/// `{}`.
#[derive(Debug, Serialize)]
struct NoFields {}

impl Reply<'_> {
    fn failed(error: &Error) -> Self {
        Self { error: error.text(), ..Self::default() }
    }
}

/// How the request names nodes, and so how the reply does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// By name: the extender is registered as `nodeCacheCapable`.
    Names,
    /// As whole objects, which go back unchanged.
    Objects,
}

impl Args<'_> {
    fn form(&self) -> Form {
        if self.node_names.is_some() { Form::Names } else { Form::Objects }
    }
}

/// A candidate as the request named it.
#[derive(Debug)]
struct Candidate<'a> {
    name: &'a str,
    /// The whole object, where the request has it.
    object: Option<&'a RawValue>,
}

/// Decodes the request, evaluates its nodes on one snapshot, and encodes which fit and why the others do not.
fn evaluate(engine: &Engine, body: &[u8]) -> Result<Vec<u8>, Error> {
    let Go(args) = codec::decode::<Go<Args<'_>>>(body)?;
    let pod = whole_pod(args.pod)?;
    let names = node_names(&args)?;
    let snapshot = engine.snapshot();
    let (known, unknown): (Vec<Candidate<'_>>, Vec<Candidate<'_>>) =
        candidates(&args, &names).partition(|candidate| snapshot.node_row(candidate.name).is_some());
    let question = Query {
        pods: vec![PodRef::Whole(Box::new(pod))],
        nodes: Nodes::Named(known.iter().map(|candidate| candidate.name.to_owned()).collect()),
        phase: Phase::Allocate,
        depth: Depth::FirstFailure,
        deadline: None,
    };
    let answer = engine.answer_on(&snapshot, &question)?;
    let pod = answer.pods.first().ok_or(Error::Internal)?;
    codec::encode(&reply(pod, |row| snapshot.node_name(row), args.form(), &known, &unknown))
}

/// Puts every candidate in exactly one place: fitting, or one of the maps.
fn reply<'a>(
    pod: &PodAnswer,
    name_of: impl Fn(Row) -> &'a str,
    form: Form,
    known: &[Candidate<'a>],
    unknown: &[Candidate<'a>],
) -> Reply<'a> {
    let mut reply = Reply::default();
    let unknown_node = Reason(UNKNOWN_NODE.into());
    reply.failed_nodes.extend(unknown.iter().map(|candidate| (candidate.name, unknown_node.clone())));
    for failure in pod.failures.iter() {
        let by_fault = pod
            .faults
            .iter()
            .any(|report| report.effect == FaultEffect::Rejected && report.predicate == failure.predicate);
        // Preemption may help where a predicate only faulted.
        let unresolvable = failure.code == Code::UnschedulableAndUnresolvable && !by_fault;
        let text = Reason(failure.reasons.join(", ").into());
        let map = if unresolvable { &mut reply.failed_and_unresolvable_nodes } else { &mut reply.failed_nodes };
        map.extend(failure.rows.iter().map(|row| (name_of(row), text.clone())));
    }
    let feasible: HashSet<&str> = pod.feasible.iter().map(name_of).collect();
    let fitting = known.iter().filter(|candidate| feasible.contains(candidate.name));
    match form {
        Form::Names => reply.node_names = Some(fitting.map(|candidate| candidate.name).collect()),
        Form::Objects => {
            let items = fitting.filter_map(|candidate| candidate.object).collect();
            reply.nodes = Some(EchoedNodes { metadata: NoFields {}, items });
        }
    }
    reply
}

/// The names of the candidates, in the request's order; where whole nodes were sent, one per item.
fn node_names<'a>(args: &'a Args<'a>) -> Result<Cow<'a, [Name<'a>]>, Error> {
    #[derive(Deserialize)]
    struct Node {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: String,
    }
    match (&args.node_names, &args.nodes) {
        (Some(names), _) => Ok(Cow::Borrowed(names)),
        (None, Some(list)) => list
            .items
            .iter()
            .enumerate()
            .map(|(at, item)| {
                let node: Result<Node, Error> = request::from_text(&format!("Nodes.items[{at}]"), item.get());
                node.map(|node| Name(node.metadata.name.into()))
            })
            .collect(),
        (None, None) => Err(Error::invalid("NodeNames", "is missing, and so is Nodes")),
    }
}

/// One candidate per name; a repeated name counts once.
fn candidates<'a>(args: &'a Args<'a>, names: &'a [Name<'a>]) -> impl Iterator<Item = Candidate<'a>> {
    let items = if args.form() == Form::Names { None } else { args.nodes.as_ref() };
    let mut seen = HashSet::with_capacity(names.len());
    let names = names.iter().map(|Name(name)| &**name).enumerate();
    names
        .filter(move |(_, name)| seen.insert(*name))
        .map(move |(at, name)| Candidate { name, object: items.and_then(|list| list.items.get(at).copied()) })
}

impl<'de> GoObject<'de> for Args<'de> {
    const NAME: &'static str = "ExtenderArgs";

    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        if key.eq_ignore_ascii_case("Pod") {
            self.pod = map.next_value::<&RawValue>().map(|raw| (raw.get() != "null").then_some(raw))?;
        } else if key.eq_ignore_ascii_case("Nodes") {
            self.nodes = map.next_value::<Option<Go<NodeList<'de>>>>()?.map(|list| list.0);
        } else if key.eq_ignore_ascii_case("NodeNames") {
            self.node_names = map.next_value()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

impl<'de> GoObject<'de> for NodeList<'de> {
    const NAME: &'static str = "NodeList";

    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        if key.eq_ignore_ascii_case("items") {
            self.items = map.next_value::<Option<Vec<&RawValue>>>()?.unwrap_or_default();
            return Ok(true);
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use nodesift_engine::{FailureGroup, FaultReport};
    use nodesift_sandbox::fault::{Fault, FaultKind};

    const NAMES: [&str; 4] = ["n0", "n1", "n2", "n3"];

    fn name_of(row: Row) -> &'static str {
        NAMES[row.0 as usize]
    }

    fn failure(predicate: &str, code: Code, reasons: &[&str], rows: &[u32]) -> FailureGroup {
        FailureGroup {
            predicate: predicate.into(),
            code,
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            rows: Arc::new(rows.iter().copied().map(Row).collect()),
        }
    }

    /// The reply to a request, where the cache has every node but `gone`.
    fn replied(request: &str, pod: &PodAnswer) -> String {
        let Go(args) = codec::decode::<Go<Args<'_>>>(request.as_bytes()).unwrap();
        whole_pod(args.pod).unwrap();
        let names = node_names(&args).unwrap();
        let (unknown, known): (Vec<_>, Vec<_>) =
            candidates(&args, &names).partition(|candidate| candidate.name == "gone");
        String::from_utf8(codec::encode(&reply(pod, |row| name_of(row), args.form(), &known, &unknown)).unwrap())
            .unwrap()
    }

    fn rejection(request: &str) -> String {
        let Go(args) = match codec::decode::<Go<Args<'_>>>(request.as_bytes()) {
            Ok(args) => args,
            Err(error) => return error.text(),
        };
        whole_pod(args.pod).map(drop).and_then(|()| node_names(&args).map(drop)).unwrap_err().text()
    }

    #[test]
    fn names_come_back_in_request_order_and_rejected_nodes_in_one_map() {
        let pod = PodAnswer {
            feasible: Arc::new([Row(0), Row(3)].into_iter().collect()),
            failures: Arc::new([
                failure("NodeAffinity", Code::UnschedulableAndUnresolvable, &["node(s) didn't match"], &[2]),
                failure("NodeResourcesFit", Code::Unschedulable, &["Insufficient cpu", "Too many pods"], &[1]),
            ]),
            ..PodAnswer::default()
        };
        let request = r#"{"Pod":{"metadata":{"name":"web","creationTimestamp":null}},"Nodes":null,
            "NodeNames":["n3","n1","n0","n2","gone","n3"]}"#;
        let expected = concat!(
            r#"{"Nodes":null,"NodeNames":["n3","n0"],"FailedNodes":{"#,
            r#""gone":"predicates were not run because node was not found in cache","n1":"Insufficient cpu, Too many pods"},"#,
            r#""FailedAndUnresolvableNodes":{"n2":"node(s) didn't match"},"Error":""}"#,
        );
        assert_eq!(replied(request, &pod), expected);
    }

    #[test]
    fn whole_nodes_come_back_unchanged() {
        let pod = PodAnswer {
            feasible: Arc::new([Row(1)].into_iter().collect()),
            failures: [failure("NodeName", Code::UnschedulableAndUnresolvable, &["other name"], &[0])].into(),
            ..PodAnswer::default()
        };
        let kept = r#"{ "metadata" : {"name":"n1", "x": 1e2},"status":{"y":[ 1.50 ]}}"#;
        let request = format!(
            r#"{{"pod":{{"metadata":{{"name":"web"}}}},"NODES":{{"metadata":{{}},"Items":[{{"metadata":{{"name":"n0"}}}},{kept}]}},"nodenames":null}}"#
        );
        let expected = format!(
            r#"{{"Nodes":{{"metadata":{{}},"items":[{kept}]}},"NodeNames":null,"FailedNodes":{{}},"FailedAndUnresolvableNodes":{{"n0":"other name"}},"Error":""}}"#
        );
        assert_eq!(replied(&request, &pod), expected);
    }

    #[test]
    fn no_candidates_come_back_in_the_form_of_the_request() {
        let none = PodAnswer::default();
        let names = replied(r#"{"Pod":{"metadata":{"name":"web"}},"NodeNames":[]}"#, &none);
        assert!(names.starts_with(r#"{"Nodes":null,"NodeNames":[],"#), "{names}");
        let objects = replied(r#"{"Pod":{"metadata":{"name":"web"}},"Nodes":{"items":null}}"#, &none);
        assert!(objects.starts_with(r#"{"Nodes":{"metadata":{},"items":[]},"NodeNames":null,"#), "{objects}");
    }

    #[test]
    fn a_node_rejected_by_a_fault_is_never_unresolvable() {
        let fault = Fault { kind: FaultKind::Deadline, detail: "5 ms".into() };
        let report = FaultReport { predicate: "Slow".into(), fault, effect: FaultEffect::Rejected };
        let pod = PodAnswer {
            failures: Arc::new([
                failure("Slow", Code::UnschedulableAndUnresolvable, &["predicate \"Slow\" failed"], &[0]),
                failure("NodeName", Code::UnschedulableAndUnresolvable, &["other name"], &[1]),
            ]),
            faults: vec![report],
            ..PodAnswer::default()
        };
        let reply = replied(r#"{"Pod":{"metadata":{"name":"web"}},"NodeNames":["n0","n1"]}"#, &pod);
        assert!(reply.contains(r#""FailedNodes":{"n0":"predicate \"Slow\" failed"}"#), "{reply}");
        assert!(reply.contains(r#""FailedAndUnresolvableNodes":{"n1":"other name"}"#), "{reply}");
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        assert_eq!(rejection(r#"{"NodeNames":[]}"#), "Pod: is missing");
        assert_eq!(rejection(r#"{"Pod":null,"NodeNames":[]}"#), "Pod: is missing");
        let pod = r#""Pod":{"metadata":{"name":"web"}}"#;
        assert_eq!(rejection(&format!("{{{pod}}}")), "NodeNames: is missing, and so is Nodes");
        let nameless = rejection(&format!(r#"{{{pod},"Nodes":{{"items":[{{"metadata":{{}}}}]}}}}"#));
        assert!(nameless.starts_with("Nodes.items[0].metadata: missing field `name`"), "{nameless}");
        let wrong = rejection(r#"{"Pod":{"metadata":{"name":"web"},"spec":{"nodeName":7}},"NodeNames":[]}"#);
        assert!(wrong.starts_with("Pod.spec.nodeName: "), "{wrong}");
        assert!(rejection("[]").contains("an object, ExtenderArgs"), "{}", rejection("[]"));
    }

    #[test]
    fn an_error_has_the_shape_of_a_result() {
        let text = codec::encode(&Reply::failed(&Error::Overloaded)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.starts_with(
                r#"{"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":"more requests"#
            ),
            "{text}"
        );
    }
}
