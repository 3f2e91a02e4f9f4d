//! `pod-claims`: the pod's claims of devices as a guest reads them. The contract documents the types under the same names; they
//! are not exported by name from [`wire`](super), where other interfaces have a `Claim` or a `Request` of their own.
//!
//! Start with [`Claim`].
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

/// `pod-claims.nano-units`: an amount in billionths, `high` × 2^64 + `low`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lift, Lower)]
#[component(record)]
pub struct NanoUnits {
    pub high: i64,
    pub low: u64,
}

impl From<i128> for NanoUnits {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the two halves")]
    fn from(nano_units: i128) -> Self {
        Self { high: (nano_units >> 64) as i64, low: nano_units as u64 }
    }
}

impl From<NanoUnits> for i128 {
    fn from(nano_units: NanoUnits) -> Self {
        Self::from(nano_units.high) << 64 | Self::from(nano_units.low)
    }
}

/// `pod-claims.amount`: a quantity of the Kubernetes API, exact and in whole units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Amount {
    #[component(name = "nano-units")]
    pub nano_units: NanoUnits,
    pub units: i64,
}

/// `pod-claims.obstacle`: the reason why no claim of the pod can be allocated on any node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Obstacle {
    pub text: Arc<str>,
    #[component(name = "is-error")]
    pub is_error: bool,
}

/// `pod-claims.class`: a DeviceClass that is requested by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Class {
    pub name: Arc<str>,
    pub selectors: Option<Arc<[Arc<str>]>>,
}

/// `pod-claims.toleration`: a toleration of a request, with its fields as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Toleration {
    pub key: Arc<str>,
    pub operator: Arc<str>,
    pub value: Arc<str>,
    pub effect: Arc<str>,
}

/// `pod-claims.asked`: the devices that a request, or one of its alternatives, asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Asked {
    #[component(name = "own-name")]
    pub own_name: Arc<str>,
    #[component(name = "is-alternative")]
    pub is_alternative: bool,
    pub class: Class,
    pub selectors: Vec<Option<Arc<str>>>,
    pub mode: Arc<str>,
    pub count: i64,
    #[component(name = "admin-access")]
    pub admin_access: bool,
    pub tolerations: Vec<Toleration>,
    pub capacity: Vec<(Arc<str>, Amount)>,
}

/// `pod-claims.request`: a request of a claim, with at least one alternative.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Request {
    pub base: Arc<str>,
    pub alternatives: Vec<Asked>,
}

/// `pod-claims.constraint-kind`: the condition of a constraint on an attribute, which is given by its full name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum ConstraintKind {
    #[component(name = "match")]
    Match(Arc<str>),
    #[component(name = "distinct")]
    Distinct(Arc<str>),
    #[component(name = "unknown")]
    Unknown,
}

/// `pod-claims.constraint`: a constraint over the devices of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Constraint {
    pub requests: Vec<Arc<str>>,
    pub kind: ConstraintKind,
}

/// `pod-claims.unallocated`: a claim that has to be allocated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Unallocated {
    pub requests: Vec<Request>,
    pub constraints: Vec<Constraint>,
}

/// `pod-claims.claim`: a claim of the pod, allocated or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum Claim {
    /// Shared, so that facts which are kept and compared need no copy.
    #[component(name = "unallocated")]
    Unallocated(Arc<Unallocated>),
    #[component(name = "allocated")]
    Allocated(Arc<[u8]>),
}

/// `pod-claims.container-resource`: an extended resource in the requests of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ContainerResource {
    pub key: u32,
    pub resource: u32,
    pub count: i64,
}

/// `pod-claims.container`: a container of the pod with its requests for extended resources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Container {
    #[component(name = "is-short")]
    pub is_short: bool,
    pub resources: Vec<ContainerResource>,
}

/// `pod-claims.extended-claim`: the state of the claim for extended resources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum ExtendedClaim {
    #[component(name = "has-requests")]
    HasRequests,
    #[component(name = "allocated")]
    Allocated(Arc<[u8]>),
    #[component(name = "to-be-made")]
    ToBeMade(Vec<Container>),
}

/// `pod-claims.extended-resource`: an extended resource that the pod requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ExtendedResource {
    pub class: Option<Class>,
    pub own: Arc<[u8]>,
}

impl ExtendedResource {
    /// In [`Self::own`]: the node does not list the resource.
    pub const NONE: u8 = 0;
    /// The node lists it with an amount of zero.
    pub const ZERO: u8 = 1;
    /// The node has some.
    pub const MORE: u8 = 2;
}

/// `pod-claims.extended-resources`: the extended resources of the pod, at least one of which a DeviceClass provides.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Extended {
    pub claim: ExtendedClaim,
    pub resources: Vec<ExtendedResource>,
}
