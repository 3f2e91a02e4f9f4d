//! Nodes: labels, taints, what they can give.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{ZONES, chance, word};

/// The name of a node by number.
pub(crate) fn name(number: usize) -> String {
    format!("node-{number:03}")
}

/// A node as a kubelet registers it; what it gives comes by [`status`].
pub(crate) fn node(rng: &mut Rng, name: &str) -> Value {
    let mut labels = labels(rng);
    labels["kubernetes.io/hostname"] = json!(name);
    labels["topology.kubernetes.io/region"] = json!("r1");
    if chance(rng, 95) {
        labels["topology.kubernetes.io/zone"] = json!(word(rng, &ZONES));
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints(rng), "unschedulable": chance(rng, 4)},
    })
}

/// A patch of `status`: capacity, and a little less to allocate.
pub(crate) fn status(rng: &mut Rng) -> Value {
    let cores = [2, 4, 8, 16, 64].get(rng.usize(..5)).copied().unwrap_or(4);
    let memory = cores * [2, 4, 8].get(rng.usize(..3)).copied().unwrap_or(4);
    let mut capacity = json!({
        "cpu": cores.to_string(), "memory": format!("{memory}Gi"), "ephemeral-storage": "100Gi", "pods": "110",
    });
    let mut allocatable = json!({
        "cpu": format!("{}m", cores * 1000 - 70), "memory": format!("{}Ki", memory * 1024 * 1024 - 300_000),
        "ephemeral-storage": "92Gi", "pods": word(rng, &["8", "20", "110"]),
    });
    for (resource, amount) in [("example.com/gpu", "4"), ("hugepages-2Mi", "512Mi")] {
        // `null` takes away what an earlier status had.
        let amount = if chance(rng, 20) { json!(amount) } else { Value::Null };
        capacity[resource] = amount.clone();
        allocatable[resource] = amount;
    }
    json!({"status": {
        "capacity": capacity, "allocatable": allocatable,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }})
}

/// Labels that selectors ask for.
pub(crate) fn labels(rng: &mut Rng) -> Value {
    json!({
        "disk": word(rng, &["ssd", "hdd"]),
        "kubernetes.io/arch": word(rng, &["amd64", "arm64"]),
        "generation": rng.u32(1..6).to_string(),
        "rack": format!("rack-{}", rng.u32(..20)),
    })
}

/// Taints: mostly none.
pub(crate) fn taints(rng: &mut Rng) -> Value {
    let mut taints = Vec::new();
    if chance(rng, 15) {
        let effect = word(rng, &["NoSchedule", "NoExecute", "PreferNoSchedule"]);
        taints.push(json!({"key": "dedicated", "value": word(rng, &["gpu", "db"]), "effect": effect}));
    }
    if chance(rng, 5) {
        taints.push(json!({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}));
    }
    json!(taints)
}
