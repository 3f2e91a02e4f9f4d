//! Guests that exceed their limits of linear memory, tables or stack.

use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{GUEST_MEMORIES, GUEST_MEMORY_BYTES};
use nodesift_sandbox::{Grants, LoadError};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;

use crate::arena::{call, faults_with, grants, healthy_answers_are_right, load, odd_rows_rejected, refused};

const PAGE: usize = 65_536;

/// Number of consecutive stack overflows.
const OVERFLOWS: usize = 1_000;

/// Memory granted to a guest with several memories: more than a slot of the pool, which allows one.
const GRANTED: usize = 2 * GUEST_MEMORY_BYTES;

/// The definitions of `count` memories.
fn memories(count: usize, pages: usize) -> String {
    let more = format!("(memory {pages}) ").repeat(count - 1);
    format!(r#"(memory (export "memory") {}) {more}"#, pages.max(2))
}

#[test]
fn h05_a_guest_that_grows_until_it_is_refused_is_a_memory_fault() {
    let _beside = beside_others();
    let filter = "(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (unreachable)";
    faults_with(FaultKind::Memory, &Guest::healthy().filter(filter));
}

#[test]
fn h05_growth_stops_at_the_limit_and_a_guest_that_copes_is_right() {
    let _beside = beside_others();
    // Counts the pages that it can allocate, and traps unless they are the limit.
    let filter = format!(
        "(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
         (if (i32.ne (memory.size) (i32.const {})) (then (unreachable)))
         (call $reject_odd (local.get $rows) (i32.const 4096))",
        GUEST_MEMORY_BYTES / PAGE
    );
    let module = load(&Guest::healthy().filter(filter).component(), grants());
    assert_eq!(call(&module), Ok(odd_rows_rejected(crate::arena::ROWS)));
}

#[test]
fn h05_a_policy_can_grant_less_and_more() {
    let _beside = beside_others();
    for granted in [4 * PAGE, 3 * GUEST_MEMORY_BYTES] {
        let filter = format!(
            "(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
             (if (i32.ne (memory.size) (i32.const {})) (then (unreachable)))
             (call $fits_all)",
            granted / PAGE
        );
        let module = load(&Guest::healthy().filter(filter).component(), Grants { memory_bytes: granted, ..grants() });
        assert_eq!(call(&module), Ok(nodesift_sandbox::Verdict::FitsAll), "{granted} bytes");
    }
}

#[test]
fn h05_a_memory_that_is_declared_larger_than_the_limit_is_refused_at_load() {
    let _beside = beside_others();
    for pages in [GUEST_MEMORY_BYTES / PAGE + 1, 65_536] {
        let guest = Guest::healthy().memory(format!(r#"(memory (export "memory") {pages})"#));
        let error = refused(&guest.component(), grants());
        assert!(error.to_string().contains("memory"), "{error}");
    }
}

#[test]
fn h05_a_declared_memory_over_a_small_grant_is_a_memory_fault_at_load() {
    let _beside = beside_others();
    let guest = Guest::healthy().memory(r#"(memory (export "memory") 100)"#);
    match refused(&guest.component(), Grants { memory_bytes: 50 * PAGE, ..grants() }) {
        LoadError::Step { step: "instantiate", fault } => assert_eq!(fault.kind, FaultKind::Memory, "{fault}"),
        other => panic!("{other}"),
    }
}

#[test]
fn h05_memory64_is_refused() {
    let _beside = beside_others();
    let text = "(component (core module (memory i64 1)))";
    let error = refused(&wat::parse_str(text).unwrap(), grants());
    assert!(matches!(error, LoadError::Compile(_)), "{error}");
}

#[test]
fn h06_memories_are_summed() {
    let _beside = beside_others();
    let half = GRANTED / PAGE / 2;
    let granting = || Grants { memory_bytes: GRANTED, ..grants() };
    load(&Guest::healthy().memory(memories(2, half)).component(), granting());
    match refused(&Guest::healthy().memory(memories(2, half + 1)).component(), granting()) {
        LoadError::Step { step: "instantiate", fault } => assert_eq!(fault.kind, FaultKind::Memory, "{fault}"),
        other => panic!("{other}"),
    }
}

#[test]
fn h06_growth_is_summed_over_memories() {
    let _beside = beside_others();
    // Fits only if both memories together reach the grant and no more.
    let filter = format!(
        "(loop $grow
           (br_if $grow (i32.ne (memory.grow 0 (i32.const 1)) (i32.const -1)))
           (br_if $grow (i32.ne (memory.grow 1 (i32.const 1)) (i32.const -1))))
         (if (i32.ne (i32.add (memory.size 0) (memory.size 1)) (i32.const {})) (then (call $fits_all) (return)))
         (unreachable)",
        GRANTED / PAGE
    );
    let guest = Guest::healthy().memory(memories(2, 1)).filter(filter);
    let module = load(&guest.component(), Grants { memory_bytes: GRANTED, ..grants() });
    assert_eq!(call(&module).map_err(|fault| fault.kind), Err(FaultKind::Memory));
    healthy_answers_are_right();
}

#[test]
fn h06_more_memories_than_allowed_are_refused() {
    let _beside = beside_others();
    for count in [GUEST_MEMORIES + 1, 32, 10_000] {
        let memories = "(memory 0) ".repeat(count);
        let text = format!("(component (core module $m {memories}) (core instance (instantiate $m)))");
        let error = refused(&wat::parse_str(&text).unwrap(), grants());
        assert!(matches!(error, LoadError::Compile(_)), "{count}: {error}");
    }
}

#[test]
fn h06_more_instances_than_allowed_are_refused() {
    let _beside = beside_others();
    let instances = "(core instance (instantiate $empty)) ".repeat(1_000);
    let text = format!("(component (core module $empty) {instances})");
    let error = refused(&wat::parse_str(&text).unwrap(), grants());
    assert!(matches!(error, LoadError::Compile(_)), "{error}");
}

#[test]
fn h06_more_tables_than_allowed_are_refused() {
    let _beside = beside_others();
    let tables = "(table 1 funcref) ".repeat(100);
    let error = refused(&Guest::healthy().definitions(tables).component(), grants());
    assert!(matches!(error, LoadError::Compile(_) | LoadError::Step { step: "instantiate", .. }), "{error}");
}

#[test]
fn h07_a_table_that_grows_without_bound_is_a_memory_fault() {
    let _beside = beside_others();
    let filter = "(loop $grow
        (br_if $grow (i32.ne (table.grow $table (ref.null func) (i32.const 100)) (i32.const -1))))
      (if (i32.gt_u (table.size $table) (i32.const 10000)) (then (call $fits_all) (return)))
      (unreachable)";
    faults_with(FaultKind::Memory, &Guest::healthy().definitions("(table $table 1 funcref)").filter(filter));
}

#[test]
fn h07_a_table_that_is_declared_too_large_is_refused() {
    let _beside = beside_others();
    let error = refused(&Guest::healthy().definitions("(table 1000000 funcref)").component(), grants());
    assert!(error.to_string().contains("table"), "{error}");
}

#[test]
fn h08_every_stack_overflow_is_one() {
    let _beside = beside_others();
    let mutual = "(func $ping (param i64) (result i64) (i64.add (call $pong (local.get 0)) (i64.const 1)))
      (func $pong (param i64) (result i64) (i64.mul (call $ping (local.get 0)) (i64.const 3)))";
    let big_frames = format!(
        "(func $ping (param i64) (result i64) (local {}) (local.set 1 (call $ping (local.get 0)))
           (i64.add (local.get 1) (local.get 100)))",
        "i64 ".repeat(2_000)
    );
    for recursion in [mutual, &big_frames] {
        let guest =
            Guest::healthy().definitions(recursion).filter("(drop (call $ping (i64.const 1))) (call $fits_all)");
        faults_with(FaultKind::StackOverflow, &guest);
        let module = load(&guest.component(), grants());
        for overflow in 0..OVERFLOWS {
            let fault = call(&module).unwrap_err();
            assert_eq!(fault.kind, FaultKind::StackOverflow, "overflow {overflow}: {fault}");
        }
    }
    healthy_answers_are_right();
}

#[test]
fn a_guest_that_was_refused_memory_and_went_on_is_no_fault_later() {
    let _beside = beside_others();
    // The first call has its growth refused and continues; the second traps for another reason.
    let guest = Guest::healthy().definitions("(global $calls (mut i32) (i32.const 0))").filter(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.eq (global.get $calls) (i32.const 2)) (then (unreachable)))
         (drop (memory.grow (i32.const 65535)))
         (call $fits_all)",
    );
    let reused = Grants { lifetime: nodesift_sandbox::Lifetime::Reused, ..grants() };
    let module = load(&guest.component(), reused);
    assert!(call(&module).is_ok());
    assert_eq!(call(&module).unwrap_err().kind, FaultKind::Trap);
    healthy_answers_are_right();
}
