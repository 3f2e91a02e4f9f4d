//! Random nodes, slices and results of allocations, with names and values few enough to meet.

use std::sync::Arc;

use crate::DeviceRules;
use crate::metadata::NodeFacts;
use crate::write::model;
use nodesift_object::claim::AllocatedDevice;
use nodesift_object::device::{DeviceTaintRule, ResourceSlice};
use serde_json::{Map, Value, json};

/// A slice from its JSON.
pub(super) fn slice(json: &str) -> ResourceSlice {
    serde_json::from_str(json).unwrap()
}

/// A node in one of two zones, or in none.
pub(super) fn random_node(random: &mut fastrand::Rng) -> NodeFacts {
    let name = format!("n{}", random.u8(0..6));
    let zone = random.u8(0..3);
    let labels = (zone > 0).then(|| (Arc::from("zone"), Arc::from(format!("z{zone}")))).into_iter().collect();
    NodeFacts { labels, ..model::random_node(random, &name) }
}

/// A device of a claim, with a share or without.
pub(super) fn random_result(random: &mut fastrand::Rng) -> AllocatedDevice {
    let mut result = json!({
        "driver": format!("d{}", random.u8(0..2)),
        "pool": format!("p{}", random.u8(0..3)),
        "device": format!("g{}", random.u8(0..6)),
        "adminAccess": random.u8(0..6) == 0,
    });
    if random.bool() {
        let amount = ["0", "1Gi", "500m", "9e30"][random.usize(0..4)];
        result["shareID"] = json!("share");
        result["consumedCapacity"] = json!({["memory", "cores"][random.usize(0..2)]: amount});
    }
    serde_json::from_value(result).unwrap()
}

/// A slice of one of a few pools.
pub(super) fn random_slice(random: &mut fastrand::Rng) -> ResourceSlice {
    let mut spec = Map::new();
    spec.insert("driver".to_owned(), json!(format!("d{}", random.u8(0..2))));
    let generation = if random.u8(0..5) == 0 { 2 } else { 1 };
    let count = [1, 1, 2, 2, 3][random.usize(0..5)];
    let pool = json!({"name": format!("p{}", random.u8(0..3)), "generation": generation, "resourceSliceCount": count});
    spec.insert("pool".to_owned(), pool);
    spec.extend(random_reach(random));
    if random.u8(0..3) == 0 {
        spec.insert("perDeviceNodeSelection".to_owned(), json!(true));
    }
    if random.u8(0..4) == 0 {
        let sets = (0..random.u8(1..3)).map(|_| {
            json!({"name": format!("c{}", random.u8(0..3)), "counters": {"a": {"value": "10"}, "b": {"value": "1.5Gi"}}})
        });
        spec.insert("sharedCounters".to_owned(), sets.collect());
    }
    let first = random.u8(0..4);
    let devices = (first..first + random.u8(0..4)).map(|number| random_device(random, number));
    spec.insert("devices".to_owned(), devices.collect());
    let slice = json!({"metadata": {"name": format!("s{}", random.u8(0..12))}, "spec": spec});
    serde_json::from_value(slice).unwrap()
}

fn random_device(random: &mut fastrand::Rng, number: u8) -> Value {
    let mut device = Map::new();
    device.insert("name".to_owned(), json!(format!("g{number}")));
    device.insert("attributes".to_owned(), json!({"model": {"string": format!("m{}", random.u8(0..2))}}));
    device.insert("capacity".to_owned(), json!({"memory": {"value": format!("{}Gi", random.u8(0..3))}}));
    device.extend(random_reach(random));
    if random.u8(0..4) == 0 {
        let set = ["c0", "c1", "c2", "odd"][random.usize(0..4)];
        let counter = if random.u8(0..12) == 0 { "odd" } else { "a" };
        let mut draw = json!({"counterSet": set, "counters": {counter: {"value": "3"}, "b": {"value": "250m"}}});
        if random.u8(0..6) == 0 {
            draw["compatibilityGroups"] = json!(["a"]);
        }
        device.insert("consumesCounters".to_owned(), json!([draw]));
    }
    if random.u8(0..8) == 0 {
        let conditions = if random.bool() { json!([]) } else { json!(["attached"]) };
        device.insert("bindingConditions".to_owned(), conditions);
    }
    device.into()
}

/// A rule that selects some devices, or none.
pub(super) fn random_taint_rule(random: &mut fastrand::Rng) -> DeviceTaintRule {
    let name = format!("r{}", random.u8(0..4));
    let mut selector = Map::new();
    for (field, value) in [("driver", format!("d{}", random.u8(0..2))), ("pool", format!("p{}", random.u8(0..3)))] {
        if random.u8(0..3) > 0 {
            selector.insert(field.to_owned(), json!(value));
        }
    }
    if random.bool() {
        selector.insert("device".to_owned(), json!(format!("g{}", random.u8(0..6))));
    }
    let selector = if random.u8(0..8) == 0 { Value::Null } else { selector.into() };
    let taint = json!({"key": format!("k{}", random.u8(0..3)), "effect": "NoSchedule"});
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"deviceSelector": selector, "taint": taint}}))
        .unwrap()
}

/// Rules of which most are as in some version.
pub(super) fn random_rules(random: &mut fastrand::Rng) -> DeviceRules {
    DeviceRules {
        partitionable: random.u8(0..4) > 0,
        binding_conditions: random.u8(0..4) > 0,
        taint_rules: random.bool(),
        bare_taint_rules: random.bool(),
        counters_everywhere: random.bool(),
        leaves_out_groups: random.bool(),
        shows_all_pools: random.u8(0..4) == 0,
    }
}

/// The fields that say which nodes a slice or a device is for.
fn random_reach(random: &mut fastrand::Rng) -> Map<String, Value> {
    let zones = |zones: &[&str]| {
        let expression = json!({"key": "zone", "operator": "In", "values": zones});
        json!({"nodeSelectorTerms": [{"matchExpressions": [expression]}]})
    };
    let (field, value) = match random.u8(0..40) {
        0..14 => ("nodeName", json!(format!("n{}", random.u8(0..6)))),
        14..20 => ("allNodes", json!(true)),
        20..32 => ("nodeSelector", zones([&["z1"][..], &["z2"], &["z1", "z2"]][random.usize(0..3)])),
        32 => ("nodeSelector", zones(&[])),
        33 => ("nodeName", json!("")),
        _ => return Map::new(),
    };
    Map::from_iter([(field.to_owned(), value)])
}
