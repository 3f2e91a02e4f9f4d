//! kube-scheduler's extender protocol: every node of the request is in exactly one part of the reply, and the nodes that fit
//! are those of `explain`.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_tests::http::post;
use serde_json::{Value, json};

use crate::running::{ask, objects, offline, sample};

/// Pods of the sample cluster to filter: some fit nodes, some fit none.
const PODS: usize = 12;

/// The pending pods as whole objects, each with its `explain` line of all predicates together.
fn pods() -> Vec<(Value, Value)> {
    let explained = offline(&["explain", "-o", "jsonl"]);
    let together = explained.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let objects = objects("Pod");
    let mut pods: Vec<(Value, Value)> = together
        .filter(|line| line["predicate"] == "*")
        .map(|line| {
            let is_it = |pod: &&Value| {
                let metadata = &pod["metadata"];
                line["pod"]
                    == format!("{}/{}", metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap())
            };
            (objects.iter().find(is_it).unwrap().clone(), line)
        })
        .collect();
    // Sorted by the number of feasible nodes; pods from both ends are used.
    pods.sort_by_key(|(_, line)| line["feasible"].as_array().unwrap().len());
    let last = pods.len() - PODS / 2;
    pods.drain(PODS / 2..last);
    pods
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

fn keys(map: &Value) -> Vec<&str> {
    map.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn with_names_the_feasible_nodes_are_those_of_explain() {
    let sidecar = sample(&[]);
    let nodes = objects("Node");
    let mut all: Vec<&str> = nodes.iter().map(|node| node["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(all.len(), 298);
    // The reply has the order of the request.
    all.reverse();
    let mut some_rejected = false;
    for (pod, line) in pods() {
        let reply = ask(&sidecar.tcp(), "/extender/filter", &json!({"Pod": pod, "Nodes": null, "NodeNames": all}));
        assert_eq!(reply["Error"], "", "{reply}");
        assert_eq!(reply["Nodes"], Value::Null);
        let feasible = names(&reply["NodeNames"]);
        let expected: BTreeSet<&str> = names(&line["feasible"]).into_iter().collect();
        assert_eq!(feasible.iter().copied().collect::<BTreeSet<_>>(), expected, "{}", line["pod"]);
        let in_order: Vec<&str> = all.iter().copied().filter(|name| expected.contains(name)).collect();
        assert_eq!(feasible, in_order, "the request's order");

        let (failed, unresolvable) = (keys(&reply["FailedNodes"]), keys(&reply["FailedAndUnresolvableNodes"]));
        let mut places: Vec<&str> = [feasible, failed, unresolvable].concat();
        places.sort_unstable();
        let mut once = all.clone();
        once.sort_unstable();
        assert_eq!(places, once, "each node in exactly one place");
        some_rejected |= expected.len() < all.len();
    }
    assert!(some_rejected);
}

#[test]
fn with_whole_nodes_those_that_fit_come_back_as_they_were() {
    let sidecar = sample(&[]);
    let nodes: Vec<Value> = objects("Node")
        .into_iter()
        .map(|mut node| {
            // As kube-scheduler sends them.
            let fields = node.as_object_mut().unwrap();
            fields.remove("kind");
            fields.remove("apiVersion");
            node
        })
        .collect();
    let (pod, line) = pods().pop().unwrap();
    let request = json!({"Pod": pod, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null});
    let reply = ask(&sidecar.unix(), "/extender/filter", &request);
    assert_eq!(reply["Error"], "", "{reply}");
    assert_eq!(reply["NodeNames"], Value::Null);
    let expected: BTreeSet<&str> = names(&line["feasible"]).into_iter().collect();
    let fitting: Vec<&Value> =
        nodes.iter().filter(|node| expected.contains(node["metadata"]["name"].as_str().unwrap())).collect();
    assert!(!fitting.is_empty());
    assert_eq!(reply["Nodes"]["items"].as_array().unwrap().iter().collect::<Vec<_>>(), fitting);
}

#[test]
fn one_node_and_any_case_will_do() {
    let sidecar = sample(&[]);
    let (pod, line) = pods().pop().unwrap();
    let one = names(&line["feasible"])[0].to_owned();
    let reply = ask(&sidecar.tcp(), "/extender/filter", &json!({"pod": pod, "nodeNames": [one], "nodes": null}));
    assert_eq!(reply["NodeNames"], json!([one]));
    assert_eq!(reply["FailedNodes"], json!({}));
}

#[test]
fn a_node_that_is_not_known_fails_and_says_so() {
    let sidecar = sample(&[]);
    let (pod, line) = pods().pop().unwrap();
    let one = names(&line["feasible"])[0].to_owned();
    let reply = ask(&sidecar.tcp(), "/extender/filter", &json!({"Pod": pod, "NodeNames": ["nobody", one, one]}));
    assert_eq!(reply["NodeNames"], json!([one]), "a repeated name counts once");
    assert!(reply["FailedNodes"]["nobody"].as_str().unwrap().contains("not found"), "{reply}");
}

#[test]
fn what_is_wrong_is_said_in_error_with_status_200() {
    let sidecar = sample(&[]);
    let quantity = json!({"containers": [{"resources": {"requests": {"cpu": "4x"}}}]});
    for (request, named) in [
        ("{}".to_owned(), "Pod"),
        ("{\"Pod\":".to_owned(), "line 1"),
        (json!({"Pod": {"metadata": {"name": "p"}}}).to_string(), "NodeNames"),
        (json!({"Pod": {"metadata": {"name": "p"}, "spec": quantity}, "NodeNames": []}).to_string(), "4x"),
    ] {
        let response = post(&sidecar.tcp(), "/extender/filter", request.clone()).unwrap();
        assert_eq!(response.status, 200, "{request}: {}", response.body);
        let error = response.json()["Error"].as_str().unwrap().to_owned();
        assert!(error.contains(named), "{request}: {error}");
    }
}

/// Pods on the nodes of the sample cluster: per node the UIDs, and those of static pods separately.
fn residents() -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    let mut residents: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for pod in objects("Pod") {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (node, phase) = (text(&pod["spec"]["nodeName"]), text(&pod["status"]["phase"]));
        if node.is_empty() || phase == "Succeeded" || phase == "Failed" {
            continue;
        }
        let owners = pod["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let (moving, fixed) = residents.entry(node).or_default();
        let is_static = owners.iter().any(|owner| owner["kind"] == "Node");
        if is_static { fixed } else { moving }.push(text(&pod["metadata"]["uid"]));
    }
    residents
}

#[test]
fn preempt_keeps_nodes_that_would_take_the_pod_in_both_forms() {
    let sidecar = sample(&[]);
    let residents = residents();
    let whole: BTreeMap<String, Value> = objects("Pod")
        .into_iter()
        .map(|pod| (pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), pod))
        .collect();
    let (mut kept, mut dropped) = (0, 0);
    for (pod, line) in pods() {
        let meta: serde_json::Map<String, Value> = residents
            .iter()
            .map(|(node, (moving, fixed))| {
                let pods: Vec<Value> = moving.iter().chain(fixed).map(|uid| json!({"UID": uid})).collect();
                (node.clone(), json!({"Pods": pods, "NumPDBViolations": 1}))
            })
            .collect();
        let request = json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": meta});
        let reply = ask(&sidecar.tcp(), "/extender/preempt", &request);
        let nodes = reply["NodeNameToMetaVictims"].as_object().unwrap();
        for (node, victims) in nodes {
            let uids: Vec<&str> =
                victims["Pods"].as_array().unwrap().iter().map(|pod| pod["UID"].as_str().unwrap()).collect();
            assert_eq!(uids, residents[node].0, "all victims but the static ones");
            assert_eq!(victims["NumPDBViolations"], 1);
        }
        // A node that fits the pod also fits it with fewer pods, unless the pod has pod affinity.
        let has_neighbours = pod["spec"]["affinity"]["podAffinity"].is_object();
        let is_spread = pod["spec"]["topologySpreadConstraints"].is_array();
        if !has_neighbours && !is_spread {
            for node in names(&line["feasible"]) {
                let has_victims = residents.get(node).is_some_and(|(moving, _)| !moving.is_empty());
                assert_eq!(nodes.contains_key(node), has_victims, "{node} for {}", line["pod"]);
            }
        }
        kept += nodes.len();
        dropped += residents.len() - nodes.len();

        let by_object: serde_json::Map<String, Value> = residents
            .iter()
            .map(|(node, (moving, fixed))| {
                let pods: Vec<&Value> = moving.iter().chain(fixed).map(|uid| &whole[uid]).collect();
                (node.clone(), json!({"Pods": pods, "NumPDBViolations": 1}))
            })
            .take(20)
            .collect();
        let same = ask(&sidecar.tcp(), "/extender/preempt", &json!({"Pod": pod, "NodeNameToVictims": by_object}));
        for (node, victims) in same["NodeNameToMetaVictims"].as_object().unwrap() {
            assert_eq!(nodes.get(node), Some(victims), "whole pods are named by UID in the reply");
        }
        let expected = nodes.keys().filter(|node| by_object.contains_key(*node)).count();
        assert_eq!(same["NodeNameToMetaVictims"].as_object().unwrap().len(), expected);
    }
    assert!(kept > 0 && dropped > 0, "{kept} kept, {dropped} dropped");
}

#[test]
fn preempt_leaves_out_unknown_nodes_and_nodes_without_victims() {
    let sidecar = sample(&[]);
    let (pod, line) = pods().pop().unwrap();
    let node = names(&line["feasible"])[0];
    let meta = json!({"nobody": {"Pods": [{"UID": "u"}]}, node: {"Pods": []}});
    let reply = ask(&sidecar.tcp(), "/extender/preempt", &json!({"Pod": pod, "NodeNameToMetaVictims": meta}));
    assert_eq!(reply, json!({"NodeNameToMetaVictims": {}}));
    // The reply has no error field: the status reports the error.
    let response = post(&sidecar.tcp(), "/extender/preempt", json!({"Pod": pod}).to_string()).unwrap();
    assert_eq!(response.status, 400, "{}", response.body);
    assert!(response.body.contains("NodeNameToMetaVictims"), "{}", response.body);
}

#[test]
fn the_first_call_of_an_extender_warns_of_what_it_cannot_know() {
    let sidecar = sample(&[]);
    let request = json!({"Pod": {"metadata": {"name": "p"}}, "NodeNames": []});
    let warned = || sidecar.output().matches("called as an extender: kube-scheduler does not tell").count();
    assert_eq!(warned(), 0);
    for _ in 0..3 {
        ask(&sidecar.tcp(), "/extender/filter", &request);
    }
    assert!(nodesift_tests::timeout::until(|| (warned() == 1).then_some(())).is_some(), "{}", sidecar.output());
}

#[test]
fn priorities_are_shares_of_the_highest_total_in_the_order_of_the_request() {
    let sidecar = sample(&[]);
    let (pod, line) = pods().pop().unwrap();
    let feasible = names(&line["feasible"]);
    let request = json!({"pods": [{"object": pod}], "scores": {"top": 1000}});
    let scores = ask(&sidecar.tcp(), "/v1/filter", &request)["pods"][0]["scores"].clone();
    let scorers = scores["scorers"].as_array().unwrap().iter().filter(|scorer| scorer["outcome"] == "Scored");
    let most: i64 = scorers.map(|scorer| 100 * scorer["weight"].as_i64().unwrap()).sum();
    let total = |name: &str| -> i64 {
        let best = scores["best"].as_array().unwrap();
        let node = best.iter().find(|node| node["node"] == name);
        node.map_or(0, |node| node["total"].as_str().unwrap().parse().unwrap())
    };
    // The feasible nodes alone, so that both are scored among the same ones; and one that is not there.
    let asked: Vec<&str> = feasible.iter().rev().copied().chain(["gone"]).collect();
    let reply = ask(&sidecar.tcp(), "/extender/prioritize", &json!({"Pod": pod, "Nodes": null, "NodeNames": asked}));
    let expected: Vec<Value> = asked
        .iter()
        .map(|name| json!({"Host": name, "Score": (10 * total(name)).checked_div(most).unwrap_or(0)}))
        .collect();
    assert_eq!(reply, json!(expected));
}
