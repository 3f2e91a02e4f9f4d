//! A policy that names other schedulers: which pods are foreign changes with it, in one step.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nodesift_tests::http::get;
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, command, policy};

const NODES: usize = 20;
const PODS: usize = 400;

/// Pods of two schedulers and of kubelets, in turn.
fn cluster() -> Value {
    let node = |number: usize| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}")},
            "status": {"allocatable": {"cpu": "1000", "pods": "110"}}})
    };
    let pod = |number: usize| {
        let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "n0", "uid": "u"}]);
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p{number}"), "namespace": "default", "uid": format!("u{number}"),
                "ownerReferences": if number % 4 == 3 { owner } else { json!([]) }},
            "spec": {"nodeName": format!("n{}", number % NODES),
                "schedulerName": if number.is_multiple_of(2) { "default-scheduler" } else { "yunikorn" },
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}})
    };
    let items: Vec<Value> = (0..NODES).map(node).chain((0..PODS).map(pod)).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// The foreign pods of the cluster and the CPU that they request, over all nodes of one dump.
fn foreign(dump: &Value) -> (u64, i64) {
    let nodes = dump["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), NODES);
    let pods = nodes.iter().map(|node| node["foreign"]["pods"].as_u64().unwrap_or(0));
    let cpu = nodes.iter().map(|node| node["foreign"]["cpu"].as_i64().unwrap_or(0));
    let listed: usize = nodes.iter().map(|node| node["foreignPods"].as_array().unwrap().len()).sum();
    let pods = pods.sum();
    assert_eq!(listed as u64, pods, "the list and the count are of one moment");
    (pods, cpu.sum())
}

#[test]
fn pods_change_sides_with_the_policy_and_none_is_counted_on_both() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("cluster.json", cluster().to_string());
    let document = |scheduler: &str| policy(&["name: NodeResourcesFit"]).replace("default-scheduler", scheduler);
    let (own, other) = (document("default-scheduler"), document("yunikorn"));
    folder.put("policy.yaml", &own);
    let (cluster, path) = (folder.path("cluster.json"), folder.path("policy.yaml"));
    let files = ["--policy", path.to_str().unwrap(), "--cluster", cluster.to_str().unwrap()];
    let sidecar = Sidecar::start(command(), &files);
    let reloading = Reloading { folder, sidecar };
    let state = || get(&reloading.sidecar.unix(), "/v1/state").unwrap().json();
    // Three of four pods are no kubelet's, and of these two are of the first scheduler.
    let (by_own, by_other) = ((PODS as u64 / 2, 1000 * PODS as i64 / 2), (3 * PODS as u64 / 4, 750 * PODS as i64));
    assert_eq!(foreign(&state()), by_own);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let now = foreign(&state());
                assert!(now == by_own || now == by_other, "{now:?}: neither {by_own:?} nor {by_other:?}");
                if seen.last() != Some(&now) {
                    seen.push(now);
                }
            }
            seen
        });
        reloading.put(&other);
        reloading.becomes(&other);
        timeout::until(|| (foreign(&state()) == by_other).then_some(())).expect("the other policy's sums");
        reloading.put(&own);
        reloading.becomes(&own);
        timeout::until(|| (foreign(&state()) == by_own).then_some(())).expect("the first policy's sums");
        is_over.store(true, Ordering::Relaxed);
        let seen = watching.join().unwrap();
        println!("{seen:?}");
    });
}
