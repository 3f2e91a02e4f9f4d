//! Components that were built for earlier versions of the contract, in `tests/data/contract`: the example TeamIsolation, as
//! `nodesift-guest` built it from the source of its time.

use std::path::Path;

use nodesift_tests::data::read_gzip_bytes;
use nodesift_tests::workshop::{Workshop, lines};
use serde_json::{Value, json};

use crate::new_workshop;

/// Nodes of the cluster.
const NODES: u32 = 60;

/// Number of pods that are filtered.
const PODS: u32 = 6;

fn kept(version: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/contract");
    read_gzip_bytes(&folder.join(format!("team-isolation-{version}.wasm.gz")))
}

/// Nodes and pending pods of five teams and of none.
fn teams() -> Value {
    let labels = |number: u32| match number % 6 {
        0 => json!({}),
        team => json!({"example.com/team": format!("team-{team}")}),
    };
    let node = |number: u32| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{number:02}"), "labels": labels(number * number)},
            "status": {"allocatable": {"cpu": "4", "pods": "110"}}})
    };
    let pod = |number: u32| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "default", "name": format!("p{number}"), "labels": labels(number)},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "main"}]}})
    };
    let items: Vec<Value> = (0..NODES).map(node).chain((0..PODS).map(pod)).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// Every line of `explain` under a policy of one module.
fn verdicts(workshop: &Workshop, module: &str) -> Vec<Value> {
    workshop.write(
        "policy.yaml",
        format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {{name: test}}\nspec:\n  \
             schedulerNames: [default-scheduler]\n  predicates:\n  \
             - {{name: TeamIsolation, module: {{path: {module}}}, allow: [pod-labels, node-labels]}}\n"
        ),
    );
    let arguments = ["explain", "-o", "jsonl", "--cluster", "cluster.json", "--policy", "policy.yaml"];
    lines(&workshop.answer(&arguments))
}

#[test]
fn components_built_for_earlier_versions_of_the_contract_give_the_same_verdicts() {
    let workshop = new_workshop();
    workshop.write("cluster.json", teams().to_string());
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "TeamIsolation").unwrap();
    workshop.write("now.wasm", example.bytes);
    let expected = verdicts(&workshop, "now.wasm");
    let feasible: Vec<usize> =
        expected.iter().filter_map(|line| line["feasible"].as_array()).map(|nodes| nodes.len()).collect();
    assert!(feasible.iter().any(|count| *count > 0 && *count < NODES as usize), "{feasible:?}");
    assert!(feasible.contains(&(NODES as usize)), "a pod of no team: {feasible:?}");
    for version in ["0.1.0", "0.1.1"] {
        workshop.write("earlier.wasm", kept(version));
        assert_eq!(verdicts(&workshop, "earlier.wasm"), expected, "{version}");
    }
}
