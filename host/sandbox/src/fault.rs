//! Faults: the closed list of ways in which a predicate can fail to answer. A leaf that every room may use.
//!
//! A fault is never a plain "no" and never a plain "yes": it travels in the answer beside what the failure policy
//! did about it. Start at [`FaultKind`].

use std::fmt;

/// What kind of failure it was. The names are the same everywhere: answers, logs, metrics, status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The call ran out of its time.
    Deadline,
    /// The module wanted more memory than its limit and gave up.
    Memory,
    /// The guest's stack overflowed.
    StackOverflow,
    /// Any other wasm trap; the detail names the kind.
    Trap,
    /// The verdict is larger than the limits on failures, reasons or bytes.
    OutputTooLarge,
    /// The verdict contradicts the contract: wrong length, a code without a failure, a text that is not UTF-8.
    MalformedVerdict,
    /// `describe` or `configure` refused, or answered nonsense.
    Configure,
    /// The predicate failed too often and is not called for now.
    Quarantined,
    /// No instance became free in time.
    Overloaded,
}

impl FaultKind {
    /// The name under which the fault is known everywhere.
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
        }
    }
}

/// One failure of a predicate, with what happened in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which of the closed list.
    pub kind: FaultKind,
    /// What happened, for people; one line, control characters escaped, bounded in length.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.detail)
    }
}

impl std::error::Error for Fault {}
