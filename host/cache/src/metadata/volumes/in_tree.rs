//! In-tree kinds of volumes and the CSI drivers that have replaced them: the volume handle that the driver uses. Start with
//! [`Plugin`].
//!
//! Source: k8s.io/csi-translation-lib at v0.36. Of its seven plugins the five in [`Plugin`] are those for which
//! kube-scheduler takes the migration as done wherever a node has a CSINode; of the other two ([`is_migratable`])
//! volumes are never counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use nodesift_object::Labels;
use nodesift_object::volume::{InTreeSource, VolumeId};

/// An in-tree plugin whose volumes a CSI driver attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum Plugin {
    GcePd,
    AwsEbs,
    Cinder,
    AzureDisk,
    Portworx,
}

impl Plugin {
    const ALL: [Self; 5] = [Self::GcePd, Self::AwsEbs, Self::Cinder, Self::AzureDisk, Self::Portworx];

    /// The name of the in-tree plugin.
    pub fn name(self) -> &'static str {
        match self {
            Self::GcePd => "kubernetes.io/gce-pd",
            Self::AwsEbs => "kubernetes.io/aws-ebs",
            Self::Cinder => "kubernetes.io/cinder",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::Portworx => "kubernetes.io/portworx-volume",
        }
    }

    /// The name of the CSI driver that has replaced it.
    pub fn driver(self) -> &'static str {
        match self {
            Self::GcePd => "pd.csi.storage.gke.io",
            Self::AwsEbs => "ebs.csi.aws.com",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::Portworx => "pxd.portworx.com",
        }
    }

    /// The plugin of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }
}

impl From<InTreeSource<'_>> for Plugin {
    fn from(source: InTreeSource<'_>) -> Self {
        match source {
            InTreeSource::Gce(_) => Self::GcePd,
            InTreeSource::Ebs(_) => Self::AwsEbs,
            InTreeSource::Cinder(_) => Self::Cinder,
            InTreeSource::Azure(_) => Self::AzureDisk,
            InTreeSource::Portworx(_) => Self::Portworx,
        }
    }
}

/// Whether there is a CSI driver for the in-tree plugin of this name, also where its volumes are not counted.
pub fn is_migratable(plugin: &str) -> bool {
    Plugin::from_name(plugin).is_some() || matches!(plugin, "kubernetes.io/azure-file" | "kubernetes.io/vsphere-volume")
}

/// A volume of an in-tree kind as its CSI driver knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InTreeVolume {
    /// In-tree plugin that the volume is written for.
    pub plugin: Plugin,
    /// The volume handle, or why there is none.
    pub handle: Result<Arc<str>, Arc<str>>,
}

/// A volume that is written in a pod.
pub(super) fn inline(source: InTreeSource<'_>) -> InTreeVolume {
    let handle = match source {
        InTreeSource::Gce(disk) => Ok(zonal_disk(UNSPECIFIED, &disk.pd_name)),
        other => handle(other),
    };
    volume(source, handle)
}

/// A PersistentVolume with these labels.
pub(crate) fn persistent(source: InTreeSource<'_>, labels: &Labels) -> InTreeVolume {
    let handle = match source {
        InTreeSource::Gce(disk) => gce_handle(&disk.pd_name, labels),
        other => handle(other),
    };
    volume(source, handle)
}

fn volume(source: InTreeSource<'_>, handle: Result<String, String>) -> InTreeVolume {
    InTreeVolume { plugin: Plugin::from(source), handle: handle.map(Arc::from).map_err(Arc::from) }
}

/// The handle of kinds for which it does not matter where the volume is written.
fn handle(source: InTreeSource<'_>) -> Result<String, String> {
    match source {
        InTreeSource::Gce(disk) => Ok(zonal_disk(UNSPECIFIED, &disk.pd_name)),
        InTreeSource::Ebs(VolumeId { volume_id, .. }) => {
            ebs_handle(volume_id).map_err(|error| format!("failed to translate Kubernetes ID to EBS Volume ID {error}"))
        }
        InTreeSource::Cinder(volume) | InTreeSource::Portworx(volume) => Ok(volume.volume_id.clone()),
        InTreeSource::Azure(disk) => match disk.kind.as_deref() {
            Some(kind) if !kind.eq_ignore_ascii_case("Managed") => {
                Err(format!("kind({kind}) is not supported in csi migration"))
            }
            _ => Ok(disk.disk_uri.clone()),
        },
    }
}

/// Stands for a project or a zone that the object does not name.
const UNSPECIFIED: &str = "UNSPECIFIED";

/// Separates the zones of a volume in its zone label.
const ZONE_DELIMITER: &str = "__";

const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
const BETA_ZONE_LABEL: &str = "failure-domain.beta.kubernetes.io/zone";

fn zonal_disk(zone: &str, disk: &str) -> String {
    format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{disk}")
}

