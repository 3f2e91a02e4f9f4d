//! Nominated pods: pending pods with a nominated node, and with at least the priority of the evaluated pod, count on that
//! node. Source: `addGENominatedPods` in pkg/scheduler/framework/runtime/framework.go.

use nodesift_fixtures::cluster::{Cluster, is_over};
use nodesift_fixtures::json::{at, key, name, text};
use serde_json::{Value, json};

/// The cluster with the nominated pods that take precedence over `pod` bound to the node; `None` where there are none.
pub fn bound(cluster: &Cluster, pod: &Value, node: &Value) -> Option<Cluster> {
    let pending = cluster.all("Pod").filter(|other| text(other, "spec.nodeName").is_empty() && !is_over(other));
    let nominated = pending.filter(|other| text(other, "status.nominatedNodeName") == name(node));
    let ahead: Vec<&Value> =
        nominated.filter(|other| priority(other) >= priority(pod) && !is_same(other, pod)).collect();
    if ahead.is_empty() {
        return None;
    }
    let mut with_them = cluster.clone();
    for other in ahead {
        let mut other = other.clone();
        other["spec"]["nodeName"] = json!(name(node));
        with_them.apply(other);
    }
    Some(with_them)
}

fn priority(pod: &Value) -> i64 {
    at(pod, "spec.priority").as_i64().unwrap_or(0)
}

fn is_same(other: &Value, pod: &Value) -> bool {
    match text(pod, "metadata.uid") {
        "" => key(other) == key(pod),
        uid => text(other, "metadata.uid") == uid,
    }
}
