//! Nodes that come, change and go. Start with `apply_node`.

use std::sync::Arc;

use super::Writer;
use super::failpoint::step;
use crate::columns::change_log::NodeInterface;
use crate::columns::{Delta, Row};
use crate::metadata::{Amounts, NodeFacts};

impl Writer {
    /// Adds a node, or replaces what is known of the node of that name.
    pub(super) fn apply_node(&mut self, node: &NodeFacts) {
        let name = &node.name;
        let begun = self.placement.begin([name]);
        if self.nodes.row(name).is_none_or(|row| self.nodes.labels().rows().get(row) != Some(&node.labels)) {
            self.devices.node_changed(name);
        }
        let (row, is_new) = match self.nodes.row(name) {
            Some(row) => (row, false),
            None => {
                self.drop_unindexed(name);
                self.counts.push();
                (self.nodes.push(name), true)
            }
        };
        if is_new {
            self.record_all(row);
        }
        step();
        self.set_facts(row, node);
        step();
        if is_new {
            for pod in self.placement.on(name).to_vec() {
                self.apply_to_row(Delta::Add, row, &pod);
            }
        }
        self.placement.end(begun);
    }

    /// Removes a node. Its pods stay known, and count again once a node of that name appears; pods that were only assumed
    /// on it are pending again.
    pub(super) fn remove_node(&mut self, name: &str) {
        // A row is about to move: what the columns hold of it must equal the sum of its pods.
        self.repair_nodes(self.placement.unfinished());
        self.placement.take_unfinished();
        let Some(row) = self.nodes.row(name) else { return };
        self.note_removed_node(name);
        let name: &Arc<str> = &Arc::from(name);
        self.leave_watermarks(name);
        let begun = self.placement.begin([name]);
        self.devices.node_changed(name);
        self.revert_assumed_on(name);
        for pod in self.placement.on(name).to_vec() {
            self.apply_to_row(Delta::Remove, row, &pod);
        }
        let (nodes, placement) = (&mut self.nodes, &self.placement);
        let pods_on = |node: &str| placement.on(node);
        self.advertised.remove(name, |old| nodes.set_allocatable(row, &Amounts::default(), old, pods_on));
        let codes = self.nodes.codes(row);
        // Two rows change: the one that now holds another node, and the last one, which no longer exists.
        let last = Row(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX));
        if last != row
            && let Some(moved) = self.nodes.index().name(last)
        {
            let pods = self.placement.on(moved).to_vec();
            self.nodes.move_pods(last, row, &pods);
        }
        self.nodes.swap_remove(row);
        self.counts.swap_remove(row);
        // Only now, so that a removal that is tried once more gives nothing back twice.
        self.dictionaries.release(&codes);
        self.record_all(row);
        self.record_all(last);
        self.placement.end(begun);
    }

    fn set_facts(&mut self, row: Row, node: &NodeFacts) {
        if self.nodes.set_labels(row, &node.labels) {
            self.record(NodeInterface::Labels, row);
            // Terms count only where some node carries their topology key.
            self.nodes.note_terms_change(self.generation);
        }
        if self.nodes.set_annotations(row, &node.annotations) {
            self.record(NodeInterface::Annotations, row);
        }
        if self.nodes.set_taints(row, node, &mut self.dictionaries) {
            self.record(NodeInterface::Taints, row);
        }
        if self.set_allocatable(row, node) {
            self.record(NodeInterface::Resources, row);
        }
        let sums = self.sums_of(node, row);
        if self.nodes.set_own_sums(row, &sums) {
            self.record(NodeInterface::Resources, row);
        }
        if self.nodes.set_capacity(row, &node.capacity, &mut self.dictionaries) {
            // No fact interface shows it: no row has changed for a predicate.
            self.advance_generation();
        }
        if self.nodes.set_features(row, node, &mut self.dictionaries) {
            self.record(NodeInterface::Features, row);
        }
        if self.nodes.set_conditions(row, node, &mut self.dictionaries) {
            self.record(NodeInterface::Conditions, row);
        }
        if self.nodes.set_info(row, &node.info) {
            self.record(NodeInterface::Info, row);
        }
        if self.nodes.set_images(row, &node.images) {
            self.record(NodeInterface::Images, row);
        }
        for moment in self.nodes.set_moments(row, &node.moments) {
            self.record(NodeInterface::for_moment(moment), row);
        }
    }

    /// Replaces what a node advertises; true where that changes something.
    fn set_allocatable(&mut self, row: Row, node: &NodeFacts) -> bool {
        let mut changed = false;
        let (nodes, placement) = (&mut self.nodes, &self.placement);
        let pods_on = |node: &str| placement.on(node);
        self.advertised.replace(&node.name, &node.allocatable, |old| {
            nodes.set_allocatable(row, &node.allocatable, old, pods_on);
            changed = true;
        });
        self.nodes.set_pod_limit(row, node.pod_limit) || changed
    }
}
