//! Why a host function gives a guest no value. Each of these errors ends the guest's call, and says which kind of fault that is.

use wasmtime::Trap;

/// Why a fact function has no value. The guest's call ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// An argument is not one that the function takes.
    #[error("a selector with an unknown operator")]
    UnknownOperator,
    /// The time of the call is up.
    #[error("the time of the call is up")]
    Deadline,
    /// Other calls are using a host resource that the answer needs.
    #[error("what the host needs to answer is in use by other calls")]
    Overloaded,
}

impl NoValue {
    pub(super) fn trap(self) -> wasmtime::Error {
        match self {
            Self::UnknownOperator | Self::Overloaded => self.into(),
            Self::Deadline => Trap::Interrupt.into(),
        }
    }
}

/// A guest called a fact function outside `filter` and `allocate`.
#[derive(Debug, thiserror::Error)]
#[error("fact functions can only be called while `filter` or `allocate` runs")]
pub(super) struct NoFacts;

/// Why an accounting component can read nothing of an object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// It was called outside `pod` and `node`.
    #[error("what is read of an object can only be read while `pod` or `node` runs")]
    NoObject,
    /// The annotation is not among the needs.
    #[error("the annotation {0} is not among those that `configure` has said")]
    NotNeeded(String),
}
