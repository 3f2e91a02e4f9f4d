//! The state of one negotiation: its pod, its seats, its candidates, its phase.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::candidates::{Candidates, Seats};
use crate::kept::Key;
use crate::ledger::Ledger;
use crate::limits::{DEADLINE, ROUND};
use crate::message::CallId;
use crate::request::{Claim, ClaimState, ClaimUid, NegotiationId, Node, OnSilence, Owner, Party, Pod, Request};
use crate::words::Words;

/// A question that a party has not answered yet, or not completely.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub(crate) id: CallId,
    pub(crate) sent: Instant,
    /// When it is a silence.
    pub(crate) due: Instant,
    /// Whether that has been noted.
    pub(crate) is_silent: bool,
    /// The round in which it was sent.
    pub(crate) round: u32,
    /// The candidates of which nothing has been said yet.
    pub(crate) nodes: Vec<Node>,
    /// The same, of those that did not suit before.
    pub(crate) recheck: Vec<Node>,
}

/// A call to allocate.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) id: CallId,
    /// When the negotiation began to allocate.
    pub(crate) since: Instant,
    /// Whether the party has ever been sent it.
    pub(crate) is_sent: bool,
    /// Claims that are not allocated yet.
    pub(crate) pending: Vec<ClaimUid>,
    /// Claims of which the party holds nothing.
    pub(crate) failed: Vec<ClaimUid>,
    /// Nodes on which everything allocated so far can be used.
    pub(crate) nodes: Vec<Node>,
    pub(crate) is_finished: bool,
    /// Whether the party holds nothing at all.
    pub(crate) has_failed: bool,
}

/// A party in a negotiation.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) party: Arc<str>,
    pub(crate) on_silence: OnSilence,
    pub(crate) bit: Seats,
    /// What its answers are about.
    pub(crate) key: Key,
    /// The claims about which it decides.
    pub(crate) claims: Vec<ClaimUid>,
    pub(crate) asks: Vec<OpenAsk>,
    /// When the oldest question was sent to which it has not answered completely, open or not any more.
    pub(crate) unanswered_since: Option<Instant>,
    /// What it has said.
    pub(crate) words: Words,
    /// Whether the round does not wait for it.
    pub(crate) is_given_up: bool,
    pub(crate) call: Option<Allocation>,
    /// How often something had changed of parties when it was last compared.
    pub(crate) seen: u64,
}

/// What a negotiation is waiting for.
#[derive(Debug)]
pub(crate) enum Phase {
    /// For the caller to evaluate candidates.
    Evaluating { wanted: usize },
    /// For answers of parties, until the end of the round.
    Asking { ends: Instant },
    /// For a claim that another negotiation allocates, or that is deallocated.
    Waiting { claim: ClaimUid },
    /// For its selection, among these nodes. Stale: a claim has changed since.
    Agreed { nodes: Vec<Node>, until: Instant, is_stale: bool },
    /// For the caller to assume the pod on the first of these nodes. Moving: everything is allocated, but not for the node on
    /// which the pod is assumed.
    Assuming { nodes: Vec<Node>, is_moving: bool },
    /// For parties to allocate. The pod is assumed on the first of these nodes.
    Allocating { nodes: Vec<Node> },
    /// For its pod to be bound, and its claims to be shown as allocated.
    Allocated { until: Instant, is_bound: bool },
    /// For nothing any more.
    Over,
}

/// A negotiation.
#[derive(Debug)]
pub(crate) struct Negotiation {
    pub(crate) id: NegotiationId,
    /// Its place among all that have begun.
    pub(crate) number: u64,
    pub(crate) owner: Owner,
    /// Bytes of its pod and its order.
    pub(crate) own_bytes: usize,
    /// Candidates that count from the beginning.
    first_candidates: usize,
    /// Bytes that it counts for, as [`Self::held_bytes`] was last counted.
    pub(crate) bytes: usize,
    pub(crate) pod: Pod,
    pub(crate) selected_by: Vec<Arc<str>>,
    pub(crate) order: Arc<[Node]>,
    /// Most candidates of a round.
    pub(crate) most: usize,
    /// Time of a round.
    pub(crate) round_time: Duration,
    /// When all of it ends: to negotiate, or to allocate.
    pub(crate) deadline: Instant,
    pub(crate) round: u32,
    /// The first round with these claims and parties.
    pub(crate) first_round: u32,
    pub(crate) phase: Phase,
    pub(crate) seats: Vec<Seat>,
    pub(crate) candidates: Candidates,
    /// Candidates that the caller may come with, where it evaluates.
    pub(crate) coming: usize,
    /// Where to go on in the order.
    pub(crate) next: usize,
    /// Whether a party has taken back what it said since the order was begun: nodes may suit that were passed over.
    pub(crate) is_overtaken: bool,
    /// Alternatives that wait for the next round.
    pub(crate) named: Vec<Node>,
    /// Selectors of alternatives, with their party.
    pub(crate) selectors: Vec<(Arc<str>, Arc<str>)>,
    /// Whether this round only asks again what did not suit before.
    pub(crate) rechecks: bool,
    /// A selection that waits for a claim.
    pub(crate) selection: Option<Selection>,
    /// Whether the pod is assumed, or about to be.
    pub(crate) is_assumed: bool,
    /// When it has to be looked at.
    pub(crate) wake: Option<Instant>,
}

