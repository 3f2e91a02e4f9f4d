//! Fields of `nodesift.v1` requests → pods and nodes as the engine takes them. Every field is checked, errors name the field.
//!
//! Not here: overlays, which are in [`overlay`](super::overlay), and minimum versions. Start at [`Selection::parse`].

use std::num::NonZero;
use std::sync::Arc;

use nodesift_proto::Object;
use nodesift_proto::v1::{self, pod};
use serde::de::DeserializeOwned;

use crate::admission::deadline::Deadline;
use crate::error::at_most;
use crate::{Error, limits};
use nodesift_cache::Snapshot;
use nodesift_cache::metadata::PodRecord;
use nodesift_engine::pending::Asker;
use nodesift_engine::{Depth, Engine, Nodes, Phase, PodRef, Query, Sample, ScoreRequest};
use nodesift_object::Pod;
use nodesift_object::decode::without_position;

/// Reason why a request is refused whose pod should use a node's resources and is terminated.
pub(super) const TERMINATED: &str = "has ended (phase Succeeded or Failed) and uses no resources: leave it out";

/// Reason why a request is refused that gives the version of a pod which is not evaluated.
const NOT_EVALUATED: &str = "takes effect for pods to evaluate only: leave it out";

/// The fields that `Filter` and `Explain` have in common.
#[derive(Debug)]
pub(super) struct Fields {
    /// Pods by UID, by name or whole.
    pub(super) pods: Vec<v1::Pod>,
    /// Every unbound pod of the snapshot instead of `pods`, page by page.
    pub(super) pending: bool,
    /// The most pods of one page; 0: as many as one request may have.
    pub(super) page_size: u32,
    /// The `next_page_token` of the page before; empty for the first page.
    pub(super) page_token: String,
    /// Number of a [`v1::Phase`].
    pub(super) phase: i32,
    /// Nodes to evaluate; `None` for all.
    pub(super) nodes: Option<v1::NodeSubset>,
    /// The number of feasible nodes that is enough; 0: all.
    pub(super) limit: u32,
    /// The row at which the search for `limit` nodes starts.
    pub(super) start: u32,
    /// Predicates that are not evaluated.
    pub(super) skip: Vec<String>,
    /// Whether the core negotiates with parties before it binds.
    pub(super) negotiates: bool,
    /// Scores of the nodes that fit.
    pub(super) scores: Option<v1::ScoreRequest>,
}

/// Pods and nodes of a request, ready to be evaluated on any snapshot.
#[derive(Debug)]
pub(super) struct Selection {
    query: Query,
    /// Where the pods are those that are pending at the time of the evaluation.
    pending: Option<Page>,
}

/// A page of the pending pods, which are sorted by namespace and name.
#[derive(Debug)]
struct Page {
    /// Number of pods on the page, at most.
    size: usize,
    /// Namespace and name of the last pod of the page before.
    after: Option<(String, String)>,
    /// The last pod of this page, where others follow; set by [`Selection::on`].
    next: Option<Arc<PodRecord>>,
}

impl Page {
    fn parse(pending: bool, size: u32, token: &str) -> Result<Option<Self>, Error> {
        if !pending {
            let set = if size > 0 { Some("page_size") } else { (!token.is_empty()).then_some("page_token") };
            let only = "takes effect with pending only: set pending, or leave it out";
            return set.map_or(Ok(None), |field| Err(Error::invalid(field, only)));
        }
        let after = match token.split_once('/') {
            Some((namespace, name)) => Some((namespace.to_owned(), name.to_owned())),
            None if token.is_empty() => None,
            None => return Err(Error::invalid("page_token", "is none: send next_page_token of the answer before")),
        };
        let most = limits::REQUEST_PODS;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Ok(Some(Self { size: if size == 0 { most } else { size.min(most) }, after, next: None }))
    }

