//! Guests that write to the log: escapes, long and many lines, what is no text; and that no line changes a verdict.

use std::sync::Arc;
use std::time::Instant;

use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::{LOG_LINE_BYTES, LOG_LINES, LOG_PERIOD};
use nodesift_sandbox::{Grants, Interface, Level, Lifetime, Line, Module, Verdict};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;

use crate::arena::{ROWS, default_grants, facts, grants, healthy_answers_are_right, load, odd_rows_rejected};

const IMPORT: &str = r#"(import "nodesift:predicate/log@0.2.0" "write" (func $write (param i32 i32 i32)))"#;

/// A guest that writes, and rejects odd rows as the healthy one does. `text` is as in WebAssembly text.
fn writing(text: &str, calls: &str) -> Guest {
    let reject = "(call $reject_odd (local.get $rows) (i32.const 4096))";
    Guest::healthy()
        .imports(IMPORT)
        .definitions(format!(r#"(data (i32.const 2048) "{text}")"#))
        .filter(format!("{calls} {reject}"))
}

/// `count` calls with a text of `bytes` bytes at `at`.
fn lines(count: usize, at: usize, bytes: usize) -> String {
    format!(
        "(loop $next
           (call $write (i32.const 2) (i32.const {at}) (i32.const {bytes}))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br_if $next (i32.lt_u (local.get $i) (i32.const {count}))))"
    )
}

fn called(module: &Module) -> (Result<Verdict, Fault>, Vec<Line>) {
    let mut lines = Vec::new();
    let outcome = module.filter_logging(facts(ROWS), ROWS, None, &mut lines);
    (outcome, lines)
}

/// The lines of one call, which must have the verdict of the healthy guest.
fn written(guest: &Guest) -> Vec<Line> {
    let (outcome, lines) = called(&load(&guest.component(), grants()));
    assert_eq!(outcome, Ok(odd_rows_rejected(ROWS)));
    healthy_answers_are_right();
    lines
}

fn texts(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}

#[test]
fn h22_lines_are_escaped_and_have_their_level() {
    let _beside = beside_others();
    for (level, expected) in [Level::Debug, Level::Info, Level::Warn, Level::Error].into_iter().enumerate() {
        let guest = writing("hello", &format!("(call $write (i32.const {level}) (i32.const 2048) (i32.const 5))"));
        assert_eq!(written(&guest), [Line { level: expected, text: "hello".to_owned() }]);
    }
    let forged = writing(r"\1b[2J\0aERROR forged\0d\c2\9b", &lines(1, 2048, 20));
    assert_eq!(texts(written(&forged)), [r"\u{1b}[2J\nERROR forged\r\u{9b}"]);
    assert_eq!(texts(written(&writing("", &lines(1, 2048, 0)))), [""]);
}

#[test]
fn h22_a_line_of_a_mebibyte_is_cut_and_says_how_long_it_was() {
    let _beside = beside_others();
    let fill =
        "(drop (memory.grow (i32.const 20))) (memory.fill (i32.const 131072) (i32.const 120) (i32.const 1048576))";
    for (bytes, is_cut) in [(LOG_LINE_BYTES, false), (LOG_LINE_BYTES + 1, true), (1 << 20, true)] {
        let [line] = texts(written(&writing("", &format!("{fill} {}", lines(1, 131_072, bytes))))).try_into().unwrap();
        assert!(line.len() <= LOG_LINE_BYTES, "{} bytes", line.len());
        assert_eq!(line.ends_with(&format!("… ({bytes} bytes)")), is_cut, "{line}");
    }
}

#[test]
fn h22_of_ten_thousand_lines_ten_in_a_second_are_written_and_the_others_counted() {
    let _beside = beside_others();
    const LINES: usize = 10_000;
    for lifetime in [Lifetime::PerCall, Lifetime::Reused] {
        let module = load(&writing("a", &lines(LINES, 2048, 1)).component(), Grants { lifetime, ..grants() });
        let since = Instant::now();
        let mut all = 0;
        for _ in 0..5 {
            let (outcome, lines) = called(&module);
            assert_eq!(outcome, Ok(odd_rows_rejected(ROWS)));
            all += lines.len();
        }
        let periods = usize::try_from(since.elapsed().as_secs() / LOG_PERIOD.as_secs()).unwrap() + 2;
        let most = LOG_LINES as usize * periods;
        assert!(all >= LOG_LINES as usize && all <= most, "{all} lines within {:?}", since.elapsed());
        assert_eq!(module.log_counts(), (all as u64, (5 * LINES - all) as u64));
    }
    healthy_answers_are_right();
}

