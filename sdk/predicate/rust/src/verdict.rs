//! Verdicts and how to make them. [`VerdictBuilder`] takes one row after the other; [`Verdict::by_pattern`] takes a
//! column of bit patterns, which is how fast predicates work.
//!
//! Either way the verdict is the smallest that says the same: fits-all and fits-none where all rows agree, and every
//! failure once.

use std::collections::BTreeMap;

pub use crate::bindings::exports::nodesift::predicate::predicate::{Failure, Outcome, Status, Verdict};
use crate::kernels;

/// A code that no interned failure has: the host takes 4,096 failures at most.
const UNKNOWN: u16 = u16::MAX;

/// The most patterns of which each gets a pass over the rows. What comes after these is looked up row by row.
const FEW_PATTERNS: usize = 8;

/// A verdict that does not answer for its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalformedVerdict {
    /// As many codes as this, which is not the number of rows.
    Length(usize),
    /// A code that stands for no failure.
    Code(u16),
}

impl Failure {
    /// The node fails, and preempting pods from it may help.
    #[must_use]
    pub fn unschedulable(reason: impl Into<String>) -> Self {
        Self { status: Status::Unschedulable, reasons: vec![reason.into()] }
    }

    /// The node fails, and no preemption helps.
    #[must_use]
    pub fn unresolvable(reason: impl Into<String>) -> Self {
        Self { status: Status::UnschedulableAndUnresolvable, reasons: vec![reason.into()] }
    }

    /// The question has no answer on this node because an object it needs is broken; the reason names it.
    #[must_use]
    pub fn error(reason: impl Into<String>) -> Self {
        Self { status: Status::Error, reasons: vec![reason.into()] }
    }

    /// Adds another reason that applies.
    #[must_use]
    pub fn and(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }
}

impl Verdict {
    /// The verdict for rows with these patterns, 0 where the row fits. `failure` says what any other pattern means; it
    /// is asked once per pattern that occurs.
    #[must_use]
    pub fn by_pattern(patterns: &[u8], mut failure: impl FnMut(u8) -> Failure) -> Self {
        let bits = kernels::union(patterns);
        if bits == 0 {
            return Self::FitsAll;
        }
        if bits.is_power_of_two() {
            // Rows that fail all fail in one way, so that the bit is their code.
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
            kernels::number(&mut codes, &mut left, pattern, intern(&mut failures, failure(pattern)));
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

    /// The failure of each row, none where it fits.
    ///
    /// # Errors
    ///
    /// Where the verdict does not answer for `rows` rows.
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

    /// This verdict for a pod that names the nodes it can run on, which are in these rows.
    #[must_use]
    pub fn naming(self, rows: Vec<u32>) -> Self {
        match self {
            Self::ByRow(outcome) => Self::Named((outcome, rows)),
            other => other,
        }
    }

    /// The smallest verdict with these codes, every failure of which occurs.
    fn from_codes(codes: Vec<u16>, failures: Vec<Failure>) -> Self {
        if failures.is_empty() { Self::FitsAll } else { Self::ByRow(Outcome { codes, failures }) }
    }
}

/// Makes a verdict row by row. It has one answer per row whatever is done with it.
#[derive(Debug)]
pub struct VerdictBuilder {
    codes: Vec<u16>,
    /// Every failure so far, and its code.
    failures: BTreeMap<Failure, Code>,
}

/// A failure that a [`VerdictBuilder`] knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(u16);

impl VerdictBuilder {
    /// All `rows` rows fit so far.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self { codes: vec![0; rows], failures: BTreeMap::new() }
    }

    /// Rejects a row that has not been rejected so far. Equal failures are kept once.
    ///
    /// # Panics
    ///
    /// Where the batch has no such row. Inside a component that is a trap, so the row does not pass unseen.
    pub fn reject(&mut self, row: usize, failure: Failure) {
        let code = self.code(failure);
        self.reject_as(row, code);
    }

    /// The code of a failure, for [`reject_as`](Self::reject_as) to use many times. A row should follow: a failure
    /// that no row has does not belong into a verdict.
    pub fn code(&mut self, failure: Failure) -> Code {
        // The host refuses a verdict with as many failures as this could lose.
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

/// The code of a failure among a few, which joins them unless it is one of them.
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

    /// The obvious twin of `Verdict::by_pattern`.
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
    fn rows_that_all_fail_are_not_the_pod_rejected_as_a_whole() {
        let mut builder = VerdictBuilder::new(2);
        builder.reject(1, failure(1));
        builder.reject(0, failure(1));
        let outcome = Outcome { codes: vec![1, 1], failures: vec![failure(1)] };
        assert_eq!(builder.finish(), Verdict::ByRow(outcome));
    }

    #[test]
    fn a_verdict_can_name_rows() {
        let mut builder = VerdictBuilder::new(2);
        builder.reject(0, failure(1));
        let verdict = builder.finish().naming(vec![1]);
        assert_eq!(verdict, Verdict::Named((Outcome { codes: vec![1, 0], failures: vec![failure(1)] }, vec![1])));
        assert_eq!(Verdict::FitsAll.naming(vec![0]), Verdict::FitsAll);
    }

    #[test]
    fn equal_failures_are_kept_once() {
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
    fn a_verdict_that_does_not_answer_for_its_batch_is_found_out() {
        let verdict = Verdict::ByRow(Outcome { codes: vec![0, 2], failures: vec![failure(1)] });
        assert_eq!(verdict.failures(2), Err(MalformedVerdict::Code(2)));
        assert_eq!(verdict.failures(3), Err(MalformedVerdict::Length(2)));
        assert_eq!(Verdict::FitsAll.failures(2).unwrap(), [None, None]);
    }
}
