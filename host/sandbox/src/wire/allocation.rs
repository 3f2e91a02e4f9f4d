//! `allocator`: the devices that a guest gives to the pod's claims. The contract documents the types under the same names; they are
//! not exported by name from [`wire`](super).
//!
//! Start with [`Allocation`]. What [`Module::allocate`](crate::Module::allocate) returns is checked in itself; whether there are
//! such claims, pools and devices is for the caller to see, who has made them facts.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use wasmtime::component::{ComponentType, Lift};

use super::claims::NanoUnits;

/// `allocator.pick`: a device that a claim gets.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Pick {
    pub claim: u32,
    pub request: u32,
    pub alternative: u32,
    pub pool: u32,
    pub device: u32,
    pub share: Option<Vec<(String, NanoUnits)>>,
}

/// `allocator.new-request`: a request of the claim for extended resources.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct NewRequest {
    pub name: String,
    pub class: String,
    pub count: i64,
}

/// `allocator.mapping`: the request that serves a container's resource.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Mapping {
    pub container: u32,
    pub resource: u32,
    pub request: String,
}

/// `allocator.new-claim`: the claim for extended resources, where it has to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct NewClaim {
    pub requests: Vec<NewRequest>,
    pub mappings: Vec<Mapping>,
}

/// `allocator.allocation`: the devices that the pod's claims get on a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Allocation {
    pub picks: Vec<Pick>,
    pub extended: Option<NewClaim>,
}
