//! A pod that is set aside, in what `Explain` says of it and in the log.

use nodesift_tests::http::ask;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::running::command;

/// A pod with thousands of extended resources.
fn heavy() -> Value {
    let amounts: Value = (0..5_000).map(|number| (format!("tenant.example.com/r{number}"), json!("1"))).collect();
    let container = json!({"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}});
    json!({"metadata": {"name": "heavy", "namespace": "tenant"}, "spec": {"containers": [container]}})
}

#[test]
fn who_asks_why_a_pod_is_set_aside_is_told_its_fault_and_the_log_says_for_how_long() {
    let folder = tempfile::tempdir().unwrap();
    // So little memory that the pod fails at any pace.
    let policy = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                  schedulerNames: [default-scheduler]\n  predicates:\n  \
                  - {name: NodeResourcesFit, limits: {memory: 2Mi}}\n";
    let path = folder.path().join("policy.yaml");
    std::fs::write(&path, policy).unwrap();
    let sidecar = Sidecar::start(command(), &["--policy", path.to_str().unwrap()]);
    let explained = || {
        ask(&sidecar.unix(), "/v1/explain", &json!({"pods": [{"object": heavy()}]}))["pods"][0]["conjunction"].clone()
    };
    let first = explained();
    assert_eq!(first["faults"][0]["fault"], "Memory", "{first}");
    // On a busy machine its time may be over before anybody asks again.
    let refused = || Some(explained()).filter(|answer| answer["faults"][0]["fault"] == "Quarantined");
    let second = timeout::until(refused).expect("it is set aside");
    let fault = &second["faults"][0];
    assert_eq!(fault["predicate"], "NodeResourcesFit", "{second}");
    let detail = fault["detail"].as_str().unwrap();
    for part in ["not called about pods as tenant/heavy for ", "Memory"] {
        assert!(detail.contains(part), "{part:?} is not in {detail}");
    }
    let is_logged = |line: &str| {
        let parts = [
            "WARN nodesift::predicate: NodeResourcesFit: pod tenant/heavy: Memory",
            "; not called about such pods for 1 s",
        ];
        parts.iter().all(|part| line.contains(part))
    };
    let logged = || sidecar.output().lines().any(is_logged).then_some(());
    timeout::until(logged).unwrap_or_else(|| panic!("{}", sidecar.output()));
}
