//! Storage objects: claims, volumes, classes, and what CSI drivers say of themselves and of nodes.
//!
//! Start with [`StorageObject`]. Of the source of a volume only what a predicate can reject a node for is read: the CSI
//! driver, and the in-tree kinds that CSI drivers have replaced, which are in [`crate::volume`] together with the volumes
//! of pods.

use serde::Deserialize;

use crate::field::{self, null_is_default, presence};
use crate::pod::{DEFAULT_NAMESPACE, Resources};
use crate::selector::{LabelSelector, NodeSelector};
use crate::volume::{AzureDisk, GcePersistentDisk, InTreeSource, VolumeId};
use crate::{Kind, Labels, Map, Quantity, ResourceList};

/// The name under which storage stands in requests and capacities.
pub const STORAGE: &str = "storage";

/// The annotation that named a claim's or a volume's class before there was a field; it still goes before the field.
pub const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The annotation of a claim whose binding the control plane has completed; its value does not matter.
pub const BIND_COMPLETED_ANNOTATION: &str = "pv.kubernetes.io/bind-completed";

/// The annotation of a claim that names the node it is provisioned for.
pub const SELECTED_NODE_ANNOTATION: &str = "volume.kubernetes.io/selected-node";

/// The annotation of the class that claims without one get, where its value is `true`.
pub const DEFAULT_CLASS_ANNOTATION: &str = "storageclass.kubernetes.io/is-default-class";

/// The annotation of a CSINode that lists the in-tree plugins which CSI drivers replace there, joined by commas.
pub const MIGRATED_PLUGINS_ANNOTATION: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// Object about storage, of any kind that predicates read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageObject {
    /// PersistentVolume of the core API (`v1`).
    Volume(Box<PersistentVolume>),
    /// PersistentVolumeClaim of the core API (`v1`).
    Claim(Box<PersistentVolumeClaim>),
    /// StorageClass of the API group `storage.k8s.io`.
    Class(StorageClass),
    /// CSINode of the API group `storage.k8s.io`.
    Node(CsiNode),
    /// CSIDriver of the API group `storage.k8s.io`.
    Driver(CsiDriver),
    /// CSIStorageCapacity of the API group `storage.k8s.io`.
    Capacity(CsiStorageCapacity),
    /// VolumeAttachment of the API group `storage.k8s.io`.
    Attachment(VolumeAttachment),
}

impl StorageObject {
    /// Returns the kind of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Volume(_) => Kind::PersistentVolume,
            Self::Claim(_) => Kind::PersistentVolumeClaim,
            Self::Class(_) => Kind::StorageClass,
            Self::Node(_) => Kind::CsiNode,
            Self::Driver(_) => Kind::CsiDriver,
            Self::Capacity(_) => Kind::CsiStorageCapacity,
            Self::Attachment(_) => Kind::VolumeAttachment,
        }
    }

    /// Returns `metadata` of the object.
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::Volume(volume) => &volume.metadata,
            Self::Claim(claim) => &claim.metadata,
            Self::Class(class) => &class.metadata,
            Self::Node(node) => &node.metadata,
            Self::Driver(driver) => &driver.metadata,
            Self::Capacity(capacity) => &capacity.metadata,
            Self::Attachment(attachment) => &attachment.metadata,
        }
    }

    /// `namespace/name` of a claim or a capacity, the name of anything else: unique among objects of one kind.
    pub fn key(&self) -> String {
        match self {
            Self::Claim(_) | Self::Capacity(_) => self.metadata().namespaced(),
            _ => self.metadata().name.clone(),
        }
    }
}

/// `metadata` of a storage object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Name of the object, never empty.
    #[serde(deserialize_with = "field::name")]
    pub name: String,
    /// Namespace of the object; empty where it has none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub namespace: String,
    /// UID of the object; empty where the source has none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Opaque resourceVersion of the object; empty where the source has none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// Labels, sorted by key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub labels: Labels,
    /// Annotations; the ones that matter are constants of this module.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Map<String>,
    /// Whether `deletionTimestamp` is set.
    #[serde(default, rename = "deletionTimestamp", deserialize_with = "presence")]
    pub deleting: bool,
    /// Owners of the object, as in `metadata.ownerReferences`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub owner_references: Vec<Owner>,
}

impl Metadata {
    /// `namespace/name`; the namespace of an object that names none is that of pods that name none.
    pub fn namespaced(&self) -> String {
        format!("{}/{}", self.namespace_or_default(), self.name)
    }

    /// The namespace of an object that is in one.
    pub fn namespace_or_default(&self) -> &str {
        if self.namespace.is_empty() { DEFAULT_NAMESPACE } else { &self.namespace }
    }

