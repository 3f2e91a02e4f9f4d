//! The node table: all columns together, over dense rows.
//!
//! [`NodeTable`] is both what the writer changes and what a snapshot shows: a clone costs a few reference counts. Each
//! component keeps its own columns; the table adds and removes rows in all of them, and applies pods to all of them.
//! [`NodeTable::apply`] is the one way in which a pod comes to count on a row, and ceases to. Changes that an overlay makes
//! in a copy of the table are in `overlaid`, what the audit does in `recount`.

mod overlaid;
mod recount;

use std::borrow::Cow;
use std::sync::Arc;

use super::moments::MomentColumns;
use super::named_sums::NamedSums;
use super::node_index::NodeIndex;
use super::non_zero_sums::NonZeroSums;
use super::pod_slots::PodSlots;
use super::ports::{self, PortUse};
use super::resources::{Resource, Resources};
use crate::columns::change_log::NodeInterface;
use crate::columns::labels::NodeLabels;
use crate::columns::sets::{CodedColumn, Sets};
use crate::columns::{Column, Delta, Generation, Row};
use crate::devices::{DeviceTable, Devices, NodeRows};
use crate::metadata::{
    Amounts, AntiAffinityTerm, Conditions, Labels, Moment, Moments, NodeFacts, PodRecord, ScoringTerm, Sums,
};
use crate::objects::volumes::PodVolumes;
use crate::pods::amounts_change::AmountsChange;
use crate::pods::classes::Population;
use crate::pods::controllers::Controllers;
use crate::pods::counts::{CountView, Counts};
use crate::pods::terms::{AntiAffinity, ScoringTerms, Term as _};
use crate::pods::{CountKey, SumKey};
use nodesift_object::node::Taint;

/// All columns of facts about nodes, over dense rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeTable {
    index: NodeIndex,
    labels: NodeLabels,
    /// Annotations that the policy lists.
    annotations: NodeLabels,
    unschedulable: Column<u8>,
    taints: CodedColumn<Vec<Taint>>,
    resources: Resources,
    slots: PodSlots,
    named_sums: NamedSums,
    non_zero_sums: NonZeroSums,
    capacity: CodedColumn<Amounts>,
    features: CodedColumn<Vec<Arc<str>>>,
    conditions: CodedColumn<Conditions>,
    /// Fields that nodes say of themselves, where a policy reads them.
    info: NodeLabels,
    /// Images that are present, where a policy reads them: labels whose values are sizes in bytes, so that an image that was asked for
    /// has a column, which is kept up to date.
    images: NodeLabels,
    moments: MomentColumns,
    ports: CodedColumn<PortUse>,
    population: Population,
    counts: Arc<CountView>,
    anti_affinity: AntiAffinity,
    scoring_terms: ScoringTerms,
    controllers: Controllers,
    volumes: PodVolumes,
    devices: Devices,
    /// When each interface about nodes last changed.
    changed: [Generation; NodeInterface::ALL.len()],
    /// When the anti-affinity terms, or what they match, last changed.
    anti_affinity_changed: Generation,
    /// When the scoring terms, or what they match, last changed.
    scoring_terms_changed: Generation,
}

/// The writer's dictionaries behind the columns of codes.
#[derive(Debug)]
pub(crate) struct Dictionaries {
    taints: Sets<Vec<Taint>>,
    ports: Sets<PortUse>,
    capacity: Sets<Amounts>,
    features: Sets<Vec<Arc<str>>>,
    conditions: Sets<Conditions>,
}

impl Default for Dictionaries {
    fn default() -> Self {
        Self {
            taints: Sets::new(),
            ports: Sets::new(),
            capacity: Sets::new(),
            features: Sets::new(),
            conditions: Sets::new(),
        }
    }
}

/// The codes that a row had, to be given back to the dictionaries.
#[derive(Debug)]
pub(crate) struct RowCodes {
    taints: u32,
    ports: u32,
    capacity: u32,
    features: u32,
    conditions: u32,
}

