//! Pods that need what no predicate of the policy evaluates, resource claims and devices of a DeviceClass: no call says that they
//! simply fit.

use nodesift_bundle::{DEFAULT_POLICY, default_predicates};
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::decisions::{node, pod, serving};
use crate::running::{answer, ask};

/// The extended resource of the device class.
const DEVICE: &str = "example.com/gpu";

const SCORES: &str = "  scores:\n  - {name: NodeResourcesFit, weight: 1}\n  - {name: DynamicResources, weight: 2}\n";

/// Two nodes, of which n2 lists the device itself; a device class that serves the device; a pod that claims a device by name,
/// one that requests one, one that needs none, and one that runs on n1.
fn objects() -> Vec<Value> {
    let mut listing = node("n2", "1");
    listing["status"]["allocatable"][DEVICE] = json!("1");
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpus"},
        "spec": {"extendedResourceName": DEVICE}});
    let requests = json!({"requests": {"cpu": "100m", DEVICE: "1"}});
    let claims = json!([{"name": "card", "resourceClaimName": "a-card"}]);
    vec![
        node("n1", "1"),
        listing,
        class,
        pod("claiming", "100m", &json!({"resourceClaims": claims})),
        pod("requesting", "100m", &json!({"containers": [{"name": "c", "resources": requests}]})),
        pod("plain", "100m", &json!({})),
        pod("victim", "100m", &json!({"nodeName": "n1"})),
    ]
}

/// A sidecar on these objects; `ignoring` has the policy ignore what is not evaluated. Its scorers read devices, and decide nothing.
fn sidecar(ignoring: bool) -> (Sidecar, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    let on_unsupported = if ignoring { "  onUnsupported: Ignore\n" } else { "" };
    let others = default_predicates().filter(|name| *name != "DynamicResources");
    let others: String = others.map(|name| format!("  - {{name: {name}, phases: [allocate]}}\n")).collect();
    std::fs::write(&policy, format!("{DEFAULT_POLICY}  predicates:\n{others}{SCORES}{on_unsupported}")).unwrap();
    serving(&objects(), &["--policy", policy.to_str().unwrap()])
}

fn filtered(sidecar: &Sidecar, pod: &str) -> Value {
    ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"uid": format!("uid-{pod}")}]}))["pods"][0].clone()
}

#[track_caller]
fn is_unsupported(faults: &Value, effect: &str, named: &str) {
    let [fault] = faults.as_array().unwrap().as_slice() else { panic!("one fault: {faults}") };
    assert_eq!((&fault["predicate"], &fault["fault"]), (&json!("DynamicResources"), &json!("Unsupported")), "{fault}");
    assert_eq!(fault["effect"], effect);
    assert!(fault["detail"].as_str().unwrap().contains(named), "{fault}");
}

#[test]
fn a_filter_rejects_them_and_names_what_is_not_evaluated() {
    let (sidecar, _folder) = sidecar(false);
    // Twice: neither the evaluation nor what is cached of it may give a plain yes.
    for _ in 0..2 {
        let claiming = filtered(&sidecar, "claiming");
        assert_eq!(claiming["feasible"], json!([]), "{claiming}");
        is_unsupported(&claiming["faults"], "Rejected", "spec.resourceClaims: \"card\"");
        assert!(claiming["message"].as_str().unwrap().contains("Unsupported"), "{claiming}");
        // A node that lists the device provides it without a claim.
        let requesting = filtered(&sidecar, "requesting");
        assert_eq!(requesting["feasible"], json!(["n2"]), "{requesting}");
        is_unsupported(&requesting["faults"], "Rejected", DEVICE);
        let plain = filtered(&sidecar, "plain");
        assert_eq!((&plain["feasible"], &plain["faults"]), (&json!(["n1", "n2"]), &json!([])), "{plain}");
    }
    let limited = json!({"pods": [{"uid": "uid-claiming"}, {"uid": "uid-requesting"}], "limit": 1});
    let limited = ask(&sidecar.unix(), "/v1/filter", &limited);
    assert_eq!(limited["pods"][0]["feasible"], json!([]), "{limited}");
    assert_eq!(limited["pods"][1]["feasible"], json!(["n2"]), "{limited}");
    is_unsupported(&limited["pods"][0]["faults"], "Rejected", "card");
}

