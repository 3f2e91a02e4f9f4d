//! Strips: one node, row by row with fewer pods, so that one call of a pointwise predicate answers how many pods have to be
//! removed. Start with [`Snapshot::without_one_by_one`].

use std::sync::Arc;

use super::Snapshot;
use crate::columns::sets::CodedColumn;
use crate::columns::{Delta, Row};
use crate::metadata::PodRecord;
use crate::nodes::PortUse;
use crate::nodes::named_sums::NamedSumsStrip;
use crate::nodes::non_zero_sums::NonZeroSumsStrip;
use crate::nodes::pod_slots::PodSlotsStrip;
use crate::nodes::ports;
use crate::nodes::resources::ResourcesStrip;
use crate::nodes::table::NodeTable;

impl Snapshot {
    /// A snapshot in which every row is the node of `row`: row k is the node without its pods `victims[..=start + k]`, where
    /// `None` is a pod that does not count there. It has a row for every victim from `start` on, each made from the one
    /// before.
    ///
    /// It shows the facts of `node-*` interfaces, and nothing of `cluster-*`; looking the name up finds the first row. Facts
    /// of `node-*` interfaces about the cluster as a whole, such as the label texts that exist, are as in this snapshot.
    #[must_use]
    pub fn without_one_by_one(&self, row: Row, victims: &[Option<Arc<PodRecord>>], start: usize) -> Self {
        let rows = victims.len().saturating_sub(start);
        let nodes = &self.published().nodes;
        let mut strip = Strip::new(nodes, row, rows);
        for (index, victim) in victims.iter().enumerate() {
            if let Some(victim) = victim {
                strip.remove(victim);
            }
            if index >= start {
                strip.push();
            }
        }
        // There are never more victims than pods, and a node never comes near 2^32 of them.
        let touched = (0..u32::try_from(rows).unwrap_or(u32::MAX)).map(Row).collect();
        self.overlaid(strip.table(nodes, row, rows), self.published().nominated.clone(), touched, None)
    }
}

/// The node after the victims so far, and the columns of the rows so far.
struct Strip<'a> {
    resources: ResourcesStrip<'a>,
    slots: PodSlotsStrip,
    named_sums: NamedSumsStrip,
    non_zero_sums: NonZeroSumsStrip,
    ports: PortUse,
    port_codes: Vec<u32>,
    /// Distinct sets of ports, the empty one first.
    port_sets: Vec<Arc<PortUse>>,
    /// Whether the ports differ from the last set.
    ports_changed: bool,
}

impl<'a> Strip<'a> {
    fn new(nodes: &'a NodeTable, row: Row, rows: usize) -> Self {
        let ports = nodes.ports().value(row).map(|set| (**set).clone()).unwrap_or_default();
        Self {
            resources: nodes.resources_strip(row, rows),
            slots: nodes.slots_strip(row),
            named_sums: nodes.named_sums_strip(row),
            non_zero_sums: nodes.non_zero_sums_strip(row),
            port_codes: Vec::with_capacity(rows),
            port_sets: vec![Arc::default()],
            ports_changed: !ports.is_empty(),
            ports,
        }
    }

    fn remove(&mut self, pod: &PodRecord) {
        self.resources.remove(pod);
        self.slots.remove(pod);
        self.named_sums.remove(pod);
        self.non_zero_sums.remove(pod);
        if !pod.facts.host_ports.is_empty() {
            self.ports = ports::merged(&self.ports, &pod.facts.host_ports, Delta::Remove);
            self.ports_changed = true;
        }
    }

    fn push(&mut self) {
        self.resources.push();
        self.slots.push();
        self.named_sums.push();
        self.non_zero_sums.push();
        if self.ports_changed {
            self.ports_changed = false;
            self.port_sets.push(Arc::new(self.ports.clone()));
        }
        // A set for every row at most.
        self.port_codes.push(u32::try_from(self.port_sets.len() - 1).unwrap_or(u32::MAX));
    }

    fn table(self, nodes: &NodeTable, row: Row, rows: usize) -> NodeTable {
        let ports = CodedColumn::new(self.port_codes, self.port_sets);
        let amounts = (self.resources.finish(), self.named_sums.finish(), self.non_zero_sums.finish());
        nodes.strip(row, rows, amounts, self.slots.finish(), ports)
    }
}
