//! The node table: every fact about nodes as columns over dense rows.
//!
//! [`NodeTable`] is both what the writer changes and what a snapshot shows: cloning it costs a few reference counts.
//! Rows stay dense: the last row moves into the place of a removed one, so that a column can cross whole.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::changes::NodeInterface;
use super::counts::{CountView, Namespaces, PodClass, Population};
use super::labels::{LabelColumn, LabelColumns};
use super::ports::PortUse;
use super::storage::attachments::Attachments;
use super::storage::usage::{VolumePods, VolumeUse};
use super::terms::Terms;
use super::{Column, Generation, Row};
use crate::metadata::{Amounts, Labels, PodRecord};
use crate::object::node::Taint;

/// All columns.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeTable {
    pub(super) rows: Arc<FxHashMap<Arc<str>, Row>>,
    pub(super) names: Column<Arc<str>>,
    /// Rows in the order of names, sorted on first use after nodes came or went.
    pub(super) rows_by_name: Arc<OnceLock<Arc<[Row]>>>,
    pub(super) labels: Column<Labels>,
    pub(super) label_columns: Arc<LabelColumns>,
    pub(super) unschedulable: Column<u8>,
    pub(super) taint_codes: Column<u32>,
    pub(super) taint_sets: Column<Arc<Vec<Taint>>>,
    pub(super) resources: Arc<BTreeMap<Arc<str>, Resource>>,
    pub(super) pods: Column<i64>,
    pub(super) foreign_pods: Column<i64>,
    pub(super) pod_limit: Column<i64>,
    pub(super) pod_room: Column<i64>,
    pub(super) capacity_codes: Column<u32>,
    pub(super) capacity_sets: Column<Arc<Amounts>>,
    pub(super) feature_codes: Column<u32>,
    pub(super) feature_sets: Column<Arc<Vec<Arc<str>>>>,
    /// The classes of the pods on each row, one entry per pod.
    pub(super) pod_classes: Column<Arc<Vec<u32>>>,
    pub(super) classes: Column<Arc<PodClass>>,
    pub(super) counts: Arc<CountView>,
    pub(super) terms: Terms,
    /// When the terms, or what they match, last changed.
    pub(super) terms_changed: Generation,
    /// When each interface about nodes last changed.
    pub(super) changed: [Generation; NodeInterface::ALL.len()],
    pub(super) namespaces: Arc<Namespaces>,
    pub(super) port_codes: Column<u32>,
    pub(super) port_sets: Column<Arc<PortUse>>,
    /// Pods with volumes on each node.
    pub(super) volume_pods: Column<VolumePods>,
    /// What they use, counted on first use after it changed.
    pub(super) volume_use: Arc<OnceLock<VolumeUse>>,
    /// What is attached for them and for others, counted on first use after they or storage objects changed.
    pub(super) attachments: Arc<OnceLock<Attachments>>,
}

/// One resource as columns. What is requested is `allocatable - free`; arithmetic wraps, as Go's does.
#[derive(Debug, Clone)]
pub struct Resource {
    /// `status.allocatable`; 0 where the node does not list it.
    pub allocatable: Column<i64>,
    /// Allocatable less the requests of all pods on the node.
    pub free: Column<i64>,
    /// Requests of foreign pods on the node.
    pub foreign: Column<i64>,
    /// How many nodes list it and how many pods on nodes ask for it; at 0 the resource is dropped.
    pub(super) users: usize,
}

impl Resource {
    fn zeros(rows: usize) -> Self {
        let zeros = Column::filled(rows, &0);
        Self { allocatable: zeros.clone(), free: zeros.clone(), foreign: zeros, users: 0 }
    }
}

impl NodeTable {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn row(&self, name: &str) -> Option<Row> {
        self.rows.get(name).copied()
    }

