//! Claims, volumes, classes, and what nodes and drivers say of them.

use serde_json::{Value, json};

use super::dice::Dice;
use super::{Shape, pods};

/// Kinds whose objects come, change and go.
pub(super) const KINDS: [&str; 7] = [
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
];

/// Claims and volumes are numbered up to this.
const CLAIMS: usize = 8;
const VOLUMES: usize = 10;

const CLASSES: [&str; 6] = ["immediate", "waiting", "local", "capacity", "ebs", "zonal"];
const DRIVERS: [&str; 3] = ["csi.example.com", "capacity.example.com", "ebs.csi.aws.com"];

/// The storage of a new cluster.
pub(super) fn objects(dice: &mut Dice, shape: &Shape) -> Vec<Value> {
    if shape.volumes == 0 {
        return Vec::new();
    }
    let mut objects = Vec::new();
    for kind in KINDS {
        let count = match kind {
            "CSINode" => shape.nodes.len(),
            "VolumeAttachment" => shape.nodes.len() / 2,
            "PersistentVolume" | "PersistentVolumeClaim" => VOLUMES * 2,
            _ => 8,
        };
        objects.extend((0..count).map(|_| object(dice, shape, kind)));
    }
    objects
}

/// An object of a kind, which may have a name that is taken.
pub(super) fn object(dice: &mut Dice, shape: &Shape, kind: &str) -> Value {
    match kind {
        "PersistentVolumeClaim" => claim(dice),
        "PersistentVolume" => volume(dice, shape),
        "StorageClass" => class(dice, shape),
        "CSINode" => csi_node(dice, shape),
        "CSIDriver" => json!({
            "apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": {"name": dice.pick(&DRIVERS)},
            "spec": {"storageCapacity": dice.chance(60)},
        }),
        "CSIStorageCapacity" => capacity(dice, shape),
        _ => attachment(dice, shape),
    }
}

/// Something about an object becomes another, as controllers would change it.
pub(super) fn change(dice: &mut Dice, object: &mut Value) {
    match crate::json::text(object, "kind") {
        "PersistentVolumeClaim" => match dice.below(3) {
            0 => bind(dice, object),
            1 => object["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z"),
            _ => object["status"]["phase"] = json!(dice.pick(&["Pending", "Lost", "Bound"])),
        },
        "PersistentVolume" => object["status"]["phase"] = json!(dice.pick(&["Available", "Bound", "Released"])),
        "CSINode" => object["spec"]["drivers"] = drivers(dice),
        "CSIStorageCapacity" => object["capacity"] = json!(dice.pick(&["0", "1Gi", "100Gi"])),
        _ => {}
    }
}

/// The volumes of a pod.
pub(super) fn volumes(dice: &mut Dice) -> Value {
    let volume = |dice: &mut Dice, number: usize| {
        let mut volume = json!({"name": format!("v{number}")});
        let read_only = dice.chance(40);
        match dice.below(12) {
            0 => {
                let name = dice.pick(&["d1", "d2"]);
                volume["gcePersistentDisk"] = json!({"pdName": name, "readOnly": read_only});
            }
            1 => {
                let id = dice.pick(&["vol-1", "vol-2", "aws://z-0/vol-1"]);
                volume["awsElasticBlockStore"] = json!({"volumeID": id, "readOnly": read_only});
            }
            2 => {
                let iqn = dice.pick(&["iqn.1", "iqn.2"]);
                volume["iscsi"] = json!({"targetPortal": "10.0.0.1", "iqn": iqn, "lun": 0, "readOnly": read_only});
            }
            3 => {
                let monitors = dice.some_of(&["m1", "m2", "m3"], 2);
                let image = dice.pick(&["i1", "i2"]);
                volume["rbd"] = json!({"monitors": monitors, "pool": "rbd", "image": image, "readOnly": read_only});
            }
            4 => volume["ephemeral"] = json!({"volumeClaimTemplate": {"spec": {}}}),
            5 => volume["emptyDir"] = json!({}),
            _ => {
                let count = if dice.chance(3) { CLAIMS * 4 } else { CLAIMS };
                let number = dice.below(count);
                volume["persistentVolumeClaim"] = json!({"claimName": format!("claim-{number}")});
            }
        }
        volume
    };
    (0..dice.between(1, 3)).map(|number| volume(dice, number)).collect()
}

fn claim(dice: &mut Dice) -> Value {
    let namespace = dice.pick(&pods::NAMESPACES);
    // Some are made for a pod: `p3-v0`.
    let (name, owner) = if dice.chance(15) {
        let pod = dice.below(60);
        (format!("p{pod}-v{}", dice.below(2)), Some(if dice.chance(70) { pod } else { pod + 1 }))
    } else {
        (format!("claim-{}", dice.below(CLAIMS)), None)
    };
    let mode = dice.pick(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]);
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")},
        "spec": {"accessModes": [mode], "resources": {"requests": {"storage": dice.pick(&["1Gi", "2Gi", "5Gi"])}}},
        "status": {"phase": "Pending"},
    });
    if let Some(owner) = owner {
        let reference =
            json!({"kind": "Pod", "name": format!("p{owner}"), "uid": format!("pod-{owner}"), "controller": true});
        claim["metadata"]["ownerReferences"] = json!([reference]);
    }
    if dice.chance(95) {
        claim["spec"]["storageClassName"] = json!(dice.pick(&CLASSES));
    }
    if dice.chance(55) {
        bind(dice, &mut claim);
    } else if dice.chance(15) {
        claim["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "n1"});
    }
    claim
}

