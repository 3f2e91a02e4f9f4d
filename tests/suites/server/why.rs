//! Why a pod is pending, as it is served: over HTTP as JSON, of a manifest, by name, and over gRPC; what is refused.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use nodesift_proto::v1::operators_client::OperatorsClient;
use nodesift_proto::v1::{self, WhyRequest};
use nodesift_tests::http::{Endpoint, get, post};
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};

use crate::agreement::over;
use crate::decisions::{node, pod, serving};
use crate::running::ask;

fn tainted(mut node: Value) -> Value {
    node["spec"] = json!({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]});
    node
}

/// Two nodes of a core, of which one is half full, and one of four cores with a taint.
fn cluster() -> Vec<Value> {
    vec![
        node("n1", "1"),
        node("n2", "1"),
        tainted(node("n3", "4")),
        pod("bound", "500m", &json!({"nodeName": "n1"})),
        pod("large", "1500m", &json!({})),
        pod("small", "100m", &json!({})),
    ]
}

fn by_name(sidecar: &Sidecar, query: &str) -> Value {
    let response = get(&sidecar.tcp(), &format!("/v1/why?{query}")).unwrap();
    assert_eq!(response.status, 200, "{query}: {}", response.body);
    response.json()
}

/// Posts a manifest. Returns status and body.
fn post_manifest(sidecar: &Sidecar, query: &str, manifest: &str) -> (u16, String) {
    let Endpoint::Tcp(address) = sidecar.tcp() else { panic!("a TCP address") };
    let mut stream = TcpStream::connect(address).unwrap();
    let length = manifest.len();
    let head = "host: localhost\r\nconnection: close\r\ncontent-type: application/yaml\r\n";
    write!(stream, "POST /v1/why{query} HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{manifest}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn steps(answer: &Value) -> Vec<(String, u64, u64, u64)> {
    let steps = answer["funnel"].as_array().unwrap().iter().filter(|step| step["rejected"] != json!(0));
    let number = |step: &Value, field: &str| step[field].as_u64().unwrap();
    steps
        .map(|step| {
            let predicate = step["predicate"].as_str().unwrap().to_owned();
            (predicate, number(step, "before"), number(step, "rejected"), number(step, "after"))
        })
        .collect()
}

#[test]
fn a_pod_of_the_cache_is_explained_by_its_name() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let answer = by_name(&sidecar, "pod=ns/large&by=zone&cells=true&help=true");
    assert_eq!(answer["pod"], json!("ns/large"));
    assert_eq!(answer["cause"]["name"], json!("NeverFits"));
    assert_eq!(
        steps(&answer),
        [("TaintToleration".to_owned(), 3, 1, 2), ("NodeResourcesFit".to_owned(), 2, 2, 0)],
        "{answer}"
    );
    assert_eq!(answer["groups"]["groups"][0]["value"], json!("a"));
    assert_eq!(answer["groups"]["groups"][0]["nodes"], json!(3));
    let cells = answer["cells"].as_str().unwrap();
    assert_eq!(cells.len(), 4, "three bytes in base64");
    let of = |interface: &str| {
        let found = answer["evidence"].as_array().unwrap().iter().find(|found| found["interface"] == json!(interface));
        found.unwrap_or_else(|| panic!("{interface} in {answer}")).clone()
    };
    let taint = json!({"key": "gpu", "value": "yes", "effect": "NoSchedule", "nodes": 1});
    assert_eq!(of("node-taints")["taints"], json!([taint]));
    let cpu = &of("node-resources")["resources"][0];
    assert_eq!(cpu["resource"], json!("cpu"));
    assert_eq!((&cpu["requested"], &cpu["largestFree"]), (&json!("1500"), &json!("4000")));
    assert_eq!((&cpu["nodesEnough"], &cpu["nodesTooSmall"]), (&json!(1), &json!(2)));
    assert_eq!(cpu["nearestFree"], json!("1000"));
    let nearest: Vec<&Value> = answer["nearest"].as_array().unwrap().iter().map(|near| &near["node"]).collect();
    assert_eq!(
        nearest,
        [&json!("n2"), &json!("n1"), &json!("n3")],
        "least missing first, then those without an amount"
    );
    let edits: Vec<(&Value, &Value)> =
        answer["help"].as_array().unwrap().iter().map(|edit| (&edit["edit"], &edit["gained"])).collect();
    let expected = [(json!("cpu=1000m"), json!(1)), (json!("tolerate=gpu=yes:NoSchedule"), json!(1))];
    assert_eq!(edits, expected.each_ref().map(|(edit, gained)| (edit, gained)));
    // As the message of the answer to a core.
    let filtered = ask(&sidecar.tcp(), "/v1/filter", &json!({"pods": [{"uid": "uid-large"}]}));
    assert_eq!(answer["message"], filtered["pods"][0]["message"]);
}