impl Dictionaries {
    /// Gives back the codes of a row that is removed.
    pub(crate) fn release(&mut self, codes: &RowCodes) {
        self.taints.release(codes.taints);
        self.ports.release(codes.ports);
        self.capacity.release(codes.capacity);
        self.features.release(codes.features);
        self.conditions.release(codes.conditions);
    }
}

/// Readers of the columns.
impl NodeTable {
    /// Names by row, and rows by name.
    pub(crate) fn index(&self) -> &NodeIndex {
        &self.index
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The row of a node.
    pub(crate) fn row(&self, name: &str) -> Option<Row> {
        self.index.row(name)
    }

    /// Labels, and columns of them.
    pub(crate) fn labels(&self) -> &NodeLabels {
        &self.labels
    }

    /// Annotations that the policy lists, and their columns.
    pub(crate) fn annotations(&self) -> &NodeLabels {
        &self.annotations
    }

    /// 1 where `spec.unschedulable` is true, else 0.
    pub(crate) fn unschedulable(&self) -> &Column<u8> {
        &self.unschedulable
    }

    /// Taint sets of `spec.taints`, by row.
    pub(crate) fn taints(&self) -> &CodedColumn<Vec<Taint>> {
        &self.taints
    }

    /// Amounts of `status.capacity`, by row.
    pub(crate) fn capacity(&self) -> &CodedColumn<Amounts> {
        &self.capacity
    }

    /// Features of `status.declaredFeatures`, by row.
    pub(crate) fn features(&self) -> &CodedColumn<Vec<Arc<str>>> {
        &self.features
    }

    /// Conditions of `status.conditions`, by row.
    pub(crate) fn conditions(&self) -> &CodedColumn<Conditions> {
        &self.conditions
    }

    /// `status.nodeInfo` and `spec.providerID`, and their columns.
    pub(crate) fn info(&self) -> &NodeLabels {
        &self.info
    }

    /// `status.images`, and columns of those that were asked for.
    pub(crate) fn images(&self) -> &NodeLabels {
        &self.images
    }

    /// Times that nodes name, in seconds since 1970.
    pub(crate) fn moments(&self) -> &MomentColumns {
        &self.moments
    }

    /// Host ports in use.
    pub(crate) fn ports(&self) -> &CodedColumn<PortUse> {
        &self.ports
    }

    /// Numbers of pods and free pod slots, by row.
    pub(crate) fn slots(&self) -> &PodSlots {
        &self.slots
    }

    /// Resources that nodes advertise.
    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    /// The columns of a resource; `None` where no node advertises it and no pod uses it.
    pub(crate) fn resource(&self, name: &str) -> Option<Cow<'_, Resource>> {
        self.resources.get(name)
    }

    /// Sums under names that the policy chooses.
    pub(crate) fn named_sums(&self) -> &NamedSums {
        &self.named_sums
    }

    /// Usage of pods with that of containers that name none, where a policy reads it.
    pub(crate) fn non_zero_sums(&self) -> &NonZeroSums {
        &self.non_zero_sums
    }

    /// Volumes of the pods on nodes.
    pub(crate) fn volumes(&self) -> &PodVolumes {
        &self.volumes
    }

    /// Pools of devices that nodes see, by row.
    pub(crate) fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Classes of the pods on each row.
    pub(crate) fn population(&self) -> &Population {
        &self.population
    }

    /// Per row how many pods a key counts; `None` once `go_on` returns false.
    pub(crate) fn count(&self, key: &CountKey, go_on: &dyn Fn() -> bool) -> Option<Column<u32>> {
        self.counts.count(key, &self.population, go_on)
    }

    /// Per row what the pods of a key use of its resource; `None` once `go_on` returns false.
    pub(crate) fn sum(&self, key: &SumKey, go_on: &dyn Fn() -> bool) -> Option<Column<i64>> {
        self.counts.sum(key, &self.population, go_on)
    }

