//! The contract's types at the component boundary, named as in `sdk/predicate/wit`. The types that a guest returns are here;
//! those that it reads are in `pod`, `parties`, `selectors` and `storage`, and in [`claims`] and [`devices`], whose names are used with
//! theirs. So are the names in [`allocation`] and [`scoring`], which some guests return as well.

pub mod allocation;
pub mod claims;
pub mod devices;
mod parties;
mod pod;
pub mod scoring;
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
    /// Name of the predicate, for example `NodeAffinity`.
    pub name: String,
    /// Version of the predicate, in any scheme that its author chooses.
    pub version: String,
    /// One line of text for operators.
    pub summary: String,
}

/// `predicate.status`: the status code of a rejection, as in kube-scheduler's framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Status {
    /// Preempting pods may make the node fit.
    #[component(name = "unschedulable")]
    Unschedulable,
    /// Preempting pods cannot make the node fit.
    #[component(name = "unschedulable-and-unresolvable")]
    UnschedulableAndUnresolvable,
    /// No verdict is possible because an object is malformed.
    #[component(name = "error")]
    Error,
}

/// `predicate.failure`: the status and reasons of a rejection, which many rows can share.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(record)]
pub struct Failure {
    /// Status code of kube-scheduler's framework.
    pub status: Status,
    /// Every reason that applies.
    pub reasons: Vec<String>,
}

/// `predicate.outcome`: a verdict with one code per row.
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
    /// Every row of the batch fits.
    #[component(name = "fits-all")]
    FitsAll,
    /// The pod is rejected on every node, independent of the rows.
    #[component(name = "fits-none")]
    FitsNone(Failure),
    /// The verdict differs from row to row.
    #[component(name = "by-row")]
    ByRow(Outcome),
    /// Codes by row like [`Verdict::ByRow`], plus the rows of the nodes that the pod names.
    #[component(name = "named")]
    Named((Outcome, Vec<u32>)),
}
