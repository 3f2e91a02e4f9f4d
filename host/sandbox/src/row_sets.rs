//! The row sets of a running `filter` call, which guests name by handles, and what they reject by them. Start at [`RowSets`].
//!
//! They are no facts: sets come from functions of fact interfaces, and the others only combine them. Handles are numbers of this
//! call from 0; a guest can make up any, so each is looked up.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::fault::{Fault, FaultKind};
use crate::limits::{ROW_SET_BYTES, ROW_SETS};
use crate::rows::Rows;
use crate::wire::{self, Failure, Outcome};

/// Bytes of a failure or a reason beside its text, roughly.
const RECORD_BYTES: usize = 32;

/// Why a function of row sets has no result. The guest's call ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowSetError {
    /// Only a `filter` call has a batch.
    #[error("row sets can only be used while `filter` runs")]
    NoBatch,
    /// No function of this call has returned it.
    #[error("there is no row set {0} in this call: a set is of use only in the call that made it")]
    NoSet(u32),
    /// The host has made a set of other rows than those of the call: a mistake of the host, which ends this call alone.
    #[error("a row set has {set} rows and the call has {batch}")]
    OtherBatch {
        /// Rows of the set.
        set: usize,
        /// Rows of the call.
        batch: usize,
    },
    /// More sets in one call than [`ROW_SETS`].
    #[error("a call can make {ROW_SETS} row sets: combine them in fewer steps")]
    TooMany,
    /// More bytes of sets in one call than [`ROW_SET_BYTES`].
    #[error("the row sets of a call can take {} MiB: combine them in fewer steps", ROW_SET_BYTES >> 20)]
    TooLarge,
    /// The contract asks for one.
    #[error("a failure without a reason")]
    NoReason,
    /// More than a verdict may have.
    #[error("the failures that rows are rejected with exceed the output of a call: use fewer or shorter reasons")]
    Failures,
}

impl RowSetError {
    /// The kind of the fault that the call ends with.
    pub(super) fn kind(self) -> FaultKind {
        match self {
            Self::NoBatch | Self::NoSet(_) | Self::OtherBatch { .. } | Self::TooMany => FaultKind::Trap,
            Self::TooLarge => FaultKind::Memory,
            Self::NoReason => FaultKind::MalformedVerdict,
            Self::Failures => FaultKind::OutputTooLarge,
        }
    }
}

/// The sets of one call.
#[derive(Debug)]
pub(super) struct RowSets {
    batch: usize,
    sets: Vec<Rows>,
    bytes: usize,
    /// None until `reject` is called, for whichever rows.
    rejected: Option<Rejected>,
    /// Bytes that failures may still take.
    output_left: usize,
}

/// The rows that a guest has rejected.
#[derive(Debug)]
struct Rejected {
    rows: Rows,
    /// Per row 0, or k where its failure is the k-th.
    codes: Vec<u16>,
    failures: Vec<Failure>,
    known: HashMap<Failure, u16>,
}

impl RowSets {
    /// For a batch of `rows` rows. Failures may take `output_bytes`.
    pub(super) fn new(rows: u32, output_bytes: usize) -> Self {
        Self { batch: rows as usize, sets: Vec::new(), bytes: 0, rejected: None, output_left: output_bytes }
    }

    /// Every row of the batch.
    pub(super) fn all(&self) -> Rows {
        Rows::all(self.batch)
    }

    /// Adds a set, and returns its handle.
    pub(super) fn add(&mut self, rows: Rows) -> Result<u32, RowSetError> {
        if rows.batch() != self.batch {
            return Err(RowSetError::OtherBatch { set: rows.batch(), batch: self.batch });
        }
        let handle = u32::try_from(self.sets.len()).map_err(|_| RowSetError::TooMany)?;
        if self.sets.len() >= ROW_SETS {
            return Err(RowSetError::TooMany);
        }
        self.bytes += rows.bytes();
        if self.bytes > ROW_SET_BYTES {
            return Err(RowSetError::TooLarge);
        }
        self.sets.push(rows);
        Ok(handle)
    }

    pub(super) fn get(&self, handle: u32) -> Result<&Rows, RowSetError> {
        self.sets.get(handle as usize).ok_or(RowSetError::NoSet(handle))
    }

