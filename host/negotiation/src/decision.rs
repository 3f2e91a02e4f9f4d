//! Decisions about pods: what parties hold for them, or may. They are what outlives the process, where the caller records them.

use std::sync::Arc;

use crate::message::CallId;
use crate::request::ClaimUid;

/// How far a decision has been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Parties are about to be told to allocate, or have been.
    Allocating,
    /// All parties have allocated.
    Allocated,
    /// The pod is bound, and parties hold what they have allocated until it ends.
    Bound,
    /// Nothing is held but what is being given back.
    Deallocating,
}

/// An allocation that one party holds for a pod, or may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Name of the party.
    pub party: Arc<str>,
    /// Id of its call to allocate.
    pub call: CallId,
    /// The claims; none for a party that decides about pods only.
    pub claims: Vec<ClaimUid>,
    /// Whether the party has been told to give it back.
    pub gives_back: bool,
}

/// The decision about one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// UID of the pod.
    pub pod: Arc<str>,
    /// How far it has been carried out.
    pub stage: Stage,
    /// Allocations that parties hold, or may hold. Empty: there is nothing to decide about the pod any more.
    pub held: Vec<Held>,
}
