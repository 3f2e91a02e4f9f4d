//! GET /v1/state: nodes, the pods on them, devices and pending pods as the cache has them; and which pods predicates are not called
//! about for now. With `format=yunikorn`, nodes and pods as YuniKorn's REST API has them. GET /v1/nodes/NAME: one node, and the last
//! changes of the allocations on it.
//!
//! The cache's lock is held only while references are collected. The document is encoded afterwards and sent in chunks, so
//! memory does not grow with the cluster. Resources of amount zero are left out. Start at [`state`].

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use nodesift_proto::v1::Version;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use tokio::sync::OwnedSemaphorePermit;

use super::amounts::{Amount, ByName, NodeAmounts, Resources, named_sums};
use super::breaker::{SetAsideBy, Throttled};
use super::chunks::{self, Chunks};
use super::devices::{DeviceCounts, PoolCounts};
use super::event_lines::EventLine;
use super::lazy::Lazy;
use super::names::Names;
use super::pods::{PendingPod, PodOnNode};
use super::query::{Format, parameters, unescaped};
use super::totals::Totals;
use super::yunikorn::NodesInfo;
use crate::admission::scope::RequestScope;
use crate::calls::response;
use crate::protocols::json::JSON;
use crate::{Error, Service};
use nodesift_cache::metadata::{Labels, PodRecord};
use nodesift_cache::{self as cache, Row};
use nodesift_engine as engine;

/// Answers GET /v1/state, with the parameters `node=NAME`, for one node, and `format=yunikorn`.
pub(crate) async fn state(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    service.readiness().check()?;
    let permit = service.dump_permit(scope.class)?;
    let query = unescaped(query)?;
    let [node, format] = parameters(query.as_deref(), ["node", "format"])?;
    let (node, format) = (node.map(str::to_owned), Format::try_new(format)?);
    let (version, dump) = service.read_locked(scope.class, move |service| collect(service, node.as_deref())).await?;
    Ok(send(&service, permit, move |chunks| match format {
        Format::Native => serde_json::to_writer(chunks, &Document { version: &version, dump: &dump }),
        Format::YuniKorn => serde_json::to_writer(chunks, &NodesInfo::new(&dump.state.snapshot, &dump.nodes)),
    }))
}

/// Answers GET /v1/nodes/NAME: the node and its history.
pub(crate) async fn node(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    Names(name): Names<String>,
) -> Result<Response, Error> {
    service.readiness().check()?;
    let permit = service.dump_permit(scope.class)?;
    let (version, dump, history) = service
        .read_locked(scope.class, move |service| {
            let (version, dump) = collect(service, Some(&name))?;
            let history = service.writer().lock().history_on(&name);
            Ok((version, dump, history))
        })
        .await?;
    Ok(send(&service, permit, move |chunks| {
        let history = || history.iter().map(|event| EventLine::new(event));
        serde_json::to_writer(chunks, &NodeDocument { version: &version, dump: &dump, history: Lazy(history) })
    }))
}

/// Collects what a dump is made of, of all nodes or of one.
fn collect(service: &Service, node: Option<&str>) -> Result<(Version, Dump), Error> {
    let state = match node {
        None => service.writer().lock().state(),
        Some(name) => {
            let state = service.writer().lock().state_of(name);
            state.ok_or_else(|| engine::Error::UnknownNode { node: name.to_owned() })?
        }
    };
    let policy = service.engine().policy();
    let version = response::version(&state.snapshot, policy.generation, service.staleness().age());
    // Nothing is known of devices where no predicate reads them.
    let has_devices = policy.selectors.is_some();
    let set_aside = node.is_none().then(|| SetAsideBy::all(&policy));
    let throttled = node.is_none().then(|| Throttled::all(&policy));
    Ok((version, Dump { set_aside, throttled, ..Dump::new(state, node, has_devices) }))
}