    /// The UID of the owner that manages the object.
    pub fn controller_uid(&self) -> Option<&str> {
        self.owner_references.iter().find(|owner| owner.controller).map(|owner| owner.uid.as_str())
    }
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Owner {
    /// Name of the owner.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// UID of the owner.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Whether this owner manages the object; at most one does.
    #[serde(default, deserialize_with = "null_is_default")]
    pub controller: bool,
}

/// PersistentVolume of the core API (`v1`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PersistentVolume {
    /// Name, identity, labels and annotations.
    pub metadata: Metadata,
    /// Capacity, class, node affinity, source and claim of the volume.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: PersistentVolumeSpec,
    /// Phase of the volume, for example `Available` or `Bound`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: Phased,
}

/// `spec` of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersistentVolumeSpec {
    /// How much it holds, under [`STORAGE`].
    #[serde(default, deserialize_with = "null_is_default")]
    pub capacity: ResourceList,
    /// Access modes of the volume, for example `ReadWriteOnce`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub access_modes: Vec<String>,
    /// The class; empty for none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub storage_class_name: String,
    /// `Filesystem` or `Block`; none means `Filesystem`.
    #[serde(default)]
    pub volume_mode: Option<String>,
    /// Name of the VolumeAttributesClass; empty for none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_attributes_class_name: String,
    /// The claim that it is bound to or kept for.
    #[serde(default)]
    pub claim_ref: Option<ClaimReference>,
    /// Nodes where the volume can be mounted; without `required` all nodes.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_affinity: VolumeNodeAffinity,
    /// A volume of a CSI driver.
    #[serde(default)]
    pub csi: Option<CsiSource>,
    /// GCE persistent disk, written as the in-tree source `gcePersistentDisk`.
    #[serde(default)]
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// EBS volume, written as the in-tree source `awsElasticBlockStore`.
    #[serde(default)]
    pub aws_elastic_block_store: Option<VolumeId>,
    /// Cinder volume, written as the in-tree source `cinder`.
    #[serde(default)]
    pub cinder: Option<VolumeId>,
    /// Azure disk, written as the in-tree source `azureDisk`.
    #[serde(default)]
    pub azure_disk: Option<AzureDisk>,
    /// Portworx volume, written as the in-tree source `portworxVolume`.
    #[serde(default)]
    pub portworx_volume: Option<VolumeId>,
}

impl PersistentVolumeSpec {
    /// The in-tree source that a CSI driver has replaced; none for any other kind.
    pub fn in_tree(&self) -> Option<InTreeSource<'_>> {
        (self.gce_persistent_disk.as_ref().map(InTreeSource::Gce))
            .or(self.aws_elastic_block_store.as_ref().map(InTreeSource::Ebs))
            .or(self.cinder.as_ref().map(InTreeSource::Cinder))
            .or(self.azure_disk.as_ref().map(InTreeSource::Azure))
            .or(self.portworx_volume.as_ref().map(InTreeSource::Portworx))
    }
}

/// `spec.nodeAffinity` of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct VolumeNodeAffinity {
    /// The nodes that can mount the volume; none: every node.
    #[serde(default)]
    pub required: Option<NodeSelector>,
}

/// `spec.csi` of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CsiSource {
    /// Name of the CSI driver that provides the volume.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// Identifier of the volume, unique within the driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_handle: String,
}

/// `spec.claimRef` of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct ClaimReference {
    /// Namespace of the claim.
    #[serde(default, deserialize_with = "null_is_default")]
    pub namespace: String,
    /// Name of the claim.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The claim's UID; empty where any claim of this name will do.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
}

/// `status` of a PersistentVolume or a PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Phased {
    /// Phase of the object: `Available`, `Bound`, `Lost`, …
    #[serde(default, deserialize_with = "null_is_default")]
    pub phase: String,
}

/// PersistentVolumeClaim of the core API (`v1`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PersistentVolumeClaim {
    /// Name, identity, labels, annotations and owners.
    pub metadata: Metadata,
    /// Requested size, class, access modes and volume.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: PersistentVolumeClaimSpec,
    /// Phase of the claim, for example `Pending` or `Bound`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: Phased,
}

