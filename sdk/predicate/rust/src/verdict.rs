//! Verdicts and how to make them. [`VerdictBuilder`] takes one row after the other. [`Verdict::by_pattern`] takes a
//! column of bit patterns, which is faster.
//!
//! Both make the same verdict in its smallest form: `FitsAll` where no row fails, and every failure once. What the host would
//! refuse for its size is cut ([`Verdict::bounded`]): reasons that are too long, and failures beyond those that fit, of which
//! only the status is left.

use std::collections::BTreeMap;

pub use crate::bindings::exports::nodesift::predicate::predicate::{Failure, Outcome, Status, Verdict};
use crate::kernels;

/// A code that no failure has: there are at most [`FAILURES`].
const UNKNOWN: u16 = u16::MAX;

/// Bytes of one reason that the host accepts uncut.
const REASON_BYTES: usize = 1024;

/// Failures in one verdict that the host accepts.
const FAILURES: usize = 4096;

/// Failures that stand for those that do not fit: one per status.
const STATUSES: usize = 3;

/// Bytes of all failures of one verdict. The host accepts a megabyte, named rows included.
const FAILURE_BYTES: usize = 768 << 10;

/// Bytes that the host counts for a failure and for a reason besides their texts, at most.
const ENTRY_BYTES: usize = 32;

/// Least bytes that must be left for a failure to be cut rather than left out.
const CUT_BYTES: usize = 8 * REASON_BYTES;

/// The reason of failures that do not fit.
const LEFT_OUT: &str = "reasons left out: the verdict has too many different ones";

/// The maximum number of distinct patterns that are handled with one pass over the rows each. The rest are looked up
/// row by row.
const FEW_PATTERNS: usize = 8;

/// Why a verdict does not match its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalformedVerdict {
    /// This number of codes, which is not the number of rows.
    Length(usize),
    /// A code without a failure.
    Code(u16),
}

impl Failure {
    /// A failure that preempting pods may resolve.
    #[must_use]
    pub fn unschedulable(reason: impl Into<String>) -> Self {
        Self { status: Status::Unschedulable, reasons: vec![reason.into()] }
    }

    /// A failure that preempting pods does not resolve.
    #[must_use]
    pub fn unresolvable(reason: impl Into<String>) -> Self {
        Self { status: Status::UnschedulableAndUnresolvable, reasons: vec![reason.into()] }
    }

    /// The node cannot be evaluated because an object that is needed is missing or invalid. The reason names the
    /// object.
    #[must_use]
    pub fn error(reason: impl Into<String>) -> Self {
        Self { status: Status::Error, reasons: vec![reason.into()] }
    }

    /// Adds another reason to the failure.
    #[must_use]
    pub fn and(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }
}

/// Room for the failures of one verdict.
#[derive(Debug)]
struct Room {
    failures: usize,
    bytes: usize,
}

impl Room {
    fn new() -> Self {
        Self { failures: FAILURES - STATUSES, bytes: FAILURE_BYTES }
    }

    /// The failure that takes the place of this one: the same where it fits; with fewer and shorter reasons where these
    /// fit; otherwise only its status.
    fn admit(&mut self, mut failure: Failure) -> Failure {
        failure.reasons.iter_mut().for_each(cut_reason);
        let cost = |reason: &String| ENTRY_BYTES + reason.len();
        let whole = failure.reasons.iter().map(cost).sum::<usize>() + ENTRY_BYTES;
        if self.failures == 0 || whole > self.bytes && self.bytes < CUT_BYTES {
            return Failure { status: failure.status, reasons: vec![LEFT_OUT.into()] };
        }
        self.failures -= 1;
        if whole > self.bytes {
            // Room for the failure itself and for the last reason, which counts the others.
            let mut left = self.bytes - 4 * ENTRY_BYTES;
            let fits = |reason: &&String| {
                let fits = cost(reason) <= left;
                left -= if fits { cost(reason) } else { left };
                fits
            };
            let kept = failure.reasons.iter().take_while(fits).count();
            let others = failure.reasons.len() - kept;
            failure.reasons.truncate(kept);
            failure.reasons.push(format!("and {others} more reasons"));
            self.bytes = 0;
        } else {
            self.bytes -= whole;
        }
        failure
    }
}

/// Cuts a reason that is too long, and says how long it was.
fn cut_reason(reason: &mut String) {
    if reason.len() > REASON_BYTES {
        let rest = format!("… ({} bytes)", reason.len());
        reason.truncate(reason.floor_char_boundary(REASON_BYTES - rest.len()));
        reason.push_str(&rest);
    }
}

