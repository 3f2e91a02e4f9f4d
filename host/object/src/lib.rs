//! Kubernetes objects, with only the fields that a predicate of kube-scheduler reads. A leaf that every crate of the host may
//! use.
//!
//! The types are what serde makes of an object's JSON; nothing is kept that is not named here, unknown fields are
//! skipped, and `null` means the same as an absent field, as in Kubernetes itself. Start with [`Object`], then
//! [`Pod`] and [`Node`]; [`quantity`] holds amounts as they are written, [`decode::decode`] turns JSON into an [`Object`].
//! [`defaults`] fills in what an API server would. [`device`] and [`claim`] are about devices and who has them.
//!
//! A kind is declared here: a variant of [`Object`], and a row of the table that makes [`Kind`]. Lists and watches, permissions, metrics
//! and recorded cases read the row.

pub mod affinity;
pub mod claim;
pub mod config_map;
pub mod decode;
pub mod defaults;
pub mod device;
pub mod device_configuration;
pub mod elements;
mod field;
pub mod image;
pub mod kind;
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
pub use device::{DeviceTaintRule, ResourceSlice};
pub use field::Map;
use kind::kinds;
pub use kind::{Fields, KindInfo, Watched};
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
    /// DeviceTaintRule of the API group `resource.k8s.io`.
    DeviceTaintRule(Box<DeviceTaintRule>),
    /// ConfigMap of the core API (`v1`).
    ConfigMap(ConfigMap),
    /// Volume, claim, class or other object about storage.
    Storage(StorageObject),
    /// Service, or a controller that makes pods, of which only the selector is kept.
    Workload(Box<Workload>),
}

/// Kinds of the core API.
const CORE: KindInfo = KindInfo {
    name: "",
    group: "",
    versions: &["v1"],
    any_version: false,
    plural: "",
    namespaced: false,
    optional: false,
    watched: Watched::WhereRead,
    fields: Fields { metadata: &["name", "uid"], object: &[], spec: &[], status: &[] },
};

/// Kinds of the API group `apps`.
const APPS: KindInfo = KindInfo { group: "apps", any_version: true, ..CORE };

/// Kinds of the API group `storage.k8s.io`.
const STORAGE: KindInfo = KindInfo { group: "storage.k8s.io", any_version: true, fields: OF_STORAGE, ..CORE };

/// Kinds of the API group `resource.k8s.io`, which became stable in 1.34. The others have been stable for longer than any supported
/// release, and are served by every API server: where one of those is missing, something else has answered, and it would be wrong to
/// conclude that there are no objects.
const DEVICES: KindInfo =
    KindInfo { group: "resource.k8s.io", versions: &["v1", "v1beta2", "v1beta1"], optional: true, ..CORE };

/// Fields of every object about storage.
const OF_STORAGE: Fields = Fields { metadata: &OWNED_METADATA, ..CORE.fields };

/// Fields of services and controllers.
const OF_WORKLOADS: Fields = Fields { metadata: &["name", "namespace", "uid"], spec: &["selector"], ..CORE.fields };

/// Fields of the metadata of pods, claims and storage objects that are read.
pub const OWNED_METADATA: [&str; 7] =
    ["name", "namespace", "uid", "labels", "annotations", "deletionTimestamp", "ownerReferences"];

