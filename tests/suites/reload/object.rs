//! The policy is an object of the watched cluster: it is followed like a file, and its status says what became of it.

use std::fs;
use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{ask, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::{timeout, timing};
use serde_json::{Value, json};

use crate::followed::team;
use crate::running::{Folder, command, generation};

pub(crate) const KIND: &str = "PredicatePolicy";

/// Another policy object, which nobody has named.
const OTHER: &str = "other";

/// A server with a node and a pending pod, and a sidecar whose policy is the object `default` there.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    pub(crate) sidecar: Sidecar,
}

pub(crate) fn server() -> ApiServer {
    let server = ApiServer::start();
    server.apply(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {"team": "n1"}}, "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }));
    server.apply(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": "p", "annotations": {"team": "a"}},
        "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Pending"},
    }));
    server
}

/// The policy object of this name, with these predicates.
pub(crate) fn object(name: &str, predicates: &Value) -> Value {
    json!({
        "apiVersion": "nodesift.dev/v1alpha1", "kind": KIND,
        "metadata": {"name": name, "labels": {"app": "x"}, "managedFields": [{"manager": "kubectl"}]},
        "spec": {"schedulerNames": ["default-scheduler"], "predicates": predicates},
    })
}

pub(crate) fn put(server: &ApiServer, predicates: &Value) {
    server.apply(object("default", predicates));
}

pub(crate) fn good() -> Value {
    json!([{"name": "NodeName"}, {"name": "TaintToleration"}])
}

/// With modules in the folders that tests have.
pub(crate) fn launch(server: &ApiServer, replica: &str, arguments: &[&str]) -> Sidecar {
    let temporary = std::env::temp_dir();
    launch_limited(server, replica, &[&["--module-folder", temporary.to_str().unwrap()][..], arguments].concat())
}

fn launch_limited(server: &ApiServer, replica: &str, arguments: &[&str]) -> Sidecar {
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    let named = ["--kubeconfig", kubeconfig, "--policy-resource", "default", "--replica-name", replica];
    Sidecar::launch(command(), &[&named[..], arguments].concat())
}

