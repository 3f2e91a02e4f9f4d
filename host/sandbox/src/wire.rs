//! The contract's types at the component boundary, named as in `sdk/predicate/wit`. The types that a guest returns are here;
//! those that it reads are in `pod`, `parties`, `selectors` and `storage`, and in [`claims`] and [`devices`], whose names are used with theirs.
//! So are the names in [`allocation`], which some guests return as well.

pub mod allocation;
pub mod claims;
pub mod devices;
mod parties;
mod pod;
mod selectors;
mod storage;

use wasmtime::component::{ComponentType, Lift};

pub use parties::*;
pub use pod::*;
pub use selectors::*;
pub use storage::*;

/// `predicate.descriptor`: name, version and summary of a predicate.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub struct Descriptor {
    /// The predicate's name.
    pub name: String,
    /// The author's version.
    pub version: String,
    /// One line of text for operators.
    pub summary: String,
}

/// `predicate.status`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Status {
    /// Preemption may help.
    #[component(name = "unschedulable")]
    Unschedulable,
    /// Preemption cannot help.
    #[component(name = "unschedulable-and-unresolvable")]
    UnschedulableAndUnresolvable,
    /// No verdict is possible because an object is malformed.
    #[component(name = "error")]
    Error,
}

/// `predicate.failure`
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lift)]
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

/// `predicate.verdict` as returned by a guest, unchecked.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(variant)]
pub enum Verdict {
    /// Every row fits.
    #[component(name = "fits-all")]
    FitsAll,
    /// No row fits.
    #[component(name = "fits-none")]
    FitsNone(Failure),
    /// The verdict differs from row to row.
    #[component(name = "by-row")]
    ByRow(Outcome),
    /// As `ByRow`, with the rows of the nodes that the pod names.
    #[component(name = "named")]
    Named((Outcome, Vec<u32>)),
}
