//! Comparisons of objects in the cache with what a source says of them.

use std::sync::Arc;

use super::Writer;
use crate::metadata::{ClaimRecord, ClassRecord, Labels, NodeFacts, PodRecord, StorageRecord};
use nodesift_object::Workload;

impl Writer {
    /// Whether this is what is held of a node.
    pub fn holds_node(&self, node: &NodeFacts) -> bool {
        let Some(row) = self.nodes.row(&node.name) else { return false };
        self.advertised.of(&node.name) == node.allocatable.as_slice()
            && self.nodes.holds(row, node, &self.dictionaries)
            && self.holds_sums(node, row)
    }

    /// Whether this is what is held of a pod: of an assumed one, what the watch has shown of it. Its ownership stays what it was
    /// first, whatever the pod says now.
    pub fn holds_pod(&self, pod: &PodRecord) -> bool {
        let Some(held) = self.pods.by_uid(&pod.uid) else { return false };
        let owned;
        let pod = if held.ownership == pod.ownership {
            pod
        } else {
            owned = pod.owned(held.ownership);
            &owned
        };
        let pod = Arc::new(pod.clone());
        let pod = self.accounted(&pod);
        match self.assumption(&pod.uid) {
            Some(assumption) => assumption.shows(&pod),
            None => held == *pod,
        }
    }

    /// Whether these are the labels that are held of a namespace.
    pub fn holds_namespace(&self, name: &str, labels: &Labels) -> bool {
        self.nodes.population().namespaces().get(name) == Some(labels)
    }

    /// Whether these are the entries that are held of a ConfigMap.
    pub fn holds_config_map(&self, name: &str, entries: &Labels) -> bool {
        self.config_maps.holds(name, entries)
    }

    /// Whether this is what is held of a DeviceClass.
    pub fn holds_device_class(&self, record: &ClassRecord) -> bool {
        self.claims.holds_class(record)
    }

    /// Whether this is what is held of a ResourceClaim.
    pub fn holds_resource_claim(&self, record: &ClaimRecord) -> bool {
        self.claims.holds(record)
    }

    /// Whether this is what is held of a service or controller.
    pub fn holds_workload(&self, workload: &Workload) -> bool {
        self.workloads.holds(workload)
    }

    /// Whether this is what is held of a storage object.
    pub fn holds_storage(&self, record: &StorageRecord) -> bool {
        self.storage.holds(record)
    }
}
