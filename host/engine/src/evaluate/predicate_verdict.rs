//! The verdict of one predicate with its name, and which rows its codes are about. Start at [`PredicateVerdict`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::{Failure, Verdict};

use crate::facts::Batch;
use crate::policy::ActivePredicate;
use crate::reuse::CachedVerdict;

/// The verdict of one predicate of the policy.
#[derive(Debug, Clone)]
pub(crate) struct PredicateVerdict {
    pub(crate) predicate: Arc<str>,
    pub(crate) verdict: Arc<Verdict>,
    pub(crate) scope: Scope,
}

/// Rows that the codes of a verdict are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every row of the snapshot, whatever the batch is.
    AllRows,
    /// The places of the batch.
    Batch,
}

impl PredicateVerdict {
    pub(crate) fn new(predicate: &ActivePredicate, verdict: Verdict, scope: Scope) -> Self {
        Self { predicate: Arc::clone(&predicate.name), verdict: Arc::new(verdict), scope }
    }

    /// A cached verdict of the predicate, which is over all rows.
    pub(crate) fn from_cached(predicate: &ActivePredicate, cached: &CachedVerdict) -> Self {
        let verdict = Arc::clone(cached.verdict());
        Self { predicate: Arc::clone(&predicate.name), verdict, scope: Scope::AllRows }
    }

    /// Why a row fails, by its place in the batch and its row.
    pub(crate) fn failure(&self, place: usize, row: Row) -> Option<&Failure> {
        self.verdict.failure_at(match self.scope {
            Scope::AllRows => row.index(),
            Scope::Batch => place,
        })
    }

    /// Whether codes reject some row of the batch.
    pub(crate) fn rejects_some(&self, batch: &Batch) -> bool {
        let mut rejects = false;
        self.for_each_chunk(batch, |codes| rejects = rejects || codes.iter().any(|code| *code != 0));
        rejects
    }

    /// Calls with the codes of the batch's rows, chunk by chunk, in their order; never where all rows have the same.
    pub(super) fn for_each_chunk(&self, batch: &Batch, mut call: impl FnMut(&[u16])) {
        let Verdict::ByRow(by_row) = &*self.verdict else { return };
        match self.selected_codes(batch) {
            Some(codes) => call(&codes),
            None => by_row.codes().chunks().for_each(call),
        }
    }

    /// The codes of the batch's rows, where the verdict is over all rows and the batch is not.
    pub(super) fn selected_codes(&self, batch: &Batch) -> Option<Vec<u16>> {
        match (batch, self.scope, &*self.verdict) {
            (Batch::Rows(rows), Scope::AllRows, Verdict::ByRow(by_row)) => {
                Some(rows.iter().map(|row| by_row.codes().get(row.index())).collect())
            }
            _ => None,
        }
    }
}
