//! Objects made up at random that a real API server accepts: what predicates read, in small vocabularies, so that
//! everything meets everything.
//!
//! [`nodes`], [`pods`] and [`storage`] make objects of their kinds up; what everything stands on is here.

pub(crate) mod nodes;
pub(crate) mod pods;
pub(crate) mod storage;

use fastrand::Rng;
use serde_json::{Value, json};

/// Namespaces of the run's pods, beside those that the server makes.
pub(crate) const NAMESPACES: [&str; 5] = ["shop", "mail", "batch", "data", "ops"];

/// Where topology domains are.
pub(crate) const ZONES: [&str; 4] = ["z1", "z2", "z3", "z4"];

/// One of several.
pub(crate) fn pick<'a, T>(rng: &mut Rng, of: &'a [T]) -> Option<&'a T> {
    if of.is_empty() { None } else { of.get(rng.usize(..of.len())) }
}

/// One of several words.
pub(crate) fn word<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    pick(rng, of).copied().unwrap_or_default()
}

/// Yes, so many times out of a hundred.
pub(crate) fn chance(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(..100) < percent
}

/// What is there before any node: namespaces, priorities, a runtime with an overhead, a class of devices, services and
/// controllers.
pub(crate) fn foundation(rng: &mut Rng) -> Vec<Value> {
    let mut objects: Vec<Value> = NAMESPACES.iter().map(|name| namespace(rng, name)).collect();
    for (name, value) in [(pods::HIGH_PRIORITY, 1000), ("low", -10)] {
        objects.push(json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
        }));
    }
    objects.push(json!({
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": pods::RUNTIME_CLASS}, "handler": "vm",
        "overhead": {"podFixed": {"cpu": "120m", "memory": "130Mi"}},
    }));
    objects.push(json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "tpu"},
        "spec": {"extendedResourceName": "example.com/tpu"},
    }));
    for app in pods::APPS {
        let namespace = word(rng, &NAMESPACES);
        let metadata = json!({"name": app, "namespace": namespace});
        let template = json!({
            "metadata": {"labels": {"app": app}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        objects.push(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": {"app": app}, "ports": [{"port": 80}]},
        }));
        // Nobody makes their pods: there is no controller manager.
        let spec = json!({"replicas": 0, "selector": {"matchLabels": {"app": app}}, "template": template});
        objects.push(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}));
        let mut spec = spec;
        spec["serviceName"] = json!(app);
        objects.push(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}));
        objects.push(json!({
            "apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata,
            "spec": {"replicas": 0, "selector": {"app": app}, "template": template},
        }));
    }
    objects
}

fn namespace(rng: &mut Rng, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": namespace_labels(rng)}})
}

/// Labels of a namespace, by which affinity selects it; `null` takes one away.
pub(crate) fn namespace_labels(rng: &mut Rng) -> Value {
    json!({
        "team": if chance(rng, 70) { json!(word(rng, &["a", "b"])) } else { Value::Null },
        "env": if chance(rng, 50) { json!(word(rng, &["prod", "dev"])) } else { Value::Null },
    })
}
