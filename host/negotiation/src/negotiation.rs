//! The state of one negotiation: its pod, its seats, its candidates, its phase.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use crate::candidates::{Candidates, Seats};
use crate::decision::{Held, Stage};
use crate::kept::Key;
use crate::limits::{
    CANDIDATE_BYTES, CLAIM_BYTES, DEADLINE, NAME_BYTES, NEGOTIATION_BYTES, ROUND, SEAT_BYTES, TEXT_BYTES,
};
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
    /// Nodes that did not suit before, of which nothing has been said yet.
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
    /// Party and subject: the key of its answers among those that are kept.
    pub(crate) key: Key,
    /// The claims about which it decides.
    pub(crate) claims: Vec<ClaimUid>,
    pub(crate) asks: Vec<OpenAsk>,
    /// When the oldest question was sent to which it has not answered completely, open or not any more.
    pub(crate) unanswered_since: Option<Instant>,
    /// Answers of the party in this negotiation, each once, with the time since which it stands.
    pub(crate) words: Words,
    /// Alternatives that it has named for the next rounds.
    pub(crate) named: VecDeque<Node>,
    /// Its selector of alternatives.
    pub(crate) selector: Option<Arc<str>>,
    /// Bytes of these alternatives, as [`Self::said`] was last counted.
    pub(crate) said_bytes: usize,
    /// Whether the round does not wait for it.
    pub(crate) is_given_up: bool,
    pub(crate) call: Option<Allocation>,
    /// Whether it allocates nothing, since the policy ignores its silence and it has said nothing of what is selected.
    pub(crate) is_ignored: bool,
    /// How often something had changed of parties when it was last compared.
    pub(crate) seen: u64,
}

/// Phase of a negotiation: the event for which it waits.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Waits for the caller to evaluate candidates.
    Evaluating { wanted: usize },
    /// Waits for answers of parties, until the end of the round.
    Asking { ends: Instant },
    /// Waits for a claim that another negotiation allocates, or that is deallocated.
    Waiting { claim: ClaimUid },
    /// Waits for its selection, among these nodes. Stale: a claim has changed since.
    Agreed { nodes: Vec<Node>, until: Instant, is_stale: bool },
    /// Waits for the caller to assume the pod on the first of these nodes. Moving: everything is allocated, but not for the node on which
    /// the pod is assumed.
    Assuming { nodes: Vec<Node>, is_moving: bool },
    /// Waits for parties to allocate. The pod is assumed on the first of these nodes.
    Allocating { nodes: Vec<Node> },
    /// Waits for its pod to be bound, and its claims to be shown as allocated.
    Allocated { until: Instant, is_bound: bool },
    /// Has ended, and waits for nothing.
    Over,
}

/// State of one negotiation, from its request to its end.
#[derive(Debug)]
pub(crate) struct Negotiation {
    pub(crate) id: NegotiationId,
    /// Its place among all that have begun.
    pub(crate) number: u64,
    pub(crate) owner: Owner,
    /// Bytes that the caller holds of its pod.
    pub(crate) pod_bytes: usize,
    /// Bytes of selected nodes that were no candidates: their texts, for each party.
    pub(crate) foreign_bytes: usize,
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
    /// Selected nodes that wait for the next round.
    pub(crate) named: Vec<Node>,
    /// Whether this round only asks again what did not suit before.
    pub(crate) rechecks: bool,
    /// A selection that waits for a claim.
    pub(crate) selection: Option<Selection>,
    /// Ids of the calls to allocate, one per seat, from the moment at which they are decided on until the pod is bound or it is undone.
    pub(crate) planned: Vec<CallId>,
    /// Whether the pod is assumed, or about to be.
    pub(crate) is_assumed: bool,
    /// Whether its pod was seen bound before all parties had allocated.
    pub(crate) was_seen_bound: bool,
    /// When it has to be looked at.
    pub(crate) wake: Option<Instant>,
}

/// A selection that waits for a claim.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) nodes: Vec<Node>,
    pub(crate) is_optimistic: bool,
}

/// Bytes of a text as it came.
pub(crate) fn text_bytes(text: &str) -> usize {
    TEXT_BYTES + text.len()
}

impl Seat {
    /// Bytes of the alternatives that it has named.
    pub(crate) fn said(&self) -> usize {
        self.named.iter().chain(&self.selector).map(|text| text_bytes(text)).sum()
    }
}

impl Negotiation {
    pub(crate) fn new(id: NegotiationId, number: u64, request: Request, now: Instant) -> Self {
        let or = |time: Duration, default| if time.is_zero() { default } else { time };
        Self {
            id,
            number,
            pod_bytes: request.bytes,
            foreign_bytes: 0,
            bytes: 0,
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
            rechecks: false,
            selection: None,
            planned: Vec::new(),
            is_assumed: false,
            was_seen_bound: false,
            wake: None,
        }
    }