    pub(super) fn reject(&mut self, handle: u32, failure: Failure) -> Result<(), RowSetError> {
        let set = self.sets.get(handle as usize).ok_or(RowSetError::NoSet(handle))?;
        if failure.reasons.is_empty() {
            return Err(RowSetError::NoReason);
        }
        let (batch, output_left) = (self.batch, &mut self.output_left);
        let rejected = self.rejected.get_or_insert_with(|| Rejected::none(batch));
        let new = set.less(&rejected.rows);
        if new.count() == 0 {
            return Ok(());
        }
        let code = match rejected.known.entry(failure) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(entry) => {
                let texts = entry.key().reasons.iter().map(|reason| reason.len() + RECORD_BYTES);
                let bytes = texts.sum::<usize>() + RECORD_BYTES;
                *output_left = output_left.checked_sub(bytes).ok_or(RowSetError::Failures)?;
                let code = u16::try_from(rejected.failures.len() + 1).map_err(|_| RowSetError::Failures)?;
                rejected.failures.push(entry.key().clone());
                *entry.insert(code)
            }
        };
        let codes = &mut rejected.codes;
        new.for_each(|row| {
            if let Some(slot) = codes.get_mut(row) {
                *slot = code;
            }
        });
        rejected.rows = rejected.rows.or(&new);
        Ok(())
    }

    /// Combines the verdict that `filter` returned with the rows rejected before. The result is not checked yet.
    ///
    /// # Errors
    ///
    /// `OutputTooLarge` where both together have more failures than codes can name.
    pub(super) fn merged(self, returned: wire::Verdict) -> Result<wire::Verdict, Fault> {
        let Some(rejected) = self.rejected else { return Ok(returned) };
        match returned {
            wire::Verdict::FitsAll if rejected.failures.is_empty() => Ok(wire::Verdict::FitsAll),
            wire::Verdict::FitsAll => Ok(wire::Verdict::ByRow(rejected.outcome())),
            // By row also where no row was rejected: whether one is must not change what the others show.
            wire::Verdict::FitsNone(failure) => rejected
                .before(Outcome { codes: vec![1; self.batch], failures: vec![failure] })
                .map(wire::Verdict::ByRow),
            wire::Verdict::ByRow(outcome) => rejected.before(outcome).map(wire::Verdict::ByRow),
            wire::Verdict::Named((outcome, named)) => {
                rejected.before(outcome).map(|outcome| wire::Verdict::Named((outcome, named)))
            }
        }
    }
}

impl Rejected {
    fn none(batch: usize) -> Self {
        Self { rows: Rows::none(batch), codes: vec![0; batch], failures: Vec::new(), known: HashMap::new() }
    }

    fn outcome(self) -> Outcome {
        Outcome { codes: self.codes, failures: self.failures }
    }

