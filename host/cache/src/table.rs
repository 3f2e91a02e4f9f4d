//! The node table: every fact about nodes as columns over dense rows.
//!
//! [`NodeTable`] is both what the writer changes and what a snapshot shows: cloning it costs a few reference counts.
//! Rows stay dense: the last row moves into the place of a removed one, so that a column can cross whole.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::changes::NodeInterface;
use super::counts::{CountView, Namespaces, PodClass, Population};
use super::labels::{LabelColumn, LabelColumns};
use super::ports::PortUse;
use super::storage::attachments::Attachments;
use super::storage::usage::{VolumePods, VolumeUse};
use super::terms::Terms;
use super::unlisted::{Unlisted, amount_of};
use super::{Column, Generation, Row};
use crate::metadata::{Amounts, Labels, PodRecord};
use nodesift_object::node::Taint;

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
    /// Of every resource that some node lists.
    pub(super) resources: Arc<BTreeMap<Arc<str>, Resource>>,
    /// Pods that take something else.
    pub(super) unlisted: Unlisted,
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
    /// How many nodes list it.
    pub(super) listers: usize,
}

impl Resource {
    fn zeros(rows: usize) -> Self {
        let zeros = Column::filled(rows, &0);
        Self { allocatable: zeros.clone(), free: zeros.clone(), foreign: zeros, listers: 0 }
    }

    /// A pod on a row takes so much more.
    fn take(&mut self, row: Row, amount: i64, is_foreign: bool) {
        self.free.update(row, |free| *free = free.wrapping_sub(amount));
        if is_foreign {
            self.foreign.update(row, |foreign| *foreign = foreign.wrapping_add(amount));
        }
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
        self.unlisted.push();
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
        self.unlisted.swap_remove(row);
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
        let resources = Arc::make_mut(&mut self.resources);
        let mut takes_unlisted = false;
        for (name, amount) in pod.facts.usage.iter().filter(|(_, amount)| *amount != 0) {
            match resources.get_mut(name) {
                Some(resource) => resource.take(row, amount.wrapping_mul(sign), foreign),
                None => takes_unlisted = true,
            }
        }
        match change {
            UserChange::More if takes_unlisted => self.unlisted.add(row, pod),
            UserChange::Fewer if takes_unlisted => self.unlisted.remove(row, pod),
            _ => {}
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

    /// A node lists `new` as allocatable where it listed `old`. Returns what no node lists any more: its columns stay until
    /// they are dropped, and read the same as without them.
    pub(super) fn change_allocatable(&mut self, row: Row, new: &Amounts, old: &Amounts) -> Vec<Arc<str>> {
        let is_missing = |name: &&Arc<str>| !self.resources.contains_key(*name);
        let missing: Vec<Arc<str>> = new.iter().map(|(name, _)| name).filter(is_missing).cloned().collect();
        self.make_columns(&missing);
        let resources = Arc::make_mut(&mut self.resources);
        let mut unlisted = Vec::new();
        // New amounts first, so that a resource both lists name stays listed.
        for (amounts, sign) in [(new, 1), (old, -1_i64)] {
            for (name, amount) in amounts {
                let Some(resource) = resources.get_mut(name) else { continue };
                let delta = amount.wrapping_mul(sign);
                resource.allocatable.update(row, |value| *value = value.wrapping_add(delta));
                resource.free.update(row, |value| *value = value.wrapping_add(delta));
                resource.listers = resource.listers.saturating_add_signed(if sign > 0 { 1 } else { -1 });
                if resource.listers == 0 {
                    unlisted.push(Arc::clone(name));
                }
            }
        }
        unlisted
    }

    /// Makes columns of resources that have none: what pods take of them is counted.
    pub(super) fn make_columns(&mut self, names: &[Arc<str>]) {
        if names.is_empty() {
            return;
        }
        let resources = Arc::make_mut(&mut self.resources);
        for name in names {
            let made = sum_of(&self.unlisted, name).unwrap_or_else(|| Resource::zeros(self.names.len()));
            resources.insert(Arc::clone(name), made);
        }
        let mut rows: Vec<Row> = self.unlisted.iter().map(|(row, _)| row).collect();
        rows.dedup();
        for row in rows {
            let pods = self.unlisted.of_row(row).iter().filter(|pod| self.takes_unlisted(pod)).cloned().collect();
            self.unlisted.set(row, pods);
        }
    }

    /// Drops the columns of resources that no node lists; `pods_on` are the pods of a node, by its name.
    pub(super) fn drop_columns<'a>(&mut self, names: &[Arc<str>], pods_on: impl Fn(&str) -> &'a [Arc<PodRecord>]) {
        if names.is_empty() {
            return;
        }
        let resources = Arc::make_mut(&mut self.resources);
        let mut taken: BTreeSet<Row> = BTreeSet::new();
        for resource in names.iter().filter_map(|name| resources.remove(name)) {
            let amounts = resource.free.iter().zip(resource.foreign.iter());
            taken.extend((0..).map(Row).zip(amounts).filter(|(_, amounts)| *amounts != (&0, &0)).map(|(row, _)| row));
        }
        for row in taken {
            let pods = self.names.get(row).map_or(&[][..], |name| pods_on(name));
            let pods = pods.iter().filter(|pod| self.takes_unlisted(pod)).cloned().collect();
            self.unlisted.set(row, pods);
        }
    }

    /// Whether a pod takes something that has no columns.
    pub(super) fn takes_unlisted(&self, pod: &PodRecord) -> bool {
        let mut taken = pod.facts.usage.iter().filter(|(_, amount)| *amount != 0);
        taken.any(|(name, _)| !self.resources.contains_key(name))
    }

    /// The columns of a resource; made for whoever asks where only pods name it. None where nobody does.
    pub(super) fn resource(&self, name: &str) -> Option<Cow<'_, Resource>> {
        match self.resources.get(name) {
            Some(resource) => Some(Cow::Borrowed(resource)),
            None => sum_of(&self.unlisted, name).map(Cow::Owned),
        }
    }
}

/// What pods take of a resource that has no columns; none where none takes any of it.
fn sum_of(unlisted: &Unlisted, name: &str) -> Option<Resource> {
    let mut sum = None;
    for (row, pod) in unlisted.iter() {
        let amount = amount_of(&pod.facts.usage, name);
        if amount != 0 {
            let resource = sum.get_or_insert_with(|| Resource::zeros(unlisted.row_count()));
            resource.take(row, amount, pod.ownership.is_foreign());
        }
    }
    sum
}

/// Whether a change adds a pod, or takes one away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserChange {
    More,
    Fewer,
}
