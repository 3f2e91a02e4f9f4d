//! Requests in JSON, those of kube-scheduler's extender protocol included: a first line with the path, then the body.
//!
//! No request is a defect of the server (5xx), every refusal has a short reason, every node is in one place of an answer, and
//! the same request over gRPC has the same answer. See [`calls`](super::grpc) for the latter.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use nodesift_api::limits;
use serde_json::{Value, json};

use super::grpc;
use super::http::{Api, Response};
use crate::mutate::split_line;
use crate::{Behaviour, magnitude};

/// Bytes of a refusal's text: the limit, and an ellipsis.
const REASON_BYTES: usize = limits::ERROR_BYTES + '…'.len_utf8();

/// The paths that answer from JSON.
const PATHS: [&str; 11] = [
    "/v1/filter",
    "/v1/explain",
    "/v1/assume",
    "/v1/forget",
    "/v1/predicates",
    "/v1/prefilterpredicates",
    "/v1/preemptionpredicates",
    "/v1/reprieve",
    "/v1/headroom",
    "/extender/filter",
    "/extender/preempt",
];

/// Sends the input as a request and checks the response.
pub fn run(input: &[u8]) -> Behaviour {
    let (path, body) = split_line(input);
    let path = std::str::from_utf8(path).ok().and_then(|path| PATHS.iter().find(|known| **known == path));
    let Some(path) = path else { return Behaviour::new("another path") };
    let api = Api::take();
    let body = without_waiting(body);
    let response = api.post(path, &body);
    let answer = checked(path, &response);
    grpc::undo_placements(&api, path, &body);
    let detail = match (*path, serde_json::from_slice::<Value>(&body)) {
        ("/v1/assume", _) if response.status == StatusCode::OK => {
            forget(&api, &answer);
            0
        }
        ("/extender/filter", Ok(request)) => extended(&api, &request, &answer),
        ("/v1/filter", _) if response.status == StatusCode::OK => filtered(&api, &answer),
        _ => 0,
    };
    grpc::same_over_grpc(&api, path, &body, &response);
    let reason = answer.pointer("/error/message").or_else(|| answer.get("Error")).or_else(|| answer.get("error"));
    let reason = crate::shape(reason.and_then(Value::as_str).unwrap_or_default());
    Behaviour::new((path, response.status.as_u16(), reason, detail, magnitude(response.body.len()) / 2))
}

/// Does not let a request wait for versions that never come: it would only take long.
fn without_waiting(body: &[u8]) -> Vec<u8> {
    let Ok(mut request) = serde_json::from_slice::<Value>(body) else { return body.to_vec() };
    let Some(consistency) = request.get_mut("consistency").and_then(Value::as_object_mut) else { return body.to_vec() };
    for key in ["deadlineMs", "deadline_ms"] {
        if consistency.get(key).and_then(Value::as_u64).is_some_and(|time| time > 1) {
            consistency.insert(key.to_owned(), json!(1));
        }
    }
    if !consistency.contains_key("deadline_ms") {
        consistency.entry("deadlineMs").or_insert(json!(1));
    }
    request.to_string().into_bytes()
}

/// Checks what holds for every response.
fn checked(path: &str, response: &Response) -> Value {
    let text = String::from_utf8_lossy(&response.body);
    let status = response.status.as_u16();
    assert!(matches!(status, 200 | 400 | 404 | 409 | 412 | 413 | 429 | 504), "{path}: {status} {text}");
    let answer: Value = match serde_json::from_str(&text) {
        Ok(answer) => answer,
        // Nodes go back as they came, within a list: they may nest as deep as a request may, and then this parser refuses them.
        Err(error) if error.to_string().contains("recursion limit") => return Value::Null,
        Err(error) => panic!("{path}: {error} in {text}"),
    };
    if path.starts_with("/extender/filter") {
        let reason = answer["Error"].as_str().expect("a field Error");
        assert!(status == 200 && reason.len() <= REASON_BYTES, "{status} {text}");
    } else if status != 200 {
        let reason = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!reason.is_empty() && reason.len() <= REASON_BYTES, "{path}: {status} {text}");
    }
    answer
}

/// Takes back what a unit has assumed, so that units do not depend on each other.
fn forget(api: &Api, assumed: &Value) {
    let request = json!({"pod": {"uid": assumed["uid"]}});
    let response = api.post("/v1/forget", request.to_string().as_bytes());
    assert_eq!(response.status, StatusCode::OK, "{assumed}: {}", String::from_utf8_lossy(&response.body));
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

/// Nodes that fit exist, are sorted and counted. Returns how many pods have an answer.
fn filtered(api: &Api, answer: &Value) -> usize {
    let pods = answer["pods"].as_array().expect("pods");
    for pod in pods {
        let feasible = texts(&pod["feasible"]);
        assert!(feasible.is_sorted() && feasible.windows(2).all(|pair| pair[0] != pair[1]), "{pod}");
        if pod.get("feasibleRows").is_none() {
            assert_eq!(pod["feasibleCount"].as_u64(), Some(feasible.len() as u64), "{pod}");
        }
        // Nodes of an overlay are not in the cluster.
        assert!(
            pod["nodes"].as_u64().is_some_and(|nodes| nodes >= feasible.len() as u64),
            "{pod} of {}",
            api.nodes.len()
        );
    }
    pods.len()
}

/// Every node of the request is in exactly one place of the answer, and those that fit are those of `/v1/filter`.
fn extended(api: &Api, request: &Value, answer: &Value) -> usize {
    let Some(request) = request.as_object() else { return 0 };
    let named = |name: &str| request.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).collect::<Vec<_>>();
    let ([(_, pod)], [(_, nodes)]) = (&named("Pod")[..], &named("NodeNames")[..]) else { return 0 };
    let failed = answer["Error"].as_str().is_some_and(|error| !error.is_empty());
    if failed || !nodes.is_array() || !answer.is_object() {
        return 0;
    }
    let asked: BTreeSet<&str> = texts(nodes).into_iter().collect();
    let fitting = texts(&answer["NodeNames"]);
    let rejected = ["FailedNodes", "FailedAndUnresolvableNodes"].map(|map| answer[map].as_object().expect("a map"));
    let placed = fitting.iter().copied().chain(rejected.iter().flat_map(|map| map.keys().map(String::as_str)));
    assert_eq!(placed.clone().collect::<BTreeSet<&str>>(), asked, "{answer}");
    assert_eq!(
        fitting.iter().collect::<BTreeSet<_>>().len() + rejected[0].len() + rejected[1].len(),
        asked.len(),
        "{answer}"
    );

    let known: Vec<&str> = asked.into_iter().filter(|node| api.nodes.contains(*node)).collect();
    let twin = json!({"pods": [{"object": pod}], "nodes": {"names": known}});
    let filter = api.post("/v1/filter", twin.to_string().as_bytes());
    if filter.status == StatusCode::OK {
        let filter: Value = serde_json::from_slice(&filter.body).expect("JSON");
        let mut fitting = fitting;
        fitting.sort_unstable();
        fitting.dedup();
        assert_eq!(texts(&filter["pods"][0]["feasible"]), fitting, "/v1/filter and /extender/filter");
    }
    1 + known.len()
}
