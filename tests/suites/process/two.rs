//! P-10: two sidecars that watch the same cluster give the same answers at the same versions.

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::{ask, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::running::command;

/// Changes of the cluster, and how many of them lie between two comparisons.
const CHANGES: usize = 300;
const BETWEEN: usize = 10;
const NODES: usize = 12;

fn node(random: &mut fastrand::Rng, number: usize) -> Value {
    let taints = if random.u8(..4) == 0 { json!([{"key": "k", "effect": "NoSchedule"}]) } else { json!([]) };
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("n{number}"), "labels": {"zone": format!("z{}", random.u8(..3))}},
        "spec": {"taints": taints, "unschedulable": random.u8(..8) == 0},
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "20"}}})
}

fn bound_pod(random: &mut fastrand::Rng, number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": format!("p{number}"), "uid": format!("uid-{number}"),
            "labels": {"app": format!("a{}", random.u8(..3))}},
        "spec": {"nodeName": format!("n{}", random.usize(..NODES)),
            "containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{}m", random.u32(100..3_000))}}}]}})
}

/// Pods with requests, a selector, and a spread constraint.
fn question(nodes: u64, pods: u64) -> Value {
    let pod = |name: &str, spec: Value| json!({"object": {"metadata": {"namespace": "default", "name": name, "labels": {"app": "a0"}}, "spec": spec}});
    let containers = json!([{"name": "c", "resources": {"requests": {"cpu": "2"}}}]);
    json!({
        "pods": [
            pod("x", json!({"containers": containers})),
            pod("y", json!({"containers": containers, "nodeSelector": {"zone": "z0"}})),
            pod("z", json!({"containers": containers, "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a0"}}}]})),
        ],
        "consistency": {
            "minNodesResourceVersion": nodes.to_string(), "minPodsResourceVersion": pods.to_string(), "deadlineMs": 30_000,
        },
    })
}

/// The verdicts by node name, whose order may differ, and the versions that they were computed from.
fn verdicts(sidecar: &Sidecar, path: &str, request: &Value) -> (Value, Value, Value) {
    let answer = ask(&sidecar.unix(), path, request);
    let version = &answer["version"];
    let sorted = |value: &Value| {
        let mut value = value.clone();
        sort(&mut value);
        value
    };
    (sorted(&answer["pods"]), version["nodesResourceVersion"].clone(), version["podsResourceVersion"].clone())
}

/// Sorts every list of texts and of entries by their text: rows are numbered in the order of arrival.
fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(sort);
            items.sort_by_key(ToString::to_string);
        }
        Value::Object(fields) => fields.values_mut().for_each(sort),
        _ => {}
    }
}

#[test]
fn two_sidecars_of_one_cluster_give_the_same_answers_at_the_same_versions() {
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let server = ApiServer::start();
    server.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}));
    for number in 0..NODES {
        server.apply(node(&mut random, number));
    }
    let start = || {
        let sidecar = Sidecar::launch(command(), &["--kubeconfig", server.kubeconfig().to_str().unwrap()]);
        sidecar.wait_until_ready();
        sidecar
    };
    let first = start();
    let mut second = start();
    let mut compared = 0;
    for change in 1..=CHANGES {
        match random.u8(..10) {
            0..=1 => {
                let number = random.usize(..NODES);
                server.apply(node(&mut random, number));
            }
            2 => {
                let key = server.look(|store| store.now("Pod").keys().next().cloned());
                if let Some(key) = key {
                    server.delete("Pod", &key);
                }
            }
            _ => {
                server.apply(bound_pod(&mut random, change));
            }
        }
        if change % BETWEEN != 0 {
            continue;
        }
        if change == CHANGES / 2 {
            // One that starts later has listed what the other has watched.
            second = start();
        }
        // Both show everything once the last change of each kind has come.
        let nodes = server.apply(node(&mut random, 0));
        let pods = server.apply(bound_pod(&mut random, CHANGES + change));
        for path in ["/v1/filter", "/v1/explain"] {
            let request = question(nodes, pods);
            let same = || {
                let (one, other) = (verdicts(&first, path, &request), verdicts(&second, path, &request));
                // Bookmarks may take one of them further between the two requests.
                // On a busy machine a guest may not run for all of its time.
                let is_late = |pods: &Value| pods.to_string().contains("Deadline");
                let comparable = (&one.1, &one.2) == (&other.1, &other.2) && !is_late(&one.0) && !is_late(&other.0);
                comparable.then_some((one.0, other.0))
            };
            let (one, other) = timeout::until(same).expect("the same versions");
            assert_eq!(one, other, "{path} after {change} changes");
            compared += 1;
        }
    }
    println!("{compared} answers compared");
    assert_eq!(get(&first.unix(), "/readyz").unwrap().status, 200);
}
