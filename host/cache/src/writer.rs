//! The writer's side: compiled nodes and pods in, columns changed, snapshots published.
//!
//! Start with [`Writer::apply_node`] and [`Writer::apply_pod`]. What an event changes is recorded in the change log of
//! exactly the interfaces that it changes. How a pod comes to count is in `residents`, what a core assumes in `assumed`.

use std::sync::{Arc, PoisonError, RwLock};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::watch;

use super::allocations::Allocations;
use super::assumed::{Assumed, End};
use super::changes::{ChangeLog, NodeInterface};
use super::counts::{Counts, PodClass};
use super::failpoint::step;
use super::nominated::Nominated;
use super::pods::{PodIndex, Reader};
use super::ports::PortUse;
use super::row_table::Epoch;
use super::sets::Sets;
use super::storage::StorageTable;
use super::table::{NodeTable, UserChange};
use super::workloads::Workloads;
use super::{Column, Generation, Row, Snapshot};
use crate::metadata::{Amounts, Labels, NodeFacts, PodRecord, StorageRecord};
use nodesift_object::node::Taint;
use nodesift_object::version::advance;
use nodesift_object::{Kind, Workload};

/// The cache's one writer, shared by whoever changes the cache: what brings in the sources' events, and calls that
/// assume and forget pods. It is held for a bounded number of events at a time.
pub type SharedWriter = Arc<Mutex<Writer>>;

/// An empty cache: the one writer, and a reader to clone.
pub fn new() -> (Writer, Reader) {
    let (taints, ports) = (Sets::new(), Sets::new());
    let nodes = NodeTable::default();
    let epoch = Epoch::random();
    let mut writer = Writer {
        epoch,
        generation: Generation(0),
        nodes,
        storage: StorageTable::default(),
        workloads: Workloads::default(),
        allocatable: FxHashMap::default(),
        amounts: Sets::new(),
        taints,
        ports,
        capacities: Sets::new(),
        features: Sets::new(),
        classes: Sets::new(),
        counts: Counts::default(),
        device_classes: FxHashMap::default(),
        served_by_device_class: Arc::default(),
        pods_by_node: FxHashMap::default(),
        unfinished: Vec::new(),
        changes: Arc::default(),
        nodes_resource_version: Arc::default(),
        pods_resource_version: Arc::default(),
        latest: Arc::new(ArcSwap::from_pointee(Snapshot::empty(epoch))),
        published: watch::Sender::new(Generation(0)),
        pods: Arc::default(),
        nominated: Arc::default(),
        assumed: Assumed::default(),
        allocations: Allocations::default(),
    };
    writer.publish();
    let reader = writer.reader();
    (writer, reader)
}

/// Changes the cache. There is one writer; readers see its changes once they are published.
#[derive(Debug)]
pub struct Writer {
    epoch: Epoch,
    pub(super) generation: Generation,
    pub(super) nodes: NodeTable,
    pub(super) storage: StorageTable,
    pub(super) workloads: Workloads,
    /// What each node listed as allocatable when it was last applied, as a code; machines of one type list the same.
    pub(super) allocatable: FxHashMap<Arc<str>, u32>,
    pub(super) amounts: Sets<Amounts>,
    pub(super) taints: Sets<Vec<Taint>>,
    pub(super) ports: Sets<PortUse>,
    pub(super) capacities: Sets<Amounts>,
    pub(super) features: Sets<Vec<Arc<str>>>,
    pub(super) classes: Sets<PodClass>,
    pub(super) counts: Counts,
    /// What each DeviceClass serves, by its name.
    pub(super) device_classes: FxHashMap<Arc<str>, Vec<Arc<str>>>,
    served_by_device_class: Arc<FxHashSet<Arc<str>>>,
    /// The pods of a node, whether the node is known or not.
    pub(super) pods_by_node: FxHashMap<Arc<str>, Vec<Arc<PodRecord>>>,
    /// Nodes that are being changed. Where a change panics they stay here, and are counted once more before anything is
    /// published.
    pub(super) unfinished: Vec<Arc<str>>,
    changes: Arc<RwLock<ChangeLog>>,
    nodes_resource_version: Arc<str>,
    pods_resource_version: Arc<str>,
    pub(super) latest: Arc<ArcSwap<Snapshot>>,
    /// Wakes who waits for what a snapshot does not show yet.
    published: watch::Sender<Generation>,
    pub(super) pods: Arc<PodIndex>,
    pub(super) nominated: Arc<Nominated>,
    pub(super) assumed: Assumed,
    pub(super) allocations: Allocations,
}

