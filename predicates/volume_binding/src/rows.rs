//! The state of every row: the reasons so far, whether unbound claims are still to be checked, and errors.

use nodesift_sdk::{Failure, Verdict, VerdictBuilder, kernels};

use crate::{REASON_BIND, REASON_MISSING, REASON_NODE, REASON_SPACE};

/// The bit of [`REASON_NODE`].
pub(crate) const NODE: u8 = 1;

/// The bit of [`REASON_BIND`].
pub(crate) const BIND: u8 = 2;

/// The bit of [`REASON_SPACE`].
pub(crate) const SPACE: u8 = 4;

/// The bit of [`REASON_MISSING`].
pub(crate) const MISSING: u8 = 8;

/// The prefix of the reason for an invalid object, as in kube-scheduler.
const ERROR_PREFIX: &str = "running \"VolumeBinding\" filter plugin: ";

/// The state of all rows. A row can have one reason from its bound claims and one from its unbound claims.
pub(crate) struct Rows {
    patterns: Vec<u8>,
    /// 1 in open rows: those where unbound claims are still to be checked.
    open: Vec<u8>,
    /// Rows with an error, and its text. These rows have no other reasons.
    errors: Vec<(usize, String)>,
}

impl Rows {
    pub(crate) fn new(rows: usize) -> Self {
        Self { patterns: vec![0; rows], open: vec![1; rows], errors: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// 1 in open rows, else 0; one entry per row.
    pub(crate) fn open(&self) -> &[u8] {
        &self.open
    }

    /// Adds a reason to the rows with a 1. They stay open.
    pub(crate) fn mark(&mut self, rows: &[u8], reason: u8) {
        kernels::update(&mut self.patterns, rows, |pattern, row| pattern | if row != 0 { reason } else { 0 });
    }

    /// Adds a reason to the open rows with a 1 and closes them.
    pub(crate) fn reject(&mut self, rows: &[u8], reason: u8) {
        let mut rejected = self.open.clone();
        kernels::update(&mut rejected, rows, |open, row| open & u8::from(row != 0));
        self.mark(&rejected, reason);
        kernels::update(&mut self.open, &rejected, |open, rejected| open & !rejected);
    }

    /// Adds a reason to all open rows except `kept` and closes them.
    pub(crate) fn reject_others(&mut self, kept: Option<usize>, reason: u8) {
        let mut others = vec![1; self.len()];
        if let Some(kept) = kept.and_then(|kept| others.get_mut(kept)) {
            *kept = 0;
        }
        self.reject(&others, reason);
    }

    /// Replaces the reasons of the rows with a 1 by an error and closes them.
    pub(crate) fn set_error(&mut self, rows: &[u8], error: &str) {
        for (row, _) in rows.iter().enumerate().filter(|(_, row)| **row != 0) {
            if let (Some(open), Some(pattern)) = (self.open.get_mut(row), self.patterns.get_mut(row)) {
                (*open, *pattern) = (0, 0);
                self.errors.push((row, format!("{ERROR_PREFIX}{error}")));
            }
        }
    }

    /// Replaces the reasons of the open rows by an error and closes them.
    pub(crate) fn set_error_on_open(&mut self, error: &str) {
        let open = self.open.clone();
        self.set_error(&open, error);
    }

    pub(crate) fn verdict(self) -> Verdict {
        if self.errors.is_empty() {
            return Verdict::by_pattern(&self.patterns, failure);
        }
        let mut builder = VerdictBuilder::new(self.len());
        for (row, pattern) in self.patterns.iter().enumerate().filter(|(_, pattern)| **pattern != 0) {
            builder.reject(row, failure(*pattern));
        }
        for (row, error) in self.errors {
            builder.reject(row, Failure::error(error));
        }
        builder.finish()
    }
}

fn failure(pattern: u8) -> Failure {
    let reasons = [(NODE, REASON_NODE), (BIND, REASON_BIND), (SPACE, REASON_SPACE), (MISSING, REASON_MISSING)];
    let mut failure = Failure::unresolvable(String::new());
    failure.reasons =
        reasons.into_iter().filter(|(bit, _)| pattern & bit != 0).map(|(_, reason)| reason.to_owned()).collect();
    failure
}
