//! VolumeRestrictions: rejects nodes where another pod mounts the same disk exclusively, and all nodes where another
//! pod uses a claim with access mode ReadWriteOncePod.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/volumerestrictions.

use nodesift_sdk::columns::cluster_volume_use::DiskUser;
use nodesift_sdk::columns::pod_volumes::{Disk, DiskKind, Volume};
use nodesift_sdk::columns::{cluster_storage, cluster_volume_use, pod_volumes};
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict};

/// Reason: a disk of the pod is in use on the node.
pub const REASON_DISK: &str = "node(s) had no available disk";

/// Reason for all nodes: a ReadWriteOncePod claim of the pod is in use.
pub const REASON_CLAIM: &str =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

/// The access mode of a claim that only one pod can use at a time.
const READ_WRITE_ONCE_POD: &str = "ReadWriteOncePod";

/// The bit of a row where a disk is in use. Its reason replaces that of [`CLAIM`].
const DISK: u8 = 1;

/// The bit of every row where a ReadWriteOncePod claim is in use.
const CLAIM: u8 = 2;

/// Rejects nodes where another pod mounts the same disk or uses the same ReadWriteOncePod claim.
#[derive(Debug)]
pub struct VolumeRestrictions;

impl Predicate for VolumeRestrictions {
    const NAME: &'static str = "VolumeRestrictions";
    const SUMMARY: &'static str =
        "rejects nodes where another pod mounts the same disk or uses the same ReadWriteOncePod claim";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let volumes = pod_volumes::volumes();
        if volumes.is_empty() {
            return Verdict::FitsAll;
        }
        let claim_in_use = match exclusive_claim_in_use(&volumes) {
            Ok(in_use) => in_use,
            Err(failure) => return Verdict::FitsNone(failure),
        };
        let mut patterns = vec![if claim_in_use { CLAIM } else { 0 }; rows];
        for volume in &volumes {
            let Volume::Disk(disk) = volume else { continue };
            for user in cluster_volume_use::disk_users(disk.kind, &disk.id) {
                if let Some(pattern) = patterns.get_mut(user.row as usize).filter(|_| excludes(disk, &user)) {
                    *pattern = DISK;
                }
            }
        }
        Verdict::by_pattern(&patterns, |pattern| {
            Failure::unschedulable(if pattern & DISK != 0 { REASON_DISK } else { REASON_CLAIM })
        })
    }
}

nodesift_sdk::export!(VolumeRestrictions);

/// Whether a pod on any node uses a ReadWriteOncePod claim of the pod being filtered. Claims of generic ephemeral
/// volumes are not checked.
///
/// # Errors
///
/// The failure of every node, where a claim does not exist.
fn exclusive_claim_in_use(volumes: &[Volume]) -> Result<bool, Failure> {
    let mut in_use = false;
    for volume in volumes {
        let Volume::Claim(claim) = volume else { continue };
        if claim.ephemeral {
            continue;
        }
        let name = &claim.name;
        let Some(claim) = cluster_storage::claim_named(name) else {
            return Err(Failure::unresolvable(format!("persistentvolumeclaim {name:?} not found")));
        };
        if claim.access_modes.iter().any(|mode| mode == READ_WRITE_ONCE_POD) {
            in_use |= cluster_volume_use::claim_users(name) > 0;
        }
    }
    Ok(in_use)
}

/// Whether the pod being filtered and a user of the same disk exclude each other.
fn excludes(disk: &Disk, user: &DiskUser) -> bool {
    let both_only_read = disk.read_only && user.read_only;
    match disk.kind {
        // EBS volumes cannot be shared, not even read-only.
        DiskKind::AwsElasticBlockStore => true,
        DiskKind::GcePersistentDisk | DiskKind::Iscsi => !both_only_read,
        DiskKind::Rbd => disk.monitors.iter().any(|monitor| user.monitors.contains(monitor)) && !both_only_read,
    }
}

#[cfg(test)]
mod tests {
    use nodesift_sdk::columns::cluster_storage::Claim;
    use nodesift_sdk::columns::pod_volumes::ClaimRef;
    use nodesift_sdk::native::{Cluster, Node, Pod, Storage, claim};

    use super::*;

    fn disk(kind: DiskKind, id: &str, read_only: bool) -> Disk {
        Disk { kind, id: id.into(), read_only, monitors: Vec::new() }
    }

    fn cluster(pod: Pod, storage: Storage, b: Node) -> Cluster {
        Cluster::new(pod).node(Node::new("a")).node(b).storage(storage)
    }

