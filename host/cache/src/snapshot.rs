//! A snapshot: an immutable, consistent view of all columns at one generation.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashSet;

use super::changes::{ChangeLog, NodeInterface};
use super::counts::{CountKey, Namespaces};
use super::labels::LabelColumn;
use super::nominated::Nominated;
use super::ports::PortUse;
use super::row_table::Epoch;
use super::storage::StorageTable;
use super::storage::attachments::Attachments;
use super::storage::usage::VolumeUse;
use super::table::{NodeTable, Resource};
use super::terms::{self, MatchedTerm};
use super::workloads::Workloads;
use super::{Column, Generation, Row};
use crate::metadata::{Amounts, Labels, PodFacts, PodRecord};
use nodesift_object::node::Taint;

/// Everything known about the nodes at one generation. A copy costs reference counts.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) epoch: Epoch,
    pub(super) generation: Generation,
    pub(super) nodes: NodeTable,
    pub(super) storage: StorageTable,
    pub(super) workloads: Workloads,
    pub(super) nominated: Arc<Nominated>,
    pub(super) served_by_device_class: Arc<FxHashSet<Arc<str>>>,
    pub(super) nodes_resource_version: Arc<str>,
    pub(super) pods_resource_version: Arc<str>,
    pub(super) changes: Arc<RwLock<ChangeLog>>,
    /// Rows in which an overlay differs from the cache, sorted; none in a snapshot of the cache itself.
    pub(super) touched: Option<Arc<[Row]>>,
    /// What an overlay was laid over.
    pub(super) below: Option<Arc<Snapshot>>,
}

impl Snapshot {
    /// The generation of the cache that this snapshot shows.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// How many nodes there are; rows run from 0 to this.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The name of the node in a row; empty past the last row.
    pub fn node_name(&self, row: Row) -> &str {
        self.nodes.names.get(row).map_or("", |name| name)
    }

    /// The row of the node with this name.
    pub fn node_row(&self, name: &str) -> Option<Row> {
        self.nodes.row(name)
    }

    /// All rows in the order of node names.
    pub fn rows_by_name(&self) -> Arc<[Row]> {
        self.nodes.rows_by_name()
    }

    /// `resourceVersion` of the newest Node seen; empty where the source has none.
    pub fn nodes_resource_version(&self) -> &str {
        &self.nodes_resource_version
    }

    /// `resourceVersion` of the newest Pod seen; empty where the source has none.
    pub fn pods_resource_version(&self) -> &str {
        &self.pods_resource_version
    }

    /// Node names.
    pub fn names(&self) -> &Column<Arc<str>> {
        &self.nodes.names
    }

    /// Labels as each node carries them.
    pub fn labels(&self) -> &Column<Labels> {
        &self.nodes.labels
    }

    /// One label key as a column, materialised on first use; none where no node carries the key.
    pub fn label_column(&self, key: &str) -> Option<Arc<LabelColumn>> {
        self.nodes.label_column(key)
    }

    /// 1 where `spec.unschedulable` is true, else 0.
    pub fn unschedulable(&self) -> &Column<u8> {
        &self.nodes.unschedulable
    }

    /// Index of each node's taint set.
    pub fn taint_codes(&self) -> &Column<u32> {
        &self.nodes.taint_codes
    }

    /// The distinct taint sets, by code; set 0 is empty.
    pub fn taint_sets(&self) -> &Column<Arc<Vec<Taint>>> {
        &self.nodes.taint_sets
    }

