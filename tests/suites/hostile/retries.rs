//! A built-in that has too little time or memory for a pod: the pod is set aside, and answered in the end. kube-scheduler has no such limits.

use std::sync::Arc;

use nodesift_cache as cache;
use nodesift_cache::metadata;
use nodesift_engine::{ActivePolicy, ActivePredicate, Engine, Mode, OnError, Options, Phases, PodRef, Query, Reuse};
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{EXTRA_MEMORY_BYTES, FILTER_TIME_MIN, GUEST_MEMORY_BYTES};
use nodesift_sandbox::{Grants, Lifetime, Module, Runtime};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;
use serde_json::json;

use crate::arena::{WORK, default_grants, rounds};

const PAGE: usize = 65_536;

/// An engine over a node, whose only predicate is this guest with the rights of a built-in, and the module. No verdict is kept.
fn serving(guest: &Guest) -> (Engine, Arc<Module>) {
    let (mut writer, reader) = cache::new();
    let node = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    writer.apply(metadata::node(&node));
    writer.publish();
    let runtime = Runtime::start(None).unwrap();
    let grants = Grants { lifetime: Lifetime::Reused, ..default_grants() };
    let module = Arc::new(runtime.load(&guest.component(), grants).unwrap());
    let predicate = ActivePredicate {
        name: Arc::from("Own"),
        phases: Phases::ALL,
        on_error: OnError::Reject,
        mode: Mode::Enforce,
        module: Arc::clone(&module),
        digest: [0; 32],
        counts: Arc::default(),
        breaker: Arc::default(),
        is_beside: false,
    };
    let policy = ActivePolicy::new(Vec::new(), vec![predicate]);
    (Engine::new(reader, policy, runtime).with_reuse(Reuse::Off), module)
}

/// The fault of an answer about pods with this label; none where the node fits.
fn fault_about(engine: &Engine, app: &str) -> Option<FaultKind> {
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "labels": {"app": app}}});
    let pod = PodRef::Whole(serde_json::from_value(pod).unwrap());
    let pods = engine.answer(&Query::new([pod]), Options::default()).unwrap().pods;
    assert_eq!(pods.len(), 1);
    let pod = pods.first().unwrap();
    let fault = pod.faults.first().map(|report| report.fault.kind);
    assert_eq!(pod.feasible.len(), usize::from(fault.is_none()));
    fault
}

/// Asks about a pod until it is answered. Returns the faults before that, but those of calls that were not made.
fn faults_until_answered(engine: &Engine, app: &str) -> Vec<FaultKind> {
    let mut faults = Vec::new();
    let answered = timeout::until(|| match fault_about(engine, app) {
        None => Some(()),
        Some(FaultKind::Quarantined) => None,
        Some(fault) => {
            faults.push(fault);
            None
        }
    });
    assert!(answered.is_some(), "it is never answered: {faults:?}");
    faults
}

#[test]
fn a_pod_that_a_built_in_has_too_little_time_for_is_answered_in_the_end() {
    let _beside = beside_others();
    // Three times as long as the first call may take, and a fifth of what a later one may: whatever the pace of the machine becomes.
    let rounds = rounds(FILTER_TIME_MIN * 3);
    let guest =
        Guest::healthy().definitions(WORK).filter(format!("(call $work (i64.const {rounds})) (call $fits_all)"));
    let (engine, _module) = serving(&guest);
    let faults = faults_until_answered(&engine, "a");
    println!("{faults:?}");
    assert!(!faults.is_empty() && faults.iter().all(|fault| *fault == FaultKind::Deadline), "{faults:?}");
    // Others begin with the first call, too.
    assert_eq!(fault_about(&engine, "b"), Some(FaultKind::Deadline));
}

#[test]
fn a_pod_that_a_built_in_has_too_little_memory_for_is_answered_by_an_instance_that_is_not_kept() {
    let _beside = beside_others();
    let pages = 2 * GUEST_MEMORY_BYTES / PAGE;
    let guest = Guest::healthy().filter(format!(
        "(if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then (unreachable))) (call $fits_all)"
    ));
    let (engine, module) = serving(&guest);
    for app in ["a", "b"] {
        assert_eq!(faults_until_answered(&engine, app).first(), Some(&FaultKind::Memory));
        assert!(module.idle_memory_bytes().is_none_or(|bytes| bytes <= GUEST_MEMORY_BYTES));
    }
    // There is an end.
    let pages = EXTRA_MEMORY_BYTES / PAGE;
    let endless = Guest::healthy().filter(format!(
        "(if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then (unreachable))) (call $fits_all)"
    ));
    let (engine, _module) = serving(&endless);
    let mut faults = 0;
    let seen = timeout::until(|| {
        match fault_about(&engine, "a") {
            Some(FaultKind::Memory) => faults += 1,
            other => assert_eq!(other, Some(FaultKind::Quarantined)),
        }
        (faults == 2).then_some(())
    });
    assert!(seen.is_some(), "{faults} faults");
}
