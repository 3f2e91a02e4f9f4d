//! Guests that return an invalid verdict: too large, of the wrong length, with unknown codes or invalid texts.

use std::sync::Arc;

use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{FAILURE_REASONS, FAULT_DETAIL_BYTES, OUTPUT_BYTES, REASON_BYTES, VERDICT_FAILURES};
use nodesift_sandbox::{Grants, Verdict};
use nodesift_tests::guest::{Guest, SCRATCH};
use nodesift_tests::machine::beside_others;

use crate::arena::{call, facts, faults_with, grants, healthy_answers_are_right, load, odd_rows_rejected, refused_in};

/// A guest that returns `fits-none` with `count` equal reasons of `bytes` bytes each.
fn reasons(count: usize, bytes: usize) -> Guest {
    // The texts are at 1 MiB, the list is at 8 MiB; the memory is grown first.
    let filter = format!(
        "(drop (memory.grow (i32.const 250)))
         (memory.fill (i32.const 1048576) (i32.const 120) (i32.const {bytes}))
         (block $done (loop $reason
           (br_if $done (i32.ge_u (local.get $i) (i32.const {count})))
           (call $text
             (i32.add (i32.const 8388608) (i32.shl (local.get $i) (i32.const 3)))
             (i32.const 1048576) (i32.const {bytes}))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br $reason)))
         (call $fits_none (i32.const 0) (i32.const 8388608) (i32.const {count}))"
    );
    Guest::healthy().filter(filter)
}

/// A guest that returns `by-row` with `count` equal failures.
fn failures(count: usize) -> Guest {
    let filter = format!(
        "(drop (memory.grow (i32.const 250)))
         (block $done (loop $failure
           (br_if $done (i32.ge_u (local.get $i) (i32.const {count})))
           (call $failure
             (i32.add (i32.const 8388608) (i32.mul (local.get $i) (i32.const 12)))
             (i32.const 0) (i32.const 112) (i32.const 1))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br $failure)))
         (call $by_row (i32.const {SCRATCH}) (local.get $rows) (i32.const 8388608) (i32.const {count}))"
    );
    Guest::healthy().filter(filter)
}

/// A guest whose only reason has these bytes, escaped as in WebAssembly text.
fn reason(escaped: &str, bytes: usize) -> Guest {
    Guest::healthy().definitions(format!(r#"(data (i32.const {SCRATCH}) "{escaped}")"#)).filter(format!(
        "(call $text (i32.const 112) (i32.const {SCRATCH}) (i32.const {bytes}))
             (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))"
    ))
}

