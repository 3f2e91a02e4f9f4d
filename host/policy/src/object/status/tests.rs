//! Statuses of one replica, and of several that write at random.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

use std::sync::Arc;
use std::time::SystemTime;

use super::*;
use crate::reload::ObjectId;
use nodesift_engine::StepFailure;

const AT: &str = "2026-01-02T03:04:05Z";
const LATER: &str = "2026-01-02T03:05:05Z";

fn attempt(generation: i64, refused: Option<(&'static str, Option<&str>, &str)>) -> Attempt {
    let outcome = match refused {
        None => AttemptOutcome::Active,
        Some((step, predicate, reason)) => {
            let failure = StepFailure { step, predicate: predicate.map(str::to_owned), reason: reason.to_owned() };
            let (source, at) = (String::new(), SystemTime::UNIX_EPOCH);
            AttemptOutcome::Refused(Refusal { generation: 1, at, source, failures: vec![failure], unlisted: 2 })
        }
    };
    let object = ObjectId { uid: Arc::from("u"), generation };
    let kubernetes = "Kubernetes 1.37 (as the policy says)".to_owned();
    let (quarantined, warnings) = (Vec::new(), Vec::new());
    let at = SystemTime::UNIX_EPOCH;
    Attempt { object, policy_generation: 7, kubernetes, outcome, at, quarantined, warnings }
}

fn report<'a>(replica: &'a str, attempt: &'a Attempt, now: &'a str) -> Report<'a> {
    Report { object: "default", replica, attempt, at: AT, now, is_due: false }
}

/// Simulates a server-side apply: the entry of the replica is replaced, and the conditions.
fn apply(object: &mut Value, applied: &Value) {
    let status = &applied["status"];
    let mine = status["replicas"][0].clone();
    let mut replicas: Vec<Value> = items(&object["status"]["replicas"]).cloned().collect();
    replicas.retain(|entry| entry["name"] != mine["name"]);
    replicas.push(mine);
    object["status"] = json!({
        "observedGeneration": status["observedGeneration"], "conditions": status["conditions"], "replicas": replicas,
    });
}

/// A report that is to be written, and is.
fn write(object: &mut Value, report: &Report<'_>) {
    let applied = status(object, report).unwrap();
    apply(object, &applied);
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    items(&object["status"]["conditions"]).find(|condition| condition["type"] == kind).unwrap()
}

#[test]
fn an_active_generation_is_shown_and_not_written_twice() {
    let (attempt, mut object) = (attempt(3, None), json!({}));
    let applied = status(&object, &report("a", &attempt, AT)).unwrap();
    assert_eq!(applied["metadata"], json!({"name": "default", "uid": "u"}));
    apply(&mut object, &applied);
    assert_eq!(object["status"]["observedGeneration"], 3);
    let active = condition(&object, "Active");
    assert_eq!((&active["status"], &active["reason"]), (&json!("True"), &json!("Active")));
    assert_eq!(active["message"], "active in 1 of 1 replica");
    assert_eq!(condition(&object, "Accepted")["status"], "True");
    assert_eq!(condition(&object, "Degraded")["status"], "False");
    assert_eq!(status(&object, &report("a", &attempt, LATER)), None);
}

#[test]
fn a_refused_generation_names_step_predicate_reason_and_replica() {
    let (good, mut object) = (attempt(3, None), json!({}));
    write(&mut object, &report("a", &good, AT));
    let bad = attempt(4, Some(("trial", Some("Own"), "it trapped")));
    write(&mut object, &report("a", &bad, LATER));
    let active = condition(&object, "Active");
    assert_eq!((&active["status"], &active["reason"]), (&json!("False"), &json!("TrialFailed")));
    assert_eq!(active["message"], "trial of Own: it trapped (and 2 more) (a: refused by 1 of 1 replica)");
    assert_eq!((&active["observedGeneration"], &active["lastTransitionTime"]), (&json!(4), &json!(LATER)));
    assert_eq!(condition(&object, "Accepted")["status"], "False");
    assert_eq!(condition(&object, "Accepted")["message"], active["message"]);
    assert_eq!(condition(&object, "Degraded")["status"], "False", "the policy before is sound");
    let entry = &object["status"]["replicas"][0];
    assert_eq!(
        (&entry["step"], &entry["predicate"], &entry["active"]),
        (&json!("trial"), &json!("Own"), &json!(false))
    );
    // Refused again: the time of the transition stays.
    let again = attempt(5, Some(("read", None, "no module")));
    write(&mut object, &report("a", &again, "2026-01-02T04:00:00Z"));
    assert_eq!(condition(&object, "Active")["lastTransitionTime"], LATER);
    assert_eq!(condition(&object, "Active")["reason"], "ReadFailed");
}

