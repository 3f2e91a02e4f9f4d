//! Guests that trap: the fault names the kind of trap, the instance is dropped, and no other call is affected.

use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::FAULT_DETAIL_BYTES;
use nodesift_sandbox::{Grants, Lifetime, Verdict};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;

use crate::arena::{call, default_grants, faults_with, grants, healthy_answers_are_right, load, refused_in};

/// Consecutive calls of a guest that traps in every other one.
const CALLS: usize = 1_000;

const NAMESPACE: &str = r#"(import "nodesift:predicate/pod-labels@0.2.0" "namespace" (func $namespace (param i32)))"#;

#[test]
fn h09_every_kind_of_trap_is_named() {
    let _beside = beside_others();
    let definitions = "(type $none (func)) (type $one (func (param i32)))
      (func $takes_one (type $one))
      (table $table 4 funcref) (elem (table $table) (i32.const 1) func $takes_one)";
    for (body, named) in [
        ("(unreachable)", "unreachable"),
        ("(drop (i32.div_s (local.get $rows) (i32.const 0)))", "divide by zero"),
        ("(drop (i32.rem_u (local.get $rows) (i32.const 0)))", "divide by zero"),
        ("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))", "overflow"),
        ("(drop (i32.trunc_f64_s (f64.const 1e300)))", "overflow"),
        ("(drop (i32.trunc_f32_u (f32.const nan)))", "invalid conversion"),
        ("(drop (i32.load (i32.const -8)))", "out of bounds memory"),
        ("(i32.store (i32.const 131070) (i32.const 1))", "out of bounds memory"),
        ("(memory.copy (i32.const 0) (i32.const 131071) (i32.const 2))", "out of bounds memory"),
        ("(drop (table.get $table (i32.const 4)))", "out of bounds table"),
        ("(call_indirect $table (type $none) (i32.const 9))", "table"),
        ("(call_indirect $table (type $none) (i32.const 0))", "uninitialized element"),
        ("(call_indirect $table (type $none) (i32.const 1))", "indirect call type mismatch"),
    ] {
        let guest = Guest::healthy().definitions(definitions).filter(format!("{body} (call $fits_all)"));
        let fault = faults_with(FaultKind::Trap, &guest);
        assert!(fault.detail.contains(named), "{body}: {}", fault.detail);
    }
}

const WRITE: &str = r#"(import "nodesift:predicate/log@0.2.0" "write" (func $write (param i32 i32 i32)))"#;

#[test]
fn a_fault_has_the_last_error_that_the_guest_wrote_and_where_it_was() {
    let _beside = beside_others();
    let definitions = r#"(data (i32.const 2048) "the rack is unknown")
      (func $look_up_rack (unreachable))
      (func $check_node (call $look_up_rack))"#;
    let guest = |lines: &str| {
        let filter = format!("{lines} (call $check_node) (call $fits_all)");
        Guest::healthy().imports(WRITE).definitions(definitions).filter(filter)
    };
    let line =
        |level: u8, bytes: u32| format!("(call $write (i32.const {level}) (i32.const 2048) (i32.const {bytes}))");
    let fault = faults_with(FaultKind::Trap, &guest(&line(3, 19)));
    assert!(fault.detail.contains("unreachable"), "{fault}");
    assert!(fault.detail.contains("; the rack is unknown; in look_up_rack < check_node"), "{fault}");
    // The last one of level error.
    let fault = faults_with(FaultKind::Trap, &guest(&format!("{} {} {}", line(3, 3), line(3, 8), line(2, 19))));
    assert!(fault.detail.contains("; the rack; in"), "{fault}");
    let fault = faults_with(FaultKind::Trap, &guest(&line(2, 19)));
    assert!(!fault.detail.contains("rack is") && fault.detail.contains("; in look_up_rack"), "{fault}");
    // It is not that of an earlier call.
    let once = guest(&format!(
        "(if (i32.eqz (global.get $calls)) (then
           (global.set $calls (i32.const 1)) {} (return (call $fits_all))))",
        line(3, 19)
    ));
    let once = once.definitions(format!("{definitions} (global $calls (mut i32) (i32.const 0))"));
    let module = load(&once.component(), Grants { lifetime: Lifetime::Reused, ..grants() });
    assert_eq!(call(&module), Ok(Verdict::FitsAll));
    let fault = call(&module).unwrap_err();
    assert!(!fault.detail.contains("rack is"), "{fault}");
    // Where a guest was when its time was up, and when it refused its arguments.
    let spinning = Guest::healthy().definitions("(func $search_forever (loop $f (br $f)))");
    let fault = faults_with(FaultKind::Deadline, &spinning.filter("(call $search_forever) (call $fits_all)"));
    assert!(fault.detail.contains("in search_forever") && fault.detail.contains("limits.timePerCall"), "{fault}");
    let growing = Guest::healthy()
        .filter("(if (i32.eq (memory.grow (i32.const 60000)) (i32.const -1)) (then (unreachable))) (call $fits_all)");
    let fault = faults_with(FaultKind::Memory, &growing);
    assert!(fault.detail.contains("limits.memory") && fault.detail.contains("unreachable"), "{fault}");
    let refusing = Guest::healthy().imports(WRITE).definitions(definitions);
    let refusing = refusing.configure(format!("{} (call $check_node) (i32.const 48)", line(3, 19)));
    assert!(refused_in("configure", FaultKind::Trap, &refusing).detail.contains("the rack is unknown"));
}

