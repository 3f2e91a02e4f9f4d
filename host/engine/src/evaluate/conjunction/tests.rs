//! The conjunction compared with a slow model: per row, a loop over the predicates in policy order.
#![allow(clippy::indexing_slicing, clippy::print_stdout, clippy::cast_possible_truncation)]

use nodesift_sandbox::{Code, Codes, RowVerdict};

use super::super::predicate_verdict::Scope;
use super::*;

/// Rows per conjunction. The largest has more than one chunk of codes.
const ROWS: [usize; 5] = [0, 1, 63, 200, 1100];

fn failure(random: &mut fastrand::Rng) -> Failure {
    let code = match random.u8(..10) {
        0 => Code::Error,
        1..5 => Code::UnschedulableAndUnresolvable,
        _ => Code::Unschedulable,
    };
    Failure { code, reasons: [format!("reason {}", random.u8(..4))].into() }
}

fn verdict(random: &mut fastrand::Rng, rows: usize) -> Verdict {
    match random.u8(..8) {
        0 => Verdict::FitsAll,
        1 => Verdict::FitsNone(failure(random)),
        _ => {
            let failures: Vec<Failure> = (0..random.usize(1..4)).map(|_| failure(random)).collect();
            let density = random.u16(1..60);
            let code = |random: &mut fastrand::Rng| {
                if random.u16(..60) < density { random.u16(1..=failures.len() as u16) } else { 0 }
            };
            let codes: Vec<u16> = (0..rows).map(|_| code(random)).collect();
            let named = random.u8(..6) == 0;
            let named = named.then(|| (0..rows as u32).filter(|_| random.bool()).collect());
            Verdict::ByRow(RowVerdict::new(Codes::from(codes), failures.into(), named))
        }
    }
}

fn verdicts(random: &mut fastrand::Rng, rows: usize) -> Vec<PredicateVerdict> {
    let verdict = |at: usize, verdict: Verdict| PredicateVerdict {
        predicate: format!("predicate {at}").into(),
        verdict: Arc::new(verdict),
        scope: Scope::AllRows,
    };
    (0..random.usize(1..5)).map(|at| verdict(at, self::verdict(random, rows))).collect()
}

/// The verdicts with some codes of one predicate changed.
fn changed(random: &mut fastrand::Rng, verdicts: &[PredicateVerdict], rows: usize) -> Vec<PredicateVerdict> {
    let mut changed = verdicts.to_vec();
    let at = random.usize(..changed.len());
    if let Verdict::ByRow(by_row) = &*verdicts[at].verdict {
        let mut places: Vec<usize> = (0..random.usize(..4)).map(|_| random.usize(..rows.max(1))).collect();
        places.retain(|place| *place < rows);
        places.sort_unstable();
        places.dedup();
        let changes: Vec<(usize, u16)> =
            places.into_iter().map(|place| (place, random.u16(..=by_row.failures().len() as u16))).collect();
        let codes = by_row.codes().with(rows, &changes);
        let by_row = RowVerdict::new(codes, Arc::clone(by_row.failures()), by_row.named().cloned());
        changed[at].verdict = Arc::new(Verdict::ByRow(by_row));
    }
    changed
}

/// Per row of the batch, the predicate that rejects it and its failure.
type Model = Vec<(Row, Option<(Arc<str>, Code, Vec<String>)>)>;

fn model(verdicts: &[PredicateVerdict], batch: &[Row]) -> Model {
    let failure = |row: &Row| {
        let first = verdicts.iter().find_map(|verdict| {
            verdict.verdict.failure_at(row.index()).map(|failure| (Arc::clone(&verdict.predicate), failure))
        });
        first.map(|(predicate, failure)| (predicate, failure.code, failure.reasons.to_vec()))
    };
    let mut rows: Model = batch.iter().map(|row| (*row, failure(row))).collect();
    rows.sort_by_key(|(row, _)| *row);
    rows
}