fn is_accepted(guest: &Guest) -> Verdict {
    let module = load(&guest.component(), grants());
    call(&module).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn h12_every_wrong_length_is_malformed() {
    let _beside = beside_others();
    let lengths = [
        ("rows - 1", "(i32.sub (local.get $rows) (i32.const 1))"),
        ("rows + 1", "(i32.add (local.get $rows) (i32.const 1))"),
        ("0", "(i32.const 0)"),
        ("2 rows", "(i32.shl (local.get $rows) (i32.const 1))"),
    ];
    let modules = lengths.map(|(_, length)| {
        let filter = format!(
            "(drop (call $reject_odd (local.get $rows) (i32.const {SCRATCH})))
             (call $by_row (i32.const {SCRATCH}) {length} (i32.const 96) (i32.const 1))"
        );
        load(&Guest::healthy().filter(filter).component(), grants())
    });
    let mut wrong = 0;
    for rows in 0..=130 {
        let facts = facts(rows);
        for (module, (length, _)) in modules.iter().zip(lengths) {
            let outcome = module.filter(Arc::clone(&facts), rows, None);
            if rows == 0 && length != "rows + 1" && length != "rows - 1" {
                // For zero rows, twice the length is also zero.
                assert!(outcome.is_ok(), "{length}");
                continue;
            }
            let fault = outcome.expect_err(length);
            assert_eq!(fault.kind, FaultKind::MalformedVerdict, "{length} codes for {rows} rows: {fault}");
            wrong += 1;
        }
    }
    assert_eq!(wrong, 131 * 4 - 2);
    healthy_answers_are_right();
}

#[test]
fn the_right_length_is_right_for_every_number_of_rows() {
    let _beside = beside_others();
    let module = load(&Guest::healthy().component(), grants());
    for rows in 0..=130 {
        assert_eq!(module.filter(facts(rows), rows, None), Ok(odd_rows_rejected(rows)));
    }
}

#[test]
fn a_code_without_a_failure_is_malformed() {
    let _beside = beside_others();
    for (code, failures) in [(1, 0), (2, 1), (65_535, 1)] {
        let filter = format!(
            "(drop (call $reject_odd (local.get $rows) (i32.const {SCRATCH})))
             (i32.store16 (i32.const {}) (i32.const {code}))
             (call $by_row (i32.const {SCRATCH}) (local.get $rows) (i32.const 96) (i32.const {failures}))",
            SCRATCH + 2 * 99
        );
        faults_with(FaultKind::MalformedVerdict, &Guest::healthy().filter(filter));
    }
}

#[test]
fn a_failure_without_a_reason_is_malformed() {
    let _beside = beside_others();
    faults_with(FaultKind::MalformedVerdict, &reasons(0, 1));
}

#[test]
fn h11_failures_are_limited() {
    let _beside = beside_others();
    for (count, kept) in [(VERDICT_FAILURES, VERDICT_FAILURES), (VERDICT_FAILURES + 100, VERDICT_FAILURES + 1)] {
        let Verdict::ByRow(by_row) = is_accepted(&failures(count)) else { panic!("another verdict") };
        assert_eq!(by_row.failures().len(), kept, "{count} failures");
    }
    faults_with(FaultKind::OutputTooLarge, &failures(100_000));
}

#[test]
fn h11_reasons_are_limited() {
    let _beside = beside_others();
    let Verdict::FitsNone(failure) = is_accepted(&reasons(FAILURE_REASONS, REASON_BYTES)) else {
        panic!("another verdict")
    };
    assert_eq!(*failure.reasons, vec!["x".repeat(REASON_BYTES); FAILURE_REASONS]);
    for (count, bytes) in [
        (1, 2 * OUTPUT_BYTES),
        // A list of equal long texts: little memory in the guest, 6 GiB in a host that copies without a limit.
        (100_000, 65_536),
        // As many entries as the memory holds.
        (1_000_000, 1),
    ] {
        faults_with(FaultKind::OutputTooLarge, &reasons(count, bytes));
    }
}

/// A policy lowers what one call may hand over. The codes of the rows do not count.
#[test]
fn h11_the_output_that_a_policy_grants_binds_and_the_codes_of_rows_are_free() {
    let _beside = beside_others();
    const GRANTED: usize = 4 << 10;
    let module = |guest: &Guest, output_bytes| load(&guest.component(), Grants { output_bytes, ..grants() });
    let fault = call(&module(&reasons(8, REASON_BYTES), GRANTED)).expect_err("8 KiB of reasons");
    assert_eq!(fault.kind, FaultKind::OutputTooLarge, "{fault}");
    assert!(call(&module(&reasons(2, REASON_BYTES), GRANTED)).is_ok());
    assert!(call(&module(&reasons(8, REASON_BYTES), 4 * GRANTED)).is_ok());
    let rows = 100_000;
    let verdict = module(
        &Guest::healthy().filter(format!(
            "(drop (memory.grow (i32.const 10))) (call $reject_odd (local.get $rows) (i32.const {SCRATCH}))"
        )),
        GRANTED,
    )
    .filter(facts(rows), rows, None);
    assert!(verdict.is_ok(), "{verdict:?}");
}

#[test]
fn h22_reasons_that_are_too_long_or_too_many_are_cut_and_counted() {
    let _beside = beside_others();
    for (count, bytes) in [(FAILURE_REASONS + 1, 1), (1, REASON_BYTES + 1), (1, 500_000), (10_000, 10)] {
        let Verdict::FitsNone(failure) = is_accepted(&reasons(count, bytes)) else { panic!("another verdict") };
        assert!(failure.reasons.len() <= FAILURE_REASONS, "{count} reasons of {bytes} bytes");
        assert!(failure.reasons.iter().all(|reason| reason.len() <= REASON_BYTES), "{count} reasons of {bytes} bytes");
        let counted = if count == 1 { format!("({bytes} bytes)") } else { format!("and {} more", count - 15) };
        assert!(failure.reasons.iter().any(|reason| reason.contains(&counted)), "{:?}", failure.reasons);
    }
}

#[test]
fn h11_more_codes_than_a_call_may_hand_over_are_refused_unread() {
    let _beside = beside_others();
    let filter = format!(
        "(drop (memory.grow (i32.const 250)))
         (call $by_row (i32.const {SCRATCH}) (i32.const 4000000) (i32.const 96) (i32.const 1))"
    );
    faults_with(FaultKind::OutputTooLarge, &Guest::healthy().filter(filter));
}

#[test]
fn h11_lists_beyond_the_end_of_memory_are_malformed() {
    let _beside = beside_others();
    for (codes, count) in [(SCRATCH, u32::MAX), (0, 1 << 31), (131_072, 100), (131_071, 1), (u32::MAX, 2), (3, 100)] {
        // The last one is within memory but misaligned for 16-bit numbers.
        let filter = format!("(call $by_row (i32.const {codes}) (i32.const {count}) (i32.const 96) (i32.const 1))");
        faults_with(FaultKind::MalformedVerdict, &Guest::healthy().filter(filter));
    }
}

#[test]
fn h13_texts_beyond_the_end_of_memory_are_malformed() {
    let _beside = beside_others();
    for (at, bytes) in [(131_072_u32, 1_u32), (131_000, 73), (u32::MAX, 1), (0, u32::MAX), (u32::MAX, u32::MAX)] {
        let filter = format!(
            "(call $text (i32.const 112) (i32.const {at}) (i32.const {bytes}))
             (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))"
        );
        faults_with(FaultKind::MalformedVerdict, &Guest::healthy().filter(filter));
    }
}

