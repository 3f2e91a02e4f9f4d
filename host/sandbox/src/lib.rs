//! The sandbox: components compiled, linked to the facts they may read, called within limits, their answers checked.
//!
//! It knows wasmtime and the contract's text, and nothing of Kubernetes or of any predicate. Whatever a guest does ends
//! in a checked [`Verdict`] or a named [`crate::fault::Fault`]. Start with `runtime`, then `module`; `linker` is the
//! whole surface that a guest can touch.

mod clock;
mod deadline;
mod facts;
pub mod fault;
mod instance;
pub mod limits;
mod linker;
mod memory;
mod module;
mod runtime;
mod verdict;
pub mod wire;

pub use facts::Facts;
pub use linker::{Interface, PACKAGE, VERSION};
pub use module::{Grants, Lifetime, LoadError, Module};
pub use runtime::{Runtime, StartError};
pub use verdict::{Failure, Verdict};
