//! Guests that do not end: each is interrupted, in every step that runs guest code.

use std::time::Duration;

use cpu_time::ThreadTime;
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{
    EPOCH_TICK, FILTER_TIME_MIN, FILTER_TIME_PER_10_000_ROWS, HOST_TIME_FACTOR, INSTANTIATE_TIME, STARVED_FACTOR,
};
use nodesift_sandbox::{Grants, Module};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::timing;

use crate::arena::{
    LABEL_KEYS, OVERRUN, OVERRUN_MAX, call, default_grants, facts, faults_with, healthy_answers_are_right, label_key,
    load, median, refused_in, timed,
};

/// Number of runs per median.
const RUNS: usize = 15;

const SPIN: &str = "(loop $forever (br $forever))";

/// Asserts that a call ends by its deadline, near it in the median of some runs.
fn is_interrupted(guest: &Guest) {
    faults_with(FaultKind::Deadline, guest);
    let module = load(&guest.component(), default_grants());
    // The calls of faults_with have warmed the slots of the pool, as in a sidecar that has run for a while.
    let median = median_of_faults(&module);
    println!("median {median:?} of a budget of {FILTER_TIME_MIN:?}");
    // The guest begins between two ticks of the clock that ends it.
    assert!(median + EPOCH_TICK >= FILTER_TIME_MIN, "interrupted too early: {median:?}");
    timing::at_most("an endless guest", median, FILTER_TIME_MIN + OVERRUN);
}

/// The median of the processor time of calls that exceed their deadline. Budgets are in processor time, and other work of
/// the machine must not change the result.
fn median_of_faults(module: &Module) -> Duration {
    let times = (0..RUNS).map(|_| {
        let start = ThreadTime::now();
        let outcome = call(module);
        let time = start.elapsed();
        assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::Deadline));
        time
    });
    median(times.collect())
}

#[test]
fn h01_an_endless_loop_ends_by_its_deadline() {
    let _beside = beside_others();
    is_interrupted(&Guest::healthy().filter(format!("{SPIN} (unreachable)")));
}

#[test]
fn h04_recursion_that_doubles_ends_by_its_deadline() {
    let _beside = beside_others();
    let double = "(func $double (param $depth i32)
      (if (local.get $depth) (then
        (call $double (i32.sub (local.get $depth) (i32.const 1)))
        (call $double (i32.sub (local.get $depth) (i32.const 1))))))";
    let filter = "(call $double (i32.const 100)) (call $fits_all)";
    is_interrupted(&Guest::healthy().definitions(double).filter(filter));
}

#[test]
fn h25_bulk_copies_end_by_their_deadline() {
    let _beside = beside_others();
    // The epoch is only checked between copies: copies of 16 MiB in a loop.
    let filter = "(drop (memory.grow (i32.const 254)))
      (loop $forever
        (memory.copy (i32.const 8388608) (i32.const 0) (i32.const 8388608))
        (memory.fill (i32.const 65536) (i32.const 7) (i32.const 16711680))
        (br $forever))
      (unreachable)";
    faults_with(FaultKind::Deadline, &Guest::healthy().filter(filter));
}

#[test]
fn h03_a_spinning_start_is_refused_in_time() {
    let _beside = beside_others();
    let guest = Guest::healthy().definitions(format!("(func $start {SPIN}) (start $start)"));
    refused_in_time("instantiate", &guest);
}

#[test]
fn h03_a_spinning_describe_is_refused_in_time() {
    let _beside = beside_others();
    refused_in_time("describe", &Guest::healthy().describe(format!("{SPIN} (unreachable)")));
}

#[test]
fn h03_a_spinning_configure_is_refused_in_time() {
    let _beside = beside_others();
    refused_in_time("configure", &Guest::healthy().configure(format!("{SPIN} (unreachable)")));
}

fn refused_in_time(step: &str, guest: &Guest) {
    let (_, time) = timed(|| refused_in(step, FaultKind::Deadline, guest));
    assert!(time >= INSTANTIATE_TIME, "{time:?}");
    timing::at_most(step, time, INSTANTIATE_TIME * STARVED_FACTOR + OVERRUN_MAX);
}