#[test]
fn h13_a_reason_that_is_not_utf_8_is_malformed() {
    let _beside = beside_others();
    for (escaped, bytes) in [
        ("\\ff", 1),
        ("ok\\80", 3),
        // The first byte of a two-byte character.
        ("\\c3", 1),
        // A lone surrogate, an overlong slash, a code point above the maximum.
        ("\\ed\\a0\\80", 3),
        ("\\c0\\af", 2),
        ("\\f4\\90\\80\\80", 4),
    ] {
        faults_with(FaultKind::MalformedVerdict, &reason(escaped, bytes));
    }
    let Verdict::FitsNone(failure) = is_accepted(&reason("\\c3\\a9", 2)) else { panic!("another verdict") };
    assert_eq!(*failure.reasons, ["é".to_owned()]);
}

/// A guest with the healthy guest's codes that names the `count` rows in the list at `rows`; the list at 2048 has the
/// rows 0, 99 and 100.
fn naming(rows: u32, count: u32) -> Guest {
    Guest::healthy().definitions(r#"(data (i32.const 2048) "\00\00\00\00\63\00\00\00\64\00\00\00")"#).filter(format!(
        "(drop (memory.grow (i32.const 250)))
         (drop (call $reject_odd (local.get $rows) (i32.const {SCRATCH})))
         (call $named (i32.const {SCRATCH}) (local.get $rows) (i32.const 96) (i32.const 1)
           (i32.const {rows}) (i32.const {count}))"
    ))
}

#[test]
fn rows_that_are_named_must_be_in_the_batch() {
    let _beside = beside_others();
    let Verdict::ByRow(by_row) = is_accepted(&naming(2048, 2)) else { panic!("another verdict") };
    assert_eq!(by_row.named().map(|named| named.to_vec()), Some(vec![0, 99]));
    for (rows, count) in [(2048, 3), (0, u32::MAX), (16_777_216, 1), (2049, 1)] {
        faults_with(FaultKind::MalformedVerdict, &naming(rows, count));
    }
    faults_with(FaultKind::OutputTooLarge, &naming(65_536, 4_000_000));
}

#[test]
fn verdicts_of_no_kind_are_malformed() {
    let _beside = beside_others();
    // Invalid cases of a variant and of an enum, and invalid addresses.
    for filter in [
        "(i32.store8 (i32.const 64) (i32.const 4)) (i32.const 64)",
        "(i32.store8 (i32.const 64) (i32.const 255)) (i32.const 64)",
        "(call $fits_none (i32.const 3) (i32.const 112) (i32.const 1))",
        "(i32.const 131072)",
        "(i32.const -4)",
        "(i32.const 65)",
    ] {
        faults_with(FaultKind::MalformedVerdict, &Guest::healthy().filter(filter));
    }
}

#[test]
fn h22_control_characters_in_reasons_are_escaped() {
    let _beside = beside_others();
    let Verdict::FitsNone(failure) = is_accepted(&reason("\\1b[31mred\\0a\\00", 10)) else { panic!("another verdict") };
    let [reason] = &*failure.reasons else { panic!("one reason") };
    assert_eq!(reason, r"\u{1b}[31mred\n\u{0}");
}

#[test]
fn h22_a_refusal_is_shown_escaped_and_cut() {
    let _beside = beside_others();
    let fault = refused_in("configure", FaultKind::Configure, &Guest::healthy().refusal("args.depth: not a number"));
    assert_eq!(fault.detail, "args.depth: not a number");

    let long = "y".repeat(10 * FAULT_DETAIL_BYTES);
    let fault = refused_in("configure", FaultKind::Configure, &Guest::healthy().refusal(&long));
    assert!(fault.detail.len() <= FAULT_DETAIL_BYTES + '…'.len_utf8(), "{} bytes", fault.detail.len());
}

#[test]
fn a_description_that_is_none_is_refused() {
    let _beside = beside_others();
    for describe in ["(i32.const -4)", "(i32.store (i32.const 16) (i32.const 131072)) (i32.const 16)"] {
        refused_in("describe", FaultKind::Configure, &Guest::healthy().describe(describe));
    }
    let nonsense = Guest::healthy().configure("(i32.store8 (i32.const 48) (i32.const 2)) (i32.const 48)");
    refused_in("configure", FaultKind::Configure, &nonsense);
}
