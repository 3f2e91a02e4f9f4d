//! The deadline of a request over many predicates, each of which keeps within its own budget.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_cache as cache;
use nodesift_cache::metadata;
use nodesift_engine::{
    ActivePolicy, ActivePredicate, Breaker, Candidate, Depth, Engine, Error, OnError, Options, Phases, PodAnswer,
    PodRef, Preemption, Query, Reuse,
};
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::FILTER_TIME_MIN;
use nodesift_sandbox::{Grants, Module, Runtime};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};
use serde_json::json;

use crate::arena::{OVERRUN, WORK, default_grants, facts, grants, load, median, rounds};

/// Predicates of the policy.
const PREDICATES: usize = 32;

/// Number of runs per median.
const RUNS: usize = 9;

/// The deadline of the requests here.
const DEADLINE: Duration = Duration::from_millis(50);

/// A predicate that fits every node, and takes most of the budget of a call.
fn slow_but_within_its_budget() -> Guest {
    let rounds = rounds(FILTER_TIME_MIN * 7 / 10);
    Guest::healthy().definitions(WORK).filter(format!("(call $work (i64.const {rounds})) (call $fits_all)"))
}

/// An engine over two nodes whose policy has the same predicate many times.
fn engine(guest: &Guest, on_error: OnError) -> Engine {
    engine_granting(guest, on_error, &default_grants())
}

fn engine_granting(guest: &Guest, on_error: OnError, grants: &Grants) -> Engine {
    let (mut writer, reader) = cache::new();
    for name in ["a", "b"] {
        let node = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        writer.apply(metadata::node(&node));
    }
    writer.publish();
    let runtime = Runtime::start(None).unwrap();
    let component = guest.component();
    let predicate = |number: usize| ActivePredicate {
        name: Arc::from(format!("Slow{number}")),
        phases: Phases::ALL,
        on_error,
        mode: nodesift_engine::Mode::Enforce,
        module: Arc::new(runtime.load(&component, grants.clone()).unwrap()),
        digest: [0; 32],
        counts: Arc::default(),
        breaker: Arc::new(Breaker::that_never_opens()),
        is_beside: false,
    };
    let policy = ActivePolicy::new(Vec::new(), (0..PREDICATES).map(predicate).collect());
    Engine::new(reader, policy, runtime)
}

fn pod() -> PodRef {
    PodRef::Whole(serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "default"}})).unwrap())
}

fn query(deadline: Option<Instant>, depth: Depth) -> Query {
    Query::new([pod()]).with_depth(depth).with_deadline(deadline)
}

/// Asserts that the request ends at its deadline and has no answer, in the median of some runs.
fn ends_at_its_deadline(ask: impl Fn(Option<Instant>) -> Result<(), Error>) {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        let outcome = ask(Some(start + DEADLINE));
        let time = start.elapsed();
        assert!(matches!(outcome, Err(Error::DeadlineExceeded)), "{outcome:?}");
        time
    });
    let median = median(times.collect());
    println!("{PREDICATES} predicates, a deadline of {DEADLINE:?}: over after {median:?}");
    assert!(median >= DEADLINE, "given up too early: {median:?}");
    timing::at_most("a request with a deadline", median, DEADLINE + OVERRUN);
}

#[test]
fn h28_the_deadline_of_a_request_ends_predicates_that_are_each_within_their_budget() {
    let _beside = beside_others();
    let engine = engine_without_reuse(&slow_but_within_its_budget(), OnError::Reject);
    // Without a deadline all of them run, which takes far longer.
    let start = Instant::now();
    let answer = engine.answer(&query(None, Depth::Each), Options::default()).unwrap();
    assert!(start.elapsed() > 2 * DEADLINE, "{:?}", start.elapsed());
    println!(
        "without a deadline: {:?}, {} faults",
        start.elapsed(),
        answer.pods.iter().map(|pod| pod.faults.len()).sum::<usize>()
    );
    for depth in [Depth::FirstFailure, Depth::Each] {
        ends_at_its_deadline(|deadline| engine.answer(&query(deadline, depth), Options::default()).map(drop));
    }
}

/// An engine without cached verdicts: those of the first predicates would be cached, so that the query would soon be answered.
fn engine_without_reuse(guest: &Guest, on_error: OnError) -> Engine {
    engine(guest, on_error).with_reuse(Reuse::Off)
}

#[test]
fn h28_a_deadline_is_no_fault_that_a_failure_policy_could_turn_into_a_yes() {
    let _beside = beside_others();
    let engine =
        engine_without_reuse(&Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)"), OnError::Ignore);
    ends_at_its_deadline(|deadline| engine.answer(&query(deadline, Depth::FirstFailure), Options::default()).map(drop));
    ends_at_its_deadline(|deadline| {
        let candidates = vec![Candidate { node: "a".to_owned(), victims: vec!["gone".to_owned()], start: 0 }];
        engine.preempt(&Preemption { pod: pod(), candidates, deadline }, &engine.snapshot()).map(drop)
    });
}

#[test]
fn a_request_that_is_over_calls_no_predicate_and_one_with_time_left_is_answered() {
    let _beside = beside_others();
    let engine = engine(&Guest::healthy(), OnError::Reject);
    let over = engine.answer(&query(Some(Instant::now()), Depth::FirstFailure), Options::default());
    assert!(matches!(over, Err(Error::DeadlineExceeded)), "{over:?}");
    let later = Instant::now() + timeout::limit();
    let answer = engine.answer(&query(Some(later), Depth::FirstFailure), Options::default()).unwrap();
    assert_eq!(answer.pods.first().unwrap().feasible.len(), 1);
}

#[test]
fn a_pod_of_several_that_takes_too_long_leaves_time_for_those_after_it() {
    let _beside = beside_others();
    let endless = Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)");
    let engine = engine_granting(&endless, OnError::Reject, &grants());
    let ask = |pods: usize| {
        let deadline = Some(Instant::now() + Duration::from_secs(4));
        let query = Query::new((0..pods).map(|_| pod())).with_deadline(deadline);
        engine.answer(&query, Options::on(&engine.snapshot()).with_unknown_named())
    };
    let answer = ask(2).unwrap();
    let is_too_slow = |pod: &PodAnswer| matches!(pod.error.as_deref(), Some(Error::PodTooSlow { .. }));
    assert!(answer.pods.len() == 2 && answer.pods.iter().all(is_too_slow), "{:?}", answer.pods);
    // It was not set aside for that: asked about alone, it has all of the time.
    assert!(matches!(ask(1), Err(Error::DeadlineExceeded)));
}

#[test]
fn a_call_ends_at_the_deadline_of_its_request_if_that_comes_before_its_own() {
    let _beside = beside_others();
    let module: Module =
        load(&Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)").component(), grants());
    let facts = facts(1);
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        let outcome = module.filter(Arc::clone(&facts), 1, Some(start + DEADLINE));
        assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::RequestDeadline));
        start.elapsed()
    });
    let median = median(times.collect());
    assert!(median >= DEADLINE, "given up too early: {median:?}");
    timing::at_most("a call with a deadline", median, DEADLINE + OVERRUN);
}
