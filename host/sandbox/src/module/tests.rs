//! Calls of a component that gives devices as the number of the row says, and scores as the number of rows says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::Runtime;
use crate::interface::NothingToRead;
use crate::wire::allocation::{Mapping, NewClaim, NewRequest, Pick};
use crate::wire::claims::NanoUnits;
use crate::wire::scoring::NO_SCORE;

const COMPONENT: &str = include_str!("tests/component.wat");

/// Rows of the batch.
const ROWS: u32 = 10;

fn loaded(text: &str, lifetime: Lifetime) -> (Runtime, Result<Module, LoadError>) {
    let runtime = Runtime::start(None).unwrap();
    let module = runtime.load(&wat::parse_str(text).unwrap(), Grants { lifetime, ..Grants::default() });
    (runtime, module)
}

fn allocated(module: &Module, row: u32) -> Result<Option<Allocation>, Fault> {
    module.allocate(Arc::new(NothingToRead), ROWS, row, None)
}

#[test]
fn what_a_guest_gives_crosses_whole() {
    let (_runtime, module) = loaded(COMPONENT, Lifetime::Reused);
    let module = module.unwrap();
    assert!(module.allocates());
    let memory = ("memory".to_owned(), NanoUnits::from((-1 << 64) + 6));
    let picks = vec![
        Pick { claim: 1, request: 2, alternative: 3, pool: 4, device: 5, share: None },
        Pick { claim: 6, request: 7, alternative: 8, pool: 9, device: 10, share: Some(vec![memory]) },
    ];
    let requests = vec![NewRequest { name: "r".to_owned(), class: "c".to_owned(), count: 2 }];
    let mappings = vec![Mapping { container: 11, resource: 12, request: "r".to_owned() }];
    let given = Allocation { picks, extended: Some(NewClaim { requests, mappings }) };
    assert_eq!(allocated(&module, 0), Ok(Some(given)));
    assert_eq!(allocated(&module, 1), Ok(None));
    assert_eq!(module.waiting(), 1, "the instance waits for the next call, of whichever function");
    let verdict = module.filter(Arc::new(NothingToRead), ROWS, None);
    assert!(matches!(verdict, Ok(Verdict::FitsAll)), "{verdict:?}");
    assert_eq!(module.waiting(), 1);
}

#[test]
fn a_fault_ends_one_call_and_the_next_has_a_fresh_instance() {
    for lifetime in [Lifetime::Reused, Lifetime::PerCall] {
        let (_runtime, module) = loaded(COMPONENT, lifetime);
        let module = module.unwrap();
        for (row, kind, detail) in [
            (2, FaultKind::Trap, "unreachable"),
            (3, FaultKind::Deadline, "used up its time"),
            (4, FaultKind::OutputTooLarge, "4097 devices"),
            (5, FaultKind::MalformedVerdict, "utf-8"),
            (6, FaultKind::OutputTooLarge, "fuel"),
            (7, FaultKind::Trap, "row sets"),
        ] {
            let fault = allocated(&module, row).unwrap_err();
            assert_eq!(fault.kind, kind, "{row}: {fault}");
            assert!(fault.detail.contains(detail), "{fault}");
            assert_eq!(allocated(&module, 1), Ok(None), "after {row}");
        }
        let passed = module.allocate(Arc::new(NothingToRead), ROWS, 0, Some(Instant::now()));
        assert_eq!(passed.unwrap_err().kind, FaultKind::RequestDeadline);
    }
}

