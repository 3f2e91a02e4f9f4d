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

/// A storage object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageObject {
    /// A v1 PersistentVolume.
    Volume(Box<PersistentVolume>),
    /// A v1 PersistentVolumeClaim.
    Claim(Box<PersistentVolumeClaim>),
    /// A storage.k8s.io StorageClass.
    Class(StorageClass),
    /// A storage.k8s.io CSINode.
    Node(CsiNode),
    /// A storage.k8s.io CSIDriver.
    Driver(CsiDriver),
    /// A storage.k8s.io CSIStorageCapacity.
    Capacity(CsiStorageCapacity),
    /// A storage.k8s.io VolumeAttachment.
    Attachment(VolumeAttachment),
}

impl StorageObject {
    /// Which kind it is.
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

    /// `metadata`.
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
    /// Never empty.
    #[serde(deserialize_with = "field::name")]
    pub name: String,
    /// Empty where the object has none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub namespace: String,
    /// Empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Opaque; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// Labels.
    #[serde(default, deserialize_with = "null_is_default")]
    pub labels: Labels,
    /// Annotations; the ones that matter are constants of this module.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Map<String>,
    /// Whether `deletionTimestamp` is set.
    #[serde(default, rename = "deletionTimestamp", deserialize_with = "presence")]
    pub deleting: bool,
    /// What the object belongs to.
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
    /// The owner's name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The owner's UID.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Whether this owner manages the object; at most one does.
    #[serde(default, deserialize_with = "null_is_default")]
    pub controller: bool,
}

/// A v1 PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PersistentVolume {
    /// Name, identity, labels and annotations.
    pub metadata: Metadata,
    /// What the volume is.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: PersistentVolumeSpec,
    /// What has become of it.
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
    /// How it may be mounted.
    #[serde(default, deserialize_with = "null_is_default")]
    pub access_modes: Vec<String>,
    /// The class; empty for none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub storage_class_name: String,
    /// `Filesystem` or `Block`; none means `Filesystem`.
    #[serde(default)]
    pub volume_mode: Option<String>,
    /// The VolumeAttributesClass.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_attributes_class_name: String,
    /// The claim that it is bound to or kept for.
    #[serde(default)]
    pub claim_ref: Option<ClaimReference>,
    /// Where it can be mounted; without `required` anywhere.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_affinity: VolumeNodeAffinity,
    /// A volume of a CSI driver.
    #[serde(default)]
    pub csi: Option<CsiSource>,
    /// A GCE persistent disk.
    #[serde(default)]
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// An EBS volume.
    #[serde(default)]
    pub aws_elastic_block_store: Option<VolumeId>,
    /// A Cinder volume.
    #[serde(default)]
    pub cinder: Option<VolumeId>,
    /// An Azure disk.
    #[serde(default)]
    pub azure_disk: Option<AzureDisk>,
    /// A Portworx volume.
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
    /// The driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// By which the driver knows the volume.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_handle: String,
}

/// `spec.claimRef` of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct ClaimReference {
    /// The claim's namespace.
    #[serde(default, deserialize_with = "null_is_default")]
    pub namespace: String,
    /// The claim's name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The claim's UID; empty where any claim of this name will do.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
}

/// `status` of a PersistentVolume or a PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Phased {
    /// `Available`, `Bound`, `Lost`, …
    #[serde(default, deserialize_with = "null_is_default")]
    pub phase: String,
}

/// A v1 PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PersistentVolumeClaim {
    /// Name, identity, labels, annotations and owners.
    pub metadata: Metadata,
    /// What is asked for.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: PersistentVolumeClaimSpec,
    /// What has become of it.
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
    /// How the volume must be mountable.
    #[serde(default, deserialize_with = "null_is_default")]
    pub access_modes: Vec<String>,
    /// How much is asked for, under [`STORAGE`].
    #[serde(default, deserialize_with = "null_is_default")]
    pub resources: Resources,
    /// `Filesystem` or `Block`; none means `Filesystem`.
    #[serde(default)]
    pub volume_mode: Option<String>,
    /// The VolumeAttributesClass.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volume_attributes_class_name: String,
    /// Labels that the volume must carry.
    #[serde(default)]
    pub selector: Option<LabelSelector>,
    /// Whether the volume starts with content.
    #[serde(default, deserialize_with = "presence")]
    pub data_source: bool,
    /// The same in the newer form.
    #[serde(default, deserialize_with = "presence")]
    pub data_source_ref: bool,
}

/// A storage.k8s.io StorageClass.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageClass {
    /// Name and annotations.
    pub metadata: Metadata,
    /// Who makes volumes of this class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub provisioner: String,
    /// `Immediate` or `WaitForFirstConsumer`; the API server fills it in.
    #[serde(default)]
    pub volume_binding_mode: Option<String>,
    /// Where volumes can be made; one of these must hold, none: anywhere.
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
    /// The label's key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// Its values.
    #[serde(default, deserialize_with = "null_is_default")]
    pub values: Vec<String>,
}

/// A storage.k8s.io CSINode: what is known of the CSI drivers on the node of its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CsiNode {
    /// Name and annotations.
    pub metadata: Metadata,
    /// The drivers.
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
    /// The driver's name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// What the node can take of the driver.
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

/// A storage.k8s.io CSIDriver.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CsiDriver {
    /// The driver's name.
    pub metadata: Metadata,
    /// What it can do.
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
}

/// A storage.k8s.io CSIStorageCapacity.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CsiStorageCapacity {
    /// Namespace and name.
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

/// A storage.k8s.io VolumeAttachment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct VolumeAttachment {
    /// The name.
    pub metadata: Metadata,
    /// What is attached, where and by whom.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: VolumeAttachmentSpec,
}

/// `spec` of a VolumeAttachment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeAttachmentSpec {
    /// The CSI driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub attacher: String,
    /// The node's name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_name: String,
    /// What is attached.
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
