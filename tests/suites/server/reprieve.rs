//! Reprieve: which victims a preemption on each of several nodes needs.

use nodesift_proto::v1::{self, NodeVictims, ReprieveRequest};
use nodesift_tests::http::post;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::decisions::{node, pod, serving};
use crate::running::ask;

/// A pod that is bound to a node.
fn bound(name: &str, cpu: &str, node: &str) -> Value {
    let mut pod = pod(name, cpu, &json!({}));
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// n1 has room for 300m beside its three pods, n2 is cordoned, n3 is too small.
fn cluster() -> Vec<Value> {
    let mut cordoned = node("n2", "1");
    cordoned["spec"] = json!({"unschedulable": true});
    vec![
        node("n1", "1"),
        cordoned,
        node("n3", "500m"),
        bound("a", "200m", "n1"),
        bound("b", "300m", "n1"),
        bound("c", "200m", "n1"),
        bound("d", "100m", "n2"),
        bound("e", "100m", "n3"),
        pod("web", "600m", &json!({})),
    ]
}

fn on(node: &str, victims: &[&str]) -> Value {
    json!({"node": node, "victims": victims})
}

#[test]
fn victims_stay_in_their_order_as_long_as_the_pod_fits_beside_them() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let answer = |nodes: Value| {
        let answer = ask(&sidecar.unix(), "/v1/reprieve", &json!({"pod": {"uid": "uid-web"}, "nodes": nodes}));
        assert!(answer["version"]["generation"].is_string() && answer["faults"] == json!([]), "{answer}");
        answer["nodes"].clone()
    };
    // 600m of 1 leave 400m: a and c stay, or b alone, whichever comes first.
    assert_eq!(answer(json!([on("n1", &["uid-a", "uid-b", "uid-c"])]))[0]["kept"], json!([0, 2]));
    assert_eq!(answer(json!([on("n1", &["uid-b", "uid-a", "uid-c"])]))[0]["kept"], json!([0]));
    // b is no victim, so both others have to go.
    let all_go = &answer(json!([on("n1", &["uid-a", "uid-c"])]))[0];
    assert_eq!((&all_go["fits"], &all_go["kept"]), (&json!(true), &json!([])));

    let several = answer(json!([on("n3", &["uid-e"]), on("n9", &[]), on("n2", &["uid-d"]), on("n1", &["uid-d"])]));
    let failure = |at: usize| {
        let failure = &several[at]["failure"];
        assert_eq!(several[at]["fits"], false);
        (failure["predicate"].clone(), failure["failureCode"].clone(), failure["reasons"].clone())
    };
    // All of n3 is less than what the pod asks for, which no preemption changes.
    let too_small =
        (json!("NodeResourcesFit"), json!("FAILURE_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE"), json!(["Insufficient cpu"]));
    assert_eq!(failure(0), too_small);
    assert_eq!(several[1]["error"]["code"], "NOT_FOUND");
    assert_eq!(failure(2).0, "NodeUnschedulable");
    let elsewhere = several[3]["error"]["message"].as_str().unwrap();
    assert!(elsewhere.contains("\"uid-d\" on node \"n1\""), "{elsewhere}");
}

#[test]
fn static_pods_are_victims_by_their_priority_or_stay_as_the_policy_says() {
    let mut cluster = cluster();
    let b = cluster.iter_mut().find(|object| object["metadata"]["name"] == "b").unwrap();
    b["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "x"}]);
    let folder = tempfile::tempdir().unwrap();
    let kept = |rule: Value, orders: &[Vec<&str>]| -> Vec<Vec<u64>> {
        let policy = folder.path().join("policy.yaml");
        let text = json!({"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "metadata": {"name": "p"},
            "spec": {"schedulerNames": ["default-scheduler"], "predicates": [{"name": "NodeResourcesFit"}], "preemption": rule}});
        std::fs::write(&policy, text.to_string()).unwrap();
        let (sidecar, _folder) = serving(&cluster, &["--policy", policy.to_str().unwrap()]);
        let answer = |victims: &Vec<&str>| {
            let request = json!({"pod": {"uid": "uid-web"}, "nodes": [on("n1", victims)]});
            let answer = ask(&sidecar.unix(), "/v1/reprieve", &request)["nodes"][0].clone();
            assert_eq!(answer["fits"], true, "{answer}");
            answer["kept"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect()
        };
        orders.iter().map(answer).collect()
    };
    let orders: Vec<Vec<&str>> = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        .map(|order| order.map(|at| ["uid-a", "uid-b", "uid-c"][at]).to_vec())
        .to_vec();
    // Without the static pod among the victims, places count without it; that it stays is said beside them.
    let without: Vec<Vec<&str>> =
        orders.iter().map(|order| order.iter().copied().filter(|uid| *uid != "uid-b").collect()).collect();
    let by_priority = kept(json!({}), &[orders.clone(), without].concat());
    let expected = orders.iter().zip(&by_priority[orders.len()..]).map(|(order, kept)| {
        let stays = order.iter().position(|uid| *uid == "uid-b").unwrap() as u64;
        let mut kept: Vec<u64> = kept.iter().map(|at| if *at < stays { *at } else { at + 1 }).collect();
        kept.push(stays);
        kept.sort_unstable();
        kept
    });
    let expected: Vec<Vec<u64>> = expected.collect();
    let never = kept(json!({"static": "Never"}), &orders);
    assert_eq!(never, expected);
    assert_eq!(kept(json!({"static": "ByPriority"}), &orders), by_priority[..orders.len()]);
    assert_ne!(never, by_priority[..orders.len()], "b is evicted where a and c come first");
}

#[test]
fn both_protocols_give_the_same_answer_and_name_the_field_of_a_bad_request() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let victims = vec!["uid-a".to_owned(), "uid-b".to_owned(), "uid-c".to_owned()];
    let request = ReprieveRequest {
        pod: Some(v1::Pod::from(v1::pod::Pod::Uid("uid-web".to_owned()))),
        nodes: vec![NodeVictims { node: "n1".to_owned(), victims }],
        ..ReprieveRequest::default()
    };
    let answer =
        grpc(&sidecar.unix(), |mut client| async move { client.reprieve(request).await.unwrap().into_inner() });
    assert_eq!((answer.nodes[0].fits, answer.nodes[0].kept.as_slice()), (true, [0, 2].as_slice()));

    let refused = |request: Value| {
        let response = post(&sidecar.unix(), "/v1/reprieve", request.to_string()).unwrap();
        (response.status, response.json()["error"]["message"].as_str().unwrap().to_owned())
    };
    let many: Vec<Value> = (0..501).map(|number| on(&format!("n{number}"), &[])).collect();
    for (request, status, text) in [
        (json!({"nodes": []}), 400, "pod: give one of uid, name, json, object"),
        (json!({"pod": {"uid": "uid-web"}, "nodes": [on("n1", &[]), on("n1", &[])]}), 400, "nodes[1].node"),
        (json!({"pod": {"uid": "nobody"}, "nodes": []}), 404, "nobody"),
        (json!({"pod": {"uid": "uid-web"}, "nodes": many}), 413, "501 nodes"),
    ] {
        let (found, said) = refused(request);
        assert!(found == status && said.contains(text), "{found} {said}, not {status} {text}");
    }
}
