//! Guests that combine and reject row sets: whatever handles they make up, however many sets they make, and with failures that
//! contradict the contract; and that what they reject is their verdict.

use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::ROW_SETS;
use nodesift_sandbox::{Code, Codes, Failure, Grants, Interface, RowVerdict, Verdict};
use nodesift_tests::guest::{Guest, ODD_ROW};
use nodesift_tests::machine::beside_others;

use crate::arena::{ROWS, call, faults_with, grants, healthy_answers_are_right, load, odd_rows_rejected};

const IMPORTS: &str = r#"
    (import "nodesift:predicate/row-sets@0.2.0" "all" (func $all (result i32)))
    (import "nodesift:predicate/row-sets@0.2.0" "and" (func $and (param i32 i32) (result i32)))
    (import "nodesift:predicate/row-sets@0.2.0" "or" (func $or (param i32 i32) (result i32)))
    (import "nodesift:predicate/row-sets@0.2.0" "not" (func $not (param i32) (result i32)))
    (import "nodesift:predicate/row-sets@0.2.0" "count" (func $count (param i32) (result i32)))
    (import "nodesift:predicate/row-sets@0.2.0" "reject" (func $reject (param i32 i32 i32 i32)))
    (import "nodesift:predicate/node-labels@0.2.0" "rows-with" (func $rows_with (param i32 i32) (result i32)))
    (import "nodesift:predicate/node-taints@0.2.0" "rows-untolerated" (func $untolerated (result i32)))"#;

/// A guest over row sets. The reason of the healthy guest is the list at 112; the key `k000`, which every 300th node of the
/// arena's cluster has, is at 2048.
fn guest(filter: &str) -> Guest {
    Guest::healthy().imports(IMPORTS).definitions(r#"(data (i32.const 2048) "k000")"#).filter(filter)
}

/// The one failure of all rows for which the test holds.
fn rejected(test: impl Fn(u32) -> bool) -> Verdict {
    let failure = Failure { code: Code::Unschedulable, reasons: [ODD_ROW.to_owned()].into() };
    let codes: Vec<u16> = (0..ROWS).map(|row| u16::from(test(row))).collect();
    Verdict::ByRow(RowVerdict::new(Codes::from(codes), [failure].into(), None))
}

#[test]
fn rejected_sets_are_the_verdict() {
    let _beside = beside_others();
    let reject = |set: &str| format!("(call $reject {set} (i32.const 0) (i32.const 112) (i32.const 1))");
    let label = "(call $rows_with (i32.const 2048) (i32.const 4))";
    for (filter, expected) in [
        (format!("{} (call $fits_all)", reject("(call $all)")), rejected(|_| true)),
        (format!("{} (call $fits_all)", reject("(call $not (call $all))")), Verdict::FitsAll),
        (format!("{} (call $fits_all)", reject(label)), rejected(|row| row == 0)),
        (format!("{} (call $fits_all)", reject(&format!("(call $not {label})"))), rejected(|row| row != 0)),
        (
            format!("{} (call $fits_all)", reject(&format!("(call $and (call $all) (call $or {label} {label}))"))),
            rejected(|row| row == 0),
        ),
        (format!("{} (call $fits_all)", reject("(call $untolerated)")), Verdict::FitsAll),
        (
            format!("{} (call $reject_odd (local.get $rows) (i32.const 4096))", reject("(call $not (call $all))")),
            odd_rows_rejected(ROWS),
        ),
    ] {
        assert_eq!(call(&load(&guest(&filter).component(), grants())), Ok(expected), "{filter}");
    }
    // The number of rows, or nothing is right.
    let counting = format!(
        "(if (i32.ne (call $count (call $all)) (i32.const {ROWS})) (then (unreachable)))
         (if (i32.ne (call $count {label}) (i32.const 1)) (then (unreachable)))
         (call $fits_all)"
    );
    assert_eq!(call(&load(&guest(&counting).component(), grants())), Ok(Verdict::FitsAll));
    healthy_answers_are_right();
}

#[test]
fn handles_that_no_function_has_returned_trap() {
    let _beside = beside_others();
    for made_up in ["(i32.const 0)", "(i32.const 1)", "(i32.const -1)", "(i32.const 2147483647)"] {
        for use_of in [
            format!("(drop (call $and {made_up} {made_up}))"),
            format!("(drop (call $or {made_up} {made_up}))"),
            format!("(drop (call $not {made_up}))"),
            format!("(drop (call $count {made_up}))"),
            format!("(call $reject {made_up} (i32.const 0) (i32.const 112) (i32.const 1))"),
        ] {
            let fault = faults_with(FaultKind::Trap, &guest(&format!("{use_of} (call $fits_all)")));
            assert!(fault.detail.contains("row set"), "{use_of}: {fault}");
        }
    }
    // One of an earlier call is of no use in the next.
    let kept = guest(
        "(if (i32.eqz (global.get $set)) (then (global.set $set (i32.add (call $all) (i32.const 1)))))
         (drop (call $count (i32.sub (global.get $set) (i32.const 1))))
         (call $fits_all)",
    );
    let kept = kept.definitions("(global $set (mut i32) (i32.const 0))");
    let module = load(&kept.component(), Grants { lifetime: nodesift_sandbox::Lifetime::Reused, ..grants() });
    assert_eq!(call(&module), Ok(Verdict::FitsAll));
    assert_eq!(call(&module).map_err(|fault| fault.kind), Err(FaultKind::Trap));
    healthy_answers_are_right();
}

#[test]
fn sets_are_limited_in_number() {
    let _beside = beside_others();
    let making = |sets: usize| {
        guest(&format!(
            "(loop $next
               (drop (call $all))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br_if $next (i32.lt_u (local.get $i) (i32.const {sets}))))
             (call $fits_all)"
        ))
    };
    assert_eq!(call(&load(&making(ROW_SETS).component(), grants())), Ok(Verdict::FitsAll));
    let fault = faults_with(FaultKind::Trap, &making(ROW_SETS + 1));
    assert!(fault.detail.contains("1024 row sets"), "{fault}");
}

