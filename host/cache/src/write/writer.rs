//! The writer: components, publication, and the one path on which pods change columns.
//!
//! Start with [`Writer::apply`] in `record`, then [`Writer::publish`]. A change is recorded in the change log of exactly the interfaces
//! that it affects. Nodes are in `nodes`, pods in `placement`; what both have to do with rows is here.

use std::sync::{Arc, PoisonError, RwLock};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::accounts::Accounts;
use super::allocations::Allocations;
use super::assumed::Assumed;
use super::failpoint::step;
use super::gone::Gone;
use super::ownership::OwnSchedulers;
use super::placement::Placement;
use super::watermarks::Watermarks;
use crate::claims::ClaimTable;
use crate::columns::change_log::{ChangeLog, NodeInterface};
use crate::columns::sets::Sets;
use crate::columns::{Delta, Generation, Row};
use crate::devices::DeviceTable;
use crate::metadata::{Amounts, PodRecord};
use crate::nodes::Epoch;
use crate::nodes::table::{Dictionaries, NodeTable};
use crate::objects::Objects;
use crate::objects::device_classes::DeviceClasses;
use crate::parties::PartyTable;
use crate::pods::PodIndex;
use crate::pods::amounts_change::AmountsChange;
use crate::pods::counts::Counts;
use crate::read::snapshot::Publication;
use crate::read::{Reader, Snapshot, State};
use crate::semantics::Semantics;
use nodesift_object::Kind;
use nodesift_object::version::advance;

/// The cache's one writer, shared by all that change the cache: the feed of watch events, and calls that assume and forget
/// pods. It is locked for a bounded number of events at a time.
pub type SharedWriter = Arc<Mutex<Writer>>;

/// An empty cache: the one writer, and a reader to clone.
pub fn new() -> (Writer, Reader) {
    let writer = Writer::empty();
    let reader = writer.reader();
    (writer, reader)
}

/// Changes the cache. There is one writer; readers see its changes once they are published.
#[derive(Debug)]
pub struct Writer {
    pub(super) epoch: Epoch,
    pub(super) generation: Generation,
    pub(super) nodes: NodeTable,
    pub(super) dictionaries: Dictionaries,
    pub(super) counts: Counts,
    pub(super) advertised: Advertised,
    pub(super) objects: Objects,
    pub(super) device_classes: DeviceClasses,
    pub(super) devices: DeviceTable,
    pub(super) claims: ClaimTable,
    pub(super) parties: PartyTable,
    pub(super) pods: Arc<PodIndex>,
    pub(super) placement: Placement,
    pub(super) assumed: Assumed,
    pub(super) gone: Gone,
    pub(super) ownership: OwnSchedulers,
    pub(super) allocations: Allocations,
    pub(super) accounts: Accounts,
    pub(super) watermarks: Watermarks,
    pub(super) semantics: Semantics,
    changes: Arc<RwLock<ChangeLog>>,
    nodes_resource_version: Arc<str>,
    pods_resource_version: Arc<str>,
    latest: Arc<ArcSwap<Snapshot>>,
    /// Wakes readers that wait for a later snapshot.
    published: watch::Sender<Generation>,
}

/// Amounts that each node advertised in `status.allocatable` when it was last applied; nodes of one machine type advertise the same.
#[derive(Debug)]
pub(super) struct Advertised {
    codes: FxHashMap<Arc<str>, u32>,
    amounts: Sets<Amounts>,
}

impl Default for Advertised {
    fn default() -> Self {
        Self { codes: FxHashMap::default(), amounts: Sets::new() }
    }
}

impl Advertised {
    /// Returns the amounts that a node advertises; none where it is not known.
    pub(super) fn get(&self, node: &str) -> &[(Arc<str>, i64)] {
        let code = self.codes.get(node).copied();
        code.and_then(|code| self.amounts.value(code)).map_or(&[], |amounts| amounts.as_slice())
    }

    /// How many nodes advertise a resource.
    pub(super) fn advertisers(&self, resource: &str) -> usize {
        let names_it = |amounts: &Amounts| amounts.iter().any(|(known, _)| **known == *resource);
        self.codes.values().filter(|code| self.amounts.value(**code).is_some_and(|it| names_it(it))).count()
    }

