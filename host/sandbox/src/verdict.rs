//! The checked verdict of one predicate about one pod and one batch of rows. The host uses the result of a guest in this form
//! only. Start at [`Verdict`].

use std::sync::Arc;

use crate::codes::Codes;

/// The verdict of one predicate for one pod and one batch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every row of the batch fits.
    FitsAll,
    /// The pod as a whole is rejected: no row fits.
    FitsNone(Failure),
    /// The verdict differs from row to row.
    ByRow(RowVerdict),
}

/// A verdict that differs from row to row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowVerdict {
    codes: Codes,
    failures: Arc<[Failure]>,
    named: Option<Arc<[u32]>>,
}

/// A rejection: code and reasons. Ordered by code, then reasons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// Status code of kube-scheduler's framework.
    pub code: Code,
    /// At least one reason, sorted, with control characters escaped.
    pub reasons: Arc<[String]>,
}

/// kube-scheduler's status code of a rejection. Ordered by name; failures are sorted in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// No verdict is possible because an object is malformed.
    Error,
    /// Preempting pods may help.
    Unschedulable,
    /// Preempting pods cannot help.
    UnschedulableAndUnresolvable,
}

impl Code {
    /// Every code, in the order of their names.
    pub const ALL: [Self; 3] = [Self::Error, Self::Unschedulable, Self::UnschedulableAndUnresolvable];

    /// kube-scheduler's name of the code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        }
    }
}

impl Verdict {
    /// The failure of the row at a place of the batch; `None` where it fits.
    pub fn failure_at(&self, place: usize) -> Option<&Failure> {
        match self {
            Self::FitsAll => None,
            Self::FitsNone(failure) => Some(failure),
            Self::ByRow(by_row) => by_row.failure(by_row.codes.get(place)),
        }
    }
}

impl RowVerdict {
    /// A verdict with one code per row of the batch: 0 fits, k fails with `failures[k - 1]`. `named` are the sorted places of
    /// the nodes that the pod names; `None` if it names no nodes.
    pub fn new(codes: Codes, failures: Arc<[Failure]>, named: Option<Arc<[u32]>>) -> Self {
        Self { codes, failures, named }
    }

    /// One code per row of the batch.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The failures that codes refer to: code k is entry k - 1.
    pub fn failures(&self) -> &Arc<[Failure]> {
        &self.failures
    }

    /// The sorted places of the nodes that the pod names, if it names the nodes that it can run on.
    pub fn named(&self) -> Option<&Arc<[u32]>> {
        self.named.as_ref()
    }

    /// The failure of a code; `None` for 0.
    pub fn failure(&self, code: u16) -> Option<&Failure> {
        self.failures.get(usize::from(code).checked_sub(1)?)
    }

    /// Replaces the indices of the nodes that the pod names ([`Self::named`]).
    #[must_use]
    pub fn naming(self, named: Option<Arc<[u32]>>) -> Self {
        Self { named, ..self }
    }
}
