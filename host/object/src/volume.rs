//! Volumes of pods, and the in-tree volume sources that a pod and a PersistentVolume share.
//!
//! Start with [`Volume`], then [`InTreeSource`]. PersistentVolumes themselves are in [`crate::storage`].

use serde::{Deserialize, Serialize};

use crate::field::{empty_object, is_default, null_is_default, presence};

/// One entry of `spec.volumes`, of which only the kinds are kept that can keep a pod from a node, and images.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// The volume's name, from which the name of an ephemeral volume's claim is made.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// PersistentVolumeClaim of the pod's namespace, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimSource>,
    /// Whether a claim is made for this volume and this pod.
    #[serde(
        default,
        deserialize_with = "presence",
        serialize_with = "empty_object",
        skip_serializing_if = "is_default"
    )]
    pub ephemeral: bool,
    /// GCE persistent disk, written as the in-tree source `gcePersistentDisk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gce_persistent_disk: Option<GcePersistentDisk>,
    /// EBS volume, written as the in-tree source `awsElasticBlockStore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_elastic_block_store: Option<VolumeId>,
    /// iSCSI target, by its qualified name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iscsi: Option<Iscsi>,
    /// A Ceph RADOS block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rbd: Option<Rbd>,
    /// Cinder volume, written as the in-tree source `cinder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cinder: Option<VolumeId>,
    /// Azure disk, written as the in-tree source `azureDisk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure_disk: Option<AzureDisk>,
    /// Portworx volume, written as the in-tree source `portworxVolume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portworx_volume: Option<VolumeId>,
    /// Image that is mounted as a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSource>,
}

impl Volume {
    /// The in-tree source that a CSI driver has replaced; none for any other kind.
    pub fn in_tree(&self) -> Option<InTreeSource<'_>> {
        (self.gce_persistent_disk.as_ref().map(InTreeSource::Gce))
            .or(self.aws_elastic_block_store.as_ref().map(InTreeSource::Ebs))
            .or(self.cinder.as_ref().map(InTreeSource::Cinder))
            .or(self.azure_disk.as_ref().map(InTreeSource::Azure))
            .or(self.portworx_volume.as_ref().map(InTreeSource::Portworx))
    }
}

/// `persistentVolumeClaim` of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSource {
    /// The claim's name, in the pod's namespace.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub claim_name: String,
}

/// `image` of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct ImageSource {
    /// Name of the image, as the container runtime pulls it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub reference: String,
}

/// `iscsi` of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Iscsi {
    /// The target's qualified name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub iqn: String,
    /// Whether it is mounted for reading only.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub read_only: bool,
}

/// `rbd` of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rbd {
    /// Addresses of the monitors of the Ceph cluster.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub monitors: Vec<String>,
    /// The pool; empty where the source leaves it to the API server's default.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub pool: String,
    /// Name of the RADOS block device image.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub image: String,
    /// Whether it is mounted for reading only.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub read_only: bool,
}

/// The source of a volume, in a pod or a PersistentVolume, of an in-tree kind that a CSI driver has replaced and whose
/// use kube-scheduler counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTreeSource<'a> {
    /// GCE persistent disk, written as the in-tree source `gcePersistentDisk`.
    Gce(&'a GcePersistentDisk),
    /// EBS volume, by volume ID.
    Ebs(&'a VolumeId),
    /// Cinder volume, by volume ID.
    Cinder(&'a VolumeId),
    /// Azure disk, by disk URI.
    Azure(&'a AzureDisk),
    /// Portworx volume, by volume ID.
    Portworx(&'a VolumeId),
}

/// GCE persistent disk, written as the in-tree source `gcePersistentDisk`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GcePersistentDisk {
    /// Name of the persistent disk.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub pd_name: String,
    /// Whether it is mounted for reading only.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub read_only: bool,
}

/// A volume known by an ID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeId {
    /// Identifier of the volume at its provider.
    #[serde(default, rename = "volumeID", deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub volume_id: String,
    /// Whether it is mounted for reading only.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub read_only: bool,
}

/// Azure disk, as the in-tree source `azureDisk` writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureDisk {
    /// URI of the disk.
    #[serde(default, rename = "diskURI", deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub disk_uri: String,
    /// `Managed`, `Dedicated` or `Shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}
