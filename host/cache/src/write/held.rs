//! Comparisons of nodes and pods in the cache with what a source says of them.

use std::sync::Arc;

use super::Writer;
use crate::metadata::{NodeFacts, PodRecord};

impl Writer {
    /// Whether this is what is held of a node.
    pub(super) fn holds_node(&self, node: &NodeFacts) -> bool {
        let Some(row) = self.nodes.row(&node.name) else { return false };
        self.advertised.get(&node.name) == node.allocatable.as_slice()
            && self.nodes.holds(row, node, &self.dictionaries)
            && self.holds_sums(node, row)
    }

    /// Whether this is what is held of a pod: of an assumed one, what the watch has shown of it. Its ownership stays what it was
    /// first, whatever the pod says now.
    pub(super) fn holds_pod(&self, pod: &PodRecord) -> bool {
        let Some(held) = self.pods.by_uid(&pod.uid) else { return false };
        let owned;
        let pod = if held.ownership == pod.ownership {
            pod
        } else {
            owned = pod.owned(held.ownership);
            &owned
        };
        let pod = Arc::new(pod.clone());
        let pod = self.as_counted(&pod);
        match self.assumption(&pod.uid) {
            Some(assumption) => assumption.shows(&pod),
            None => held == *pod,
        }
    }
}
