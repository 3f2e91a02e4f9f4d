//! Failures of the accounting component: last account, standard amounts or refusal of the pod; attempts that follow; and the circuit
//! breaker.

use std::sync::Arc;

use nodesift_engine::{Options, PodRef, Query};
use nodesift_object::Kind;
use nodesift_sandbox::fault::FaultKind;
use serde_json::{Value, json};

use super::world::{World, activate, granting, node, pod, runtime, taken, until};

/// Why the account of a pod is not known.
fn reason(world: &World, name: &str) -> Option<String> {
    world.writer.lock().unknown_accounts().pods.get(&*format!("u-{name}")).map(ToString::to_string)
}

#[test]
fn what_fails_for_one_pod_changes_nothing_for_the_others() {
    for letter in ["t", "l", "g", "x", "n", "f", "u", "h", "v", "b"] {
        let world = World::new(Some(&granting(&json!({"onError": "Keep"}))));
        let mut objects = vec![node("n", 1, 100_000, None)];
        objects.extend((0..100).map(|number| pod(&format!("p{number}"), 1, Some("n"), 10 + number, Some("c"))));
        objects.push(pod("odd", 1, Some("n"), 1_000, Some(letter)));
        world.deliver(&objects);
        let snapshot = world.settle(1_000);
        let others: i64 = (0..100).map(|number| 10 + number).sum();
        // Without a last account, the odd one takes what the API says, and adds to no sum.
        assert_eq!(taken(&snapshot)["n"], (others + 1_005, Some(100_000 + 700)), "{letter}");
        assert!(reason(&world, "odd").is_some(), "{letter}");
        assert_eq!(world.writer.lock().unknown_account_count(), 1, "{letter}");
        until(|| world.feed.remark().is_some_and(|remark| remark.contains("the account of Pod ns/odd is not known")));
    }
}

#[test]
fn the_last_account_is_kept_or_not_as_the_policy_says() {
    for (on_error, odd, sum) in [("Keep", 300, 7), ("Refuse", 300, 7), ("Standard", 405, 0)] {
        let world = World::new(Some(&granting(&json!({"onError": on_error}))));
        world.deliver(&[node("n", 1, 1000, Some("a")), pod("p", 1, Some("n"), 300, Some("c"))]);
        assert_eq!(taken(&world.settle(10))["n"], (300, Some(1007)), "{on_error}");
        // It requests something else, and breaks.
        world.deliver(&[pod("p", 11, Some("n"), 400, Some("b"))]);
        assert_eq!(taken(&world.settle(20))["n"], (odd, Some(1000 + sum)), "{on_error}");
        assert_eq!(reason(&world, "p").as_deref(), Some("bad"));
        // Once more: what is kept is still the account from before.
        world.deliver(&[pod("p", 21, Some("n"), 500, Some("t"))]);
        let odd = if on_error == "Standard" { 505 } else { odd };
        assert_eq!(taken(&world.settle(30))["n"], (odd, Some(1000 + sum)), "{on_error}");
        // The node breaks as well.
        world.deliver(&[node("n", 31, 2000, Some("b"))]);
        let own = if on_error == "Standard" { 0 } else { 1000 };
        assert_eq!(taken(&world.settle(40))["n"], (odd, Some(own + sum)), "{on_error}");
        assert_eq!(world.writer.lock().unknown_accounts().nodes.len(), 1);
        // Both are mended.
        world.deliver(&[node("n", 41, 2000, None), pod("p", 41, Some("n"), 600, Some("c"))]);
        assert_eq!(taken(&world.settle(50))["n"], (600, Some(2007)), "{on_error}");
        assert_eq!(world.writer.lock().unknown_account_count(), 0);
        until(|| world.feed.remark().is_none());
        // And it goes.
        world.deliver(&[pod("p", 51, Some("n"), 600, Some("b"))]);
        world.settle(60);
        world.delete(&pod("p", 51, Some("n"), 600, Some("b")), 61);
        assert_eq!(taken(&world.settle(70))["n"], (0, Some(2000)), "{on_error}");
        assert_eq!(world.writer.lock().unknown_account_count(), 0);
    }
}

fn ask(world: &World, pod: &Value) -> nodesift_engine::PodAnswer {
    let whole = PodRef::Whole(Box::new(serde_json::from_value(pod.clone()).unwrap()));
    let known = PodRef::Uid(pod["metadata"]["uid"].as_str().unwrap().to_owned());
    let mut answers = world.engine.answer(&Query::new([whole, known]), Options::default()).unwrap().pods;
    let (known, whole) = (answers.pop().unwrap(), answers.pop().unwrap());
    assert_eq!((known.feasible.len(), &known.message), (whole.feasible.len(), &whole.message));
    whole
}

#[test]
fn a_pod_in_question_is_refused_with_the_text_where_the_policy_says_so() {
    for (on_error, is_refused) in [("Keep", false), ("Standard", false), ("Refuse", true)] {
        let world = World::new(Some(&granting(&json!({"onError": on_error}))));
        let (broken, good) = (pod("b", 1, None, 10, Some("b")), pod("g", 1, None, 10, Some("c")));
        world.deliver(&[node("n", 1, 1000, None), broken.clone(), good.clone()]);
        world.settle(10);
        let answer = ask(&world, &broken);
        assert_eq!(answer.feasible.len(), usize::from(!is_refused), "{on_error}");
        assert_eq!(answer.faults.len(), usize::from(is_refused));
        if let Some(report) = answer.faults.first() {
            assert_eq!((&*report.predicate, report.fault.kind), ("accounting", FaultKind::Unaccounted));
            assert_eq!(report.fault.detail, "bad");
            assert!(answer.message.unwrap().contains("bad"));
        }
        let answer = ask(&world, &good);
        assert_eq!((answer.feasible.len(), answer.faults.len()), (1, 0), "{on_error}");
    }
}