    /// The pods of the page, so many that one request can have that many pairs with `rows` nodes.
    fn pods(&mut self, mut pending: Vec<Arc<PodRecord>>, rows: usize) -> Vec<PodRef> {
        let is_before = |pod: &Arc<PodRecord>| match &self.after {
            Some((namespace, name)) => (&*pod.namespace, &*pod.name) <= (namespace.as_str(), name.as_str()),
            None => false,
        };
        let mut pods = pending.split_off(pending.partition_point(is_before));
        let size = self.size.min(limits::REQUEST_PAIRS / rows.max(1)).max(1);
        self.next = if pods.len() > size { pods.get(size - 1).cloned() } else { None };
        pods.truncate(size);
        // As records and not by name: a pod that is deleted meanwhile is still answered for.
        pods.into_iter().map(PodRef::Known).collect()
    }
}

impl Selection {
    /// The number of pods; 0 where they are the pending ones.
    pub(super) fn pods(&self) -> usize {
        self.query.pods.len()
    }

    /// Checks the fields, and decodes and compiles pods that are given whole.
    ///
    /// # Errors
    ///
    /// Names the first field that is wrong or too large.
    pub(super) fn parse(fields: Fields, depth: Depth) -> Result<Self, Error> {
        let Fields { pods, pending, page_size, page_token, phase, nodes, limit, start, skip, negotiates, scores } =
            fields;
        let phase = self::phase(phase)?;
        if pending && !pods.is_empty() {
            return Err(Error::invalid("pending", "give either pods or pending, not both"));
        }
        let pending = Page::parse(pending, page_size, &page_token)?;
        at_most("pods", pods.len(), limits::REQUEST_PODS)?;
        at_most("skipped predicates", skip.len(), limits::REQUEST_SKIPPED)?;
        let pods = pods.into_iter().enumerate().map(|(at, pod)| evaluated_pod(&format!("pods[{at}]"), pod));
        let pods = pods.collect::<Result<Vec<_>, _>>()?;
        let nodes = match (nodes, sample(limit, start)?) {
            (Some(_), Some(_)) => return Err(Error::invalid("limit", "give either nodes or limit, not both")),
            (Some(subset), None) => Nodes::Named(subset.names),
            (None, Some(sample)) => Nodes::Enough(sample),
            (None, None) => Nodes::All,
        };
        let query = Query::new(pods).with_nodes(nodes).with_phase(phase).with_depth(depth).with_skip(skip);
        let scores = scores.map(score_request).transpose()?.flatten();
        Ok(Self { query: query.with_negotiated(negotiates).with_scores(scores), pending })
    }

    /// Has the answers about its pods noted as those to a core. Pages of pending pods are nothing that a core asks for.
    pub(super) fn asked_by(&mut self, asker: Asker) {
        self.query.asker = self.pending.is_none().then_some(asker);
    }

    /// Ends the evaluation at the deadline.
    pub(super) fn until(&mut self, deadline: Deadline) {
        self.query.deadline = Some(deadline.for_engine());
    }

    /// The engine's query for an answer on a snapshot. Lists a page of the pending pods where these are selected.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuch`] for more pods, or pods times nodes, than one request may hold; the pages of pending pods hold no more.
    pub(super) fn on(&mut self, engine: &Engine, snapshot: &Snapshot) -> Result<&Query, Error> {
        let rows = match &self.query.nodes {
            Nodes::All | Nodes::Enough(_) => snapshot.node_count(),
            Nodes::Named(names) => names.len(),
        };
        if let Some(page) = &mut self.pending {
            self.query.pods = page.pods(engine.pending_pods(), rows);
        }
        let pods = self.query.pods.len();
        at_most("pairs of pod and node", pods.saturating_mul(rows), limits::REQUEST_PAIRS)?;
        Ok(&self.query)
    }

    /// Where more pending pods follow those of the last query: the `page_token` of the request for them. Else empty.
    pub(super) fn next_page_token(&self) -> String {
        let next = self.pending.as_ref().and_then(|page| page.next.as_ref());
        next.map(|pod| format!("{}/{}", pod.namespace, pod.name)).unwrap_or_default()
    }
}

/// Bytes of memory that the lists of a decoded request take; whole objects in them are not counted, they take about what they
/// took on the wire.
pub(super) fn held_bytes(pods: &[v1::Pod], nodes: Option<&v1::NodeSubset>, overlay: Option<&v1::Overlay>) -> usize {
    let names = nodes.map_or(0, |nodes| nodes.names.len());
    let overlay =
        overlay.map_or(0, |overlay| overlay.removed_pods.len() + 2 * overlay.added_pods.len() + overlay.nodes.len());
    let items = pods.len().saturating_add(names).saturating_add(overlay);
    items.saturating_mul(limits::NAME_BYTES)
}

