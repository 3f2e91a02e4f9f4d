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
    Attempt { object, policy_generation: 7, outcome, at: SystemTime::UNIX_EPOCH }
}

fn report<'a>(replica: &'a str, attempt: &'a Attempt, now: &'a str) -> Report<'a> {
    Report { object: "default", replica, attempt, at: AT, now }
}

/// What a server makes of an apply: the entry of the replica is replaced, and the conditions.
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
    assert_eq!(condition(&object, "Refused")["status"], "False");
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
    assert_eq!(condition(&object, "Refused")["status"], "True");
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
fn a_long_reason_is_cut_and_a_release_owns_nothing() {
    let long = "ü".repeat(5_000);
    let bad = attempt(4, Some(("compile", None, &long)));
    let applied = status(&json!({}), &report("a", &bad, AT)).unwrap();
    assert!(applied["status"]["replicas"][0]["message"].as_str().unwrap().len() < MESSAGE_BYTES + 32);
    let released = released("default", &bad);
    assert!(released["status"].is_null() && released["metadata"]["name"] == "default");
}

/// Replicas that see the object late, in any order, and write what they find: all come to rest, and agree.
#[test]
fn whatever_the_order_the_replicas_come_to_rest_with_the_same_conditions() {
    let seed =
        std::env::var("NODESIFT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
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
        assert_eq!(condition(&object, "Refused")["status"] == "True", refused, "seed {seed}");
        assert_eq!(condition(&object, "Active")["status"] == "True", !refused, "seed {seed}");
    }
}
