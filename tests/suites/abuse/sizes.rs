//! Very large inputs: labels, long values, names. Answers stay bounded, and for a random subset of nodes they are a subset.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use nodesift_tests::machine::beside_others;
use nodesift_tests::wire::Wire;
use serde_json::{Value, json};

use crate::arena::{Arena, about, node_names, pending_objects, pending_pods, random};

/// Random subsets of the nodes, over both protocols.
const REQUESTS: usize = 3_000;
/// Maximum number of nodes of one subset.
const SUBSET: usize = 24;
const LABELS: usize = 100_000;
const NAMES: usize = 1_000_000;
/// Nodes of a large cluster.
const LARGE: usize = 100_000;

/// Posts and returns status and text.
fn post(wire: &mut Wire, path: &str, body: impl AsRef<[u8]>) -> (u16, String) {
    let answer = wire.post(path, body).unwrap();
    (answer.status, answer.text())
}

#[test]
fn a06_a_pod_of_a_hundred_thousand_labels_is_judged() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    let mut pod = pending_objects()[0].clone();
    let expected = wire.post("/v1/filter", about(&[json!({"object": pod})]).to_string()).unwrap().json();
    for at in 0..LABELS {
        pod["metadata"]["annotations"][format!("example.com/a{at}")] = json!("x");
    }
    pod["metadata"]["annotations"]["example.com/long"] = json!("x".repeat(1 << 20));
    let body = json!({"pods": [{"json": pod.to_string()}]}).to_string();
    assert!(body.len() < nodesift_api::limits::BODY_BYTES, "{}", body.len());
    let (status, text) = post(&mut wire, "/v1/filter", body);
    assert_eq!(status, 200, "{text}");
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap()["pods"],
        expected["pods"],
        "no predicate reads annotations"
    );

    let mut labels = String::from(r#""app":"x""#);
    for at in 0..LABELS {
        write!(labels, r#","k{at}":"v""#).unwrap();
    }
    let node = &node_names()[0];
    for labels in [labels, format!(r#""long":"{}""#, "v".repeat(1 << 20))] {
        let pod = format!(r#"{{"metadata":{{"name":"p","labels":{{{labels}}}}}}}"#);
        let (status, text) = post(&mut wire, "/v1/filter", json!({"pods": [{"json": pod}]}).to_string());
        assert_eq!(status, 200, "{}", &text[..text.len().min(300)]);
        // As a node selector: no node has any of the labels.
        let pod = format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"nodeSelector":{{{labels}}}}}}}"#);
        let (status, text) = post(&mut wire, "/extender/filter", format!(r#"{{"Pod":{pod},"NodeNames":["{node}"]}}"#));
        assert_eq!(status, 200);
        assert!(text.len() < 4096, "{} bytes", text.len());
        let reply: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&reply["NodeNames"], &reply["Error"]), (&json!([]), &json!("")), "{text}");
    }
    arena.goes_on();
}

#[test]
fn a06_a_million_names_are_answered_or_refused_and_the_answer_is_bounded() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    let pod = pending_pods()[0].to_string();
    let known = &node_names()[0];
    // As many names as a body holds are more than one request may have decoded.
    let empty = |count: usize| format!("{}\"\"", "\"\",".repeat(count - 1));
    let by_name = |names: &str| format!(r#"{{"pods":[{pod}],"nodes":{{"names":[{names}]}}}}"#);
    let (status, text) = post(&mut wire, "/v1/filter", by_name(&empty(NAMES)));
    assert!(status == 413 && text.contains("bytes of decoded names and pods"), "{status} {text}");
    // As many nodes as a large cluster has are not: one name again and again, then distinct ones.
    let (status, text) = post(&mut wire, "/v1/filter", by_name(&empty(LARGE)));
    assert_eq!(status, 404, "{text}");
    assert!(text.len() < 4096, "{} bytes", text.len());
    let mut names = String::new();
    for at in 0..LARGE {
        write!(names, "\"{at:x}\",").unwrap();
    }
    let body = by_name(&format!("{names}\"{known}\""));
    let (status, text) = post(&mut wire, "/v1/filter", &body);
    assert_eq!(status, 404, "{text}");
    assert!(text.len() < 4096, "{} bytes", text.len());
    let (status, text) = post(&mut wire, "/v1/filter", format!("{body}{}", " ".repeat(4 << 20)));
    assert_eq!(status, 413, "{text}");

    // kube-scheduler gets each name once, however often it was sent.
    let mut wire = arena.wire();
    let pod = pending_objects()[0].to_string();
    let args = |names: &str| format!(r#"{{"Pod":{pod},"NodeNames":[{names}]}}"#);
    let (status, text) = post(&mut wire, "/extender/filter", args(&empty(LARGE)));
    assert_eq!(status, 200, "{text}");
    let reply: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&reply["NodeNames"], reply["FailedNodes"].as_object().unwrap().len()), (&json!([]), 1));
    let (status, text) = post(&mut wire, "/extender/filter", args(&empty(NAMES)));
    let reply: Value = serde_json::from_str(&text).unwrap();
    assert!(status == 200 && reply["Error"].as_str().unwrap().contains("bytes of decoded"), "{status} {text}");
    arena.goes_on();
}

