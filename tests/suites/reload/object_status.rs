//! The status of a policy object: what replicas write into it, and how they leave.

use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault, Request, Verb};
use nodesift_tests::http::ask;
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::{timeout, timing};
use serde_json::{Value, json};

use crate::object::{
    Cluster, KIND, condition, good, is_active, is_refused, is_told, launch, object, policy, put, server, status, when,
};
use crate::quarantine::{TRAP, about, failing};
use crate::running::{Folder, command, generation};

fn applies(server: &ApiServer) -> usize {
    server.count(Request::is_apply)
}

/// Has another replica write its entry.
fn write_entry(server: &ApiServer, replica: &str, entry: &Value) {
    let mut status = status(server);
    status["replicas"] = json!([entry]);
    server.change(|store| store.apply_status(KIND, "default", replica, &json!({"status": status})));
}

#[test]
fn changes_of_the_status_reload_nothing_and_are_not_answered_for_ever() {
    let _beside = beside_others();
    let cluster = Cluster::active();
    let server = &cluster.server;
    let before = applies(server);
    // Another replica, which agrees, and one that does not.
    for (replica, is_active) in [("b", true), ("c", false)] {
        let entry =
            json!({"name": replica, "observedGeneration": 1, "active": is_active, "step": "read", "message": "no"});
        write_entry(server, replica, &entry);
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
    println!("{written} writes");
    // One for each of the six changes at most, and again where an event was on its way meanwhile. Whoever answers for ever comes to
    // the limit on writes, which is more.
    assert!((3..=12).contains(&written), "{written} writes");
}

#[test]
fn a_server_that_refuses_the_status_is_named_once_and_harms_nothing() {
    let _beside = beside_others();
    let server = server();
    server.script(|script| script.always(Some(KIND), Some(Verb::Apply), Fault::forbidden()));
    put(&server, &good());
    let cluster = Cluster::start(server);
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
    let cluster = Cluster::active();
    let server = &cluster.server;
    let others = [("killed", "2020-01-02T03:04:05.678Z", false), ("quiet", "2100-01-02T03:04:05.678Z", true)];
    for (replica, seen, is_active) in others {
        let entry = json!({
            "name": replica, "observedGeneration": 1, "active": is_active, "step": "read", "message": "no", "seen": seen,
        });
        write_entry(server, replica, &entry);
    }
    let two = |status: &Value| condition(status, "Active")["message"] == "active in 2 of 2 replicas";
    let left = when(server, "one is taken out", two);
    let names: Vec<&Value> = left["replicas"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["a", "quiet"]);
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
    let Cluster { server, sidecar } = Cluster::start(server);
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
    timing::at_most("status written", took, Duration::from_secs(1));
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
    // It is over: a first retry that is good.
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
    let Cluster { server, sidecar } = Cluster::start(server);
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
