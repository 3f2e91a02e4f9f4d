//! The extender's replies as kube-scheduler's `HTTPExtender` interprets them: which status and fields mean an error, a node
//! that passes, a node that preemption may help. The rules of pkg/scheduler/extender.go and of Go's encoding/json are
//! reimplemented here; the replies are golden.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_tests::machine::beside_others;
use nodesift_tests::wire::{Answer, Wire};
use serde_json::{Value, json};

use crate::arena::Arena;

/// kube-scheduler's interpretation of a reply.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The call failed, and so does the pod's scheduling cycle unless the extender is ignorable.
    Failed(String),
    Filtered {
        passing: Vec<String>,
        /// Nodes where preemption may help.
        unschedulable: BTreeSet<String>,
        /// Nodes where preemption cannot help.
        unresolvable: BTreeSet<String>,
    },
}

/// A field as encoding/json finds it: by name, ignoring case. Absent and null are the zero value.
fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let found = object.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value).filter(|value| !value.is_null())
}

fn map(object: &Value, name: &str) -> BTreeMap<String, String> {
    field(object, name).map(|map| serde_json::from_value(map.clone()).unwrap()).unwrap_or_default()
}

/// `HTTPExtender.Filter`, and the use of its results in `findNodesThatPassExtenders`.
fn filter(answer: &Answer, sent: &[&str], node_cache_capable: bool) -> Outcome {
    if answer.status != 200 {
        return Outcome::Failed(format!("code {}", answer.status));
    }
    let Ok(result) = serde_json::from_slice::<Value>(&answer.body) else {
        return Outcome::Failed("the reply does not decode".into());
    };
    let error = field(&result, "error").map(|error| error.as_str().unwrap()).unwrap_or_default();
    if !error.is_empty() {
        return Outcome::Failed(error.to_owned());
    }
    let mut passing = Vec::new();
    if node_cache_capable && let Some(names) = field(&result, "nodenames") {
        for name in names.as_array().unwrap() {
            let name = name.as_str().unwrap();
            if !sent.contains(&name) {
                return Outcome::Failed(format!(
                    "claims a filtered node {name:?} which is not found in the input node list"
                ));
            }
            passing.push(name.to_owned());
        }
    } else if let Some(nodes) = field(&result, "nodes") {
        for node in field(nodes, "items").and_then(Value::as_array).into_iter().flatten() {
            passing.push(node["metadata"]["name"].as_str().unwrap().to_owned());
        }
    }
    let unresolvable: BTreeSet<String> = map(&result, "FailedAndUnresolvableNodes").into_keys().collect();
    // A node in both maps is unresolvable.
    let failed = map(&result, "FailedNodes").into_keys().filter(|node| !unresolvable.contains(node));
    Outcome::Filtered { passing, unschedulable: failed.collect(), unresolvable }
}

/// `HTTPExtender.ProcessPreemption`: nodes with the UIDs of their victims, or why the call failed.
fn preempt(answer: &Answer, on_node: impl Fn(&str, &str) -> bool) -> Result<BTreeMap<String, Vec<String>>, String> {
    if answer.status != 200 {
        return Err(format!("code {}", answer.status));
    }
    let result = answer.json();
    let mut nodes = BTreeMap::new();
    for (node, victims) in field(&result, "NodeNameToMetaVictims").and_then(Value::as_object).into_iter().flatten() {
        // Go dereferences the pointer without a nil check: null would make kube-scheduler panic.
        assert!(victims.is_object(), "{node}: {victims}");
        let mut uids = Vec::new();
        for pod in field(victims, "Pods").and_then(Value::as_array).into_iter().flatten() {
            let uid = field(pod, "UID").and_then(Value::as_str).unwrap_or_default();
            if !on_node(node, uid) {
                return Err(format!("claims to preempt pod (UID: {uid}) on node: {node}, but the pod is not found"));
            }
            uids.push(uid.to_owned());
        }
        nodes.insert(node.clone(), uids);
    }
    Ok(nodes)
}

