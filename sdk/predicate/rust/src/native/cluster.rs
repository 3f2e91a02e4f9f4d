//! The fixture: a small cluster of plain values. Start at [`Cluster`].
//!
//! This file holds the values and their builders. `batch` presents them as facts, `evaluate` runs predicates on them.

use std::collections::{BTreeMap, BTreeSet};

use super::node::Node;
use super::pod::Pod;
use super::storage::Storage;
use crate::columns::node_devices::DeviceColumns;
use crate::columns::node_parties::PartyColumn;

/// The pod being filtered, nodes, and the cluster-wide objects that predicates read.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    pub(super) pod: Pod,
    pub(super) nodes: Vec<Node>,
    pub(super) device_classes: BTreeSet<String>,
    pub(super) namespaces: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) storage: Storage,
    pub(super) now: i64,
    pub(super) config_maps: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) devices: Option<DeviceColumns>,
    pub(super) parties: Vec<PartyColumn>,
}

impl Cluster {
    /// A cluster without nodes.
    #[must_use]
    pub fn new(pod: Pod) -> Self {
        Self { pod, ..Self::default() }
    }

    /// Adds a node to the cluster.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// Adds a DeviceClass that provides an extended resource.
    #[must_use]
    pub fn device_class(mut self, resource: &str) -> Self {
        self.device_classes.insert(resource.into());
        self
    }

    /// Adds a Namespace object with these labels. Pods can be in namespaces that have no object.
    #[must_use]
    pub fn namespace(mut self, name: &str, labels: &[(&str, &str)]) -> Self {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        self.namespaces.insert(name.into(), labels);
        self
    }

    /// Sets the time of the evaluation, in seconds since 1970-01-01T00:00:00Z; without this, it is 0.
    #[must_use]
    pub fn at(mut self, now: i64) -> Self {
        self.now = now;
        self
    }

    /// Adds an entry to a ConfigMap, which is named `namespace/name` and listed by the policy.
    #[must_use]
    pub fn config_entry(mut self, config_map: &str, key: &str, value: &str) -> Self {
        self.config_maps.entry(config_map.into()).or_default().insert(key.into(), value.into());
        self
    }

    /// Sets the storage objects.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }
}