    /// Replaces what a node advertises. `change` is given the amounts from before where they differ.
    pub(super) fn replace(&mut self, node: &Arc<str>, amounts: &Amounts, change: impl FnOnce(&Amounts)) {
        let code = self.amounts.acquire(amounts.clone());
        let old_code = self.codes.insert(Arc::clone(node), code).unwrap_or(0);
        if code != old_code {
            let old = self.amounts.value(old_code).map(Arc::clone).unwrap_or_default();
            change(&old);
        }
        self.amounts.release(old_code);
    }

    /// Removes a node. `change` is given the amounts that it advertised.
    pub(super) fn remove(&mut self, node: &str, change: impl FnOnce(&Amounts)) {
        if let Some(code) = self.codes.remove(node) {
            let old = self.amounts.value(code).map(Arc::clone).unwrap_or_default();
            change(&old);
            self.amounts.release(code);
        }
    }
}

impl Writer {
    fn empty() -> Self {
        let epoch = Epoch::random();
        let first = Publication::empty(epoch);
        let pods: Arc<PodIndex> = Arc::default();
        let mut writer = Self {
            epoch,
            generation: Generation(0),
            nodes: NodeTable::default(),
            dictionaries: Dictionaries::default(),
            counts: Counts::default(),
            advertised: Advertised::default(),
            objects: Objects::default(),
            device_classes: DeviceClasses::default(),
            devices: DeviceTable::default(),
            claims: ClaimTable::default(),
            parties: PartyTable::default(),
            pods: Arc::clone(&pods),
            placement: Placement::default(),
            assumed: Assumed::new(pods),
            gone: Gone::default(),
            ownership: OwnSchedulers::default(),
            allocations: Allocations::default(),
            accounts: Accounts::default(),
            watermarks: Watermarks::default(),
            semantics: Semantics::default(),
            changes: Arc::default(),
            nodes_resource_version: Arc::default(),
            pods_resource_version: Arc::default(),
            latest: Arc::new(ArcSwap::from_pointee(Snapshot::new(first))),
            published: watch::Sender::new(Generation(0)),
        };
        writer.publish();
        writer
    }

