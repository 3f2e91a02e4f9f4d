//! State that all negotiations share: parties, kept answers, claims, calls, and the effects that have not been handed over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::claims::Claims;
use crate::decision::{Decision, Held, Stage};
use crate::effect::{Defect, Effect};
use crate::holdings::Holdings;
use crate::kept::Kept;
use crate::ledger::Ledger;
use crate::limits::{HOLDINGS, HOLDINGS_OF_PARTY, WOKEN};
use crate::message::{Call, CallId, Deallocate};
use crate::negotiation::Seat;
use crate::refused::Refused;
use crate::request::{NegotiationId, Owner, Refusal};
use crate::standing::Standing;
use crate::subject::Subject;
use crate::sweep::{Change, Sweep};
use crate::undos::{Undo, Undos};

/// State that all negotiations share; each turn of a negotiation has it mutably.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) parties: Vec<Standing>,
    pub(crate) kept: Kept,
    pub(crate) claims: Claims,
    pub(crate) undos: Undos,
    pub(crate) holdings: Holdings,
    pub(crate) refused: Refused,
    /// Whose calls are open: questions and allocations.
    pub(crate) calls: FxHashMap<CallId, NegotiationId>,
    pub(crate) ledger: Ledger,
    /// For each pod that is assumed, the negotiation that has done so last.
    pub(crate) assumed: FxHashMap<Arc<str>, NegotiationId>,
    /// Negotiations to be told that claims have changed.
    pub(crate) woken: BTreeSet<NegotiationId>,
    /// When parties that rest may be asked again.
    pub(crate) rests: BTreeMap<Arc<str>, Instant>,
    /// The negotiations in which each party has a seat.
    pub(crate) seated: BTreeMap<Arc<str>, BTreeSet<NegotiationId>>,
    /// By party, for as long as some of these have not been looked at.
    pub(crate) sweeps: BTreeMap<Arc<str>, Sweep>,
    /// How often something has changed of a party.
    pub(crate) changes: u64,
    pub(crate) out: Vec<Effect>,
    random: fastrand::Rng,
}

impl Desk {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            parties: Vec::new(),
            kept: Kept::default(),
            claims: Claims::default(),
            undos: Undos::default(),
            holdings: Holdings::default(),
            refused: Refused::default(),
            calls: FxHashMap::default(),
            ledger: Ledger::default(),
            assumed: FxHashMap::default(),
            woken: BTreeSet::new(),
            rests: BTreeMap::new(),
            seated: BTreeMap::new(),
            sweeps: BTreeMap::new(),
            changes: 0,
            out: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Returns a random number other than 0.
    pub(crate) fn new_token(&mut self) -> u64 {
        self.random.u64(1..)
    }

    /// An id that no call has: at random, so that whoever knows one knows no other, and a party that answers a call from before a restart
    /// hits none of this start.
    pub(crate) fn new_id(&mut self) -> CallId {
        loop {
            let id = CallId(self.new_token());
            if !self.has_call(id) {
                return id;
            }
        }
    }

