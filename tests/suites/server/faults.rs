//! A predicate that fails while the sidecar serves: every protocol reports the fault in the answer.

use nodesift_engine::limits::QUARANTINE_FAULTS;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::ask;
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};

use crate::running::{command, objects, pending_pods, request};

/// Requests to the same sidecar: a fault must not affect later calls.
const REPEATS: usize = 20;

fn serving(guest: &Guest, on_error: &str) -> (Sidecar, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guest.wasm"), guest.component()).unwrap();
    let policy = format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {{name: test}}\nspec:\n  \
         schedulerNames: [default-scheduler]\n  predicates:\n  - name: NodeUnschedulable\n  \
         - {{name: Own, module: {{path: guest.wasm}}, onError: {on_error}}}\n"
    );
    let path = folder.path().join("policy.yaml");
    std::fs::write(&path, policy).unwrap();
    (Sidecar::start(command(), &["--policy", path.to_str().unwrap()]), folder)
}

#[test]
fn a_fault_is_named_and_counts_as_its_policy_says() {
    let spin = Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)");
    let pods = pending_pods();
    for (on_error, effect) in [("Reject", "Rejected"), ("Ignore", "Ignored")] {
        let (sidecar, _folder) = serving(&spin, on_error);
        for number in 0..REPEATS {
            let answer = ask(&sidecar.unix(), "/v1/filter", &request(&pods[..1]))["pods"][0].clone();
            let fault = &answer["faults"][0];
            assert_eq!(fault["predicate"], "Own", "{answer}");
            // Beyond the first faults it is in quarantine, and is called now and then.
            let is_expected = match number < QUARANTINE_FAULTS {
                true => fault["fault"] == "Deadline",
                false => fault["fault"] == "Deadline" || fault["fault"] == "Quarantined",
            };
            assert!(is_expected, "{number}: {answer}");
            assert_eq!(fault["effect"], effect);
            let feasible = answer["feasible"].as_array().map_or(0, Vec::len);
            assert_eq!(feasible == 0, on_error == "Reject", "{answer}");
        }
    }
}

#[test]
fn in_the_extenders_dialect_a_fault_never_rules_preemption_out() {
    // A guest that traps in `filter`.
    let guest = Guest::healthy().filter("(unreachable)");
    let (sidecar, _folder) = serving(&guest, "Reject");
    let nodes = objects("Node");
    let names: Vec<&Value> = nodes.iter().map(|node| &node["metadata"]["name"]).collect();
    let pod = json!({"metadata": {"name": "p"}, "spec": {}});
    let reply = ask(&sidecar.tcp(), "/extender/filter", &json!({"Pod": pod, "NodeNames": names}));
    assert_eq!(reply["NodeNames"], json!([]));
    assert_eq!(reply["Error"], "");
    let failed = reply["FailedNodes"].as_object().unwrap();
    let by_fault = failed.values().filter(|text| *text == "predicate \"Own\" failed: Trap").count();
    let unresolvable = reply["FailedAndUnresolvableNodes"].as_object().unwrap().len();
    assert!(by_fault > 0);
    assert_eq!(failed.len() + unresolvable, nodes.len());
    for text in reply["FailedAndUnresolvableNodes"].as_object().unwrap().values() {
        assert_eq!(text, "node(s) were unschedulable");
    }
}