/// `spec` of a PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersistentVolumeClaimSpec {
    /// The volume it is bound to or wants; empty for none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_name: String,
    /// The class; none where it names none.
    #[serde(default)]
    pub storage_class_name: Option<String>,
    /// Access modes that the volume must support.
    #[serde(default, deserialize_with = "null_is_default")]
    pub access_modes: Vec<String>,
    /// How much is asked for, under [`STORAGE`].
    #[serde(default, deserialize_with = "null_is_default")]
    pub resources: Resources,
    /// `Filesystem` or `Block`; none means `Filesystem`.
    #[serde(default)]
    pub volume_mode: Option<String>,
    /// Name of the VolumeAttributesClass; empty for none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_attributes_class_name: String,
    /// Labels that the volume must carry.
    #[serde(default)]
    pub selector: Option<LabelSelector>,
    /// Whether `dataSource` is set: the volume is created with content.
    #[serde(default, deserialize_with = "presence")]
    pub data_source: bool,
    /// Whether `dataSourceRef` is set, the newer form of `dataSource`.
    #[serde(default, deserialize_with = "presence")]
    pub data_source_ref: bool,
}

/// StorageClass of `storage.k8s.io`: provisioner, binding mode and topologies for new volumes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageClass {
    /// Name and annotations of the class.
    pub metadata: Metadata,
    /// Name of the provisioner that creates volumes of this class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub provisioner: String,
    /// `Immediate` or `WaitForFirstConsumer`; the API server fills it in.
    #[serde(default)]
    pub volume_binding_mode: Option<String>,
    /// Topologies in which volumes can be created, of which one must hold; empty for anywhere.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allowed_topologies: Vec<TopologyTerm>,
}

/// One entry of `allowedTopologies`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyTerm {
    /// Node labels, all of which must have one of their values.
    #[serde(default, deserialize_with = "null_is_default")]
    pub match_label_expressions: Vec<TopologyRequirement>,
}

/// A node label and the values it may have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct TopologyRequirement {
    /// Key of the node label.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// Values of the label that are allowed.
    #[serde(default, deserialize_with = "null_is_default")]
    pub values: Vec<String>,
}

/// A storage.k8s.io CSINode: what is known of the CSI drivers on the node of its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CsiNode {
    /// Name, which is that of the node, and annotations.
    pub metadata: Metadata,
    /// CSI drivers that are registered on the node.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: CsiNodeSpec,
}

/// `spec` of a CSINode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct CsiNodeSpec {
    /// The drivers on the node.
    #[serde(default, deserialize_with = "null_is_default")]
    pub drivers: Vec<CsiNodeDriver>,
}

/// One entry of a CSINode's `spec.drivers`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct CsiNodeDriver {
    /// Name of the CSI driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// Limit on volumes of the driver that the node can have attached.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocatable: VolumeNodeResources,
}

/// `allocatable` of a driver on a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct VolumeNodeResources {
    /// How many volumes can be attached; none: any number.
    #[serde(default)]
    pub count: Option<i32>,
}

/// CSIDriver of `storage.k8s.io`: properties of the CSI driver with its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CsiDriver {
    /// Name, which is that of the driver, and the other metadata.
    pub metadata: Metadata,
    /// Capabilities of the driver that scheduling depends on.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: CsiDriverSpec,
}

/// `spec` of a CSIDriver.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CsiDriverSpec {
    /// Whether it says by CSIStorageCapacity objects how much storage there is.
    #[serde(default, deserialize_with = "null_is_default")]
    pub storage_capacity: bool,
    /// Whether pods with volumes of the driver stay away from nodes that do not have it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub prevent_pod_scheduling_if_missing: bool,
}

/// CSIStorageCapacity of `storage.k8s.io`: storage available for one class in one set of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CsiStorageCapacity {
    /// Namespace and name of the object.
    pub metadata: Metadata,
    /// The class that it is about.
    #[serde(default, deserialize_with = "null_is_default")]
    pub storage_class_name: String,
    /// The nodes that it is about; none: no node.
    #[serde(default)]
    pub node_topology: Option<LabelSelector>,
    /// How much storage there is.
    #[serde(default)]
    pub capacity: Option<Quantity>,
    /// How large one volume can be.
    #[serde(default)]
    pub maximum_volume_size: Option<Quantity>,
}

/// VolumeAttachment of `storage.k8s.io`: a volume that is to be, or is, attached to a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct VolumeAttachment {
    /// Name and the other metadata of the object.
    pub metadata: Metadata,
    /// Attached volume, its node and its CSI driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: VolumeAttachmentSpec,
}

/// `spec` of a VolumeAttachment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeAttachmentSpec {
    /// Name of the CSI driver that attaches the volume.
    #[serde(default, deserialize_with = "null_is_default")]
    pub attacher: String,
    /// Name of the node that the volume is attached to.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_name: String,
    /// Source of the volume that is attached.
    #[serde(default, deserialize_with = "null_is_default")]
    pub source: AttachmentSource,
}

/// `spec.source` of a VolumeAttachment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentSource {
    /// The PersistentVolume's name; none where the volume is written in a pod.
    #[serde(default)]
    pub persistent_volume_name: Option<String>,
}
