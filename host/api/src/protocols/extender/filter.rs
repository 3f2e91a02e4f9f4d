//! POST /extender/filter: which of the nodes that kube-scheduler names fit.
//!
//! The response is always 200, since kube-scheduler drops the body of any other: failures are in its field `Error`. Start at
//! [`evaluate`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Once;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use nodesift_proto::v1::Consistency;
use serde::Deserialize;
use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::go_object::{Go, GoObject};
use super::whole_pod;
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::admission::staleness::Staleness;
use crate::calls::driver::{self, Call, Stage};
use crate::calls::request;
use crate::error::Refusal;
use crate::protocols::document::{Document, Encoded};
use crate::protocols::json::codec;
use crate::{Error, Service, limits};
use nodesift_cache::NodeNames;
use nodesift_edge::{self as edge, body_buffer};
use nodesift_engine::pending::Asker;
use nodesift_engine::{Code, Engine, FailureGroup, FaultEffect, FaultReport, Nodes, Options, PodAnswer, PodRef, Query};

/// The reason for a node that is not in the cache.
const UNKNOWN_NODE: &str = "predicates were not run because node was not found in cache";

/// Log line about the facts that kube-scheduler does not send to extenders.
const LIMITS: &str = "called as an extender: kube-scheduler does not tell extenders which pods it has placed and not bound yet, so they \
                      do not count here: keep its own filters on, or call Assume from a plugin's Reserve instead";

static FIRST_CALL: Once = Once::new();

/// Handles requests to POST /extender/filter.
pub(crate) async fn filter(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    body: Body,
) -> Result<Response, Error> {
    FIRST_CALL.call_once(|| tracing::warn!("{LIMITS}"));
    let unsent = scope.unsent.clone();
    let response = async {
        scope.until_read().await?;
        let body = body_buffer::read(body).await?;
        scope.pend()?;
        driver::run(&service, scope, Stage::<Filter>::Decoded(body), |reply| Ok(Encoded::new(reply))).await
    };
    match response.await {
        Ok(reply) => reply.respond(unsent.as_ref()),
        // A body over the limit is refused by its HTTP status, as everywhere: it is not read.
        Err(
            error @ Error::Edge(
                edge::Error::BodyTooLarge { .. }
                | edge::Error::BodyTooSlow
                | edge::Error::BodyGaveWay
                | edge::Error::BodyBroken { .. },
            ),
        ) => Err(error),
        Err(error) => {
            let mut response = Encoded::new(failed(&error)?).respond(unsent.as_ref())?;
            // Its status is 200, which would hide it from the log.
            response.extensions_mut().insert(Refusal(error.text().into()));
            Ok(response)
        }
    }
}

/// The call, from body to document: the response borrows from the request.
enum Filter {}

impl Call for Filter {
    const IS_OF_CORE: bool = true;

    type Request = Bytes;
    type Parsed = (Bytes, Option<Asker>);
    type Response = Document;

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

    fn asked_by((_, asked_by): &mut (Bytes, Option<Asker>), asker: Asker) {
        *asked_by = Some(asker);
    }

    fn parse(body: Bytes) -> Result<(Bytes, Option<Asker>), Error> {
        Ok((body, None))
    }

    fn answer(
        engine: &Engine,
        _: &Staleness,
        deadline: Deadline,
        (body, asker): &mut (Bytes, Option<Asker>),
    ) -> Result<Document, Error> {
        evaluate(engine, deadline, *asker, body)
    }
}

/// Request body: `ExtenderArgs` of k8s.io/kube-scheduler/extender/v1.
#[derive(Debug, Default)]
pub(super) struct Args<'a> {
    pub(super) pod: Option<&'a RawValue>,
    nodes: Option<NodeList<'a>>,
    node_names: Option<Vec<Name<'a>>>,
}

/// A node's name, borrowed from the body unless it has escapes.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A v1 `NodeList`; its items go back unchanged.
#[derive(Debug, Default)]
struct NodeList<'a> {
    items: Vec<&'a RawValue>,
}

/// How the request names nodes, and so how the reply does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Names of nodes: the extender is registered as `nodeCacheCapable`.
    Names,
    /// Whole node objects, which go back unchanged.
    Objects,
}

impl Args<'_> {
    fn form(&self) -> Form {
        if self.node_names.is_some() { Form::Names } else { Form::Objects }
    }
}

/// A candidate as the request named it.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    /// The whole object, where the request has it.
    object: Option<&'a RawValue>,
}

/// Decodes the request, evaluates its nodes on one snapshot, and encodes which fit and why the others do not.
fn evaluate(engine: &Engine, deadline: Deadline, asker: Option<Asker>, body: &[u8]) -> Result<Document, Error> {
    let Go(args) = codec::decode::<Go<Args<'_>>>(body)?;
    let pod = whole_pod(args.pod)?;
    let names = node_names(&args)?;
    let snapshot = engine.snapshot();
    let (known, unknown): (Vec<Candidate<'_>>, Vec<Candidate<'_>>) =
        candidates(&args, &names).partition(|candidate| snapshot.node_row(candidate.name).is_some());
    let nodes = Nodes::Named(known.iter().map(|candidate| candidate.name.to_owned()).collect());
    let question = Query::new([PodRef::Whole(Box::new(pod))]).with_nodes(nodes).with_asker(asker);
    let question = question.with_deadline(deadline.for_engine());
    let answer = engine.answer(&question, Options::on(&snapshot))?;
    let pod = answer.pods.first().ok_or(Error::Internal)?;
    reply(pod, &snapshot.node_names(), args.form(), &known, &unknown)
}