#[test]
fn a06_nothing_at_all_is_a_question_too() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    let pod = pending_pods().swap_remove(0);
    let ask = |wire: &mut Wire, request: Value| wire.post("/v1/filter", request.to_string()).unwrap();
    for request in [json!({}), json!({"pods": []}), json!({"pods": [], "nodes": {"names": []}})] {
        let answer = ask(&mut wire, request.clone());
        assert_eq!((answer.status, &answer.json()["pods"]), (200, &json!([])), "{request}");
    }
    let answer = ask(&mut wire, json!({"pods": [pod], "nodes": {"names": []}}));
    assert_eq!((answer.status, &answer.json()["pods"][0]["feasible"]), (200, &json!([])), "{}", answer.text());
    let pods: Vec<Value> = std::iter::repeat_n(pod, nodesift_api::limits::REQUEST_PODS + 1).collect();
    let answer = ask(&mut wire, about(&pods));
    assert_eq!(answer.status, 413, "{}", answer.text());
    arena.goes_on();
}

#[test]
fn a06_of_random_subsets_every_answer_is_one() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut random = random();
    let (nodes, references, objects) = (node_names(), pending_pods(), pending_objects());
    let mut wire = arena.wire();
    let mut fitting = 0;
    for at in 0..REQUESTS {
        let mut asked: Vec<String> =
            (0..random.usize(..=SUBSET)).map(|_| random.choice(&nodes).unwrap().clone()).collect();
        let pod = random.usize(..references.len());
        let strings = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
        let answer = if at % 2 == 0 {
            let request = json!({"pods": [references[pod]], "nodes": {"names": asked}, "detail": "DETAIL_NODES"});
            let answer = wire.post("/v1/filter", request.to_string()).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text());
            let answer = answer.json()["pods"][0].clone();
            let rejected = answer["failures"].as_array().unwrap().iter().flat_map(|failure| strings(&failure["nodes"]));
            let rejected: Vec<String> = rejected.collect();
            let feasible = strings(&answer["feasible"]);
            assert!(feasible.is_sorted(), "{feasible:?}");
            (feasible, rejected)
        } else {
            // Unknown names and empty ones are rejected too.
            for _ in 0..random.usize(..3) {
                let unknown = ["", "nobody", "n\u{e9}", "\u{0}"][random.usize(..4)];
                asked.insert(random.usize(..=asked.len()), unknown.to_owned());
            }
            let request = json!({"Pod": objects[pod], "NodeNames": asked});
            let answer = wire.post("/extender/filter", request.to_string()).unwrap();
            let answer = answer.json();
            assert_eq!(answer["Error"], "", "{answer}");
            let keys = |map: &Value| map.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
            let rejected = [keys(&answer["FailedNodes"]), keys(&answer["FailedAndUnresolvableNodes"])].concat();
            let feasible = strings(&answer["NodeNames"]);
            let mut seen = BTreeSet::new();
            let once: Vec<&String> = asked.iter().filter(|name| seen.insert(*name)).collect();
            let order: Vec<&String> = once.into_iter().filter(|name| feasible.contains(name)).collect();
            assert_eq!(feasible.iter().collect::<Vec<_>>(), order, "the order of the request");
            (feasible, rejected)
        };
        let (feasible, rejected) = answer;
        fitting += feasible.len();
        let mut all = [feasible, rejected].concat();
        all.sort_unstable();
        let expected: Vec<String> = asked.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(all, expected, "each requested name in exactly one place");
    }
    println!("{fitting} feasible nodes found");
    assert!(fitting > 0);
    arena.goes_on();
}
