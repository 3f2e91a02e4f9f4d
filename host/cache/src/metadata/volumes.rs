//! A pod's volumes as compiled facts: claims, disks that conflict, in-tree volumes that a CSI driver attaches.
//!
//! Start with [`compile`]. How an in-tree volume is named to the CSI driver that replaces it is in [`in_tree`].

pub mod in_tree;

use std::sync::Arc;

use in_tree::InTreeVolume;

use nodesift_object::Pod;
use nodesift_object::volume::Volume;

/// One entry of `spec.volumes` of a kind for which a predicate can reject a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodVolume {
    /// Name of the entry, unique within the pod.
    pub name: Arc<str>,
    /// The claim, if any.
    pub claim: Option<ClaimSource>,
    /// Disks named in the pod itself; more than one only in a pod that no API server would take.
    pub disks: Vec<Disk>,
    /// In-tree volume as its CSI driver identifies it; none beside a claim, and for kinds without such a driver.
    pub in_tree: Option<InTreeVolume>,
}

/// PersistentVolumeClaim that a volume refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClaimSource {
    /// The claim of this name in the pod's namespace.
    Named(Arc<str>),
    /// The claim that is made for the pod: its name is that of the pod and that of the volume, joined by a dash.
    Ephemeral,
}

/// The in-tree kinds that conflict when two pods on one node mount the same disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum DiskKind {
    GcePersistentDisk,
    AwsElasticBlockStore,
    Iscsi,
    Rbd,
}

/// A disk that is named in the pod itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Disk {
    /// Kind of the disk, by its volume source.
    pub kind: DiskKind,
    /// Identifies the disk among those of its kind: a name, a volume ID, an IQN, or `pool/image`.
    pub id: Arc<str>,
    /// Whether it is mounted for reading only.
    pub read_only: bool,
    /// RBD: the monitors; two devices of one identity are the same where these overlap.
    pub monitors: Vec<Arc<str>>,
}

impl PodVolume {
    /// The name of the claim of a pod of this name; none where the volume is no claim.
    pub fn claim_name(&self, pod: &str) -> Option<Arc<str>> {
        match self.claim.as_ref()? {
            ClaimSource::Named(name) => Some(Arc::clone(name)),
            ClaimSource::Ephemeral => Some(Arc::from(format!("{pod}-{}", self.name))),
        }
    }

    /// Whether the claim is made for the pod.
    pub fn is_ephemeral(&self) -> bool {
        self.claim == Some(ClaimSource::Ephemeral)
    }
}

/// The volumes of a pod for which a predicate can reject a node, in order.
pub(super) fn compile(pod: &Pod) -> Arc<[PodVolume]> {
    pod.spec.volumes.iter().filter_map(volume).collect()
}

fn volume(volume: &Volume) -> Option<PodVolume> {
    let named = volume.persistent_volume_claim.as_ref().map(|claim| ClaimSource::Named(Arc::from(&*claim.claim_name)));
    let claim = named.or_else(|| volume.ephemeral.then_some(ClaimSource::Ephemeral));
    // kube-scheduler looks for an in-tree source only where there is no claim.
    let in_tree = if claim.is_none() { volume.in_tree().map(in_tree::inline) } else { None };
    let disks = disks(volume);
    let matters = claim.is_some() || in_tree.is_some() || !disks.is_empty();
    matters.then(|| PodVolume { name: Arc::from(volume.name.as_str()), claim, disks, in_tree })
}

/// The disks that kube-scheduler's VolumeRestrictions compares. EBS volumes and the rest of them are compared by what
/// the real plugin compares, no more: iSCSI by the IQN without the LUN, for example.
fn disks(volume: &Volume) -> Vec<Disk> {
    let disk = |kind, id: &str, read_only| Disk { kind, id: Arc::from(id), read_only, monitors: Vec::new() };
    let gce = volume.gce_persistent_disk.as_ref();
    let ebs = volume.aws_elastic_block_store.as_ref();
    let iscsi = volume.iscsi.as_ref();
    let rbd = volume.rbd.as_ref().map(|rbd| Disk {
        monitors: rbd.monitors.iter().map(|monitor| Arc::from(monitor.as_str())).collect(),
        ..disk(DiskKind::Rbd, &format!("{}/{}", rbd.pool, rbd.image), rbd.read_only)
    });
    (gce.map(|gce| disk(DiskKind::GcePersistentDisk, &gce.pd_name, gce.read_only)).into_iter())
        .chain(ebs.map(|ebs| disk(DiskKind::AwsElasticBlockStore, &ebs.volume_id, ebs.read_only)))
        .chain(iscsi.map(|iscsi| disk(DiskKind::Iscsi, &iscsi.iqn, iscsi.read_only)))
        .chain(rbd)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn volumes(json: &str) -> Arc<[PodVolume]> {
        let pod = format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"volumes":{json}}}}}"#);
        compile(&serde_json::from_str(&pod).unwrap())
    }

    #[test]
    fn kinds_that_no_predicate_reads_are_not_kept() {
        assert!(
            volumes(r#"[{"name":"a","emptyDir":{}},{"name":"b","configMap":{"name":"c"}},{"name":"c"}]"#).is_empty()
        );
        assert!(volumes("null").is_empty());
    }

    #[test]
    fn a_claim_is_named_or_made_for_the_pod() {
        let volumes = volumes(
            r#"[{"name":"a","persistentVolumeClaim":{"claimName":"c"}},{"name":"b","ephemeral":{"volumeClaimTemplate":{}}}]"#,
        );
        let names: Vec<_> = volumes.iter().map(|volume| volume.claim_name("p").unwrap().to_string()).collect();
        assert_eq!(names, ["c", "p-b"]);
        assert_eq!(volumes.iter().map(PodVolume::is_ephemeral).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn disks_are_told_apart_by_what_kube_scheduler_compares() {
        let volumes = volumes(
            r#"[{"name":"a","gcePersistentDisk":{"pdName":"d","readOnly":true}},
                {"name":"b","awsElasticBlockStore":{"volumeID":"vol-1"}},
                {"name":"c","iscsi":{"targetPortal":"1.2.3.4","iqn":"iqn.x","lun":3}},
                {"name":"d","rbd":{"monitors":["m1","m2"],"pool":"p","image":"i"}}]"#,
        );
        let ids: Vec<_> = volumes.iter().flat_map(|volume| &volume.disks).map(|disk| (disk.kind, &*disk.id)).collect();
        let expected = [
            (DiskKind::GcePersistentDisk, "d"),
            (DiskKind::AwsElasticBlockStore, "vol-1"),
            (DiskKind::Iscsi, "iqn.x"),
            (DiskKind::Rbd, "p/i"),
        ];
        assert_eq!(ids, expected);
        assert!(volumes[0].disks[0].read_only && !volumes[1].disks[0].read_only);
        assert_eq!(volumes[3].disks[0].monitors.len(), 2);
    }

    #[test]
    fn a_source_beside_a_claim_is_a_disk_but_nothing_to_attach() {
        let volumes =
            volumes(r#"[{"name":"a","persistentVolumeClaim":{"claimName":""},"gcePersistentDisk":{"pdName":"d"}}]"#);
        assert_eq!((volumes[0].disks.len(), volumes[0].in_tree.is_some()), (1, false));
    }
}