    /// Bytes that it counts for, those of its order and of [`Seat::said`] left out. Candidates count before they come: those of the first
    /// round from the beginning, those of the others while they are evaluated. What is asked, agreed on and selected of them counts with
    /// them.
    pub(crate) fn held_bytes(&self) -> usize {
        let coming = if matches!(self.phase, Phase::Evaluating { .. }) { self.coming } else { 0 };
        let candidates = (self.candidates.len() + coming).max(self.most.min(self.order.len()));
        // A place in an open question or a call to each party; and one in what is agreed on, or passed over by an evaluation.
        let places = candidates * (self.seats.len() + 1);
        let called = self.seats.iter().filter_map(|seat| seat.call.as_ref()).map(|call| call.nodes.len());
        let rechecked = self.seats.iter().flat_map(|seat| &seat.asks).map(|ask| ask.recheck.len());
        // A selection may name nodes that are no candidates yet.
        let selected = self.selection.as_ref().map_or(0, |selection| selection.nodes.len()).saturating_sub(candidates);
        let names = places.max(called.sum()) + rechecked.sum::<usize>() + self.named.len() + selected;
        // A seat has those of its claims once more.
        let claims = self.pod.claims.len() * (CLAIM_BYTES + self.seats.len() * NAME_BYTES);
        let fixed = NEGOTIATION_BYTES + self.seats.len() * SEAT_BYTES + claims;
        let own = self.pod_bytes.saturating_add(self.foreign_bytes).saturating_add(fixed);
        own.saturating_add(candidates * CANDIDATE_BYTES + names * NAME_BYTES)
    }

    /// Takes the next alternatives, at most so many: those of each party in turn, after what is selected.
    pub(crate) fn take_named(&mut self, most: usize) -> Vec<Node> {
        let mut taken: Vec<Node> = self.named.drain(..self.named.len().min(most)).collect();
        let mut known: FxHashSet<Node> = taken.iter().cloned().collect();
        while taken.len() < most && self.seats.iter().any(|seat| !seat.named.is_empty()) {
            for seat in &mut self.seats {
                if taken.len() < most {
                    taken.extend(seat.named.pop_front().filter(|node| known.insert(node.clone())));
                }
            }
        }
        taken
    }

    /// Alternatives by name that wait for the next round.
    pub(crate) fn waiting(&self) -> usize {
        self.named.len() + self.seats.iter().map(|seat| seat.named.len()).sum::<usize>()
    }

    /// Selectors of alternatives, with their party.
    pub(crate) fn selectors(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let selector = |seat: &Seat| Some((seat.party.clone(), seat.selector.clone()?));
        self.seats.iter().filter_map(selector).collect()
    }

    /// Drops all alternatives: no further round is needed, or possible.
    pub(crate) fn forget_alternatives(&mut self) {
        self.named = Vec::new();
        for seat in &mut self.seats {
            (seat.named, seat.selector) = (VecDeque::new(), None);
        }
    }

    /// Seats the parties that decide about the pod, or about a claim of it that is to be allocated.
    /// `seen` is how often something has changed of parties so far.
    pub(crate) fn seat<'a>(&mut self, parties: impl Iterator<Item = &'a Party>, seen: u64) {
        self.seats.clear();
        for party in parties {
            let Some((subject, claims)) = party.seat(&self.pod, &self.selected_by) else { continue };
            let bit = 1_u16.checked_shl(u32::try_from(self.seats.len()).unwrap_or(u32::MAX)).unwrap_or(0);
            // Most pods have one, and a list that grows has four places.
            self.seats.reserve_exact(1);
            self.seats.push(Seat {
                party: party.name.clone(),
                on_silence: party.on_silence,
                bit,
                key: (party.name.clone(), subject),
                claims,
                asks: Vec::new(),
                unanswered_since: None,
                words: Words::default(),
                named: VecDeque::new(),
                selector: None,
                said_bytes: 0,
                is_given_up: false,
                call: None,
                is_ignored: false,
                seen,
            });
        }
    }

    /// The first claim that does not wait for this pod, by what the pod says.
    pub(crate) fn obstacle(&self) -> Option<ClaimUid> {
        let is_in_progress = |claim: &&Claim| match claim.state {
            ClaimState::InFlight | ClaimState::Deallocating => true,
            ClaimState::Unallocated | ClaimState::Allocated => false,
        };
        self.pod.claims.iter().find(is_in_progress).map(|claim| claim.uid.clone())
    }

    /// Returns the bits of all seats.
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

    /// Whether its core has selected nodes, and has not bound the pod.
    pub(crate) fn is_to_be_bound(&self) -> bool {
        let is_selected = match self.phase {
            Phase::Allocated { is_bound, .. } => !is_bound,
            Phase::Assuming { .. } | Phase::Allocating { .. } => true,
            // It waits for a claim.
            _ => self.selection.is_some(),
        };
        is_selected && !self.was_seen_bound
    }

    /// Allocations that its parties hold for the pod, or may hold; `None` before they are told to allocate, and once the pod is bound.
    pub(crate) fn held(&self) -> Option<(Stage, Vec<Held>)> {
        let stage = match self.phase {
            Phase::Assuming { .. } | Phase::Allocating { .. } => Stage::Allocating,
            Phase::Allocated { is_bound: false, .. } => Stage::Allocated,
            _ => return None,
        };
        let called = self.seats.iter().zip(&self.planned).filter(|(seat, _)| !seat.is_ignored);
        let held = called.map(|(seat, call)| Held {
            party: seat.party.clone(),
            call: *call,
            claims: seat.claims.clone(),
            gives_back: false,
        });
        Some((stage, held.collect()))
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
