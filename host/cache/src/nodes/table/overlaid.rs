//! Copies of the table that an overlay changes, or that show one node in every row: without the writer's dictionaries.

use std::sync::Arc;

use super::NodeTable;
use crate::columns::sets::CodedColumn;
use crate::columns::{Column, Delta, Row};
use crate::metadata::{NodeFacts, PodRecord};
use crate::nodes::named_sums::{NamedSums, NamedSumsStrip};
use crate::nodes::node_index::NodeIndex;
use crate::nodes::non_zero_sums::{NonZeroSums, NonZeroSumsStrip};
use crate::nodes::pod_slots::{PodSlots, PodSlotsStrip};
use crate::nodes::ports::{self, PortUse};
use crate::nodes::resources::{Resources, ResourcesStrip};
use crate::objects::volumes::PodVolumes;
use crate::pods::classes::Population;
use crate::pods::counts::{CountView, PodChange};

/// Overlays: changes without the writer and its dictionaries.
impl NodeTable {
    /// Adds the host ports of a pod, or removes them.
    pub(crate) fn apply_ports_overlaid(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        let in_use = self.ports.value(row);
        let in_use = in_use.map(|in_use| ports::merged(in_use, &pod.facts.host_ports, delta)).unwrap_or_default();
        self.ports.set_overlaid(row, in_use);
    }

    /// Replaces what is known of a node. How many nodes advertise a resource is not counted, and what none advertises any more keeps
    /// its columns: they read the same as without them.
    pub(crate) fn set_node_overlaid(&mut self, row: Row, node: &NodeFacts) {
        self.labels.set(row, &node.labels);
        self.annotations.set(row, &node.annotations);
        self.info.set(row, &node.info);
        self.images.set(row, &node.images);
        self.moments.set(row, &node.moments);
        self.taints.set_overlaid(row, node.taints.clone());
        self.unschedulable.set(row, u8::from(node.unschedulable));
        self.features.set_overlaid(row, node.features.clone());
        self.conditions.set_overlaid(row, node.conditions.clone());
        self.capacity.set_overlaid(row, node.capacity.clone());
        let old = self.resources.allocatable_of(row);
        self.resources.set_allocatable(row, &node.allocatable, &old);
        self.slots.set_limit(row, node.pod_limit);
        self.named_sums.set_own(row, &node.sums);
        self.devices.set_overlaid(row, &node.name, &node.labels);
    }

    /// The counts of the nodes of `base`, changed by an overlay.
    pub(crate) fn set_counts_overlaid(&mut self, base: &Self, changes: Vec<PodChange>) {
        self.counts = Arc::new(CountView::overlaid(&base.counts, &base.population, changes));
    }

    /// The class of a pod that comes to a row, or leaves it.
    pub(crate) fn pod_change(delta: Delta, row: Row, pod: &Arc<PodRecord>) -> PodChange {
        PodChange::new(delta, row, pod)
    }
}

/// Parts of a table for a strip: one node in every row, with other pods.
impl NodeTable {
    /// Resources of a row, to remove pods from.
    pub(crate) fn resources_strip(&self, row: Row, len: usize) -> ResourcesStrip<'_> {
        ResourcesStrip::new(&self.resources, row, len)
    }

    /// Pod slots of a row, to remove pods from.
    pub(crate) fn slots_strip(&self, row: Row) -> PodSlotsStrip {
        PodSlotsStrip::new(&self.slots, row)
    }

    /// Named sums of a row, to remove pods from.
    pub(crate) fn named_sums_strip(&self, row: Row) -> NamedSumsStrip {
        NamedSumsStrip::new(&self.named_sums, row)
    }

    /// Non-zero sums of a row, to remove pods from.
    pub(crate) fn non_zero_sums_strip(&self, row: Row) -> NonZeroSumsStrip {
        NonZeroSumsStrip::new(&self.non_zero_sums, row)
    }

    /// A table of `len` rows that all show the node of `row`, with these parts, and without `cluster-*` facts.
    pub(crate) fn strip(
        &self,
        row: Row,
        len: usize,
        (resources, named_sums, non_zero_sums): (Resources, NamedSums, NonZeroSums),
        slots: PodSlots,
        ports: CodedColumn<PortUse>,
    ) -> Self {
        let name = self.index.name(row).cloned().unwrap_or_default();
        Self {
            index: NodeIndex::repeated(&name, len),
            labels: self.labels.repeated(row, len),
            annotations: self.annotations.repeated(row, len),
            info: self.info.repeated(row, len),
            images: self.images.repeated(row, len),
            moments: self.moments.repeated(row, len),
            unschedulable: Column::filled(len, &self.unschedulable.get(row).copied().unwrap_or(0)),
            taints: self.taints.repeated(row, len),
            resources,
            named_sums,
            non_zero_sums,
            slots,
            capacity: self.capacity.repeated(row, len),
            features: self.features.repeated(row, len),
            conditions: self.conditions.repeated(row, len),
            ports,
            population: Population::empty(len),
            volumes: PodVolumes::empty(len),
            devices: self.devices.repeated(row, len),
            ..Self::default()
        }
    }
}
