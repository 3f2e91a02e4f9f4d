//! Invalid requests: the right status, a message that names the field, and a sidecar that keeps serving. Malicious requests
//! are in the suite `abuse`.

use nodesift_proto::v1::{FilterRequest, Pod, PodName, pod};
use nodesift_tests::http::{Endpoint, get, post};
use nodesift_tests::sidecar::Sidecar;
use serde_json::json;

use crate::agreement::grpc;
use crate::running::{ask, pending_pods, request, sample};

fn is_refused(endpoint: &Endpoint, path: &str, body: impl Into<Vec<u8>>, status: u16, named: &[&str]) {
    let body = body.into();
    let shown = String::from_utf8_lossy(body.get(..body.len().min(200)).unwrap()).into_owned();
    let response = post(endpoint, path, body).unwrap();
    assert_eq!(response.status, status, "{shown}: {}", response.body);
    let error = response.json()["error"]["message"].as_str().unwrap().to_owned();
    for name in named {
        assert!(error.contains(name), "{shown}: {name:?} is not in {error}");
    }
}

fn goes_on(sidecar: &Sidecar) {
    let pods = pending_pods();
    let answer = ask(&sidecar.tcp(), "/v1/filter", &request(&pods));
    assert_eq!(answer["pods"].as_array().unwrap().len(), pods.len());
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
}

#[test]
fn malformed_json_names_the_place() {
    let sidecar = sample(&[]);
    let endpoint = sidecar.tcp();
    for path in ["/v1/filter", "/v1/explain"] {
        is_refused(&endpoint, path, "", 400, &["line 1"]);
        is_refused(&endpoint, path, "{\"pods\":\n[}", 400, &["line 2"]);
        is_refused(&endpoint, path, r#"{"pod":[]}"#, 400, &["pod", "pods"]);
        is_refused(&endpoint, path, r#"{"pods":[{"name":{"namespce":"a"}}]}"#, 400, &["pods[0]", "namespce"]);
        is_refused(&endpoint, path, r#"{"pods":7}"#, 400, &["pods"]);
        is_refused(&endpoint, path, r#"{"phase":"PHASE_BIND"}"#, 400, &["phase", "PHASE_BIND"]);
        is_refused(&endpoint, path, b"{\"pods\":[{\"uid\":\"\xff\"}]}".as_slice(), 400, &[]);
        is_refused(&endpoint, path, format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)), 400, &[]);
        is_refused(&endpoint, path, r#"{"pods":[{"json":"{"}]}"#, 400, &["pods[0]"]);
    }
    goes_on(&sidecar);
}

#[test]
fn unknown_pods_and_nodes_are_not_found_by_name() {
    let sidecar = sample(&[]);
    let nobody = json!({"pods": [{"name": {"namespace": "default", "name": "nobody"}}]}).to_string();
    is_refused(&sidecar.tcp(), "/v1/filter", nobody, 404, &["default/nobody"]);
    is_refused(&sidecar.tcp(), "/v1/explain", r#"{"pods":[{"uid":"no-such-uid"}]}"#, 404, &["no-such-uid"]);
    let mut nowhere = request(&pending_pods()[..1]);
    nowhere["nodes"] = json!({"names": ["nowhere"]});
    is_refused(&sidecar.tcp(), "/v1/filter", nowhere.to_string(), 404, &["nowhere"]);

    let status = grpc(&sidecar.tcp(), |mut client| async move {
        let name = PodName { namespace: "default".into(), name: "nobody".into() };
        let pods = vec![Pod::from(pod::Pod::Name(name))];
        client.filter(FilterRequest { pods, ..FilterRequest::default() }).await.unwrap_err()
    });
    assert_eq!(status.code(), tonic::Code::NotFound, "{status}");
    assert!(status.message().contains("default/nobody"), "{status}");
}

#[test]
fn a_body_over_the_limit_is_refused_on_every_protocol() {
    const LIMIT: usize = 64 * 1024;
    let sidecar = sample(&["--max-body-bytes", &LIMIT.to_string()]);
    let padded = |bytes: usize| {
        let empty = json!({"pods": [{"json": ""}]}).to_string().len();
        json!({"pods": [{"json": " ".repeat(bytes - empty)}]}).to_string()
    };
    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        for path in ["/v1/filter", "/v1/explain", "/extender/filter"] {
            is_refused(&endpoint, path, padded(LIMIT + 1), 413, &["65536"]);
            is_refused(&endpoint, path, padded(8 * LIMIT), 413, &["65536"]);
        }
        // A body at the limit is read; the error is that it has no pod.
        is_refused(&endpoint, "/v1/filter", padded(LIMIT), 400, &["pods[0]"]);
        let status = grpc(&endpoint, |mut client| async move {
            let pods = vec![Pod::from(pod::Pod::Json(" ".repeat(2 * LIMIT)))];
            client.filter(FilterRequest { pods, ..FilterRequest::default() }).await.unwrap_err()
        });
        assert_eq!(status.code(), tonic::Code::ResourceExhausted, "{status}");
    }
    goes_on(&sidecar);
}

#[test]
fn the_default_limit_is_4_mib() {
    let sidecar = sample(&[]);
    is_refused(&sidecar.tcp(), "/v1/filter", " ".repeat((4 << 20) + 1), 413, &["4194304"]);
    is_refused(&sidecar.tcp(), "/v1/filter", " ".repeat(4 << 20), 400, &[]);
}

#[test]
fn paths_and_methods_that_are_none_say_what_there_is() {
    let sidecar = sample(&[]);
    is_refused(&sidecar.tcp(), "/v2/filter", "{}", 404, &["/v2/filter", "/v1/filter"]);
    let response = get(&sidecar.tcp(), "/v1/filter").unwrap();
    assert_eq!(response.status, 405, "{}", response.body);
}
