//! Devices for a pod's claims on a node: from the picks of a predicate to AllocationResults of `resource.k8s.io/v1`.
//!
//! ```text
//! allocator   the question to the predicate of the policy that gives devices
//! results     per claim the document for its status, and the devices to hold until the status shows it
//! requests    requests of a claim, each with the alternative that was taken
//! nodes       the nodes that reach all devices of a claim
//! document    what is written, as JSON
//! amount      amounts and identities of shares as text
//! ```
//!
//! Start with [`Engine::allocate`](crate::Engine::allocate). Source: `Allocate` in
//! k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go, and `bindClaim` in kube-scheduler's
//! dynamicresources.go.

mod allocator;
mod amount;
mod document;
mod nodes;
mod requests;
mod results;

use std::sync::Arc;

use nodesift_cache::metadata::ClaimRecord;
use nodesift_object::claim::AllocatedDevice;
use nodesift_sandbox::fault::Fault;

pub use nodesift_sandbox::wire::allocation::{Allocation, Mapping, NewClaim, NewRequest, Pick};
pub use results::results;

/// Devices that one claim gets on a node, as a document and as entries to reserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAllocation {
    /// The claim; `None` for one for extended resources that has to be made.
    pub claim: Option<Arc<ClaimRecord>>,
    /// UID under which the devices are reserved until the claim shows them: the claim's, or that of the pod whose claim has to be
    /// made.
    pub uid: Arc<str>,
    /// `status.allocation` of the claim, as JSON.
    pub result: String,
    /// The devices of `result`, to be held in flight.
    pub devices: Vec<AllocatedDevice>,
    /// For extended resources, the claim itself.
    pub extended: Option<ExtendedSpec>,
}

impl ClaimAllocation {
    /// Bytes of the documents.
    pub fn bytes(&self) -> usize {
        let extended = self.extended.as_ref();
        self.result.len() + extended.map_or(0, |extended| extended.spec.len() + extended.mappings.len())
    }
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
    /// The pod has claims, and the policy nothing that gives devices.
    #[error(
        "no predicate of the policy gives devices to claims: have one with DynamicResources in the phase allocate, or leave \
         `allocate` out and allocate the claims yourself"
    )]
    NoAllocator,
    /// The predicate gives none on this node.
    #[error("predicate {predicate:?} gives the claims no devices there")]
    NoDevices {
        /// Its name in the policy.
        predicate: Arc<str>,
    },
    /// The call of the predicate failed.
    #[error("predicate {predicate:?} failed: {fault}")]
    Fault {
        /// Its name in the policy.
        predicate: Arc<str>,
        /// The fault of the call.
        fault: Fault,
    },
    /// The pod's claims cannot be allocated anywhere.
    #[error("{0}")]
    Obstacle(String),
    /// A pick names something that is not there: a fault of the predicate.
    #[error("the predicate picked a {0} that does not exist")]
    Unknown(&'static str),
    /// More devices than one claim can have.
    #[error("the predicate picked more than {limit} devices for one claim")]
    TooManyDevices {
        /// Most devices of one claim: [`crate::limits::CLAIM_DEVICES`].
        limit: usize,
    },
    /// An amount is no quantity.
    #[error("the predicate gave a share of {0} billionths of a unit, which is no quantity")]
    Amount(i128),
    /// The nodes of a device are said in a way that an allocation cannot repeat.
    #[error("unsupported ResourceSlice.NodeSelector with {terms} terms")]
    Terms {
        /// Number of terms in the node selector.
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
    /// The parameters of a configuration are no JSON.
    #[error("{of}: the parameters of a configuration are no JSON: {reason}")]
    NoJson {
        /// The claim or the class.
        of: String,
        /// Error message of the JSON library.
        reason: String,
    },
    /// The documents for the claims of one pod are too large together.
    #[error("the allocations of the pod's claims take more than {limit} bytes together")]
    TooLarge {
        /// Most bytes of a pod's documents together: [`crate::limits::ALLOCATION_BYTES`].
        limit: usize,
    },
    /// A document cannot be written.
    #[error("an allocation cannot be written within {limit} bytes: {reason}")]
    Unwritable {
        /// Limit in bytes: [`crate::limits::ALLOCATION_BYTES`].
        limit: usize,
        /// Error message of the JSON library.
        reason: String,
    },
}

#[cfg(test)]
mod tests;
