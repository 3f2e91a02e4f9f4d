//! `nodesift.v1` messages → [`Query`]: every field checked, errors name the field.
//!
//! Start at [`Asked::into_query`].

use std::num::NonZero;

use nodesift_proto::Object;
use nodesift_proto::v1::{self, pod};
use serde::de::DeserializeOwned;

use super::Error;
use crate::limits;
use nodesift_cache::Snapshot;
use nodesift_engine::{Depth, Engine, Nodes, Phase, PodRef, Query, Sample};
use nodesift_object::Pod;
use nodesift_object::decode::without_position;

/// What `Filter` and `Explain` have in common.
#[derive(Debug)]
pub struct Asked {
    /// Pods by UID, by name or whole.
    pub pods: Vec<v1::Pod>,
    /// Every unbound pod of the snapshot instead of `pods`.
    pub pending: bool,
    /// A [`v1::Phase`].
    pub phase: i32,
    /// Absent: all nodes.
    pub nodes: Option<v1::NodeSubset>,
    /// How many nodes are enough; 0: all.
    pub limit: u32,
    /// The row to begin at; only with a limit.
    pub start: u32,
    /// How much is evaluated.
    pub depth: Depth,
}

impl Asked {
    /// The question, for an answer on the given snapshot. Refuses what one request may not ask for.
    pub fn into_query(self, engine: &Engine, snapshot: &Snapshot) -> Result<Query, Error> {
        let phase = phase(self.phase)?;
        let pods: Vec<PodRef> = if self.pending {
            if !self.pods.is_empty() {
                return Err(invalid("pending", "give either pods or pending, not both"));
            }
            // By what was found and not by name: a pod that goes away meanwhile must not fail the question about all others.
            engine.pending_pods().into_iter().map(PodRef::Known).collect()
        } else {
            at_most("pods", self.pods.len(), limits::REQUEST_PODS)?;
            let place = |at: usize| format!("pods[{at}]");
            self.pods.into_iter().enumerate().map(|(at, pod)| pod_ref(&place(at), pod)).collect::<Result<_, _>>()?
        };
        let nodes = match (self.nodes, enough(self.limit, self.start)?) {
            (Some(_), Some(_)) => return Err(invalid("limit", "give either nodes or limit, not both")),
            (Some(subset), None) => Nodes::Named(subset.names),
            (None, Some(sample)) => Nodes::Enough(sample),
            (None, None) => Nodes::All,
        };
        at_most("pods", pods.len(), limits::REQUEST_PODS)?;
        let rows = match &nodes {
            Nodes::All | Nodes::Enough(_) => snapshot.node_count(),
            Nodes::Named(names) => names.len(),
        };
        at_most("pairs of pod and node", pods.len().saturating_mul(rows), limits::REQUEST_PAIRS)?;
        Ok(Query { pods, nodes, phase, depth: self.depth })
    }
}

/// How much an answer of `Filter` says; unspecified means failures with counts.
pub fn detail(detail: i32) -> Result<v1::Detail, Error> {
    match v1::Detail::try_from(detail) {
        Ok(v1::Detail::Unspecified) => Ok(v1::Detail::Failures),
        Ok(detail) => Ok(detail),
        Err(unknown) => Err(invalid("detail", &unknown.to_string())),
    }
}

/// How many nodes are enough, and where to begin; none where all are asked about.
fn enough(limit: u32, start: u32) -> Result<Option<Sample>, Error> {
    // Rows are u32, and a usize holds those.
    let in_rows = |rows: u32| usize::try_from(rows).unwrap_or(usize::MAX);
    match NonZero::new(in_rows(limit)) {
        Some(limit) => Ok(Some(Sample::new(in_rows(start), limit))),
        None if start > 0 => Err(invalid("start", "goes with a limit only")),
        None => Ok(None),
    }
}

fn phase(phase: i32) -> Result<Phase, Error> {
    match v1::Phase::try_from(phase) {
        Ok(v1::Phase::Unspecified | v1::Phase::Allocate) => Ok(Phase::Allocate),
        Ok(v1::Phase::Reserve) => Ok(Phase::Reserve),
        Err(unknown) => Err(invalid("phase", &unknown.to_string())),
    }
}

/// Which pod is meant; `place` names the field in errors.
pub(super) fn pod_ref(place: &str, pod: v1::Pod) -> Result<PodRef, Error> {
    let field = |name: &str| format!("{place}.{name}");
    match pod.pod {
        Some(pod::Pod::Uid(uid)) if uid.is_empty() => Err(invalid(&field("uid"), "is empty")),
        Some(pod::Pod::Uid(uid)) => Ok(PodRef::Uid(uid)),
        Some(pod::Pod::Name(name)) if name.name.is_empty() => Err(invalid(&field("name.name"), "is empty")),
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
        None => Err(invalid(place, "give one of uid, name, json, object")),
    }
}

/// A whole object as JSON text.
pub(super) fn from_text<T: DeserializeOwned>(field: &str, text: &str) -> Result<T, Error> {
    read(field, text, ToString::to_string)
}

/// A whole object as a message, which is read as the text that it stands for: one way to read an object is enough. A
/// position in that text would tell its sender nothing.
pub(super) fn from_object<T: DeserializeOwned>(field: &str, object: Object) -> Result<T, Error> {
    read(field, &object.into_json(), without_position)
}

/// Reads an object. One that is wrong is read once more to find the field; `words` words the error.
fn read<T: DeserializeOwned>(field: &str, text: &str, words: fn(&serde_json::Error) -> String) -> Result<T, Error> {
    if let Ok(object) = serde_json::from_str(text) {
        return Ok(object);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let object = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        // serde_path_to_error calls the document itself ".".
        let field = if path == "." { field.to_owned() } else { format!("{field}.{path}") };
        invalid(&field, &words(error.inner()))
    })?;
    json.end().map_err(|error| invalid(field, &words(&error)))?;
    Ok(object)
}

fn named(namespace: String, name: String) -> PodRef {
    PodRef::Name { namespace, name }
}

pub(super) fn invalid(field: &str, reason: &str) -> Error {
    Error::InvalidField { field: field.to_owned(), reason: reason.to_owned() }
}

pub(super) fn at_most(what: &'static str, asked: usize, limit: usize) -> Result<(), Error> {
    if asked > limit { Err(Error::TooMuch { what, asked, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pod_without_any_reference_names_its_place() {
        let error = pod_ref("pods[2]", v1::Pod { pod: None }).unwrap_err();
        assert_eq!(error.text(), "pods[2]: give one of uid, name, json, object");
    }

    #[test]
    fn a_pod_named_without_a_namespace_is_in_default() {
        let name = v1::PodName { namespace: String::new(), name: "web".into() };
        let pod = pod_ref("pods[0]", v1::Pod { pod: Some(pod::Pod::Name(name)) }).unwrap();
        assert!(matches!(pod, PodRef::Name { namespace, name } if namespace == "default" && name == "web"));
    }

    #[test]
    fn a_broken_whole_pod_names_field_and_place() {
        let pod = v1::Pod { pod: Some(pod::Pod::Json("[".into())) };
        let text = pod_ref("pods[1]", pod).unwrap_err().text();
        assert!(text.starts_with("pods[1].json: ") && text.contains("line 1"), "{text}");
    }

    #[test]
    fn a_whole_object_is_read_as_its_text() {
        let read = |text: &str| {
            let object = Object::from_json(text).unwrap();
            pod_ref("pods[0]", v1::Pod { pod: Some(pod::Pod::Object(object)) })
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
