//! Input of cores and policies: pods with their claims, requests, parties.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::{CANDIDATES, CANDIDATES_MOST, CLAIMS, DEADLINE_MOST, ORDER_NODES, ROUND_LEAST};

/// How a client reaches the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Class {
    /// On the same machine, where the right to do so is a file's mode.
    #[default]
    Local,
    /// Any other way, such as TCP: the client may be on another machine.
    Remote,
}

/// Who has opened a negotiation. To anybody else it is not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Owner {
    /// How the client comes.
    pub class: Class,
    /// Name by which the client is told apart from others of its class.
    pub identity: Arc<str>,
}

/// A negotiation: 64 random bits, which nobody guesses; the token by which its owner may supersede it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NegotiationId(pub u64);

/// `metadata.name` of a node.
pub type Node = Arc<str>;

/// `metadata.uid` of a claim.
pub type ClaimUid = Arc<str>;

/// Whom a party decides about: `for` of a party in the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concern {
    /// Claims on devices of this driver.
    Driver(Arc<str>),
    /// Claims of this DeviceClass.
    DeviceClass(Arc<str>),
    /// Pods, with or without claims, that a selector matches. [`Request::selected_by`] says which.
    Pods,
}

/// Scope of a party's answers: the pods for which an answer may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One pod: no other pod uses the answer.
    Pod,
    /// All pods of a template.
    Template,
    /// All pods with the same claims.
    Claims,
}

/// Meaning of a party's silence at the end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnSilence {
    /// No node is viable until it has answered.
    Wait,
    /// The nodes that it was asked about are not viable.
    Reject,
    /// It has no say about them.
    Ignore,
}

/// A party of the policy. Its node selector is the caller's: see [`Evaluate::parties`](crate::Evaluate::parties).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Unique in the policy.
    pub name: Arc<str>,
    /// Whom it decides about.
    pub concern: Concern,
    /// Scope of its answers: which pods may use one.
    pub scope: Scope,
    /// Meaning of its silence at the end of a round.
    pub on_silence: OnSilence,
}

/// Whether a claim has been allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// Nobody has allocated it, and nobody is doing so.
    Unallocated,
    /// Somebody is allocating it.
    InFlight,
    /// `deallocationRequested`, or the like: what it had must not be used.
    Deallocating,
    /// It is allocated: predicates see where it can be used.
    Allocated,
}

/// A claim of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `metadata.uid`: a claim that is made anew is another.
    pub uid: ClaimUid,
    /// Name of the claim as in `metadata.name`, for people.
    pub name: Arc<str>,
    /// The drivers of its classes.
    pub drivers: Vec<Arc<str>>,
    /// The DeviceClasses that it names.
    pub classes: Vec<Arc<str>>,
    /// Whether it is allocated.
    pub state: ClaimState,
    /// Whether it is reserved for other pods.
    pub shared: bool,
}

/// A pod, as far as negotiation knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// UID of the pod, `metadata.uid`.
    pub uid: Arc<str>,
    /// The key of its template; equal for pods that predicates cannot tell apart.
    pub template: Arc<str>,
    /// Its claims, at most [`CLAIMS`](crate::limits::CLAIMS).
    pub claims: Vec<Claim>,
    /// Number of its volumes that are bound once its node is known, or of which that is not known.
    pub pending_volumes: usize,
}

impl Pod {
    /// The claims that are allocated for this pod: when its node is known.
    pub(crate) fn delayed(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.state == ClaimState::Unallocated)
    }

    /// Number of claims and volumes that depend on the node of the pod.
    pub(crate) fn pending(&self) -> usize {
        self.delayed().count() + self.pending_volumes
    }
}