impl Writer {
    /// Reads what this writer publishes.
    pub fn reader(&self) -> Reader {
        Reader { latest: Arc::clone(&self.latest), pods: Arc::clone(&self.pods), published: self.published.subscribe() }
    }

    /// Makes everything applied so far visible: snapshots taken after this call show it.
    pub fn publish(&mut self) {
        // Taken out first: what cannot be healed is left to the audit, and keeps nobody from publishing.
        let unfinished = std::mem::take(&mut self.unfinished);
        self.heal(unfinished);
        self.nodes.taint_sets = self.taints.values();
        self.nodes.port_sets = self.ports.values();
        self.nodes.capacity_sets = self.capacities.values();
        self.nodes.feature_sets = self.features.values();
        self.nodes.classes = self.classes.values();
        self.nodes.counts = self.counts.publish(&self.nodes.population());
        self.latest.store(Arc::new(Snapshot {
            epoch: self.epoch,
            generation: self.generation,
            nodes: self.nodes.clone(),
            storage: self.storage.clone(),
            workloads: self.workloads.clone(),
            nominated: Arc::clone(&self.nominated),
            served_by_device_class: Arc::clone(&self.served_by_device_class),
            nodes_resource_version: Arc::clone(&self.nodes_resource_version),
            pods_resource_version: Arc::clone(&self.pods_resource_version),
            changes: Arc::clone(&self.changes),
            touched: None,
            below: None,
        }));
        self.allocations.publish(self.generation);
        self.published.send_replace(self.generation);
    }

    /// Adds a node, or replaces what is known of the node of that name.
    pub fn apply_node(&mut self, node: &NodeFacts) {
        let name = &node.name;
        let begun = self.begin([name]);
        let (row, is_new) = match self.nodes.row(name) {
            Some(row) => (row, false),
            None => {
                self.drop_strangers(name);
                self.counts.push();
                (self.nodes.push(name), true)
            }
        };
        if is_new {
            self.record_all(row);
        }
        step();
        self.set_labels(row, &node.labels);
        self.set_taints(row, node);
        self.set_allocatable(row, node);
        self.set_capacity(row, node);
        self.set_features(row, node);
        step();
        if is_new {
            self.adopt_orphans(row, name);
        }
        self.end(begun);
    }