    /// The columns of a resource; none where no node lists it and no pod on a node asks for it.
    ///
    /// Where only pods name it, that is summed up for this one call.
    pub fn resource(&self, name: &str) -> Option<Cow<'_, Resource>> {
        self.nodes.resource(name)
    }

    /// Whether a resource has columns, as every one has that some node lists.
    pub fn is_listed(&self, name: &str) -> bool {
        self.nodes.resources.contains_key(name)
    }

    /// Names of all resources that some node lists.
    pub fn resource_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.nodes.resources.keys()
    }

    /// Pods on each node.
    pub fn pods(&self) -> &Column<i64> {
        &self.nodes.pods
    }

    /// Foreign pods on each node.
    pub fn foreign_pods(&self) -> &Column<i64> {
        &self.nodes.foreign_pods
    }

    /// `status.allocatable.pods`; 0 where absent.
    pub fn pod_limit(&self) -> &Column<i64> {
        &self.nodes.pod_limit
    }

    /// Pod limit less pods.
    pub fn pod_room(&self) -> &Column<i64> {
        &self.nodes.pod_room
    }

    /// `status.capacity` of the node in a row; empty past the last row.
    pub fn capacity(&self, row: Row) -> Option<&Arc<Amounts>> {
        self.nodes.capacity_codes.get(row).and_then(|code| self.nodes.capacity_sets.get(Row(*code)))
    }

    /// Pending pods for which room is being made on the node of this name, in no order.
    pub fn nominated(&self, node: &str) -> &[Arc<PodRecord>] {
        self.nominated.of(node)
    }

    /// Nodes for which pending pods are nominated, with these pods; some of the nodes may not exist.
    pub fn nominated_nodes(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &[Arc<PodRecord>])> {
        self.nominated.by_node()
    }

    /// The highest priority of a nominated pod; none where no pod is nominated.
    pub fn highest_nominated(&self) -> Option<i32> {
        self.nominated.highest()
    }

    /// Index of each node's set of host ports in use.
    pub fn port_codes(&self) -> &Column<u32> {
        &self.nodes.port_codes
    }

    /// The distinct sets of host ports in use, by code; set 0 is empty.
    pub fn port_sets(&self) -> &Column<Arc<PortUse>> {
        &self.nodes.port_sets
    }

    /// Index of each node's set of declared features.
    pub fn feature_codes(&self) -> &Column<u32> {
        &self.nodes.feature_codes
    }

    /// The distinct sets of declared features, each sorted, by code; set 0 is empty.
    pub fn feature_sets(&self) -> &Column<Arc<Vec<Arc<str>>>> {
        &self.nodes.feature_sets
    }

    /// Per row how many pods a key counts; maintained from the first time on that somebody asks.
    pub fn count(&self, key: &CountKey) -> Column<u32> {
        self.nodes.counts.column(key, &self.nodes.population())
    }

    /// Labels by namespace.
    pub fn namespaces(&self) -> &Namespaces {
        &self.nodes.namespaces
    }

    /// Required anti-affinity terms of pods on nodes that match a pod: per term its topology key, and rows with how
    /// many such terms their pods carry.
    pub fn anti_affinity(&self, namespace: &str, labels: &Labels) -> Vec<MatchedTerm> {
        self.nodes.terms.matching(namespace, labels, &self.nodes.namespaces)
    }

    /// Whether required anti-affinity of a pod, were it on a node, keeps another one away.
    pub fn keeps_away(&self, pod: &PodFacts, other: &PodFacts) -> bool {
        let namespaces = &self.nodes.namespaces;
        pod.anti_affinity_terms.iter().any(|term| terms::is_met_by(term, &other.namespace, &other.labels, namespaces))
    }

    /// The generation at which required anti-affinity of pods on nodes, or what it matches, last changed.
    pub fn anti_affinity_changed(&self) -> Generation {
        self.nodes.terms_changed
    }

    /// Whether a DeviceClass serves this extended resource.
    pub fn device_class_serves(&self, resource: &str) -> bool {
        self.served_by_device_class.contains(resource)
    }

    /// Services and the controllers that make pods.
    pub fn workloads(&self) -> &Workloads {
        &self.workloads
    }

    /// Claims, volumes, classes and what else there is of storage.
    pub fn storage(&self) -> &StorageTable {
        &self.storage
    }

    /// Disks and claims in use by pods on nodes.
    pub fn volume_use(&self) -> &VolumeUse {
        let pods = &self.nodes.volume_pods;
        self.nodes.volume_use.get_or_init(|| match self.below_volumes() {
            Some((below, touched)) => {
                below.volume_use();
                VolumeUse::over(&below.nodes.volume_use, touched, &below.nodes.volume_pods, pods)
            }
            None => VolumeUse::count(pods),
        })
    }

    /// Volumes that CSI drivers have attached, or must attach for pods on nodes.
    pub fn attachments(&self) -> &Attachments {
        let (names, pods) = (&self.nodes.names, &self.nodes.volume_pods);
        self.nodes.attachments.get_or_init(|| match self.below_volumes() {
            Some((below, touched)) => {
                below.attachments();
                Attachments::over(&below.nodes.attachments, touched, names, pods, &self.storage)
            }
            None => Attachments::count(names, pods, &self.storage),
        })
    }

    /// What an overlay was laid over, and the rows it touches, where it changes what is used of volumes.
    fn below_volumes(&self) -> Option<(&Self, &Arc<[Row]>)> {
        let below = self.below.as_deref()?;
        let is_shared = Arc::ptr_eq(&below.nodes.volume_use, &self.nodes.volume_use);
        Some((below, self.touched.as_ref()?)).filter(|_| !is_shared)
    }

    /// The generation at which an interface last changed in any row.
    pub fn last_change(&self, interface: NodeInterface) -> Generation {
        self.nodes.changed.get(interface as usize).copied().unwrap_or(self.generation)
    }

    /// Rows that changed in an interface after `since`, up to this snapshot; a row that now holds another node counts
    /// as changed in all, and so does one that an overlay touches. None where that is too long ago to know.
    pub fn rows_changed(&self, interface: NodeInterface, since: Generation) -> Option<Vec<Row>> {
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        let mut rows = changes.changed(interface, since, self.generation)?;
        if let Some(touched) = &self.touched {
            rows.extend_from_slice(touched);
            rows.sort_unstable();
            rows.dedup();
        }
        Some(rows)
    }

    /// The rows in which this snapshot differs from the cache; none where it does not, because it is no overlay. What is
    /// computed from an overlay must not be kept as if it were true.
    pub fn overlaid_rows(&self) -> Option<&[Row]> {
        self.touched.as_deref()
    }
}