kinds! {
    /// Node of the core API (`v1`).
    Node: Box<Node> => Object::Node,
        KindInfo { name: "Node", plural: "nodes", watched: Watched::Always, ..CORE };

    /// Pod of the core API (`v1`).
    Pod: Box<Pod> => Object::Pod,
        KindInfo { name: "Pod", plural: "pods", namespaced: true, watched: Watched::Always, ..CORE };

    /// Namespace of the core API (`v1`).
    Namespace: Namespace => Object::Namespace,
        KindInfo {
            name: "Namespace",
            plural: "namespaces",
            fields: Fields { metadata: &["name", "uid", "labels"], ..CORE.fields },
            ..CORE
        };

    /// DeviceClass of `resource.k8s.io`, any version: the fields that are read are the same in all. A pod that requests what only a
    /// DeviceClass serves must not simply fit, whichever predicates run, so the engine itself reads device classes.
    DeviceClass: DeviceClass => Object::DeviceClass,
        KindInfo {
            name: "DeviceClass",
            plural: "deviceclasses",
            any_version: true,
            watched: Watched::Always,
            fields: Fields {
                metadata: &["name", "uid", "creationTimestamp"],
                spec: &["extendedResourceName", "selectors"],
                ..CORE.fields
            },
            ..DEVICES
        };

    /// ResourceSlice of `resource.k8s.io`, versions `v1`, `v1beta2` and `v1beta1`: the form of the last and that of the others.
    ResourceSlice: Box<ResourceSlice> => Object::ResourceSlice,
        KindInfo {
            name: "ResourceSlice",
            plural: "resourceslices",
            fields: Fields {
                spec: &[
                    "driver",
                    "pool",
                    "nodeName",
                    "allNodes",
                    "nodeSelector",
                    "perDeviceNodeSelection",
                    "devices",
                    "sharedCounters",
                ],
                ..CORE.fields
            },
            ..DEVICES
        };

    /// ResourceClaim of `resource.k8s.io`, versions `v1`, `v1beta2` and `v1beta1`: the form of the last and that of the others.
    ResourceClaim: Box<ResourceClaim> => Object::ResourceClaim,
        KindInfo {
            name: "ResourceClaim",
            plural: "resourceclaims",
            namespaced: true,
            fields: Fields { spec: &["devices"], status: &["allocation", "reservedFor", "devices"], ..OF_STORAGE },
            ..DEVICES
        };

    /// DeviceTaintRule of `resource.k8s.io`, versions `v1` and `v1beta2`, which are the same. Clusters before 1.36 do not have it.
    DeviceTaintRule: Box<DeviceTaintRule> => Object::DeviceTaintRule,
        KindInfo {
            name: "DeviceTaintRule",
            versions: &["v1", "v1beta2"],
            plural: "devicetaintrules",
            fields: Fields { spec: &["deviceSelector", "taint"], ..CORE.fields },
            ..DEVICES
        };

    /// ConfigMap of the core API (`v1`).
    ConfigMap: ConfigMap => Object::ConfigMap,
        KindInfo {
            name: "ConfigMap",
            plural: "configmaps",
            namespaced: true,
            watched: Watched::ByName,
            fields: Fields { metadata: &["name", "namespace", "uid"], object: &["data"], ..CORE.fields },
            ..CORE
        };

    /// PersistentVolume of the core API (`v1`).
    PersistentVolume: Box<storage::PersistentVolume> => |it| Object::Storage(StorageObject::Volume(it)),
        KindInfo {
            name: "PersistentVolume",
            plural: "persistentvolumes",
            fields: Fields {
                spec: &[
                    "capacity",
                    "accessModes",
                    "storageClassName",
                    "volumeMode",
                    "volumeAttributesClassName",
                    "claimRef",
                    "nodeAffinity",
                    "csi",
                    "gcePersistentDisk",
                    "awsElasticBlockStore",
                    "cinder",
                    "azureDisk",
                    "portworxVolume",
                ],
                status: &["phase"],
                ..OF_STORAGE
            },
            ..CORE
        };

    /// PersistentVolumeClaim of the core API (`v1`).
    PersistentVolumeClaim: Box<storage::PersistentVolumeClaim> => |it| Object::Storage(StorageObject::Claim(it)),
        KindInfo {
            name: "PersistentVolumeClaim",
            plural: "persistentvolumeclaims",
            namespaced: true,
            fields: Fields {
                spec: &[
                    "volumeName",
                    "storageClassName",
                    "accessModes",
                    "resources",
                    "volumeMode",
                    "volumeAttributesClassName",
                    "selector",
                    "dataSource",
                    "dataSourceRef",
                ],
                status: &["phase"],
                ..OF_STORAGE
            },
            ..CORE
        };

    /// StorageClass of `storage.k8s.io`, any version.
    StorageClass: storage::StorageClass => |it| Object::Storage(StorageObject::Class(it)),
        KindInfo {
            name: "StorageClass",
            plural: "storageclasses",
            fields: Fields { object: &["provisioner", "volumeBindingMode", "allowedTopologies"], ..OF_STORAGE },
            ..STORAGE
        };

    /// CSINode of `storage.k8s.io`, any version.
    CsiNode: storage::CsiNode => |it| Object::Storage(StorageObject::Node(it)),
        KindInfo {
            name: "CSINode",
            plural: "csinodes",
            fields: Fields { spec: &["drivers"], ..OF_STORAGE },
            ..STORAGE
        };

    /// CSIDriver of `storage.k8s.io`, any version.
    CsiDriver: storage::CsiDriver => |it| Object::Storage(StorageObject::Driver(it)),
        KindInfo {
            name: "CSIDriver",
            plural: "csidrivers",
            fields: Fields { spec: &["preventPodSchedulingIfMissing", "storageCapacity"], ..OF_STORAGE },
            ..STORAGE
        };

    /// CSIStorageCapacity of `storage.k8s.io`, any version.
    CsiStorageCapacity: storage::CsiStorageCapacity => |it| Object::Storage(StorageObject::Capacity(it)),
        KindInfo {
            name: "CSIStorageCapacity",
            plural: "csistoragecapacities",
            namespaced: true,
            fields: Fields { object: &["storageClassName", "nodeTopology", "capacity", "maximumVolumeSize"], ..OF_STORAGE },
            ..STORAGE
        };

    /// VolumeAttachment of `storage.k8s.io`, any version.
    VolumeAttachment: storage::VolumeAttachment => |it| Object::Storage(StorageObject::Attachment(it)),
        KindInfo {
            name: "VolumeAttachment",
            plural: "volumeattachments",
            fields: Fields { spec: &["attacher", "nodeName", "source"], ..OF_STORAGE },
            ..STORAGE
        };

    /// Service of the core API (`v1`).
    Service: workload::BySet => |it| Object::workload(Workload::by_set(Kind::Service, it)),
        KindInfo { name: "Service", plural: "services", namespaced: true, fields: OF_WORKLOADS, ..CORE };

    /// ReplicationController of the core API (`v1`).
    ReplicationController: workload::BySet => |it| Object::workload(Workload::by_set(Kind::ReplicationController, it)),
        KindInfo {
            name: "ReplicationController",
            plural: "replicationcontrollers",
            namespaced: true,
            fields: OF_WORKLOADS,
            ..CORE
        };

    /// ReplicaSet of `apps`, any version.
    ReplicaSet: workload::ByRequirements => |it| Object::workload(Workload::by_requirements(Kind::ReplicaSet, it)),
        KindInfo { name: "ReplicaSet", plural: "replicasets", namespaced: true, fields: OF_WORKLOADS, ..APPS };

    /// StatefulSet of `apps`, any version.
    StatefulSet: workload::ByRequirements => |it| Object::workload(Workload::by_requirements(Kind::StatefulSet, it)),
        KindInfo { name: "StatefulSet", plural: "statefulsets", namespaced: true, fields: OF_WORKLOADS, ..APPS };
}

