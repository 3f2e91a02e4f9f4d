//! The first evaluation, which readiness waits for: what the first questions need is there, and no predicate keeps a process from becoming
//! ready, or from ending.

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{ask, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::{Sidecar, run};
use nodesift_tests::{data, timeout};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::{command, metric};

/// In the log where it had not enough time.
const CUT: &str = "the first evaluation was cut";

const COLUMNS: &str = r#"nodesift_cache_bytes{part="label_columns"}"#;

/// The pending pods of the sample cluster, as requests name them.
fn pending() -> Vec<Value> {
    let cluster = data::sample_cluster();
    let output = run(command().args(["filter", "-o", "jsonl", "--cluster"]).arg(cluster));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let named = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let (namespace, name) = answer["pod"].as_str().unwrap().split_once('/').unwrap();
        json!({"name": {"namespace": namespace, "name": name}})
    };
    output.stdout.lines().map(named).collect()
}

/// A policy with a predicate that never ends, and has ten seconds for it.
fn endless() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let guest = Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)");
    std::fs::write(folder.path().join("own.wasm"), guest.component()).unwrap();
    let policy = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                  schedulerNames: [default-scheduler]\n  predicates:\n  - {name: NodeResourcesFit}\n  \
                  - {name: Own, module: {path: own.wasm}, limits: {timePerCall: 10s}}\n";
    std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    folder
}

/// A sidecar with that policy on an API server.
fn serving(server: &ApiServer, folder: &TempDir) -> Sidecar {
    let policy = folder.path().join("policy.yaml");
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    Sidecar::launch(command(), &["--kubeconfig", kubeconfig, "--policy", policy.to_str().unwrap()])
}

#[test]
fn what_the_first_questions_need_is_there_once_it_is_ready() {
    let _beside = beside_others();
    let pods = pending();
    // A machine on which it was cut shows nothing.
    let whole = || Some(Sidecar::start(command(), &[])).filter(|sidecar| !sidecar.output().contains(CUT));
    let sidecar = timeout::until(whole).expect("a start in which there is time for it");
    let built = metric(&sidecar, COLUMNS);
    assert!(built > 0.0);
    assert_eq!(metric(&sidecar, r#"nodesift_verdicts_total{from="evaluated"}"#), 0.0, "nobody has asked");
    for pod in &pods {
        ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [pod]}));
        assert_eq!(metric(&sidecar, COLUMNS), built, "{pod}");
    }
}

#[test]
fn a_predicate_that_never_ends_keeps_no_process_from_becoming_ready() {
    let _beside = beside_others();
    let (server, folder) = (ApiServer::start(), endless());
    let sidecar = serving(&server, &folder);
    sidecar.wait_until_ready();
    timeout::until(|| sidecar.output().contains(CUT).then_some(())).expect("it was cut");
    // Nobody has asked, so nobody is blamed.
    let status = get(&sidecar.unix(), "/v1/policy").unwrap().json();
    let own = &status["predicates"][1];
    assert_eq!((&own["name"], &own["calls"], &own["faults"]), (&json!("Own"), &json!(0), &json!({})), "{status}");
    assert_eq!((&own["breaker"]["opened"], &own["breaker"]["setAside"]), (&json!(0), &json!([])), "{status}");
}

#[test]
fn a_process_that_is_told_to_end_meanwhile_does() {
    let _beside = beside_others();
    let (server, folder) = (ApiServer::start(), endless());
    let sidecar = serving(&server, &folder);
    // It may be ready before anybody looks.
    let evaluates = || {
        let ready = get(&sidecar.unix(), "/readyz").ok()?;
        (ready.status == 200 || ready.body.starts_with("waiting for the first evaluation")).then_some(())
    };
    timeout::until(evaluates).expect("all lists are complete");
    sidecar.signal("TERM");
    let (status, output) = sidecar.wait();
    assert!(status.success(), "{status}: {output}");
}