/// Bytes of memory that a JSON body takes at most while it is decoded: the body, and its items.
pub(crate) fn json_bytes(body: &[u8]) -> usize {
    let items = body.iter().filter(|byte| **byte == b',').count();
    body.len().saturating_add(items.saturating_mul(limits::JSON_ITEM_BYTES))
}

/// The detail of a `Filter` response; unspecified means failures with counts.
pub(super) fn detail(detail: i32) -> Result<v1::Detail, Error> {
    match v1::Detail::try_from(detail) {
        Ok(v1::Detail::Unspecified) => Ok(v1::Detail::Failures),
        Ok(detail) => Ok(detail),
        Err(unknown) => Err(Error::invalid("detail", unknown.to_string())),
    }
}

/// The sample of nodes that is enough; none where all nodes are evaluated.
fn sample(limit: u32, start: u32) -> Result<Option<Sample>, Error> {
    // Rows are u32, which a usize holds.
    let in_rows = |rows: u32| usize::try_from(rows).unwrap_or(usize::MAX);
    match NonZero::new(in_rows(limit)) {
        Some(limit) => Ok(Some(Sample::new(in_rows(start), limit))),
        None if start > 0 => {
            Err(Error::invalid("start", "takes effect with a limit only: set limit, or leave start out"))
        }
        None => Ok(None),
    }
}

/// The scores that are asked for; none where no node is wanted.
fn score_request(scores: v1::ScoreRequest) -> Result<Option<ScoreRequest>, Error> {
    let v1::ScoreRequest { top, seed, each } = scores;
    let top = usize::try_from(top).unwrap_or(usize::MAX);
    let request = ScoreRequest { top, seed, each };
    at_most("scored nodes of a pod", top, request.most_nodes())?;
    Ok((top > 0).then_some(request))
}

pub(super) fn phase(phase: i32) -> Result<Phase, Error> {
    match v1::Phase::try_from(phase) {
        Ok(v1::Phase::Unspecified | v1::Phase::Allocate) => Ok(Phase::Allocate),
        Ok(v1::Phase::Reserve) => Ok(Phase::Reserve),
        Err(unknown) => Err(Error::invalid("phase", unknown.to_string())),
    }
}

/// A pod to evaluate: by UID or by name, then perhaps in one version, or whole; `place` is the path of the field in errors.
pub fn evaluated_pod(place: &str, mut pod: v1::Pod) -> Result<PodRef, Error> {
    let resource_version = std::mem::take(&mut pod.resource_version);
    let pod = pod_ref(place, pod)?;
    match pod {
        pod if resource_version.is_empty() => Ok(pod),
        PodRef::Uid(_) | PodRef::Name { .. } => Ok(PodRef::Version { pod: Box::new(pod), resource_version }),
        _ => {
            Err(Error::invalid(format!("{place}.resource_version"), "takes effect with uid or name only: leave it out"))
        }
    }
}

/// A pod by UID, by name or whole; `place` is the path of the field in errors.
pub(super) fn pod_ref(place: &str, pod: v1::Pod) -> Result<PodRef, Error> {
    let field = |name: &str| format!("{place}.{name}");
    if !pod.resource_version.is_empty() {
        return Err(Error::invalid(field("resource_version"), NOT_EVALUATED));
    }
    match pod.pod {
        Some(pod::Pod::Uid(uid)) if uid.is_empty() => Err(Error::invalid(field("uid"), "is empty")),
        Some(pod::Pod::Uid(uid)) => Ok(PodRef::Uid(uid)),
        Some(pod::Pod::Name(name)) if name.name.is_empty() => Err(Error::invalid(field("name.name"), "is empty")),
        Some(pod::Pod::Name(name)) if name.namespace.is_empty() => Ok(named("default".to_owned(), name.name)),
        Some(pod::Pod::Name(name)) => Ok(named(name.namespace, name.name)),
        Some(pod::Pod::Json(text)) => {
            let pod: Pod = from_text(&field("json"), &text)?;
            Ok(PodRef::Whole(Box::new(pod)))
        }
        Some(pod::Pod::Object(object)) => {
            let pod: Pod = from_object(&field("object"), object)?;
            Ok(PodRef::Whole(Box::new(pod)))
        }
        None => Err(Error::invalid(place, "give one of uid, name, json, object")),
    }
}

