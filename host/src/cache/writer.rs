//! The writer's side: compiled nodes and pods in, columns changed, snapshots published.
//!
//! Start with [`Writer::apply_node`] and [`Writer::apply_pod`]. What an event changes is recorded in the change log of
//! exactly the interfaces that it changes. Pods of a node that is not known wait as orphans and count from the moment
//! the node appears. What a core assumes is in `assumed`.

use std::sync::{Arc, PoisonError, RwLock};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::watch;

use super::allocations::{AllocationChange, Allocations};
use super::arrivals::Arriving;
use super::assumed::{Assumed, End};
use super::changes::{ChangeLog, NodeInterface};
use super::counts::{Counts, PodClass};
use super::nominated::{self, Nominated};
use super::pods::{Displaced, PodIndex, Reader};
use super::row_table::Epoch;
use super::sets::Sets;
use super::storage::StorageTable;
use super::table::{NodeTable, PortUse, UserChange, change_port_use};
use super::workloads::Workloads;
use super::{Generation, Row, Snapshot};
use crate::metadata::{Amounts, HostPort, Labels, NodeFacts, PodRecord, StorageRecord};
use crate::object::node::Taint;
use crate::object::version::advance;
use crate::object::{Kind, Workload};

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
        changes: Arc::default(),
        nodes_resource_version: Arc::default(),
        pods_resource_version: Arc::default(),
        latest: Arc::new(ArcSwap::from_pointee(Snapshot::empty(epoch))),
        published: watch::Sender::new(Generation(0)),
        pods: Arc::default(),
        nominated: Arc::default(),
        assumed: Assumed::default(),
        allocations: Allocations::default(),
        arriving: Arriving::default(),
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
    capacities: Sets<Amounts>,
    pub(super) features: Sets<Vec<Arc<str>>>,
    pub(super) classes: Sets<PodClass>,
    pub(super) counts: Counts,
    /// What each DeviceClass serves, by its name.
    pub(super) device_classes: FxHashMap<Arc<str>, Vec<Arc<str>>>,
    served_by_device_class: Arc<FxHashSet<Arc<str>>>,
    /// The pods of a node, whether the node is known or not.
    pods_by_node: FxHashMap<Arc<str>, Vec<Arc<PodRecord>>>,
    changes: Arc<RwLock<ChangeLog>>,
    nodes_resource_version: Arc<str>,
    pods_resource_version: Arc<str>,
    pub(super) latest: Arc<ArcSwap<Snapshot>>,
    /// Wakes who waits for what a snapshot does not show yet.
    published: watch::Sender<Generation>,
    pub(super) pods: Arc<PodIndex>,
    nominated: Arc<Nominated>,
    pub(super) assumed: Assumed,
    pub(super) allocations: Allocations,
    pub(super) arriving: Arriving,
}

impl Writer {
    /// Reads what this writer publishes.
    pub fn reader(&self) -> Reader {
        Reader { latest: Arc::clone(&self.latest), pods: Arc::clone(&self.pods), published: self.published.subscribe() }
    }

    /// Makes everything applied so far visible: snapshots taken after this call show it.
    pub fn publish(&mut self) {
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
        self.arriving.publish();
    }

    /// Adds a node, or replaces what is known of the node of that name.
    pub fn apply_node(&mut self, node: &NodeFacts) {
        advance(&mut self.nodes_resource_version, &node.resource_version);
        let name = &node.name;
        let (row, is_new) = match self.nodes.row(name) {
            Some(row) => (row, false),
            None => {
                self.counts.push();
                (self.nodes.push(name), true)
            }
        };
        if is_new {
            self.record_all(row);
        }
        self.set_labels(row, &node.labels);
        self.set_taints(row, node);
        self.set_allocatable(row, node);
        self.set_capacity(row, node);
        self.set_features(row, node);
        if is_new {
            self.adopt_orphans(row, name);
        }
    }