/// A request to negotiate.
#[derive(Debug, Clone)]
pub struct Request {
    /// Pod for which nodes are negotiated.
    pub pod: Pod,
    /// The parties with [`Concern::Pods`] whose selectors match the pod.
    pub selected_by: Vec<Arc<str>>,
    /// Nodes, the preferred ones first, without duplicates; at most [`ORDER_NODES`](crate::limits::ORDER_NODES). For a request
    /// without an order, the nodes of the snapshot by row. Of negotiations of one client that share it, it counts once.
    pub order: Arc<[Node]>,
    /// Candidates of a round, 1 to [`CANDIDATES_MOST`](crate::limits::CANDIDATES_MOST). 0:
    /// [`CANDIDATES`](crate::limits::CANDIDATES).
    pub candidates: usize,
    /// Time for all of it, up to [`DEADLINE_MOST`](crate::limits::DEADLINE_MOST). Zero: [`DEADLINE`](crate::limits::DEADLINE).
    pub deadline: Duration,
    /// Time for a round. Zero: [`ROUND`](crate::limits::ROUND).
    pub round: Duration,
    /// The negotiation of the same pod that this one takes the place of.
    pub supersedes: Option<NegotiationId>,
    /// Client that opens the negotiation.
    pub owner: Owner,
    /// Bytes that the caller holds of it until it ends, those of the order left out.
    pub bytes: usize,
}

impl Request {
    /// Checks the ranges of its fields.
    ///
    /// # Errors
    ///
    /// [`Refusal::OutOfRange`].
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let is_round_wrong = !self.round.is_zero() && self.round < ROUND_LEAST;
        let wrong = [
            ("order", self.order.len() > ORDER_NODES),
            ("candidates", self.candidates > CANDIDATES_MOST),
            ("claims", self.pod.claims.len() > CLAIMS),
            ("deadline", self.deadline > DEADLINE_MOST),
            ("round", is_round_wrong || self.round > DEADLINE_MOST),
        ];
        match wrong.into_iter().find(|(_, is_wrong)| *is_wrong) {
            Some((field, _)) => Err(Refusal::OutOfRange(field)),
            None => Ok(()),
        }
    }

    /// Most candidates of a round.
    pub(crate) fn most(&self) -> usize {
        if self.candidates == 0 { CANDIDATES } else { self.candidates }
    }
}

/// A request to allocate.
#[derive(Debug, Clone)]
pub struct Select {
    /// Id of the negotiation.
    pub negotiation: NegotiationId,
    /// The nodes, the preferred one first. Each party allocates for one of them at least.
    pub nodes: Vec<Node>,
    /// Whether nodes about which parties have not been heard may be selected. Only for a pod with one delayed claim, and no volume that is
    /// bound once its node is known.
    pub optimistic: bool,
    /// Time for all allocations, up to [`DEADLINE_MOST`](crate::limits::DEADLINE_MOST). Zero:
    /// [`DEADLINE`](crate::limits::DEADLINE).
    pub deadline: Duration,
}

/// Why a request is refused. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The pod has a negotiation, and the request does not supersede it.
    #[error("the pod has negotiation {} already; name it in `supersedes` to take its place", .0.0)]
    AlreadyExists(NegotiationId),
    /// The pod has a negotiation of a client without a certificate, as the request's client is: such clients cannot be told apart, and
    /// whoever knew the negotiation could end that of another.
    #[error(
        "the pod has a negotiation of a client without a certificate already: wait for its end, or come over the socket"
    )]
    AlreadyExistsUnnamed,
    /// A remote client may not negotiate about claims of a pod that it alone has seen.
    #[error("the pod is not in the cache, and it has claims: negotiate once the cache has it, or come over the socket")]
    NotInCache,
    /// There is no such negotiation: it has ended, or the program has been restarted.
    #[error("there is no negotiation {}; negotiate again", .0.0)]
    Unknown(NegotiationId),
    /// All places are taken.
    #[error("{0} is at its limit; try again later")]
    Full(&'static str),
    /// A field of the request is out of its range.
    #[error("`{0}` is out of its range")]
    OutOfRange(&'static str),
    /// The node was not agreed on.
    #[error("the parties have not agreed on node {0}")]
    NotViable(Node),
    /// More than one claim or volume depends on the node, or none.
    #[error("{0} claims and volumes depend on the node: only a pod with one claim may be selected before all answers")]
    NotOptimistic(usize),
    /// The negotiation has been selected already.
    #[error("negotiation {} has been selected already", .0.0)]
    Selected(NegotiationId),
    /// Another negotiation of the pod, by another client, has been selected, and has not ended.
    #[error("another negotiation of the pod has been selected: wait for its end")]
    SelectedElsewhere,
    /// The party attends by the stream of another peer.
    #[error("party {0} attends already, from another process or with another certificate: attend once that has left")]
    Attended(Arc<str>),
    /// The policy has no such party.
    #[error("the policy has no party {0}")]
    UnknownParty(Arc<str>),
}
