//! One list of a live cluster with the rights of whoever asks, and the cause of a pod that is watched through a sidecar.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::sidecar::{self, Output};
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::world::{World, command, fill, pod};

/// A pod for which no node of [`fill`] has room.
const LARGE: i64 = 64_000;

fn cluster() -> ApiServer {
    let server = ApiServer::start();
    fill(&server, 3, 2);
    server.apply(pod("web", "", 100));
    server.apply(pod("large", "", LARGE));
    server
}

fn run(server: &ApiServer, arguments: &[&str]) -> Output {
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    sidecar::run(command().args(arguments).args(["--kubeconfig", kubeconfig]))
}

fn forbid(server: &ApiServer, kind: &'static str) {
    server.script(|script| script.always(Some(kind), Some(Verb::List(1)), Fault::forbidden()));
}

#[test]
fn a_list_answers_as_a_file_of_the_same_moment_and_only_lists() {
    let server = cluster();
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    let objects = server.look(|store| store.objects());
    std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    for command_name in ["explain", "filter"] {
        let listed = run(&server, &[command_name, "-o", "json"]);
        let read = sidecar::run(command().args([command_name, "-o", "json", "--cluster"]).arg(file.path()));
        assert_eq!((listed.code, read.code), (Some(0), Some(0)), "{}{}", listed.stderr, read.stderr);
        assert_eq!(listed.stdout, read.stdout);
        assert!(listed.stderr.contains("3 nodes, 8 pods"), "{}", listed.stderr);
    }
    let others = server.requests().into_iter().filter(|request| request.is_watch() || request.is_apply());
    assert_eq!(others.count(), 0, "nothing is watched or written");
}

#[test]
fn a_pod_is_explained_over_one_list() {
    let server = cluster();
    let why = run(&server, &["why", "large"]);
    assert_eq!(why.code, Some(0), "{}", why.stderr);
    assert!(why.stderr.contains("from one list of http://"), "{}", why.stderr);
    assert!(why.stdout.contains("wants 64 cpu") && why.stdout.contains("  3 nodes\n"), "{}", why.stdout);
    let tried = run(&server, &["why", "large", "--try", "cpu=1"]);
    assert!(tried.stdout.contains("nodes fit    0 → 3 (+3)"), "{}{}", tried.stdout, tried.stderr);
}

#[test]
fn a_kind_that_may_not_be_listed_is_refused_with_the_rule_and_what_to_leave_out() {
    let server = cluster();
    forbid(&server, "PersistentVolume");
    let refused = run(&server, &["why", "large"]);
    assert_eq!((refused.code, &*refused.stdout), (Some(69), ""), "{}", refused.stderr);
    let rule = "rules:\n- apiGroups: [\"\"]\n  resources: [persistentvolumes]\n  verbs: [list]\n";
    assert!(refused.stderr.contains(rule), "{}", refused.stderr);
    let skip = refused.stderr.split("--skip ").nth(1).unwrap().trim();
    assert!(skip.contains("VolumeBinding"), "{skip}");
    let without = run(&server, &["why", "large", "--skip", skip]);
    assert_eq!(without.code, Some(0), "{}", without.stderr);
    assert!(without.stdout.contains("VolumeBinding") && without.stdout.contains("not evaluated"), "{}", without.stdout);
    let filtered = run(&server, &["filter", "--skip", skip]);
    assert!(filtered.stdout.contains("without ") && filtered.code == Some(0), "{}{}", filtered.stdout, filtered.stderr);
    // There is nothing to leave out where pods may not be listed.
    forbid(&server, "Pod");
    let refused = run(&server, &["filter"]);
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    assert!(refused.stderr.contains("resources: [persistentvolumes, pods]"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("--skip"), "{}", refused.stderr);
}

#[test]
fn without_a_cluster_the_ways_to_name_one_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut why = command();
    why.args(["why", "web"]).env("HOME", folder.path()).env("KUBECONFIG", folder.path().join("none"));
    why.env("XDG_RUNTIME_DIR", folder.path()).env_remove("KUBERNETES_SERVICE_HOST");
    let refused = sidecar::run(&mut why);
    assert_eq!((refused.code, &*refused.stdout), (Some(69), ""), "{}", refused.stderr);
    for way in ["--kubeconfig", "--cluster", "--server"] {
        assert!(refused.stderr.contains(way), "{}", refused.stderr);
    }
}