fn shown(conjunction: &Conjunction) -> Model {
    let mut rows: Model = conjunction.feasible().iter().map(|row| (row, None)).collect();
    for group in conjunction.failures().iter() {
        let failure = (Arc::clone(&group.predicate), group.code, group.reasons.to_vec());
        rows.extend(group.rows.iter().map(|row| (row, Some(failure.clone()))));
    }
    rows.sort_by_key(|(row, _)| *row);
    rows
}

/// The parts of the conjunction that depend on more than the rows.
fn summary(conjunction: &Conjunction) -> (usize, Cycle, Option<String>, Vec<FailureGroup>) {
    let message = conjunction.message().map(|message| message.to_string());
    (conjunction.rows(), conjunction.cycle(), message, conjunction.failures().to_vec())
}

fn all(rows: usize) -> Vec<Row> {
    (0..rows as u32).map(Row).collect()
}

#[test]
fn random_conjunctions_agree_with_a_loop_over_rows_and_predicates() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..400 {
        let rows = ROWS[random.usize(..ROWS.len())];
        let verdicts = verdicts(&mut random, rows);
        let conjunction = Conjunction::new(verdicts.clone(), &Batch::All, rows);
        assert_eq!(shown(&conjunction), model(&verdicts, &all(rows)));

        let mut subset: Vec<Row> = all(rows).into_iter().filter(|_| random.bool()).collect();
        random.shuffle(&mut subset);
        let subset: Arc<[Row]> = subset.into();
        let of_subset = Conjunction::new(verdicts.clone(), &Batch::Rows(Arc::clone(&subset)), rows);
        assert_eq!(shown(&of_subset), model(&verdicts, &subset), "over a subset");
        let cut = conjunction.over(&subset);
        assert_eq!(shown(&cut), shown(&of_subset), "cut to a subset");
        assert_eq!(summary(&cut), summary(&of_subset), "cut to a subset");
    }
}

#[test]
fn patched_conjunctions_equal_new_ones() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut patches = 0;
    for _ in 0..400 {
        let rows = ROWS[random.usize(..ROWS.len())];
        let mut verdicts = verdicts(&mut random, rows);
        let mut conjunction = Conjunction::new(verdicts.clone(), &Batch::All, rows);
        for _ in 0..5 {
            verdicts = changed(&mut random, &verdicts, rows);
            let new = Conjunction::new(verdicts.clone(), &Batch::All, rows);
            let patched = conjunction.patched(&verdicts, rows);
            patches += usize::from(patched.is_some());
            conjunction = patched.unwrap_or_else(|| new.clone());
            assert_eq!(shown(&conjunction), shown(&new));
            assert_eq!(summary(&conjunction), summary(&new));
        }
    }
    assert!(patches > 500, "only {patches} patches");
}

#[test]
fn rejections_beyond_the_verdicts_replace_the_failure_of_their_row() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..200 {
        let rows = 200;
        let verdicts = verdicts(&mut random, rows);
        let conjunction = Conjunction::new(verdicts.clone(), &Batch::All, rows);
        let mut expected = model(&verdicts, &all(rows));
        let mut rejections = Vec::new();
        for row in all(rows) {
            if random.u8(..20) != 0 {
                continue;
            }
            let (predicate, failure) = (random.usize(..verdicts.len()), failure(&mut random));
            let name = Arc::clone(&verdicts[predicate].predicate);
            expected[row.index()].1 = Some((name, failure.code, failure.reasons.to_vec()));
            rejections.push(Rejection { place: row.index(), row, predicate, failure });
        }
        assert_eq!(shown(&conjunction.with_rejections(&rejections, &Batch::All, rows)), expected);
    }
}

#[test]
fn an_error_outside_the_batch_does_not_abort_the_cycle() {
    let error = Failure { code: Code::Error, reasons: ["broken".to_owned()].into() };
    let by_row = RowVerdict::new(Codes::from(vec![0, 1]), [error].into(), None);
    let verdict = PredicateVerdict {
        predicate: "predicate".into(),
        verdict: Arc::new(Verdict::ByRow(by_row)),
        scope: Scope::AllRows,
    };
    let cycle = |rows: &[Row]| Conjunction::new(vec![verdict.clone()], &Batch::Rows(rows.into()), 2).cycle();
    assert_eq!(cycle(&[Row(0)]), Cycle::EachNode);
    assert_eq!(cycle(&[Row(1)]), Cycle::Aborted);
    assert_eq!(cycle(&[Row(0), Row(1)]), Cycle::Aborted);
}