    /// Removes a node. Its pods stay known and count again when a node of that name appears; pods that were only assumed
    /// on it are pending again.
    pub fn remove_node(&mut self, name: &str) {
        let Some(row) = self.nodes.row(name) else { return };
        self.revert_assumed_on(name);
        for pod in self.pods_on(name) {
            self.change_usage(row, &pod, UserChange::Fewer);
        }
        if let Some(code) = self.allocatable.remove(name) {
            for (resource, _) in self.amounts.value(code).into_iter().flat_map(|amounts| amounts.iter()) {
                self.nodes.change_resource(resource, row, UserChange::Fewer, |_, _| ());
            }
            self.amounts.release(code);
        }
        self.taints.release(self.nodes.taint_codes.get(row).copied().unwrap_or(0));
        self.ports.release(self.nodes.port_codes.get(row).copied().unwrap_or(0));
        self.capacities.release(self.nodes.capacity_codes.get(row).copied().unwrap_or(0));
        self.features.release(self.nodes.feature_codes.get(row).copied().unwrap_or(0));
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
        self.record_all(row);
        self.record_all(last);
    }

    /// Adds a pod, or replaces what is known of it. A pod of the same namespace and name under another UID is gone. An
    /// assumption about the pod ends where it is bound, and stays where it is not.
    pub fn apply_pod(&mut self, pod: impl Into<Arc<PodRecord>>) {
        let pod = pod.into();
        advance(&mut self.pods_resource_version, &pod.resource_version);
        let pod = self.settle(pod);
        self.put_pod(pod);
    }

    /// Adds a pod as it is to count, or replaces what counts of it.
    pub(super) fn put_pod(&mut self, pod: Arc<PodRecord>) {
        // Whatever it changes, the next snapshot is of this generation or a later one.
        let since = Generation(self.generation.0 + 1);
        let Displaced { earlier, unchanged, namesake } = self.pods.insert(&pod, since);
        if let Some(namesake) = namesake {
            self.assumed.end(&namesake.uid, End::Conflict);
            self.generation.0 += 1;
            self.leave_node(&namesake);
        }
        match earlier {
            // The usual update: a status that nobody here reads.
            Some(earlier) if unchanged => self.replace_on_node(&earlier, pod),
            earlier => {
                self.generation.0 += 1;
                if earlier.is_none() {
                    self.arriving.record(&pod);
                }
                if let Some(earlier) = earlier {
                    self.leave_node(&earlier);
                }
                self.enter_node(pod);
            }
        }
    }

    /// Removes a pod: deleted, or terminated, which takes no room either.
    pub fn remove_pod(&mut self, uid: &str) {
        self.assumed.end(uid, End::Conflict);
        self.take_pod(uid);
    }

    /// Takes a pod out of everything that counts it.
    pub(super) fn take_pod(&mut self, uid: &str) {
        let Some(pod) = self.pods.remove(uid) else { return };
        self.generation.0 += 1;
        self.leave_node(&pod);
    }

    fn enter_node(&mut self, pod: Arc<PodRecord>) {
        nominated::change(&mut self.nominated, &pod, true);
        let Some(node) = &pod.node_name else { return };
        if let Some(row) = self.nodes.row(node) {
            self.change_usage(row, &pod, UserChange::More);
        }
        match self.pods_by_node.get_mut(node) {
            Some(pods) => pods.push(pod),
            None => {
                self.pods_by_node.insert(Arc::clone(node), vec![pod]);
            }
        }
    }

    fn leave_node(&mut self, pod: &Arc<PodRecord>) {
        nominated::change(&mut self.nominated, pod, false);
        let Some(node) = &pod.node_name else { return };
        if let Some(pods) = self.pods_by_node.get_mut(node) {
            if let Some(at) = pods.iter().position(|known| Arc::ptr_eq(known, pod)) {
                pods.swap_remove(at);
            }
            if pods.is_empty() {
                self.pods_by_node.remove(node);
            }
        }
        if let Some(row) = self.nodes.row(node) {
            self.change_usage(row, pod, UserChange::Fewer);
        }
    }

    /// Puts a pod in the place of an earlier state of it that takes the same.
    fn replace_on_node(&mut self, earlier: &Arc<PodRecord>, pod: Arc<PodRecord>) {
        let pods = pod.node_name.as_ref().and_then(|node| self.pods_by_node.get_mut(node));
        if let Some(known) = pods.and_then(|pods| pods.iter_mut().find(|known| Arc::ptr_eq(known, earlier))) {
            *known = pod;
        }
    }

