//! YuniKorn's calls: their semantics, and YuniKorn's exact error messages.

use nodesift_proto::v1::{PredicatesRequest, PreemptionPredicatesRequest};
use nodesift_tests::http::post;
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
    // Assumed pods count here too.
    ask(&sidecar.unix(), "/v1/assume", &json!({"pod": {"object": pod("new", "700m", &json!({}))}, "node": "n3"}));
    assert_eq!(feasible("uid-web", true), (json!(["n1"]), String::new()));
}

#[test]
fn preemption_predicates_count_the_victims_that_must_go() {
    let static_pod = |name: &str| {
        let mut pod = pod(name, "100m", &json!({"nodeName": "n1"}));
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n"}]);
        pod
    };
    let apart = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}]}}});
    let mut web = pod("web", "100m", &json!({"nodeName": "n1"}));
    web["metadata"]["labels"] = json!({"app": "web"});
    let mut objects: Vec<Value> =
        (0..3).map(|number| pod(&format!("v{number}"), "200m", &json!({"nodeName": "n1"}))).collect();
    objects.extend([
        node("n1", "1"),
        node("n2", "1"),
        web,
        static_pod("kubelets"),
        pod("half", "500m", &json!({})),
        pod("apart", "10m", &apart),
    ]);
    let (sidecar, _folder) = serving(&objects, &[]);
    let ask_for = |pod: &str, node: &str, victims: &[&str], start: i32| {
        let request =
            json!({"allocationKey": pod, "nodeID": node, "preemptAllocationKeys": victims, "startIndex": start});
        let answer = ask(&sidecar.unix(), "/v1/preemptionpredicates", &request);
        assert_eq!(answer["faults"], json!([]));
        (
            answer["success"].as_bool().unwrap(),
            answer["index"].as_i64().unwrap(),
            answer["error"].as_str().unwrap().to_owned(),
        )
    };
    let fits = |index: i64| (true, index, String::new());
    let never = (false, -1, String::new());
    // 200m are free; 500m are free once two of the pods of 200m are removed.
    let all = ["uid-v0", "uid-v1", "uid-v2"];
    assert_eq!(ask_for("uid-half", "n1", &all, 0), fits(1));
    assert_eq!(ask_for("uid-half", "n1", &all, 1), fits(1), "the first is always removed");
    assert_eq!(ask_for("uid-half", "n1", &all, 2), fits(2), "indices from the start index on are tried");
    assert_eq!(ask_for("uid-half", "n1", &all, 3), never, "no index is left to try");
    assert_eq!(ask_for("uid-half", "n1", &all, i32::MAX), never);
    assert_eq!(ask_for("uid-half", "n1", &[], 0), never);
    assert_eq!(ask_for("uid-half", "n1", &["uid-v0", "nobody", "uid-v0", "uid-kubelets", "uid-v1"], 0), fits(4));
    assert_eq!(ask_for("uid-half", "n1", &["nobody", "uid-v1"], 0), never, "one of them is not enough");
    assert_eq!(ask_for("uid-half", "n2", &["nobody"], 0), fits(0), "it fits without any removal");
    // Free resources are not enough: the pod with anti-affinity must be removed, which is impossible on the zone's other node.
    assert_eq!(ask_for("uid-apart", "n1", &["uid-v0", "uid-web", "uid-v1"], 0), fits(1));
    assert_eq!(ask_for("uid-apart", "n2", &["uid-web"], 0), never);

    let no_pod = "predicates were not run because pod was not found in cache";
    let no_node = "predicates were not run because node was not found in cache";
    assert_eq!(ask_for("nobody", "n1", &all, 0), (false, -1, no_pod.to_owned()));
    assert_eq!(ask_for("uid-half", "n9", &all, 0), (false, -1, no_node.to_owned()));
    assert_eq!(ask_for("nobody", "n9", &all, 0), (false, -1, no_pod.to_owned()));
    // Assumed pods count here too, and can be removed.
    ask(&sidecar.unix(), "/v1/assume", &json!({"pod": {"object": pod("new", "700m", &json!({}))}, "node": "n2"}));
    assert_eq!(ask_for("uid-half", "n2", &["nobody", "uid-new"], 0), fits(1));

    let refused = |request: Value| {
        let response = post(&sidecar.unix(), "/v1/preemptionpredicates", request.to_string()).unwrap();
        (response.status, response.json()["error"]["message"].as_str().unwrap().to_owned())
    };
    let request = json!({"allocationKey": "uid-half", "nodeID": "n1", "preemptAllocationKeys": all, "startIndex": -1});
    assert_eq!(refused(request), (400, "start_index: is negative".to_owned()));
    let unseen = json!({"allocationKey": "uid-half", "nodeID": "n1", "consistency":
        {"minGeneration": "1000000000", "deadlineMs": 0}});
    assert_eq!(refused(unseen).0, 504);

    let answer = grpc(&sidecar.unix(), |mut client| async move {
        let request = PreemptionPredicatesRequest {
            allocation_key: "uid-half".into(),
            node_id: "n1".into(),
            preempt_allocation_keys: all.map(str::to_owned).to_vec(),
            ..PreemptionPredicatesRequest::default()
        };
        client.preemption_predicates(request).await.unwrap().into_inner()
    });
    assert_eq!((answer.success, answer.index, answer.version.is_some()), (true, 1, true));
}
