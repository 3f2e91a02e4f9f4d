//! Views of negotiations and parties for operators. Start at [`View`].

use std::sync::Arc;
use std::time::Instant;

use crate::negotiation::{Negotiation, Phase, Seat};
use crate::request::{ClaimUid, NegotiationId};
use crate::standing::Standing;

/// Numbers of the objects that are held, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Number of negotiations that have not ended.
    pub negotiations: usize,
    /// Calls whose allocations parties hold for bound pods.
    pub held: usize,
    /// Deallocations that are not confirmed.
    pub deallocations: usize,
    /// Calls to which parties have not answered.
    pub calls: usize,
    /// Nodes of which answers are kept, over all parties and subjects.
    pub kept_nodes: usize,
    /// Bytes that these answers take.
    pub kept_bytes: usize,
    /// Bytes of pods, orders and candidates of negotiations of local clients, and of alternatives that parties have named in them.
    pub local_bytes: usize,
    /// Bytes of pods, orders and candidates of negotiations of remote clients, and of alternatives that parties have named in them.
    pub remote_bytes: usize,
}

/// Snapshot of one negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Id of the negotiation.
    pub id: NegotiationId,
    /// Its place among all that have begun, for those who may not know its id.
    pub number: u64,
    /// UID of its pod.
    pub pod: Arc<str>,
    /// The round, from 1; 0 before the first.
    pub round: u32,
    /// Name of its phase in one word, such as `asking`.
    pub phase: &'static str,
    /// Nodes that it has considered.
    pub candidates: usize,
    /// Of these the ones that suit everybody heard so far.
    pub live: usize,
    /// The claim that it waits for, where it does.
    pub waits_for: Option<ClaimUid>,
    /// When it ends, whatever happens.
    pub deadline: Instant,
    /// Parties that decide about its pod.
    pub parties: Vec<SeatView>,
}

/// A party in a negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatView {
    /// Name of the party.
    pub party: Arc<str>,
    /// Claims about which it decides.
    pub claims: usize,
    /// Candidates that it has said do not suit.
    pub unsuitable: usize,
    /// Candidates of which it has not been heard, and that suit the others.
    pub unheard: usize,
    /// Since when it has not answered the oldest question, or the call to allocate; none where nothing is open.
    pub silent_since: Option<Instant>,
    /// Whether it has allocated; none where it was not told to.
    pub has_allocated: Option<bool>,
}

/// A party of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartyView {
    /// Name of the party.
    pub party: Arc<str>,
    /// Whether it has a stream.
    pub attends: bool,
    /// When it is asked again, if it is not asked now.
    pub rests_until: Option<Instant>,
    /// Whether that is a quarantine.
    pub is_quarantined: bool,
}

impl View {
    pub(crate) fn new(it: &Negotiation) -> Self {
        let (phase, waits_for) = match &it.phase {
            Phase::Evaluating { .. } => ("evaluating", None),
            Phase::Asking { .. } => ("asking", None),
            Phase::Waiting { claim } => ("waiting", Some(claim.clone())),
            Phase::Agreed { .. } => ("agreed", None),
            Phase::Assuming { .. } => ("assuming", None),
            Phase::Allocating { .. } => ("allocating", None),
            Phase::Allocated { .. } => ("allocated", None),
            Phase::Over => ("over", None),
        };
        let deadline = match it.phase {
            Phase::Agreed { until, .. } | Phase::Allocated { until, .. } => until,
            _ => it.deadline,
        };
        Self {
            id: it.id,
            number: it.number,
            pod: it.pod.uid.clone(),
            round: it.round,
            phase,
            candidates: it.candidates.len(),
            live: it.candidates.live().count(),
            waits_for,
            deadline,
            parties: it.seats.iter().map(|seat| SeatView::new(it, seat)).collect(),
        }
    }
}

impl SeatView {
    fn new(it: &Negotiation, seat: &Seat) -> Self {
        let asked = seat.asks.iter().map(|ask| ask.sent).min();
        let call = seat.call.as_ref();
        Self {
            party: seat.party.clone(),
            claims: seat.claims.len(),
            unsuitable: it.candidates.unsuitable(seat.bit).count(),
            unheard: it.candidates.undecided(seat.bit).count(),
            silent_since: call.filter(|call| !call.is_finished).map(|call| call.since).or(asked),
            has_allocated: call.map(|call| call.is_finished),
        }
    }
}

impl PartyView {
    pub(crate) fn new(standing: &Standing, now: Instant) -> Self {
        Self {
            party: standing.party.name.clone(),
            attends: standing.attends(),
            rests_until: standing.next(now),
            is_quarantined: standing.is_quarantined(now),
        }
    }
}
