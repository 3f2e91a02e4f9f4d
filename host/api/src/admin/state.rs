//! GET /v1/state: nodes, allocations, devices and pending pods as the cache has them, in the names of YuniKorn's REST API; and which pods
//! predicates are not called about for now.
//!
//! The cache's lock is held only while references are collected. The document is encoded afterwards and sent in chunks, so
//! memory does not grow with the cluster. Resources of amount zero are left out. Start at [`state`].

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use tokio::sync::mpsc;

use super::breaker::{SetAsideBy, Throttled};
use super::devices::{DeviceCounts, PoolCounts};
use super::partition::{Partition, named_sums};
use crate::admission::scope::RequestScope;
use crate::calls::response;
use crate::protocols::json::JSON;
use crate::{Error, Service, limits};
use nodesift_cache::metadata::requests::PODS;
use nodesift_cache::metadata::{Amounts, Labels, Ownership, PodRecord};
use nodesift_cache::{self as cache, Row, Snapshot};
use nodesift_engine as engine;

/// Answers GET /v1/state, and GET /v1/state?node=NAME.
pub(crate) async fn state(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    service.readiness().check()?;
    let permit = service.dump_permit(scope.class)?;
    let node = query.as_deref().map(queried_node).transpose()?;
    let (version, dump) = service
        .read_locked(move |service| {
            let state = match &node {
                None => service.writer().lock().state(),
                Some(name) => {
                    let state = service.writer().lock().state_of(name);
                    state.ok_or_else(|| engine::Error::UnknownNode { node: name.clone() })?
                }
            };
            let policy = service.engine().policy();
            let version = response::version(&state.snapshot, policy.generation, service.staleness().age());
            // Nothing is known of devices where no predicate reads them.
            let has_devices = policy.selectors.is_some();
            let set_aside = node.is_none().then(|| SetAsideBy::all(&policy));
            let throttled = node.is_none().then(|| Throttled::all(&policy));
            Ok((version, Dump { set_aside, throttled, ..Dump::new(state, node.as_deref(), has_devices) }))
        })
        .await?;
    let (sender, receiver) = mpsc::channel(limits::STATE_CHUNKS);
    service.background().spawn_blocking(move || {
        let _held_while_working = permit;
        let mut chunks = Chunks { buffer: Vec::with_capacity(limits::STREAM_CHUNK), sender };
        let written = serde_json::to_writer(&mut chunks, &Document { version: &version, dump: &dump });
        if let Err(error) = written.map_err(io::Error::from).and_then(|()| chunks.end()) {
            tracing::debug!(%error, "the reader has left a state dump before its end");
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

/// The node of a query string. Names of nodes need no escapes in a URL.
fn queried_node(query: &str) -> Result<String, Error> {
    match query.split_once('=') {
        Some(("node", name)) if !name.contains('&') => Ok(name.to_owned()),
        _ => Err(Error::invalid("query", "only ?node=NAME is known")),
    }
}

/// A part of the document.
enum Chunk {
    Text(Bytes),
    /// Its absence means that the document is truncated.
    End,
}

/// Sends in chunks what is written to it, at the pace of the reader (backpressure).
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

/// The content of a dump, sorted by name.
struct Dump {
    state: cache::State,
    /// Rows by name, each with its pods.
    nodes: Vec<(Row, Vec<Arc<PodRecord>>)>,
    pending: Vec<Arc<PodRecord>>,
    orphans: Vec<Arc<PodRecord>>,
    /// Whether it has all nodes.
    is_whole: bool,
    has_devices: bool,
    /// Pods that predicates are not called about for now; none where only one node is asked for.
    set_aside: Option<Vec<SetAsideBy>>,
    /// Namespaces that are throttled, likewise.
    throttled: Option<Vec<Throttled>>,
}

impl Dump {
    fn new(mut state: cache::State, node: Option<&str>, has_devices: bool) -> Self {
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
        let rows: Arc<[Row]> = match node {
            None => snapshot.rows_by_name(),
            Some(name) => snapshot.node_row(name).into_iter().collect(),
        };
        let of_row = |row: &Row| (*row, by_row.get_mut(row.index()).map(std::mem::take).unwrap_or_default());
        let nodes = rows.iter().map(of_row).collect();
        Self { state, nodes, pending, orphans, is_whole: node.is_none(), has_devices, set_aside: None, throttled: None }
    }

    fn is_assumed(&self, pod: &PodRecord) -> bool {
        self.state.assumed.contains_key(&pod.uid)
    }
}

/// Document of `GET /v1/state`.
#[derive(Serialize)]
struct Document<'a> {
    version: &'a nodesift_proto::v1::Version,
    #[serde(flatten)]
    dump: &'a Dump,
}

impl Serialize for Dump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.is_whole {
            map.serialize_entry("partitions", &[Partition::new(&self.state.snapshot, &self.nodes)])?;
        }
        let devices = self.has_devices.then(|| DeviceCounts::new(&self.state.snapshot));
        let devices = devices.as_ref();
        map.serialize_entry("nodes", &Lazy(|| self.nodes.iter().map(|(row, pods)| self.node(*row, pods, devices))))?;
        match devices {
            Some(devices) if self.is_whole => map.serialize_entry("clusterDevices", &Lazy(|| devices.wide()))?,
            Some(devices) => {
                let of_node = || self.nodes.iter().flat_map(|(row, _)| devices.wide_of(*row));
                map.serialize_entry("clusterDevices", &Lazy(of_node))?;
            }
            None => {}
        }
        let nominated = || self.pending.iter().filter(|pod| pod.nominated_node.is_some());
        map.serialize_entry("pending", &Lazy(|| self.pending.iter().map(|pod| PendingPod::new(pod))))?;
        map.serialize_entry("nominated", &Lazy(|| nominated().map(|pod| PendingPod::new(pod))))?;
        let orphan = |pod| Allocation::new(pod, self.is_assumed(pod));
        map.serialize_entry("orphans", &Lazy(|| self.orphans.iter().map(|pod| orphan(pod))))?;
        if let Some(set_aside) = &self.set_aside {
            map.serialize_entry("setAside", set_aside)?;
        }
        if let Some(throttled) = &self.throttled {
            map.serialize_entry("throttled", throttled)?;
        }
        map.end()
    }
}

impl Dump {
    fn node<'a>(&'a self, row: Row, pods: &'a [Arc<PodRecord>], devices: Option<&'a DeviceCounts<'a>>) -> Node<'a> {
        let snapshot = &*self.state.snapshot;
        let count = |column: &cache::Column<i64>| column.get(row).copied().unwrap_or(0);
        let of = |foreign: bool| {
            let pods = pods.iter().filter(move |pod| pod.ownership.is_foreign() == foreign);
            pods.map(|pod| Allocation::new(pod, self.is_assumed(pod))).collect()
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
        let (devices, devices_error) = match devices.map(|devices| devices.own(row)) {
            None => (None, None),
            Some(Ok(pools)) => (Some(pools), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        Node {
            node_id: snapshot.node_name(row),
            attributes: LabelMap(snapshot.labels().get(row)),
            schedulable: count_flag(snapshot.unschedulable(), row) == 0,
            capacity: snapshot.capacity(row).map(|amounts| Resources(amounts)),
            allocatable,
            requested: amounts(|sums| sums.allocatable.wrapping_sub(sums.free)),
            foreign: amounts(|sums| sums.foreign),
            allocated: amounts(|sums| sums.allocatable.wrapping_sub(sums.free).wrapping_sub(sums.foreign)),
            occupied: amounts(|sums| sums.foreign),
            available: amounts(|sums| sums.free),
            sums: named_sums(snapshot, count),
            account_error: self.state.unknown_sums.get(snapshot.node_name(row)).map(|text| &**text),
            pod_count: count(snapshot.pods()),
            foreign_pod_count: count(snapshot.foreign_pods()),
            devices,
            devices_error,
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
    // Resources that no node advertises have no columns.
    for pod in pods {
        for (name, amount) in pod.usage().iter().filter(|(name, _)| !snapshot.is_advertised(name)) {
            let sums = sums.entry(name).or_default();
            sums.free = sums.free.wrapping_sub(*amount);
            sums.foreign = sums.foreign.wrapping_add(if pod.ownership.is_foreign() { *amount } else { 0 });
        }
    }
    sums
}

/// Node in the document, in YuniKorn's field names.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    #[serde(rename = "nodeID")]
    node_id: &'a str,
    /// Labels of the node.
    attributes: LabelMap<'a>,
    schedulable: bool,
    capacity: Option<Resources<'a>>,
    allocatable: BTreeMap<&'a str, i64>,
    /// Requests of all pods.
    requested: BTreeMap<&'a str, i64>,
    /// Requests of pods of other schedulers; `occupied` is YuniKorn's name for it.
    foreign: BTreeMap<&'a str, i64>,
    /// Requests of pods of the policy's schedulers.
    allocated: BTreeMap<&'a str, i64>,
    occupied: BTreeMap<&'a str, i64>,
    /// Allocatable resources minus requested ones.
    available: BTreeMap<&'a str, i64>,
    /// Named sums: what the node and the pods on it add; absent without an accounting component.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<BTreeMap<&'a str, i64>>,
    /// Why it is not known what the node adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_error: Option<&'a str>,
    pod_count: i64,
    foreign_pod_count: i64,
    /// Pools of devices that no other node sees; absent where the policy reads no devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<PoolCounts<'a>>>,
    /// Why it cannot be told which devices are for the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices_error: Option<String>,
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
    /// `nodeId` here and `nodeID` in a node, as in YuniKorn's REST API.
    node_id: &'a str,
    resource: Resources<'a>,
    /// Absent where the pod takes what the API says.
    #[serde(flatten)]
    account: Option<AccountOf<'a>>,
    priority: String,
    /// Whether a core has reported it, and no event has confirmed it.
    assumed: bool,
    /// Whether the pod is being deleted.
    terminating: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation_tags: Option<ForeignTag>,
    /// Of foreign pods only: whether the pod is not static, so that its scheduler may preempt it.
    #[serde(skip_serializing_if = "Option::is_none")]
    preemptable: Option<bool>,
}

/// The owner of a foreign pod, by YuniKorn's tag.
#[derive(Debug, Serialize)]
struct ForeignTag {
    foreign: &'static str,
}

impl<'a> Allocation<'a> {
    /// The allocation of a pod on a node.
    pub(super) fn new(pod: &'a PodRecord, assumed: bool) -> Self {
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
            resource: Resources(pod.usage()),
            account: AccountOf::new(pod),
            priority: pod.priority.to_string(),
            assumed,
            terminating: pod.terminating,
            allocation_tags: foreign.map(|foreign| ForeignTag { foreign }),
            preemptable: foreign.map(|_| pod.ownership == Ownership::Foreign),
        }
    }
}

/// A pod that is bound to no node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PendingPod<'a> {
    allocation_key: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// Resources that the pod requests.
    resource: Resources<'a>,
    #[serde(flatten)]
    account: Option<AccountOf<'a>>,
    priority: String,
    /// Node that preemption has nominated for the pod, from `status.nominatedNodeName`.
    #[serde(rename = "nominatedNodeID", skip_serializing_if = "Option::is_none")]
    nominated_node_id: Option<&'a str>,
}

impl<'a> PendingPod<'a> {
    fn new(pod: &'a PodRecord) -> Self {
        Self {
            allocation_key: &pod.uid,
            namespace: &pod.namespace,
            name: &pod.name,
            resource: Resources(pod.requests()),
            account: AccountOf::new(pod),
            priority: pod.priority.to_string(),
            nominated_node_id: pod.nominated_node.as_deref(),
        }
    }
}

/// Account of a pod by the accounting component, without the amounts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountOf<'a> {
    /// Amounts that the pod adds to the named sums of its node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sums: BTreeMap<&'a str, i64>,
    /// Flags that the component has set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'a str>,
    /// Why its account is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_error: Option<&'a str>,
    /// Replacement for an unknown account: the `last` account, or the `standard` amounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_is: Option<&'static str>,
}

impl<'a> AccountOf<'a> {
    fn new(pod: &'a PodRecord) -> Option<Self> {
        let account = pod.account.as_deref()?;
        let fault = account.fault.as_ref();
        Some(Self {
            sums: account.sums.iter().map(|(name, amount)| (&**name, *amount)).collect(),
            flags: account.flags.iter().map(|flag| &**flag).collect(),
            account_error: fault.map(|fault| &*fault.text),
            account_is: fault.map(|fault| if fault.is_last { "last" } else { "standard" }),
        })
    }
}

/// Amounts by resource as a JSON object.
#[derive(Debug)]
struct Resources<'a>(&'a Amounts);

impl Serialize for Resources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(_, amount)| *amount != 0).map(|(name, amount)| (&**name, amount)))
    }
}

/// Labels as a JSON object.
struct LabelMap<'a>(Option<&'a Labels>);

impl Serialize for LabelMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.into_iter().flat_map(|labels| labels.iter()).map(|(key, value)| (&**key, &**value)))
    }
}

/// A list whose items are made while it is encoded.
struct Lazy<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Lazy<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
