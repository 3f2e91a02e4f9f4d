//! Pods: what they ask for, and what their node says of them.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{NAMESPACES, ZONES, chance, pick, storage, word};

/// Values of the label `app`; services and controllers select by them.
pub(crate) const APPS: [&str; 6] = ["web", "db", "cache", "queue", "job", "agent"];

/// A priority class of pods that are nominated.
pub(crate) const HIGH_PRIORITY: &str = "high";

/// A runtime class with an overhead.
pub(crate) const RUNTIME_CLASS: &str = "vm";

/// The scheduler whose pods are ours.
const OWN_SCHEDULER: &str = "default-scheduler";

/// Schedulers whose pods are foreign.
const FOREIGN_SCHEDULERS: [&str; 2] = ["volcano", "yunikorn"];

/// A pod that waits for a scheduler: one of ten for a foreign one.
pub(crate) fn pending(rng: &mut Rng, number: usize) -> Value {
    let namespace = word(rng, &NAMESPACES);
    let foreign = chance(rng, 10);
    let scheduler = if foreign { word(rng, &FOREIGN_SCHEDULERS) } else { OWN_SCHEDULER };
    let mut spec =
        json!({"schedulerName": scheduler, "containers": containers(rng), "terminationGracePeriodSeconds": 30});
    if chance(rng, 10) {
        let restart = if chance(rng, 50) { json!("Always") } else { Value::Null };
        spec["initContainers"] = json!([{
            "name": "init", "image": "i", "restartPolicy": restart, "resources": {"requests": requests(rng)},
        }]);
    }
    if chance(rng, 5) {
        spec["runtimeClassName"] = json!(RUNTIME_CLASS);
    }
    if chance(rng, 4) {
        // As much as all containers together may ask for.
        spec["resources"] = json!({"requests": {"cpu": "3", "memory": "4Gi"}});
    }
    if chance(rng, 8) {
        spec["priorityClassName"] = json!(word(rng, &[HIGH_PRIORITY, "low"]));
    }
    if chance(rng, 15) {
        spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
    }
    if chance(rng, 10) {
        spec["nodeSelector"] = json!({"disk": word(rng, &["ssd", "hdd"])});
    }
    let affinity = affinity(rng);
    if !affinity.is_null() {
        spec["affinity"] = affinity;
    }
    if chance(rng, 10) {
        spec["topologySpreadConstraints"] = json!([{
            "maxSkew": rng.u32(1..4), "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": word(rng, &["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": {"matchLabels": {"app": word(rng, &APPS)}},
        }]);
    }
    if chance(rng, 8) {
        spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": storage::claim_name(rng)}}]);
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{number:05}"), "namespace": namespace, "labels": labels(rng)},
        "spec": spec,
    })
}

/// A pod that is made on its node: by a kubelet (owned by the Node), or by whoever does without a scheduler.
pub(crate) fn placed(rng: &mut Rng, number: usize, node: &Value) -> Value {
    let mut pod = pending(rng, number);
    pod["spec"]["nodeName"] = node["metadata"]["name"].clone();
    if chance(rng, 60) {
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"],
            "controller": true,
        }]);
        pod["spec"]["schedulerName"] = json!(word(rng, &[OWN_SCHEDULER, FOREIGN_SCHEDULERS[0]]));
    }
    pod
}

/// Labels, by which selectors match pods.
pub(crate) fn labels(rng: &mut Rng) -> Value {
    json!({"app": word(rng, &APPS), "tier": word(rng, &["front", "back"]), "n": rng.u32(..10).to_string()})
}

/// Amounts that a container asks for.
fn requests(rng: &mut Rng) -> Value {
    let mut requests = json!({"cpu": word(rng, &["50m", "100m", "250m", "0.5", "1"])});
    if chance(rng, 90) {
        requests["memory"] = json!(word(rng, &["64Mi", "128Mi", "1Gi", "1.5Gi", "700M"]));
    }
    if chance(rng, 10) {
        requests["ephemeral-storage"] = json!("2Gi");
    }
    requests
}

