//! Answers with a limit: rows from a start row on, until enough nodes fit.

use nodesift_tests::http::post;
use serde_json::{Value, json};

use crate::decisions::{node, pod, serving};
use crate::running::{ask, objects, pending_pods, request, sample};

#[test]
fn walks_of_any_length_make_up_the_whole_answer() {
    let sidecar = sample(&[]);
    let nodes = objects("Node").len();
    let pods = &pending_pods()[..4];
    let mut asked = request(pods);
    asked["detail"] = json!("DETAIL_NODES");
    let whole = ask(&sidecar.unix(), "/v1/filter", &asked);
    assert!(whole["pods"][0].get("nextStart").is_none(), "the request has no limit");
    for (number, pod) in whole["pods"].as_array().unwrap().iter().enumerate() {
        let feasible = pod["feasible"].as_array().unwrap();
        for limit in [1, 3, 50, nodes + 1] {
            let (mut start, mut covered, mut found) = (0, 0, Vec::new());
            // Requests until all rows are covered. The last one wraps around past the first start row.
            while covered < nodes {
                let mut asked = request(&pods[number..=number]);
                asked["limit"] = json!(limit);
                asked["start"] = json!(start);
                let answer = ask(&sidecar.unix(), "/v1/filter", &asked)["pods"][0].clone();
                let fitting = answer["feasible"].as_array().unwrap();
                assert_eq!(answer["feasibleCount"].as_u64().unwrap(), fitting.len() as u64);
                assert_eq!(fitting.len(), limit.min(feasible.len()), "{}", pod["pod"]);
                found.extend(fitting.iter().cloned());
                let seen = usize::try_from(answer["nodes"].as_u64().unwrap()).unwrap();
                assert_eq!(answer["nextStart"], (start + seen) % nodes);
                assert_eq!(
                    answer.get("message"),
                    pod.get("message"),
                    "a message only where nothing fits, over all nodes"
                );
                start = (start + seen) % nodes;
                covered += seen;
            }
            found.sort_by_key(|name| name.as_str().unwrap().to_owned());
            found.dedup();
            assert_eq!(&found, feasible, "{} by {limit}", pod["pod"]);
        }
    }
}

#[test]
fn several_pods_begin_at_the_same_row() {
    let objects = [
        node("n1", "1"),
        node("n2", "2"),
        node("n3", "3"),
        pod("one", "500m", &json!({})),
        pod("two", "1500m", &json!({})),
        pod("four", "4", &json!({})),
    ];
    let (sidecar, _folder) = serving(&objects, &[]);
    let table = ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [], "bitmaps": {}}))["rows"]["changes"].clone();
    let order: Vec<Value> = table.as_array().unwrap().iter().map(|row| row["node"].clone()).collect();
    assert_eq!(json!(order), json!(["n1", "n2", "n3"]));
    let pods = json!([{"uid": "uid-one"}, {"uid": "uid-two"}, {"uid": "uid-four"}]);
    let ask_from = |start: u32| {
        let answer = ask(&sidecar.unix(), "/v1/filter", &json!({"pods": pods, "limit": 1, "start": start}));
        let say = |pod: &Value| json!([pod["feasible"], pod["nodes"], pod["nextStart"], pod["message"]]);
        json!(answer["pods"].as_array().unwrap().iter().map(say).collect::<Vec<_>>())
    };
    let none = "0/3 nodes are available: 3 Insufficient cpu.";
    assert_eq!(ask_from(0), json!([[["n1"], 1, 1, null], [["n2"], 2, 2, null], [[], 3, 0, none]]));
    assert_eq!(ask_from(2), json!([[["n3"], 1, 0, null], [["n3"], 1, 0, null], [[], 3, 2, none]]));
    assert_eq!(ask_from(9), ask_from(0), "there is no such row");
}

#[test]
fn a_limit_goes_with_all_nodes_and_a_start_with_a_limit() {
    let sidecar = sample(&[]);
    for (more, named) in [
        (json!({"start": 1}), "start: "),
        (json!({"limit": 1, "nodes": {"names": []}}), "limit: "),
        (json!({"limit": -1}), "limit"),
    ] {
        let mut asked = request(&pending_pods()[..1]);
        for (key, value) in more.as_object().unwrap() {
            asked[key] = value.clone();
        }
        let response = post(&sidecar.unix(), "/v1/filter", asked.to_string()).unwrap();
        let text = response.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(response.status == 400 && text.starts_with(named), "{}: {text}", response.status);
    }
}
