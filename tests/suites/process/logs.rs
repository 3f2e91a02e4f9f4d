//! Log of the process: the start, refused and slow requests; with JSON nothing but JSON.

use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{FilterRequest, Pod, pod};
use nodesift_tests::http::{get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use nodesift_tests::wire::Wire;
use serde_json::Value;

use crate::running::{Breakable, command, question};

#[test]
fn the_start_names_version_policy_source_and_who_may_call() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &["--log-format", "json"]);
    let lines: Vec<Value> = sidecar.output().lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let start = lines.iter().find(|line| line["message"] == "starting").unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(start["policy"], "built-in");
    assert_eq!(start["source"], "sample");
    assert_eq!(start["clients"], "anonymous");
    assert!(start["predicates"].as_str().unwrap().contains("NodeResourcesFit"), "{start}");
}

/// Every line of both streams, until the end of the process.
fn only_json(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: not JSON: {line}")))
        .collect()
}

#[test]
fn with_json_nothing_but_json_is_printed_from_start_to_end_panics_included() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    // An object of a kind that no predicate reads makes a note.
    let file = folder.path().join("cluster.json");
    let cluster = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}},
    ]});
    std::fs::write(&file, cluster.to_string()).unwrap();
    let breakable =
        Breakable::start(&["--cluster", file.to_str().unwrap(), "--log-format", "json", "--log", "nodesift=debug"]);
    let sidecar = &breakable.sidecar;
    breakable.panics(1);
    assert_eq!(post(&sidecar.unix(), "/v1/filter", question(0).to_string()).unwrap().status, 500);
    sidecar.signal("HUP");
    sidecar.signal("USR1");
    sidecar.signal("TERM");
    let (status, output) = breakable.sidecar.wait();
    assert_eq!(status.code(), Some(0), "{output}");
    let lines = only_json(&output);
    let says = |text: &str| lines.iter().any(|line| line.to_string().contains(text));
    for text in ["Secret", "listening on http://", "listening on unix:", "panicked", "SIGTERM"] {
        assert!(says(text), "{text:?} is not in {output}");
    }
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()), "{output}");
}

#[test]
fn with_json_the_reason_of_a_start_that_fails_is_json_too() {
    let _beside = beside_others();
    let output =
        sidecar::run(command().args(["serve", "--sample", "--log-format", "json", "--socket", "/proc/none/s"]));
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
    let lines = only_json(&output.stderr);
    assert!(
        lines.iter().any(|line| line["level"] == "ERROR" && line.to_string().contains("/proc/none/s")),
        "{lines:?}"
    );
}

#[test]
fn each_refused_request_has_one_line_with_its_reason_in_every_protocol() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &["--log", "nodesift=debug"]);
    let (unix, tcp) = (sidecar.unix(), sidecar.tcp());
    let line = |path: &str| {
        let found = || {
            let output = sidecar.output();
            let lines: Vec<&str> = output
                .lines()
                .filter(|line| line.contains("request refused") && line.contains(&format!("path=\"{path}\"")))
                .collect();
            (lines.len() == 1).then(|| lines.concat())
        };
        timeout::until(found).unwrap_or_else(|| panic!("not one line about {path}: {}", sidecar.output()))
    };
    post(&unix, "/v1/explain", r#"{"pods":[{"uid":"nobody"}]}"#).unwrap();
    let found = line("/v1/explain");
    assert!(found.contains("404") && found.contains("nobody") && found.contains("unix"), "{found}");
    post(&tcp, "/extender/filter", "[").unwrap();
    assert!(line("/extender/filter").contains("line 1"), "an extender's errors have status 200");
    get(&tcp, "/nothing").unwrap();
    assert!(line("/nothing").contains("404"));
    let mut wire = Wire::open(&tcp).unwrap();
    wire.send("GET /v1/state HTTP/1.1\r\nhost: evil.example\r\n\r\n").unwrap();
    wire.answer().unwrap();
    assert!(line("/v1/state").contains("INFO"), "that somebody was turned away is not for debugging alone");
    // gRPC's reason comes percent-encoded and is logged as it was meant.
    let unknown = Pod::from(pod::Pod::Uid("no body".to_owned()));
    let url = format!("http://{}", sidecar.address);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = runtime.block_on(async {
        let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        NodesiftClient::new(channel).filter(FilterRequest { pods: vec![unknown], ..FilterRequest::default() }).await
    });
    refused.expect_err("there is no such pod");
    let found = line("/nodesift.v1.Nodesift/Filter");
    assert!(found.contains("NOT_FOUND") && found.contains("no body") && !found.contains("%20"), "{found}");
    // One that is answered has none.
    post(&unix, "/v1/filter", question(0).to_string()).unwrap();
    get(&unix, "/livez").unwrap();
    let output = sidecar.output();
    assert!(!output.contains(r#"path="/v1/filter""#) && !output.contains(r#"path="/livez""#), "{output}");
}

#[test]
fn a_slow_request_has_a_line_at_the_default_level() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &[]);
    let mut request = question(0);
    request["consistency"] = serde_json::json!({"minGeneration": u64::MAX.to_string(), "deadlineMs": 1_200});
    assert_eq!(post(&sidecar.unix(), "/v1/filter", request.to_string()).unwrap().status, 504);
    let told = || sidecar.output().lines().find(|line| line.contains(r#"path="/v1/filter""#)).map(str::to_owned);
    let line = timeout::until(told).expect("a line");
    assert!(line.contains("INFO") && line.contains("504"), "{line}");
}