    /// Counts and sums over pods by selector, for tests.
    #[cfg(test)]
    pub(crate) fn count_view(&self) -> &CountView {
        &self.counts
    }

    /// Required anti-affinity terms of pods on nodes.
    pub(crate) fn anti_affinity(&self) -> &AntiAffinity {
        &self.anti_affinity
    }

    /// Terms of pods on nodes that count in scores, where a policy reads them.
    pub(crate) fn scoring_terms(&self) -> &ScoringTerms {
        &self.scoring_terms
    }

    /// When the scoring terms, or what they match, last changed.
    pub(crate) fn scoring_terms_changed(&self) -> Generation {
        self.scoring_terms_changed
    }

    /// Pods by their controller, where a policy reads controllers.
    pub(crate) fn controllers(&self) -> &Controllers {
        &self.controllers
    }

    /// When the anti-affinity terms, or what they match, last changed.
    pub(crate) fn anti_affinity_changed(&self) -> Generation {
        self.anti_affinity_changed
    }

    /// When an interface last changed in any row.
    pub(crate) fn last_change(&self, interface: NodeInterface) -> Option<Generation> {
        self.changed.get(interface as usize).copied()
    }
}

/// Changes of rows and of the facts in them.
impl NodeTable {
    /// Appends a row of a node of which only the name is known.
    pub(crate) fn push(&mut self, name: &Arc<str>) -> Row {
        let row = self.index.push(name);
        self.labels.push();
        self.annotations.push();
        self.unschedulable.push(0);
        self.taints.push();
        self.resources.push();
        self.slots.push();
        self.named_sums.push();
        self.non_zero_sums.push();
        self.capacity.push();
        self.features.push();
        self.conditions.push();
        self.info.push();
        self.images.push();
        self.moments.push();
        self.population.push();
        self.ports.push();
        self.volumes.push();
        self.anti_affinity.push();
        self.scoring_terms.push();
        self.controllers.push();
        self.devices.push();
        row
    }