    /// All pods that are not terminated, as applied: readers see them at once, columns once they are published.
    pub fn pods(&self) -> &PodIndex {
        &self.pods
    }

    /// Everything of a kind up to a version has been applied.
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
        let rows = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (0..rows).for_each(|row| self.record(NodeInterface::Resources, Row(row)));
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
            // New amounts first, so that a resource both lists name keeps its columns.
            for (amounts, users, sign) in [(&node.allocatable, UserChange::More, 1), (&*old, UserChange::Fewer, -1_i64)]
            {
                for (resource, amount) in amounts {
                    let delta = amount.wrapping_mul(sign);
                    self.nodes.change_resource(resource, row, users, |resource, row| {
                        resource.allocatable.update(row, |value| *value = value.wrapping_add(delta));
                        resource.free.update(row, |value| *value = value.wrapping_add(delta));
                    });
                }
            }
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

    /// What a node listed as allocatable when it was last applied.
    pub(super) fn listed_allocatable(&self, node: &str) -> &[(Arc<str>, i64)] {
        let code = self.allocatable.get(node).copied();
        code.and_then(|code| self.amounts.value(code)).map_or(&[], |amounts| amounts.as_slice())
    }

    fn adopt_orphans(&mut self, row: Row, node: &str) {
        for pod in self.pods_on(node) {
            self.change_usage(row, &pod, UserChange::More);
        }
    }

    pub(super) fn pods_on(&self, node: &str) -> Vec<Arc<PodRecord>> {
        self.pods_by_node.get(node).cloned().unwrap_or_default()
    }

    /// Adds what a pod takes to the row of its node, or takes it away.
    fn change_usage(&mut self, row: Row, pod: &Arc<PodRecord>, change: UserChange) {
        let event = match change {
            UserChange::More => AllocationChange::Added,
            UserChange::Fewer => AllocationChange::Removed,
        };
        self.allocations.record(event, pod, self.assumed.contains(&pod.uid));
        self.nodes.change_usage(row, pod, change);
        self.record(NodeInterface::Resources, row);
        if !pod.facts.host_ports.is_empty() {
            self.change_ports(row, &pod.facts.host_ports, change);
        }
        if !pod.facts.anti_affinity_terms.is_empty() {
            self.nodes.terms_changed = self.generation;
        }
        self.change_class(row, pod, change == UserChange::More);
    }

    /// Counts a pod where its class is counted, or no longer.
    fn change_class(&mut self, row: Row, pod: &PodRecord, more: bool) {
        let class = PodClass::of(pod);
        let code = if more {
            let (code, is_new) = self.classes.acquire_new(class);
            if is_new && let Some(class) = self.classes.value(code) {
                self.counts.set_class(code, class, &self.nodes.namespaces);
            }
            code
        } else {
            // A pod that is on a row was counted when it came there.
            let Some(code) = self.classes.code(&class) else { return };
            code
        };
        self.nodes.pod_classes.update(row, |pods| {
            let pods = Arc::make_mut(pods);
            match pods.iter().position(|known| *known == code) {
                Some(at) if !more => {
                    pods.swap_remove(at);
                }
                _ if more => pods.push(code),
                _ => {}
            }
        });
        self.counts.change(code, row, more);
        if !more {
            self.classes.release(code);
        }
    }

    fn change_ports(&mut self, row: Row, ports: &[HostPort], change: UserChange) {
        let old = self.nodes.port_codes.get(row).copied().unwrap_or(0);
        let mut in_use: PortUse = self.ports.value(old).map(|set| (**set).clone()).unwrap_or_default();
        change_port_use(&mut in_use, ports, change);
        let new = self.ports.acquire(in_use);
        self.ports.release(old);
        self.nodes.port_codes.set(row, new);
        self.record(NodeInterface::Ports, row);
    }

    /// Every recorded change is a generation of its own, so that generations in the log only rise.
    fn record(&mut self, interface: NodeInterface, row: Row) {
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