#[test]
fn what_a_guest_says_of_its_fault_is_bounded_and_escaped() {
    let _beside = beside_others();
    let name = "x".repeat(50_000);
    let definitions = format!(r#"(data (i32.const 2048) "\1b[2J\0aforged") (func ${name} (unreachable))"#);
    let guest = Guest::healthy().imports(WRITE).definitions(definitions).filter(format!(
        "(memory.fill (i32.const 131072) (i32.const 120) (i32.const 0))
         (call $write (i32.const 3) (i32.const 2048) (i32.const 11)) (call ${name}) (call $fits_all)"
    ));
    let fault = faults_with(FaultKind::Trap, &guest);
    assert!(fault.detail.contains(r"\u{1b}[2J\nforged; in xxx"), "{fault}");
    assert!(fault.detail.len() <= FAULT_DETAIL_BYTES + '…'.len_utf8(), "{} bytes", fault.detail.len());
    let long = Guest::healthy().imports(WRITE).filter(
        "(drop (memory.grow (i32.const 20))) (memory.fill (i32.const 131072) (i32.const 120) (i32.const 1048576))
         (call $write (i32.const 3) (i32.const 131072) (i32.const 1048576)) (unreachable)",
    );
    let fault = faults_with(FaultKind::Trap, &long);
    assert!(fault.detail.contains("(1048576 bytes)") && fault.detail.len() <= FAULT_DETAIL_BYTES, "{fault}");
}

#[test]
fn h09_a_trap_in_any_step_of_loading_is_named() {
    let _beside = beside_others();
    let start = Guest::healthy().definitions("(func $start (unreachable)) (start $start)");
    refused_in("instantiate", FaultKind::Trap, &start);
    refused_in("describe", FaultKind::Trap, &Guest::healthy().describe("(unreachable)"));
    refused_in("configure", FaultKind::Trap, &Guest::healthy().configure("(unreachable)"));
}

#[test]
fn h10_a_trapped_instance_is_never_called_again() {
    let _beside = beside_others();
    // Traps in the second call of an instance: since faulted instances are dropped, every other call succeeds.
    let guest = Guest::healthy().definitions("(global $calls (mut i32) (i32.const 0))").filter(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.ge_u (global.get $calls) (i32.const 2)) (then (unreachable)))
         (call $fits_all)",
    );
    let module = load(&guest.component(), Grants { lifetime: Lifetime::Reused, ..grants() });
    for call_number in 0..CALLS {
        let outcome = call(&module).map_err(|fault| fault.kind);
        let expected = if call_number % 2 == 0 { Ok(Verdict::FitsAll) } else { Err(FaultKind::Trap) };
        assert_eq!(outcome, expected, "call {call_number}");
    }
    healthy_answers_are_right();
}

#[test]
fn h10_an_instance_whose_time_ran_out_is_never_called_again() {
    let _beside = beside_others();
    let guest = Guest::healthy().definitions("(global $calls (mut i32) (i32.const 0))").filter(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.eq (global.get $calls) (i32.const 1)) (then (loop $forever (br $forever))))
         (call $fits_all)",
    );
    let module = load(&guest.component(), Grants { lifetime: Lifetime::Reused, ..default_grants() });
    for _ in 0..20 {
        assert_eq!(call(&module).unwrap_err().kind, FaultKind::Deadline);
    }
    healthy_answers_are_right();
}

#[test]
fn h10_a_trap_after_the_verdict_is_a_trap() {
    let _beside = beside_others();
    let after = r#"(func (export "cabi_post_nodesift:predicate/predicate@0.2.0#filter") (param i32) (unreachable))"#;
    faults_with(FaultKind::Trap, &Guest::healthy().definitions(after));
}

#[test]
fn h10_a_trap_in_realloc_is_a_trap() {
    let _beside = beside_others();
    let guest = Guest::healthy()
        .imports(NAMESPACE)
        .definitions("(global $armed (mut i32) (i32.const 0))")
        .realloc(
            "(if (global.get $armed) (then (unreachable)))
             (call $allocate (local.get $bytes) (local.get $align))",
        )
        .filter("(global.set $armed (i32.const 1)) (call $namespace (i32.const 4096)) (call $fits_all)");
    faults_with(FaultKind::Trap, &guest);
    refused_in("configure", FaultKind::Trap, &Guest::healthy().realloc("(unreachable)"));
}

#[test]
fn facts_outside_of_filter_trap() {
    let _beside = beside_others();
    for (step, guest) in [
        ("describe", Guest::healthy().describe("(call $namespace (i32.const 4096)) (i32.const 16)")),
        ("configure", Guest::healthy().configure("(call $namespace (i32.const 4096)) (i32.const 48)")),
    ] {
        let fault = refused_in(step, FaultKind::Trap, &guest.imports(NAMESPACE));
        assert!(fault.detail.contains("filter"), "{fault}");
    }
    // A start function runs before the component's imports are linked.
    let start = "(func $start (call $namespace (i32.const 4096))) (start $start)";
    refused_in("instantiate", FaultKind::Trap, &Guest::healthy().imports(NAMESPACE).definitions(start));
    let after = r#"(func (export "cabi_post_nodesift:predicate/predicate@0.2.0#filter") (param i32)
      (call $namespace (i32.const 4096)))"#;
    faults_with(FaultKind::Trap, &Guest::healthy().imports(NAMESPACE).definitions(after));
}

#[test]
fn facts_inside_of_filter_are_handed_over() {
    let _beside = beside_others();
    // Rejects everything unless the namespace is `default`: seven letters, the first one d.
    let filter = "(call $namespace (i32.const 4096))
      (if (i32.eqz (i32.and
            (i32.eq (i32.load (i32.const 4100)) (i32.const 7))
            (i32.eq (i32.load8_u (i32.load (i32.const 4096))) (i32.const 100))))
        (then (unreachable)))
      (call $fits_all)";
    let module = load(&Guest::healthy().imports(NAMESPACE).filter(filter).component(), grants());
    assert_eq!(call(&module), Ok(Verdict::FitsAll));
}
