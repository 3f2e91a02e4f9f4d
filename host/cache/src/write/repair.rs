//! Repair: a node is recounted from its pods and labels, and its columns are made to equal the recount.
//!
//! The audit does this for all nodes in turns ([`Writer::repair_row`]), and a publication for nodes whose change was
//! interrupted ([`Writer::repair_interrupted`]), so that no snapshot shows a part of it.

use std::sync::Arc;

use super::Writer;
use crate::columns::drift::Drift;
use crate::columns::{Delta, DriftReport, Row};
use crate::metadata::PodRecord;

impl Writer {
    /// Recounts a row and repairs what differs.
    pub(crate) fn repair_row(&mut self, row: Row) -> Vec<Drift> {
        let Some(node) = self.nodes.index().name(row).map(Arc::clone) else { return Vec::new() };
        let found = self.drop_unindexed(&node);
        let pods = self.placement.on(&node).to_vec();
        let mut report = DriftReport::new(Arc::clone(&node), found);
        let advertised = &self.advertised;
        self.nodes.repair(
            row,
            advertised.get(&node),
            |resource| advertised.advertisers(resource),
            &pods,
            (&mut self.dictionaries, &mut self.counts),
            &mut report,
        );
        let found = report.into_found();
        if !found.is_empty() {
            self.record_all(row);
        }
        found
    }

    /// Places pods of the index that are not on their nodes, or not nominated for them. Pods that have changed since they
    /// were looked up are left out.
    pub(crate) fn repair_pods(&mut self, pods: &[Arc<PodRecord>]) -> Vec<Drift> {
        let mut found = Vec::new();
        for pod in pods {
            let Some(node) = pod.bound_or_nominated_node() else { continue };
            if !self.pods.holds(pod) || self.placement.holds(pod) {
                continue;
            }
            found.push(Drift::for_pod(node, pod, "not counted", "known"));
            self.advance_generation();
            self.pods.count_from(&pod.uid, self.generation);
            self.place(Delta::Add, pod);
            // Some of it may have been counted already.
            if let Some(row) = pod.node_name.as_ref().and_then(|node| self.nodes.row(node)) {
                found.extend(self.repair_row(row));
            }
        }
        found
    }

    /// Repairs nodes whose change was interrupted, once for each interruption.
    pub(super) fn repair_interrupted(&mut self) {
        // Taken out first: where the repair itself fails, the audit is left to find the drift, and all else goes on.
        let interrupted = self.placement.take_unfinished();
        self.repair_nodes(interrupted);
    }

    /// Repairs nodes whose change was interrupted.
    pub(super) fn repair_nodes(&mut self, mut nodes: Vec<Arc<str>>) {
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            let mut found = self.repair_pods(&self.pods.for_node(&node));
            found.extend(match self.nodes.row(&node) {
                Some(row) => self.repair_row(row),
                None => self.drop_unindexed(&node),
            });
            found.iter().for_each(|drift| tracing::error!(%drift, "cache change interrupted, drift repaired"));
        }
    }

    /// Removes unindexed pods: those that are on a node, or nominated for it, and are not what the pod index holds.
    pub(crate) fn drop_unindexed(&mut self, node: &Arc<str>) -> Vec<Drift> {
        let all = self.placement.on(node).iter().chain(self.placement.nominated().for_node(node));
        let unindexed: Vec<Arc<PodRecord>> = all.filter(|pod| !self.pods.holds(pod)).map(Arc::clone).collect();
        let mut found = Vec::new();
        for pod in unindexed {
            found.push(Drift::for_pod(node, &pod, "counted", "unknown"));
            self.advance_generation();
            self.place(Delta::Remove, &pod);
        }
        found
    }

    /// Names of nodes that pods are on or nominated for, and that are not known.
    pub(crate) fn unknown_nodes(&self) -> Vec<Arc<str>> {
        let named = self.placement.nominated().by_node().map(|(node, _)| node).chain(self.placement.nodes());
        named.filter(|node| self.nodes.row(node).is_none()).cloned().collect()
    }
}
