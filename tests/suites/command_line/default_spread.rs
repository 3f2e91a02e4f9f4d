//! Default spread constraints of a policy: their selector is that of the services and controllers that own the pod.

use nodesift_tests::workshop::lines;
use serde_json::{Value, json};

use crate::new_workshop;

const POLICY: &str = "apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
metadata: {name: spread}
spec:
  schedulerNames: [default-scheduler]
  predicates:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
";

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": name}},
           "status": {"allocatable": {"cpu": "4", "pods": "10"}}})
}

fn pod(name: &str, owner: Option<(&str, &str)>, node: Option<&str>) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web", "tier": "front"}},
        "spec": {"containers": []}});
    if let Some((kind, owner)) = owner {
        let owner = json!({"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": true});
        pod["metadata"]["ownerReferences"] = json!([owner]);
    }
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
    }
    pod
}

fn service(selector: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"},
           "spec": {"selector": selector}})
}

fn replica_set(app: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "rs", "namespace": "shop"},
           "spec": {"selector": {"matchLabels": {"app": app}}}})
}

/// The nodes that the pending pod fits in a cluster of two zones: `a` with one similar pod, and `b` without pods.
fn feasible(owner: Option<(&str, &str)>, owners: &[Value]) -> Value {
    let mut items = vec![node("a"), node("b"), pod("running", None, Some("a")), pod("pending", owner, None)];
    items.extend_from_slice(owners);
    let workshop = new_workshop();
    workshop.write("cluster.json", json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    workshop.write("policy.yaml", POLICY);
    let explain = ["explain", "-o", "jsonl", "--cluster", "cluster.json", "--policy", "policy.yaml"];
    lines(&workshop.answer(&explain)).last().unwrap()["feasible"].clone()
}

#[test]
fn a_pod_that_nothing_owns_is_not_spread() {
    assert_eq!(feasible(None, &[]), json!(["a", "b"]));
    assert_eq!(feasible(None, &[service(&json!({"app": "other"}))]), json!(["a", "b"]));
    assert_eq!(feasible(None, &[service(&json!({}))]), json!(["a", "b"]));
}

#[test]
fn a_service_that_selects_the_pod_spreads_it() {
    assert_eq!(feasible(None, &[service(&json!({"app": "web"}))]), json!(["b"]));
}

#[test]
fn a_controller_spreads_its_own_pods_only() {
    assert_eq!(feasible(Some(("ReplicaSet", "rs")), &[replica_set("web")]), json!(["b"]));
    assert_eq!(feasible(None, &[replica_set("web")]), json!(["a", "b"]));
    assert_eq!(feasible(Some(("ReplicaSet", "another")), &[replica_set("web")]), json!(["a", "b"]));
}

#[test]
fn service_and_controller_must_both_select() {
    // Neither the running pod nor the pending one matches the controller's selector, so nothing is counted.
    let owners = [service(&json!({"tier": "front"})), replica_set("elsewhere")];
    assert_eq!(feasible(Some(("ReplicaSet", "rs")), &owners), json!(["a", "b"]));
}