#[test]
fn an_allocator_has_the_types_of_the_contract_or_is_none() {
    let with = |from: &str, to: &str| {
        assert!(COMPONENT.contains(from), "{from}");
        loaded(&COMPONENT.replace(from, to), Lifetime::Reused)
    };
    for (from, to, reason) in [
        (r#"(field "device" u32)"#, r#"(field "devices" u32)"#, "allocate: "),
        (r#"(export "allocate" (func $allocate))"#, "", "allocator@0.2.0 lacks the function `allocate`"),
    ] {
        match with(from, to).1 {
            Err(LoadError::Contract(text)) => assert!(text.contains(reason), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    // As if it were not there.
    let (_runtime, module) = with("predicate/allocator@0.2.0", "predicate/allocator@0.3.0");
    let module = module.unwrap();
    assert!(!module.allocates());
    assert_eq!(allocated(&module, 0).unwrap_err().kind, FaultKind::Unsupported);
    assert!(module.filter(Arc::new(NothingToRead), ROWS, None).is_ok());
}

fn scored(module: &Module, rows: u32) -> Result<Scores, Fault> {
    module.score(Arc::new(NothingToRead), rows, None)
}

#[test]
fn scores_cross_whole() {
    let (_runtime, module) = loaded(COMPONENT, Lifetime::Reused);
    let module = module.unwrap();
    assert_eq!(module.normalization(), Some(Normalization::ByRange));
    assert_eq!(scored(&module, 0), Ok(Scores::Skip));
    assert_eq!(scored(&module, 1), Ok(Scores::Failed("A".to_owned())));
    assert_eq!(scored(&module, 2), Ok(Scores::ByRow(vec![7, NO_SCORE])));
    // Beside 8 bytes for each row, a call may pass as much to the host as any other.
    assert_eq!(scored(&module, 300_000), Ok(Scores::ByRow(vec![0; 300_000])));
    assert_eq!(module.waiting(), 1, "the instance waits for the next call, of whichever function");
}

#[test]
fn a_fault_of_scores_ends_one_call_and_the_next_has_a_fresh_instance() {
    for lifetime in [Lifetime::Reused, Lifetime::PerCall] {
        let (_runtime, module) = loaded(COMPONENT, lifetime);
        let module = module.unwrap();
        for (rows, kind, detail) in [
            (3, FaultKind::Trap, "unreachable"),
            (4, FaultKind::Deadline, "used up its time"),
            (5, FaultKind::Trap, "row sets"),
            (6, FaultKind::MalformedVerdict, "5 scores for 6 rows"),
            (7, FaultKind::OutputTooLarge, "fuel"),
        ] {
            let fault = scored(&module, rows).unwrap_err();
            assert_eq!(fault.kind, kind, "{rows}: {fault}");
            assert!(fault.detail.contains(detail), "{fault}");
            assert_eq!(scored(&module, 0), Ok(Scores::Skip), "after {rows}");
        }
        let passed = module.score(Arc::new(NothingToRead), 2, Some(Instant::now()));
        assert_eq!(passed.unwrap_err().kind, FaultKind::RequestDeadline);
    }
}

#[test]
fn a_scorer_has_the_types_of_the_contract_or_is_none() {
    let with = |from: &str, to: &str| {
        assert!(COMPONENT.contains(from), "{from}");
        loaded(&COMPONENT.replace(from, to), Lifetime::Reused)
    };
    for (from, to, reason) in [
        (r#"(case "by-row" (list s64))"#, r#"(case "by-row" (list u64))"#, "score: "),
        (r#""by-range" "by-distance""#, r#""by-range""#, "normalize-by: "),
        (r#"(export "normalize-by" (func $normalize-by))"#, "", "scorer@0.2.0 lacks the function `normalize-by`"),
    ] {
        match with(from, to).1 {
            Err(LoadError::Contract(text)) => assert!(text.contains(reason), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    match with(
        r#"(func (export "normalize-by") (result i32) (i32.const 3))"#,
        r#"(func (export "normalize-by") (result i32) unreachable)"#,
    )
    .1
    {
        Err(LoadError::Step { step, fault }) => assert_eq!((step, fault.kind), ("normalize-by", FaultKind::Trap)),
        other => panic!("{other:?}"),
    }
    // As if it were not there.
    let (_runtime, module) = with("predicate/scorer@0.2.0", "predicate/scorer@0.3.0");
    let module = module.unwrap();
    assert_eq!(module.normalization(), None);
    assert_eq!(scored(&module, 0).unwrap_err().kind, FaultKind::Unsupported);
    assert!(module.filter(Arc::new(NothingToRead), ROWS, None).is_ok());
}