#[test]
fn an_explanation_shows_the_nodes_that_they_do_not_get() {
    let (sidecar, _folder) = sidecar(false);
    for (pod, nodes) in [("claiming", json!(["n1", "n2"])), ("requesting", json!(["n1"]))] {
        let answer = ask(&sidecar.unix(), "/v1/explain", &json!({"pods": [{"uid": format!("uid-{pod}")}]}));
        let explained = &answer["pods"][0];
        let last = explained["predicates"].as_array().unwrap().last().unwrap();
        assert_eq!(last["predicate"], "DynamicResources", "{explained}");
        assert_eq!(last["failures"][0]["nodes"], nodes, "{last}");
        is_unsupported(&explained["conjunction"]["faults"], "Rejected", "");
    }
}

#[test]
fn the_extender_fails_their_nodes() {
    let (sidecar, _folder) = sidecar(false);
    for pod in [&objects()[3], &objects()[4]] {
        let request = json!({"Pod": pod, "Nodes": null, "NodeNames": ["n1", "n2"]});
        let reply = ask(&sidecar.tcp(), "/extender/filter", &request);
        assert!(reply["FailedNodes"]["n1"].as_str().unwrap().contains("Unsupported"), "{reply}");
        assert_eq!(reply["FailedAndUnresolvableNodes"], json!({}), "{reply}");
        let claims = pod["metadata"]["name"] == "claiming";
        assert_eq!(reply["NodeNames"], if claims { json!([]) } else { json!(["n2"]) }, "{reply}");
    }
}

#[test]
fn yunikorns_calls_and_preemption_refuse_them() {
    let (sidecar, _folder) = sidecar(false);
    for pod in ["uid-claiming", "uid-requesting"] {
        for allocate in [true, false] {
            let request = json!({"allocationKey": pod, "nodeID": "n1", "allocate": allocate});
            let answer = ask(&sidecar.unix(), "/v1/predicates", &request);
            assert_eq!(answer["fits"], false, "{answer}");
            assert!(answer["error"].as_str().unwrap().starts_with("failed plugin: 'DynamicResources'"), "{answer}");
        }
        let request = json!({"allocationKey": pod, "allocate": true});
        let nodes = &ask(&sidecar.unix(), "/v1/prefilterpredicates", &request)["feasibleNodes"];
        assert_eq!(*nodes, if pod == "uid-claiming" { json!([]) } else { json!(["n2"]) });
        let request = json!({"allocationKey": pod, "nodeID": "n1", "preemptAllocationKeys": ["uid-victim"]});
        let answer = ask(&sidecar.unix(), "/v1/preemptionpredicates", &request);
        assert_eq!((&answer["success"], &answer["index"]), (&json!(false), &json!(-1)), "{answer}");
        is_unsupported(&answer["faults"], "Rejected", "");
    }
}

#[test]
fn a_policy_may_ignore_what_is_not_evaluated_and_the_answer_still_says_so() {
    let (sidecar, _folder) = sidecar(true);
    for pod in ["claiming", "requesting"] {
        let answer = filtered(&sidecar, pod);
        assert_eq!(answer["feasible"], json!(["n1", "n2"]), "{answer}");
        is_unsupported(&answer["faults"], "Ignored", "");
    }
    let limited = json!({"pods": [{"uid": "uid-claiming"}], "limit": 1});
    let limited = ask(&sidecar.unix(), "/v1/filter", &limited);
    assert_eq!(limited["pods"][0]["feasible"].as_array().unwrap().len(), 1, "{limited}");
}

#[test]
fn files_are_answered_likewise() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects()}).to_string()).unwrap();
    let predicates = ["--predicates", "NodeName,NodeResourcesFit"];
    let arguments = ["explain", "-o", "jsonl", "--cluster", file.to_str().unwrap(), "--pod", "ns/claiming"];
    let arguments = [&arguments[..], &predicates].concat();
    let explained = answer(&arguments);
    let last: Value = serde_json::from_str(explained.lines().last().unwrap()).unwrap();
    assert_eq!(last["feasible"], json!([]), "{last}");
    is_unsupported(&last["faults"], "Rejected", "card");
}