impl Kind {
    /// The kind of objects with this `apiVersion` and `kind`; `None` where it is not one of these.
    pub fn from_type_meta(api_version: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == kind && known.info().decodes(api_version))
    }

    /// The name of the kind as Kubernetes writes it.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Object {
    fn workload(workload: Workload) -> Self {
        Self::Workload(Box::new(workload))
    }

    /// Returns the kind of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Node(_) => Kind::Node,
            Self::Pod(_) => Kind::Pod,
            Self::Namespace(_) => Kind::Namespace,
            Self::DeviceClass(_) => Kind::DeviceClass,
            Self::ResourceSlice(_) => Kind::ResourceSlice,
            Self::ResourceClaim(_) => Kind::ResourceClaim,
            Self::DeviceTaintRule(_) => Kind::DeviceTaintRule,
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
            Self::DeviceTaintRule(rule) => (&rule.metadata.uid, &rule.metadata.resource_version),
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
            Self::DeviceTaintRule(rule) => rule.metadata.name.clone(),
            Self::ResourceClaim(claim) => format!("{}/{}", claim.metadata.namespace, claim.metadata.name),
            Self::ConfigMap(map) => map.key(),
            Self::Storage(object) => object.key(),
            Self::Workload(workload) => format!("{}/{}", workload.metadata.namespace, workload.metadata.name),
        }
    }
}
