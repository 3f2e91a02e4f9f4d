//! Kubernetes objects, with only the fields that a predicate of kube-scheduler reads. A leaf that every crate of the host may
//! use.
//!
//! The types are what serde makes of an object's JSON; nothing is kept that is not named here, unknown fields are
//! skipped, and `null` means the same as an absent field, as in Kubernetes itself. Start with [`Object`], then
//! [`Pod`] and [`Node`]; [`quantity`] holds amounts as they are written, [`decode::decode`] turns JSON into an [`Object`].
//! [`device`] and [`claim`] are about devices and who has them.

pub mod affinity;
pub mod claim;
pub mod config_map;
pub mod decode;
pub mod device;
pub mod device_configuration;
mod field;
pub mod image;
pub mod node;
pub mod pod;
pub mod quantity;
pub mod selector;
pub mod status;
pub mod storage;
pub mod time;
pub mod version;
pub mod volume;
pub mod workload;

use std::fmt;

pub use claim::ResourceClaim;
pub use config_map::ConfigMap;
pub use device::ResourceSlice;
pub use field::Map;
pub use node::{DeviceClass, Namespace, Node};
pub use pod::Pod;
pub use quantity::Quantity;
pub use storage::StorageObject;
pub use workload::Workload;

/// Labels: key and value, sorted by key.
pub type Labels = Map<String>;

/// Amounts by resource name, sorted by name; the amounts are as written, not yet rounded.
pub type ResourceList = Map<Quantity>;

/// One object of a kind that matters here, as every source delivers it.
#[derive(Debug, Clone)]
pub enum Object {
    /// Node of the core API (`v1`).
    Node(Box<Node>),
    /// Pod of the core API (`v1`).
    Pod(Box<Pod>),
    /// Namespace of the core API (`v1`).
    Namespace(Namespace),
    /// DeviceClass of the API group `resource.k8s.io`.
    DeviceClass(DeviceClass),
    /// ResourceSlice of the API group `resource.k8s.io`.
    ResourceSlice(Box<ResourceSlice>),
    /// ResourceClaim of the API group `resource.k8s.io`.
    ResourceClaim(Box<ResourceClaim>),
    /// ConfigMap of the core API (`v1`).
    ConfigMap(ConfigMap),
    /// Volume, claim, class or other object about storage.
    Storage(StorageObject),
    /// Service, or a controller that makes pods, of which only the selector is kept.
    Workload(Box<Workload>),
}

/// The kinds of [`Object`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Node of the core API (`v1`).
    Node,
    /// Pod of the core API (`v1`).
    Pod,
    /// Namespace of the core API (`v1`).
    Namespace,
    /// DeviceClass of `resource.k8s.io`, any version.
    DeviceClass,
    /// ResourceSlice of `resource.k8s.io`, versions `v1`, `v1beta2` and `v1beta1`.
    ResourceSlice,
    /// ResourceClaim of `resource.k8s.io`, versions `v1`, `v1beta2` and `v1beta1`.
    ResourceClaim,
    /// ConfigMap of the core API (`v1`).
    ConfigMap,
    /// PersistentVolume of the core API (`v1`).
    PersistentVolume,
    /// PersistentVolumeClaim of the core API (`v1`).
    PersistentVolumeClaim,
    /// StorageClass of `storage.k8s.io`, any version.
    StorageClass,
    /// CSINode of `storage.k8s.io`, any version.
    CsiNode,
    /// CSIDriver of `storage.k8s.io`, any version.
    CsiDriver,
    /// CSIStorageCapacity of `storage.k8s.io`, any version.
    CsiStorageCapacity,
    /// VolumeAttachment of `storage.k8s.io`, any version.
    VolumeAttachment,
    /// Service of the core API (`v1`).
    Service,
    /// ReplicationController of the core API (`v1`).
    ReplicationController,
    /// ReplicaSet of `apps`, any version.
    ReplicaSet,
    /// StatefulSet of `apps`, any version.
    StatefulSet,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 18] = [
        Self::Node,
        Self::Pod,
        Self::Namespace,
        Self::DeviceClass,
        Self::ResourceSlice,
        Self::ResourceClaim,
        Self::ConfigMap,
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
        Self::StorageClass,
        Self::CsiNode,
        Self::CsiDriver,
        Self::CsiStorageCapacity,
        Self::VolumeAttachment,
        Self::Service,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::StatefulSet,
    ];

    /// The kind of objects with this `apiVersion` and `kind`; `None` where it is not one of these. The fields of a DeviceClass that
    /// are read are the same in all versions of `resource.k8s.io`; those of ResourceSlices and ResourceClaims have two forms, which
    /// are both read: that of `v1beta1`, and that of `v1beta2` and `v1`.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        match kind {
            "Node" if api_version == "v1" => Some(Self::Node),
            "Pod" if api_version == "v1" => Some(Self::Pod),
            "Namespace" if api_version == "v1" => Some(Self::Namespace),
            "ConfigMap" if api_version == "v1" => Some(Self::ConfigMap),
            "DeviceClass" if api_version.starts_with("resource.k8s.io/") => Some(Self::DeviceClass),
            "ResourceSlice" if is_read(api_version) => Some(Self::ResourceSlice),
            "ResourceClaim" if is_read(api_version) => Some(Self::ResourceClaim),
            "PersistentVolume" if api_version == "v1" => Some(Self::PersistentVolume),
            "PersistentVolumeClaim" if api_version == "v1" => Some(Self::PersistentVolumeClaim),
            "Service" if api_version == "v1" => Some(Self::Service),
            "ReplicationController" if api_version == "v1" => Some(Self::ReplicationController),
            "ReplicaSet" if api_version.starts_with("apps/") => Some(Self::ReplicaSet),
            "StatefulSet" if api_version.starts_with("apps/") => Some(Self::StatefulSet),
            _ if !api_version.starts_with("storage.k8s.io/") => None,
            "StorageClass" => Some(Self::StorageClass),
            "CSINode" => Some(Self::CsiNode),
            "CSIDriver" => Some(Self::CsiDriver),
            "CSIStorageCapacity" => Some(Self::CsiStorageCapacity),
            "VolumeAttachment" => Some(Self::VolumeAttachment),
            _ => None,
        }
    }

    /// The name of the kind as Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Pod => "Pod",
            Self::Namespace => "Namespace",
            Self::DeviceClass => "DeviceClass",
            Self::ResourceSlice => "ResourceSlice",
            Self::ResourceClaim => "ResourceClaim",
            Self::ConfigMap => "ConfigMap",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::StorageClass => "StorageClass",
            Self::CsiNode => "CSINode",
            Self::CsiDriver => "CSIDriver",
            Self::CsiStorageCapacity => "CSIStorageCapacity",
            Self::VolumeAttachment => "VolumeAttachment",
            Self::Service => "Service",
            Self::ReplicationController => "ReplicationController",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

