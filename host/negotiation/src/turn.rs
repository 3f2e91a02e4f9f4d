//! One step of one negotiation: what its phases have in common, and its ends.

use std::sync::Arc;
use std::time::Instant;

use crate::candidates::Candidates;
use crate::desk::Desk;
use crate::effect::{Effect, End, Progress};
use crate::message::Call;
use crate::negotiation::{Negotiation, Phase};
use crate::request::{ClaimState, ClaimUid, Refusal};
use crate::sweep::Missed;

/// A negotiation, for as long as something happens to it. `round.rs` has what negotiates, `selection.rs` what allocates.
pub(crate) struct Turn<'a> {
    pub(crate) it: &'a mut Negotiation,
    pub(crate) desk: &'a mut Desk,
    pub(crate) now: Instant,
}

impl Turn<'_> {
    /// Begins, or begins again: claims, parties and candidates anew.
    pub(crate) fn restart(&mut self) {
        self.withdraw_asks();
        for claim in &mut self.it.pod.claims {
            claim.state = self.desk.claims.state(&claim.uid).unwrap_or(claim.state);
        }
        self.desk.leave(self.it.id, &self.it.owner, &self.it.seats);
        self.it.seat(self.desk.parties.iter().map(|standing| &standing.party), self.desk.changes);
        self.desk.enter(self.it.id, &self.it.seats);
        self.it.phase = Phase::Evaluating { wanted: 0 };
        self.it.first_round = self.it.round + 1;
        self.it.candidates = Candidates::default();
        self.it.coming = 0;
        self.it.next = 0;
        self.it.named = self.it.selection.as_ref().map(|selection| selection.nodes.clone()).unwrap_or_default();
        if let Some(claim) = self.it.obstacle() {
            return self.end(End::InProgress(claim));
        }
        // A claim may have been given back since the selection: more than one is not allocated before answers.
        let may_be_early = self.it.pod.pending() <= 1;
        match self.it.selection.take_if(|selection| selection.is_optimistic && may_be_early) {
            Some(selection) => self.assume(selection.nodes, true),
            None => self.evaluate(),
        }
    }

    /// Whether it counts for more than there is room for.
    pub(crate) fn is_too_much(&self) -> bool {
        self.it.held_bytes() > self.it.bytes.saturating_add(self.desk.ledger.left(&self.it.owner))
    }

    /// Bytes that it may come to hold beside what it holds.
    pub(crate) fn room(&self) -> usize {
        let left = self.desk.ledger.left(&self.it.owner);
        self.it.bytes.saturating_add(left).saturating_sub(self.it.held_bytes())
    }

    /// Counts what it holds now.
    pub(crate) fn count(&mut self) {
        let it = &mut *self.it;
        let bytes = it.held_bytes();
        self.desk.ledger.change(&it.owner, it.bytes, bytes);
        it.bytes = bytes;
        for seat in &mut it.seats {
            let said = seat.said();
            self.desk.ledger.change_said(&it.owner, &seat.party, seat.said_bytes, said);
            seat.said_bytes = said;
        }
    }

    /// Looks what has changed of its parties.
    pub(crate) fn note_changes(&mut self) {
        if self.desk.sweeps.is_empty() {
            return;
        }
        for position in 0..self.it.seats.len() {
            let Some(seat) = self.it.seats.get_mut(position) else { continue };
            let Some(sweep) = self.desk.sweeps.get(&seat.party) else { continue };
            let missed = sweep.missed(&seat.key.1, seat.seen);
            seat.seen = self.desk.changes;
            match missed {
                Missed::Nothing => {}
                Missed::Rested => self.ask(position),
                Missed::TakenBack => self.invalidate(position),
                Missed::Stream => self.note_stream(position),
            }
        }
    }

    /// Claims of the pod may have changed.
    pub(crate) fn note_claims(&mut self) {
        let busy = self.desk.claims.busy(&self.it.pod.claims, self.it.id);
        let state = |uid: &ClaimUid| self.desk.claims.state(uid);
        let is_changed = self.it.pod.claims.iter().any(|claim| state(&claim.uid).is_some_and(|it| it != claim.state));
        match &mut self.it.phase {
            Phase::Evaluating { .. } | Phase::Asking { .. } => match busy {
                Some(claim) => self.wait(claim),
                None if is_changed => self.restart(),
                None => {}
            },
            Phase::Waiting { claim } => match busy {
                Some(busy) => *claim = busy,
                None => self.restart(),
            },
            Phase::Agreed { is_stale, .. } => *is_stale |= is_changed,
            Phase::Assuming { .. } | Phase::Allocating { .. } | Phase::Allocated { .. } => {
                let claims = &self.it.pod.claims;
                let taken = claims.iter().find(|claim| state(&claim.uid) == Some(ClaimState::Deallocating));
                match taken.map(|claim| claim.uid.clone()) {
                    Some(claim) => self.end(End::InProgress(claim)),
                    None => self.complete(),
                }
            }
            Phase::Over => {}
        }
    }

    /// Waits for a claim that another allocates, or that is deallocated.
    pub(crate) fn wait(&mut self, claim: ClaimUid) {
        self.withdraw_asks();
        for seat in &mut self.it.seats {
            seat.unanswered_since = None;
        }
        self.it.forget_alternatives();
        self.it.phase = Phase::Waiting { claim };
    }

    /// Handles deadlines that have passed: of questions, of the round, of the phase.
    pub(crate) fn tick(&mut self) {
        self.note_silences();
        match &self.it.phase {
            Phase::Asking { ends } if self.now >= *ends => self.end_round(),
            Phase::Evaluating { .. } | Phase::Assuming { .. } | Phase::Allocating { .. } if self.is_late() => {
                self.time_out()
            }
            Phase::Waiting { claim } if self.is_late() => self.end(End::InProgress(claim.clone())),
            // Its core has seen the end: nobody is told.
            Phase::Agreed { until, .. } | Phase::Allocated { until, .. } if self.now >= *until => self.end(End::Gone),
            _ => {}
        }
    }

    pub(crate) fn is_late(&self) -> bool {
        self.now >= self.it.deadline
    }

    /// Ends for want of time, and says for whom it waited.
    pub(crate) fn time_out(&mut self) {
        let silent = self.it.seats.iter().filter(|seat| match &seat.call {
            Some(call) => !call.is_finished,
            None if self.it.is_selected() => false,
            None => {
                !self.it.is_heard(seat) || (seat.is_given_up && self.it.candidates.undecided(seat.bit).next().is_some())
            }
        });
        let silent: Vec<Arc<str>> = silent.map(|seat| seat.party.clone()).collect();
        if self.it.is_selected() {
            let calls = self.it.seats.iter().filter_map(|seat| Some((&seat.party, seat.call.as_ref()?)));
            let sent = self.it.deadline;
            for party in calls.filter(|(_, call)| !call.is_finished && call.is_sent).map(|(party, _)| party) {
                self.desk.note_silence(party, sent, self.now);
            }
        }
        self.end(End::TimedOut(silent));
    }

    /// Ends, undoes what has been done, and tells those who still watch.
    pub(crate) fn end(&mut self, end: End) {
        if matches!(end, End::Exhausted | End::TimedOut(_)) {
            let refusals = if self.it.is_open() { self.refusals() } else { Vec::new() };
            if !refusals.is_empty() {
                self.tell(Progress::Refused(refusals));
            }
            self.wait_for_parties();
        }
        if self.it.is_open() || matches!(self.it.phase, Phase::Assuming { .. } | Phase::Allocating { .. }) {
            self.tell(Progress::Ended(end));
        }
        if self.it.is_selected() {
            self.undo();
        }
        self.close();
    }

    /// The pod waits for its parties, though nobody negotiates about it any more.
    pub(crate) fn wait_for_parties(&mut self) {
        let it = &*self.it;
        if !it.seats.is_empty() {
            let keys = it.seats.iter().map(|seat| seat.key.clone()).collect();
            self.desk.refused.add(&it.pod.uid, &it.owner, keys);
        }
    }

    /// Ends for want of room, undoes what has been done, and refuses those who still watch.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.desk.out.push(Effect::Refuse(self.it.id, refusal));
        self.undo();
        self.close();
    }

    /// Ends, with nothing to undo.
    pub(crate) fn close(&mut self) {
        self.withdraw_asks();
        for call in self.it.seats.iter().filter_map(|seat| seat.call.as_ref()) {
            self.desk.calls.remove(&call.id);
        }
        if self.desk.assumed.get(&self.it.pod.uid) == Some(&self.it.id) {
            self.desk.assumed.remove(&self.it.pod.uid);
        }
        let claims = &self.it.pod.claims;
        let woken = self.desk.claims.let_go(self.it.id, claims);
        self.desk.woken.extend(woken);
        self.desk.claims.leave(self.it.id, claims);
        self.it.phase = Phase::Over;
    }

    pub(crate) fn tell(&mut self, progress: Progress) {
        self.desk.out.push(Effect::Tell { negotiation: self.it.id, round: self.it.round, progress });
    }

    /// Withdraws every open question.
    pub(crate) fn withdraw_asks(&mut self) {
        for seat in &mut self.it.seats {
            for ask in seat.asks.drain(..) {
                self.desk.close_ask(&seat.party, ask.id);
                self.desk.send(&seat.party, Call::Withdraw(ask.id));
            }
        }
    }
}
