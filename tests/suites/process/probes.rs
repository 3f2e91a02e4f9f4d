//! Requests of probes: the listener of their own, `nodesift health`, `/version`, and the help of a path that is none.

use std::net::SocketAddr;

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::http::{Endpoint, get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::{self, Output, Sidecar};
use nodesift_tests::timeout;
use nodesift_tests::wire::Wire;
use serde_json::Value;

use crate::running::{Breakable, command, probe, question, says};

/// An accounting component that fails for what has an annotation `k` with `b`; see the suite `accounting`.
const COMPONENT: &str = include_str!("../../../host/sandbox/src/accounting/tests/component.wat");

const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;

/// The address of the listener for probes.
fn probes(sidecar: &Sidecar) -> SocketAddr {
    let output = sidecar.output();
    let line = output
        .lines()
        .find(|line| line.ends_with("for probes and metrics alone"))
        .unwrap_or_else(|| panic!("{output}"));
    line.split("http://").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
}

fn health(arguments: &[&str]) -> Output {
    sidecar::run(command().arg("health").args(arguments))
}

#[test]
fn the_listener_for_probes_has_probes_and_metrics_and_nothing_else() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &["--probe-listen", "127.0.0.1:0"]);
    let address = probes(&sidecar);
    let endpoint = Endpoint::Tcp(address);
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(get(&endpoint, path).unwrap().status, 200, "{path}");
    }
    for path in ["/", "/version", "/v1/state", "/v1/events", "/v1/policy", "/v1/policy/shadow", "/v1/filter"] {
        let answer = get(&endpoint, path).unwrap();
        assert_eq!(answer.status, 404, "{path}");
    }
    for path in ["/v1/filter", "/v1/assume", "/extender/filter"] {
        assert_eq!(post(&endpoint, path, question(0).to_string()).unwrap().status, 404, "{path}");
    }
    let grpc = post(&endpoint, "/nodesift.v1.Nodesift/Assume", question(0).to_string()).unwrap().status;
    assert!(matches!(grpc, 404 | 415), "{grpc}");
    // A kubelet names the pod's address, a scraper whatever it was told.
    let mut wire = Wire::open(&endpoint).unwrap();
    wire.send("GET /readyz HTTP/1.1\r\nhost: 10.1.2.3:8080\r\n\r\n").unwrap();
    assert_eq!(wire.answer().unwrap().status, 200);
}

#[test]
fn the_listener_for_probes_names_no_pod_and_no_node_that_the_other_listeners_name() {
    let _beside = beside_others();
    let server = ApiServer::start();
    server.change(|store| {
        store.apply(serde_json::json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-of-somebody"}, "spec": {},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        }));
        store.apply(serde_json::json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "default", "name": "pod-of-somebody", "annotations": {"k": "b"}},
            "spec": {
                "schedulerName": "default-scheduler", "nodeName": "node-of-somebody",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
            },
            "status": {"phase": "Running"},
        }));
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("component.wasm"), wat::parse_str(COMPONENT).unwrap()).unwrap();
    let policy = folder.path().join("policy.yaml");
    let document = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  \
                    predicates: [{name: NodeResourcesFit}]\n  \
                    accounting: {module: {path: component.wasm}, annotations: [k], gauges: [s]}\n";
    std::fs::write(&policy, document).unwrap();
    let (kubeconfig, policy) = (server.kubeconfig().to_str().unwrap(), policy.to_str().unwrap());
    let arguments = ["--kubeconfig", kubeconfig, "--policy", policy, "--probe-listen", "127.0.0.1:0"];
    let sidecar = Sidecar::start(command(), &arguments);
    let open = Endpoint::Tcp(probes(&sidecar));
    for (path, named, counted) in [
        ("/readyz", "the account of Pod default/pod-of-somebody is not known", "the account of 1 object is not known"),
        ("/metrics", "nodesift_node_sum{node=\"node-of-somebody\"", "# TYPE nodesift_node_sum gauge"),
    ] {
        for main in [sidecar.tcp(), sidecar.unix()] {
            says(&main, path, 200, named);
        }
        says(&open, path, 200, counted);
        let (_, text) = probe(&open, path);
        assert!(!text.contains("of-somebody"), "{path}: {text}");
    }
}

#[test]
fn health_is_the_exit_code_of_an_exec_probe() {
    let _beside = beside_others();
    let server = ApiServer::start();
    server.script(|script| script.always(Some("Pod"), Some(Verb::List(1)), Fault::broken()));
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    let sidecar = Sidecar::launch(command(), &["--kubeconfig", kubeconfig, "--probe-listen", "127.0.0.1:0"]);
    let socket = sidecar.socket.to_str().unwrap();
    let url = format!("http://{}", probes(&sidecar));
    for at in [["--socket", socket], ["--url", &url]] {
        let waiting = health(&at);
        assert_eq!(waiting.code, Some(UNAVAILABLE), "{}", waiting.stderr);
        assert!(waiting.stderr.contains("503") && waiting.stderr.contains("pods"), "{}", waiting.stderr);
        let live = health(&[&at[..], &["--live"]].concat());
        assert_eq!((live.code, live.stdout.trim()), (Some(0), "ok"), "{}", live.stderr);
    }
    server.clear_faults();
    sidecar.wait_until_ready();
    for at in [["--socket", socket], ["--url", &url]] {
        let ready = health(&at);
        assert_eq!((ready.code, ready.stdout.starts_with("ok")), (Some(0), true), "{}{}", ready.stdout, ready.stderr);
    }
}

