//! Tenants' pods that predicates fail for, for sure: these have so little memory, and time that no machine needs. Nobody else notices.

use nodesift_tests::http::get;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::tenants::{NODES, QUESTIONS, asked, feasible, heavy, heavy_resources, ordinary_pods_fit, pod, serving};

/// More faults than open a breaker where they are the predicate's.
const FAULTS: usize = 8;

/// A policy of these predicates, each with more fields after its name.
fn policy(predicates: &[(&str, &str)]) -> String {
    let predicates: String = predicates.iter().map(|(name, more)| format!("  - {{name: {name}, {more}}}\n")).collect();
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {{name: test}}\nspec:\n  \
         schedulerNames: [default-scheduler]\n  predicates:\n{predicates}"
    )
}

/// Of different templates and namespaces, so that only their blame keeps the breakers closed.
#[test]
fn pods_that_predicates_have_too_little_memory_for_open_no_breaker() {
    let limits = "limits: {memory: 2Mi, timePerCall: 10s}";
    let names = ["NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"];
    let (sidecar, _folder) = serving(&[], Some(&policy(&names.map(|name| (name, limits)))));
    for (number, (of, spec)) in heavy().iter().enumerate() {
        let failing = match *of {
            "extended resources" => Some("NodeResourcesFit"),
            "node affinity" => Some("NodeAffinity"),
            "topology spread" => Some("PodTopologySpread"),
            // No node has the keys of its terms.
            _ => None,
        };
        for turn in 0..FAULTS {
            let answer = asked(&sidecar, &pod(&format!("tenant-{number}-{turn}"), &format!("heavy-{turn}"), spec));
            let fault = &answer["faults"][0];
            let found = (fault["predicate"].as_str(), fault["fault"].as_str(), feasible(&answer));
            let expected = failing.map_or((None, None, NODES), |name| (Some(name), Some("Memory"), 0));
            assert_eq!(found, expected, "{of}: {answer}");
        }
        ordinary_pods_fit(&sidecar, number * QUESTIONS, of);
    }
}

/// The attack: nothing is asked between them for which the predicate answers.
#[test]
fn faults_in_a_row_that_are_ignored_switch_no_predicate_off() {
    let limits = "onError: Ignore, limits: {memory: 2Mi, timePerCall: 10s}";
    let (sidecar, _folder) = serving(&[], Some(&policy(&[("NodeResourcesFit", limits)])));
    for turn in 0..FAULTS {
        let answer = asked(&sidecar, &pod(&format!("tenant-{turn}"), &format!("wide-{turn}"), &heavy_resources()));
        let fault = &answer["faults"][0];
        assert_eq!((&fault["fault"], &fault["effect"]), (&json!("Memory"), &json!("Ignored")), "{answer}");
        assert_eq!(feasible(&answer), NODES, "{answer}");
    }
    // More than any node has.
    let requests = json!({"cpu": "17"});
    let huge =
        json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}]});
    let answer = asked(&sidecar, &pod("honest", "huge", &huge));
    assert_eq!((answer["faults"].as_array().map_or(0, Vec::len), feasible(&answer)), (0, 0), "{answer}");
}

/// Nobody else's pods are there for which the predicate answers.
#[test]
fn a_policy_becomes_active_where_all_pods_are_those_of_a_tenant_for_whom_it_fails() {
    let wide = |name: &str| pod("tenant", name, &heavy_resources());
    let before = policy(&[("NodeResourcesFit", "limits: {timePerCall: 10s}")]);
    let (sidecar, folder) = serving(&[wide("one"), wide("two")], Some(&before));
    let after = policy(&[("NodeResourcesFit", "limits: {memory: 2Mi, timePerCall: 10s}")]);
    std::fs::write(folder.path().join("policy.yaml"), &after).unwrap();
    let is_over = || {
        let status = get(&sidecar.unix(), "/v1/policy").unwrap().json();
        Some(status).filter(|status| status["lastReload"].is_object() || status["lastFailure"].is_object())
    };
    let status: Value = timeout::until(is_over).expect("a reload");
    assert_eq!((&status["lastReload"]["result"], &status["document"]), (&json!("active"), &json!(after)), "{status}");
    assert!(status["lastReload"]["remarks"][0]["fault"].as_str().unwrap().starts_with("Memory: "), "{status}");
}
