//! GET /v1/state: what the cache holds, named as in YuniKorn's REST API where that has a name for it.
//!
//! The cache's lock is held only while references are collected; the text is made afterwards and sent as it is made, so
//! that a cluster of any size is never in memory as text. Resources at zero are left out.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use tokio::sync::mpsc;

use super::json::JSON;
use super::request::invalid;
use super::service::Service;
use super::{Error, response};
use crate::limits;
use nodesift_cache::metadata::requests::PODS;
use nodesift_cache::metadata::{Amounts, Labels, Ownership, PodRecord};
use nodesift_cache::{self as cache, Row, Snapshot};
use nodesift_engine as engine;

/// Dumps the state.
pub(super) async fn state(State(service): State<Service>, RawQuery(query): RawQuery) -> Result<Response, Error> {
    service.readiness().check()?;
    let place = service.dump_permit()?;
    let node = query.as_deref().map(asked_node).transpose()?;
    let (version, dump) = service
        .write(move |service| {
            let state = match &node {
                None => service.writer().lock().state(),
                Some(name) => {
                    let state = service.writer().lock().state_of(name);
                    state.ok_or_else(|| engine::Error::UnknownNode { node: name.clone() })?
                }
            };
            let policy = service.engine().policy().generation;
            let version = response::version(&state.snapshot, policy, service.staleness().age());
            Ok((version, Dump::new(state, node.as_deref())))
        })
        .await?;
    let (sender, receiver) = mpsc::channel(limits::STATE_CHUNKS);
    tokio::task::spawn_blocking(move || {
        let _held_while_working = place;
        let mut chunks = Chunks { buffer: Vec::with_capacity(limits::STREAM_CHUNK), sender };
        let written = serde_json::to_writer(&mut chunks, &Document { version: &version, dump: &dump });
        if let Err(error) = written.map_err(io::Error::from).and_then(|()| chunks.end()) {
            tracing::debug!(%error, "a dump of the state was not read to its end");
        }
    });
    let chunks = stream::unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Chunk::Text(text)) => Some((Ok(text), Some(receiver))),
            Some(Chunk::End) => None,
            None => Some((Err(io::Error::other("the dump ended early")), None)),
        }
    });
    Ok(([(header::CONTENT_TYPE, JSON)], Body::from_stream(chunks)).into_response())
}

/// The node that a query asks for. Names of nodes have nothing in them that a URL would escape.
fn asked_node(query: &str) -> Result<String, Error> {
    match query.split_once('=') {
        Some(("node", name)) if !name.contains('&') => Ok(name.to_owned()),
        _ => Err(invalid("query", "only ?node=NAME is known")),
    }
}

/// A part of the text.
enum Chunk {
    Text(Bytes),
    /// Without it the text is not whole.
    End,
}

/// Sends what is written to it in chunks; waits while the reader has enough of them.
struct Chunks {
    buffer: Vec<u8>,
    sender: mpsc::Sender<Chunk>,
}

impl Chunks {
    fn end(mut self) -> io::Result<()> {
        self.flush()?;
        self.send(Chunk::End)
    }

    fn send(&self, chunk: Chunk) -> io::Result<()> {
        self.sender.blocking_send(chunk).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= limits::STREAM_CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::replace(&mut self.buffer, Vec::with_capacity(limits::STREAM_CHUNK));
        if text.is_empty() { Ok(()) } else { self.send(Chunk::Text(text.into())) }
    }
}

/// What is dumped, sorted.
struct Dump {
    state: cache::State,
    /// Rows by name, each with its pods.
    nodes: Vec<(Row, Vec<Arc<PodRecord>>)>,
    pending: Vec<Arc<PodRecord>>,
    orphans: Vec<Arc<PodRecord>>,
}