    /// Removes a node. Its pods stay known and count again when a node of that name appears; pods that were only assumed
    /// on it are pending again.
    pub fn remove_node(&mut self, name: &str) {
        // A row is about to move, and what is noted of it elsewhere must be what its pods come to.
        self.heal(self.unfinished.clone());
        self.unfinished.clear();
        let Some(row) = self.nodes.row(name) else { return };
        let begun = self.begin([&Arc::from(name)]);
        self.revert_assumed_on(name);
        for pod in self.pods_on(name) {
            self.change_usage(row, &pod, UserChange::Fewer);
        }
        if let Some(code) = self.allocatable.remove(name) {
            let old = self.amounts.value(code).map(Arc::clone).unwrap_or_default();
            self.change_allocatable(row, &Amounts::default(), &old);
            self.amounts.release(code);
        }
        let code = |codes: &Column<u32>| codes.get(row).copied().unwrap_or(0);
        let [taints, ports] = [code(&self.nodes.taint_codes), code(&self.nodes.port_codes)];
        let [capacity, features] = [code(&self.nodes.capacity_codes), code(&self.nodes.feature_codes)];
        // Two rows change: the one that now holds another node, and the last one, which is gone.
        let last = Row(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX));
        let moved = match self.nodes.names.get(last) {
            Some(name) if last != row => self.pods_on(&Arc::clone(name)),
            _ => Vec::new(),
        };
        for term in moved.iter().flat_map(|pod| &pod.facts.anti_affinity_terms) {
            self.nodes.terms.change(term, last, false);
            self.nodes.terms.change(term, row, true);
        }
        self.nodes.swap_remove(row);
        self.counts.swap_remove(row);
        // Only now, so that what is tried once more gives nothing back twice.
        self.taints.release(taints);
        self.ports.release(ports);
        self.capacities.release(capacity);
        self.features.release(features);
        self.record_all(row);
        self.record_all(last);
        self.end(begun);
    }

    /// Adds a pod, or replaces what is known of it. A pod of the same namespace and name under another UID is gone. An
    /// assumption about the pod ends where it is bound, and stays where it is not.
    pub fn apply_pod(&mut self, pod: impl Into<Arc<PodRecord>>) {
        let pod = self.settle(pod.into());
        self.put_pod(&pod);
    }

    /// Removes a pod: deleted, or terminated, which takes no room either.
    pub fn remove_pod(&mut self, uid: &str) {
        self.assumed.end(uid, End::Conflict);
        self.take_pod(uid);
    }

    /// All pods that are not terminated, as applied: readers see them at once, columns once they are published.
    pub fn pods(&self) -> &PodIndex {
        &self.pods
    }

    /// The version up to which everything of a kind is known to have been applied, where that is kept track of.
    pub fn observed_version(&self, kind: Kind) -> Option<Arc<str>> {
        match kind {
            Kind::Node => Some(Arc::clone(&self.nodes_resource_version)),
            Kind::Pod => Some(Arc::clone(&self.pods_resource_version)),
            _ => None,
        }
    }

    /// Everything of a kind up to a version has been applied: from the next publication on snapshots name it. Who applies
    /// objects says so, because it alone knows of those that could not be applied.
    pub fn observe_version(&mut self, kind: Kind, version: &Arc<str>) {
        match kind {
            Kind::Node => advance(&mut self.nodes_resource_version, version),
            Kind::Pod => advance(&mut self.pods_resource_version, version),
            _ => {}
        }
    }

    /// Adds a DeviceClass, or replaces the extended resources that it serves.
    pub fn apply_device_class(&mut self, name: &str, serves: &[Arc<str>]) {
        if self.device_classes.get(name).is_some_and(|known| known == serves) {
            return;
        }
        self.device_classes.insert(Arc::from(name), serves.to_vec());
        self.serve_device_classes();
    }

    /// Removes a DeviceClass.
    pub fn remove_device_class(&mut self, name: &str) {
        if self.device_classes.remove(name).is_some() {
            self.serve_device_classes();
        }
    }

    fn serve_device_classes(&mut self) {
        let served = self.device_classes.values().flatten().map(Arc::clone).collect();
        self.set_served_by_device_class(served);
    }

    /// Replaces the extended resources that DeviceClasses serve.
    fn set_served_by_device_class(&mut self, resources: FxHashSet<Arc<str>>) {
        if *self.served_by_device_class == resources {
            return;
        }
        self.served_by_device_class = Arc::new(resources);
        // It is no fact of any row, and changes where there is none.
        self.generation.0 += 1;
    }

    /// Adds a storage object, or replaces what is known of the one of its name.
    pub fn apply_storage(&mut self, record: StorageRecord) {
        if self.storage.apply(record) {
            self.storage_changed();
        }
    }

    /// Removes a storage object by its kind and key: `namespace/name` of claims and capacities, the name of others.
    pub fn remove_storage(&mut self, kind: Kind, key: &str) {
        if self.storage.remove(kind, key) {
            self.storage_changed();
        }
    }

    fn storage_changed(&mut self) {
        self.generation.0 += 1;
        self.nodes.attachments = Arc::default();
    }

    /// Adds a service or controller, or replaces its selector.
    pub fn apply_workload(&mut self, workload: &Workload) {
        if self.workloads.apply(workload) {
            self.generation.0 += 1;
        }
    }

    /// Removes a service or controller.
    pub fn remove_workload(&mut self, kind: Kind, namespace: &str, name: &str) {
        if self.workloads.remove(kind, namespace, name) {
            self.generation.0 += 1;
        }
    }

    /// Adds a namespace, or replaces its labels.
    pub fn apply_namespace(&mut self, name: &str, labels: &Labels) {
        if self.nodes.namespaces.get(name) == Some(labels) {
            return;
        }
        self.generation.0 += 1;
        Arc::make_mut(&mut self.nodes.namespaces).insert(Arc::from(name), Arc::clone(labels));
        self.namespaces_changed();
    }

    /// Removes a namespace; its pods, if any, belong to a namespace without labels from then on.
    pub fn remove_namespace(&mut self, name: &str) {
        if Arc::make_mut(&mut self.nodes.namespaces).remove(name).is_some() {
            self.generation.0 += 1;
            self.namespaces_changed();
        }
    }

    fn namespaces_changed(&mut self) {
        self.nodes.terms_changed = self.generation;
        self.counts.namespaces_changed();
    }

    fn set_capacity(&mut self, row: Row, node: &NodeFacts) {
        let old = self.nodes.capacity_codes.get(row).copied().unwrap_or(0);
        let new = self.capacities.acquire(node.capacity.clone());
        self.capacities.release(old);
        if old != new {
            // No fact interface shows it: no row has changed for a predicate.
            self.nodes.capacity_codes.set(row, new);
            self.generation.0 += 1;
        }
    }

    fn set_features(&mut self, row: Row, node: &NodeFacts) {
        let old = self.nodes.feature_codes.get(row).copied().unwrap_or(0);
        let new = self.features.acquire(node.features.clone());
        self.features.release(old);
        if old != new {
            self.nodes.feature_codes.set(row, new);
            self.record(NodeInterface::Features, row);
        }
    }

    fn set_labels(&mut self, row: Row, labels: &Labels) {
        if self.nodes.labels.get(row) == Some(labels) {
            return;
        }
        self.nodes.set_labels(row, labels);
        self.record(NodeInterface::Labels, row);
    }

    fn set_taints(&mut self, row: Row, node: &NodeFacts) {
        let old = self.nodes.taint_codes.get(row).copied().unwrap_or(0);
        let new = self.taints.acquire(node.taints.clone());
        self.taints.release(old);
        let flag = u8::from(node.unschedulable);
        if old != new || self.nodes.unschedulable.get(row) != Some(&flag) {
            self.nodes.taint_codes.set(row, new);
            self.nodes.unschedulable.set(row, flag);
            self.record(NodeInterface::Taints, row);
        }
    }

    fn set_allocatable(&mut self, row: Row, node: &NodeFacts) {
        let name = &node.name;
        let mut changed = false;
        let code = self.amounts.acquire(node.allocatable.clone());
        let old_code = self.allocatable.insert(Arc::clone(name), code).unwrap_or(0);
        if code != old_code {
            let old = self.amounts.value(old_code).map(Arc::clone).unwrap_or_default();
            self.change_allocatable(row, &node.allocatable, &old);
            changed = true;
        }
        self.amounts.release(old_code);
        let old_limit = self.nodes.pod_limit.get(row).copied().unwrap_or(0);
        if old_limit != node.pod_limit {
            let delta = node.pod_limit.wrapping_sub(old_limit);
            self.nodes.pod_limit.set(row, node.pod_limit);
            self.nodes.pod_room.update(row, |room| *room = room.wrapping_add(delta));
            changed = true;
        }
        if changed {
            self.record(NodeInterface::Resources, row);
        }
    }

    fn change_allocatable(&mut self, row: Row, new: &Amounts, old: &Amounts) {
        let unlisted = self.nodes.change_allocatable(row, new, old);
        let pods_on = |node: &str| self.pods_by_node.get(node).map_or(&[][..], Vec::as_slice);
        self.nodes.drop_columns(&unlisted, pods_on);
    }

    /// What a node listed as allocatable when it was last applied.
    pub(super) fn listed_allocatable(&self, node: &str) -> &[(Arc<str>, i64)] {
        let code = self.allocatable.get(node).copied();
        code.and_then(|code| self.amounts.value(code)).map_or(&[], |amounts| amounts.as_slice())
    }

    /// Every recorded change is a generation of its own, so that generations in the log only rise.
    pub(super) fn record(&mut self, interface: NodeInterface, row: Row) {
        self.generation.0 += 1;
        if let Some(changed) = self.nodes.changed.get_mut(interface as usize) {
            *changed = self.generation;
        }
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        changes.record(interface, self.generation, row);
    }

    pub(super) fn record_all(&mut self, row: Row) {
        NodeInterface::ALL.iter().for_each(|interface| self.record(*interface, row));
        self.nodes.terms_changed = self.generation;
    }
}

impl Snapshot {
    fn empty(epoch: Epoch) -> Self {
        Self {
            epoch,
            generation: Generation(0),
            nodes: NodeTable::default(),
            storage: StorageTable::default(),
            workloads: Workloads::default(),
            nominated: Arc::default(),
            served_by_device_class: Arc::default(),
            nodes_resource_version: Arc::default(),
            pods_resource_version: Arc::default(),
            changes: Arc::default(),
            touched: None,
            below: None,
        }
    }
}