impl Outcome {
    fn bounded(self) -> Self {
        let Self { mut codes, failures } = self;
        let mut room = Room::new();
        let mut kept: Vec<Failure> = Vec::new();
        let mut code_of: BTreeMap<Failure, u16> = BTreeMap::new();
        let mut new_codes = vec![0];
        for failure in failures {
            let failure = room.admit(failure);
            let next = u16::try_from(kept.len() + 1).unwrap_or(UNKNOWN);
            let code = *code_of.entry(failure.clone()).or_insert(next);
            if code == next {
                kept.push(failure);
            }
            new_codes.push(code);
        }
        for code in &mut codes {
            // A code without a failure stays one: the host refuses it.
            *code = new_codes.get(usize::from(*code)).copied().unwrap_or(UNKNOWN);
        }
        Self { codes, failures: kept }
    }

    /// Whether nothing has to be cut.
    fn is_bounded(&self) -> bool {
        let is_short = |reason: &String| reason.len() <= REASON_BYTES;
        let bytes = |failure: &Failure| {
            ENTRY_BYTES + failure.reasons.iter().map(|reason| ENTRY_BYTES + reason.len()).sum::<usize>()
        };
        self.failures.len() <= FAILURES - STATUSES
            && self.failures.iter().all(|failure| failure.reasons.iter().all(is_short))
            && self.failures.iter().map(bytes).sum::<usize>() <= FAILURE_BYTES
    }
}

impl Verdict {
    /// The verdict with its reasons cut to what the host accepts. [`export!`](crate::export) returns every verdict so; a row
    /// never fits because of it, nor does its status change.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::FitsAll => Self::FitsAll,
            Self::FitsNone(failure) => Self::FitsNone(Room::new().admit(failure)),
            Self::ByRow(outcome) if outcome.is_bounded() => Self::ByRow(outcome),
            Self::ByRow(outcome) => Self::ByRow(outcome.bounded()),
            Self::Named((outcome, rows)) if outcome.is_bounded() => Self::Named((outcome, rows)),
            Self::Named((outcome, rows)) => Self::Named((outcome.bounded(), rows)),
        }
    }

    /// The verdict for rows with these patterns, one per row; pattern 0 fits. `failure` returns the failure for any
    /// other pattern. It is called once per distinct pattern.
    #[must_use]
    pub fn by_pattern(patterns: &[u8], mut failure: impl FnMut(u8) -> Failure) -> Self {
        let bits = kernels::union(patterns);
        if bits == 0 {
            return Self::FitsAll;
        }
        if bits.is_power_of_two() {
            // There is one failure: every pattern is that bit, or 0.
            return Self::from_codes(kernels::codes_of_marked(patterns), vec![failure(bits)]);
        }
        let mut row = 0;
        let mut failures = Vec::new();
        let mut codes = vec![0; patterns.len()];
        let mut left = patterns.to_vec();
        for _ in 0..FEW_PATTERNS {
            match kernels::first_marked(&left, row) {
                Some(marked) => row = marked,
                None => return Self::from_codes(codes, failures),
            }
            let pattern = left[row];
            kernels::assign_code(&mut codes, &mut left, pattern, intern(&mut failures, failure(pattern)));
        }
        let mut code_of = [UNKNOWN; 256];
        kernels::update(&mut codes, &left, |code, pattern| {
            if pattern == 0 {
                return code;
            }
            let code = &mut code_of[usize::from(pattern)];
            if *code == UNKNOWN {
                *code = intern(&mut failures, failure(pattern));
            }
            *code
        });
        Self::from_codes(codes, failures)
    }

    /// The failure of each row, none where it fits; one entry per row.
    ///
    /// # Errors
    ///
    /// Where the verdict does not match a batch of `rows` rows.
    pub fn failures(&self, rows: usize) -> Result<Vec<Option<&Failure>>, MalformedVerdict> {
        let outcome = match self {
            Self::FitsAll => return Ok(vec![None; rows]),
            Self::FitsNone(failure) => return Ok(vec![Some(failure); rows]),
            Self::ByRow(outcome) | Self::Named((outcome, _)) => outcome,
        };
        if outcome.codes.len() != rows {
            return Err(MalformedVerdict::Length(outcome.codes.len()));
        }
        let failure = |code: &u16| match usize::from(*code).checked_sub(1) {
            None => Ok(None),
            Some(index) => outcome.failures.get(index).map(Some).ok_or(MalformedVerdict::Code(*code)),
        };
        outcome.codes.iter().map(failure).collect()
    }

    /// This verdict, plus the rows of the nodes that PreFilter selects by name. Only a verdict by row is changed.
    #[must_use]
    pub fn with_named_rows(self, rows: Vec<u32>) -> Self {
        match self {
            Self::ByRow(outcome) => Self::Named((outcome, rows)),
            other => other,
        }
    }

    /// The smallest verdict with these codes. Every failure must be used by a code.
    fn from_codes(codes: Vec<u16>, failures: Vec<Failure>) -> Self {
        if failures.is_empty() { Self::FitsAll } else { Self::ByRow(Outcome { codes, failures }) }
    }
}