    /// Takes a row out; the last row moves into its place. Its codes are given back by [`Dictionaries::release`]. What is kept of
    /// pods and not by row has moved before: [`Self::move_pods`].
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.labels.swap_remove(row);
        self.annotations.swap_remove(row);
        self.index.swap_remove(row);
        self.unschedulable.swap_remove(row);
        self.taints.swap_remove(row);
        self.resources.swap_remove(row);
        self.slots.swap_remove(row);
        self.named_sums.swap_remove(row);
        self.non_zero_sums.swap_remove(row);
        self.capacity.swap_remove(row);
        self.features.swap_remove(row);
        self.conditions.swap_remove(row);
        self.info.swap_remove(row);
        self.images.swap_remove(row);
        self.moments.swap_remove(row);
        self.population.swap_remove(row);
        self.ports.swap_remove(row);
        self.volumes.swap_remove(row);
        self.anti_affinity.pop();
        self.scoring_terms.pop();
        self.controllers.pop();
        self.devices.swap_remove(row);
    }

    /// The codes of a row.
    pub(crate) fn codes(&self, row: Row) -> RowCodes {
        RowCodes {
            taints: self.taints.code(row),
            ports: self.ports.code(row),
            capacity: self.capacity.code(row),
            features: self.features.code(row),
            conditions: self.conditions.code(row),
        }
    }

    /// Replaces labels; true where that changes something, as with all setters.
    pub(crate) fn set_labels(&mut self, row: Row, labels: &Labels) -> bool {
        self.labels.set(row, labels)
    }

    /// Replaces annotations; true where that changes something.
    pub(crate) fn set_annotations(&mut self, row: Row, annotations: &Labels) -> bool {
        self.annotations.set(row, annotations)
    }

    /// Replaces taints and the mark `spec.unschedulable`.
    pub(crate) fn set_taints(&mut self, row: Row, node: &NodeFacts, dictionaries: &mut Dictionaries) -> bool {
        let flag = u8::from(node.unschedulable);
        let mut changes = self.taints.set(row, node.taints.clone(), &mut dictionaries.taints);
        if self.unschedulable.get(row) != Some(&flag) {
            self.unschedulable.set(row, flag);
            changes = true;
        }
        changes
    }

    /// Replaces `status.capacity`; true where that changes something.
    pub(crate) fn set_capacity(&mut self, row: Row, capacity: &Amounts, dictionaries: &mut Dictionaries) -> bool {
        self.capacity.set(row, capacity.clone(), &mut dictionaries.capacity)
    }

    /// Replaces `status.declaredFeatures`; true where that changes something.
    pub(crate) fn set_features(&mut self, row: Row, node: &NodeFacts, dictionaries: &mut Dictionaries) -> bool {
        self.features.set(row, node.features.clone(), &mut dictionaries.features)
    }

    /// Replaces the conditions; true where that changes something.
    pub(crate) fn set_conditions(&mut self, row: Row, node: &NodeFacts, dictionaries: &mut Dictionaries) -> bool {
        self.conditions.set(row, node.conditions.clone(), &mut dictionaries.conditions)
    }

    /// Replaces what the node says of itself.
    pub(crate) fn set_info(&mut self, row: Row, info: &Labels) -> bool {
        self.info.set(row, info)
    }

    /// Replaces the images that are present.
    pub(crate) fn set_images(&mut self, row: Row, images: &Labels) -> bool {
        self.images.set(row, images)
    }

    /// Replaces the times that the node names, and gives those that have changed.
    pub(crate) fn set_moments(&mut self, row: Row, moments: &Moments) -> Vec<Moment> {
        self.moments.set(row, moments)
    }

    /// Replaces `status.allocatable.pods`; true where that changes something.
    pub(crate) fn set_pod_limit(&mut self, row: Row, limit: i64) -> bool {
        self.slots.set_limit(row, limit)
    }

    /// Replaces what the node adds to named sums.
    pub(crate) fn set_own_sums(&mut self, row: Row, sums: &Sums) -> bool {
        self.named_sums.set_own(row, sums)
    }

    /// Makes columns of the sums of these names, and drops all others; `pods_on` are the pods of a node, by its name.
    pub(crate) fn declare_sums<'a>(
        &mut self,
        names: &[Arc<str>],
        pods_on: impl Fn(&str) -> &'a [Arc<PodRecord>],
    ) -> bool {
        let index = &self.index;
        self.named_sums.declare(names, |row| index.name(row).map_or(&[], |name| pods_on(name)))
    }

    /// A node advertises `new` where it advertised `old`. Resources that no node advertises any more lose their columns;
    /// `pods_on` are the pods of a node, by its name.
    pub(crate) fn set_allocatable<'a>(
        &mut self,
        row: Row,
        new: &Amounts,
        old: &Amounts,
        pods_on: impl Fn(&str) -> &'a [Arc<PodRecord>],
    ) {
        let dropped = self.resources.set_allocatable(row, new, old);
        let index = &self.index;
        self.resources.drop_columns(&dropped, |row| index.name(row).map_or(&[], |name| pods_on(name)));
    }

    /// Brings up to date what nodes see of devices, and gives the rows that see something else than before.
    pub(crate) fn settle_devices(&mut self, table: &mut DeviceTable) -> Vec<Row> {
        let index = &self.index;
        let row = |name: &str| index.row(name);
        let nodes = NodeRows { names: index.names(), labels: self.labels.rows(), row: &row };
        table.settle(nodes, &mut self.devices)
    }

    /// Drops what was derived from storage objects, since they have changed.
    pub(crate) fn storage_changed(&mut self) {
        self.volumes.storage_changed();
    }

    /// Adds a namespace, or replaces its labels.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: &Labels) -> bool {
        self.population.set_namespace(name, labels)
    }

    /// Removes a namespace; true where there was one.
    pub(crate) fn remove_namespace(&mut self, name: &str) -> bool {
        self.population.remove_namespace(name)
    }

    /// Notes when an interface changed.
    pub(crate) fn note_change(&mut self, interface: NodeInterface, generation: Generation) {
        if let Some(changed) = self.changed.get_mut(interface as usize) {
            *changed = generation;
        }
    }

    /// Notes when what terms of pods match, or where they are, changed.
    pub(crate) fn note_terms_change(&mut self, generation: Generation) {
        self.anti_affinity_changed = generation;
        self.scoring_terms_changed = generation;
    }

    /// Notes when terms changed because a pod came to a row, or left it.
    pub(crate) fn note_terms_of(&mut self, pod: &PodRecord, generation: Generation) {
        if !AntiAffinityTerm::of(pod).is_empty() {
            self.anti_affinity_changed = generation;
        }
        if !ScoringTerm::of(pod).is_empty() {
            self.scoring_terms_changed = generation;
        }
    }

    /// The pods of the last row move to another row, as [`Self::swap_remove`] is about to do.
    pub(crate) fn move_pods(&mut self, from: Row, to: Row, pods: &[Arc<PodRecord>]) {
        self.anti_affinity.move_row(from, to, pods);
        self.scoring_terms.move_row(from, to, pods);
        self.controllers.move_row(from, to, pods);
    }
}