/// Requests `GET /v1/policy` of a sidecar and expects 200.
pub(crate) fn policy(sidecar: &Sidecar) -> Value {
    let answer = get(&sidecar.unix(), "/v1/policy").expect("the sidecar answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// The status of the object.
pub(crate) fn status(server: &ApiServer) -> Value {
    server.look(|store| {
        let stored = store.now(KIND).get("default").cloned();
        stored.map_or(Value::Null, |stored| serde_json::from_str::<Value>(&stored.text).unwrap()["status"].clone())
    })
}

pub(crate) fn condition(status: &Value, kind: &str) -> Value {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}

/// Waits until the status of the object is as wanted.
pub(crate) fn when(server: &ApiServer, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let found = timeout::until(|| Some(status(server)).filter(|status| is_wanted(status)));
    found.unwrap_or_else(|| panic!("not seen: {what}: {:#}", status(server)))
}

pub(crate) fn is_active(generation: i64) -> impl Fn(&Value) -> bool {
    move |status| status["observedGeneration"] == generation && condition(status, "Active")["status"] == "True"
}

pub(crate) fn is_refused(generation: i64) -> impl Fn(&Value) -> bool {
    move |status| status["observedGeneration"] == generation && condition(status, "Accepted")["status"] == "False"
}

fn ready(sidecar: &Sidecar) -> (u16, String) {
    let answer = get(&sidecar.unix(), "/readyz").expect("the sidecar answers");
    (answer.status, answer.body)
}

/// Waits until the readiness of a sidecar is as wanted.
pub(crate) fn is_told(sidecar: &Sidecar, code: u16, words: &str) {
    let seen = timeout::until(|| Some(ready(sidecar)).filter(|(status, text)| *status == code && text.contains(words)));
    assert!(seen.is_some(), "{code} {words}: {:?}\n{}", ready(sidecar), sidecar.output());
}

impl Cluster {
    pub(crate) fn start(server: ApiServer) -> Self {
        let sidecar = launch(&server, "a", &[]);
        sidecar.wait_until_ready();
        Self { server, sidecar }
    }

    /// With a good policy, which is active.
    pub(crate) fn active() -> Self {
        let server = server();
        put(&server, &good());
        let cluster = Self::start(server);
        when(&cluster.server, "it is active", is_active(1));
        cluster
    }

    pub(crate) fn generation(&self) -> u64 {
        generation(&policy(&self.sidecar))
    }
}

/// R-01 for an object.
#[test]
fn an_object_is_followed_and_its_status_says_within_a_second_what_became_of_it() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("own.wasm", Guest::healthy().filter("unreachable").component());
    let own = folder.path("own.wasm");
    let server = server();
    put(&server, &good());
    server.apply(object(OTHER, &json!([])));
    let Cluster { server, sidecar } = Cluster::start(server);
    let shown = policy(&sidecar);
    assert_eq!((&shown["source"], &shown["name"]), (&json!("PredicatePolicy default"), &json!("default")));
    assert_eq!(generation(&shown), 1, "it was read before the first answer");
    let seen = when(&server, "the first is active", is_active(1));
    let entry = &seen["replicas"][0];
    assert_eq!((&entry["name"], &entry["active"]), (&json!("a"), &json!(true)));
    assert_eq!((&entry["policyGeneration"], &seen["replicas"][1]), (&json!(1), &Value::Null));

    put(&server, &json!([{"name": "NodeName"}]));
    when(&server, "the second is active", is_active(2));
    assert_eq!(generation(&policy(&sidecar)), 2);

    let module = |path: &str| json!([{"name": "NodeName"}, {"name": "Own", "module": {"path": path}}]);
    let missing = folder.path("none.wasm");
    let cases = [
        ("an unknown built-in", json!([{"name": "NodeNmae"}]), "DocumentFailed", "spec.predicates[0].name", "NodeNmae"),
        ("a missing module", module(missing.to_str().unwrap()), "ReadFailed", "none.wasm", "Own"),
        ("a relative path", module("own.wasm"), "DocumentFailed", "an object has no folder", "Own"),
        ("a module that traps", module(own.to_str().unwrap()), "TrialFailed", "Own", "trap"),
        (
            "a path outside",
            module("/etc/hostname"),
            "DocumentFailed",
            "spec.predicates[1].module.path",
            "not below the folder",
        ),
        ("no predicates", json!([]), "DocumentFailed", "spec.predicates", "empty"),
    ];
    let mut object_generation = 2;
    for (what, predicates, reason, first, second) in cases {
        let since = Instant::now();
        put(&server, &predicates);
        object_generation += 1;
        let refused = when(&server, what, is_refused(object_generation));
        let time = since.elapsed();
        timing::at_most(what, time, Duration::from_secs(1));
        let active = condition(&refused, "Active");
        assert_eq!((&active["status"], &active["reason"]), (&json!("False"), &json!(reason)), "{what}: {refused:#}");
        let message = active["message"].as_str().unwrap();
        assert!(message.contains(first) && message.contains(second), "{what}: {message}");
        assert!(message.ends_with("(a: refused by 1 of 1 replica)"), "{what}: {message}");
        let shown = policy(&sidecar);
        assert_eq!(generation(&shown), 2, "{what}");
        assert!(shown["lastFailure"]["reason"].as_str().unwrap().contains(first), "{what}: {shown}");
        assert!(ready(&sidecar).1.contains("generation 2 stays active"), "{what}: {}", ready(&sidecar).1);
    }
    put(&server, &good());
    when(&server, "a good one is active", is_active(object_generation + 1));
    assert_eq!(generation(&policy(&sidecar)), 3);
}

#[test]
fn an_object_names_nothing_but_files_of_the_folder_and_listed_registries_and_its_status_does_not_say_what_is_there() {
    let _beside = beside_others();
    let (folder, other) = (Folder::new(), Folder::new());
    other.put("secret", b"outside");
    std::os::unix::fs::symlink(other.path("secret"), folder.path("link")).unwrap();
    std::os::unix::fs::symlink(other.path("none"), folder.path("nowhere")).unwrap();
    let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listening.set_nonblocking(true).unwrap();
    let root = folder.path("none.wasm").parent().unwrap().to_owned();
    let server = server();
    put(&server, &good());
    let limited =
        ["--module-folder", root.to_str().unwrap(), "--registries", "registry.example.com,other.example.com:5000"];
    let sidecar = launch_limited(&server, "a", &limited);
    sidecar.wait_until_ready();
    when(&server, "the first is active", is_active(1));
    let digest = format!("sha256:{}", "0".repeat(64));
    let oci = |host: &str| json!({"oci": format!("{host}/own:1"), "digest": digest});
    let path = |path: std::path::PathBuf| json!({"path": path});
    let outside = "not below the folder of --module-folder";
    let cases = [
        (path(other.path("secret")), outside),
        (path(other.path("none")), outside),
        (path("/proc/self/environ".into()), outside),
        (path(folder.path("../etc/passwd")), outside),
        (path(folder.path("link")), outside),
        (path(folder.path("nowhere")), outside),
        (json!({"oci": "a/own:1", "digest": digest, "layout": other.path("layout")}), outside),
        (oci(&listening.local_addr().unwrap().to_string()), "is not listed"),
        (oci("other.example.com"), "is not listed"),
    ];
    for (generation, (module, words)) in (2..).zip(&cases) {
        put(&server, &json!([{"name": "NodeName"}, {"name": "Own", "module": module}]));
        let refused = when(&server, words, is_refused(generation));
        let message = condition(&refused, "Active")["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words), "{module}: {message}");
        for told in ["No such file", "regular file", "bytes", "is a directory", "reached"] {
            assert!(!message.contains(told), "{module}: {message}");
        }
    }
    assert!(listening.accept().is_err(), "a registry that is not listed was connected to");
    drop(sidecar);

    let without = launch_limited(&server, "a", &[]);
    put(&server, &json!([{"name": "NodeName"}, {"name": "Own", "module": {"path": folder.path("none.wasm")}}]));
    is_told(&without, 503, "names files only below the folder of --module-folder, and there is none");
}

#[test]
fn a_deleted_object_leaves_its_policy_active_and_another_one_of_its_name_replaces_it() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    let cluster = Cluster::start(server);
    when(&cluster.server, "it is active", is_active(1));
    cluster.server.delete(KIND, "default");
    is_told(&cluster.sidecar, 200, "policy refused at step read: generation 1 stays active");
    let shown = policy(&cluster.sidecar);
    assert_eq!(shown["lastFailure"]["reason"], "PredicatePolicy default: there is no such object");
    assert_eq!(shown["predicates"].as_array().unwrap().len(), 2);
    put(&cluster.server, &json!([{"name": "NodeName"}]));
    when(&cluster.server, "the new one is active", is_active(1));
    assert_eq!(cluster.generation(), 2);
    assert_eq!(policy(&cluster.sidecar)["lastFailure"], Value::Null);
}

#[test]
fn without_the_object_the_default_policy_serves_and_says_so() {
    let _beside = beside_others();
    let server = server();
    let cluster = Cluster::start(server);
    is_told(&cluster.sidecar, 200, "policy refused at step read: generation 1 stays active");
    let shown = policy(&cluster.sidecar);
    assert_eq!(shown["source"], "the default policy");
    assert!(cluster.sidecar.output().contains("the policy is missing: serving the default policy"));
    put(&cluster.server, &json!([{"name": "NodeName"}]));
    when(&cluster.server, "it is active", is_active(1));
    assert_eq!(policy(&cluster.sidecar)["predicates"].as_array().unwrap().len(), 1);
}

#[test]
fn a_server_without_the_kind_is_asked_for_it_again() {
    let _beside = beside_others();
    let server = server();
    server.script(|script| script.at(KIND, Verb::List(1), 0..1, Fault::not_found()));
    put(&server, &good());
    let cluster = Cluster::start(server);
    is_told(&cluster.sidecar, 200, "policy refused at step read");
    let reason = policy(&cluster.sidecar)["lastFailure"]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.is_empty() || reason.contains("deploy/crd.yaml"), "{reason}");
    when(&cluster.server, "it is active", is_active(1));
}

