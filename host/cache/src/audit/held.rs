//! What is held, compared with what a source says.

use std::sync::Arc;

use crate::metadata::{Labels, NodeFacts, PodRecord, StorageRecord};
use crate::{Column, Writer};
use nodesift_object::Workload;

impl Writer {
    /// Whether this is what is held of a node.
    pub fn holds_node(&self, node: &NodeFacts) -> bool {
        let Some(row) = self.nodes.row(&node.name) else { return false };
        let code = |codes: &Column<u32>| codes.get(row).copied().unwrap_or(0);
        self.nodes.labels.get(row) == Some(&node.labels)
            && self.nodes.unschedulable.get(row) == Some(&u8::from(node.unschedulable))
            && self.nodes.pod_limit.get(row) == Some(&node.pod_limit)
            && self.listed_allocatable(&node.name) == node.allocatable.as_slice()
            && self.capacities.value(code(&self.nodes.capacity_codes)).is_some_and(|held| **held == node.capacity)
            && self.taints.value(code(&self.nodes.taint_codes)).is_some_and(|held| **held == node.taints)
            && self.features.value(code(&self.nodes.feature_codes)).is_some_and(|held| **held == node.features)
    }

    /// Whether this is what is held of a pod.
    pub fn holds_pod(&self, pod: &PodRecord) -> bool {
        match self.assumption(&pod.uid) {
            Some(assumption) => assumption.truth.as_ref().is_some_and(|truth| **truth == *pod),
            None => self.pods.by_uid(&pod.uid).is_some_and(|held| *held == *pod),
        }
    }

    /// Whether these are the labels that are held of a namespace.
    pub fn holds_namespace(&self, name: &str, labels: &Labels) -> bool {
        self.nodes.namespaces.get(name) == Some(labels)
    }

    /// Whether this is what is held of a DeviceClass.
    pub fn holds_device_class(&self, name: &str, serves: &[Arc<str>]) -> bool {
        self.device_classes.get(name).is_some_and(|held| held == serves)
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
