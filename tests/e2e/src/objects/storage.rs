//! Volumes, claims, classes, and what a CSI driver says.

use fastrand::Rng;
use nodesift_reference::json::text;
use serde_json::{Value, json};

use super::{NAMESPACES, ZONES, nodes, word};

/// The driver of all volumes.
const DRIVER: &str = "csi.example.com";

/// Claims that the run makes in each namespace.
const CLAIMS: usize = 12;

/// The name of a claim by number.
pub(crate) fn claim_name(rng: &mut Rng) -> String {
    format!("claim-{:02}", rng.usize(..CLAIMS))
}

/// Classes, the driver, capacities, claims, and a volume for about half of the claims; `nodes` have the driver.
pub(crate) fn objects(rng: &mut Rng, nodes: usize) -> Vec<Value> {
    let class = |name: &str, mode: &str| {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": DRIVER, "volumeBindingMode": mode,
        })
    };
    let mut objects = vec![
        class("late", "WaitForFirstConsumer"),
        class("early", "Immediate"),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER},
            "spec": {"attachRequired": true, "storageCapacity": true},
        }),
    ];
    for zone in ZONES {
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": format!("late-{zone}"), "namespace": "kube-system"},
            "storageClassName": "late", "capacity": word(rng, &["1Gi", "8Gi", "500Gi"]),
            "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": zone}},
        }));
    }
    for number in 0..nodes {
        let count = [2, 5, 25].get(rng.usize(..3)).copied().unwrap_or(2);
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": nodes::name(number)},
            "spec": {"drivers": [{
                "name": DRIVER, "nodeID": nodes::name(number), "topologyKeys": ["topology.kubernetes.io/zone"],
                "allocatable": {"count": count},
            }]},
        }));
    }
    for namespace in NAMESPACES {
        for number in 0..CLAIMS {
            let name = format!("claim-{number:02}");
            let volume = format!("{namespace}-{name}");
            let claim = claim(rng, namespace, &name);
            if number % 2 == 0 {
                objects.push(persistent_volume(rng, &volume, &claim["spec"]["accessModes"]));
            }
            objects.push(claim);
        }
    }
    let volume = json!({"persistentVolumeName": format!("{}-claim-00", NAMESPACES[0])});
    objects.push(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "attached"},
        "spec": {"attacher": DRIVER, "nodeName": nodes::name(1), "source": volume},
    }));
    objects
}

fn claim(rng: &mut Rng, namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": [word(rng, &["ReadWriteOnce", "ReadWriteOncePod"])],
            "storageClassName": word(rng, &["late", "late", "early"]),
            "resources": {"requests": {"storage": word(rng, &["1Gi", "5Gi"])}},
        },
    })
}

fn persistent_volume(rng: &mut Rng, name: &str, modes: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": modes,
            "storageClassName": "late", "csi": {"driver": DRIVER, "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{
                "key": "topology.kubernetes.io/zone", "operator": "In", "values": [word(rng, &ZONES)],
            }]}]}},
        },
    })
}

/// The volume that is there for a claim; none where its class has none.
pub(crate) fn volume_of(claim: &Value) -> Option<String> {
    let name = text(claim, "metadata.name");
    let number: usize = name.strip_prefix("claim-")?.parse().ok()?;
    let is_there = number.is_multiple_of(2) && text(claim, "spec.storageClassName") == "late";
    is_there.then(|| format!("{}-{name}", text(claim, "metadata.namespace")))
}

/// The patches by which a claim and its volume are bound to each other: of the volume, of the claim, of the claim's status.
pub(crate) fn binding(claim: &Value, volume: &str) -> [Value; 3] {
    let metadata = &claim["metadata"];
    let reference = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": metadata["namespace"],
        "name": metadata["name"], "uid": metadata["uid"],
    });
    [
        json!({"spec": {"claimRef": reference}}),
        json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume},
        }),
        json!({"status": {"phase": "Bound", "accessModes": claim["spec"]["accessModes"], "capacity": {"storage": "10Gi"}}}),
    ]
}