    /// A reader of the snapshots that this writer publishes.
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.latest), Arc::clone(&self.pods), self.published.subscribe())
    }

    /// Publishes: snapshots taken after this call show everything applied so far.
    pub fn publish(&mut self) {
        self.repair_interrupted();
        self.settle_devices();
        self.nodes.share(&self.dictionaries, &mut self.counts);
        self.latest.store(Arc::new(Snapshot::new(Publication {
            epoch: self.epoch,
            generation: self.generation,
            ownership: self.ownership.count(),
            nodes: self.nodes.clone(),
            objects: self.objects.clone(),
            nominated: self.placement.nominated().clone(),
            served_by_device_class: Arc::clone(self.device_classes.served()),
            claims: Arc::clone(self.claims.shown()),
            parties: self.parties.shown().clone(),
            nodes_resource_version: Arc::clone(&self.nodes_resource_version),
            pods_resource_version: Arc::clone(&self.pods_resource_version),
            changes: Arc::clone(&self.changes),
        })));
        self.cross_watermarks();
        self.allocations.publish(self.generation);
        self.published.send_replace(self.generation);
    }

    /// Adds a pod to the row of its node, or removes it: the one path on which pods change columns, but for [`Self::change_amounts`].
    pub(super) fn apply_to_row(&mut self, delta: Delta, row: Row, pod: &Arc<PodRecord>) {
        self.note_placed(delta, row, pod);
        self.nodes.apply(delta, row, pod);
        step();
        self.record(NodeInterface::Resources, row);
        if !pod.facts.host_ports.is_empty() {
            self.nodes.apply_ports(delta, row, pod, &mut self.dictionaries);
            self.record(NodeInterface::Ports, row);
        }
        self.nodes.note_terms_of(pod, self.generation);
        step();
        self.nodes.apply_class(delta, row, pod, &mut self.counts);
    }

    /// Pods on a row take other amounts: as removing each as it was and adding it as it is, with one change of each column.
    pub(super) fn change_amounts(&mut self, row: Row, changes: &[AmountsChange]) {
        self.note_amounts(row, changes);
        self.nodes.change_amounts(row, changes);
        step();
        self.record(NodeInterface::Resources, row);
        step();
        self.nodes.change_usages(row, changes, &mut self.counts);
    }

    /// The row of a node.
    pub fn row(&self, node: &str) -> Option<Row> {
        self.nodes.row(node)
    }

    /// How many nodes there are.
    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Counts and sums over pods, for tests.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// All pods that are not terminated, as applied: readers find them at once, columns show them once published.
    pub fn pods(&self) -> &PodIndex {
        &self.pods
    }

    /// The `resourceVersion` up to which everything of a kind has been applied; `None` for kinds other than Node and Pod.
    pub fn observed_version(&self, kind: Kind) -> Option<Arc<str>> {
        match kind {
            Kind::Node => Some(Arc::clone(&self.nodes_resource_version)),
            Kind::Pod => Some(Arc::clone(&self.pods_resource_version)),
            _ => None,
        }
    }

    /// Notes that everything of a kind up to a `resourceVersion` has been applied; snapshots name it from the next
    /// publication on. The caller keeps track of it, because it alone knows which objects could not be applied.
    pub fn observe_version(&mut self, kind: Kind, version: &Arc<str>) {
        match kind {
            Kind::Node => advance(&mut self.nodes_resource_version, version),
            Kind::Pod => advance(&mut self.pods_resource_version, version),
            _ => {}
        }
    }

    /// Forgets the `resourceVersion` up to which everything of a kind has been applied: the cluster was restored from a backup, and
    /// versions begin anew.
    pub fn forget_version(&mut self, kind: Kind) {
        match kind {
            Kind::Node => self.nodes_resource_version = Arc::default(),
            Kind::Pod => self.pods_resource_version = Arc::default(),
            _ => {}
        }
    }

    /// Publishes, and collects every node and pod. The writer is locked only while references are collected.
    pub fn state(&mut self) -> State {
        self.publish();
        let (assumed, unknown_sums) = (self.assumed.deadlines(), self.unknown_sums().clone());
        State { snapshot: self.latest.load_full(), pods: self.pods.all(), assumed, unknown_sums }
    }

    /// Publishes, and collects the pods on one node and those nominated for it; `None` where the node is not known.
    pub fn state_of(&mut self, node: &str) -> Option<State> {
        self.publish();
        let snapshot = self.latest.load_full();
        snapshot.node_row(node)?;
        let nominated = snapshot.nominated(node).iter().cloned();
        let pods = self.placement.on(node).iter().cloned().chain(nominated).collect();
        let (assumed, unknown_sums) = (self.assumed.deadlines(), self.unknown_sums().clone());
        Some(State { snapshot, pods, assumed, unknown_sums })
    }

    /// Starts the next generation: something changed that is no fact of any row.
    pub(super) fn advance_generation(&mut self) {
        self.generation = self.generation.next();
    }

    /// Records that an interface changed in a row. Every recorded change is a generation of its own, so that generations in
    /// the log only rise.
    pub(super) fn record(&mut self, interface: NodeInterface, row: Row) {
        self.advance_generation();
        if interface == NodeInterface::Resources {
            self.watermarks.touch(row);
        }
        self.nodes.note_change(interface, self.generation);
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        changes.record(interface, self.generation, row);
    }

    /// Records that all interfaces changed in a row.
    pub(super) fn record_all(&mut self, row: Row) {
        self.advance_generation();
        self.watermarks.touch(row);
        NodeInterface::ALL.iter().for_each(|interface| self.nodes.note_change(*interface, self.generation));
        self.nodes.note_terms_change(self.generation);
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        changes.record_whole(self.generation, row);
    }
}

/// Sizes of the cache, for metrics.
impl Writer {
    /// How many pods are bound to nodes that are not known.
    pub(crate) fn orphan_count(&self) -> usize {
        let orphans = self.placement.nodes().filter(|node| self.nodes.row(node).is_none());
        orphans.map(|node| self.placement.on(node).len()).sum()
    }

    /// How many devices ResourceSlices have, and how many devices are in use.
    pub(crate) fn device_counts(&self) -> (usize, usize) {
        (self.devices.device_count(), self.devices.use_count())
    }

    /// Bytes of devices and of claims: a lower bound.
    pub(crate) fn device_bytes(&self) -> (usize, usize) {
        (self.devices.bytes(), self.claims.bytes())
    }

    /// Bytes of what parties have said.
    pub(crate) fn party_bytes(&self) -> usize {
        self.parties.bytes()
    }

    /// Bytes of the columns, of the label columns and of the counts: a lower bound.
    pub(crate) fn table_bytes(&self) -> (usize, usize, usize) {
        let (columns, labels) = self.nodes.bytes();
        let (counts, sums) = self.counts.maintained_count();
        (columns, labels, self.nodes.len() * (counts * size_of::<u32>() + sums * size_of::<i64>()))
    }
}