/// `ExtenderFilterResult`: every candidate in exactly one place, fitting or in one of the maps.
fn reply(
    pod: &PodAnswer,
    nodes: &NodeNames,
    form: Form,
    known: &[Candidate<'_>],
    unknown: &[Candidate<'_>],
) -> Result<Document, Error> {
    let mut reply = Document::new(nodes.clone());
    let feasible: HashSet<&str> = pod.feasible.iter().map(|row| nodes.get(row)).collect();
    let fitting = known.iter().filter(|candidate| feasible.contains(candidate.name));
    match form {
        Form::Names => {
            let names: Vec<&str> = fitting.map(|candidate| candidate.name).collect();
            reply.field("{\"Nodes\":null,\"NodeNames\":", &names)?;
        }
        Form::Objects => {
            let items: Vec<&RawValue> = fitting.filter_map(|candidate| candidate.object).collect();
            reply.field("{\"Nodes\":{\"metadata\":{},\"items\":", &items)?;
            reply.text("},\"NodeNames\":null");
        }
    }
    reply.text(",\"FailedNodes\":{");
    let mut is_first = true;
    for candidate in unknown {
        reply.text(if is_first { "" } else { "," });
        is_first = false;
        reply.value(candidate.name)?;
        reply.field(":", UNKNOWN_NODE)?;
    }
    // Preemption may help where a predicate only faulted.
    let is_unresolvable = |failure: &FailureGroup| {
        let by_fault =
            |report: &FaultReport| report.effect == FaultEffect::Rejected && report.predicate == failure.predicate;
        failure.code == Code::UnschedulableAndUnresolvable && !pod.faults.iter().any(by_fault)
    };
    let (unresolvable, failed): (Vec<&FailureGroup>, Vec<&FailureGroup>) =
        pod.failures.iter().partition(|failure| is_unresolvable(failure));
    rejected(&mut reply, &failed, is_first)?;
    reply.text("},\"FailedAndUnresolvableNodes\":{");
    rejected(&mut reply, &unresolvable, true)?;
    reply.text("},\"Error\":\"\"}");
    Ok(reply)
}

/// Entries of a map from nodes to reasons.
fn rejected(reply: &mut Document, failures: &[&FailureGroup], mut is_first: bool) -> Result<(), Error> {
    for failure in failures {
        reply.text(if is_first || failure.rows.is_empty() { "" } else { "," });
        is_first &= !reply.entries(&failure.rows, &reason(&failure.reasons))?;
    }
    Ok(())
}

/// The text that every node of a group gets: as many reasons as fit into [`limits::NODE_REASON_BYTES`], and the number of the
/// others.
fn reason(reasons: &[String]) -> String {
    let mut text = String::new();
    for (at, reason) in reasons.iter().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        if text.len() + separator.len() + reason.len() > limits::NODE_REASON_BYTES {
            return format!("{text}{separator}and {} more", reasons.len() - at);
        }
        text.push_str(separator);
        text.push_str(reason);
    }
    text
}

/// A result that says only why there is none.
fn failed(error: &Error) -> Result<Document, Error> {
    let mut reply = Document::new(NodeNames::default());
    let empty = "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{}";
    reply.text(empty);
    reply.field(",\"Error\":", &error.text())?;
    reply.text("}");
    Ok(reply)
}

/// The names of the candidates, in the request's order; where whole nodes were sent, one per item.
pub(super) fn node_names<'a>(args: &'a Args<'a>) -> Result<Cow<'a, [Name<'a>]>, Error> {
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
pub(super) fn candidates<'a>(args: &'a Args<'a>, names: &'a [Name<'a>]) -> impl Iterator<Item = Candidate<'a>> {
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
    use std::sync::Arc;

    use nodesift_cache::{self as cache, Row, metadata};
    use nodesift_sandbox::fault::{Fault, FaultKind};

    /// The nodes n0, n1, n2, n3 in rows 0 to 3.
    fn node_names() -> NodeNames {
        let (mut writer, reader) = cache::new();
        for row in 0..4 {
            let node = serde_json::json!({"metadata": {"name": format!("n{row}")}});
            writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
        }
        writer.publish();
        reader.snapshot().node_names()
    }

    fn text(mut document: Document) -> String {
        let pieces = std::iter::from_fn(|| document.next_piece());
        String::from_utf8(pieces.collect::<Vec<_>>().concat()).unwrap()
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
        let names = super::node_names(&args).unwrap();
        let (unknown, known): (Vec<_>, Vec<_>) =
            candidates(&args, &names).partition(|candidate| candidate.name == "gone");
        text(reply(pod, &node_names(), args.form(), &known, &unknown).unwrap())
    }

    fn rejection(request: &str) -> String {
        let Go(args) = match codec::decode::<Go<Args<'_>>>(request.as_bytes()) {
            Ok(args) => args,
            Err(error) => return error.text(),
        };
        whole_pod(args.pod).map(drop).and_then(|()| super::node_names(&args).map(drop)).unwrap_err().text()
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
    fn long_reasons_are_counted_instead_of_repeated_for_each_node() {
        let reasons: Vec<String> = (0..32).map(|at| format!("{at:0>1000}")).collect();
        let text = reason(&reasons);
        assert!(text.len() <= limits::NODE_REASON_BYTES + 20 && text.ends_with(", and 31 more"), "{text}");
        assert_eq!(reason(&reasons[..1]), reasons[0]);
        assert_eq!(reason(&["a".into(), "b".into()]), "a, b");
        assert_eq!(reason(&["x".repeat(2000)]), "and 1 more");
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
        let text = text(failed(&Error::Overloaded).unwrap());
        assert!(
            text.starts_with(
                r#"{"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":"more requests"#
            ),
            "{text}"
        );
    }
}
