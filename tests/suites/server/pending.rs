//! The list of pending pods as it is served: causes, ETags, who asked, metrics.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::decisions::{node, pod, serving};
use crate::running::{ask, objects, pending_pods, request, sample};

fn cluster() -> Vec<Value> {
    let mut terminating = pod("terminating", "1m", &json!({}));
    terminating["metadata"]["deletionTimestamp"] = json!("2026-11-30T08:00:00Z");
    let mut nominated = pod("nominated", "1m", &json!({}));
    nominated["status"] = json!({"nominatedNodeName": "n1"});
    vec![
        node("n1", "1"),
        node("n2", "1"),
        pod("bound", "800m", &json!({"nodeName": "n1"})),
        pod("bound-too", "800m", &json!({"nodeName": "n2"})),
        terminating,
        pod("gated", "1m", &json!({"schedulingGates": [{"name": "quota"}]})),
        pod("other", "1m", &json!({"schedulerName": "other"})),
        pod("huge", "16", &json!({})),
        pod("large", "500m", &json!({})),
        nominated,
        pod("small", "100m", &json!({})),
        pod("assumed", "50m", &json!({})),
    ]
}

/// The list once it fulfils a condition.
fn listed(sidecar: &Sidecar, query: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/v1/pending{query}");
    let found = timeout::until(|| {
        let response = get(&sidecar.tcp(), &path).unwrap();
        (response.status == 200).then(|| response.json()).filter(&wanted)
    });
    found.unwrap_or_else(|| panic!("no such list: {}", get(&sidecar.tcp(), &path).unwrap().body))
}

fn causes(list: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    list["pods"].as_array().unwrap().iter().map(|pod| (text(&pod["name"]), text(&pod["cause"]))).collect()
}

#[test]
fn each_pending_pod_is_listed_with_its_cause() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": "uid-assumed"}, "node": "n1"}));
    let list = listed(&sidecar, "", |list| list["causes"]["Assumed"] == json!(1));
    let expected = [
        ("assumed", "Assumed"),
        ("gated", "Gated"),
        ("huge", "NeverFits"),
        ("large", "NoRoom"),
        ("nominated", "Nominated"),
        ("other", "OtherScheduler"),
        ("small", "Fits"),
        ("terminating", "Terminating"),
    ];
    assert_eq!(causes(&list), expected.map(|(name, cause)| (name.to_owned(), cause.to_owned())));
    assert_eq!(list["pods"][1]["subjects"], json!(["quota"]));
    assert_eq!(list["pods"][0]["subjects"], json!(["n1"]));
    // As the message of the answer to a core.
    let answer = ask(&sidecar.tcp(), "/v1/filter", &json!({"pods": [{"uid": "uid-large"}]}));
    assert_eq!(list["pods"][3]["message"], answer["pods"][0]["message"]);
    let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
    for line in [
        r#"nodesift_pending_pods{cause="NoRoom"} 1"#,
        r#"nodesift_pending_pods{cause="WaitsForParties"} 0"#,
        r#"nodesift_unschedulable_pods{predicate="NodeResourcesFit"} 2"#,
        r#"nodesift_unschedulable_pods{predicate="TaintToleration"} 0"#,
        r#"nodesift_pod_evaluations_total{result="unschedulable"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[test]
fn the_history_of_a_pod_says_who_asked_about_it() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    listed(&sidecar, "", |list| list["total"] == json!(8));
    let history = |name: &str| get(&sidecar.tcp(), &format!("/v1/pods/ns/{name}/history")).unwrap();
    assert_eq!(history("small").json()["asked"], Value::Null);
    for endpoint in [sidecar.tcp(), sidecar.unix(), sidecar.unix()] {
        ask(&endpoint, "/v1/filter", &json!({"pods": [{"uid": "uid-small"}]}));
        // No core asks so.
        ask(&endpoint, "/v1/explain", &json!({"pods": [{"uid": "uid-large"}]}));
    }
    let found = history("small").json();
    assert_eq!((&found["asked"]["result"], &found["asked"]["count"]), (&json!("fits"), &json!(3)));
    assert!(found["asked"]["by"].as_str().unwrap().starts_with("unix"), "{found}");
    assert_eq!((&found["pending"], &found["causes"][0]["cause"]), (&json!(true), &json!("Fits")));
    assert_eq!(history("large").json()["asked"], Value::Null);
    assert_eq!(history("nobody").status, 404);
}