/// Whether a version of `resource.k8s.io` has devices and requests in a form that is read here.
fn is_read(api_version: &str) -> bool {
    matches!(api_version, "resource.k8s.io/v1" | "resource.k8s.io/v1beta2" | "resource.k8s.io/v1beta1")
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Object {
    /// Returns the kind of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::Pod(_) => Kind::Pod,
            Self::Namespace(_) => Kind::Namespace,
            Self::DeviceClass(_) => Kind::DeviceClass,
            Self::ResourceSlice(_) => Kind::ResourceSlice,
            Self::ResourceClaim(_) => Kind::ResourceClaim,
            Self::ConfigMap(_) => Kind::ConfigMap,
            Self::Storage(object) => object.kind(),
            Self::Workload(workload) => workload.kind,
        }
    }

    /// `metadata.uid` and `metadata.resourceVersion`; empty where the source has none.
    pub fn identity(&self) -> (&str, &str) {
        match self {
            Self::Node(node) => (&node.metadata.uid, &node.metadata.resource_version),
            Self::Pod(pod) => (&pod.metadata.uid, &pod.metadata.resource_version),
            Self::Namespace(namespace) => (&namespace.metadata.uid, &namespace.metadata.resource_version),
            Self::DeviceClass(class) => (&class.metadata.uid, &class.metadata.resource_version),
            Self::ResourceSlice(slice) => (&slice.metadata.uid, &slice.metadata.resource_version),
            Self::ResourceClaim(claim) => (&claim.metadata.uid, &claim.metadata.resource_version),
            Self::ConfigMap(map) => (&map.metadata.uid, &map.metadata.resource_version),
            Self::Storage(object) => (&object.metadata().uid, &object.metadata().resource_version),
            Self::Workload(workload) => (&workload.metadata.uid, &workload.metadata.resource_version),
        }
    }

    /// `namespace/name` of what is in a namespace, the name of anything else: unique among objects of one kind.
    pub fn key(&self) -> String {
        match self {
            Self::Node(node) => node.metadata.name.clone(),
            Self::Pod(pod) => pod.key(),
            Self::Namespace(namespace) => namespace.metadata.name.clone(),
            Self::DeviceClass(class) => class.metadata.name.clone(),
            Self::ResourceSlice(slice) => slice.metadata.name.clone(),
            Self::ResourceClaim(claim) => format!("{}/{}", claim.metadata.namespace, claim.metadata.name),
            Self::ConfigMap(map) => map.key(),
            Self::Storage(object) => object.key(),
            Self::Workload(workload) => format!("{}/{}", workload.metadata.namespace, workload.metadata.name),
        }
    }
}
