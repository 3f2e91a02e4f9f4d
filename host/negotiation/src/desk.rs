//! What all negotiations share: parties, kept answers, claims, calls, and the effects that have not been handed over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::claims::Claims;
use crate::effect::{Defect, Effect};
use crate::kept::Kept;
use crate::ledger::Ledger;
use crate::message::{Call, CallId};
use crate::negotiation::Seat;
use crate::request::{ClaimUid, NegotiationId, Owner};
use crate::standing::Standing;
use crate::subject::Subject;
use crate::sweep::Sweep;

/// A deallocation that its party has not confirmed.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) party: Arc<str>,
    pub(crate) claims: Vec<ClaimUid>,
    pub(crate) until: Instant,
    /// Who opened the negotiation.
    pub(crate) owner: Owner,
}

/// What all negotiations share.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) parties: Vec<Standing>,
    pub(crate) kept: Kept,
    pub(crate) claims: Claims,
    /// By call; in the order in which they end.
    pub(crate) undos: BTreeMap<CallId, Undo>,
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
    /// How often parties have taken something back.
    pub(crate) taken_back: u64,
    pub(crate) out: Vec<Effect>,
    random: fastrand::Rng,
    last_id: u64,
}

impl Desk {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        // Ids only grow from there. A party that answers a call from before a restart must not hit one of this start.
        let last_id = random.u64(..u64::MAX / 2);
        Self {
            parties: Vec::new(),
            kept: Kept::default(),
            claims: Claims::default(),
            undos: BTreeMap::new(),
            calls: FxHashMap::default(),
            ledger: Ledger::default(),
            assumed: FxHashMap::default(),
            woken: BTreeSet::new(),
            rests: BTreeMap::new(),
            seated: BTreeMap::new(),
            sweeps: BTreeMap::new(),
            taken_back: 0,
            out: Vec::new(),
            random,
            last_id,
        }
    }

    /// 64 random bits.
    pub(crate) fn new_token(&mut self) -> u64 {
        self.random.u64(1..)
    }

    /// An id that no call has had.
    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
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
            self.seated.entry(seat.party.clone()).or_default().insert(id);
        }
    }

    /// A negotiation has these seats no more.
    pub(crate) fn leave(&mut self, id: NegotiationId, seats: &[Seat]) {
        for seat in seats {
            let Some(seated) = self.seated.get_mut(&seat.party) else { continue };
            seated.remove(&id);
            if seated.is_empty() {
                self.seated.remove(&seat.party);
                self.sweeps.remove(&seat.party);
            }
        }
    }

    /// A party takes back what it has said: of a subject, or all.
    pub(crate) fn take_back(&mut self, party: &Arc<str>, subject: Option<&Subject>, now: Instant) {
        self.kept.invalidate(party, subject, &mut self.out);
        let Some(seated) = self.seated.get(party) else { return };
        self.taken_back += 1;
        let sweep = self.sweeps.entry(party.clone()).or_insert_with(|| Sweep::new(now));
        sweep.note(subject, self.taken_back);
        sweep.left = seated.len();
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

    /// The parties that may be asked again since the last call.
    pub(crate) fn rested(&mut self, now: Instant) -> Vec<Arc<str>> {
        let over: Vec<Arc<str>> =
            self.rests.iter().filter(|(_, at)| **at <= now).map(|(party, _)| party.clone()).collect();
        let mut rested = Vec::new();
        for party in over {
            match self.standing(&party).and_then(|standing| standing.next(now)) {
                Some(later) => {
                    self.rests.insert(party, later);
                }
                None => {
                    self.rests.remove(&party);
                    rested.push(party);
                }
            }
        }
        rested
    }
}
