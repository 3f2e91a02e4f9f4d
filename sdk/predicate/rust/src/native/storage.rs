//! The storage objects of the fixture, and default ones to start from: [`claim`], [`stored_volume`], [`class`].

use crate::columns::cluster_attachments::{Attachment, Obstacle};
use crate::columns::cluster_storage::{BindingMode, Capacity, Claim, Class, Volume};

/// The storage objects of the cluster.
#[derive(Debug, Clone)]
pub struct Storage {
    /// PersistentVolumeClaims in the pod's namespace.
    pub claims: Vec<Claim>,
    /// PersistentVolumes.
    pub volumes: Vec<Volume>,
    /// StorageClasses.
    pub classes: Vec<Class>,
    /// The name of the default StorageClass.
    pub default_class: Option<String>,
    /// Names of CSIDrivers that report storage capacity.
    pub reporting_drivers: Vec<String>,
    /// CSIStorageCapacities, each with the name of its StorageClass.
    pub capacities: Vec<(String, Capacity)>,
    /// The volumes that the pod would attach to a node with a CSINode, or why they cannot be counted.
    pub wanted: Result<Vec<Attachment>, Obstacle>,
    /// The same for a node without a CSINode.
    pub wanted_unregistered: Result<Vec<Attachment>, Obstacle>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            claims: Vec::new(),
            volumes: Vec::new(),
            classes: Vec::new(),
            default_class: None,
            reporting_drivers: Vec::new(),
            capacities: Vec::new(),
            wanted: Ok(Vec::new()),
            wanted_unregistered: Ok(Vec::new()),
        }
    }
}

impl Storage {
    /// The candidate volumes for a claim in this namespace, sorted by name.
    pub(super) fn volumes_for(&self, namespace: &str, claim: &str) -> Vec<Volume> {
        let Some(claim) = self.claims.iter().find(|known| known.name == claim) else { return Vec::new() };
        let class = claim.class_name.as_deref().unwrap_or_default();
        let is_free = |volume: &Volume| match &volume.claim_ref {
            None => true,
            Some((space, name, uid)) => {
                space == namespace && *name == claim.name && (uid.is_empty() || *uid == claim.uid)
            }
        };
        let free = self.volumes.iter().filter(|volume| volume.class_name == class && is_free(volume));
        let mut free: Vec<Volume> = free.cloned().collect();
        free.sort_by(|a, b| a.name.cmp(&b.name));
        free
    }
}

/// A claim of 1 GiB, unbound and without a class.
#[must_use]
pub fn claim(name: &str) -> Claim {
    Claim {
        name: name.into(),
        uid: format!("uid-{name}"),
        volume_name: String::new(),
        class_name: None,
        access_modes: vec!["ReadWriteOnce".into()],
        requested: Some(GIB),
        volume_mode: "Filesystem".into(),
        attributes_class: String::new(),
        selector: None,
        bind_completed: false,
        selected_node: None,
        phase: "Pending".into(),
        deleting: false,
        controller_uid: None,
        has_data_source: false,
        labels: Vec::new(),
    }
}

/// A free volume of 1 GiB without a class and without node affinity.
#[must_use]
pub fn stored_volume(name: &str) -> Volume {
    Volume {
        name: name.into(),
        class_name: String::new(),
        access_modes: vec!["ReadWriteOnce".into()],
        capacity: GIB,
        volume_mode: "Filesystem".into(),
        attributes_class: String::new(),
        labels: Vec::new(),
        node_terms: None,
        claim_ref: None,
        phase: "Available".into(),
        deleting: false,
        in_tree_plugin: String::new(),
        driver: String::new(),
        handle: Ok(String::new()),
    }
}

/// A class with the binding mode WaitForFirstConsumer and the provisioner `csi.example.com`.
#[must_use]
pub fn class(name: &str) -> Class {
    Class {
        name: name.into(),
        provisioner: "csi.example.com".into(),
        binding_mode: Some(BindingMode::WaitForFirstConsumer),
        allowed_topologies: Vec::new(),
    }
}

/// 1 GiB in bytes.
const GIB: i64 = 1 << 30;