    /// Whether a pod with the disk `wanted` fits a node where `mounted` is mounted.
    fn fits(wanted: Disk, mounted: Disk) -> bool {
        let pod = Pod::new("default").volume(Volume::Disk(wanted));
        let cluster = cluster(pod, Storage::default(), Node::new("b").disk(mounted));
        let failures = cluster.failures(&VolumeRestrictions);
        assert_eq!(failures[0], None, "only the node with the disk can fail");
        match &failures[1] {
            None => true,
            Some(failure) => {
                assert_eq!(*failure, Failure::unschedulable(REASON_DISK));
                false
            }
        }
    }

    #[test]
    fn read_only_mounts_share_a_disk_except_with_ebs() {
        for (kind, shares) in
            [(DiskKind::GcePersistentDisk, true), (DiskKind::Iscsi, true), (DiskKind::AwsElasticBlockStore, false)]
        {
            assert!(!fits(disk(kind, "d", false), disk(kind, "d", false)), "{kind:?}");
            assert!(!fits(disk(kind, "d", true), disk(kind, "d", false)), "{kind:?}");
            assert_eq!(fits(disk(kind, "d", true), disk(kind, "d", true)), shares, "{kind:?}");
            assert!(fits(disk(kind, "d", false), disk(kind, "e", false)), "{kind:?}");
        }
        assert!(fits(disk(DiskKind::Iscsi, "d", false), disk(DiskKind::GcePersistentDisk, "d", false)));
    }

    #[test]
    fn rbd_devices_are_the_same_only_where_their_monitors_overlap() {
        let rbd = |monitors: &[&str], read_only| Disk {
            monitors: monitors.iter().map(|monitor| (*monitor).into()).collect(),
            ..disk(DiskKind::Rbd, "pool/image", read_only)
        };
        assert!(!fits(rbd(&["m1", "m2"], false), rbd(&["m2"], false)));
        assert!(fits(rbd(&["m1"], false), rbd(&["m2"], false)));
        assert!(fits(rbd(&["m1"], true), rbd(&["m1"], true)));
        assert!(fits(rbd(&[], false), rbd(&[], false)));
    }

    /// A pod that uses the claim `c`.
    fn user(ephemeral: bool) -> Pod {
        Pod::new("default").volume(Volume::Claim(ClaimRef { name: "c".into(), ephemeral }))
    }

    /// The failures of two nodes. The pod uses the claim `c`; with `in_use`, so does a pod on the second node.
    fn claim_failures(claims: Vec<Claim>, in_use: bool, ephemeral: bool) -> Vec<Option<Failure>> {
        let b = if in_use { Node::new("b").running(user(false)) } else { Node::new("b") };
        cluster(user(ephemeral), Storage { claims, ..Storage::default() }, b).failures(&VolumeRestrictions)
    }

    fn exclusive() -> Claim {
        Claim { access_modes: vec![READ_WRITE_ONCE_POD.into()], ..claim("c") }
    }

    #[test]
    fn a_read_write_once_pod_claim_in_use_rejects_every_node() {
        let rejected = Some(Failure::unschedulable(REASON_CLAIM));
        assert_eq!(claim_failures(vec![exclusive()], true, false), [rejected.clone(), rejected]);
        assert_eq!(claim_failures(vec![exclusive()], false, false), [None, None]);
        assert_eq!(claim_failures(vec![claim("c")], true, false), [None, None]);
        assert_eq!(claim_failures(vec![exclusive()], true, true), [None, None]);
    }

    #[test]
    fn a_disk_in_use_is_reported_before_a_claim_in_use() {
        let pod = user(false).volume(Volume::Disk(disk(DiskKind::Iscsi, "d", false)));
        let storage = Storage { claims: vec![exclusive()], ..Storage::default() };
        let b = Node::new("b").running(user(false)).disk(disk(DiskKind::Iscsi, "d", false));
        let expected = [REASON_CLAIM, REASON_DISK].map(|reason| Some(Failure::unschedulable(reason)));
        assert_eq!(cluster(pod, storage, b).failures(&VolumeRestrictions), expected);
    }

    #[test]
    fn a_missing_claim_rejects_every_node_except_for_ephemeral_volumes() {
        let rejected = Some(Failure::unresolvable("persistentvolumeclaim \"c\" not found"));
        assert_eq!(claim_failures(Vec::new(), false, false), [rejected.clone(), rejected]);
        assert_eq!(claim_failures(Vec::new(), false, true), [None, None]);
    }
}
