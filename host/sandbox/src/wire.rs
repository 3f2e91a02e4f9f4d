//! The contract's types as they cross the boundary. Names follow `sdk/predicate/wit`; nothing else of the contract is
//! known to the host. What a guest returns is here; what it is given is in `pod`, `selectors` and `storage`.

mod pod;
mod selectors;
mod storage;

use wasmtime::component::{ComponentType, Lift};

pub use pod::*;
pub use selectors::*;
pub use storage::*;

/// `predicate.descriptor`: how a predicate introduces itself.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub struct Descriptor {
    /// The predicate's name.
    pub name: String,
    /// The author's version.
    pub version: String,
    /// One line for people.
    pub summary: String,
}

/// `predicate.status`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Status {
    /// Preemption may help.
    #[component(name = "unschedulable")]
    Unschedulable,
    /// Preemption cannot help.
    #[component(name = "unschedulable-and-unresolvable")]
    UnschedulableAndUnresolvable,
    /// No answer because an object is broken.
    #[component(name = "error")]
    Error,
}

/// `predicate.failure`
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub struct Failure {
    /// kube-scheduler's status.
    pub status: Status,
    /// Every reason that applies.
    pub reasons: Vec<String>,
}

/// `predicate.outcome`
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub struct Outcome {
    /// One entry per row: 0 fits, k fails with `failures[k - 1]`.
    pub codes: Vec<u16>,
    /// The failures that `codes` refers to.
    pub failures: Vec<Failure>,
}

/// `predicate.verdict`, as a guest returned it, unchecked.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(variant)]
pub enum Verdict {
    /// Every row fits.
    #[component(name = "fits-all")]
    FitsAll,
    /// No row fits.
    #[component(name = "fits-none")]
    FitsNone(Failure),
    /// Rows differ.
    #[component(name = "by-row")]
    ByRow(Outcome),
    /// Rows differ, and the pod names some.
    #[component(name = "named")]
    Named((Outcome, Vec<u32>)),
}
