//! Faults: the closed list of ways in which the call of a predicate can fail.
//!
//! An answer reports every fault together with the effect of the failure policy, so that a fault is never mistaken for a
//! verdict. Start at [`FaultKind`].

use std::fmt;

use crate::text::shorten;

/// The kind of a fault. Its name is the same in answers, logs, metrics and statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The call exceeded its processor time budget, or the bound on its wall-clock time.
    Deadline,
    /// The call failed after the memory limit had refused growth.
    Memory,
    /// The guest's stack overflowed.
    StackOverflow,
    /// Any other wasm trap; the detail names the kind.
    Trap,
    /// The verdict is larger than the limits on failures, reasons or bytes, or the allocation than those on devices or bytes.
    OutputTooLarge,
    /// The verdict contradicts the contract: wrong length, a code without a failure, a text that is not UTF-8. Or the allocation
    /// does, or the scores do: one is not from 0 to 100 once it is normalized.
    MalformedVerdict,
    /// `describe` or `configure` returned an error or a malformed result.
    Configure,
    /// The call was not made: the circuit breaker of the predicate is open, pods of this template are set aside after failures, or another
    /// call with raised limits is running.
    Quarantined,
    /// No instance became free in time: all slots of the module, or of all modules, were in use.
    Overloaded,
    /// The request for which the call was made has reached its deadline, or the earlier one of its scores. Not a fault of the predicate:
    /// where `filter` ends so, the request as a whole fails, and the kind is in no answer. Where `score` does, the pod has no scores.
    RequestDeadline,
    /// The pod asks for what no predicate evaluates, or the predicate for devices gives none, or the scorer does not score it;
    /// the detail names it.
    Unsupported,
    /// An accounting component could not determine the resources that the pod takes of its node, and the policy refuses such pods; the
    /// detail gives the reason.
    Unaccounted,
    /// The epoch clock has stopped, so the call could not be interrupted: it was not made.
    ClockStopped,
}

impl FaultKind {
    /// Whether the predicate itself has failed. The other kinds are those of calls that were not made, or were ended for a reason
    /// that is not the predicate's.
    pub fn is_of_predicate(self) -> bool {
        match self {
            Self::Deadline
            | Self::Memory
            | Self::StackOverflow
            | Self::Trap
            | Self::OutputTooLarge
            | Self::MalformedVerdict
            | Self::Configure => true,
            Self::Quarantined
            | Self::Overloaded
            | Self::RequestDeadline
            | Self::Unsupported
            | Self::Unaccounted
            | Self::ClockStopped => false,
        }
    }

    /// The name in answers, logs, metrics and statuses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadline => "Deadline",
            Self::Memory => "Memory",
            Self::StackOverflow => "StackOverflow",
            Self::Trap => "Trap",
            Self::OutputTooLarge => "OutputTooLarge",
            Self::MalformedVerdict => "MalformedVerdict",
            Self::Configure => "Configure",
            Self::Quarantined => "Quarantined",
            Self::Overloaded => "Overloaded",
            Self::RequestDeadline => "RequestDeadline",
            Self::Unsupported => "Unsupported",
            Self::Unaccounted => "Unaccounted",
            Self::ClockStopped => "ClockStopped",
        }
    }
}

/// One failed call of a predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Kind of the failure; its name is the same in answers, logs and metrics.
    pub kind: FaultKind,
    /// Description for operators: one line, control characters escaped, at most
    /// [`FAULT_DETAIL_BYTES`](crate::limits::FAULT_DETAIL_BYTES) bytes plus an ellipsis.
    pub detail: String,
}

impl Fault {
    /// A fault with this description, which is made one line and cut where it is too long.
    pub fn new(kind: FaultKind, detail: &str) -> Self {
        Self { kind, detail: shorten(detail) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.detail)
    }
}

impl std::error::Error for Fault {}