#[test]
fn a_broken_object_at_the_start_is_live_and_not_ready_until_it_is_mended() {
    let _beside = beside_others();
    let server = server();
    put(&server, &json!([{"name": "NodeNmae"}]));
    let sidecar = launch(&server, "a", &[]);
    is_told(&sidecar, 503, "NodeNmae");
    assert_eq!(get(&sidecar.unix(), "/livez").unwrap().status, 200);
    let refused = when(&server, "it is refused", is_refused(1));
    assert_eq!(condition(&refused, "Active")["reason"], "DocumentFailed");
    assert_eq!(refused["replicas"][0]["policyGeneration"], 0);
    put(&server, &good());
    sidecar.wait_until_ready();
    when(&server, "it is active", is_active(2));
}

#[test]
fn a_broken_or_missing_object_at_the_start_leaves_the_last_good_policy() {
    let _beside = beside_others();
    let (server, state) = (server(), Folder::new());
    let folder = state.path("state");
    let arguments = ["--state-folder", folder.to_str().unwrap()];
    let start = || {
        let sidecar = launch(&server, "a", &arguments);
        sidecar.wait_until_ready();
        sidecar
    };
    put(&server, &good());
    let sidecar = start();
    when(&server, "it is active", is_active(1));
    timeout::until(|| fs::exists(folder.join("policy.json")).unwrap().then_some(())).expect("it is remembered");
    drop(sidecar);
    put(&server, &json!([{"name": "NodeNmae"}]));
    let sidecar = start();
    let shown = policy(&sidecar);
    assert_eq!((&shown["remembered"], shown["predicates"].as_array().unwrap().len()), (&json!(true), 2), "{shown}");
    when(&server, "it is refused", is_refused(2));
    drop(sidecar);
    server.delete(KIND, "default");
    let sidecar = start();
    let shown = policy(&sidecar);
    assert_eq!((&shown["remembered"], shown["predicates"].as_array().unwrap().len()), (&json!(true), 2), "{shown}");
    is_told(&sidecar, 200, "policy refused at step read");
}

