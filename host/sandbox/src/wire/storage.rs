//! Storage objects as a guest reads them. The contract documents the types under the same names.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

use super::pod::Term;
use super::selectors::LabelSelector;

/// `cluster-volume-use.disk-user`: a use of a disk by a pod on a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct DiskUser {
    pub row: u32,
    #[component(name = "read-only")]
    pub read_only: bool,
    pub monitors: Vec<Arc<str>>,
}

/// `cluster-attachments.attachment`: a volume of a CSI driver.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lift, Lower)]
#[component(record)]
pub struct Attachment {
    pub driver: String,
    pub handle: String,
}

/// `cluster-attachments.obstacle`: the reason why the volumes of a pod cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum Obstacle {
    #[component(name = "unnamed-claim")]
    UnnamedClaim,
    #[component(name = "missing-claim")]
    MissingClaim(Arc<str>),
    #[component(name = "foreign-claim")]
    ForeignClaim(Arc<str>),
    #[component(name = "untranslatable")]
    Untranslatable((Arc<str>, Arc<str>)),
}

/// `cluster-attachments.uncounted-pod`: a pod on a node whose volumes cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct UncountedPod {
    pub row: u32,
    pub namespace: Arc<str>,
    pub pod: Arc<str>,
    pub obstacle: Obstacle,
}

/// `cluster-storage.binding-mode`: `volumeBindingMode` of a StorageClass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum BindingMode {
    #[component(name = "immediate")]
    Immediate,
    #[component(name = "wait-for-first-consumer")]
    WaitForFirstConsumer,
}

/// `cluster-storage.exact-size`: an exact size in billionths of a byte, `high` × 2^64 + `low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ExactSize {
    pub high: i64,
    pub low: u64,
}

/// `cluster-storage.exact-sizes`: the exact sizes of a claim and of its candidate volumes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ExactSizes {
    pub requested: ExactSize,
    pub capacities: Vec<ExactSize>,
}

/// `cluster-storage.claim`: a PersistentVolumeClaim as predicates see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Claim {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    #[component(name = "volume-name")]
    pub volume_name: Arc<str>,
    #[component(name = "class-name")]
    pub class_name: Option<Arc<str>>,
    #[component(name = "access-modes")]
    pub access_modes: Vec<Arc<str>>,
    pub requested: Option<i64>,
    #[component(name = "volume-mode")]
    pub volume_mode: Arc<str>,
    #[component(name = "attributes-class")]
    pub attributes_class: Arc<str>,
    pub selector: Option<LabelSelector>,
    #[component(name = "bind-completed")]
    pub bind_completed: bool,
    #[component(name = "selected-node")]
    pub selected_node: Option<Arc<str>>,
    pub phase: Arc<str>,
    pub deleting: bool,
    #[component(name = "controller-uid")]
    pub controller_uid: Option<Arc<str>>,
    #[component(name = "has-data-source")]
    pub has_data_source: bool,
    pub labels: Vec<(Arc<str>, Arc<str>)>,
}

/// `cluster-storage.volume`: a PersistentVolume as predicates see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Volume {
    pub name: Arc<str>,
    #[component(name = "class-name")]
    pub class_name: Arc<str>,
    #[component(name = "access-modes")]
    pub access_modes: Vec<Arc<str>>,
    pub capacity: i64,
    #[component(name = "volume-mode")]
    pub volume_mode: Arc<str>,
    #[component(name = "attributes-class")]
    pub attributes_class: Arc<str>,
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    #[component(name = "node-terms")]
    pub node_terms: Option<Vec<Term>>,
    #[component(name = "claim-ref")]
    pub claim_ref: Option<(Arc<str>, Arc<str>, Arc<str>)>,
    pub phase: Arc<str>,
    pub deleting: bool,
    #[component(name = "in-tree-plugin")]
    pub in_tree_plugin: Arc<str>,
    pub driver: Arc<str>,
    pub handle: Result<Arc<str>, Arc<str>>,
}

/// Label keys with the values that a node may have.
pub type Topology = Vec<(Arc<str>, Vec<Arc<str>>)>;

/// `cluster-storage.class`: a StorageClass as predicates see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct StorageClass {
    pub name: Arc<str>,
    pub provisioner: Arc<str>,
    #[component(name = "binding-mode")]
    pub binding_mode: Option<BindingMode>,
    #[component(name = "allowed-topologies")]
    pub allowed_topologies: Vec<Topology>,
}

/// `cluster-storage.capacity`: a CSIStorageCapacity as predicates see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct StorageCapacity {
    pub bytes: Option<i64>,
    #[component(name = "maximum-volume-bytes")]
    pub maximum_volume_bytes: Option<i64>,
    #[component(name = "node-selector")]
    pub node_selector: Option<LabelSelector>,
}
