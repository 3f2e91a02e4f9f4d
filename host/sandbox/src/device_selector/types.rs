//! Types that cross to and from the component, named as in `sdk/predicate/wit/selector`, which documents them.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use wasmtime::component::{ComponentType, Lift, Lower};

/// `device-selector.dialect`: where the expressions of minor versions of Kubernetes differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lower)]
#[component(record)]
pub struct Dialect {
    pub lists: bool,
    pub includes: bool,
}

/// `device-selector.qualified-name`: the domain and name of an attribute or a capacity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lift)]
#[component(record)]
pub struct QualifiedName {
    pub domain: String,
    pub name: String,
}

/// `device-selector.path`: a part of a device that an expression reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lift)]
#[component(variant)]
pub enum Path {
    #[component(name = "driver")]
    Driver,
    #[component(name = "allow-multiple-allocations")]
    AllowMultipleAllocations,
    #[component(name = "attribute")]
    Attribute(QualifiedName),
    #[component(name = "attribute-domain")]
    AttributeDomain(String),
    #[component(name = "capacity")]
    Capacity(QualifiedName),
    #[component(name = "capacity-domain")]
    CapacityDomain(String),
}

/// `device-selector.outcome`: the result of an expression for one device.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(variant)]
pub enum Outcome {
    #[component(name = "no")]
    No,
    #[component(name = "yes")]
    Yes,
    #[component(name = "error")]
    Error(String),
}
