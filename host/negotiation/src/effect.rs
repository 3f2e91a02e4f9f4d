//! Events that go into the state machine, and effects that come out of it.

use std::sync::Arc;

use crate::decision::Decision;
use crate::message::{Answer, Call, CallId, Invalidate, MalformedAnswer, PartyAllocated, PartyFailed};
use crate::request::{ClaimState, ClaimUid, NegotiationId, Node, Owner, Refusal};
use crate::subject::{Subject, Suitability};

/// Event that the state machine handles in [`Negotiations::step`](crate::Negotiations::step).
#[derive(Debug, Clone)]
pub enum Event {
    /// A party's stream has ended. Another stream of the same party changes nothing.
    Left {
        /// Name of the party in the policy.
        party: Arc<str>,
        /// The stream, as [`Negotiations::attend`](crate::Negotiations::attend) was told.
        session: u64,
    },
    /// A party has answered a question.
    Answered(Arc<str>, Answer),
    /// A party has allocated.
    Allocated(Arc<str>, PartyAllocated),
    /// A party cannot allocate.
    Failed(Arc<str>, PartyFailed),
    /// A party has given back what this call had allocated.
    Deallocated(Arc<str>, CallId),
    /// A party has said something that the caller cannot read, and leaves out of what it hands over.
    Malformed(Arc<str>, MalformedAnswer),
    /// A party has revoked earlier answers, about one subject or about all.
    Invalidated(Arc<str>, Invalidate),
    /// The caller has evaluated candidates.
    Evaluated(Evaluated),
    /// The caller has assumed a pod, and holds its claims; or the reason why not.
    Assumed(NegotiationId, Result<(), Arc<str>>),
    /// A claim has changed; `None`: it is deleted.
    Claim {
        /// UID of the claim.
        uid: ClaimUid,
        /// State of the claim in the API server.
        state: Option<ClaimState>,
        /// Whether it is reserved for other pods than the one that is selected for it.
        shared: bool,
    },
    /// A pod is bound to a node.
    Bound(Arc<str>),
    /// A pod that is not bound is deleted, or its assumption has ended.
    PodGone(Arc<str>),
    /// A pod has ended or is deleted, bound or not.
    Ended {
        /// UID of the pod.
        pod: Arc<str>,
        /// Claims of it that other pods use. What is held of them is given back with a later event.
        shared: Vec<ClaimUid>,
    },
    /// The core of a client is gone: what it has selected and not bound is given back.
    Lost(Owner),
    /// Time has passed: deadlines that are due are handled.
    Tick,
}

/// Action that the caller has to carry out, in the order in which they are returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send this to a party, which attends.
    Call(Arc<str>, Call),
    /// Tell those who watch a negotiation.
    Tell {
        /// Id of the negotiation.
        negotiation: NegotiationId,
        /// The round, from 1; 0 before the first.
        round: u32,
        /// New state of the negotiation.
        progress: Progress,
    },
    /// Evaluate candidates; [`Event::Evaluated`] answers.
    Evaluate(Evaluate),
    /// Rows of the column of a party and subject have changed.
    Rows {
        /// Name of the party.
        party: Arc<str>,
        /// Subject of the answers.
        subject: Subject,
        /// The nodes, and what they are now.
        changes: Vec<(Node, Suitability)>,
    },
    /// Assume a pod on a node, or move it there, if predicates allow it; and hold its claims in flight. [`Event::Assumed`]
    /// answers.
    Assume {
        /// Id of the negotiation.
        negotiation: NegotiationId,
        /// UID of the pod.
        pod: Arc<str>,
        /// Node on which the pod is assumed.
        node: Node,
        /// The claims to hold.
        claims: Vec<ClaimUid>,
        /// The decision to record before, by which this negotiation is the one that allocates; where it is not, [`Event::Assumed`] says
        /// so. None for a pod without parties, and for one that moves.
        decision: Option<Decision>,
    },
    /// The decision about a pod is another one by now, to be recorded in order with the other effects of the pod.
    Decide(Decision),
    /// End the assumption of a pod, and hold its claims no more.
    Forget {
        /// UID of the pod.
        pod: Arc<str>,
    },
    /// A party may say something else by now about pods whose negotiations ended without an allocation: tell the client that negotiated.
    Woken {
        /// Name of the party.
        party: Arc<str>,
        /// The owner of the negotiation.
        owner: Owner,
        /// UIDs of the pods.
        pods: Vec<Arc<str>>,
    },
    /// There is no room for more of a negotiation: those who watch it are refused, as one that begins would be. It is over.
    Refuse(NegotiationId, Refusal),
    /// A negotiation has ended: nothing of it is needed any more.
    Over(NegotiationId),
    /// Something that an operator wants to know of a party.
    Defect(Arc<str>, Defect),
}