#[test]
fn h22_what_is_no_text_is_no_fault_whether_or_not_there_is_room_for_a_line() {
    let _beside = beside_others();
    let guest = writing(r"\ff\fe\c0", &lines(3 * LOG_LINES as usize, 2048, 3));
    let lines_written = texts(written(&guest));
    assert!(!lines_written.is_empty() && lines_written.iter().all(|line| line == "a line that is not text"));
    // An address beyond the memory, and a level that there is not, break the component model: always.
    for broken in ["(i32.const 2) (i32.const -8) (i32.const 16)", "(i32.const 9) (i32.const 2048) (i32.const 1)"] {
        for before in [String::new(), lines(5 * LOG_LINES as usize, 2048, 1)] {
            let module = load(&writing("a", &format!("{before} (call $write {broken})")).component(), grants());
            for _ in 0..2 {
                let (outcome, _) = called(&module);
                assert!(outcome.is_err(), "{broken}: {outcome:?}");
            }
        }
    }
    healthy_answers_are_right();
}

#[test]
fn lines_before_a_fault_are_there_and_a_guest_that_only_writes_ends_at_its_deadline() {
    let _beside = beside_others();
    let trapping = writing("last words", &format!("{} (unreachable)", lines(1, 2048, 10)));
    let (outcome, lines_written) = called(&load(&trapping.component(), grants()));
    assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::Trap));
    assert_eq!(texts(lines_written), ["last words"]);
    let endless = writing("a", "(loop $next (call $write (i32.const 1) (i32.const 2048) (i32.const 1)) (br $next))");
    let (outcome, lines_written) = called(&load(&endless.component(), default_grants()));
    assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::Deadline));
    assert!(lines_written.len() <= 2 * LOG_LINES as usize, "{}", lines_written.len());
    healthy_answers_are_right();
}

#[test]
fn lines_can_be_written_at_any_time_and_those_of_one_call_are_not_in_the_next() {
    let _beside = beside_others();
    // In `describe` and `configure` too, where facts trap.
    let write = |level: u8| format!("(call $write (i32.const {level}) (i32.const 2048) (i32.const 1))");
    let guest = writing("a", &write(3))
        .describe(format!("{} (i32.const 16)", write(0)))
        .configure(format!("{} (i32.const 48)", write(1)));
    let module = load(&guest.component(), grants());
    let (outcome, lines_written) = called(&module);
    assert_eq!(outcome, Ok(odd_rows_rejected(ROWS)));
    let levels: Vec<Level> = lines_written.into_iter().map(|line| line.level).collect();
    assert_eq!(levels, [Level::Info, Level::Error], "those of the instance that was made for the call");
    let reused = load(&guest.component(), Grants { lifetime: Lifetime::Reused, ..grants() });
    for _ in 0..2 {
        let (_, lines_written) = called(&reused);
        assert_eq!(lines_written.len(), 1);
    }
}

#[test]
fn lines_that_nobody_wants_are_neither_counted_nor_taken_from_those_of_others() {
    let _beside = beside_others();
    let configure = "(call $write (i32.const 2) (i32.const 2048) (i32.const 1)) (i32.const 48)";
    let guest = writing("a", &lines(LOG_LINES as usize, 2048, 1)).configure(configure);
    for lifetime in [Lifetime::PerCall, Lifetime::Reused] {
        // Loading has configured an instance.
        let module = load(&guest.component(), Grants { lifetime, ..grants() });
        assert_eq!(module.log_counts(), (0, 0));
        for _ in 0..3 {
            assert_eq!(module.filter(facts(ROWS), ROWS, None), Ok(odd_rows_rejected(ROWS)));
        }
        assert_eq!(module.log_counts(), (0, 0));
        let (_, lines_written) = called(&module);
        assert_eq!(lines_written.len(), LOG_LINES as usize);
        assert_eq!(module.filter(facts(ROWS), ROWS, None), Ok(odd_rows_rejected(ROWS)));
        let written = module.log_counts();
        let (_, lines_written) = called(&module);
        assert!(lines_written.len() <= LOG_LINES as usize);
        assert!(module.log_counts() > written);
    }
}

#[test]
fn writing_is_no_fact_and_needs_no_permission_of_the_policy() {
    let _beside = beside_others();
    let component = writing("a", &lines(1, 2048, 1)).component();
    for allow in [vec![], vec![Interface::PodLabels], vec![Interface::Log]] {
        let module = load(&component, Grants { allow: Some(allow), ..grants() });
        assert_eq!(module.imports(), [Interface::Log]);
    }
    let module = load(&component, Grants { allow: Some(vec![]), ..grants() });
    assert!(!module.is_cluster_wide() && !Interface::Log.depends_on_pods_on_nodes());
    // The same without a line.
    let silent = load(&Guest::healthy().component(), grants());
    let verdicts = [&module, &silent].map(|module| module.filter(Arc::clone(&facts(ROWS)), ROWS, None));
    assert_eq!(verdicts[0], verdicts[1]);
}