#[test]
fn a_loop_in_realloc_while_facts_are_handed_over_ends_by_the_deadline() {
    let _beside = beside_others();
    let import = r#"(import "nodesift:predicate/pod-labels@0.2.0" "namespace" (func $namespace (param i32)))"#;
    let guest = Guest::healthy()
        .imports(import)
        .realloc(format!(
            "(if (result i32) (global.get $armed)
               (then {SPIN} (unreachable))
               (else (call $allocate (local.get $bytes) (local.get $align))))"
        ))
        .definitions("(global $armed (mut i32) (i32.const 0))")
        .filter("(global.set $armed (i32.const 1)) (call $namespace (i32.const 4096)) (call $fits_all)");
    faults_with(FaultKind::Deadline, &guest);
}

#[test]
fn asking_the_host_for_costly_facts_without_end_ends_by_the_deadline() {
    let _beside = beside_others();
    // More label keys than the host caches columns for, over many rows: each call costs the host much and the guest little. Host
    // time is added to the deadline, but only up to a small allowance.
    const ROWS: u32 = 100_000;
    /// To build a column of so many rows, without optimisation.
    const LAST_CALL: Duration = Duration::from_millis(150);
    let keys: String = (0..LABEL_KEYS).map(label_key).collect();
    let import = r#"(import "nodesift:predicate/node-labels@0.2.0" "code"
      (func $code (param i32 i32 i32 i32 i32)))"#;
    let guest =
        Guest::healthy().imports(import).definitions(format!("(data (i32.const 8192) {keys:?})")).filter(format!(
            "(loop $forever
               (call $code
                 (i32.add (i32.const 8192) (i32.mul (local.get $i) (i32.const 4))) (i32.const 4)
                 (i32.const 8192) (i32.const 1)
                 (i32.const 4096))
               (local.set $i (i32.rem_u (i32.add (local.get $i) (i32.const 1)) (i32.const {LABEL_KEYS})))
               (br $forever))
             (unreachable)"
        ));
    let module = load(&guest.component(), default_grants());
    let facts = facts(ROWS);
    let budget = FILTER_TIME_PER_10_000_ROWS * (ROWS / 10_000);
    let start = ThreadTime::now();
    let outcome = module.filter(facts, ROWS, None);
    let used = start.elapsed();
    println!("{used:?} of a budget of {budget:?}");
    assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::Deadline));
    // Host time is free up to an allowance, and the last costly call may end late. Without the limit it would take minutes.
    let most = budget * (1 + HOST_TIME_FACTOR) + LAST_CALL;
    timing::at_most("costly facts without end", used, most);
    healthy_answers_are_right();
}

#[test]
fn a_loop_after_the_verdict_ends_by_the_deadline() {
    let _beside = beside_others();
    let after = format!(r#"(func (export "cabi_post_nodesift:predicate/predicate@0.2.0#filter") (param i32) {SPIN})"#);
    faults_with(FaultKind::Deadline, &Guest::healthy().definitions(after));
}

#[test]
fn the_time_that_a_policy_grants_is_what_a_guest_gets() {
    let _beside = beside_others();
    let guest = Guest::healthy().filter(format!("{SPIN} (unreachable)"));
    for granted in [2, 40].map(Duration::from_millis) {
        let module = load(&guest.component(), Grants { time_per_call: Some(granted), ..default_grants() });
        let median = median_of_faults(&module);
        assert!(median >= granted, "{median:?} of {granted:?}");
        timing::at_most("a granted budget", median, granted + OVERRUN);
    }
    healthy_answers_are_right();
}

#[test]
fn h29_a_guest_that_uses_most_of_its_time_and_memory_is_no_fault() {
    let _beside = beside_others();
    let filter = format!(
        "(drop (memory.grow (i32.const 250)))
         (local.set $j (i32.const 100000))
         (loop $work
           (local.set $j (i32.sub (local.get $j) (i32.const 1)))
           (br_if $work (local.get $j)))
         (call $reject_odd (local.get $rows) (i32.const {}))",
        16_000_000
    );
    let module = load(&Guest::healthy().filter(filter).component(), default_grants());
    let right = (0..RUNS).filter(|_| call(&module) == Ok(crate::arena::odd_rows_rejected(crate::arena::ROWS))).count();
    // Interruptions because the machine was busy for 10 ms do not count.
    assert!(right > RUNS / 2, "{right} of {RUNS}");
}