#[test]
fn who_has_the_newest_list_is_answered_304() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    listed(&sidecar, "", |_| true);
    let Endpoint::Tcp(address) = sidecar.tcp() else { panic!("no address") };
    let request = |tag: Option<&str>| {
        let mut head = "GET /v1/pending?limit=0 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n".to_owned();
        if let Some(tag) = tag {
            write!(head, "if-none-match: {tag}\r\n").unwrap();
        }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let tag = response.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
        let age = response.lines().find_map(|line| line.strip_prefix("age: ")).map(str::parse::<u64>);
        assert!(matches!(age, Some(Ok(_))), "{response}");
        (response.split(' ').nth(1).unwrap().to_owned(), tag)
    };
    let (status, tag) = request(None);
    assert_eq!(status, "200");
    assert_eq!(request(Some(&tag)), ("304".to_owned(), tag.clone()));
    assert_eq!(request(Some("\"other\"")).0, "200");
    ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": "uid-small"}, "node": "n1"}));
    listed(&sidecar, "", |list| list["causes"]["Assumed"] == json!(1));
    assert_eq!(request(Some(&tag)).0, "200");
}

#[test]
fn without_the_list_its_calls_are_refused_and_its_metrics_absent() {
    let (sidecar, _folder) = serving(&cluster(), &["--no-pending-list"]);
    for path in ["/v1/pending", "/v1/pods/ns/small/history"] {
        let response = get(&sidecar.tcp(), path).unwrap();
        assert_eq!(response.status, 409, "{}", response.body);
        assert!(response.body.contains("--no-pending-list"), "{}", response.body);
    }
    let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
    assert!(!metrics.contains("nodesift_pending_pods"));
}

#[test]
fn an_object_that_is_given_out_and_sent_back_changes_no_answer() {
    let sidecar = sample(&[]);
    let mut given = 0;
    for (namespace, name) in pending_pods() {
        let object = get(&sidecar.tcp(), &format!("/v1/pods/{namespace}/{name}")).unwrap();
        assert_eq!(object.status, 200, "{}", object.body);
        let explained = |pod: Value| {
            let mut answer = ask(&sidecar.tcp(), "/v1/explain", &json!({"pods": [pod]}));
            answer["pods"][0].take()
        };
        let own = explained(json!({"name": {"namespace": namespace, "name": name}}));
        assert_eq!(explained(json!({"object": object.json()})), own, "{namespace}/{name}");
        given += 1;
    }
    assert!(given > 10, "{given}");
    let bound = get(&sidecar.tcp(), "/v1/pods/kube-system/no-such-pod").unwrap();
    assert_eq!(bound.status, 404);
}

#[test]
fn a_node_that_is_given_out_and_put_in_its_own_place_changes_no_answer() {
    let sidecar = sample(&[]);
    let asked = request(&pending_pods()[..5]);
    let mut plain = ask(&sidecar.tcp(), "/v1/explain", &asked);
    let nodes: Vec<Value> = objects("Node")
        .iter()
        .map(|node| {
            let name = node["metadata"]["name"].as_str().unwrap();
            let object = get(&sidecar.tcp(), &format!("/v1/nodes/{name}/object")).unwrap();
            assert_eq!(object.status, 200, "{}", object.body);
            json!({"object": object.json()})
        })
        .collect();
    assert!(nodes.len() > 100);
    let mut overlaid = asked;
    overlaid["overlay"] = json!({"nodes": nodes});
    let mut answer = ask(&sidecar.tcp(), "/v1/explain", &overlaid);
    assert_eq!(answer["pods"].take(), plain["pods"].take());
    assert_eq!(get(&sidecar.tcp(), "/v1/nodes/nobody/object").unwrap().status, 404);
}
