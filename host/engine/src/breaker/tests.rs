//! The states, which are told the time, and a breaker whose retries are made due.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::Context;
use crate::facts::Batch;

const SECOND: Duration = Duration::from_secs(1);

fn trap() -> Fault {
    Fault::new(FaultKind::Trap, "unreachable")
}

/// A fault about a pod of the template with this number; two namespaces take turns.
fn fail(state: &mut State, now: Instant, template: u64) -> Change {
    state.end(now, false, &Outcome::Fault(&trap()), Some((template, template % 2)))
}

/// Faults until it opens, which happens now.
fn opened(state: &mut State, now: Instant) {
    let changes: Vec<Change> = (0..QUARANTINE_FAULTS as u64).map(|template| fail(state, now, template)).collect();
    assert_eq!(changes.iter().filter(|change| **change == Change::Opened).count(), 1);
    assert_eq!(changes.last(), Some(&Change::Opened));
}

/// A call about a pod that has not failed is refused.
fn is_refused(state: &mut State, now: Instant) -> bool {
    matches!(state.admit(now, false), Admission::Refused(_))
}

/// A retry about a pod that has not failed is made, and ends so.
fn retried(state: &mut State, now: Instant, outcome: &Outcome<'_>) -> Change {
    assert!(matches!(state.admit(now, false), Admission::Retry));
    state.end(now, true, outcome, Some((1, 1)))
}

#[test]
fn five_faults_within_ten_seconds_open_it_and_slower_ones_never_do() {
    let (mut state, start) = (State::default(), Instant::now());
    let interval = QUARANTINE_WINDOW / (u32::try_from(QUARANTINE_FAULTS).unwrap_or(1) - 1);
    for number in 0..100 {
        let now = start + interval * number;
        assert!(matches!(state.admit(now, false), Admission::Call));
        assert_eq!(fail(&mut state, now, number.into()), Change::None, "fault {number}");
    }
    let now = start + interval * 100 + QUARANTINE_WINDOW;
    opened(&mut state, now);
    assert!(!matches!(state.admit(now, false), Admission::Call));
}

#[test]
fn faults_about_one_template_or_of_one_namespace_never_open_it_and_a_good_call_starts_anew() {
    let (mut state, now) = (State::default(), Instant::now());
    let fault = trap();
    for number in 0..1_000 {
        let (one_template, one_namespace) = ((7, 7), (number, 7));
        for about in [one_template, one_namespace] {
            assert_eq!(state.end(now, false, &Outcome::Fault(&fault), Some(about)), Change::None, "fault {number}");
        }
    }
    // They left no room for themselves alone: another namespace is enough.
    assert_eq!(state.end(now, false, &Outcome::Good, None), Change::None);
    for template in 0..QUARANTINE_FAULTS as u64 - 1 {
        assert_eq!(fail(&mut state, now, template), Change::None);
    }
    assert_eq!(state.end(now, false, &Outcome::Good, None), Change::None);
    opened(&mut state, now);
}

#[test]
fn faults_about_the_same_few_templates_never_open_it_whatever_their_namespaces() {
    let (mut state, now) = (State::default(), Instant::now());
    let fault = trap();
    let few = QUARANTINE_FAULTS as u64 - 1;
    for number in 0..1_000 {
        let about = (number % few, number % few);
        assert_eq!(state.end(now, false, &Outcome::Fault(&fault), Some(about)), Change::None, "fault {number}");
    }
    assert_eq!(state.end(now, false, &Outcome::Fault(&fault), Some((few, few))), Change::Opened);
}

#[test]
fn an_open_one_is_retried_with_one_call_at_once_and_after_growing_waits() {
    let (mut state, start) = (State::default(), Instant::now());
    opened(&mut state, start);
    let (mut now, fault) = (start, trap());
    for wait in [0, 1, 2, 4, 8, 16, 30, 30, 30] {
        if wait > 0 {
            assert!(is_refused(&mut state, now + SECOND * wait - Duration::from_millis(1)), "before {wait} s");
        }
        now += SECOND * wait;
        assert!(matches!(state.admit(now, false), Admission::Retry), "after {wait} s");
        assert!(is_refused(&mut state, now + SECOND * 100), "one call at a time");
        assert_eq!(state.end(now, true, &Outcome::Fault(&fault), Some((1, 1))), Change::None);
    }
}

