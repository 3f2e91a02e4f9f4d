//! Requests that name versions which the answer must include.

use nodesift_proto::v1::{Consistency, FilterRequest};
use nodesift_tests::http::post;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::running::{ask, pending_pods, request, sample};

fn wanting(consistency: Value) -> Value {
    let mut request = request(&pending_pods()[..1]);
    request["consistency"] = consistency;
    request
}

#[test]
fn what_has_been_seen_is_answered_at_once() {
    let sidecar = sample(&[]);
    let version = ask(&sidecar.unix(), "/v1/filter", &request(&pending_pods()[..1]))["version"].clone();
    let versions = json!({
        "minGeneration": version["generation"],
        "minNodesResourceVersion": version["nodesResourceVersion"],
        "minPodsResourceVersion": version["podsResourceVersion"],
        "deadlineMs": 0,
    });
    for path in ["/v1/filter", "/v1/explain"] {
        let answer = ask(&sidecar.unix(), path, &wanting(versions.clone()));
        assert_eq!(answer["version"], version);
        assert_eq!(answer["version"]["stale"], false, "a cluster from files is never stale");
        assert_eq!(answer["version"].get("stalenessMs"), None);
    }
}

#[test]
fn what_is_not_seen_in_time_is_named_on_both_sides() {
    let sidecar = sample(&[]);
    let version = ask(&sidecar.unix(), "/v1/filter", &request(&pending_pods()[..1]))["version"].clone();
    let far = "9".repeat(30);
    let wanted = json!({"minGeneration": "1000000000000", "minPodsResourceVersion": far, "deadlineMs": 30});
    for path in ["/v1/filter", "/v1/explain"] {
        let response = post(&sidecar.unix(), path, wanting(wanted.clone()).to_string()).unwrap();
        assert_eq!(response.status, 504, "{}", response.body);
        let error = response.json()["error"].clone();
        assert_eq!(error["code"], "DEADLINE_EXCEEDED");
        let text = error["message"].as_str().unwrap();
        let (generation, pods) =
            (version["generation"].as_str().unwrap(), version["podsResourceVersion"].as_str().unwrap());
        for named in ["30 ms", "generation 1000000000000", &*far, generation, pods] {
            assert!(text.contains(named), "{named:?} is not in {text}");
        }
    }
    let status = grpc(&sidecar.unix(), |mut client| async move {
        let consistency =
            Consistency { min_generation: Some(u64::MAX), deadline_ms: Some(0), ..Consistency::default() };
        let request = FilterRequest { pending: true, consistency: Some(consistency), ..FilterRequest::default() };
        client.filter(request).await.unwrap_err()
    });
    assert_eq!(status.code(), tonic::Code::DeadlineExceeded, "{status}");
}

#[test]
fn a_wait_ends_as_soon_as_what_is_wanted_is_there() {
    let sidecar = sample(&[]);
    let before = ask(&sidecar.unix(), "/v1/filter", &request(&pending_pods()[..1]))["version"].clone();
    let generation: u64 = before["generation"].as_str().unwrap().parse().unwrap();
    let (endpoint, wanted) = (sidecar.tcp(), wanting(json!({"minGeneration": generation + 1, "deadlineMs": 30_000})));
    let waiting = std::thread::spawn(move || ask(&endpoint, "/v1/filter", &wanted));
    let (namespace, name) = pending_pods().swap_remove(1);
    let node = crate::running::objects("Node").swap_remove(0)["metadata"]["name"].clone();
    let decision = json!({"pod": {"name": {"namespace": namespace, "name": name}}, "node": node});
    let assumed = ask(&sidecar.unix(), "/v1/assume", &decision);
    let answer = waiting.join().unwrap();
    assert_eq!(answer["version"]["generation"], assumed["version"]["generation"]);
}

#[test]
fn versions_that_cannot_be_compared_are_refused_by_field() {
    let sidecar = sample(&[]);
    for (wanted, field) in [
        (json!({"minNodesResourceVersion": "007"}), "consistency.min_nodes_resource_version"),
        (json!({"minPodsResourceVersion": "abc"}), "consistency.min_pods_resource_version"),
        (json!({"deadlineMs": 30_001}), "consistency.deadline_ms"),
    ] {
        let response = post(&sidecar.unix(), "/v1/filter", wanting(wanted).to_string()).unwrap();
        assert_eq!(response.status, 400, "{}", response.body);
        assert!(response.body.contains(field), "{field}: {}", response.body);
    }
}