/// Decodes an object from JSON text; `field` is the path of the field in errors.
pub(crate) fn from_text<T: DeserializeOwned>(field: &str, text: &str) -> Result<T, Error> {
    decode(field, text, ToString::to_string)
}

/// Decodes an object from a protobuf message by way of its JSON text, so that there is one decoder of objects. Its errors
/// leave out the position in that text, which the client has never seen.
pub(super) fn from_object<T: DeserializeOwned>(field: &str, object: Object) -> Result<T, Error> {
    decode(field, &object.into_json(), without_position)
}

/// Decodes an object; one that is malformed is decoded a second time to find the field. `describe` makes the error's text.
fn decode<T: DeserializeOwned>(
    field: &str,
    text: &str,
    describe: fn(&serde_json::Error) -> String,
) -> Result<T, Error> {
    if let Ok(object) = serde_json::from_str(text) {
        return Ok(object);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let object = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        // serde_path_to_error names the document itself ".".
        let field = if path == "." { field.to_owned() } else { format!("{field}.{path}") };
        Error::invalid(field, describe(error.inner()))
    })?;
    json.end().map_err(|error| Error::invalid(field, describe(&error)))?;
    Ok(object)
}

fn named(namespace: String, name: String) -> PodRef {
    PodRef::Name { namespace, name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pod_without_any_reference_names_its_field() {
        let error = pod_ref("pods[2]", v1::Pod::default()).unwrap_err();
        assert_eq!(error.text(), "pods[2]: give one of uid, name, json, object");
    }

    #[test]
    fn scores_of_no_node_are_none_and_those_of_too_many_are_refused() {
        for (each, most) in [(true, 1_000), (false, 16_384)] {
            let request = |top| score_request(v1::ScoreRequest { top, seed: Some(7), each });
            assert_eq!(request(0).unwrap(), None);
            assert_eq!(request(most).unwrap(), Some(ScoreRequest { top: most as usize, seed: Some(7), each }));
            assert!(matches!(request(most + 1), Err(Error::TooMuch { .. })));
        }
    }

    #[test]
    fn a_pod_named_without_a_namespace_is_in_default() {
        let name = v1::PodName { namespace: String::new(), name: "web".into() };
        let pod = pod_ref("pods[0]", v1::Pod::from(pod::Pod::Name(name))).unwrap();
        assert!(matches!(pod, PodRef::Name { namespace, name } if namespace == "default" && name == "web"));
    }

    #[test]
    fn a_malformed_whole_pod_names_field_and_position() {
        let pod = v1::Pod::from(pod::Pod::Json("[".into()));
        let text = pod_ref("pods[1]", pod).unwrap_err().text();
        assert!(text.starts_with("pods[1].json: ") && text.contains("line 1"), "{text}");
    }

    #[test]
    fn a_whole_object_is_decoded_as_its_text() {
        let read = |text: &str| {
            let object = Object::from_json(text).unwrap();
            pod_ref("pods[0]", v1::Pod::from(pod::Pod::Object(object)))
        };
        let pod = read(r#"{"metadata":{"name":"p"},"spec":{"priority":5.0}}"#).unwrap();
        assert!(matches!(pod, PodRef::Whole(pod) if pod.spec.priority == Some(5)));
        let error = read(r#"{"metadata":{"name":"p"},"spec":{},"spec":{}}"#).unwrap_err().text();
        assert!(error.contains("duplicate field") && !error.contains("line"), "{error}");
        let error = read(r#"{"metadata":{"name":"p"},"spec":{"priority":"high"}}"#).unwrap_err().text();
        assert!(error.starts_with("pods[0].object.spec.priority: "), "{error}");
    }

    #[test]
    fn unknown_enum_numbers_are_refused() {
        assert_eq!(phase(7).unwrap_err().status().0, tonic::Code::InvalidArgument);
        assert_eq!(detail(-1).unwrap_err().status().0, tonic::Code::InvalidArgument);
        assert_eq!(detail(0).unwrap(), v1::Detail::Failures);
    }
}