/// The claim gets a volume, existing or not; the binding may not be complete yet.
fn bind(dice: &mut Dice, claim: &mut Value) {
    claim["spec"]["volumeName"] = json!(format!("volume-{}", dice.below(VOLUMES)));
    if dice.chance(92) {
        claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
        claim["status"]["phase"] = json!("Bound");
    }
}

fn volume(dice: &mut Dice, shape: &Shape) -> Value {
    let number = dice.below(VOLUMES);
    let mode = dice.pick(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany"]);
    // No two of a size: which of two equal ones is taken is anybody's choice.
    let size = format!("{}Mi", 1024 * dice.between(1, 5) + number);
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("volume-{number}"), "labels": {}},
        "spec": {
            "accessModes": [mode], "capacity": {"storage": size}, "storageClassName": dice.pick(&CLASSES),
        },
        "status": {"phase": if dice.chance(70) { "Available" } else { "Bound" }},
    });
    match dice.below(6) {
        0 => volume["spec"]["awsElasticBlockStore"] = json!({"volumeID": format!("vol-{number}")}),
        1 => volume["spec"]["gcePersistentDisk"] = json!({"pdName": format!("d{number}")}),
        2 => volume["spec"]["local"] = json!({"path": "/x"}),
        _ => {
            let driver = dice.pick(&DRIVERS);
            volume["spec"]["csi"] = json!({"driver": driver, "volumeHandle": format!("h-{}", dice.below(6))});
        }
    }
    let zone = format!("z-{}", dice.below(shape.domains));
    if dice.chance(30) {
        let (key, value) = match dice.below(2) {
            0 => ("topology.kubernetes.io/zone", zone.clone()),
            _ => ("kubernetes.io/hostname", dice.pick(&shape.nodes).clone()),
        };
        let expression = json!({"key": key, "operator": "In", "values": [value]});
        let terms = json!([{"matchExpressions": [expression]}]);
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": terms}});
    }
    if dice.chance(25) {
        let key = dice.pick(&["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"]);
        let value = *dice.pick(&[zone.as_str(), "z-0__z-1", "z-0__"]);
        volume["metadata"]["labels"] = json!({*key: value});
    }
    if dice.chance(20) {
        let namespace = dice.pick(&pods::NAMESPACES);
        volume["spec"]["claimRef"] = json!({"namespace": namespace, "name": format!("claim-{}", dice.below(CLAIMS))});
    }
    volume
}

fn class(dice: &mut Dice, shape: &Shape) -> Value {
    let name = *dice.pick(&CLASSES);
    let provisioner = match name {
        "local" => "kubernetes.io/no-provisioner",
        "capacity" => "capacity.example.com",
        "ebs" => "kubernetes.io/aws-ebs",
        _ => "csi.example.com",
    };
    let mode = if name == "immediate" { "Immediate" } else { "WaitForFirstConsumer" };
    let mut class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    });
    if name == "zonal" {
        let zones: Vec<String> = (0..dice.between(1, 2)).map(|_| format!("z-{}", dice.below(shape.domains))).collect();
        let expression = json!({"key": "topology.kubernetes.io/zone", "values": zones});
        class["allowedTopologies"] = json!([{"matchLabelExpressions": [expression]}]);
    }
    class
}

fn csi_node(dice: &mut Dice, shape: &Shape) -> Value {
    let mut node = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": dice.pick(&shape.nodes)},
        "spec": {"drivers": drivers(dice)},
    });
    if dice.chance(50) {
        let moved = "kubernetes.io/aws-ebs,kubernetes.io/gce-pd";
        node["metadata"]["annotations"] = json!({"storage.alpha.kubernetes.io/migrated-plugins": moved});
    }
    node
}

fn drivers(dice: &mut Dice) -> Value {
    let driver = |dice: &mut Dice, name: &str| {
        let mut driver = json!({"name": name, "nodeID": "x", "topologyKeys": null});
        if dice.chance(80) {
            driver["allocatable"] = json!({"count": dice.between(0, 3)});
        }
        driver
    };
    let names = dice.some_of(&DRIVERS, 3);
    names.iter().map(|name| driver(dice, name)).collect()
}

fn capacity(dice: &mut Dice, shape: &Shape) -> Value {
    let zone = format!("z-{}", dice.below(shape.domains));
    let mut capacity = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": format!("capacity-{}", dice.below(4)), "namespace": "kube-system"},
        "storageClassName": dice.pick(&["capacity", "waiting"]),
        "capacity": dice.pick(&["0", "1Gi", "10Gi"]),
    });
    if dice.chance(90) {
        capacity["nodeTopology"] = json!({"matchLabels": {"topology.kubernetes.io/zone": zone}});
    }
    if dice.chance(40) {
        capacity["maximumVolumeSize"] = json!(dice.pick(&["1Gi", "4Gi"]));
    }
    capacity
}

fn attachment(dice: &mut Dice, shape: &Shape) -> Value {
    let volume = format!("volume-{}", dice.below(VOLUMES));
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": format!("attachment-{}", dice.below(12))},
        "spec": {
            "attacher": dice.pick(&DRIVERS), "nodeName": dice.pick(&shape.nodes),
            "source": {"persistentVolumeName": volume},
        },
        "status": {"attached": true},
    })
}