#[test]
fn a_missing_permission_is_named_and_waited_for() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    server.script(|script| script.always(Some(KIND), Some(Verb::List(1)), Fault::forbidden()));
    let sidecar = launch(&server, "a", &[]);
    is_told(&sidecar, 503, "forbidden for");
    is_told(&sidecar, 503, "predicatepolicies (403");
    server.clear_faults();
    sidecar.wait_until_ready();
    when(&server, "it is active", is_active(1));
}

#[test]
fn a_server_that_is_down_at_the_start_is_waited_for() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    server.go_down();
    let sidecar = launch(&server, "a", &[]);
    is_told(&sidecar, 503, "the API server has not shown it yet");
    server.come_up();
    sidecar.wait_until_ready();
    when(&server, "it is active", is_active(1));
    assert_eq!(policy(&sidecar)["source"], "PredicatePolicy default");
}

#[test]
fn pods_change_sides_with_an_object_that_names_other_schedulers() {
    let _beside = beside_others();
    let server = server();
    for scheduler in ["default-scheduler", "yunikorn"] {
        server.apply(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": scheduler},
            "spec": {"nodeName": "n", "schedulerName": scheduler, "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running"},
        }));
    }
    put(&server, &good());
    let cluster = Cluster::start(server);
    let foreign = || {
        let state = get(&cluster.sidecar.unix(), "/v1/state").unwrap().json();
        let listed = state["nodes"][0]["foreignPods"].as_array().unwrap().clone();
        assert_eq!(listed.len(), 1, "{state}");
        listed[0].to_string()
    };
    assert!(foreign().contains("yunikorn"), "{}", foreign());
    let mut other = object("default", &good());
    other["spec"]["schedulerNames"] = json!(["yunikorn"]);
    cluster.server.apply(other);
    when(&cluster.server, "it is active", is_active(2));
    assert!(foreign().contains("default-scheduler"), "{}", foreign());
    assert_eq!(policy(&cluster.sidecar)["schedulerNames"], json!(["yunikorn"]));
}

/// The nodes on which the pending pod fits.
fn feasible(sidecar: &Sidecar) -> Value {
    let request = json!({"pods": [{"name": {"namespace": "default", "name": "p"}}]});
    ask(&sidecar.unix(), "/v1/filter", &request)["pods"][0]["feasible"].clone()
}

#[test]
fn annotations_that_an_object_adds_are_read_of_what_was_there_before() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("team.wasm", team());
    let reading = |key: &str| {
        let mut object = object(
            "default",
            &json!([{"name": "NodeName"}, {"name": "Team", "module": {"path": folder.path("team.wasm")}}]),
        );
        object["spec"]["facts"] = json!({"annotations": [key]});
        object
    };
    let server = server();
    server.apply(reading("other"));
    let cluster = Cluster::start(server);
    assert_eq!(feasible(&cluster.sidecar), json!([]));
    for (generation, key, expected) in [(2, "team", json!(["n"])), (3, "other", json!([]))] {
        cluster.server.apply(reading(key));
        when(&cluster.server, key, is_active(generation));
        assert_eq!(feasible(&cluster.sidecar), expected, "{key}");
    }
}

#[test]
fn kinds_that_an_object_reads_are_followed_with_it_and_dropped_after_it() {
    let _beside = beside_others();
    let cluster = Cluster::active();
    let server = &cluster.server;
    assert!(!server.is_watched("StorageClass"));
    for (generation, predicates, is_watched) in [(2, json!([{"name": "VolumeBinding"}]), true), (3, good(), false)] {
        put(server, &predicates);
        when(server, "it is active", is_active(generation));
        let seen = timeout::until(|| (server.is_watched("StorageClass") == is_watched).then_some(()));
        assert!(seen.is_some(), "storage classes are watched: {}", !is_watched);
        assert_eq!(feasible(&cluster.sidecar), json!(["n"]));
    }
}

#[test]
fn an_object_needs_a_cluster_to_watch() {
    let _beside = beside_others();
    let output = nodesift_tests::sidecar::run(command().args(["serve", "--policy-resource", "default"]));
    assert_eq!(output.code, Some(64), "{}", output.stderr);
    assert!(output.stderr.contains("--policy-resource needs a cluster to watch"), "{}", output.stderr);
    let output = nodesift_tests::sidecar::run(command().args(["serve", "--sample", "--record", "object"]));
    assert_eq!(output.code, Some(64), "{}", output.stderr);
    assert!(output.stderr.contains("--record object needs a cluster to watch"), "{}", output.stderr);
}
