//! Shared by the tests: the sidecar on the sample cluster, and the same requests answered offline.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::{data, timeout};
use serde_json::{Value, json};

pub(crate) fn command() -> Command {
    sidecar::command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// A sidecar on the sample cluster, as `make run` starts it.
pub(crate) fn sample(arguments: &[&str]) -> Sidecar {
    Sidecar::start(command(), arguments)
}

/// The output of the binary for these arguments.
pub(crate) fn answer(arguments: &[&str]) -> String {
    in_time(|| {
        let output = sidecar::run(command().args(arguments));
        assert_eq!(output.code, Some(0), "{arguments:?}: {}", output.stderr);
        output.stdout
    })
}

/// Posts JSON and expects an answer.
pub(crate) fn ask(endpoint: &Endpoint, path: &str, request: &Value) -> Value {
    in_time(|| http::ask(endpoint, path, request))
}

/// Repeats a request while a predicate exceeds its deadline: on a machine that is busy with other tests, a thread may not run
/// for all of a call's 10 ms. The answer then has a fault; the tests compare answers without faults.
pub(crate) fn in_time<T: ToString>(mut ask: impl FnMut() -> T) -> T {
    let answer = timeout::until(|| Some(ask()).filter(|answer| !answer.to_string().contains("Deadline")));
    answer.expect("an answer without a fault")
}

/// Returns the output of the binary for these arguments, offline on the sample cluster.
pub(crate) fn offline(arguments: &[&str]) -> String {
    let cluster = data::sample_cluster();
    answer(&[arguments, &["--cluster", cluster.to_str().unwrap()]].concat())
}

/// The pending pods of the sample cluster, in the order in which `explain` answers.
pub(crate) fn pending_pods() -> Vec<(String, String)> {
    // Asked once: the sidecar takes a second of one core to start and to answer for all of them.
    static PENDING: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        let pod = |line: &str| serde_json::from_str::<Value>(line).unwrap()["pod"].as_str().unwrap().to_owned();
        let split = |pod: String| pod.split_once('/').map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        offline(&["filter", "-o", "jsonl"]).lines().map(pod).map(|pod| split(pod).unwrap()).collect()
    });
    PENDING.clone()
}

/// A request about pods of the cache.
pub(crate) fn request(pods: &[(String, String)]) -> Value {
    let pods = pods.iter().map(|(namespace, name)| json!({"name": {"namespace": namespace, "name": name}}));
    json!({"pods": pods.collect::<Vec<_>>()})
}

/// The objects of one kind in the sample cluster.
pub(crate) fn objects(kind: &str) -> Vec<Value> {
    data::sample_objects(kind).cloned().collect()
}
