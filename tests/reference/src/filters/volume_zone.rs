//! VolumeZone: volumes with zone or region labels, on nodes with such labels.
//!
//! Source: P/volumezone/volume_zone.go.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{is_set, label, list, text};
use serde_json::Value;

use crate::outcome::{Code, Failure, Outcome};
use crate::volumes::{claim, class_of_claim, not_found, zones_of};

const LABELS: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

/// A node label that a volume requires.
struct Demand {
    label: &'static str,
    values: Vec<String>,
}

pub(super) fn judge(cluster: &Cluster, pod: &Value) -> Outcome {
    let demands = match demands(cluster, pod) {
        Ok(demands) => demands,
        Err(reason) => {
            let failure = Failure::new(Code::UnschedulableAndUnresolvable, reason);
            return Outcome::rejected(cluster.nodes(), &failure);
        }
    };
    Outcome::each_node(cluster.nodes(), |node| {
        let is_constrained = LABELS.iter().any(|key| label(node, key).is_some());
        let unmet = |demand: &Demand| {
            let found = label(node, demand.label).or_else(|| label(node, ga_label(demand.label)));
            !found.is_some_and(|found| demand.values.iter().any(|value| value == found))
        };
        let rejected = is_constrained && demands.iter().any(unmet);
        rejected.then(|| Failure::new(Code::UnschedulableAndUnresolvable, "node(s) had no available volume zone"))
    })
}

fn ga_label(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        other => other,
    }
}

/// The requirements of the pod's volumes, or the error of PreFilter.
fn demands(cluster: &Cluster, pod: &Value) -> Result<Vec<Demand>, String> {
    let mut demands = Vec::new();
    for volume in list(pod, "spec.volumes").iter().filter(|volume| is_set(volume, "persistentVolumeClaim")) {
        let claim_name = text(volume, "persistentVolumeClaim.claimName");
        if claim_name.is_empty() {
            return Err("PersistentVolumeClaim had no name".to_owned());
        }
        let claim = claim(cluster, pod, claim_name).ok_or_else(|| not_found(claim_name))?;
        let volume_name = text(claim, "spec.volumeName");
        if volume_name.is_empty() {
            waits_for_volume(cluster, claim)?;
            continue;
        }
        let volume = cluster
            .get("PersistentVolume", volume_name)
            .ok_or_else(|| format!("persistentvolume {volume_name:?} not found"))?;
        let zones = |label: &'static str| Some(Demand { label, values: zones_of(volume, label)? });
        demands.extend(LABELS.into_iter().filter_map(zones));
    }
    Ok(demands)
}

/// A claim without a volume must have a class with binding mode WaitForFirstConsumer.
fn waits_for_volume(cluster: &Cluster, claim: &Value) -> Result<(), String> {
    let class_name = class_of_claim(claim);
    if class_name.is_empty() {
        return Err("PersistentVolumeClaim had no pv name and storageClass name".to_owned());
    }
    let class = cluster
        .get("StorageClass", class_name)
        .ok_or_else(|| format!("storageclass.storage.k8s.io {class_name:?} not found"))?;
    match text(class, "volumeBindingMode") {
        "" => Err(format!("VolumeBindingMode not set for StorageClass {class_name:?}")),
        "WaitForFirstConsumer" => Ok(()),
        _ => Err("PersistentVolume had no name".to_owned()),
    }
}
