//! The answer for a pod, as hosts take it: start at [`Verdict`].

use std::collections::BTreeMap;

use crate::facts::Obstacle;

/// Which rows fit, and why the others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every row fits the pod.
    FitsAll,
    /// None does, whatever the rows are.
    FitsNone(Failure),
    /// Each on its own.
    ByRow {
        /// Per row: 0 where it fits, k where `failures[k - 1]` is why it does not.
        codes: Vec<u32>,
        /// Distinct failures, which codes refer to.
        failures: Vec<Failure>,
    },
}

/// Why a row does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// No pod that leaves would help: `UnschedulableAndUnresolvable`.
    Unresolvable(String),
    /// It ends the cycle.
    Error(String),
}

impl Failure {
    /// Failure with an error that ends the search on a row, in the form of kube-scheduler's Filter.
    pub(crate) fn in_filter(error: &str) -> Self {
        Self::Error(format!("running \"DynamicResources\" filter plugin: {error}"))
    }

    /// Failure with an obstacle that is found before any row, in the form of kube-scheduler's PreFilter.
    pub(crate) fn before_rows(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle { text, is_error: false } => Self::Unresolvable(text),
            Obstacle { text, .. } => Self::Error(format!("running PreFilter plugin \"DynamicResources\": {text}")),
        }
    }
}

/// Codes of distinct failures.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    failures: Vec<Failure>,
    codes: BTreeMap<Failure, u32>,
}

impl Codes {
    /// The code of a failure; never 0.
    pub(crate) fn code(&mut self, failure: Failure) -> u32 {
        if let Some(code) = self.codes.get(&failure) {
            return *code;
        }
        self.failures.push(failure.clone());
        // Each takes dozens of bytes: there is no room for 2^32.
        let code = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        self.codes.insert(failure, code);
        code
    }

    /// The failures in the order of their codes.
    pub(crate) fn into_failures(self) -> Vec<Failure> {
        self.failures
    }
}