/// Misbehaviour of a party, for metrics and logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defect {
    /// It has said something that counts for nothing.
    Malformed(MalformedAnswer),
    /// It has not answered in time.
    Silent,
    /// It has been silent too often: it is not asked for a while.
    Quarantined,
}

/// Candidates to evaluate: the first [`wanted`](Evaluate::wanted) nodes that fit, of `named`, then of those that a selector
/// matches, then of `order` from `start` on; none of `skip`, and only those that the node selectors of all `parties` match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluate {
    /// Id of the negotiation.
    pub negotiation: NegotiationId,
    /// The round for which they are; the answer repeats it.
    pub round: u32,
    /// UID of the pod.
    pub pod: Arc<str>,
    /// The parties of the pod, and what their answers are about: the rows that its predicates see.
    pub parties: Vec<(Arc<str>, Subject)>,
    /// Nodes that the core has selected, or parties have named; there may be no such nodes.
    pub named: Vec<Node>,
    /// Node selectors that parties have given, with their party.
    pub selectors: Vec<(Arc<str>, Arc<str>)>,
    /// Nodes in the core's order of preference.
    pub order: Arc<[Node]>,
    /// Where to go on in it.
    pub start: usize,
    /// Nodes that have been candidates.
    pub skip: Vec<Node>,
    /// The most nodes of the answer.
    pub wanted: usize,
}

/// The answer to an [`Evaluate`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluated {
    /// Id of the negotiation, as in the [`Evaluate`].
    pub negotiation: NegotiationId,
    /// The round that was asked for.
    pub round: u32,
    /// The nodes that fit, in the order in which they were to be tried; with the texts of the caller, since those of parties are held by
    /// nobody else.
    pub nodes: Vec<Node>,
    /// The position in `order` after the last node that was tried; its length, where all were.
    pub next: usize,
}

/// Progress of a negotiation, as its streams report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A round has begun.
    Asked {
        /// Candidates of the round.
        nodes: usize,
        /// Parties that are heard in it.
        parties: Vec<Arc<str>>,
    },
    /// These nodes suit all parties; the preferred one first.
    Viable(Vec<Node>),
    /// Why nodes do not suit, before [`End::Exhausted`] or [`End::TimedOut`].
    Refused(Vec<RefusedNodes>),
    /// The pod is assumed on this node, and the parties allocate. The last that a stream of `Negotiate` sees.
    Selected(Node),
    /// All parties have finished: the pod may be bound to this node. The last that a stream of `Select` sees.
    Allocated(Node),
    /// The pod cannot have what was selected; everything has been undone. The last that a stream of `Select` sees.
    Failed(Failure),
    /// The end. The last that any stream sees.
    Ended(End),
}

/// Nodes that a party has refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedNodes {
    /// Name of the party.
    pub party: Arc<str>,
    /// Human-readable reason; empty where the party gives none.
    pub reason: Arc<str>,
    /// Number of nodes that the party has answered about.
    pub nodes: usize,
}

/// Why an allocation has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The party that failed; none: it was the caller, or the parties have no node in common.
    pub party: Option<Arc<str>>,
    /// The claim that cannot be allocated, where the party says so.
    pub claim: Option<ClaimUid>,
    /// Human-readable reason of the failure.
    pub reason: Arc<str>,
}

/// How a negotiation ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The parties agree; the negotiation waits for its selection.
    Viable,
    /// No candidate suits all, and there are no more.
    Exhausted,
    /// The time is over; these parties had not answered, or not finished.
    TimedOut(Vec<Arc<str>>),
    /// This claim is being allocated or deallocated: come back later.
    InProgress(ClaimUid),
    /// The pod or one of its claims is deleted, or the core has released the pod.
    Gone,
    /// Another negotiation of the same pod has taken its place.
    Superseded,
}
