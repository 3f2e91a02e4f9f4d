//! Whole objects as what-ifs edit them: from cluster files, from an API server, or from a sidecar. Start at [`Objects`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::anyhow;
use http::StatusCode;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::args::PodKey;
use crate::client::{self, Endpoint};
use crate::limits;
use nodesift_object::{Kind, Object};
use nodesift_source::files;
use nodesift_source::kube::Server as _;
use nodesift_source::kube::connection::Connection;
use nodesift_source::kube::kinds::Resource;

/// Nodes that are held for one edit at most, as an overlay holds.
const NODES: usize = 1_000;

/// Why an object is not to be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectsError {
    /// The source has no such object.
    #[error("{0} is not there")]
    Missing(String),
    /// The source cannot give it.
    #[error("{0}")]
    Unsupported(&'static str),
    /// More than an overlay holds.
    #[error("more than {NODES} nodes have such a taint, which is more than one question may change: use tolerate={0}")]
    TooMany(String),
    /// The source does not answer, or not with an object.
    #[error("{0:#}")]
    Read(anyhow::Error),
}

/// A source of whole objects.
pub(crate) trait Objects {
    /// A pod.
    ///
    /// # Errors
    ///
    /// If it is not there, or the source does not answer.
    fn pod(&mut self, key: &PodKey) -> Result<Value, ObjectsError>;
    /// A node.
    ///
    /// # Errors
    ///
    /// As [`Self::pod`].
    fn node(&mut self, name: &str) -> Result<Value, ObjectsError>;
    /// Returns the names among these that nodes have.
    ///
    /// # Errors
    ///
    /// If the source does not answer.
    fn nodes_named(&mut self, names: &BTreeSet<String>) -> Result<BTreeSet<String>, ObjectsError> {
        let mut known = BTreeSet::new();
        for name in names {
            match self.node(name) {
                Ok(_) => known.insert(name.clone()),
                Err(ObjectsError::Missing(_)) => false,
                Err(error) => return Err(error),
            };
        }
        Ok(known)
    }
    /// Nodes by name, without the names that no node has.
    ///
    /// # Errors
    ///
    /// If the source does not answer.
    fn nodes(&mut self, names: &BTreeSet<String>) -> Result<BTreeMap<String, Value>, ObjectsError> {
        let mut found = BTreeMap::new();
        for name in names {
            match self.node(name) {
                Ok(node) => drop(found.insert(name.clone(), node)),
                Err(ObjectsError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
    /// Nodes that have a taint with this key, by name.
    ///
    /// # Errors
    ///
    /// As [`Self::pod`]; also where there are too many.
    fn nodes_tainted(&mut self, key: &str) -> Result<BTreeMap<String, Value>, ObjectsError>;
}

/// Cluster files, read again for each object: none is held.
pub(crate) struct FileObjects(pub(crate) Vec<PathBuf>);

impl FileObjects {
    fn each(&self, take: &mut dyn FnMut(&Object, &str)) -> Result<(), ObjectsError> {
        if self.0.iter().any(|path| path.as_os_str() == "-") {
            return Err(ObjectsError::Unsupported("standard input cannot be read again: give the cluster as a file"));
        }
        if self.0.iter().any(|path| nodesift_file::is_pipe(path)) {
            return Err(ObjectsError::Unsupported("a pipe cannot be read again: give the cluster as a file"));
        }
        let read = files::read_texts(&self.0, &mut |object, text| take(&object, text));
        read.map(drop).map_err(|error| ObjectsError::Read(error.into()))
    }

    fn one(&self, kind: Kind, key: &str) -> Result<Value, ObjectsError> {
        let mut found = None;
        self.each(&mut |object, text| {
            if object.kind() == kind && object.key() == key {
                found = Some(text.to_owned());
            }
        })?;
        parsed(&found.ok_or_else(|| ObjectsError::Missing(format!("{kind} {key}")))?)
    }
}

impl Objects for FileObjects {
    fn pod(&mut self, key: &PodKey) -> Result<Value, ObjectsError> {
        self.one(Kind::Pod, &key.to_string())
    }

    fn node(&mut self, name: &str) -> Result<Value, ObjectsError> {
        self.one(Kind::Node, name)
    }

    /// In one pass over the files.
    fn nodes_named(&mut self, names: &BTreeSet<String>) -> Result<BTreeSet<String>, ObjectsError> {
        let mut known = BTreeSet::new();
        self.each(&mut |object, _| {
            if object.kind() == Kind::Node
                && let Some(name) = names.get(&*object.key())
            {
                known.insert(name.clone());
            }
        })?;
        Ok(known)
    }

    /// In one pass over the files.
    fn nodes(&mut self, names: &BTreeSet<String>) -> Result<BTreeMap<String, Value>, ObjectsError> {
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        self.each(&mut |object, text| {
            if object.kind() == Kind::Node
                && let Some(name) = names.get(&*object.key())
            {
                texts.insert(name.clone(), text.to_owned());
            }
        })?;
        texts.into_iter().map(|(name, text)| Ok((name, parsed(&text)?))).collect()
    }

    fn nodes_tainted(&mut self, key: &str) -> Result<BTreeMap<String, Value>, ObjectsError> {
        let mut tainted = Tainted::new(key);
        self.each(&mut |object, text| {
            if object.kind() == Kind::Node
                && let Ok(node) = parsed(text)
            {
                tainted.add(node);
            }
        })?;
        tainted.finish()
    }
}

/// An API server, asked for each object.
pub(crate) struct KubeObjects {
    runtime: Runtime,
    connection: Connection,
}

impl KubeObjects {
    /// Objects behind a connection that was opened on this runtime.
    pub(crate) fn new(runtime: Runtime, connection: Connection) -> Self {
        Self { runtime, connection }
    }

    /// The object with this key. It is listed, as everything is that is read: another right is not needed.
    fn one(&self, kind: Kind, key: &str) -> Result<Value, ObjectsError> {
        let mut page = self.page(&Resource::from(kind).named_uri(0, key))?;
        let is_it = |object: &Value| {
            let [namespace, name] = ["namespace", "name"].map(|field| object["metadata"][field].as_str());
            match (namespace, name) {
                (Some(namespace), Some(name)) if kind.info().namespaced => {
                    key.split_once('/') == Some((namespace, name))
                }
                (_, name) => name == Some(key),
            }
        };
        items(&mut page).into_iter().find(is_it).ok_or_else(|| ObjectsError::Missing(format!("{kind} {key}")))
    }

    fn page(&self, uri: &str) -> Result<Value, ObjectsError> {
        let page = self.runtime.block_on(self.connection.server.list_page(uri));
        let page =
            page.map_err(|failure| ObjectsError::Read(anyhow!(failure).context(self.connection.address.clone())))?;
        parsed(&String::from_utf8_lossy(&page))
    }
}

impl Objects for KubeObjects {
    fn pod(&mut self, key: &PodKey) -> Result<Value, ObjectsError> {
        self.one(Kind::Pod, &key.to_string())
    }

    fn node(&mut self, name: &str) -> Result<Value, ObjectsError> {
        self.one(Kind::Node, name)
    }

    fn nodes_tainted(&mut self, key: &str) -> Result<BTreeMap<String, Value>, ObjectsError> {
        let (resource, mut tainted, mut next) = (Resource::from(Kind::Node), Tainted::new(key), None::<String>);
        loop {
            let mut page = self.page(&resource.list_uri(0, next.as_deref()))?;
            items(&mut page).into_iter().for_each(|node| tainted.add(node));
            let token = page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
            // A page that is followed by itself would never end.
            if token.is_none() || token == next {
                return tainted.finish();
            }
            next = token;
        }
    }
}

/// Takes the objects out of a page of a list.
fn items(page: &mut Value) -> Vec<Value> {
    page.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default()
}

/// A sidecar, asked for each object.
pub(crate) struct SidecarObjects(pub(crate) Endpoint);

impl SidecarObjects {
    fn get(&self, what: &str, path: &str, is_node: bool) -> Result<Value, ObjectsError> {
        let answer = client::get(&self.0, path, limits::CLIENT_CONNECT, limits::CLIENT_OBJECT_BYTES);
        match answer.map_err(ObjectsError::Read)? {
            (StatusCode::OK, text) => parsed(&text),
            (StatusCode::NOT_FOUND, text) if is_node && is_missing(&text) => {
                Err(ObjectsError::Missing(what.to_owned()))
            }
            // It may be there, and its object not be kept: the answer says so.
            (code, text) => Err(ObjectsError::Read(anyhow!("{what}: {}: {}", code.as_u16(), text.trim()))),
        }
    }
}

/// Whether an answer says that there is no such object. A sidecar that does not know the path answers with another code.
fn is_missing(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|answer| answer["error"]["code"] == "NOT_FOUND")
}

impl Objects for SidecarObjects {
    fn pod(&mut self, key: &PodKey) -> Result<Value, ObjectsError> {
        let (namespace, name) = (encoded(&key.namespace), encoded(&key.name));
        self.get(&format!("Pod {key}"), &format!("/v1/pods/{namespace}/{name}"), false)
    }

    fn node(&mut self, name: &str) -> Result<Value, ObjectsError> {
        self.get(&format!("Node {name}"), &format!("/v1/nodes/{}/object", encoded(name)), true)
    }

    fn nodes_tainted(&mut self, _: &str) -> Result<BTreeMap<String, Value>, ObjectsError> {
        Err(ObjectsError::Unsupported(
            "a sidecar gives nodes by name only: use tolerate=KEY, or --kube for one list of the cluster",
        ))
    }
}

/// Nodes with a taint, as far as a question may change them.
struct Tainted<'a> {
    key: &'a str,
    nodes: BTreeMap<String, Value>,
    is_full: bool,
}

impl<'a> Tainted<'a> {
    fn new(key: &'a str) -> Self {
        Self { key, nodes: BTreeMap::new(), is_full: false }
    }

    fn add(&mut self, node: Value) {
        let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
        let has = taints.any(|taint| taint["key"].as_str() == Some(self.key));
        let Some(name) = node["metadata"]["name"].as_str().filter(|_| has).map(str::to_owned) else { return };
        if self.nodes.len() < NODES {
            self.nodes.insert(name, node);
        } else {
            self.is_full = true;
        }
    }

    fn finish(self) -> Result<BTreeMap<String, Value>, ObjectsError> {
        if self.is_full { Err(ObjectsError::TooMany(self.key.to_owned())) } else { Ok(self.nodes) }
    }
}

fn parsed(text: &str) -> Result<Value, ObjectsError> {
    serde_json::from_str(text).map_err(|error| ObjectsError::Read(anyhow!(error).context("not an object in JSON")))
}

/// A name in a path. Names of objects have no other characters; what is typed may.
pub(crate) fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_pipe_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("cluster.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // Nobody writes it: whoever opened it would wait.
        let refused = FileObjects(vec![pipe]).node("n").unwrap_err();
        assert!(matches!(refused, ObjectsError::Unsupported(text) if text.starts_with("a pipe cannot be read again")));
    }

    #[test]
    fn a_node_that_is_not_there_is_told_from_a_path_that_is_not() {
        assert!(is_missing(r#"{"error":{"code":"NOT_FOUND","message":"node \"n\" is not in the cache"}}"#));
        assert!(!is_missing(
            r#"{"error":{"code":"UNIMPLEMENTED","message":"there is nothing at /v1/nodes/n/object"}}"#
        ));
        assert!(!is_missing("NOT_FOUND"));
    }
}
