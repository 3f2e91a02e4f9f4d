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
fn a_line_of_a_guest_is_in_the_log_behind_the_names_of_predicate_and_pod_and_forges_nothing() {
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/log@0.2.0" "write" (func $write (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "hello\0aERROR forged")"#)
        .filter(
            "(call $write (i32.const 2) (i32.const 2048) (i32.const 18))
             (call $reject_odd (local.get $rows) (i32.const 4096))",
        );
    let (sidecar, _folder) = serving(&guest, "Reject");
    let pod = |name: &str| json!({"pods": [{"object": {"metadata": {"name": name, "namespace": "ns"}}}]});
    let first = ask(&sidecar.unix(), "/v1/filter", &pod("p\nERROR forged"))["pods"][0].clone();
    let expected = r"WARN nodesift::predicate: Own: pod ns/p\nERROR forged: hello\nERROR forged";
    let seen = || sidecar.output().contains(expected).then_some(());
    nodesift_tests::timeout::until(seen).unwrap_or_else(|| panic!("{}", sidecar.output()));
    assert!(!sidecar.output().lines().any(|line| line.starts_with("ERROR")), "{}", sidecar.output());
    // A cached verdict is the same, and writes nothing.
    let again = ask(&sidecar.unix(), "/v1/filter", &pod("q"))["pods"][0].clone();
    assert_eq!(again["feasible"], first["feasible"]);
    assert_eq!(again["failures"], first["failures"]);
    let metrics = nodesift_tests::http::get(&sidecar.unix(), "/metrics").unwrap().body;
    for line in [
        r#"nodesift_predicate_log_lines_total{predicate="Own",fate="written"} 1"#,
        r#"nodesift_predicate_log_lines_total{predicate="Own",fate="dropped"} 0"#,
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in {metrics}");
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
