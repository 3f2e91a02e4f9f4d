//! The sandbox: wasm components compiled, linked to the facts that they may read, called within limits, their verdicts
//! checked. It knows wasmtime and the text of the contract, and nothing of Kubernetes or of any predicate.
//!
//! ```text
//! runtime     engines, the cache of compiled code, the epoch clock; bytes → Module
//! module      one loaded predicate: imports checked, linked, described, configured; idle instances
//! instance    one instance in a store of its own; errors of wasmtime → Fault
//!   deadline · clock · memory     the limits of a call
//! interface   the fact interfaces that a guest can import: the whole surface that it can touch
//! wire        types as they cross the boundary
//! check       what a guest returned → Verdict, or a Fault
//! verdict · codes     the checked verdict
//! fault       the closed list of failures
//! limits      every limit with its reason
//! ```
//!
//! Start with [`Runtime`], then [`Module::filter`]. Whatever a guest does ends in a checked [`Verdict`] or a named
//! [`Fault`](fault::Fault).

mod check;
mod clock;
mod codes;
mod deadline;
pub mod fault;
mod instance;
mod interface;
pub mod limits;
mod memory;
mod module;
mod runtime;
mod verdict;
pub mod wire;

pub use codes::Codes;
pub use interface::{Facts, Interface, PACKAGE, VERSION};
pub use module::{Grants, Lifetime, LoadError, Module};
pub use runtime::{Runtime, StartError};
pub use verdict::{Code, Failure, RowVerdict, Verdict};
