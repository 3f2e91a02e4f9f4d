//! Pods and the namespaces that they live in.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::{Shape, affinity, amounts, nodes, storage};

/// Namespaces of pods and claims.
pub(super) const NAMESPACES: [&str; 4] = ["default", "prod", "dev", NAMESPACE_WITHOUT_OBJECT];

/// Pods live here, though at first there is no Namespace object of this name.
pub(super) const NAMESPACE_WITHOUT_OBJECT: &str = "ghost";

/// Labels of pods, by which selectors match them.
pub(super) const LABELS: [(&str, &[&str]); 4] = [
    ("app", &["web", "db", "cache"]),
    ("tier", &["front", "back"]),
    ("version", &["v1", "v2"]),
    ("n", &["1", "x", ""]),
];

pub(super) fn namespace(dice: &mut Dice, name: &str) -> Value {
    let mut labels = json!({"kubernetes.io/metadata.name": name});
    if dice.chance(60) {
        labels["team"] = json!(dice.pick(&["a", "b"]));
    }
    if dice.chance(40) {
        labels["env"] = json!(dice.pick(&["prod", "dev"]));
    }
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

/// A pod on a node, which may not exist, or not any more.
pub(super) fn placed(dice: &mut Dice, shape: &Shape, number: usize) -> Value {
    let mut pod = pod(dice, shape, number);
    pod["spec"]["nodeName"] = json!(dice.pick(&shape.nodes));
    pod["status"]["phase"] = json!(if dice.chance(4) { dice.pick(&["Succeeded", "Failed"]) } else { &"Running" });
    if dice.chance(8) {
        pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z");
    }
    if dice.chance(8) {
        pod["spec"]["schedulerName"] = json!("somebody-else");
    }
    if dice.chance(8) {
        resize(dice, &mut pod);
    }
    pod
}

/// A pod to be judged.
pub(super) fn pending(dice: &mut Dice, shape: &Shape, number: usize) -> Value {
    let mut pod = pod(dice, shape, number);
    if dice.chance(4) {
        pod["spec"]["nodeName"] = json!(dice.pick(&shape.nodes));
    }
    pod
}

/// Something about a pod becomes another: its labels, its state, its size.
pub(super) fn change(dice: &mut Dice, pod: &mut Value) {
    match dice.below(6) {
        0 | 1 => pod["metadata"]["labels"] = labels(dice),
        2 => pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z"),
        3 => pod["status"]["phase"] = json!(dice.pick(&["Succeeded", "Failed", "Running"])),
        4 => resize(dice, pod),
        _ => pod["spec"]["containers"][0]["resources"]["requests"] = amounts::requests(dice),
    }
}

fn pod(dice: &mut Dice, shape: &Shape, number: usize) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("p{number}"), "namespace": dice.pick(&NAMESPACES), "uid": format!("pod-{number}"),
            "labels": labels(dice),
        },
        "spec": {"containers": containers(dice, "c", 2)},
        "status": {"phase": "Pending"},
    });
    if dice.chance(15) {
        pod["spec"]["initContainers"] = containers(dice, "i", 3);
        for container in pod["spec"]["initContainers"].as_array_mut().into_iter().flatten() {
            if dice.chance(40) {
                container["restartPolicy"] = json!("Always");
            }
        }
    }
    if dice.chance(8) {
        pod["spec"]["overhead"] = amounts::requests(dice);
    }
    if dice.chance(8) {
        pod["spec"]["resources"] = json!({"requests": amounts::pod_level(dice)});
    }
    if dice.chance(6) {
        pod["spec"]["hostNetwork"] = json!(true);
        pod["spec"]["hostUsers"] = json!(dice.chance(40));
    }
    if dice.chance(5) {
        pod["spec"]["containers"][0]["restartPolicyRules"] = json!([{"action": "RestartAllContainers"}]);
    }
    if dice.chance(40) {
        pod["spec"]["priority"] = json!(dice.pick(&[-10, 0, 5, 100]));
    }
    if dice.chance(40) {
        pod["spec"]["tolerations"] = tolerations(dice);
    }
    affinity::add(dice, shape, &mut pod);
    if dice.chance(shape.volumes) {
        pod["spec"]["volumes"] = storage::volumes(dice);
    }
    pod
}

fn labels(dice: &mut Dice) -> Value {
    let mut labels = Map::new();
    for (key, values) in LABELS {
        if dice.chance(55) {
            labels.insert(key.to_owned(), json!(dice.pick(values)));
        }
    }
    Value::Object(labels)
}

fn containers(dice: &mut Dice, prefix: &str, most: usize) -> Value {
    let container = |dice: &mut Dice, number: usize| {
        let requests = amounts::requests(dice);
        let mut container = json!({"name": format!("{prefix}{number}"), "resources": {"requests": requests}});
        if dice.chance(15) {
            container["ports"] = ports(dice);
        }
        container
    };
    (0..dice.between(1, most)).map(|number| container(dice, number)).collect()
}

fn ports(dice: &mut Dice) -> Value {
    let port = |dice: &mut Dice| {
        let number = dice.pick(&[80, 443, 53]);
        let mut port = json!({"containerPort": number});
        if dice.chance(80) {
            port["hostPort"] = json!(number);
        }
        if dice.chance(50) {
            port["hostIP"] = json!(dice.pick(&["", "0.0.0.0", "10.0.0.1", "::", "127.0.0.1"]));
        }
        if dice.chance(50) {
            port["protocol"] = json!(dice.pick(&["TCP", "UDP", "SCTP"]));
        }
        port
    };
    (0..dice.between(1, 2)).map(|_| port(dice)).collect()
}

fn tolerations(dice: &mut Dice) -> Value {
    let toleration = |dice: &mut Dice| {
        let mut toleration = Map::new();
        let mut put = |name: &str, value: &&str| toleration.insert(name.to_owned(), json!(value));
        if dice.chance(90) {
            put("key", dice.pick(&nodes::TAINT_KEYS));
        }
        if dice.chance(80) {
            put("operator", dice.pick(&["Exists", "Equal", "Gt", "Lt"]));
        }
        if dice.chance(50) {
            put("value", dice.pick(&nodes::TAINT_VALUES));
        }
        if dice.chance(60) {
            put("effect", dice.pick(&nodes::EFFECTS));
        }
        Value::Object(toleration)
    };
    (0..dice.between(1, 3)).map(|_| toleration(dice)).collect()
}

/// The pod is being resized: its containers say other amounts than its spec.
fn resize(dice: &mut Dice, pod: &mut Value) {
    let status = |dice: &mut Dice, name: &str| {
        let mut status = json!({"name": name});
        if dice.chance(80) {
            status["resources"] = json!({"requests": amounts::requests(dice)});
        }
        if dice.chance(60) {
            status["allocatedResources"] = amounts::requests(dice);
        }
        status
    };
    pod["status"]["containerStatuses"] = json!([status(dice, "c0")]);
    pod["status"]["initContainerStatuses"] = json!([status(dice, "i0")]);
    if dice.chance(50) {
        let reason = dice.pick(&["Infeasible", "Deferred"]);
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "status": "True", "reason": reason}]);
    }
    if dice.chance(30) {
        pod["status"]["resources"] = json!({"requests": amounts::pod_level(dice)});
        pod["status"]["allocatedResources"] = amounts::pod_level(dice);
    }
}
