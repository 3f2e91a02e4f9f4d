//! Namespaces, ConfigMaps, storage objects and workloads that come, change and go. None of them has a row; each change
//! that has an effect starts a generation.

use super::Writer;
use crate::metadata::{Labels, StorageRecord};
use nodesift_object::{Kind, Workload};

impl Writer {
    /// Adds a storage object, or replaces what is known of the one of its name.
    pub fn apply_storage(&mut self, record: StorageRecord) {
        if self.storage.apply(record) {
            self.storage_changed();
        }
    }

    /// Removes a storage object by its kind and key: `namespace/name` of claims and capacities, the name of others.
    pub fn remove_storage(&mut self, kind: Kind, key: &str) {
        if self.storage.remove(kind, key) {
            self.storage_changed();
        }
    }

    fn storage_changed(&mut self) {
        self.advance_generation();
        self.nodes.storage_changed();
    }

    /// Adds a service or controller, or replaces its selector.
    pub fn apply_workload(&mut self, workload: &Workload) {
        if self.workloads.apply(workload) {
            self.advance_generation();
        }
    }

    /// Removes a service or controller.
    pub fn remove_workload(&mut self, kind: Kind, namespace: &str, name: &str) {
        if self.workloads.remove(kind, namespace, name) {
            self.advance_generation();
        }
    }

    /// Adds a ConfigMap, which is named `namespace/name`, or replaces its entries.
    pub fn apply_config_map(&mut self, name: &str, entries: &Labels) {
        if self.config_maps.insert(name, entries) {
            self.advance_generation();
        }
    }

    /// Removes a ConfigMap by its `namespace/name`.
    pub fn remove_config_map(&mut self, name: &str) {
        if self.config_maps.remove(name) {
            self.advance_generation();
        }
    }

    /// Adds a namespace, or replaces its labels.
    pub fn apply_namespace(&mut self, name: &str, labels: &Labels) {
        if self.nodes.set_namespace(name, labels) {
            self.namespaces_changed();
        }
    }

    /// Removes a namespace; its pods, if any, are in a namespace without labels from then on.
    pub fn remove_namespace(&mut self, name: &str) {
        if self.nodes.remove_namespace(name) {
            self.namespaces_changed();
        }
    }

    fn namespaces_changed(&mut self) {
        self.advance_generation();
        self.nodes.note_anti_affinity_change(self.generation);
        self.counts.namespaces_changed();
    }
}
