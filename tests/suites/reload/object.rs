//! The policy is an object of the watched cluster: it is followed like a file, and its status says what became of it.

use std::fs;
use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault, Request, Verb};
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{ask, get};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::followed::team;
use crate::quarantine::{TRAP, about, failing};
use crate::running::{Folder, alone, beside_others, command, generation};

const KIND: &str = "PredicatePolicy";

/// Another policy object, which nobody has named.
const OTHER: &str = "other";

/// A server with a node and a pending pod, and a sidecar whose policy is the object `default` there.
struct Cluster {
    server: ApiServer,
    sidecar: Sidecar,
}

fn server() -> ApiServer {
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
fn object(name: &str, predicates: &Value) -> Value {
    json!({
        "apiVersion": "nodesift.dev/v1alpha1", "kind": KIND,
        "metadata": {"name": name, "labels": {"app": "x"}, "managedFields": [{"manager": "kubectl"}]},
        "spec": {"schedulerNames": ["default-scheduler"], "predicates": predicates},
    })
}

fn put(server: &ApiServer, predicates: &Value) {
    server.apply(object("default", predicates));
}

fn good() -> Value {
    json!([{"name": "NodeName"}, {"name": "TaintToleration"}])
}

fn launch(server: &ApiServer, replica: &str, arguments: &[&str]) -> Sidecar {
    let kubeconfig = server.kubeconfig().to_str().unwrap();
    let named = ["--kubeconfig", kubeconfig, "--policy-resource", "default", "--replica-name", replica];
    Sidecar::launch(command(), &[&named[..], arguments].concat())
}

/// What `GET /v1/policy` of a sidecar says.
fn policy(sidecar: &Sidecar) -> Value {
    let answer = get(&sidecar.unix(), "/v1/policy").expect("the sidecar answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// The status of the object.
fn status(server: &ApiServer) -> Value {
    server.look(|store| {
        let stored = store.now(KIND).get("default").cloned();
        stored.map_or(Value::Null, |stored| serde_json::from_str::<Value>(&stored.text).unwrap()["status"].clone())
    })
}

fn condition(status: &Value, kind: &str) -> Value {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}

/// Waits until the status of the object is as wanted.
fn when(server: &ApiServer, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let found = timeout::until(|| Some(status(server)).filter(|status| is_wanted(status)));
    found.unwrap_or_else(|| panic!("not seen: {what}: {:#}", status(server)))
}

fn is_active(generation: i64) -> impl Fn(&Value) -> bool {
    move |status| status["observedGeneration"] == generation && condition(status, "Active")["status"] == "True"
}

fn is_refused(generation: i64) -> impl Fn(&Value) -> bool {
    move |status| status["observedGeneration"] == generation && condition(status, "Accepted")["status"] == "False"
}

fn ready(sidecar: &Sidecar) -> (u16, String) {
    let answer = get(&sidecar.unix(), "/readyz").expect("the sidecar answers");
    (answer.status, answer.body)
}

/// Waits until the readiness of a sidecar is as wanted.
fn is_told(sidecar: &Sidecar, code: u16, words: &str) {
    let seen = timeout::until(|| Some(ready(sidecar)).filter(|(status, text)| *status == code && text.contains(words)));
    assert!(seen.is_some(), "{code} {words}: {:?}\n{}", ready(sidecar), sidecar.output());
}

fn applies(server: &ApiServer) -> usize {
    server.count(Request::is_apply)
}

impl Cluster {
    fn of(server: ApiServer) -> Self {
        let sidecar = launch(&server, "a", &[]);
        sidecar.wait_until_ready();
        Self { server, sidecar }
    }

    fn generation(&self) -> u64 {
        generation(&policy(&self.sidecar))
    }
}

/// R-01 for an object.
#[test]
fn an_object_is_followed_and_its_status_says_within_a_second_what_became_of_it() {
    let _alone = alone();
    let folder = Folder::new();
    folder.put("own.wasm", Guest::healthy().filter("unreachable").component());
    let own = folder.path("own.wasm");
    let server = server();
    put(&server, &good());
    server.apply(object(OTHER, &json!([])));
    let Cluster { server, sidecar } = Cluster::of(server);
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
        ("no predicates", json!([]), "DocumentFailed", "spec.predicates", "empty"),
    ];
    let mut object_generation = 2;
    for (what, predicates, reason, first, second) in cases {
        let since = Instant::now();
        put(&server, &predicates);
        object_generation += 1;
        let refused = when(&server, what, is_refused(object_generation));
        let time = since.elapsed();
        assert!(time <= timeout::scaled(Duration::from_secs(1)), "{what}: told after {time:?}");
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
fn a_deleted_object_leaves_its_policy_active_and_another_one_of_its_name_replaces_it() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    let cluster = Cluster::of(server);
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
fn changes_of_the_status_reload_nothing_and_are_not_answered_for_ever() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    let cluster = Cluster::of(server);
    let server = &cluster.server;
    when(server, "it is active", is_active(1));
    let before = applies(server);
    // Another replica, which agrees, and one that does not.
    for (replica, is_active) in [("b", true), ("c", false)] {
        let entry =
            json!({"name": replica, "observedGeneration": 1, "active": is_active, "step": "read", "message": "no"});
        let mut status = status(server);
        status["replicas"] = json!([entry]);
        server.change(|store| store.apply_status(KIND, "default", replica, &json!({"status": status})));
    }
    let refused = when(server, "the conditions are about all of them", is_refused(1));
    assert_eq!(condition(&refused, "Active")["message"], "read: no (c: refused by 1 of 3 replicas)");
    // Somebody clears it.
    server.change(|store| {
        for replica in ["a", "b", "c"] {
            store.apply_status(KIND, "default", replica, &json!({}));
        }
    });
    when(server, "it is written again", is_active(1));
    // A change of the policy comes after everything that the changes of the status could have caused.
    put(server, &json!([{"name": "NodeName"}]));
    when(server, "the change is active", is_active(2));
    assert_eq!(cluster.generation(), 2);
    let written = applies(server) - before;
    assert!((3..=6).contains(&written), "{written} writes");
}

#[test]
fn a_server_that_refuses_the_status_is_named_once_and_harms_nothing() {
    let _beside = beside_others();
    let server = server();
    server.script(|script| script.always(Some(KIND), Some(Verb::Apply), Fault::forbidden()));
    put(&server, &good());
    let cluster = Cluster::of(server);
    let told = timeout::until(|| policy(&cluster.sidecar)["statusTrouble"].as_str().map(str::to_owned));
    let told = told.expect("the trouble is told");
    assert!(told.starts_with("403: is forbidden"), "{told}");
    is_told(&cluster.sidecar, 200, "the status of the policy's object is not written: 403");
    put(&cluster.server, &json!([{"name": "NodeName"}]));
    let reloaded = timeout::until(|| (cluster.generation() == 2).then_some(()));
    assert!(reloaded.is_some(), "{}", cluster.sidecar.output());
    let tried = applies(&cluster.server);
    timeout::until(|| (applies(&cluster.server) > tried).then_some(())).expect("it is tried again");
    let log = cluster.sidecar.output();
    assert_eq!(log.matches("the status of the policy's object is not written").count(), 1, "{log}");
    cluster.server.clear_faults();
    when(&cluster.server, "it is written", is_active(2));
    let ended = timeout::until(|| policy(&cluster.sidecar)["statusTrouble"].is_null().then_some(()));
    assert!(ended.is_some(), "{}", policy(&cluster.sidecar));
}

#[test]
fn without_the_object_the_default_policy_serves_and_says_so() {
    let _beside = beside_others();
    let server = server();
    let cluster = Cluster::of(server);
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
    let cluster = Cluster::of(server);
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
fn a_replica_that_ends_takes_its_entry_along() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    let first = launch(&server, "a", &[]);
    let second = launch(&server, "b", &[]);
    first.wait_until_ready();
    second.wait_until_ready();
    let both = |status: &Value| condition(status, "Active")["message"] == "active in 2 of 2 replicas";
    when(&server, "both are active", both);
    first.signal("TERM");
    let (code, log) = first.wait();
    assert!(code.success(), "{log}");
    let one = |status: &Value| {
        status["replicas"].as_array().is_some_and(|entries| entries.len() == 1)
            && condition(status, "Active")["message"] == "active in 1 of 1 replica"
    };
    let left = when(&server, "one is left", one);
    assert_eq!(left["replicas"][0]["name"], "b");
}

#[test]
fn an_entry_of_a_replica_that_was_killed_is_taken_out_and_that_of_another_one_is_not() {
    let _beside = beside_others();
    let server = server();
    put(&server, &good());
    let cluster = Cluster::of(server);
    let server = &cluster.server;
    when(server, "it is active", is_active(1));
    let others = [("killed", "2020-01-02T03:04:05.678Z", false), ("quiet", "2100-01-02T03:04:05.678Z", true)];
    for (replica, seen, is_active) in others {
        let entry = json!({
            "name": replica, "observedGeneration": 1, "active": is_active, "step": "read", "message": "no", "seen": seen,
        });
        let mut status = status(server);
        status["replicas"] = json!([entry]);
        server.change(|store| store.apply_status(KIND, "default", replica, &json!({"status": status})));
    }
    let two = |status: &Value| condition(status, "Active")["message"] == "active in 2 of 2 replicas";
    let left = when(server, "one is taken out", two);
    let names: Vec<&Value> = left["replicas"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["a", "quiet"]);
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
    let cluster = Cluster::of(server);
    let foreign = || {
        let state = get(&cluster.sidecar.unix(), "/v1/state").unwrap().json();
        let listed = state["nodes"][0]["foreignAllocations"].as_array().unwrap().clone();
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
    let cluster = Cluster::of(server);
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
    let server = server();
    put(&server, &good());
    let cluster = Cluster::of(server);
    let server = &cluster.server;
    when(server, "it is active", is_active(1));
    assert!(!server.is_watched("StorageClass"));
    for (generation, predicates, is_watched) in [(2, json!([{"name": "VolumeBinding"}]), true), (3, good(), false)] {
        put(server, &predicates);
        when(server, "it is active", is_active(generation));
        let seen = timeout::until(|| (server.is_watched("StorageClass") == is_watched).then_some(()));
        assert!(seen.is_some(), "storage classes are watched: {}", !is_watched);
        assert_eq!(feasible(&cluster.sidecar), json!(["n"]));
    }
}

/// A bad predicate of one's own, in the folder.
fn own(folder: &Folder) -> Value {
    folder.put("own.wasm", failing(TRAP).component());
    json!([{"name": "NodeName"}, {"name": "Own", "module": {"path": folder.path("own.wasm")}}])
}

/// Asks about a pod, on which the predicate fails if it is bad.
fn asks(sidecar: &Sidecar, number: usize, is_bad: bool) {
    ask(&sidecar.unix(), "/v1/filter", &about(number, is_bad));
}

#[test]
fn a_quarantine_is_in_the_status_until_it_is_over_in_the_words_of_policy_status() {
    let _beside = beside_others();
    let (server, folder) = (server(), Folder::new());
    put(&server, &own(&folder));
    let Cluster { server, sidecar } = Cluster::of(server);
    let sound = when(&server, "it is active", is_active(1));
    assert_eq!(condition(&sound, "Degraded")["reason"], "Healthy");
    let breaker = || policy(&sidecar)["predicates"][1]["breaker"]["state"].clone();
    let mut number = 0;
    let ask_until = |state: &str, is_bad: bool| {
        let is_so = || {
            number += 1;
            asks(&sidecar, number, is_bad);
            (breaker() == state).then(Instant::now)
        };
        timeout::until(is_so).unwrap_or_else(|| panic!("never {state}: {}", policy(&sidecar)))
    };
    let mut ask_until = ask_until;
    let opened = ask_until("open", true);
    let is_degraded = |status: &Value| condition(status, "Degraded")["status"] == "True";
    let degraded = when(&server, "the quarantine is told", is_degraded);
    let took = opened.elapsed();
    println!("told {took:?} after it was noticed");
    assert!(took <= timeout::scaled(Duration::from_secs(1)), "{took:?}");
    let found = condition(&degraded, "Degraded");
    let message = found["message"].as_str().unwrap();
    assert_eq!((&found["reason"], &found["observedGeneration"]), (&json!("Quarantined"), &json!(1)));
    assert!(message.contains("Trap") && message.ends_with("(a: in 1 of 1 replica)"), "{message}");
    let unix = format!("unix:{}", sidecar.socket.display());
    let printed = nodesift_tests::sidecar::run(command().args(["policy", "status", "--server", &unix])).stdout;
    for words in ["Own is in quarantine", "; its last fault: Trap"] {
        assert!(message.contains(words) && printed.contains(words), "{words:?}: {message}\n{printed}");
    }
    assert_eq!(condition(&degraded, "Active")["status"], "True", "what answers is this generation");
    // It is over: three good calls.
    ask_until("closed", false);
    let over = when(&server, "the end is told", |status| !is_degraded(status));
    assert_eq!((&over["observedGeneration"], &over["replicas"][0]["quarantined"]), (&json!(1), &Value::Null));
    assert_eq!(generation(&policy(&sidecar)), 1);
}

#[test]
fn an_object_that_is_rolled_back_was_accepted_and_says_why_it_is_not_active() {
    let _beside = beside_others();
    let (server, folder) = (server(), Folder::new());
    put(&server, &good());
    let Cluster { server, sidecar } = Cluster::of(server);
    when(&server, "it is active", is_active(1));
    let mut bad = object("default", &own(&folder));
    bad["spec"]["rollbackOnQuarantine"] = json!(true);
    server.apply(bad);
    when(&server, "the bad one is active", is_active(2));
    let mut number = 0;
    let back = timeout::until(|| {
        number += 1;
        asks(&sidecar, number, true);
        (generation(&policy(&sidecar)) == 3).then_some(())
    });
    assert!(back.is_some(), "it is not rolled back: {}", policy(&sidecar));
    let is_back = |status: &Value| condition(status, "Active")["reason"] == "RolledBack";
    let seen = when(&server, "the rollback is told", is_back);
    assert_eq!(seen["observedGeneration"], 2);
    assert_eq!(condition(&seen, "Accepted")["status"], "True");
    assert_eq!(condition(&seen, "Active")["status"], "False");
    let degraded = condition(&seen, "Degraded");
    assert_eq!((&degraded["status"], &degraded["reason"]), (&json!("True"), &json!("RolledBack")));
    let failure = &policy(&sidecar)["lastFailure"]["failures"][0];
    let told = format!("quarantine of Own: {} (a: rolled back by 1 of 1 replica)", failure["reason"].as_str().unwrap());
    assert_eq!((&degraded["message"], &condition(&seen, "Active")["message"]), (&json!(told), &json!(told)));
    assert_eq!(seen["replicas"][0]["policyGeneration"], 3);
    put(&server, &good());
    let mended = when(&server, "a good one is active", is_active(3));
    assert_eq!(condition(&mended, "Degraded")["status"], "False");
}

#[test]
fn an_object_needs_a_cluster_to_watch() {
    let _beside = beside_others();
    let output = nodesift_tests::sidecar::run(command().args(["serve", "--policy-resource", "default"]));
    assert_eq!(output.code, Some(64), "{}", output.stderr);
    assert!(output.stderr.contains("--policy-resource needs a cluster to watch"), "{}", output.stderr);
}