/// A pod that the component fails for, with facts of its own.
fn bad(number: u64, namespace: &str) -> Value {
    let mut pod = pod(&format!("bad{number:03}"), 1, Some("n"), 100 + number, Some("t"));
    pod["metadata"]["namespace"] = json!(namespace);
    pod
}

#[test]
fn pods_of_one_namespace_that_it_fails_for_keep_no_other_from_being_accounted_for() {
    let world = World::new(Some(&granting(&json!({"onError": "Standard"}))));
    let mut objects = vec![node("n", 1, 1_000_000, None)];
    objects.extend((0..200).map(|number| bad(number, "tenant")));
    world.deliver(&objects);
    world.settle(1_000);
    assert!(world.engine.policy().accounting.as_ref().unwrap().quarantine().is_none());
    world.deliver(&[pod("good", 1_001, Some("n"), 10, Some("c"))]);
    world.settle(2_000);
    assert_eq!(reason(&world, "good"), None);
}

#[test]
fn a_component_that_fails_for_everything_is_hardly_called_and_what_waits_is_counted_later() {
    let world = World::new(Some(&granting(&json!({"onError": "Standard"}))));
    let mut objects = vec![node("n", 1, 1_000_000, None)];
    // Each has facts of its own.
    objects.extend((0..200).map(|number| bad(number, if number % 2 == 0 { "ns" } else { "other" })));
    world.deliver(&objects);
    world.settle(1_000);
    let quarantine = || world.engine.policy().accounting.as_ref().unwrap().quarantine();
    assert!(quarantine().is_some());
    let is_refused = |number: &u32| reason(&world, &format!("bad{number:03}")).unwrap().contains("Quarantined");
    assert!((0..200).any(|number| is_refused(&number)), "all of them were called");
    // Others are not known either, until it is called again.
    world.deliver(&[pod("good", 1_001, Some("n"), 10, Some("c"))]);
    assert_eq!(taken(&world.settle(2_000))["n"].1, Some(1_000_000));
    (0..200).for_each(|number| world.delete(&pod(&format!("bad{number:03}"), 1, None, 1, None), 2_001));
    until(|| world.writer.lock().unknown_account_count() == 0);
    assert_eq!(taken(&world.settle(3_000))["n"], (10, Some(1_000_007)));
    until(|| world.feed.remark().is_none());
}

#[test]
fn large_pods_that_it_has_no_time_for_do_not_keep_it_from_others() {
    for is_large in [true, false] {
        let world = World::new(Some(&granting(&json!({"onError": "Standard"}))));
        let endless = |number: u64| {
            // Each has facts of its own.
            let mut pod = pod(&format!("endless{number:03}"), 1, Some("n"), 100 + number, Some("l"));
            pod["metadata"]["namespace"] = json!(if number.is_multiple_of(2) { "ns" } else { "other" });
            let labels = if is_large { 300 } else { 1 };
            let labels = (0..labels).map(|label| (format!("label-{label}"), json!("x".repeat(60))));
            pod["metadata"]["labels"] = labels.collect::<serde_json::Map<_, _>>().into();
            pod
        };
        let mut objects = vec![node("n", 1, 1_000_000, None)];
        objects.extend((0..60).map(endless));
        world.deliver(&objects);
        world.settle(1_000);
        let is_open = world.engine.policy().accounting.as_ref().unwrap().quarantine().is_some();
        assert_eq!(is_open, !is_large, "large: {is_large}");
    }
}

#[test]
fn a_pod_that_is_to_be_looked_at_again_is_accounted_for_again() {
    let world = World::new(Some(&granting(&json!({}))));
    world.deliver(&[node("n", 1, 1000, None), pod("p", 1, Some("n"), 300, Some("c"))]);
    world.settle(10);
    let accounting = Arc::clone(world.engine.policy().accounting.as_ref().unwrap());
    for (kind, uid) in [(Kind::Pod, "u-p"), (Kind::Node, "u-n")] {
        let calls = accounting.calls();
        world.feed.requeue(kind, uid);
        until(|| accounting.calls() > calls);
    }
    assert_eq!(taken(&world.settle(20))["n"], (300, Some(1007)));
    // What is known is not asked for.
    let calls = accounting.calls();
    world.deliver(&[pod("p", 21, Some("n"), 300, Some("c")), node("n", 21, 1000, None)]);
    world.settle(30);
    assert_eq!(accounting.calls(), calls);
}

#[test]
fn a_component_that_needs_more_than_is_granted_is_refused_with_the_key() {
    let runtime = runtime();
    let refused = |fields: Value| activate(&runtime, Some(&fields)).unwrap_err().to_string();
    let error = refused(json!({"annotations": ["other"]}));
    assert!(
        error.contains("accounting: the component reads the annotations k, which `annotations` does not list"),
        "{error}"
    );
    assert!(error.contains("spec.accounting"), "{error}");
    let error = refused(granting(&json!({"allow": ["object-annotations"]})));
    assert!(error.contains("imports object-owners, object-requests, which `allow` does not list"), "{error}");
    let error = refused(granting(&json!({"gauges": ["s", "other"]})));
    assert!(error.contains("`gauges` lists other, which the component does not add up; it adds up s"), "{error}");
    assert!(activate(&runtime, Some(&granting(&json!({"args": {"a": 1}, "gauges": ["s"]})))).is_ok());
}
