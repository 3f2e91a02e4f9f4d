//! Verdicts and how to make them. [`VerdictBuilder`] takes one row after the other. [`Verdict::by_pattern`] takes a
//! column of bit patterns, which is faster.
//!
//! Both make the same verdict in its smallest form: `FitsAll` where no row fails, and every failure once.

use std::collections::BTreeMap;

pub use crate::bindings::exports::nodesift::predicate::predicate::{Failure, Outcome, Status, Verdict};
use crate::kernels;

/// A code that no failure has: the host accepts 4,096 failures at most.
const UNKNOWN: u16 = u16::MAX;

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

    /// Adds another reason.
    #[must_use]
    pub fn and(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }
}

impl Verdict {
    /// The verdict for rows with these patterns, one per row; pattern 0 fits. `failure` returns the failure for any
    /// other pattern. It is called once per distinct pattern.
    #[must_use]
    pub fn by_pattern(patterns: &[u8], mut failure: impl FnMut(u8) -> Failure) -> Self {
        let bits = kernels::union(patterns);
        if bits == 0 {
            return Self::FitsAll;
        }
        if bits.is_power_of_two() {
            // There is one failure, so the bit itself is the code.
            let place = bits.trailing_zeros();
            let codes = patterns.iter().map(|pattern| u16::from(*pattern >> place)).collect();
            return Self::from_codes(codes, vec![failure(bits)]);
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
}

/// The code of a failure in a [`VerdictBuilder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(u16);

impl VerdictBuilder {
    /// A builder for `rows` rows, all of which fit so far.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self { codes: vec![0; rows], failures: BTreeMap::new() }
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
    /// a verdict must not contain unused failures.
    pub fn code(&mut self, failure: Failure) -> Code {
        // The host refuses verdicts with so many failures, so that saturating here loses nothing.
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

    /// The verdict.
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
}
