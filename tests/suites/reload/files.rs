//! Policies that read more than those before, over cluster files: the files are read once more, while they are what they were.

use std::time::Instant;

use nodesift_tests::http::ask;
use nodesift_tests::machine::beside_others;
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, command, policy};

/// Two nodes, of which one is drained as an annotation says, and a pod on it.
fn cluster() -> String {
    let node = |name: &str, annotations: Value| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": annotations},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
    };
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "p"},
        "spec": {"nodeName": "drained", "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running"}});
    let items = [node("drained", json!({"example.com/drain": "soon", "other": "x"})), node("usual", json!({})), pod];
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// A policy whose rule rejects nodes with this annotation.
fn without(annotation: &str) -> String {
    let rule =
        format!("{{name: NodeRules, module: {{path: rules.wasm}}, args: {{noAnnotations: [{{key: {annotation}}}]}}}}");
    format!("{}  facts: {{annotations: [{annotation}]}}\n", policy(&["name: NodeResourcesFit", &rule]))
}

/// The nodes that fit a pod with so much cpu.
fn feasible(reloading: &Reloading, cpu: &str) -> Value {
    let request = json!({"pods": [{"object": {"metadata": {"name": "new", "namespace": "ns"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}}]});
    ask(&reloading.sidecar.unix(), "/v1/filter", &request)["pods"][0]["feasible"].clone()
}

#[test]
fn a_policy_that_reads_one_more_fact_is_taken_without_a_restart_until_the_files_have_changed() {
    let _beside = beside_others();
    let folder = Folder::new();
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "NodeRules").unwrap();
    folder.put("rules.wasm", example.bytes);
    folder.put("cluster.json", cluster());
    folder.put("policy.yaml", policy(&["name: NodeName"]));
    let (path, file) = (folder.path("policy.yaml"), folder.path("cluster.json"));
    let arguments = ["--cluster", file.to_str().unwrap(), "--verify-reuse"];
    let reloading = Reloading::started(folder, &path, command(), &arguments);
    assert_eq!(feasible(&reloading, "100m"), json!(["drained", "usual"]));
    let first = without("example.com/drain");
    reloading.put(&first);
    reloading.becomes(&first);
    assert_eq!(feasible(&reloading, "100m"), json!(["usual"]), "the annotation is there");
    let back = policy(&["name: NodeResourcesFit"]);
    reloading.put(&back);
    reloading.becomes(&back);
    // The pod takes what it took, and not twice.
    assert_eq!(feasible(&reloading, "3"), json!(["drained", "usual"]));
    assert_eq!(feasible(&reloading, "3500m"), json!(["usual"]));
    let output = reloading.sidecar.output();
    assert_eq!(output.matches("cluster files read again").count(), 1, "{output}");

    // Now its objects may be others than those in the cache.
    reloading.folder.put("cluster.json", cluster() + "\n");
    // The annotations that are there already need no file.
    reloading.put(&first);
    reloading.becomes(&first);
    let since = Instant::now();
    reloading.put(&without("other"));
    let (failure, _) = reloading.refuses("a fact that is not there", since);
    let reason = failure["reason"].as_str().unwrap();
    assert_eq!(failure["step"], "follow", "{failure}");
    for part in ["annotations [other]", "cluster.json has changed", "this takes a restart"] {
        assert!(reason.contains(part), "{part:?} is not in {reason}");
    }
    assert_eq!(feasible(&reloading, "100m"), json!(["usual"]));
}