#[test]
fn a_first_retry_that_is_good_closes_it_at_once() {
    let (mut state, now) = (State::default(), Instant::now());
    opened(&mut state, now);
    assert_eq!(retried(&mut state, now, &Outcome::Good), Change::Closed);
    assert!(matches!(state.admit(now, true), Admission::Call));
    // One that says nothing is followed by the next a second later, which is as good as the first.
    opened(&mut state, now);
    assert_eq!(retried(&mut state, now, &Outcome::Nothing), Change::None);
    assert!(is_refused(&mut state, now + SECOND - Duration::from_millis(1)));
    assert_eq!(retried(&mut state, now + SECOND, &Outcome::Good), Change::Closed);
}

#[test]
fn pods_that_have_failed_take_no_retry_from_others_and_are_retried_where_there_are_no_others() {
    let (mut state, start) = (State::default(), Instant::now());
    opened(&mut state, start);
    let (fault, millisecond) = (trap(), Duration::from_millis(1));
    let is_retried = |state: &mut State, now| matches!(state.admit(now, true), Admission::Retry);
    // They are asked about again and again; whoever comes is the first retry, and the wait has not grown.
    assert!((0..1_000).all(|number| !is_retried(&mut state, start + millisecond * number)));
    assert_eq!(retried(&mut state, start + SECOND, &Outcome::Fault(&fault)), Change::None);
    let mut now = start + SECOND;
    // Nobody else is asked about any more.
    for wait in [1, 2, 4, 8, 16, 30, 30] {
        let due = now + SECOND * wait * (1 + QUARANTINE_FAILED_WAITS);
        assert!(!is_retried(&mut state, due - millisecond), "{wait} s");
        assert!(is_retried(&mut state, due), "{wait} s");
        assert_eq!(state.end(due, true, &Outcome::Fault(&fault), Some((1, 1))), Change::None);
        now = due;
    }
    // One that has not failed comes first, and the next such as well.
    for good in 1..=QUARANTINE_GOOD_CALLS {
        now += if good == 1 { QUARANTINE_RETRY_MOST } else { QUARANTINE_RETRY_FIRST };
        assert!(!is_retried(&mut state, now));
        let closes = if good == QUARANTINE_GOOD_CALLS { Change::Closed } else { Change::None };
        assert_eq!(retried(&mut state, now, &Outcome::Good), closes, "good retry {good}");
    }
}

#[test]
fn three_good_retries_close_it_after_one_that_failed_and_a_fault_between_them_starts_anew() {
    let (mut state, start) = (State::default(), Instant::now());
    opened(&mut state, start);
    let (mut now, fault) = (start, trap());
    let mut retry = |state: &mut State, wait: u32, outcome: &Outcome<'_>| {
        now += SECOND * wait;
        (retried(state, now, outcome), state.quarantine(now).map(|open| open.good_calls))
    };
    assert_eq!(retry(&mut state, 0, &Outcome::Fault(&fault)), (Change::None, Some(0)));
    assert_eq!(retry(&mut state, 1, &Outcome::Fault(&fault)), (Change::None, Some(0)));
    assert_eq!(retry(&mut state, 2, &Outcome::Good), (Change::None, Some(1)));
    assert_eq!(retry(&mut state, 1, &Outcome::Good), (Change::None, Some(2)));
    assert_eq!(retry(&mut state, 1, &Outcome::Nothing), (Change::None, Some(2)));
    assert_eq!(retry(&mut state, 1, &Outcome::Fault(&fault)), (Change::None, Some(0)));
    for good in 1..QUARANTINE_GOOD_CALLS {
        assert_eq!(retry(&mut state, if good == 1 { 2 } else { 1 }, &Outcome::Good), (Change::None, Some(good)));
    }
    assert_eq!(retry(&mut state, 1, &Outcome::Good), (Change::Closed, None));
    // As many faults as at the first time.
    opened(&mut state, now);
}