    pub(super) fn population(&self) -> Population<'_> {
        Population { rows: &self.pod_classes, classes: &self.classes, namespaces: &self.namespaces }
    }

    pub(super) fn label_column(&self, key: &str) -> Option<Arc<LabelColumn>> {
        self.label_columns.column(key, &self.labels)
    }

    pub(super) fn rows_by_name(&self) -> Arc<[Row]> {
        let sort = || {
            let mut named: Vec<(&Arc<str>, Row)> = self.rows.iter().map(|(name, row)| (name, *row)).collect();
            named.sort_unstable();
            named.into_iter().map(|(_, row)| row).collect()
        };
        Arc::clone(self.rows_by_name.get_or_init(sort))
    }

    /// Appends a row of a node that has nothing yet but its name.
    pub(super) fn push(&mut self, name: &Arc<str>) -> Row {
        // A cluster never comes near 2^32 nodes; a row past that would shadow the last one.
        let row = Row(u32::try_from(self.len()).unwrap_or(u32::MAX));
        Arc::make_mut(&mut self.rows).insert(Arc::clone(name), row);
        self.rows_by_name = Arc::default();
        self.names.push(Arc::clone(name));
        self.labels.push(Labels::default());
        Arc::make_mut(&mut self.label_columns).push(&Labels::default());
        self.unschedulable.push(0);
        self.taint_codes.push(0);
        for resource in Arc::make_mut(&mut self.resources).values_mut() {
            resource.allocatable.push(0);
            resource.free.push(0);
            resource.foreign.push(0);
        }
        self.pods.push(0);
        self.foreign_pods.push(0);
        self.pod_limit.push(0);
        self.pod_room.push(0);
        self.capacity_codes.push(0);
        self.feature_codes.push(0);
        self.pod_classes.push(Arc::default());
        self.port_codes.push(0);
        self.volume_pods.push(VolumePods::default());
        self.forget_volume_use();
        row
    }

    /// Takes a row out; the last row moves into its place.
    pub(super) fn swap_remove(&mut self, row: Row) {
        let labels = self.labels.get(row).cloned().unwrap_or_default();
        let label_columns = Arc::make_mut(&mut self.label_columns);
        label_columns.set(row, &labels, &Labels::default());
        label_columns.swap_remove(row);
        let rows = Arc::make_mut(&mut self.rows);
        if let Some(name) = self.names.get(row) {
            rows.remove(name);
        }
        self.rows_by_name = Arc::default();
        self.names.swap_remove(row);
        if let Some(moved) = self.names.get(row) {
            rows.insert(Arc::clone(moved), row);
        }
        self.labels.swap_remove(row);
        self.unschedulable.swap_remove(row);
        self.taint_codes.swap_remove(row);
        for resource in Arc::make_mut(&mut self.resources).values_mut() {
            resource.allocatable.swap_remove(row);
            resource.free.swap_remove(row);
            resource.foreign.swap_remove(row);
        }
        self.pods.swap_remove(row);
        self.foreign_pods.swap_remove(row);
        self.pod_limit.swap_remove(row);
        self.pod_room.swap_remove(row);
        self.capacity_codes.swap_remove(row);
        self.feature_codes.swap_remove(row);
        self.pod_classes.swap_remove(row);
        self.port_codes.swap_remove(row);
        self.volume_pods.swap_remove(row);
        self.forget_volume_use();
    }

    /// What was counted of volumes no longer holds.
    pub(super) fn forget_volume_use(&mut self) {
        self.volume_use = Arc::default();
        self.attachments = Arc::default();
    }

    /// Adds what a pod takes to the row of its node, or takes it away: everything but host ports and the pod's class,
    /// whose codes are given out by whoever keeps their dictionary.
    pub(super) fn change_usage(&mut self, row: Row, pod: &Arc<PodRecord>, change: UserChange) {
        let sign = match change {
            UserChange::More => 1_i64,
            UserChange::Fewer => -1,
        };
        let foreign = pod.ownership.is_foreign();
        for (name, amount) in pod.facts.usage.iter().filter(|(_, amount)| *amount != 0) {
            let delta = amount.wrapping_mul(sign);
            self.change_resource(name, row, change, |resource, row| {
                resource.free.update(row, |value| *value = value.wrapping_sub(delta));
                if foreign {
                    resource.foreign.update(row, |value| *value = value.wrapping_add(delta));
                }
            });
        }
        self.pods.update(row, |pods| *pods += sign);
        self.pod_room.update(row, |room| *room = room.wrapping_sub(sign));
        if foreign {
            self.foreign_pods.update(row, |pods| *pods += sign);
        }
        if !pod.facts.volumes.is_empty() {
            self.change_volume_pods(row, pod, change);
        }
        let more = change == UserChange::More;
        pod.facts.anti_affinity_terms.iter().for_each(|term| self.terms.change(term, row, more));
    }

    /// Adds a pod with volumes to a row, or takes it away.
    fn change_volume_pods(&mut self, row: Row, pod: &Arc<PodRecord>, change: UserChange) {
        self.volume_pods.update(row, |pods| {
            let others = pods.iter().filter(|known| known.uid != pod.uid).cloned();
            let added = (change == UserChange::More).then(|| Arc::clone(pod));
            *pods = others.chain(added).collect();
        });
        self.forget_volume_use();
    }

    pub(super) fn set_labels(&mut self, row: Row, new: &Labels) {
        let old = self.labels.get(row).cloned().unwrap_or_default();
        Arc::make_mut(&mut self.label_columns).set(row, &old, new);
        self.labels.set(row, Arc::clone(new));
    }

    /// Changes one resource of a row, with one user more or fewer of the resource as a whole.
    pub(super) fn change_resource(
        &mut self,
        name: &Arc<str>,
        row: Row,
        users: UserChange,
        change: impl FnOnce(&mut Resource, Row),
    ) {
        let rows = self.len();
        let resources = Arc::make_mut(&mut self.resources);
        let resource = match resources.get_mut(name) {
            Some(resource) => resource,
            None => resources.entry(Arc::clone(name)).or_insert_with(|| Resource::zeros(rows)),
        };
        change(resource, row);
        match users {
            UserChange::More => resource.users += 1,
            UserChange::Fewer => resource.users = resource.users.saturating_sub(1),
        }
        if resource.users == 0 {
            resources.remove(name.as_ref());
        }
    }
}

/// Whether a change adds a user of a resource or takes one away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserChange {
    More,
    Fewer,
}
