//! Topology spread constraints of a pod that brings none: those of the arguments or of the system, with a selector by the pod's services
//! and its controller.
//!
//! Sources: P/podtopologyspread/common.go, plugin.go; P/helper/spread.go.

use nodesift_fixtures::json::{entries, flag, labels, list, lookup, namespace, text};
use serde_json::{Map, Value, json};

use super::World;

/// Whether the constraints are those of the system.
pub(super) fn is_system(world: &World<'_>) -> bool {
    text(world.profile.arguments("PodTopologySpread"), "defaultingType") != "List"
}

/// The constraints of the system or of the arguments for a pod, as they would be written into it; none where nothing selects it.
pub(super) fn of_profile(world: &World<'_>, pod: &Value) -> Vec<Value> {
    let written = match is_system(world) {
        true => vec![system("kubernetes.io/hostname", 3), system("topology.kubernetes.io/zone", 5)],
        false => list(world.profile.arguments("PodTopologySpread"), "defaultConstraints").to_vec(),
    };
    let Some(selector) = default_selector(world, pod) else { return Vec::new() };
    let with_selector = |mut constraint: Value| {
        constraint["labelSelector"] = selector.clone();
        constraint
    };
    written.into_iter().map(with_selector).collect()
}

fn system(key: &str, max_skew: i64) -> Value {
    json!({"topologyKey": key, "maxSkew": max_skew, "whenUnsatisfiable": "ScheduleAnyway"})
}

/// The labels of all services that select the pod, and the selector of its controller; `None` where that is empty.
fn default_selector(world: &World<'_>, pod: &Value) -> Option<Value> {
    let mut wanted = Map::new();
    let mut expressions: Vec<Value> = Vec::new();
    for service in world.cluster.all("Service").filter(|service| namespace(service) == namespace(pod)) {
        let selector = entries(service, "spec.selector");
        if selector.iter().all(|(key, value)| lookup(labels(pod), key) == value.as_str()) {
            wanted.extend(selector.into_iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    let owner = list(pod, "metadata.ownerReferences").iter().find(|owner| flag(owner, "controller"));
    if let Some(owner) = owner {
        let kind = (text(owner, "apiVersion"), text(owner, "kind"));
        let key = format!("{}/{}", namespace(pod), text(owner, "name"));
        let controller = world.cluster.get(kind.1, &key);
        match (kind, controller) {
            (("v1", "ReplicationController"), Some(controller)) => {
                let selector = entries(controller, "spec.selector").into_iter();
                wanted.extend(selector.map(|(key, value)| (key.clone(), value.clone())));
            }
            (("apps/v1", "ReplicaSet" | "StatefulSet"), Some(controller)) => {
                // Beside the labels of services: a key that both have must have both values.
                for (key, value) in entries(controller, "spec.selector.matchLabels") {
                    expressions.push(json!({"key": key, "operator": "In", "values": [value]}));
                }
                expressions.extend(list(controller, "spec.selector.matchExpressions").iter().cloned());
            }
            _ => {}
        }
    }
    let is_empty = wanted.is_empty() && expressions.is_empty();
    (!is_empty).then(|| json!({"matchLabels": wanted, "matchExpressions": expressions}))
}