#[test]
fn health_asks_what_is_typed_before_what_the_environment_names_and_refuses_two() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &[]);
    let (url, socket) = (format!("http://{}", sidecar.address), sidecar.socket.to_str().unwrap());
    let server = format!("unix:{socket}");
    let (no_socket, no_server) = ("/nowhere/s.sock", "unix:/nowhere/v.sock");
    let asked = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut asked = command();
        sidecar::run(asked.envs(variables.iter().copied()).arg("health").args(arguments))
    };
    for (variables, typed) in [
        (&[("NODESIFT_SOCKET", no_socket), ("NODESIFT_SERVER", no_server)][..], &["--url", &url][..]),
        (&[("NODESIFT_SOCKET", no_socket), ("NODESIFT_SERVER", no_server)], &["--socket", socket]),
        (&[("NODESIFT_SOCKET", no_socket), ("NODESIFT_SERVER", &server)], &[]),
        (&[("NODESIFT_SOCKET", socket), ("NODESIFT_SERVER", "")], &[]),
        (&[("NODESIFT_SERVER", &url)], &[]),
    ] {
        let output = asked(variables, typed);
        let said = format!("{variables:?} {typed:?}: {}{}", output.stdout, output.stderr);
        assert_eq!((output.code, output.stdout.starts_with("ok")), (Some(0), true), "{said}");
    }
    let output = asked(&[("NODESIFT_SOCKET", socket), ("NODESIFT_SERVER", no_server)], &[]);
    assert_eq!(output.code, Some(UNAVAILABLE), "{}", output.stderr);
    assert!(output.stderr.contains(no_server), "{}", output.stderr);
    let wrong = asked(&[("NODESIFT_SOCKET", socket), ("NODESIFT_SERVER", "https://h:1")], &[]);
    assert_eq!(wrong.code, Some(USAGE), "{}", wrong.stderr);
    let named = wrong.stderr.contains("$NODESIFT_SERVER \"https://h:1\"") && !wrong.stderr.contains("--server");
    assert!(named, "{}", wrong.stderr);
    let two = asked(&[], &["--url", &url, "--socket", socket]);
    assert_eq!(two.code, Some(USAGE), "{}", two.stderr);
    assert!(two.stderr.contains("--url") && two.stderr.contains("--socket"), "{}", two.stderr);
}

#[test]
fn health_of_a_sidecar_that_is_not_there_or_does_not_answer_is_unavailable() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let nobody = folder.path().join("s.sock");
    let missing = health(&["--socket", nobody.to_str().unwrap()]);
    assert_eq!(missing.code, Some(UNAVAILABLE), "{}", missing.stderr);
    assert!(missing.stderr.contains(nobody.to_str().unwrap()), "{}", missing.stderr);
    // It accepts and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output = health(&["--url", &format!("http://{}", silent.local_addr().unwrap())]);
    assert_eq!(output.code, Some(UNAVAILABLE), "{}", output.stderr);
    assert!(output.stderr.contains("no answer within"), "{}", output.stderr);
    for wrong in ["https://localhost:1", "localhost:1", "http://localhost"] {
        assert_eq!(health(&["--url", wrong]).code, Some(USAGE), "{wrong}");
    }
}

#[test]
fn health_sees_what_the_watchdog_sees() {
    let _beside = beside_others();
    let breakable = Breakable::start(&[]);
    let socket = breakable.sidecar.socket.to_str().unwrap().to_owned();
    assert_eq!(health(&["--socket", &socket]).code, Some(0));
    breakable.breaks("feed");
    says(&breakable.sidecar.unix(), "/livez", 503, "the feed");
    let output = health(&["--socket", &socket, "--live"]);
    assert_eq!(output.code, Some(UNAVAILABLE), "{}", output.stderr);
    assert!(output.stderr.contains("the feed"), "{}", output.stderr);
}

#[test]
fn the_version_names_program_contract_and_policy() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &["--predicates", "NodeName,NodePorts"]);
    let version = get(&sidecar.tcp(), "/version").unwrap();
    assert_eq!(version.status, 200, "{}", version.body);
    let version: Value = version.json();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["revision"].as_str(), option_env!("NODESIFT_REVISION"));
    assert_eq!(version["policy"]["generation"], "1");
    assert_eq!(version["policy"]["predicates"], serde_json::json!(["NodeName", "NodePorts"]));
    assert!(version["contract"].as_str().unwrap().starts_with("nodesift:predicate@"), "{version}");
}

#[test]
fn a_path_that_is_none_is_told_every_path_that_is_one_and_each_of_them_is_served() {
    let _beside = beside_others();
    let sidecar = Sidecar::start(command(), &[]);
    let help = get(&sidecar.tcp(), "/nothing").unwrap();
    assert_eq!(help.status, 404);
    let text = help.json()["error"]["message"].as_str().unwrap().to_owned();
    let listed: Vec<(&str, &str)> = text
        .split([' ', ',', ';'])
        .collect::<Vec<_>>()
        .windows(2)
        .filter(|pair| matches!(pair[0], "GET" | "POST"))
        .map(|pair| (pair[0], pair[1]))
        .collect();
    for path in
        ["/metrics", "/version", "/livez", "/readyz", "/v1/state", "/v1/events", "/v1/policy", "/v1/policy/shadow"]
    {
        assert!(listed.contains(&("GET", path)), "{path} is not in {text}");
    }
    assert!(listed.len() >= 15, "{text}");
    for (method, path) in listed {
        let mut wire = Wire::open(&sidecar.tcp()).unwrap();
        wire.wait_at_most(timeout::limit()).unwrap();
        wire.send(format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).unwrap();
        // A stream has no end to wait for.
        let status = wire.head().unwrap().status;
        // There is no node of the name in braces.
        let is_served = status != 405 && (status != 404 || path.contains('{'));
        assert!(is_served, "{method} {path}: {status}");
    }
}