#[test]
fn a_server_that_does_not_answer_is_unavailable_by_its_address() {
    let server = cluster();
    server.go_down();
    let refused = run(&server, &["why", "web"]);
    assert_eq!((refused.code, &*refused.stdout), (Some(69), ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("http://127.0.0.1:"), "{}", refused.stderr);
}

#[test]
fn a_sidecar_and_a_list_give_one_answer() {
    let world = World::new(cluster());
    let server = format!("unix:{}", world.sidecar.socket.display());
    let ask = |source: &[&str]| -> Value {
        let output = sidecar::run(command().args(["why", "default/large", "-o", "json"]).args(source));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    };
    let by_sidecar = ask(&["--server", &server]);
    let by_list = ask(&["--kubeconfig", world.server.kubeconfig().to_str().unwrap()]);
    for field in ["pod", "message", "nodes", "feasibleCount", "funnel", "alone", "evidence", "nearest", "help"] {
        assert_eq!(by_sidecar[field], by_list[field], "{field}");
    }
    assert_eq!(by_sidecar["cause"]["name"], by_list["cause"]["name"]);
    // The sidecar lists pending pods a moment after it is ready.
    let top = || {
        let output =
            sidecar::run(command().args(["top", "pending", "--by", "cause", "-o", "json", "--server", &server]));
        let groups: Value = serde_json::from_str(&output.stdout).ok()?;
        let count: u64 = groups.as_array()?.iter().filter_map(|group| group["count"].as_u64()).sum();
        (count == 2).then_some(groups)
    };
    let groups = timeout::until(top).expect("both pods are listed");
    assert!(groups.as_array().unwrap().iter().any(|group| group["key"] == by_list["cause"]["name"]), "{groups}");
}

/// A `why --watch` that runs.
struct Watch {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let server = format!("unix:{}", world.sidecar.socket.display());
        let mut why = command();
        why.args(["why", "default/large", "--watch", "-o", "jsonl", "--server", &server]).args(arguments);
        let mut child = why.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The cause in the next line.
    fn cause(&mut self) -> String {
        let line = self.lines.next().expect("a line").unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["cause"].as_str().unwrap().to_owned()
    }

    fn code(mut self) -> Option<i32> {
        timeout::until(|| self.child.try_wait().unwrap()).expect("it ends").code()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Fails if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watch_ends_when_the_pod_is_bound() {
    let world = World::new(cluster());
    let mut watch = Watch::start(&world, &[]);
    assert_ne!(watch.cause(), "Fits");
    world.server.apply(pod("large", "n0", LARGE));
    assert_eq!(watch.cause(), "Bound");
    assert_eq!(watch.code(), Some(0));
}

#[test]
fn a_watch_for_a_node_that_fits_ends_when_there_is_one() {
    let world = World::new(cluster());
    let mut watch = Watch::start(&world, &["--for", "fits"]);
    assert_ne!(watch.cause(), "Fits");
    world.server.apply(pod("large", "", 100));
    assert!(["Fits", "NotAsked"].contains(&watch.cause().as_str()));
    assert_eq!(watch.code(), Some(0));
}

#[test]
fn a_watch_for_a_node_that_fits_waits_until_no_gate_holds_the_pod() {
    let server = cluster();
    let mut gated = pod("large", "", 100);
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/quota"}]);
    server.apply(gated);
    let world = World::new(server);
    let mut watch = Watch::start(&world, &["--for", "fits"]);
    assert_eq!(watch.cause(), "Gated");
    // Nodes fit all the time.
    world.server.apply(pod("large", "", 100));
    assert!(["Fits", "NotAsked"].contains(&watch.cause().as_str()));
    assert_eq!(watch.code(), Some(0));
}

#[test]
fn a_watch_ends_with_another_code_when_the_pod_is_deleted() {
    let world = World::new(cluster());
    let mut watch = Watch::start(&world, &[]);
    assert_ne!(watch.cause(), "Deleted");
    world.server.delete("Pod", "default/large");
    assert_eq!(watch.cause(), "Deleted");
    assert_eq!(watch.code(), Some(65));
}

#[test]
fn a_watch_ends_with_another_code_when_time_is_up() {
    let world = World::new(cluster());
    let mut watch = Watch::start(&world, &["--timeout", "50ms"]);
    assert_ne!(watch.cause(), "Bound");
    assert_eq!(watch.code(), Some(75));
}
