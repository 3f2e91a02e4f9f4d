//! YuniKorn's calls: its semantics, and its texts to the letter.

use nodesift_api::v1::PredicatesRequest;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::decisions::{node, pod, serving};
use crate::running::ask;

fn cluster() -> Vec<Value> {
    let mut cordoned = node("n2", "1");
    cordoned["spec"] = json!({"unschedulable": true});
    vec![node("n1", "1"), cordoned, node("n3", "1"), pod("web", "600m", &json!({})), pod("big", "5", &json!({}))]
}

#[test]
fn predicates_name_the_plugin_and_its_reasons_and_never_a_node() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let predicates = |pod: &str, node: &str, allocate: bool| {
        let request = json!({"allocationKey": pod, "nodeID": node, "allocate": allocate});
        let answer = ask(&sidecar.unix(), "/v1/predicates", &request);
        (answer["fits"].as_bool().unwrap(), answer["error"].as_str().unwrap().to_owned())
    };
    assert_eq!(predicates("uid-web", "n1", true), (true, String::new()));
    let cordoned = "failed plugin: 'NodeUnschedulable'\nnode(s) were unschedulable";
    assert_eq!(predicates("uid-web", "n2", true), (false, cordoned.to_owned()));
    let full = "failed plugin: 'NodeResourcesFit'\nInsufficient cpu";
    assert_eq!(predicates("uid-big", "n1", true), (false, full.to_owned()));
    assert_eq!(predicates("uid-big", "n1", false), (true, String::new()), "a reservation needs no room yet");
    let no_pod = "predicates were not run because pod was not found in cache";
    let no_node = "predicates were not run because node was not found in cache";
    assert_eq!(predicates("nobody", "n1", true), (false, no_pod.to_owned()));
    assert_eq!(predicates("uid-web", "n9", true), (false, no_node.to_owned()));
    assert_eq!(predicates("nobody", "n9", true), (false, no_pod.to_owned()));

    let answer = grpc(&sidecar.unix(), |mut client| async move {
        let (allocation_key, node_id) = ("uid-web".to_owned(), "n2".to_owned());
        let request = PredicatesRequest { allocation_key, node_id, allocate: true, consistency: None };
        client.predicates(request).await.unwrap().into_inner()
    });
    assert_eq!((answer.fits, answer.error.as_str()), (false, cordoned));
}

#[test]
fn pre_filter_predicates_give_all_nodes_that_fit() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let feasible = |pod: &str, allocate: bool| {
        let request = json!({"allocationKey": pod, "allocate": allocate});
        let answer = ask(&sidecar.unix(), "/v1/prefilterpredicates", &request);
        assert_eq!(answer["success"], !answer["feasibleNodes"].as_array().unwrap().is_empty());
        (answer["feasibleNodes"].clone(), answer["error"].as_str().unwrap().to_owned())
    };
    assert_eq!(feasible("uid-web", true), (json!(["n1", "n3"]), String::new()));
    assert_eq!(feasible("uid-big", false), (json!(["n1", "n3"]), String::new()));
    let none = "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.";
    assert_eq!(feasible("uid-big", true), (json!([]), none.to_owned()));
    let no_pod = "predicates were not run because pod was not found in cache";
    assert_eq!(feasible("nobody", true), (json!([]), no_pod.to_owned()));
    // What is assumed counts here too.
    ask(&sidecar.unix(), "/v1/assume", &json!({"pod": {"object": pod("new", "700m", &json!({}))}, "node": "n3"}));
    assert_eq!(feasible("uid-web", true), (json!(["n1"]), String::new()));
}