/// Builds a verdict row by row. Rows fit unless they are rejected.
#[derive(Debug)]
pub struct VerdictBuilder {
    codes: Vec<u16>,
    /// Every failure so far with its code.
    failures: BTreeMap<Failure, Code>,
    room: Room,
}

/// The code of a failure in a [`VerdictBuilder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(u16);

impl Code {
    /// The number that stands for it in a verdict.
    pub(crate) fn number(self) -> u16 {
        self.0
    }
}

impl VerdictBuilder {
    /// A builder for `rows` rows, all of which fit so far.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self { codes: vec![0; rows], failures: BTreeMap::new(), room: Room::new() }
    }

    /// Rejects a row that has not been rejected so far. Equal failures are stored once.
    ///
    /// # Panics
    ///
    /// Where the batch has no such row. Inside a component this is a trap, so the mistake does not make a row fit.
    pub fn reject(&mut self, row: usize, failure: Failure) {
        let code = self.code(failure);
        self.reject_as(row, code);
    }

    /// The code of a failure, for repeated use with [`reject_as`](Self::reject_as). Use the code for at least one row:
    /// a verdict must not contain unused failures. Where the failures so far leave no room for this one, the code is that of
    /// its status alone.
    pub fn code(&mut self, mut failure: Failure) -> Code {
        failure.reasons.iter_mut().for_each(cut_reason);
        if let Some(code) = self.failures.get(&failure) {
            return *code;
        }
        let failure = self.room.admit(failure);
        let next = Code(u16::try_from(self.failures.len() + 1).unwrap_or(UNKNOWN));
        *self.failures.entry(failure).or_insert(next)
    }

    /// Rejects a row that has not been rejected so far, by the code of its failure.
    ///
    /// # Panics
    ///
    /// As [`reject`](Self::reject).
    pub fn reject_as(&mut self, row: usize, code: Code) {
        self.codes[row] = code.0;
    }

    /// Decides a row by the number of a code; 0 fits.
    #[inline]
    pub(crate) fn set(&mut self, row: usize, code: u16) {
        self.codes[row] = code;
    }

    /// Builds the verdict: `FitsAll` where no row was rejected.
    #[must_use]
    pub fn finish(self) -> Verdict {
        let mut failures: Vec<(Failure, Code)> = self.failures.into_iter().collect();
        failures.sort_by_key(|(_, code)| code.0);
        Verdict::from_codes(self.codes, failures.into_iter().map(|(failure, _)| failure).collect())
    }
}