/// A GCE disk is known by its zone, or by its region where it is in several zones.
fn gce_handle(disk: &str, labels: &Labels) -> Result<String, String> {
    let beta = labels.get(BETA_ZONE_LABEL).filter(|zones| !zones.is_empty());
    let zones = beta.or(labels.get(ZONE_LABEL)).map_or("", String::as_str);
    if zones.is_empty() {
        return Ok(zonal_disk(UNSPECIFIED, disk));
    }
    if !zones.contains(ZONE_DELIMITER) {
        return Ok(zonal_disk(zones, disk));
    }
    let region = gce_region(zones).map_err(|error| format!("failed to get region from zones: {error}"))?;
    Ok(format!("projects/{UNSPECIFIED}/regions/{region}/disks/{disk}"))
}

/// The region that zones such as `us-central1-a` have in common.
fn gce_region(zones: &str) -> Result<String, String> {
    let mut regions = BTreeSet::new();
    for zone in zones.split(ZONE_DELIMITER) {
        match zone.split('-').collect::<Vec<_>>().as_slice() {
            [locale, region, _] => regions.insert(format!("{locale}-{region}")),
            _ => {
                return Err(format!(
                    "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
                ));
            }
        };
    }
    match regions.pop_first() {
        Some(region) if regions.is_empty() => Ok(region),
        first => {
            let regions: Vec<String> =
                first.into_iter().chain(regions).map(|region| format!("{region}:{{}}")).collect();
            Err(format!("multiple or no regions gotten from zones, got: map[{}]", regions.join(" ")))
        }
    }
}

/// `vol-1` from `aws://zone/vol-1`; anything without the scheme is the ID itself.
fn ebs_handle(id: &str) -> Result<String, String> {
    let Some(rest) = id.strip_prefix("aws://") else { return Ok(id.to_owned()) };
    let path = rest.split(['?', '#']).next().unwrap_or("");
    let path = path.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
    match path.strip_prefix("vol-") {
        Some(rest) if !rest.contains('/') => Ok(path.to_owned()),
        _ => Err(format!("Invalid format for AWS volume ({id})")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use nodesift_object::volume::{AzureDisk, GcePersistentDisk};

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn ebs_volumes_are_known_by_the_last_part_of_their_url() {
        assert_eq!(ebs_handle("vol-1").unwrap(), "vol-1");
        assert_eq!(ebs_handle("anything").unwrap(), "anything");
        assert_eq!(ebs_handle("aws://us-east-1a/vol-1").unwrap(), "vol-1");
        assert_eq!(ebs_handle("aws:///vol-1/").unwrap(), "vol-1");
        for bad in ["aws://", "aws://zone", "aws://zone/x", "aws://zone/vol-1/2"] {
            assert_eq!(ebs_handle(bad).unwrap_err(), format!("Invalid format for AWS volume ({bad})"));
        }
    }

    #[test]
    fn gce_disks_are_known_by_zone_or_region() {
        let handle = |pairs: &[(&str, &str)]| gce_handle("d", &labels(pairs));
        assert_eq!(handle(&[]).unwrap(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
        assert_eq!(handle(&[(ZONE_LABEL, "us-a1-b")]).unwrap(), "projects/UNSPECIFIED/zones/us-a1-b/disks/d");
        let both = [(ZONE_LABEL, "x"), (BETA_ZONE_LABEL, "us-a1-b")];
        assert_eq!(handle(&both).unwrap(), "projects/UNSPECIFIED/zones/us-a1-b/disks/d");
        let two = [(ZONE_LABEL, "us-a1-b__us-a1-c")];
        assert_eq!(handle(&two).unwrap(), "projects/UNSPECIFIED/regions/us-a1/disks/d");
        assert!(
            handle(&[(ZONE_LABEL, "us-a1-b__us-a2-c")]).unwrap_err().starts_with("failed to get region from zones")
        );
        assert!(handle(&[(ZONE_LABEL, "a__b")]).unwrap_err().contains("unexpected format"));
    }

    #[test]
    fn a_disk_in_a_pod_has_no_zone() {
        let disk = GcePersistentDisk { pd_name: "d".into(), read_only: false };
        let volume = inline(InTreeSource::Gce(&disk));
        assert_eq!(volume.handle.unwrap().as_ref(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
    }

    #[test]
    fn only_managed_azure_disks_have_a_driver() {
        let disk = |kind: Option<&str>| {
            let disk = AzureDisk { disk_uri: "/subscriptions/x".into(), kind: kind.map(Into::into) };
            inline(InTreeSource::Azure(&disk)).handle
        };
        assert!(disk(None).is_ok() && disk(Some("managed")).is_ok());
        assert_eq!(disk(Some("Shared")).unwrap_err().as_ref(), "kind(Shared) is not supported in csi migration");
    }

    #[test]
    fn two_plugins_have_drivers_but_are_not_counted() {
        assert!(is_migratable("kubernetes.io/azure-file") && Plugin::from_name("kubernetes.io/azure-file").is_none());
        assert!(Plugin::ALL.iter().all(|plugin| is_migratable(plugin.name())));
        assert!(!is_migratable("ebs.csi.aws.com"));
    }
}
