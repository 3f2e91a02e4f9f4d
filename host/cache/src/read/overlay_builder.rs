//! Builds the snapshot of an overlay step by step. The caller knows which pods are where; lookups are in `overlay`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Snapshot;
use crate::columns::{Delta, Row};
use crate::metadata::{NodeFacts, PodRecord};
use crate::nodes::nominated::Nominated;
use crate::nodes::table::NodeTable;
use crate::pods::counts::PodChange;

/// A copy of a snapshot in which nodes and pods are changed; [`Self::snapshot`] gives the result.
#[derive(Debug, Clone)]
pub struct OverlayBuilder {
    base: Arc<Snapshot>,
    nodes: NodeTable,
    nominated: Nominated,
    /// Pods that came and went, for counts that are read later.
    changes: Vec<PodChange>,
    touched: BTreeSet<Row>,
}

impl OverlayBuilder {
    /// A builder that starts with this snapshot, which may be an overlay itself.
    pub fn new(snapshot: &Snapshot) -> Self {
        let touched = snapshot.overlaid_rows().unwrap_or_default().iter().copied().collect();
        let (nodes, nominated) = (snapshot.published().nodes.clone(), snapshot.published().nominated.clone());
        Self { base: Arc::new(snapshot.clone()), nodes, nominated, changes: Vec::new(), touched }
    }

    /// The snapshot after the changes so far.
    pub fn snapshot(&self) -> Snapshot {
        let mut nodes = self.nodes.clone();
        if !self.changes.is_empty() || nodes.len() != self.base.node_count() {
            nodes.set_counts_overlaid(&self.base.published().nodes, self.changes.clone());
        }
        self.overlaid(nodes)
    }

    /// Returns the snapshot after the changes so far, like [`Self::snapshot`], but `cluster-*` interfaces count pods as without the
    /// changes: for predicates that read none of these, and cheap however many changes there are.
    pub fn snapshot_of_nodes(&self) -> Snapshot {
        self.overlaid(self.nodes.clone())
    }

    fn overlaid(&self, nodes: NodeTable) -> Snapshot {
        let touched = self.touched.iter().copied().collect();
        self.base.overlaid(nodes, self.nominated.clone(), touched, Some(Arc::clone(&self.base)))
    }

    /// The row of a node.
    pub(super) fn row(&self, node: &str) -> Option<Row> {
        self.nodes.row(node)
    }

    /// Removes a pod that counts on a row.
    pub fn remove(&mut self, row: Row, pod: &Arc<PodRecord>) {
        self.apply(Delta::Remove, row, pod);
    }

    /// Adds a pod to a row on which it does not count yet.
    pub fn add(&mut self, row: Row, pod: &Arc<PodRecord>) {
        self.apply(Delta::Add, row, pod);
    }

    /// Removes a pod from those that are nominated.
    pub(super) fn remove_nominated(&mut self, pod: &Arc<PodRecord>) {
        self.nominated.apply(Delta::Remove, pod);
    }

    fn apply(&mut self, delta: Delta, row: Row, pod: &Arc<PodRecord>) {
        self.nodes.apply(delta, row, pod);
        if !pod.facts.host_ports.is_empty() {
            self.nodes.apply_ports_overlaid(delta, row, pod);
        }
        self.changes.push(NodeTable::pod_change(delta, row, pod));
        self.touched.insert(row);
    }

    /// Adds a node without pods, or replaces what is known of the one of this name; returns its row.
    pub fn set_node(&mut self, node: &NodeFacts) -> Row {
        let row = self.nodes.row(&node.name).unwrap_or_else(|| self.nodes.push(&node.name));
        self.nodes.set_node_overlaid(row, node);
        self.touched.insert(row);
        row
    }
}