impl Dump {
    fn new(mut state: cache::State, node: Option<&str>) -> Self {
        let mut pods = std::mem::take(&mut state.pods);
        pods.sort_unstable_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        let snapshot = &state.snapshot;
        let (mut pending, mut orphans) = (Vec::new(), Vec::new());
        let mut by_row: Vec<Vec<Arc<PodRecord>>> = vec![Vec::new(); snapshot.node_count()];
        for pod in pods {
            let row = pod.node_name.as_ref().map(|node| snapshot.node_row(node));
            let place = match row {
                None => Some(&mut pending),
                Some(None) => Some(&mut orphans),
                Some(Some(row)) => by_row.get_mut(row.index()),
            };
            place.into_iter().for_each(|place| place.push(Arc::clone(&pod)));
        }
        let asked: Arc<[Row]> = match node {
            None => snapshot.rows_by_name(),
            Some(name) => snapshot.node_row(name).into_iter().collect(),
        };
        let of_row = |row: &Row| (*row, by_row.get_mut(row.index()).map(std::mem::take).unwrap_or_default());
        let nodes = asked.iter().map(of_row).collect();
        Self { state, nodes, pending, orphans }
    }

    fn is_assumed(&self, pod: &PodRecord) -> bool {
        self.state.assumed.contains_key(&pod.uid)
    }
}

/// The whole document.
#[derive(Serialize)]
struct Document<'a> {
    version: &'a nodesift_proto::v1::Version,
    #[serde(flatten)]
    dump: &'a Dump,
}

impl Serialize for Dump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("nodes", &Each(|| self.nodes.iter().map(|(row, pods)| self.node(*row, pods))))?;
        let nominated = || self.pending.iter().filter(|pod| pod.nominated_node.is_some());
        map.serialize_entry("pending", &Each(|| self.pending.iter().map(|pod| Waiting::of(pod))))?;
        map.serialize_entry("nominated", &Each(|| nominated().map(|pod| Waiting::of(pod))))?;
        let orphan = |pod| Allocation::of(pod, self.is_assumed(pod));
        map.serialize_entry("orphans", &Each(|| self.orphans.iter().map(|pod| orphan(pod))))?;
        map.end()
    }
}

impl Dump {
    fn node<'a>(&'a self, row: Row, pods: &'a [Arc<PodRecord>]) -> Node<'a> {
        let snapshot = &*self.state.snapshot;
        let count = |column: &cache::Column<i64>| column.get(row).copied().unwrap_or(0);
        let of = |foreign: bool| {
            let pods = pods.iter().filter(move |pod| pod.ownership.is_foreign() == foreign);
            pods.map(|pod| Allocation::of(pod, self.is_assumed(pod))).collect()
        };
        let sums = sums(snapshot, row, pods);
        let amounts = |of: fn(&Sums) -> i64| {
            let amounts = sums.iter().map(|(name, sums)| (*name, of(sums)));
            amounts.filter(|(_, amount)| *amount != 0).collect::<BTreeMap<&str, i64>>()
        };
        let mut allocatable = amounts(|sums| sums.allocatable);
        let pod_limit = count(snapshot.pod_limit());
        if pod_limit != 0 {
            allocatable.insert(PODS, pod_limit);
        }
        Node {
            node_id: snapshot.node_name(row),
            attributes: Texts(snapshot.labels().get(row)),
            schedulable: count_flag(snapshot.unschedulable(), row) == 0,
            capacity: snapshot.capacity(row).map(|amounts| Resources(amounts)),
            allocatable,
            requested: amounts(|sums| sums.allocatable.wrapping_sub(sums.free)),
            foreign: amounts(|sums| sums.foreign),
            allocated: amounts(|sums| sums.allocatable.wrapping_sub(sums.free).wrapping_sub(sums.foreign)),
            occupied: amounts(|sums| sums.foreign),
            available: amounts(|sums| sums.free),
            pod_count: count(snapshot.pods()),
            foreign_pod_count: count(snapshot.foreign_pods()),
            allocations: of(false),
            foreign_allocations: of(true),
        }
    }
}

fn count_flag(column: &cache::Column<u8>, row: Row) -> u8 {
    column.get(row).copied().unwrap_or(0)
}

/// One resource of one node.
#[derive(Default)]
struct Sums {
    allocatable: i64,
    free: i64,
    foreign: i64,
}