#[allow(clippy::needless_pass_by_value, reason = "callers pass literals")]
fn node(name: &str, cpu: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
           "spec": spec, "status": {"allocatable": {"cpu": cpu, "pods": "10"}}})
}

fn bound(name: &str, node: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")},
           "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
}

/// One node fits the pod, one is full, one can never fit it.
fn cluster() -> Vec<Value> {
    vec![
        node("fits", "4", json!({})),
        node("full", "2", json!({})),
        node("never", "4", json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})),
        bound("resident", "full", "1500m"),
    ]
}

/// A pod as kube-scheduler serialises it: without kind, with null as creation timestamp.
fn pod() -> Value {
    json!({"metadata": {"name": "p", "namespace": "ns", "uid": "uid-p", "creationTimestamp": null},
           "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}, "status": {}})
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a15_replies_to_names_are_read_as_they_are_meant() {
    let _beside = beside_others();
    let (arena, _folder) = Arena::on(cluster());
    let mut wire = arena.wire();
    let all = ["full", "gone", "never", "fits"];
    let answer =
        wire.post("/extender/filter", json!({"Pod": pod(), "Nodes": null, "NodeNames": all}).to_string()).unwrap();
    assert_eq!(
        answer.text(),
        r#"{"Nodes":null,"NodeNames":["fits"],"FailedNodes":{"gone":"predicates were not run because node was not found in cache","full":"Insufficient cpu"},"FailedAndUnresolvableNodes":{"never":"node(s) had untolerated taint(s)"},"Error":""}"#
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let expected = Outcome::Filtered {
        passing: vec!["fits".into()],
        unschedulable: set(&["full", "gone"]),
        unresolvable: set(&["never"]),
    };
    assert_eq!(filter(&answer, &all, true), expected);

    // No node passes: the list is present and empty. kube-scheduler treats an absent list the same, but errors look like that.
    for sent in [&all[..3], &[]] {
        let answer = wire.post("/extender/filter", json!({"Pod": pod(), "NodeNames": sent}).to_string()).unwrap();
        assert!(answer.text().starts_with(r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{"#), "{}", answer.text());
        let Outcome::Filtered { passing, unschedulable, unresolvable } = filter(&answer, sent, true) else {
            panic!("{}", answer.text())
        };
        assert_eq!((passing.len(), unschedulable.len() + unresolvable.len()), (0, sent.len()));
    }
    arena.goes_on();
}

#[test]
fn a15_replies_to_whole_nodes_are_read_as_they_are_meant() {
    let _beside = beside_others();
    let (arena, _folder) = Arena::on(cluster());
    let mut wire = arena.wire();
    let nodes: Vec<Value> = cluster().into_iter().take(3).collect();
    let request = json!({"Pod": pod(), "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null});
    let answer = wire.post("/extender/filter", request.to_string()).unwrap();
    let expected = Outcome::Filtered {
        passing: vec!["fits".into()],
        unschedulable: set(&["full"]),
        unresolvable: set(&["never"]),
    };
    assert_eq!(filter(&answer, &[], false), expected, "{}", answer.text());
    assert_eq!(answer.json()["NodeNames"], Value::Null);
    for none in [json!({"metadata": {}, "items": []}), json!({"metadata": {}, "items": null})] {
        let answer =
            wire.post("/extender/filter", json!({"Pod": pod(), "Nodes": none, "NodeNames": null}).to_string()).unwrap();
        assert_eq!(
            answer.text(),
            r#"{"Nodes":{"metadata":{},"items":[]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#
        );
        let nobody = Outcome::Filtered { passing: vec![], unschedulable: set(&[]), unresolvable: set(&[]) };
        assert_eq!(filter(&answer, &[], false), nobody);
    }
    arena.goes_on();
}

#[test]
fn a15_what_goes_wrong_is_an_error_and_never_an_empty_list() {
    let _beside = beside_others();
    let (arena, _folder) = Arena::on(cluster());
    let mut wire: Wire = arena.wire();
    let mut broken = pod();
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("4x");
    for (request, error) in [
        (String::new(), "EOF while parsing a value at line 1 column 0"),
        ("{}".to_owned(), "Pod: is missing"),
        ("null".to_owned(), "invalid type: null, expected an object, ExtenderArgs at line 1 column 4"),
        (json!({"Pod": null, "NodeNames": ["fits"]}).to_string(), "Pod: is missing"),
        (json!({"Pod": pod()}).to_string(), "NodeNames: is missing, and so is Nodes"),
        (json!({"Pod": pod(), "Nodes": null, "NodeNames": null}).to_string(), "NodeNames: is missing, and so is Nodes"),
    ] {
        let answer = wire.post("/extender/filter", &request).unwrap();
        let text = json!({"Error": error})["Error"].to_string();
        assert_eq!(
            answer.text(),
            format!(
                r#"{{"Nodes":null,"NodeNames":null,"FailedNodes":{{}},"FailedAndUnresolvableNodes":{{}},"Error":{text}}}"#
            )
        );
        assert_eq!(filter(&answer, &["fits"], true), Outcome::Failed(error.to_owned()), "{request}");
    }
    let answer = wire.post("/extender/filter", json!({"Pod": broken, "NodeNames": ["fits"]}).to_string()).unwrap();
    assert!(
        matches!(filter(&answer, &["fits"], true), Outcome::Failed(error) if error.contains("4x")),
        "{}",
        answer.text()
    );
    // A body that is not read gets the HTTP status, which is an error as well.
    let answer = wire.post("/extender/filter", " ".repeat(nodesift_api::limits::BODY_BYTES + 1)).unwrap();
    assert_eq!(filter(&answer, &["fits"], true), Outcome::Failed("code 413".into()));
    arena.goes_on();
}

#[test]
fn a15_preempt_replies_name_victims_that_are_there_and_errors_are_statuses() {
    let _beside = beside_others();
    let (arena, _folder) = Arena::on(cluster());
    let mut wire = arena.wire();
    let on_node = |node: &str, uid: &str| (node, uid) == ("full", "uid-resident");
    let meta = json!({"full": {"Pods": [{"UID": "uid-resident"}], "NumPDBViolations": 3},
        "never": {"Pods": [{"UID": "uid-x"}], "NumPDBViolations": 0}, "gone": {"Pods": [{"UID": "uid-y"}]}, "fits": null});
    let request = json!({"Pod": pod(), "NodeNameToVictims": null, "NodeNameToMetaVictims": meta});
    let answer = wire.post("/extender/preempt", request.to_string()).unwrap();
    assert_eq!(
        answer.text(),
        r#"{"NodeNameToMetaVictims":{"full":{"Pods":[{"UID":"uid-resident"}],"NumPDBViolations":3}}}"#
    );
    let expected = BTreeMap::from([("full".to_owned(), vec!["uid-resident".to_owned()])]);
    assert_eq!(preempt(&answer, on_node), Ok(expected.clone()));
    // The same with whole pods: the reply still has UIDs.
    let whole = json!({"full": {"Pods": [bound("resident", "full", "1500m")], "NumPDBViolations": 3}});
    let answer = wire.post("/extender/preempt", json!({"Pod": pod(), "NodeNameToVictims": whole}).to_string()).unwrap();
    assert_eq!(preempt(&answer, on_node), Ok(expected));
    let none = wire.post("/extender/preempt", json!({"Pod": pod(), "NodeNameToMetaVictims": {}}).to_string()).unwrap();
    assert_eq!(
        (none.text(), preempt(&none, on_node)),
        (r#"{"NodeNameToMetaVictims":{}}"#.to_owned(), Ok(BTreeMap::new()))
    );
    for wrong in ["", "{}", "[]", r#"{"NodeNameToMetaVictims":{"n":7}}"#] {
        let answer = wire.post("/extender/preempt", wrong).unwrap();
        assert_eq!(preempt(&answer, on_node), Err("code 400".into()), "{wrong}: {}", answer.text());
    }
    arena.goes_on();
}
