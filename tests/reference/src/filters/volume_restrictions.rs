//! VolumeRestrictions: disks that only one pod per node may use, and claims that only one pod in the cluster may use.
//!
//! Source: P/volumerestrictions/volume_restrictions.go.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{flag, is_set, list, namespace, text, texts};
use serde_json::Value;

use crate::outcome::{Code, Failure, Outcome};
use crate::volumes::{claim, not_found};

const DISK_IN_USE: &str = "node(s) had no available disk";
const CLAIM_IN_USE: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already \
    in-use by another pod";

pub(super) fn judge(cluster: &Cluster, pod: &Value) -> Outcome {
    let mut exclusive = Vec::new();
    for name in claims(pod) {
        let Some(claim) = claim(cluster, pod, &name) else {
            let failure = Failure::new(Code::UnschedulableAndUnresolvable, not_found(&name));
            return Outcome::rejected(cluster.nodes(), &failure);
        };
        if texts(claim, "spec.accessModes").iter().any(|mode| mode == "ReadWriteOncePod") {
            exclusive.push(name);
        }
    }
    let placed = cluster.placed_pods();
    let in_use = placed.iter().any(|(_, other)| {
        namespace(other) == namespace(pod) && claims(other).iter().any(|name| exclusive.contains(name))
    });
    Outcome::each_node(cluster.nodes(), |node| {
        if cluster.pods_on(node).any(|other| disks_conflict(pod, other)) {
            return Some(Failure::new(Code::Unschedulable, DISK_IN_USE));
        }
        in_use.then(|| Failure::new(Code::Unschedulable, CLAIM_IN_USE))
    })
}

/// Names of the claims in a pod's volumes, except those of ephemeral volumes.
fn claims(pod: &Value) -> Vec<String> {
    let volumes = list(pod, "spec.volumes").iter().filter(|volume| is_set(volume, "persistentVolumeClaim"));
    volumes.map(|volume| text(volume, "persistentVolumeClaim.claimName").to_owned()).collect()
}

fn disks_conflict(pod: &Value, other: &Value) -> bool {
    let others = list(other, "spec.volumes");
    list(pod, "spec.volumes").iter().any(|volume| others.iter().any(|other| volumes_conflict(volume, other)))
}

fn volumes_conflict(a: &Value, b: &Value) -> bool {
    let both = |field: &str| is_set(a, field) && is_set(b, field);
    let same = |path: &str| text(a, path) == text(b, path);
    let only_read = |path: &str| flag(a, path) && flag(b, path);
    let monitors = || {
        let others = texts(b, "rbd.monitors");
        texts(a, "rbd.monitors").iter().any(|monitor| others.contains(monitor))
    };
    (both("gcePersistentDisk") && same("gcePersistentDisk.pdName") && !only_read("gcePersistentDisk.readOnly"))
        || (both("awsElasticBlockStore") && same("awsElasticBlockStore.volumeID"))
        || (both("iscsi") && same("iscsi.iqn") && !only_read("iscsi.readOnly"))
        || (both("rbd") && monitors() && same("rbd.pool") && same("rbd.image") && !only_read("rbd.readOnly"))
}
