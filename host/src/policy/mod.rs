//! Policies: which predicates run, in which order, with which arguments and limits.
//!
//! A policy is read in two steps, so that a wrong one is told apart early and wholly: [`document`] is the YAML as
//! written, [`spec`] what it means, cross-checked. Loading it is the third: [`ActivePolicy`] holds every predicate
//! loaded, linked and configured. Start at [`spec::Policy`].

mod active;
pub mod document;
pub mod spec;

pub use active::{ActivateError, ActivePolicy, ActivePredicate};
pub use spec::{ModuleSource, OnError, Phase, Phases, Policy, PolicyError, PredicateSpec, SelectError, SpecLimits};
