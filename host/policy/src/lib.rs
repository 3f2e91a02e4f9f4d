//! Policies: which predicates run, in which order, with which arguments and limits.
//!
//! A policy is read in two steps, so that a wrong one is told apart early and wholly: [`document`] is the YAML as
//! written, [`spec`] what it means, cross-checked. Loading it is the third: [`activate`] makes the
//! [`ActivePolicy`](nodesift_engine::ActivePolicy) that the engine runs. Start at [`spec::Policy`].

mod activate;
pub mod document;
pub mod limits;
pub mod spec;

pub use activate::{ActivateError, activate};
pub use spec::{ModuleSource, Policy, PolicyError, PredicateSpec, SelectError, SpecLimits};
