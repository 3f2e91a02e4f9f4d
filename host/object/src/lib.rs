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
    /// A v1 Node.
    Node(Box<Node>),
    /// A v1 Pod.
    Pod(Box<Pod>),
    /// A v1 Namespace.
    Namespace(Namespace),
    /// A resource.k8s.io DeviceClass.
    DeviceClass(DeviceClass),
    /// A resource.k8s.io ResourceSlice.
    ResourceSlice(Box<ResourceSlice>),
    /// A resource.k8s.io ResourceClaim.
    ResourceClaim(Box<ResourceClaim>),
    /// A v1 ConfigMap.
    ConfigMap(ConfigMap),
    /// A storage object.
    Storage(StorageObject),
    /// A service, or a controller that makes pods.
    Workload(Box<Workload>),
}

/// The kinds of [`Object`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// v1 Node.
    Node,
    /// v1 Pod.
    Pod,
    /// v1 Namespace.
    Namespace,
    /// resource.k8s.io DeviceClass.
    DeviceClass,
    /// resource.k8s.io ResourceSlice.
    ResourceSlice,
    /// resource.k8s.io ResourceClaim.
    ResourceClaim,
    /// v1 ConfigMap.
    ConfigMap,
    /// v1 PersistentVolume.
    PersistentVolume,
    /// v1 PersistentVolumeClaim.
    PersistentVolumeClaim,
    /// storage.k8s.io StorageClass.
    StorageClass,
    /// storage.k8s.io CSINode.
    CsiNode,
    /// storage.k8s.io CSIDriver.
    CsiDriver,
    /// storage.k8s.io CSIStorageCapacity.
    CsiStorageCapacity,
    /// storage.k8s.io VolumeAttachment.
    VolumeAttachment,
    /// v1 Service.
    Service,
    /// v1 ReplicationController.
    ReplicationController,
    /// apps ReplicaSet.
    ReplicaSet,
    /// apps StatefulSet.
    StatefulSet,
}

impl Kind {
    /// All of them.
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
    /// Which kind it is.
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