/// Sends a document while `write` encodes it.
fn send(
    service: &Service,
    permit: OwnedSemaphorePermit,
    write: impl FnOnce(&mut Chunks) -> serde_json::Result<()> + Send + 'static,
) -> Response {
    let (mut chunks, body) = chunks::channel();
    let counting = service.clone();
    service.background().spawn_blocking(move || {
        let _held_while_working = permit;
        let written = move || write(&mut chunks).map_err(io::Error::from).and_then(|()| chunks.end());
        match catch_unwind(AssertUnwindSafe(written)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the reader has left a state dump before its end"),
            // Its reader is told that it ends early.
            Err(_) => counting.panicked_in_document(),
        }
    });
    ([(header::CONTENT_TYPE, JSON)], body).into_response()
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
    version: &'a Version,
    #[serde(flatten)]
    dump: &'a Dump,
}

/// Document of `GET /v1/nodes/NAME`: that of the state with the one node, and its history.
#[derive(Serialize)]
struct NodeDocument<'a, H> {
    version: &'a Version,
    #[serde(flatten)]
    dump: &'a Dump,
    /// The last changes of the allocations on the node, the oldest first.
    history: H,
}

impl Serialize for Dump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.is_whole {
            map.serialize_entry("totals", &Totals::new(&self.state.snapshot, &self.nodes))?;
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
        let orphan = |pod| PodOnNode::new(pod, self.is_assumed(pod));
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
        let of = |foreign: bool| {
            let pods = pods.iter().filter(move |pod| pod.ownership.is_foreign() == foreign);
            pods.map(|pod| PodOnNode::new(pod, self.is_assumed(pod))).collect()
        };
        let amounts = NodeAmounts::new(snapshot, row, pods);
        let (devices, devices_error) = match devices.map(|devices| devices.own(row)) {
            None => (None, None),
            Some(Ok(pools)) => (Some(pools), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        Node {
            name: snapshot.node_name(row),
            labels: LabelMap(snapshot.labels().get(row)),
            schedulable: snapshot.unschedulable().get(row).copied().unwrap_or(0) == 0,
            capacity: snapshot.capacity(row).map(|amounts| Resources(amounts)),
            allocatable: amounts.each(|amount| amount.allocatable),
            requested: amounts.each(Amount::requested),
            own: amounts.each(Amount::own),
            foreign: amounts.each(|amount| amount.foreign),
            free: amounts.each(|amount| amount.free),
            sums: named_sums(snapshot, |column| column.get(row).copied().unwrap_or(0)),
            account_error: self.state.unknown_sums.get(snapshot.node_name(row)).map(|text| &**text),
            devices,
            devices_error,
            own_pods: of(false),
            foreign_pods: of(true),
        }
    }
}

/// Node in the document. Amounts are by resource: `cpu` in millicores, every other resource in whole units; `pods` is the number of pods.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    name: &'a str,
    labels: LabelMap<'a>,
    /// Whether it is not cordoned.
    schedulable: bool,
    /// Amounts in the node's `status.capacity`.
    capacity: Option<Resources<'a>>,
    /// Amounts in the node's `status.allocatable`.
    allocatable: ByName<'a>,
    /// Amounts that all pods take.
    requested: ByName<'a>,
    /// Amounts that pods of the policy's schedulers take.
    own: ByName<'a>,
    /// Amounts that pods of other schedulers take, static pods among them.
    foreign: ByName<'a>,
    /// Allocatable amounts less requested ones.
    free: ByName<'a>,
    /// Named sums: what the node and the pods on it add; absent without an accounting component.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<ByName<'a>>,
    /// Why it is not known what the node adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    account_error: Option<&'a str>,
    /// Pools of devices that no other node sees; absent where the policy reads no devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<PoolCounts<'a>>>,
    /// Why it cannot be told which devices are for the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices_error: Option<String>,
    own_pods: Vec<PodOnNode<'a>>,
    foreign_pods: Vec<PodOnNode<'a>>,
}

/// Labels as a JSON object.
struct LabelMap<'a>(Option<&'a Labels>);

impl Serialize for LabelMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.into_iter().flat_map(|labels| labels.iter()).map(|(key, value)| (&**key, &**value)))
    }
}