#[test]
fn one_replica_that_refuses_makes_the_object_inactive_and_one_that_is_behind_does_not() {
    let (good, bad) = (attempt(4, None), attempt(4, Some(("read", Some("Own"), "no such file"))));
    let mut object = json!({});
    write(&mut object, &report("b", &attempt(3, None), AT));
    write(&mut object, &report("a", &good, AT));
    assert_eq!(condition(&object, "Active")["message"], "active in 1 of 2 replicas");
    write(&mut object, &report("b", &bad, AT));
    assert_eq!(condition(&object, "Active")["status"], "False");
    let message = condition(&object, "Active")["message"].as_str().unwrap();
    assert!(message.contains("(b: refused by 1 of 2 replicas)"), "{message}");
    assert_eq!(status(&object, &report("a", &good, LATER)), None, "it would write the same");
}

#[test]
fn a_policy_that_is_rolled_back_was_accepted_and_is_not_active() {
    let reason = "generation 3 was rolled back: predicate Own failed too often; its last fault: Trap";
    let bad = attempt(4, Some(("quarantine", Some("Own"), reason)));
    let mut object = json!({});
    write(&mut object, &report("b", &attempt(4, None), AT));
    write(&mut object, &report("a", &bad, AT));
    assert_eq!(condition(&object, "Accepted")["status"], "True");
    for (kind, shown) in [("Active", "False"), ("Degraded", "True")] {
        let found = condition(&object, kind);
        assert_eq!((&found["status"], &found["reason"]), (&json!(shown), &json!("RolledBack")), "{object:#}");
        let told = format!("quarantine of Own: {reason} (and 2 more) (a: rolled back by 1 of 2 replicas)");
        assert_eq!(found["message"], told);
    }
    // Another replica refuses it: that is what an operator has to see first.
    write(&mut object, &report("b", &attempt(4, Some(("read", None, "no module"))), AT));
    assert_eq!(condition(&object, "Active")["reason"], "ReadFailed");
    assert_eq!(condition(&object, "Degraded")["reason"], "RolledBack");
}

#[test]
fn predicates_in_quarantine_make_the_object_degraded_until_they_are_not() {
    let one = |name: &str| Quarantined { predicate: name.to_owned(), last_fault: "Trap: unreachable".to_owned() };
    let mut failing = attempt(4, None);
    failing.quarantined = vec![one("Own"), one("Other")];
    let mut object = json!({});
    write(&mut object, &report("b", &attempt(4, None), AT));
    write(&mut object, &report("a", &failing, AT));
    let found = condition(&object, "Degraded");
    assert_eq!((&found["status"], &found["reason"]), (&json!("True"), &json!("Quarantined")));
    let told = "Own is in quarantine; its last fault: Trap: unreachable (and 1 more) (a: in 1 of 2 replicas)";
    assert_eq!(found["message"], told);
    assert_eq!(condition(&object, "Active")["message"], "active in 2 of 2 replicas");
    write(&mut object, &report("a", &attempt(4, None), LATER));
    let found = condition(&object, "Degraded");
    assert_eq!((&found["status"], &found["lastTransitionTime"]), (&json!("False"), &json!(LATER)));
    assert!(object["status"]["replicas"][1]["quarantined"].is_null());
}

