//! Terms that count in scores, as they are compiled of pods: which are kept, for whom, and with which weights.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use nodesift_object::Pod;
use serde_json::{Value, json};

use crate::metadata::{PodFacts, Pool, Selection, compile};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn preferences() -> Selection {
    Selection { pod_preferences: true, ..Selection::default() }
}

fn pod(affinity: &Value) -> Pod {
    let pod = json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"affinity": affinity}});
    serde_json::from_value(pod).unwrap()
}

fn term(key: &str) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}})
}

fn weighted(weight: i32, term: &Value) -> Value {
    json!({"weight": weight, "podAffinityTerm": term})
}

/// A term with a selector that does not parse.
fn invalid() -> Value {
    json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"not a key": "x"}}})
}

/// Keys and weights of the terms that count in scores.
fn terms(facts: &PodFacts) -> Vec<(&str, Option<i32>)> {
    let preferences = facts.preferences.as_ref().unwrap();
    preferences.terms.iter().map(|term| (&*term.topology_key, term.weight)).collect()
}

#[test]
fn preferred_terms_and_those_of_required_affinity_count_with_their_weights() {
    let affinity = json!({
        "podAffinity": {REQUIRED: [term("zone")], PREFERRED: [weighted(7, &term("zone")), weighted(7, &term("rack"))]},
        "podAntiAffinity": {REQUIRED: [term("host")], PREFERRED: [weighted(9, &term("host"))]},
    });
    let facts = compile::pod_selecting(&pod(&affinity), &preferences());
    let expected = [("host", Some(-9)), ("rack", Some(7)), ("zone", None), ("zone", Some(7))];
    assert_eq!(terms(&facts), expected);
    let preferences = facts.preferences.unwrap();
    assert!(preferences.terms.iter().all(|term| *term.selector.namespaces == [Arc::from("ns")]));
    assert_eq!((preferences.affinity.len(), preferences.anti_affinity[0].weight), (2, 9));
}

#[test]
fn an_invalid_term_voids_its_list_and_a_term_without_a_selector_itself() {
    let without = json!({"topologyKey": "zone"});
    let affinity = json!({
        "podAffinity": {REQUIRED: [term("a"), without], PREFERRED: [weighted(1, &term("b")), weighted(1, &invalid())]},
        "podAntiAffinity": {PREFERRED: [weighted(2, &term("c")), weighted(3, &without)]},
    });
    let facts = compile::pod_selecting(&pod(&affinity), &preferences());
    assert_eq!(terms(&facts), [("a", None), ("c", Some(-2))]);
    let (of_affinity, of_anti_affinity) = *facts.invalid_preferred.unwrap();
    assert_eq!((of_affinity.len(), of_anti_affinity.len()), (1, 0));
}

#[test]
fn preferred_terms_keep_pods_apart_only_where_they_are_read() {
    let with = |weight: i32, term: &Value| pod(&json!({"podAffinity": {PREFERRED: [weighted(weight, term)]}}));
    let pods = [with(1, &term("zone")), with(2, &term("zone")), with(2, &invalid()), pod(&json!({}))];
    // Of an invalid term the filter says why.
    for (selection, templates) in [(Selection::default(), 2), (preferences(), 4)] {
        let pool = Pool::default();
        let records = pods.each_ref().map(|pod| pool.pod_record(pod, &[], &selection));
        for (record, pod) in records.iter().zip(&pods) {
            assert_eq!(*record, compile::pod_record_selecting(pod, &[], &selection));
            assert_eq!(record.facts.preferences.is_some(), selection.pod_preferences && *pod != pods[3]);
        }
        let facts: std::collections::BTreeSet<_> = records.iter().map(|record| Arc::as_ptr(&record.facts)).collect();
        assert_eq!(facts.len(), templates, "{selection:?}");
    }
}