/// A selection that waits for a claim.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) nodes: Vec<Node>,
    pub(crate) is_optimistic: bool,
}

impl Negotiation {
    pub(crate) fn new(id: NegotiationId, number: u64, request: Request, now: Instant) -> Self {
        let or = |time: Duration, default| if time.is_zero() { default } else { time };
        Self {
            id,
            number,
            own_bytes: request.own_bytes(),
            first_candidates: request.first_candidates(),
            bytes: Ledger::bytes(request.own_bytes(), request.first_candidates()),
            most: request.most(),
            owner: request.owner,
            pod: request.pod,
            selected_by: request.selected_by,
            order: request.order,
            round_time: or(request.round, ROUND),
            deadline: now + or(request.deadline, DEADLINE),
            round: 0,
            first_round: 1,
            phase: Phase::Evaluating { wanted: 0 },
            seats: Vec::new(),
            candidates: Candidates::default(),
            coming: 0,
            next: 0,
            is_overtaken: false,
            named: Vec::new(),
            selectors: Vec::new(),
            rechecks: false,
            selection: None,
            is_assumed: false,
            wake: None,
        }
    }

    /// Bytes that it counts for. Candidates count before they come: those of the first round from the beginning, those of the others while
    /// they are evaluated.
    pub(crate) fn held_bytes(&self) -> usize {
        let coming = if matches!(self.phase, Phase::Evaluating { .. }) { self.coming } else { 0 };
        Ledger::bytes(self.own_bytes, (self.candidates.len() + coming).max(self.first_candidates))
    }

    /// Seats the parties that decide about the pod, or about a claim of it that is to be allocated.
    /// `seen` is how often something has changed of parties so far.
    pub(crate) fn seat<'a>(&mut self, parties: impl Iterator<Item = &'a Party>, seen: u64) {
        self.seats.clear();
        for party in parties {
            let Some((subject, claims)) = party.seat(&self.pod, &self.selected_by) else { continue };
            let bit = 1_u16.checked_shl(u32::try_from(self.seats.len()).unwrap_or(u32::MAX)).unwrap_or(0);
            self.seats.push(Seat {
                party: party.name.clone(),
                on_silence: party.on_silence,
                bit,
                key: (party.name.clone(), subject),
                claims,
                asks: Vec::new(),
                unanswered_since: None,
                words: Words::default(),
                is_given_up: false,
                call: None,
                seen,
            });
        }
    }

    /// The first claim that does not wait for this pod, by what the pod says.
    pub(crate) fn obstacle(&self) -> Option<ClaimUid> {
        let is_in_progress = |claim: &&Claim| match claim.state {
            ClaimState::Unallocated => claim.immediate && !claim.ephemeral,
            ClaimState::InFlight | ClaimState::Deallocating => true,
            ClaimState::Allocated => false,
        };
        self.pod.claims.iter().find(is_in_progress).map(|claim| claim.uid.clone())
    }

    /// All seats.
    pub(crate) fn all(&self) -> Seats {
        self.seats.iter().fold(0, |all, seat| all | seat.bit)
    }

    /// Whether the round has heard a seat, or does not wait for it.
    pub(crate) fn is_heard(&self, seat: &Seat) -> bool {
        seat.is_given_up
            || (seat.asks.iter().all(|ask| ask.round != self.round)
                && self.candidates.undecided(seat.bit).next().is_none())
    }

    /// Whether it is negotiated, and its core waits for an end.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Evaluating { .. } | Phase::Asking { .. } | Phase::Waiting { .. })
    }

    /// Whether it is selected: parties may allocate.
    pub(crate) fn is_selected(&self) -> bool {
        matches!(self.phase, Phase::Assuming { .. } | Phase::Allocating { .. } | Phase::Allocated { .. })
    }

    /// When it has to be looked at, if nothing else happens before.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        let dues =
            || self.seats.iter().flat_map(|seat| &seat.asks).filter(|ask| !ask.is_silent).map(|ask| ask.due).min();
        let end = match self.phase {
            Phase::Asking { ends } => ends,
            Phase::Agreed { until, .. } | Phase::Allocated { until, .. } => until,
            Phase::Evaluating { .. } | Phase::Waiting { .. } | Phase::Assuming { .. } | Phase::Allocating { .. } => {
                self.deadline
            }
            Phase::Over => return None,
        };
        Some(dues().map_or(end, |due| due.min(end)))
    }
}