    /// Whether these parties may come to hold more than they hold and give back.
    ///
    /// # Errors
    ///
    /// [`Refusal::Full`], where all parties together have [`HOLDINGS`], or one of these [`HOLDINGS_OF_PARTY`].
    pub(crate) fn room_to_hold<'a>(&self, mut parties: impl Iterator<Item = &'a Arc<str>>) -> Result<(), Refusal> {
        let is_full = |party: &Arc<str>| {
            self.holdings.len() + self.undos.len() >= HOLDINGS
                || self.holdings.by_party(party) + self.undos.by_party(party) >= HOLDINGS_OF_PARTY
        };
        if parties.any(is_full) { Err(Refusal::Full("what parties hold for pods")) } else { Ok(()) }
    }

    /// Whether a call is open, or a party holds or gives back what it has allocated.
    pub(crate) fn has_call(&self, id: CallId) -> bool {
        self.calls.contains_key(&id) || self.holdings.has(id) || self.undos.get(id).is_some()
    }

    pub(crate) fn standing(&self, party: &str) -> Option<&Standing> {
        self.parties.iter().find(|it| *it.party.name == *party)
    }

    pub(crate) fn standing_mut(&mut self, party: &str) -> Option<&mut Standing> {
        self.parties.iter_mut().find(|it| *it.party.name == *party)
    }

    /// A negotiation has these seats.
    pub(crate) fn enter(&mut self, id: NegotiationId, seats: &[Seat]) {
        for seat in seats {
            let is_new = self.seated.entry(seat.party.clone()).or_default().insert(id);
            // It may stand before one that has not been looked at, and has a turn of its own.
            if let Some(sweep) = self.sweeps.get_mut(&seat.party).filter(|_| is_new) {
                sweep.left += 1;
            }
        }
    }

    /// A negotiation has these seats no more, and nothing that was said in them.
    pub(crate) fn leave(&mut self, id: NegotiationId, owner: &Owner, seats: &[Seat]) {
        for seat in seats {
            self.ledger.change_said(owner, &seat.party, seat.said_bytes, 0);
            self.forget_words(seat);
            let Some(seated) = self.seated.get_mut(&seat.party) else { continue };
            seated.remove(&id);
            if seated.is_empty() {
                self.seated.remove(&seat.party);
                self.sweeps.remove(&seat.party);
            }
        }
    }

    /// The words of a seat are dropped.
    pub(crate) fn forget_words(&mut self, seat: &Seat) {
        seat.words.texts(0).for_each(|said| self.kept.reasons.remove(&seat.party, said));
    }

    /// A party takes back what it has said: of a subject, or all.
    pub(crate) fn take_back(&mut self, party: &Arc<str>, subject: Option<&Subject>, now: Instant) {
        self.kept.invalidate(party, subject, &mut self.out);
        self.note_change(party, Change::TakenBack(subject), now);
        self.wake(party, subject, usize::MAX);
    }

    /// A party may say something else than before to so many of the pods that wait for it.
    fn wake(&mut self, party: &Arc<str>, subject: Option<&Subject>, most: usize) {
        for (owner, pods) in self.refused.wake(party, subject, most) {
            self.out.push(Effect::Woken { party: party.clone(), owner, pods });
        }
    }

    /// A party attends, and whoever waits for it may be heard.
    pub(crate) fn wake_by_stream(&mut self, party: &Arc<str>) {
        self.wake(party, None, usize::MAX);
    }

    /// A party has given something back, which others may have.
    pub(crate) fn wake_by_release(&mut self, party: &Arc<str>) {
        self.wake(party, None, WOKEN);
    }

    /// The stream of a party ends, or is about to begin: nothing counts any more that it has said, since whoever attends next may be
    /// another; and nobody answers what is open.
    pub(crate) fn change_stream(&mut self, party: &Arc<str>, now: Instant) {
        self.kept.invalidate(party, None, &mut self.out);
        if let Some(sent) = self.standing_mut(party).and_then(Standing::close_all) {
            self.note_silence(party, sent, now);
        }
        self.note_change(party, Change::Stream, now);
    }

    /// Something has changed for all negotiations of a party. The rest of the step looks at the first of them.
    fn note_change(&mut self, party: &Arc<str>, change: Change<'_>, now: Instant) {
        let Some(seated) = self.seated.get(party) else { return };
        self.changes += 1;
        let sweep = self.sweeps.entry(party.clone()).or_insert_with(|| Sweep::new(now));
        sweep.note(change, self.changes);
        sweep.left = seated.len();
    }

    /// A party has been asked something.
    pub(crate) fn open_ask(&mut self, party: &str, id: CallId, negotiation: NegotiationId, now: Instant) {
        self.calls.insert(id, negotiation);
        if let Some(standing) = self.standing_mut(party) {
            standing.asked(id, now);
        }
    }

    /// A question is open no more.
    pub(crate) fn close_ask(&mut self, party: &str, id: CallId) {
        self.calls.remove(&id);
        if let Some(standing) = self.standing_mut(party) {
            standing.closed(id);
        }
    }

    /// The next negotiations that have to be looked at, at most so many: those of each party in turn.
    pub(crate) fn next_swept(&mut self, most: usize) -> Vec<NegotiationId> {
        let mut next = Vec::new();
        let share = most.div_ceil(self.sweeps.len().max(1));
        self.sweeps.retain(|party, sweep| {
            let Some(seated) = self.seated.get(party) else { return false };
            let begin = sweep.after.map_or(Bound::Unbounded, Bound::Excluded);
            let end = sweep.after.map_or(Bound::Unbounded, Bound::Included);
            let rest = seated.range((begin, Bound::Unbounded));
            let again = seated.range((Bound::Unbounded, end)).take(if sweep.after.is_some() { usize::MAX } else { 0 });
            let before = next.len();
            next.extend(rest.chain(again).take(share.min(sweep.left)).copied());
            sweep.left -= next.len() - before;
            sweep.after = next.last().copied().or(sweep.after);
            next.len() > before
        });
        next
    }

    /// Ends what has reached everybody.
    pub(crate) fn end_sweeps(&mut self) {
        self.sweeps.retain(|_, sweep| sweep.left > 0);
    }

    /// Sends a call to a party, if it attends.
    pub(crate) fn send(&mut self, party: &Arc<str>, call: Call) -> bool {
        let attends = self.standing(party).is_some_and(Standing::attends);
        if attends {
            self.out.push(Effect::Call(party.clone(), call));
        }
        attends
    }

    /// Has a party give back what a call has allocated, until it confirms that.
    pub(crate) fn give_back(&mut self, call: CallId, undo: Undo) {
        self.claims.begin_undo(&undo.claims);
        self.send(&undo.party, Call::Deallocate(Deallocate { id: call, claims: undo.claims.clone() }));
        if let Some(owner) = &undo.owner {
            self.ledger.add(owner, 0);
        }
        self.undos.add(call, undo);
    }

    /// The decision about a pod: what a negotiation of it has parties allocate, and what is held and given back beside that.
    pub(crate) fn decision(&self, pod: &Arc<str>, negotiated: Option<(Stage, Vec<Held>)>) -> Decision {
        let holdings = self.holdings.for_pod(pod);
        let settled = if holdings.is_empty() { Stage::Deallocating } else { Stage::Bound };
        let (stage, mut held) = negotiated.unwrap_or((settled, Vec::new()));
        held.extend(holdings.iter().map(|holding| Held {
            party: holding.party.clone(),
            call: holding.call,
            claims: holding.claims.clone(),
            gives_back: false,
        }));
        held.extend(self.undos.for_pod(pod).map(|(call, undo)| Held {
            party: undo.party.clone(),
            call,
            claims: undo.claims.clone(),
            gives_back: true,
        }));
        Decision { pod: pod.clone(), stage, held }
    }

    /// Has the decision about a pod recorded.
    pub(crate) fn decide(&mut self, pod: &Arc<str>, negotiated: Option<(Stage, Vec<Held>)>) {
        let decision = self.decision(pod, negotiated);
        self.out.push(Effect::Decide(decision));
    }

    pub(crate) fn defect(&mut self, party: &Arc<str>, defect: Defect) {
        self.out.push(Effect::Defect(party.clone(), defect));
    }

    /// A party has answered: it may be asked again, whatever was before.
    pub(crate) fn note_answer(&mut self, party: &Arc<str>, now: Instant) {
        if let Some(standing) = self.standing_mut(party) {
            standing.answered();
        }
        if let Some(at) = self.rests.get_mut(party) {
            *at = now;
        }
    }

    /// A party has not answered what was sent at a time.
    pub(crate) fn note_silence(&mut self, party: &Arc<str>, sent: Instant, now: Instant) {
        let Some(standing) = self.parties.iter_mut().find(|it| it.party.name == *party) else { return };
        let Some(is_quarantined) = standing.silent(sent, now, &mut self.random) else { return };
        if let Some(until) = standing.next(now) {
            self.rests.insert(party.clone(), until);
        }
        self.defect(party, if is_quarantined { Defect::Quarantined } else { Defect::Silent });
    }

    /// Notes which parties may be asked again by now.
    pub(crate) fn note_rested(&mut self, now: Instant) {
        let over: Vec<Arc<str>> =
            self.rests.iter().filter(|(_, at)| **at <= now).map(|(party, _)| party.clone()).collect();
        for party in over {
            let standing = self.standing(&party);
            let may_be_asked = standing.is_some_and(|standing| standing.may_be_asked(now));
            match standing.and_then(|standing| standing.next(now)) {
                Some(later) => drop(self.rests.insert(party, later)),
                None => {
                    self.rests.remove(&party);
                    if may_be_asked {
                        self.note_change(&party, Change::Rested, now);
                    }
                }
            }
        }
    }
}