#[test]
fn calls_that_had_begun_before_it_opened_change_nothing() {
    let (mut state, start) = (State::default(), Instant::now());
    opened(&mut state, start);
    let fault = trap();
    for outcome in [Outcome::Good, Outcome::Nothing, Outcome::Fault(&fault)] {
        assert_eq!(state.end(start, false, &outcome, Some((1, 1))), Change::None);
    }
    let open = state.quarantine(start);
    assert_eq!(open.map(|open| (open.retry_in, open.good_calls)), Some((Duration::ZERO, 0)));
}

#[test]
fn only_faults_of_the_predicate_count_and_a_retry_that_is_dropped_blocks_no_other() {
    let breaker = Breaker::default();
    let end = |fault: Option<&Fault>| {
        let owner = Owner::object(None);
        breaker.admit(&owner).map(|call| call.end(&owner, fault, Blame::Predicate)).ok()
    };
    for kind in [FaultKind::Overloaded, FaultKind::RequestDeadline, FaultKind::ClockStopped] {
        for _ in 0..2 * QUARANTINE_FAULTS {
            assert_eq!(end(Some(&Fault::new(kind, ""))), Some(Change::None));
        }
    }
    assert!(breaker.quarantine().is_none());
    for number in 1..=QUARANTINE_FAULTS {
        let opens = if number == QUARANTINE_FAULTS { Change::Opened } else { Change::None };
        assert_eq!(end(Some(&trap())), Some(opens));
    }
    assert_eq!(breaker.opened(), 1);
    // The first retry is due at once, and one at a time is made.
    let owner = Owner::object(None);
    let retry = breaker.admit(&owner);
    assert!(retry.as_ref().is_ok_and(Admitted::is_retry));
    let refused = breaker
        .admit(&Owner::object(None))
        .map(drop)
        .map_err(|fault| (fault.kind, fault.detail.contains("Trap: unreachable")));
    assert_eq!(refused, Err((FaultKind::Quarantined, true)));
    drop(retry);
    // Its time has come, and the call ends in a panic.
    let is_due = || match &mut *breaker.state.lock() {
        State::Open(open) => open.next = Instant::now(),
        State::Closed { .. } => {}
    };
    is_due();
    let retry = breaker.admit(&owner);
    is_due();
    assert!(retry.is_ok() && breaker.admit(&owner).is_err());
    drop(retry);
    is_due();
    assert!(breaker.admit(&owner).is_ok());
}

/// A pod of a template with this number.
fn about(namespace: &str, template: usize) -> Context {
    let (mut writer, reader) = nodesift_cache::new();
    writer.publish();
    let labels = serde_json::json!({"template": template.to_string()});
    let pod = serde_json::json!({"metadata": {"name": "p", "namespace": namespace, "labels": labels}});
    let facts = nodesift_cache::metadata::pod(&serde_json::from_value(pod).unwrap());
    Context::new(reader.snapshot(), Arc::new(facts), None, Batch::All)
}

#[test]
fn a_core_that_asks_for_failed_pods_again_and_again_leaves_the_retry_to_others() {
    let breaker = Breaker::default();
    let namespace = |number: usize| if number.is_multiple_of(2) { "a" } else { "b" };
    let failed: Vec<Context> = (0..QUARANTINE_FAULTS).map(|number| about(namespace(number), number)).collect();
    for pod in &failed {
        let owner = Owner::pod(pod);
        breaker.admit(&owner).unwrap().end(&owner, Some(&trap()), Blame::Predicate);
    }
    assert_eq!(breaker.opened(), 1);
    // However slow the machine is: theirs is due in hours, that of others now.
    if let State::Open(open) = &mut *breaker.state.lock() {
        open.wait = Duration::from_secs(3_600);
    }
    assert!(failed.iter().chain(&failed).all(|pod| breaker.admit(&Owner::pod(pod)).is_err()));
    let other = about("a", QUARANTINE_FAULTS);
    assert!(breaker.admit(&Owner::pod(&other)).is_ok_and(|call| call.is_retry()));
}