/// The code of a failure; adds the failure to the list where it is not in it.
fn intern(failures: &mut Vec<Failure>, failure: Failure) -> u16 {
    let position = failures.iter().position(|known| *known == failure).unwrap_or_else(|| {
        failures.push(failure);
        failures.len() - 1
    });
    u16::try_from(position + 1).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn failure(pattern: u8) -> Failure {
        Failure::unschedulable(format!("pattern {pattern}"))
    }

    /// The model of `Verdict::by_pattern`.
    fn by_row(patterns: &[u8]) -> Verdict {
        let mut builder = VerdictBuilder::new(patterns.len());
        for (row, pattern) in patterns.iter().enumerate().filter(|(_, pattern)| **pattern != 0) {
            builder.reject(row, failure(*pattern));
        }
        builder.finish()
    }

    #[test]
    fn rows_that_all_fit_need_no_codes() {
        assert_eq!(VerdictBuilder::new(3).finish(), Verdict::FitsAll);
    }

    #[test]
    fn rows_that_all_fail_do_not_make_fits_none() {
        let mut builder = VerdictBuilder::new(2);
        builder.reject(1, failure(1));
        builder.reject(0, failure(1));
        let outcome = Outcome { codes: vec![1, 1], failures: vec![failure(1)] };
        assert_eq!(builder.finish(), Verdict::ByRow(outcome));
    }

    #[test]
    fn named_rows_are_added_to_a_verdict_by_row_only() {
        let mut builder = VerdictBuilder::new(2);
        builder.reject(0, failure(1));
        let verdict = builder.finish().with_named_rows(vec![1]);
        assert_eq!(verdict, Verdict::Named((Outcome { codes: vec![1, 0], failures: vec![failure(1)] }, vec![1])));
        assert_eq!(Verdict::FitsAll.with_named_rows(vec![0]), Verdict::FitsAll);
    }

    #[test]
    fn equal_failures_are_stored_once() {
        let mut builder = VerdictBuilder::new(4);
        for (row, pattern) in [(0, 1), (1, 2), (3, 1)] {
            builder.reject(row, failure(pattern));
        }
        let outcome = Outcome { codes: vec![1, 2, 0, 1], failures: vec![failure(1), failure(2)] };
        assert_eq!(builder.finish(), Verdict::ByRow(outcome));
    }

    #[test]
    fn patterns_and_rows_make_the_same_verdict() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..2_000 {
            let bits = [0, 1, 4, 3, 7, 255][random.usize(..6)];
            let patterns: Vec<u8> = (0..random.usize(..100)).map(|_| random.u8(..) & bits).collect();
            assert_eq!(Verdict::by_pattern(&patterns, failure), by_row(&patterns), "seed {seed}: {patterns:?}");
        }
    }

    #[test]
    fn a_verdict_that_does_not_match_its_batch_is_an_error() {
        let verdict = Verdict::ByRow(Outcome { codes: vec![0, 2], failures: vec![failure(1)] });
        assert_eq!(verdict.failures(2), Err(MalformedVerdict::Code(2)));
        assert_eq!(verdict.failures(3), Err(MalformedVerdict::Length(2)));
        assert_eq!(Verdict::FitsAll.failures(2).unwrap(), [None, None]);
    }

    #[test]
    fn a_long_reason_is_cut_and_a_verdict_of_short_ones_is_not() {
        let long = "ä".repeat(1_000);
        let Verdict::FitsNone(cut) = Verdict::FitsNone(Failure::error(&long)).bounded() else { unreachable!() };
        let [reason] = cut.reasons.as_slice() else { unreachable!() };
        assert!(reason.len() <= REASON_BYTES && reason.ends_with("… (2000 bytes)"), "{reason}");
        assert!(reason.starts_with("ää"));
        assert_eq!(cut.status, Status::Error);
        let short = Verdict::FitsNone(Failure::error("x".repeat(REASON_BYTES)));
        assert_eq!(short.clone().bounded(), short);
    }

    #[test]
    fn every_one_of_many_short_reasons_is_given() {
        let reasons: Vec<String> =
            (0..3_000).map(|number| format!("Insufficient example.com/resource-{number}")).collect();
        let failure = Failure { status: Status::Unschedulable, reasons };
        let verdict = Verdict::ByRow(Outcome { codes: vec![1], failures: vec![failure] });
        assert_eq!(verdict.clone().bounded(), verdict);
    }

    #[test]
    fn rows_with_failures_that_do_not_fit_keep_their_status() {
        let statuses = [Status::Unschedulable, Status::UnschedulableAndUnresolvable, Status::Error];
        for (rows, bytes) in [(5_000, 2_000), (70_000, 10), (300, 4_000)] {
            let status = |row: usize| statuses[row % 3];
            let failure = |row: usize| Failure {
                status: status(row),
                reasons: vec![format!("{row} {}", "x".repeat(bytes)), format!("also {row}")],
            };
            let mut builder = VerdictBuilder::new(rows);
            (0..rows).for_each(|row| builder.reject(row, failure(row)));
            let raw = Outcome {
                codes: (0..rows).map(|row| u16::try_from(row + 1).unwrap_or(UNKNOWN)).collect(),
                failures: (0..rows).map(failure).collect(),
            };
            for verdict in [builder.finish(), Verdict::ByRow(raw).bounded()] {
                let Verdict::ByRow(outcome) = &verdict else { unreachable!() };
                assert!(outcome.failures.len() <= FAILURES, "{} failures", outcome.failures.len());
                let texts = outcome.failures.iter().flat_map(|failure| &failure.reasons);
                assert!(texts.clone().all(|reason| reason.len() <= REASON_BYTES));
                assert!(texts.map(String::len).sum::<usize>() <= FAILURE_BYTES);
                assert_eq!(verdict.clone().bounded(), verdict, "bounded once and for all");
                let failures = verdict.failures(rows).unwrap();
                // More rows than codes can tell apart.
                for (row, found) in failures.iter().enumerate().take(usize::from(UNKNOWN) - 1) {
                    assert_eq!(found.unwrap().status, status(row), "row {row}");
                }
                assert!(failures.iter().all(Option::is_some));
                assert!(failures[0].unwrap().reasons[0].starts_with("0 xxx"), "the first ones are whole");
            }
        }
    }
}