#[test]
fn every_way_to_ask_has_the_same_answer() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let mut expected = by_name(&sidecar, "pod=ns/large");
    let comparable = |mut answer: Value| {
        answer["version"]["stalenessMs"] = Value::Null;
        answer["cause"]["since"] = Value::Null;
        answer
    };
    expected = comparable(expected);
    let large = pod("large", "1500m", &json!({}));
    for request in [
        json!({"pod": {"uid": "uid-large"}}),
        json!({"pod": {"name": {"namespace": "ns", "name": "large"}}}),
        json!({"pod": {"object": large}}),
        json!({"manifest": large.to_string()}),
    ] {
        assert_eq!(comparable(ask(&sidecar.unix(), "/v1/why", &request)), expected, "{request}");
    }
    let (status, body) = post_manifest(&sidecar, "", &large.to_string());
    assert_eq!(status, 200, "{body}");
    assert_eq!(comparable(serde_json::from_str(&body).unwrap()), expected);
    let deployment = json!({"kind": "Deployment", "metadata": {"name": "large", "namespace": "ns"},
        "spec": {"template": {"spec": large["spec"]}}});
    let (status, body) = post_manifest(&sidecar, "?nearest=1", &deployment.to_string());
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&answer["funnel"], answer["nearest"].as_array().unwrap().len()), (&expected["funnel"], 1));
    let over_grpc = over(&sidecar.unix(), |channel| async move {
        let pod = Some(v1::Pod::from(v1::pod::Pod::Uid("uid-large".to_owned())));
        let request = WhyRequest { pod, ..WhyRequest::default() };
        OperatorsClient::new(channel).why(request).await.unwrap().into_inner()
    });
    assert_eq!(comparable(serde_json::to_value(over_grpc).unwrap()), expected);
}

#[test]
fn an_overlay_and_skipped_predicates_change_the_answer_as_they_change_that_of_filter() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let ask = |more: Value| {
        let mut request = json!({"pod": {"uid": "uid-large"}});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask(&sidecar.unix(), "/v1/why", &request)
    };
    let skipping = ask(json!({"skip": ["TaintToleration"]}));
    assert_eq!((&skipping["feasibleCount"], &skipping["feasible"]), (&json!(1), &json!(["n3"])));
    assert_eq!(skipping["cause"]["name"], json!("Fits"));
    let larger = ask(json!({"overlay": {"nodes": [{"object": node("n4", "2")}]}}));
    assert_eq!((&larger["nodes"], &larger["feasible"]), (&json!(4), &json!(["n4"])));
    let some = ask(json!({"nodes": {"names": ["n1", "nobody"]}}));
    assert_eq!((&some["nodes"], &some["unknownNodes"]), (&json!(1), &json!(["nobody"])));
}

#[test]
fn what_cannot_be_explained_is_refused_with_its_reason() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    for (query, status, text) in [
        ("pod=ns/nobody", 404, "ns/nobody is not in the cache"),
        ("pod=ns/bound", 409, "is on node"),
        ("by=zone", 400, "give pod=NAMESPACE/NAME"),
        ("pod=ns/large&nearest=21", 400, "nearest: is at most 20"),
        ("pod=ns/large&zone=a", 400, "only pod and by"),
    ] {
        let refused = get(&sidecar.tcp(), &format!("/v1/why?{query}")).unwrap();
        assert!(
            refused.status == status && refused.body.contains(text),
            "{query}: {} {}",
            refused.status,
            refused.body
        );
    }
    for (request, text) in [
        (json!({}), "pod: give a pod, or a manifest"),
        (json!({"pod": {"uid": "uid-large"}, "manifest": "kind: Pod"}), "manifest: give either"),
        (json!({"pod": {"uid": "uid-large"}, "skip": ["Nothing"]}), "Nothing"),
        (json!({"pods": []}), "unknown field"),
    ] {
        let refused = post(&sidecar.unix(), "/v1/why", request.to_string()).unwrap();
        assert!(refused.status == 400 && refused.body.contains(text), "{request}: {} {}", refused.status, refused.body);
    }
    for (query, manifest, text) in [
        ("", "kind: Service", "manifest.kind"),
        ("", "kind: Pod\nspec: {priority: high}", "manifest.spec.priority"),
        ("", "", "manifest: is empty"),
        ("?pod=ns/large", "kind: Pod", "give either pod or a manifest"),
    ] {
        let (status, body) = post_manifest(&sidecar, query, manifest);
        assert!(status == 400 && body.contains(text), "{manifest}: {status} {body}");
    }
    // Only this call takes manifests.
    let Endpoint::Tcp(address) = sidecar.tcp() else { panic!("a TCP address") };
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "host: localhost\r\nconnection: close\r\ncontent-type: application/yaml\r\ncontent-length: 2\r\n";
    write!(stream, "POST /v1/filter HTTP/1.1\r\n{head}\r\n{{}}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
}