/// A verdict of the predicate of this name over all rows.
fn verdict_of(predicate: &str, verdict: Verdict) -> PredicateVerdict {
    PredicateVerdict { predicate: predicate.into(), verdict: Arc::new(verdict), scope: Scope::AllRows }
}

/// Rejects, of three rows, all but those that it names.
fn naming(predicate: &str, named: &[u32]) -> PredicateVerdict {
    let failure = Failure { code: Code::UnschedulableAndUnresolvable, reasons: [format!("not {predicate}")].into() };
    let codes = (0..3).map(|row| u16::from(!named.contains(&row))).collect::<Vec<_>>();
    verdict_of(predicate, Verdict::ByRow(RowVerdict::new(codes.into(), [failure].into(), Some(named.into()))))
}

fn rejecting(predicate: &str, code: Code) -> PredicateVerdict {
    verdict_of(predicate, Verdict::FitsNone(Failure { code, reasons: [format!("by {predicate}")].into() }))
}

fn errors_on(predicate: &str, row: usize) -> PredicateVerdict {
    let failure = Failure { code: Code::Error, reasons: ["broken".to_owned()].into() };
    let codes = (0..3).map(|at| u16::from(at == row)).collect::<Vec<_>>();
    verdict_of(predicate, Verdict::ByRow(RowVerdict::new(codes.into(), [failure].into(), None)))
}

#[test]
fn the_cycle_and_its_message_follow_pre_filter_in_policy_order() {
    let (unschedulable, unresolvable) = (Code::Unschedulable, Code::UnschedulableAndUnresolvable);
    let simultaneously = "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously";
    let unnamed = "3 node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]";
    let cases: [(Vec<PredicateVerdict>, Cycle, &str); 9] = [
        (vec![naming("NodeName", &[0]), naming("NodeAffinity", &[1])], Cycle::Rejected, simultaneously),
        (vec![naming("NodeName", &[]), naming("NodeAffinity", &[1])], Cycle::Rejected, simultaneously),
        (vec![naming("NodeName", &[]), naming("NodeAffinity", &[])], Cycle::NamedNodes, unnamed),
        // What preemption does not change ends it, and nothing later counts.
        (vec![rejecting("a", unresolvable), rejecting("b", Code::Error)], Cycle::Rejected, "by a"),
        (vec![rejecting("a", Code::Error), rejecting("b", unresolvable)], Cycle::Aborted, "by a"),
        // Of others the last one counts.
        (vec![rejecting("a", unschedulable), rejecting("b", unschedulable)], Cycle::Rejected, "by b"),
        (vec![rejecting("a", unschedulable), rejecting("b", Code::Error)], Cycle::Aborted, "by b"),
        // Filters do not run where PreFilter rejects, nor on nodes that are not named.
        (vec![errors_on("a", 1), rejecting("b", unschedulable)], Cycle::Rejected, "by b"),
        (
            vec![naming("NodeName", &[0]), errors_on("a", 1), errors_on("b", 0)],
            Cycle::Aborted,
            "1 broken, 2 node(s) didn't satisfy plugin(s) [NodeName]",
        ),
    ];
    for (number, (verdicts, cycle, reasons)) in cases.into_iter().enumerate() {
        let conjunction = Conjunction::new(verdicts, &Batch::All, 3);
        assert_eq!(conjunction.cycle(), cycle, "case {number}");
        let message = format!("0/3 nodes are available: {reasons}.");
        assert_eq!(conjunction.message().map(|message| &**message), Some(message.as_str()), "case {number}");
    }
    let behind = Conjunction::new(vec![naming("NodeName", &[0]), errors_on("a", 1)], &Batch::All, 3);
    assert_eq!(behind.cycle(), Cycle::NamedNodes, "an error behind another rejection, on a node that is not named");
}
