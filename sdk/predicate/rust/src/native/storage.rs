//! The storage objects of the fixture, and default ones to start from: [`claim`], [`stored_volume`], [`class`].

use std::collections::BTreeMap;

use crate::columns::cluster_attachments::{Attachment, Obstacle};
use crate::columns::cluster_storage::{BindingMode, Capacity, Claim, Class, ExactSize, ExactSizes, Volume};

/// The storage objects of the cluster.
#[derive(Debug, Clone)]
pub struct Storage {
    /// PersistentVolumeClaims in the pod's namespace.
    pub claims: Vec<Claim>,
    /// PersistentVolumes of the cluster.
    pub volumes: Vec<Volume>,
    /// StorageClasses of the cluster.
    pub classes: Vec<Class>,
    /// The name of the default StorageClass.
    pub default_class: Option<String>,
    /// Names of CSIDrivers that report storage capacity.
    pub reporting_drivers: Vec<String>,
    /// CSIStorageCapacities, each with the name of its StorageClass.
    pub capacities: Vec<(String, Capacity)>,
    /// Sizes of claims and volumes in billionths of a byte, by name, where they are no whole number of bytes that fits 64 bits.
    pub exact_sizes: BTreeMap<String, i128>,
    /// The volumes that the pod would attach to a node with a CSINode, or why they cannot be counted.
    pub wanted: Result<Vec<Attachment>, Obstacle>,
    /// Volumes that the pod would attach to a node without a CSINode, or why they cannot be counted.
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
            exact_sizes: BTreeMap::new(),
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

    /// The exact sizes of a claim in this namespace and of its candidate volumes.
    pub(super) fn exact_sizes_for(&self, namespace: &str, claim: &str) -> Option<ExactSizes> {
        let known = self.claims.iter().find(|known| known.name == claim)?;
        let volumes = self.volumes_for(namespace, claim);
        let capacities = volumes.iter().map(|volume| exact(&self.exact_sizes, &volume.name, volume.capacity)).collect();
        let requested = exact(&self.exact_sizes, &known.name, known.requested.unwrap_or(0));
        Some(ExactSizes { requested, capacities })
    }
}

/// The exact size of a whole number of bytes, or the one that is set for this name.
fn exact(sizes: &BTreeMap<String, i128>, name: &str, bytes: i64) -> ExactSize {
    let size = sizes.get(name).copied().unwrap_or(i128::from(bytes) * 1_000_000_000);
    let (high, low) = (size >> 64, size & i128::from(u64::MAX));
    ExactSize { high: i64::try_from(high).unwrap_or(i64::MAX), low: u64::try_from(low).unwrap_or(u64::MAX) }
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