fn containers(rng: &mut Rng) -> Value {
    let count = if chance(rng, 20) { 2 } else { 1 };
    let containers = (0_u32..count).map(|number| {
        let mut container =
            json!({"name": format!("c{number}"), "image": "i", "resources": {"requests": requests(rng)}});
        for (resource, amount, percent) in [("example.com/gpu", "1", 4), ("hugepages-2Mi", "64Mi", 3)] {
            if chance(rng, percent) {
                container["resources"]["requests"][resource] = json!(amount);
                container["resources"]["limits"][resource] = json!(amount);
            }
        }
        if chance(rng, 6) {
            // The containers of one pod share its ports, so each has a range of its own.
            let port = 8000 + 10 * number + rng.u32(..10);
            container["ports"] = json!([{
                "containerPort": port, "hostPort": port, "protocol": word(rng, &["TCP", "UDP"]),
            }]);
        }
        container
    });
    containers.collect()
}

fn affinity(rng: &mut Rng) -> Value {
    let selector = json!({"matchLabels": {"app": word(rng, &APPS)}});
    let mut term = json!({
        "labelSelector": selector,
        "topologyKey": word(rng, &["topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"]),
    });
    if chance(rng, 40) {
        term["namespaceSelector"] = json!({"matchLabels": {"team": word(rng, &["a", "b"])}});
    }
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    match rng.u32(..20) {
        0 => json!({"podAffinity": {required: [term]}}),
        1 | 2 => json!({"podAntiAffinity": {required: [term]}}),
        3 => json!({"nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": [word(rng, &ZONES)]},
            {"key": "generation", "operator": "Gt", "values": ["2"]},
        ]}]}}}),
        _ => Value::Null,
    }
}

/// The status of a pod that runs: its node has admitted what its containers ask for.
pub(crate) fn running(pod: &Value) -> Value {
    let statuses = |containers: &str| -> Value {
        let containers = pod["spec"][containers].as_array().into_iter().flatten();
        containers.map(|container| container_status(container, &container["resources"]["requests"])).collect()
    };
    json!({"status": {
        "phase": "Running", "containerStatuses": statuses("containers"),
        "initContainerStatuses": statuses("initContainers"),
    }})
}

fn container_status(container: &Value, requests: &Value) -> Value {
    let mut actuated = requests.clone();
    if let Some(amounts) = actuated.as_object_mut() {
        // A node resizes these two only.
        amounts.retain(|resource, _| resource == "cpu" || resource == "memory");
    }
    json!({
        "name": container["name"], "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
        "resources": {"requests": actuated}, "allocatedResources": actuated,
    })
}

/// A patch of the subresource `resize`: the first container asks for another amount of processors.
pub(crate) fn resized(rng: &mut Rng, pod: &Value) -> Value {
    let mut containers = pod["spec"]["containers"].clone();
    containers[0]["resources"]["requests"]["cpu"] = json!(word(rng, &["75m", "150m", "300m", "800m"]));
    json!({"spec": {"containers": containers}})
}

/// The status of a pod whose node has put one size in force, has admitted another, and may find the asked one infeasible.
pub(crate) fn resizing(rng: &mut Rng, pod: &Value) -> Value {
    let mut status = running(pod);
    let amounts = ["75m", "150m", "300m", "800m", "2"];
    status["status"]["containerStatuses"][0]["resources"]["requests"]["cpu"] = json!(word(rng, &amounts));
    status["status"]["containerStatuses"][0]["allocatedResources"]["cpu"] = json!(word(rng, &amounts));
    let reason = word(rng, &["Infeasible", "Deferred"]);
    status["status"]["conditions"] = match chance(rng, 50) {
        true => json!([{"type": "PodResizePending", "status": "True", "reason": reason}]),
        false => json!([]),
    };
    status
}

/// A condition that a scheduler writes of a pod that it could not place.
pub(crate) fn unschedulable(rng: &mut Rng) -> Value {
    let message = format!("0/{} nodes are available", rng.u32(1..300));
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    json!({"status": {"conditions": [condition]}})
}

/// The status of a pod that waits for others to leave a node.
pub(crate) fn nominated(rng: &mut Rng, nodes: &[String]) -> Value {
    let node = if chance(rng, 70) { pick(rng, nodes).map_or("", String::as_str) } else { "" };
    json!({"status": {"nominatedNodeName": if node.is_empty() { Value::Null } else { json!(node) }}})
}