fn sums<'a>(snapshot: &'a Snapshot, row: Row, pods: &'a [Arc<PodRecord>]) -> BTreeMap<&'a str, Sums> {
    let at = |column: &cache::Column<i64>| column.get(row).copied().unwrap_or(0);
    let named = snapshot.resource_names().filter_map(|name| Some((name, snapshot.resource(name)?)));
    let mut sums: BTreeMap<&str, Sums> = named
        .map(|(name, resource)| {
            let (allocatable, free) = (at(&resource.allocatable), at(&resource.free));
            (&**name, Sums { allocatable, free, foreign: at(&resource.foreign) })
        })
        .collect();
    // What no node lists has no columns.
    for pod in pods {
        for (name, amount) in pod.facts.usage.iter().filter(|(name, _)| !snapshot.is_advertised(name)) {
            let sums = sums.entry(name).or_default();
            sums.free = sums.free.wrapping_sub(*amount);
            sums.foreign = sums.foreign.wrapping_add(if pod.ownership.is_foreign() { *amount } else { 0 });
        }
    }
    sums
}

/// One node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    #[serde(rename = "nodeID")]
    node_id: &'a str,
    /// Its labels.
    attributes: Texts<'a>,
    schedulable: bool,
    capacity: Option<Resources<'a>>,
    allocatable: BTreeMap<&'a str, i64>,
    /// What all pods take together.
    requested: BTreeMap<&'a str, i64>,
    /// What pods of other schedulers take of that; YuniKorn says `occupied`.
    foreign: BTreeMap<&'a str, i64>,
    /// What our own pods take.
    allocated: BTreeMap<&'a str, i64>,
    occupied: BTreeMap<&'a str, i64>,
    /// What is left.
    available: BTreeMap<&'a str, i64>,
    pod_count: i64,
    foreign_pod_count: i64,
    allocations: Vec<Allocation<'a>>,
    foreign_allocations: Vec<Allocation<'a>>,
}

/// A pod on a node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Allocation<'a> {
    allocation_key: &'a str,
    namespace: &'a str,
    name: &'a str,
    #[serde(rename = "nodeID")]
    node_id: &'a str,
    resource: Resources<'a>,
    priority: String,
    /// Whether a core has said so, and the watch has not.
    assumed: bool,
    /// Whether the pod is being deleted.
    terminating: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation_tags: Option<ForeignTag>,
    /// Only of foreign pods: whether the scheduler that placed it might take it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    preemptable: Option<bool>,
}

/// Whose pod it is, by YuniKorn's tag.
#[derive(Debug, Serialize)]
struct ForeignTag {
    foreign: &'static str,
}

impl<'a> Allocation<'a> {
    /// What is told of a pod on a node.
    pub(super) fn of(pod: &'a PodRecord, assumed: bool) -> Self {
        let foreign = match pod.ownership {
            Ownership::Own => None,
            Ownership::Foreign => Some("default"),
            Ownership::ForeignStatic => Some("static"),
        };
        Self {
            allocation_key: &pod.uid,
            namespace: &pod.namespace,
            name: &pod.name,
            node_id: pod.node_name.as_deref().unwrap_or_default(),
            resource: Resources(&pod.facts.usage),
            priority: pod.priority.to_string(),
            assumed,
            terminating: pod.terminating,
            allocation_tags: foreign.map(|foreign| ForeignTag { foreign }),
            preemptable: foreign.map(|_| pod.ownership == Ownership::Foreign),
        }
    }
}

/// A pod on no node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Waiting<'a> {
    allocation_key: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// What it asks for.
    resource: Resources<'a>,
    priority: String,
    /// The node where room is being made for it.
    #[serde(rename = "nominatedNodeID", skip_serializing_if = "Option::is_none")]
    nominated_node_id: Option<&'a str>,
}

impl<'a> Waiting<'a> {
    fn of(pod: &'a PodRecord) -> Self {
        Self {
            allocation_key: &pod.uid,
            namespace: &pod.namespace,
            name: &pod.name,
            resource: Resources(&pod.facts.requests),
            priority: pod.priority.to_string(),
            nominated_node_id: pod.nominated_node.as_deref(),
        }
    }
}

/// Amounts as an object.
#[derive(Debug)]
struct Resources<'a>(&'a Amounts);

impl Serialize for Resources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(_, amount)| *amount != 0).map(|(name, amount)| (&**name, amount)))
    }
}

/// Labels as an object.
struct Texts<'a>(Option<&'a Labels>);

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.into_iter().flat_map(|labels| labels.iter()).map(|(key, value)| (&**key, &**value)))
    }
}

/// A list that is made while it is written.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