#[test]
fn failures_are_those_of_a_verdict() {
    let _beside = beside_others();
    let reasonless = "(call $reject (call $all) (i32.const 0) (i32.const 112) (i32.const 0)) (call $fits_all)";
    faults_with(FaultKind::MalformedVerdict, &guest(reasonless));
    let unknown_status = "(call $reject (call $all) (i32.const 3) (i32.const 112) (i32.const 1)) (call $fits_all)";
    faults_with(FaultKind::MalformedVerdict, &guest(unknown_status));
    // A list of reasons that is longer than what a call may pass to the host.
    let endless = "(drop (memory.grow (i32.const 200)))
      (call $reject (call $all) (i32.const 0) (i32.const 4096) (i32.const 1000000)) (call $fits_all)";
    faults_with(FaultKind::OutputTooLarge, &guest(endless));
    // Codes that do not belong to the verdict's failures are not those of rejections.
    let alias = "(call $reject (call $not (call $all)) (i32.const 0) (i32.const 112) (i32.const 1))
      (call $reject (call $all) (i32.const 0) (i32.const 112) (i32.const 1))
      (i32.store16 (i32.const 4096) (i32.const 1))
      (call $by_row (i32.const 4096) (local.get $rows) (i32.const 96) (i32.const 0))";
    faults_with(FaultKind::MalformedVerdict, &guest(alias));
}

#[test]
fn outside_of_filter_sets_trap() {
    let _beside = beside_others();
    let used = Guest::healthy().imports(IMPORTS).configure("(drop (call $all)) (i32.const 48)");
    let fault = crate::arena::refused_in("configure", FaultKind::Trap, &used);
    assert!(fault.detail.contains("filter"), "{fault}");
}

#[test]
fn row_sets_are_no_fact_and_functions_that_make_them_are() {
    let _beside = beside_others();
    let only = |import: &str| Guest::healthy().imports(import).filter("(drop (call $f)) (call $fits_all)").component();
    let sets = only(r#"(import "nodesift:predicate/row-sets@0.2.0" "all" (func $f (result i32)))"#);
    let module = load(&sets, Grants { allow: Some(vec![]), ..grants() });
    assert_eq!(module.imports(), [Interface::RowSets]);
    assert!(!module.is_cluster_wide());
    let taints = only(r#"(import "nodesift:predicate/node-taints@0.2.0" "rows-untolerated" (func $f (result i32)))"#);
    let error = crate::arena::refused(&taints, Grants { allow: Some(vec![]), ..grants() });
    assert!(error.to_string().contains("node-taints"), "{error}");
}
