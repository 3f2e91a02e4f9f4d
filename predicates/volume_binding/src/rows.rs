//! What is known of each row: the reasons so far, whether anything is left to look at, and objects that are broken.

use nodesift_sdk::{Failure, Verdict, VerdictBuilder, kernels};

use crate::{REASON_BIND, REASON_MISSING, REASON_NODE, REASON_SPACE};

/// The bit of a row where the volume of a bound claim cannot be mounted.
pub(crate) const NODE: u8 = 1;

/// The bit of a row where a claim finds no volume.
pub(crate) const BIND: u8 = 2;

/// The bit of a row where there is not enough storage.
pub(crate) const SPACE: u8 = 4;

/// The bit of a row where a claim's volume does not exist.
pub(crate) const MISSING: u8 = 8;

/// What goes before the words for an object that is broken.
const ERROR_PREFIX: &str = "running \"VolumeBinding\" filter plugin: ";

/// All rows. Bound claims and waiting ones both give reasons; within each of the two the first one decides.
pub(crate) struct Rows {
    patterns: Vec<u8>,
    /// 1 where waiting claims are still to be looked at, else 0.
    open: Vec<u8>,
    /// Rows on which the question has no answer, and why; these have no reasons.
    broken: Vec<(usize, String)>,
}

impl Rows {
    pub(crate) fn new(rows: usize) -> Self {
        Self { patterns: vec![0; rows], open: vec![1; rows], broken: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// 1 where waiting claims are still to be looked at.
    pub(crate) fn open(&self) -> &[u8] {
        &self.open
    }

    /// Gives rows with a 1 a reason; whether they are open does not change.
    pub(crate) fn mark(&mut self, rows: &[u8], reason: u8) {
        kernels::update(&mut self.patterns, rows, |pattern, row| pattern | if row != 0 { reason } else { 0 });
    }

    /// Gives open rows with a 1 a reason and closes them.
    pub(crate) fn reject(&mut self, rows: &[u8], reason: u8) {
        let mut rejected = self.open.clone();
        kernels::update(&mut rejected, rows, |open, row| open & u8::from(row != 0));
        self.mark(&rejected, reason);
        kernels::update(&mut self.open, &rejected, |open, rejected| open & !rejected);
    }

    /// Gives all open rows but one a reason and closes them.
    pub(crate) fn reject_others(&mut self, kept: Option<usize>, reason: u8) {
        let mut others = vec![1; self.len()];
        if let Some(kept) = kept.and_then(|kept| others.get_mut(kept)) {
            *kept = 0;
        }
        self.reject(&others, reason);
    }

    /// There is no answer on rows with a 1, whatever else was found.
    pub(crate) fn break_rows(&mut self, rows: &[u8], error: &str) {
        for (row, _) in rows.iter().enumerate().filter(|(_, broken)| **broken != 0) {
            if let (Some(open), Some(pattern)) = (self.open.get_mut(row), self.patterns.get_mut(row)) {
                (*open, *pattern) = (0, 0);
                self.broken.push((row, format!("{ERROR_PREFIX}{error}")));
            }
        }
    }

    /// There is no answer on open rows.
    pub(crate) fn break_open(&mut self, error: &str) {
        let open = self.open.clone();
        self.break_rows(&open, error);
    }

    pub(crate) fn verdict(self) -> Verdict {
        if self.broken.is_empty() {
            return Verdict::by_pattern(&self.patterns, failure);
        }
        let mut builder = VerdictBuilder::new(self.len());
        for (row, pattern) in self.patterns.iter().enumerate().filter(|(_, pattern)| **pattern != 0) {
            builder.reject(row, failure(*pattern));
        }
        for (row, error) in self.broken {
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
