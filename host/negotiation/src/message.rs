//! Messages to parties and from parties.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::{ALTERNATIVES, ANSWER_BYTES, REASON_BYTES, SELECTOR_BYTES};
use crate::request::{ClaimUid, NegotiationId, Node};
use crate::subject::Subject;

/// A call of a party. What answers it names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Call to a party. The end of its stream withdraws everything but what is bound and deallocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Say which nodes do not suit.
    Ask(Ask),
    /// Allocate for one of the nodes at least. It may come again with the same id, on a new stream.
    Allocate(Allocate),
    /// The pod of a call is bound: keep what is allocated until it is to be given back. It may come again with the same id, on a new stream.
    Bound(Bound),
    /// Give back what a call has allocated. It may come again with the same id, on a new stream.
    Deallocate(Deallocate),
    /// Nobody waits for the answer to this call any more: stop, and allocate nothing.
    Withdraw(CallId),
}

/// A question to a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Names the question in its answers.
    pub id: CallId,
    /// Subject of the answers.
    pub subject: Subject,
    /// Whose it is. Parties are not told.
    pub negotiation: NegotiationId,
    /// UID of the pod.
    pub pod: Arc<str>,
    /// All claims of the pod about which the party decides.
    pub claims: Vec<ClaimUid>,
    /// The other claims of the pod.
    pub others: Vec<OtherClaim>,
    /// Candidates about which the party is asked.
    pub nodes: Vec<Node>,
    /// Nodes that did not suit before, and may now.
    pub recheck: Vec<Node>,
    /// Time until the party counts as silent.
    pub deadline: Duration,
}

/// A claim of a pod about which a party does not decide that is asked about the pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherClaim {
    /// UID of the claim.
    pub claim: ClaimUid,
    /// Whether it is allocated: predicates see where it can be used, and no candidate is elsewhere.
    pub is_allocated: bool,
    /// The parties that are to allocate it; none where it is allocated, or devices of the cluster are.
    pub parties: Vec<Arc<str>>,
}

/// A call to allocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocate {
    /// Names the call in what answers it.
    pub id: CallId,
    /// Whose it is. Parties are not told.
    pub negotiation: NegotiationId,
    /// UID of the pod.
    pub pod: Arc<str>,
    /// The claims to allocate; none for a party that decides about pods only.
    pub claims: Vec<ClaimUid>,
    /// The nodes, the preferred one first.
    pub nodes: Vec<Node>,
}

/// The word that a pod is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The id of the [`Allocate`].
    pub id: CallId,
    /// UID of the pod.
    pub pod: Arc<str>,
    /// The claims that are held; none for a party that decides about pods only.
    pub claims: Vec<ClaimUid>,
}

/// A call to deallocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deallocate {
    /// The id of the [`Allocate`].
    pub id: CallId,
    /// The claims; none for a party that decides about pods only.
    pub claims: Vec<ClaimUid>,
}

/// A node that does not suit a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsuitable {
    /// One of those asked about.
    pub node: Node,
    /// The claim for which it does not suit; none: for all of them together.
    pub claim: Option<ClaimUid>,
    /// Human-readable reason of the rejection.
    pub reason: Arc<str>,
}

/// Answer of a party to an [`Ask`]: nodes that it does not name suit. The last answer to a question is the one that is not partial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The question; `None` only where a party has sent none.
    pub id: Option<CallId>,
    /// Nodes that do not suit.
    pub nodes: Vec<Unsuitable>,
    /// Whether nothing is said about the other nodes yet.
    pub partial: bool,
    /// Nodes that would suit and were not asked about, at most [`ALTERNATIVES`].
    pub alternatives: Vec<Node>,
    /// A node selector of such nodes, as text that the caller understands.
    pub selector: Option<Arc<str>>,
    /// Time for which others may use the answer, [`VALID_MOST`](crate::limits::VALID_MOST) at most. Zero: only who asked.
    pub valid: Duration,
}

/// Answer of a party to an [`Allocate`] for claims that it has allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartyAllocated {
    /// Id of the [`Allocate`].
    pub id: CallId,
    /// The claims that are allocated now; the call has succeeded once all are.
    pub claims: Vec<ClaimUid>,
    /// Nodes of the call on which the claims can be used.
    pub nodes: Vec<Node>,
}

/// Answer of a party to an [`Allocate`] that has failed. The party holds nothing of the claims that it names as failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartyFailed {
    /// Id of the [`Allocate`].
    pub id: CallId,
    /// The claim that cannot be allocated; none: all those of the call.
    pub claim: Option<ClaimUid>,
    /// Human-readable reason of the failure.
    pub reason: Arc<str>,
    /// Nodes of the call that do not suit; none: the first.
    pub nodes: Vec<Node>,
}

/// Revocation of a party's earlier answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalidate {
    /// The subject; none: every subject.
    pub subject: Option<Subject>,
}

/// Why an answer, or a part of it, counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedAnswer {
    /// Its texts are larger than [`ANSWER_BYTES`].
    #[error("the answer has {0} bytes, more than {ANSWER_BYTES}")]
    Large(usize),
    /// It names a node that was not asked about.
    #[error("node {0} was not asked about")]
    NotAsked(Node),
    /// It names a node twice.
    #[error("node {0} is named twice")]
    Twice(Node),
    /// It names a claim that was not asked about.
    #[error("claim {0} was not asked about")]
    NotAskedClaim(ClaimUid),
    /// It has more than [`ALTERNATIVES`] alternatives.
    #[error("the answer has {0} alternatives, more than {ALTERNATIVES}")]
    Alternatives(usize),
    /// Its selector is larger than [`SELECTOR_BYTES`].
    #[error("the selector has {0} bytes, more than {SELECTOR_BYTES}")]
    Selector(usize),
    /// Its selector of alternatives is no label selector; the rest of the answer counts.
    #[error("{0:?} is no label selector")]
    NoSelector(Arc<str>),
    /// There is no room for so many of its alternatives; the rest of the answer counts.
    #[error("there is no room for {0} of the alternatives")]
    Excess(usize),
    /// The question was another party's.
    #[error("the question was another party's")]
    Foreign,
    /// It says that something can be used nowhere.
    #[error("the allocation names no node")]
    Nowhere,
}

impl Answer {
    /// Checks the sizes of an answer.
    pub(crate) fn check_size(&self) -> Result<(), MalformedAnswer> {
        let named =
            self.nodes.iter().map(|it| it.node.len() + it.reason.len() + it.claim.as_ref().map_or(0, |it| it.len()));
        let selector = self.selector.as_ref().map_or(0, |it| it.len());
        let bytes = named.chain(self.alternatives.iter().map(|it| it.len())).fold(selector, usize::saturating_add);
        if bytes > ANSWER_BYTES {
            return Err(MalformedAnswer::Large(bytes));
        }
        if self.alternatives.len() > ALTERNATIVES {
            return Err(MalformedAnswer::Alternatives(self.alternatives.len()));
        }
        if selector > SELECTOR_BYTES {
            return Err(MalformedAnswer::Selector(selector));
        }
        Ok(())
    }
}

/// A reason, cut to [`REASON_BYTES`].
pub(crate) fn cut(reason: &Arc<str>) -> Arc<str> {
    if reason.len() <= REASON_BYTES {
        return reason.clone();
    }
    reason.get(..reason.floor_char_boundary(REASON_BYTES)).unwrap_or_default().into()
}
