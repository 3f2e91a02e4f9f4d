//! What a pod's claims get on a node: from the picks of a predicate to AllocationResults of `resource.k8s.io/v1`.
//!
//! ```text
//! results     per claim the document for its status, and the devices to hold until the status shows it
//! requests    requests of a claim, each with the alternative that was taken
//! nodes       the nodes that reach all devices of a claim
//! document    what is written, as JSON
//! amount      amounts and identities of shares as text
//! ```
//!
//! Start with [`results`]. Source: `Allocate` in
//! k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go, and `bindClaim` in kube-scheduler's
//! dynamicresources.go.

mod amount;
mod document;
mod nodes;
mod requests;
mod results;

use std::sync::Arc;

use nodesift_cache::metadata::ClaimRecord;
use nodesift_object::claim::AllocatedDevice;

pub use results::results;

/// What a predicate gives to a pod's claims on a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Devices, in the order picked.
    pub picks: Vec<Pick>,
    /// The claim for extended resources, where it has to be made.
    pub extended: Option<NewClaim>,
}

/// A device that a claim gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The number of the claim; the one for extended resources comes after the last that the pod names.
    pub claim: u32,
    /// The number of the request in the claim.
    pub request: u32,
    /// The number of the alternative; 0 where there are none.
    pub alternative: u32,
    /// The number of the pool among those that the row sees.
    pub pool: u32,
    /// The number of the device in the pool.
    pub device: u32,
    /// For a share, what it takes of each capacity by name, in billionths of a unit; `None` where the claim has the device for
    /// itself.
    pub share: Option<Vec<(String, i128)>>,
}

/// A claim for extended resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewClaim {
    /// Its requests, sorted by name.
    pub requests: Vec<NewRequest>,
    /// Which request serves which resource of which container.
    pub mappings: Vec<Mapping>,
}

/// A request of a claim for extended resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    /// Its name.
    pub name: String,
    /// The DeviceClass.
    pub class: String,
    /// How many devices.
    pub count: i64,
}

/// Says that a request serves a container's resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The number of the container in `PodClaims::containers`.
    pub container: u32,
    /// The number of the resource in `PodClaims::resources`.
    pub resource: u32,
    /// The request's name.
    pub request: String,
}

/// What one claim gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAllocation {
    /// The claim; `None` for one for extended resources that has to be made.
    pub claim: Option<Arc<ClaimRecord>>,
    /// What the devices are held for until the claim shows them: the claim's UID, or that of the pod whose claim has to be made.
    pub uid: Arc<str>,
    /// `status.allocation` of the claim, as JSON.
    pub result: String,
    /// The same devices, to be held in flight.
    pub devices: Vec<AllocatedDevice>,
    /// For extended resources, the claim itself.
    pub extended: Option<ExtendedSpec>,
}

/// A claim for extended resources, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendedSpec {
    /// `spec` of the claim.
    pub spec: String,
    /// `status.extendedResourceClaimStatus.requestMappings` of the pod.
    pub mappings: String,
}

/// Why picks do not become allocations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// The pod's claims cannot be allocated anywhere.
    #[error("{0}")]
    Obstacle(String),
    /// A pick names something that is not there: a fault of the predicate.
    #[error("the predicate picked a {0} that does not exist")]
    Unknown(&'static str),
    /// More devices than one claim can have.
    #[error("the predicate picked more than {limit} devices for one claim")]
    TooManyDevices {
        /// [`crate::limits::CLAIM_DEVICES`].
        limit: usize,
    },
    /// An amount is no quantity.
    #[error("the predicate gave a share of {0} billionths of a unit, which is no quantity")]
    Amount(i128),
    /// The nodes of a device are said in a way that an allocation cannot repeat.
    #[error("unsupported ResourceSlice.NodeSelector with {terms} terms")]
    Terms {
        /// How many.
        terms: usize,
    },
    /// Configurations were too large to be kept.
    #[error("{of}: its configurations are larger than {limit} bytes")]
    Configurations {
        /// The claim or the class.
        of: String,
        /// The limit of the cache.
        limit: usize,
    },
    /// A document cannot be written.
    #[error("an allocation cannot be written within {limit} bytes: {reason}")]
    Unwritable {
        /// [`crate::limits::ALLOCATION_BYTES`].
        limit: usize,
        /// What the writer says.
        reason: String,
    },
}

#[cfg(test)]
mod tests;