#[test]
fn an_active_policy_whose_predicates_miss_facts_says_so() {
    let mut missing = attempt(4, None);
    missing.warnings = vec!["Own reads the annotation a".to_owned(), "Own reads the annotation b".to_owned()];
    let mut object = json!({});
    write(&mut object, &report("b", &attempt(4, None), AT));
    write(&mut object, &report("a", &missing, AT));
    let found = condition(&object, "Active");
    let told = "active in 2 of 2 replicas; warning: Own reads the annotation a (and 1 more)";
    assert_eq!((&found["status"], &found["message"]), (&json!("True"), &json!(told)));
    assert_eq!(status(&object, &report("a", &missing, LATER)), None, "it is not written twice");
    write(&mut object, &report("a", &attempt(4, None), LATER));
    assert_eq!(condition(&object, "Active")["message"], "active in 2 of 2 replicas");
    assert!(items(&object["status"]["replicas"]).all(|entry| entry["warning"].is_null()), "{object:#}");
}

#[test]
fn a_replica_says_that_it_is_there_when_that_is_due_and_names_those_that_are_gone() {
    let (good, mut object) = (attempt(3, None), json!({}));
    write(&mut object, &report("a", &good, AT));
    write(&mut object, &report("b", &good, LATER));
    assert_eq!(status(&object, &report("a", &good, LATER)), None);
    assert_eq!(unseen(&object, "b", AT), Vec::<String>::new());
    assert_eq!(unseen(&object, "b", LATER), ["a"]);
    assert_eq!(unseen(&object, "a", LATER), Vec::<String>::new(), "nobody names itself");
    write(&mut object, &Report { is_due: true, ..report("a", &good, LATER) });
    assert_eq!(unseen(&object, "b", LATER), Vec::<String>::new());
    assert_eq!(condition(&object, "Active")["message"], "active in 2 of 2 replicas");
}

#[test]
fn a_long_reason_is_cut_and_a_release_owns_nothing() {
    let long = "ü".repeat(5_000);
    let bad = attempt(4, Some(("compile", None, &long)));
    let applied = status(&json!({}), &report("a", &bad, AT)).unwrap();
    assert!(applied["status"]["replicas"][0]["message"].as_str().unwrap().len() < MESSAGE_BYTES + 32);
    let released = released("default", &bad);
    assert!(released["status"].is_null() && released["metadata"]["name"] == "default");
    let ended = ended("default", &json!({"status": applied["status"]}), &bad);
    assert_eq!(ended["status"], json!({"conditions": applied["status"]["conditions"]}), "the entry is gone");
}

/// Replicas that see the object late, in any order, and write what they find: all come to rest, and agree.
#[test]
fn whatever_the_order_the_replicas_come_to_rest_with_the_same_conditions() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..200 {
        let names = ["a", "b", "c", "d"];
        let mut object = json!({});
        let mut attempts: Vec<Attempt> = names.iter().map(|_| attempt(1, None)).collect();
        let mut views: Vec<Value> = names.iter().map(|_| object.clone()).collect();
        let written = |at: usize, attempts: &[Attempt], view: &Value, object: &mut Value, now: &str| {
            let applied = status(view, &report(names[at], &attempts[at], now));
            applied.inspect(|applied| apply(object, applied)).is_some()
        };
        for step in 0..random.usize(1..30) {
            let at = random.usize(..names.len());
            match random.u8(..3) {
                0 => views[at] = object.clone(),
                1 => {
                    let refused = random.bool().then_some(("trial", Some("Own"), "trapped"));
                    attempts[at] = attempt(random.i64(1..4), refused);
                }
                _ => drop(written(at, &attempts, &views[at], &mut object, &format!("t{step}"))),
            }
        }
        // Everybody sees everything, and writes what differs.
        let mut rounds = 0;
        loop {
            let writes: usize = (0..names.len())
                .filter(|at| written(*at, &attempts, &object.clone(), &mut object, &format!("r{rounds}")))
                .count();
            if writes == 0 {
                break;
            }
            rounds += 1;
            assert!(rounds <= 2, "seed {seed}: they go on writing: {object:#}");
        }
        let last = attempts.iter().map(|attempt| attempt.object.generation).max().unwrap();
        assert_eq!(object["status"]["observedGeneration"], last, "seed {seed}");
        let refused = attempts
            .iter()
            .any(|attempt| attempt.object.generation == last && matches!(attempt.outcome, AttemptOutcome::Refused(_)));
        assert_eq!(condition(&object, "Accepted")["status"] == "False", refused, "seed {seed}");
        assert_eq!(condition(&object, "Active")["status"] == "True", !refused, "seed {seed}");
    }
}
