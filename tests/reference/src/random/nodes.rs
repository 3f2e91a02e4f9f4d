//! Nodes.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::{Shape, amounts};

/// Label keys that topologies are made of.
pub(super) const TOPOLOGIES: [&str; 5] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "example.com/rack",
    "example.com/nosuch",
];

/// Keys and values that selectors ask for.
pub(super) const LABELS: [(&str, &[&str]); 4] = [
    ("disk", &["ssd", "hdd", ""]),
    ("gen", &["1", "2", "9", "-1", "007", "abc", "9223372036854775807", ""]),
    ("pool", &["general", "batch", "db"]),
    ("gpu", &["true", "a100"]),
];

/// Keys, values and effects of taints.
pub(super) const TAINT_KEYS: [&str; 4] = ["dedicated", "spot", "node.kubernetes.io/unschedulable", "sla"];
pub(super) const TAINT_VALUES: [&str; 4] = ["", "db", "true", "99"];
pub(super) const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "PreferNoSchedule"];

pub(super) fn node_name(number: usize) -> String {
    if number % 7 == 3 { format!("node-{number}.example.com") } else { format!("n{number}") }
}

pub(super) fn node(dice: &mut Dice, shape: &Shape, name: &str) -> Value {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("node-{name}"), "labels": labels(dice, shape, name)},
        "spec": {},
        "status": {"allocatable": amounts::allocatable(dice)},
    });
    if dice.chance(8) {
        node["spec"]["unschedulable"] = json!(true);
    }
    if dice.chance(shape.taints) {
        node["spec"]["taints"] = taints(dice);
    }
    if dice.chance(40) {
        node["status"]["declaredFeatures"] = features(dice);
    }
    node
}

/// Something about a node becomes another.
pub(super) fn change(dice: &mut Dice, shape: &Shape, node: &mut Value) {
    let name = crate::json::name(node).to_owned();
    match dice.below(6) {
        0 | 1 => node["metadata"]["labels"] = labels(dice, shape, &name),
        2 => node["spec"]["taints"] = if dice.chance(30) { json!([]) } else { taints(dice) },
        3 => node["spec"]["unschedulable"] = json!(dice.chance(50)),
        4 => node["status"]["allocatable"] = amounts::allocatable(dice),
        _ => node["status"]["declaredFeatures"] = features(dice),
    }
}

fn labels(dice: &mut Dice, shape: &Shape, name: &str) -> Value {
    let mut labels = Map::new();
    let mut put = |key: &str, value: String| labels.insert(key.to_owned(), json!(value));
    if dice.chance(96) {
        put("kubernetes.io/hostname", name.to_owned());
    }
    let zone = dice.below(shape.domains);
    if dice.chance(88) {
        let value = if dice.chance(3) { String::new() } else { format!("z-{zone}") };
        put("topology.kubernetes.io/zone", value);
    }
    if dice.chance(10) {
        put("failure-domain.beta.kubernetes.io/zone", format!("z-{zone}"));
    }
    if dice.chance(60) {
        put("topology.kubernetes.io/region", format!("reg-{}", zone / 2));
    }
    if dice.chance(60) {
        put("example.com/rack", format!("r{}", dice.below(shape.domains * 2)));
    }
    if dice.chance(20) {
        put("topology.ebs.csi.aws.com/zone", format!("z-{zone}"));
    }
    for (key, values) in LABELS {
        if dice.chance(50) {
            put(key, (*dice.pick(values)).to_owned());
        }
    }
    Value::Object(labels)
}

fn taints(dice: &mut Dice) -> Value {
    let taint = |dice: &mut Dice| {
        let mut taint = json!({"key": dice.pick(&TAINT_KEYS), "effect": dice.pick(&EFFECTS)});
        if dice.chance(70) {
            taint["value"] = json!(dice.pick(&TAINT_VALUES));
        }
        taint
    };
    (0..dice.between(1, 2)).map(|_| taint(dice)).collect()
}

fn features(dice: &mut Dice) -> Value {
    let known = ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "ZUnknownFeature"];
    let mut features = dice.some_of(&known, 3);
    features.sort_unstable();
    json!(features)
}