    /// The outcome in which rows that are rejected here have their failure from here.
    fn before(self, mut outcome: Outcome) -> Result<Outcome, Fault> {
        let known = outcome.failures.len();
        let is_sound =
            outcome.codes.len() == self.codes.len() && outcome.codes.iter().all(|code| usize::from(*code) <= known);
        if !is_sound {
            // As it is, so that the check says what is wrong.
            return Ok(outcome);
        }
        let Some(offset) = u16::try_from(known + self.failures.len()).ok().and(u16::try_from(known).ok()) else {
            let error = RowSetError::Failures;
            return Err(Fault::new(error.kind(), &error.to_string()));
        };
        for (code, own) in outcome.codes.iter_mut().zip(&self.codes) {
            if *own > 0 {
                *code = own + offset;
            }
        }
        outcome.failures.extend(self.failures);
        Ok(outcome)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::wire::Status;

    fn failure(number: usize) -> Failure {
        Failure { status: Status::Unschedulable, reasons: vec![format!("reason {number}")] }
    }

    /// The failure of each row.
    fn failures(verdict: &wire::Verdict, rows: usize) -> Vec<Option<Failure>> {
        match verdict {
            wire::Verdict::FitsAll => vec![None; rows],
            wire::Verdict::FitsNone(failure) => vec![Some(failure.clone()); rows],
            wire::Verdict::ByRow(outcome) | wire::Verdict::Named((outcome, _)) => {
                let failure = |code: &u16| usize::from(*code).checked_sub(1).map(|at| outcome.failures[at].clone());
                outcome.codes.iter().map(failure).collect()
            }
        }
    }

    #[test]
    fn a_row_has_the_first_failure_that_it_was_rejected_with_or_else_that_of_the_verdict() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let rows = random.usize(0..150);
            let mut sets = RowSets::new(u32::try_from(rows).unwrap(), 1 << 20);
            let mut model: Vec<Option<Failure>> = vec![None; rows];
            let rejections = random.usize(0..5);
            for _ in 0..rejections {
                let flags: Vec<bool> = (0..rows).map(|_| random.u8(0..3) == 0).collect();
                let handle = sets.add(Rows::from_column(&flags, |flag| flag)).unwrap();
                let failure = failure(random.usize(0..3));
                sets.reject(handle, failure.clone()).unwrap();
                for (known, _) in model.iter_mut().zip(&flags).filter(|(_, flag)| **flag) {
                    known.get_or_insert_with(|| failure.clone());
                }
            }
            let own: Vec<u16> = (0..rows).map(|_| random.u16(0..3)).collect();
            let outcome = Outcome { codes: own, failures: vec![failure(1), failure(7)] };
            let returned = match random.u8(0..4) {
                0 => wire::Verdict::FitsAll,
                1 => wire::Verdict::FitsNone(failure(8)),
                2 => wire::Verdict::ByRow(outcome),
                _ => wire::Verdict::Named((outcome, vec![0])),
            };
            let others = failures(&returned, rows);
            let expected: Vec<_> = model.into_iter().zip(others).map(|(known, other)| known.or(other)).collect();
            let merged = sets.merged(returned).unwrap();
            assert_eq!(failures(&merged, rows), expected);
            let is_whole = matches!(merged, wire::Verdict::FitsNone(_));
            assert!(!is_whole || rejections == 0, "a pod is rejected as a whole or by rows");
        }
    }

    #[test]
    fn a_verdict_that_contradicts_the_contract_is_left_for_the_check() {
        for (codes, known) in [(vec![0; 3], 0), (vec![0, 2], 1)] {
            let mut sets = RowSets::new(2, 1 << 20);
            let all = sets.add(Rows::all(2)).unwrap();
            sets.reject(all, failure(0)).unwrap();
            let failures = vec![failure(1); known];
            let returned = wire::Verdict::ByRow(Outcome { codes: codes.clone(), failures });
            match sets.merged(returned).unwrap() {
                wire::Verdict::ByRow(outcome) => assert_eq!(outcome.codes, codes),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn sets_and_failures_are_limited() {
        let mut sets = RowSets::new(64, 1_000);
        for handle in 0..ROW_SETS {
            assert_eq!(sets.add(Rows::all(64)).map(|handle| handle as usize), Ok(handle));
        }
        assert_eq!(sets.add(Rows::all(64)), Err(RowSetError::TooMany));
        assert_eq!(sets.get(u32::try_from(ROW_SETS).unwrap()), Err(RowSetError::NoSet(1024)));
        let none = Failure { reasons: Vec::new(), ..failure(0) };
        assert_eq!(sets.reject(0, none), Err(RowSetError::NoReason));
        sets.reject(0, failure(0)).unwrap();
        // The same again, and what rejects no row, take nothing.
        (0..1_000).for_each(|number| sets.reject(0, failure(number)).unwrap());
        let long = Failure { reasons: vec!["x".repeat(2_000)], ..failure(0) };
        let mut sets = RowSets::new(64, 1_000);
        let handle = sets.add(Rows::all(64)).unwrap();
        assert_eq!(sets.reject(handle, long), Err(RowSetError::Failures));

        let rows = 8 * (ROW_SET_BYTES / 10);
        let mut sets = RowSets::new(u32::try_from(rows).unwrap(), 0);
        let added = (0..11).map(|_| sets.add(Rows::none(rows))).find(Result::is_err);
        assert_eq!(added, Some(Err(RowSetError::TooLarge)));
    }
}