/// Changes of pods on rows.
impl NodeTable {
    /// Adds a pod to the row of its node, or removes it: what a snapshot shows of it without a dictionary.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &Arc<PodRecord>) {
        self.resources.apply(delta, row, pod);
        self.slots.apply(delta, row, pod);
        self.named_sums.apply(delta, row, pod);
        self.non_zero_sums.apply(delta, row, pod);
        self.volumes.apply(delta, row, pod);
        self.anti_affinity.apply(delta, row, pod);
        self.scoring_terms.apply(delta, row, pod);
        self.controllers.apply(delta, row, pod);
    }

    /// Changes the amounts of pods of a row to those that they take now, with the same result as removing and adding each by
    /// [`Self::apply`]. Columns that do not depend on amounts stay as they are.
    pub(crate) fn change_amounts(&mut self, row: Row, changes: &[AmountsChange]) {
        self.resources.change_amounts(row, changes);
        self.named_sums.change_amounts(row, changes);
        self.non_zero_sums.change_amounts(row, changes);
    }

    /// Changes the usage of pods of a row in the class counts, like [`Self::change_amounts`] in the columns.
    pub(crate) fn change_usages(&mut self, row: Row, changes: &[AmountsChange], counts: &mut Counts) {
        counts.change_usages(row, changes, &mut self.population);
    }

    /// Adds the host ports of a pod, or removes them.
    pub(crate) fn apply_ports(&mut self, delta: Delta, row: Row, pod: &PodRecord, dictionaries: &mut Dictionaries) {
        let in_use = dictionaries.ports.value(self.ports.code(row));
        let in_use = in_use.map(|in_use| ports::merged(in_use, &pod.facts.host_ports, delta)).unwrap_or_default();
        self.ports.set(row, in_use, &mut dictionaries.ports);
    }

    /// Adds a pod to the class counts, or removes it.
    pub(crate) fn apply_class(&mut self, delta: Delta, row: Row, pod: &PodRecord, counts: &mut Counts) {
        counts.apply(delta, row, pod, &mut self.population);
    }

    /// Takes over the values of the dictionaries and the counts, for the next snapshot.
    pub(crate) fn share(&mut self, dictionaries: &Dictionaries, counts: &mut Counts) {
        self.taints.share_values(&dictionaries.taints);
        self.ports.share_values(&dictionaries.ports);
        self.capacity.share_values(&dictionaries.capacity);
        self.features.share_values(&dictionaries.features);
        self.conditions.share_values(&dictionaries.conditions);
        self.counts = counts.publish(&mut self.population);
    }
}
