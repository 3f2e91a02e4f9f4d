//! Storage objects as compiled facts: what the cache keeps of claims, volumes, classes, drivers and attachments.
//!
//! Start with [`storage`], which turns an object into a [`StorageRecord`].

mod compile;

use std::sync::Arc;

pub use compile::storage;

use super::labels::Labels;
use super::volumes::in_tree::InTreeVolume;
use nodesift_object::selector::{LabelSelector, NodeSelector};

/// Compiled facts of a storage object of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageRecord {
    /// Facts of a PersistentVolumeClaim.
    Claim(Claim),
    /// Facts of a PersistentVolume.
    Volume(Volume),
    /// Facts of a StorageClass.
    Class(Class),
    /// Facts of a CSINode.
    Node(CsiNode),
    /// Facts of a CSIDriver.
    Driver(CsiDriver),
    /// Facts of a CSIStorageCapacity.
    Capacity(Capacity),
    /// Facts of a VolumeAttachment.
    Attachment(Attachment),
}

/// A size in billionths of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exact(pub i128);

/// Compiled facts of a PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the contract, `cluster-storage.claim`")]
pub struct Claim {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub volume_name: Arc<str>,
    pub class_name: Option<Arc<str>>,
    pub access_modes: Vec<Arc<str>>,
    pub requested: Option<i64>,
    /// The request as written.
    pub exact_request: Option<Exact>,
    pub volume_mode: Arc<str>,
    pub attributes_class: Arc<str>,
    pub selector: Option<LabelSelector>,
    pub bind_completed: bool,
    pub selected_node: Option<Arc<str>>,
    pub phase: Arc<str>,
    pub deleting: bool,
    pub controller_uid: Option<Arc<str>>,
    pub has_data_source: bool,
    pub labels: Labels,
}

/// Compiled facts of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the contract, `cluster-storage.volume`")]
pub struct Volume {
    pub name: Arc<str>,
    pub class_name: Arc<str>,
    pub access_modes: Vec<Arc<str>>,
    pub capacity: i64,
    /// The capacity as written.
    pub exact_capacity: Exact,
    pub volume_mode: Arc<str>,
    pub attributes_class: Arc<str>,
    pub labels: Labels,
    pub node_selector: Option<NodeSelector>,
    pub claim_ref: Option<(Arc<str>, Arc<str>, Arc<str>)>,
    pub phase: Arc<str>,
    pub deleting: bool,
    pub source: VolumeSource,
}

impl Volume {
    /// Whether no claim has the volume, or only this one. Source: `IsVolumeBoundToClaim` in
    /// k8s.io/component-helpers/storage/volume.
    pub fn is_free_for(&self, claim: &Claim) -> bool {
        self.claim_ref.as_ref().is_none_or(|(namespace, name, uid)| {
            *namespace == claim.namespace && *name == claim.name && (uid.is_empty() || *uid == claim.uid)
        })
    }
}

/// Source of a PersistentVolume, which decides whether a CSI driver attaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeSource {
    /// A volume of a CSI driver.
    Csi {
        /// Name of the CSI driver.
        driver: Arc<str>,
        /// Identifier of the volume at the driver.
        handle: Arc<str>,
    },
    /// An in-tree kind that a CSI driver has replaced.
    InTree(InTreeVolume),
    /// Any other kind; nothing is attached by a CSI driver.
    Other,
}

/// Label keys with the values that a node may have, all of which must hold.
pub(super) type Topology = Vec<(Arc<str>, Vec<Arc<str>>)>;

/// Compiled facts of a StorageClass.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the contract, `cluster-storage.class`")]
pub struct Class {
    pub name: Arc<str>,
    pub provisioner: Arc<str>,
    pub binding_mode: Option<BindingMode>,
    pub allowed_topologies: Vec<Topology>,
    pub is_default: bool,
}

/// When claims of a class are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingMode {
    /// Bound at once. kube-scheduler reads unknown texts as this one.
    Immediate,
    /// When a pod that uses the claim is placed.
    WaitForFirstConsumer,
}

/// Compiled facts of a CSINode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiNode {
    /// Name of the CSINode object, which is that of its node.
    pub name: Arc<str>,
    /// How many volumes of a driver the node can attach; drivers without a limit are left out.
    pub limits: Vec<(Arc<str>, i64)>,
    /// In-tree plugins that CSI drivers replace on this node.
    pub migrated: Vec<Arc<str>>,
    /// Names of the drivers that are registered on the node, sorted.
    pub drivers: Vec<Arc<str>>,
}

impl CsiNode {
    /// Whether a CSI driver replaces this in-tree plugin on the node.
    pub fn migrates(&self, plugin: &str) -> bool {
        self.migrated.iter().any(|migrated| **migrated == *plugin)
    }

    /// Whether a driver is registered on the node.
    pub fn has_driver(&self, driver: &str) -> bool {
        self.drivers.binary_search_by(|known| (**known).cmp(driver)).is_ok()
    }
}

/// Compiled facts of a CSIDriver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiDriver {
    /// Name of the CSIDriver object, which is that of the driver.
    pub name: Arc<str>,
    /// Whether it reports storage capacity.
    pub reports_capacity: bool,
    /// Whether pods with volumes of the driver stay away from nodes that do not have it.
    pub keeps_pods_away: bool,
}

/// Compiled facts of a CSIStorageCapacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// Key of the object, `namespace/name`.
    pub key: Arc<str>,
    /// Name of the StorageClass that the capacity is for.
    pub class_name: Arc<str>,
    /// Capacity in bytes; none where unknown.
    pub bytes: Option<i64>,
    /// How large one volume can be, in bytes; none where unknown.
    pub maximum_volume_bytes: Option<i64>,
    /// The nodes to which it applies; `None`: no node.
    pub node_selector: Option<LabelSelector>,
}

/// Compiled facts of a VolumeAttachment. kube-scheduler counts those that name a driver and a PersistentVolume, and skips all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the VolumeAttachment object.
    pub name: Arc<str>,
    /// Name of the node.
    pub node: Arc<str>,
    /// The driver; empty where the object names none.
    pub driver: Arc<str>,
    /// The PersistentVolume; none where the volume is written in a pod.
    pub volume: Option<Arc<str>>,
}
