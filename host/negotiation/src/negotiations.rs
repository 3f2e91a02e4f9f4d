//! All negotiations: requests and events in, effects out. What operators see of them is in `shown`.

mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::decision::{Decision, Stage};
use crate::desk::Desk;
use crate::effect::{Defect, Effect, End, Event, Progress};
use crate::holdings::Holding;
use crate::ledger::{Full, Ledger};
use crate::limits::{DEADLINE_MOST, DEALLOCATION, PARTIES, SWEPT};
use crate::message::{Answer, Call, CallId, MalformedAnswer};
use crate::negotiation::{Negotiation, Phase};
use crate::request::{ClaimUid, Class, NegotiationId, Owner, Party, Refusal, Request, Select};
use crate::standing::Standing;
use crate::turn::Turn;
use crate::undos::Undo;

/// All negotiations of a program, from its start: nothing is kept beyond it.
///
/// It does nothing by itself. Each call takes the time, which never goes back, and returns what the caller has to do, in this
/// order. The same calls with the same seed have the same effects.
#[derive(Debug)]
pub struct Negotiations {
    live: BTreeMap<NegotiationId, Box<Negotiation>>,
    /// By UID of the pod: one of each owner at most.
    by_pod: FxHashMap<Arc<str>, Vec<NegotiationId>>,
    /// Agreements that wait for their selection, by owner; the oldest first.
    agreed: BTreeMap<Owner, BTreeSet<(u64, NegotiationId)>>,
    /// How many have begun.
    begun: u64,
    /// When negotiations have to be looked at.
    wakes: BTreeSet<(Instant, NegotiationId)>,
    desk: Desk,
}

impl Negotiations {
    /// No negotiations, and no parties. `seed` gives the jitter, and the first id: it should differ from start to start.
    pub fn new(seed: u64) -> Self {
        Self {
            live: BTreeMap::new(),
            by_pod: FxHashMap::default(),
            wakes: BTreeSet::new(),
            agreed: BTreeMap::new(),
            begun: 0,
            desk: Desk::new(seed),
        }
    }

    /// Takes the parties of a policy. Negotiations that are not selected begin again where they differ; a party that is
    /// mentioned no more is asked nothing more.
    ///
    /// # Errors
    ///
    /// [`Refusal::OutOfRange`] for more than [`PARTIES`], or two with one name.
    pub fn set_parties(&mut self, parties: Vec<Party>, now: Instant) -> Result<Vec<Effect>, Refusal> {
        let names: BTreeSet<&Arc<str>> = parties.iter().map(|party| &party.name).collect();
        if parties.len() > PARTIES || names.len() < parties.len() {
            return Err(Refusal::OutOfRange("parties"));
        }
        if self.desk.parties.iter().map(|standing| &standing.party).eq(&parties) {
            return Ok(self.finish(now));
        }
        let open: Vec<NegotiationId> = self.live.iter().filter(|(_, it)| it.is_open()).map(|(id, _)| *id).collect();
        for id in &open {
            self.turn(*id, now, |turn| turn.withdraw_asks());
        }
        let mut before = std::mem::take(&mut self.desk.parties);
        for party in parties {
            let standing = match before.iter().position(|standing| standing.party.name == party.name) {
                Some(at) => {
                    let mut standing = before.swap_remove(at);
                    standing.party = party;
                    standing
                }
                None => Standing::new(party),
            };
            self.desk.parties.push(standing);
        }
        for gone in before {
            self.desk.rests.remove(&gone.party.name);
            self.desk.kept.invalidate(&gone.party.name, None, &mut self.desk.out);
        }
        for id in open {
            self.turn(id, now, |turn| match turn.it.phase {
                Phase::Waiting { .. } => {}
                _ => turn.restart(),
            });
        }
        Ok(self.finish(now))
    }

    /// A party attends, by a stream with a number that no other has had, from a peer. It takes the place of the party's other stream, and
    /// nothing that was said before counts any more; nor do silences of another peer.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownParty`] where the policy has none with this name.
    pub fn attend(
        &mut self,
        party: &Arc<str>,
        session: u64,
        peer: &Owner,
        now: Instant,
    ) -> Result<Vec<Effect>, Refusal> {
        self.desk.standing(party).ok_or_else(|| Refusal::UnknownParty(party.clone()))?;
        self.desk.change_stream(party, now);
        if let Some(standing) = self.desk.standing_mut(party) {
            standing.attend(session, peer);
        }
        self.desk.undos.repeat(party, now);
        self.desk.holdings.repeat(party, now);
        self.desk.wake_by_stream(party);
        Ok(self.finish(now))
    }

    /// Begins to negotiate. The effects tell what follows, the end of a negotiation that cannot begin included.
    ///
    /// # Errors
    ///
    /// [`Refusal`], where the request cannot be taken.
    pub fn negotiate(&mut self, request: Request, now: Instant) -> Result<(NegotiationId, Vec<Effect>), Refusal> {
        request.check()?;
        let owner = request.owner.clone();
        if let Some(foreign) = request.supersedes.filter(|id| self.live.contains_key(id) && !self.is_of(*id, &owner)) {
            return Err(Refusal::Unknown(foreign));
        }
        let before = self.for_pod(&request.pod.uid).find(|it| it.owner == owner).map(|it| it.id);
        if let Some(before) = before.filter(|before| request.supersedes != Some(*before)) {
            let is_unnamed = owner.class == Class::Remote && owner.identity.is_empty();
            return Err(if is_unnamed { Refusal::AlreadyExistsUnnamed } else { Refusal::AlreadyExists(before) });
        }
        let id = self.new_id();
        let mut it = Negotiation::new(id, self.begun + 1, request, now);
        it.seat(self.desk.parties.iter().map(|standing| &standing.party), self.desk.changes);
        self.desk.room_to_hold(it.seats.iter().map(|seat| &seat.party))?;
        it.bytes = it.held_bytes();
        self.make_room(&it, now)?;
        if let Some(before) = before {
            self.turn(before, now, |turn| turn.end(End::Superseded));
        }
        self.begun += 1;
        self.desk.refused.remove(&it.pod.uid, &owner);
        let busy = it.obstacle().or_else(|| self.desk.claims.busy(&it.pod.claims, id));
        if let Some(claim) = busy {
            self.desk.out.push(Effect::Tell {
                negotiation: id,
                round: 0,
                progress: Progress::Ended(End::InProgress(claim)),
            });
            self.desk.out.push(Effect::Over(id));
            return Ok((id, self.finish(now)));
        }
        self.desk.claims.enter(id, &it.pod.claims);
        self.by_pod.entry(it.pod.uid.clone()).or_default().push(id);
        self.desk.ledger.add(&owner, it.bytes);
        self.desk.ledger.add_order(&owner, &it.order);
        self.live.insert(id, Box::new(it));
        self.turn(id, now, |turn| turn.restart());
        Ok((id, self.finish(now)))
    }

    /// Selects nodes of a negotiation.
    ///
    /// # Errors
    ///
    /// [`Refusal`], where they cannot be selected; [`Refusal::Unknown`] where the negotiation is another's.
    pub fn select(&mut self, select: Select, owner: &Owner, now: Instant) -> Result<Vec<Effect>, Refusal> {
        let id = select.negotiation;
        if !self.is_of(id, owner) {
            return Err(Refusal::Unknown(id));
        }
        if select.deadline > DEADLINE_MOST {
            return Err(Refusal::OutOfRange("deadline"));
        }
        let mut selected = self.turn(id, now, |turn| turn.select(select.clone()));
        if selected == Some(Err(Refusal::SelectedElsewhere))
            && let Some(other) = self.gives_way(id)
        {
            self.turn(other, now, |turn| turn.end(End::Superseded));
            selected = self.turn(id, now, |turn| turn.select(select));
        }
        selected.unwrap_or(Err(Refusal::Unknown(id)))?;
        Ok(self.finish(now))
    }

    /// Gives a negotiation up, and gives back what has been allocated for it.
    ///
    /// # Errors
    ///
    /// [`Refusal::Unknown`] where there is none, or it is another's.
    pub fn release(&mut self, id: NegotiationId, owner: &Owner, now: Instant) -> Result<Vec<Effect>, Refusal> {
        if !self.is_of(id, owner) {
            return Err(Refusal::Unknown(id));
        }
        self.turn(id, now, |turn| turn.end(End::Gone)).ok_or(Refusal::Unknown(id))?;
        Ok(self.finish(now))
    }

    /// Takes an event. What belongs to nothing any more is passed over.
    pub fn step(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        match event {
            Event::Left { party, session } => {
                if self.desk.standing_mut(&party).is_some_and(|standing| standing.leave(session)) {
                    self.desk.change_stream(&party, now);
                }
            }
            Event::Answered(party, answer) => self.answer(&party, &answer, now),
            Event::Allocated(party, said) => self.turn_of(said.id, now, |turn| turn.note_allocated(&party, &said)),
            Event::Failed(party, said) => self.turn_of(said.id, now, |turn| turn.note_failed(&party, &said)),
            Event::Deallocated(party, id) => self.confirm(&party, id),
            Event::Malformed(party, error) => self.desk.defect(&party, Defect::Malformed(error)),
            Event::Invalidated(party, invalidate) => {
                self.desk.take_back(&party, invalidate.subject.as_ref(), now);
            }
            Event::Evaluated(evaluated) => {
                self.turn(evaluated.negotiation, now, |turn| turn.note_evaluated(evaluated));
            }
            Event::Assumed(id, outcome) => {
                self.turn(id, now, |turn| turn.note_assumed(outcome));
            }
            Event::Claim { uid, state, shared } => {
                let pods = self.desk.claims.change(&uid, state, shared);
                match state {
                    Some(_) => self.desk.woken.extend(pods),
                    None => pods.into_iter().for_each(|id| {
                        self.turn(id, now, |turn| turn.end(End::Gone));
                    }),
                }
            }
            Event::Bound(pod) => {
                self.turn_pod(&pod, now, |turn| turn.note_bound());
                self.desk.refused.remove_for_all(&pod);
            }
            Event::PodGone(pod) => {
                self.turn_pod(&pod, now, |turn| turn.end(End::Gone));
                self.desk.refused.remove_for_all(&pod);
            }
            Event::Ended { pod, shared } => {
                self.desk.refused.remove_for_all(&pod);
                self.turn_pod(&pod, now, |turn| turn.end(End::Gone));
                self.give_back(&pod, &shared, now);
            }
            Event::Lost(owner) => {
                let left = self.live.values().filter(|it| it.owner == owner && it.is_to_be_bound()).map(|it| it.id);
                for id in left.collect::<Vec<NegotiationId>>() {
                    self.turn(id, now, |turn| turn.end(End::Gone));
                }
            }
            Event::Tick => {}
        }
        self.finish(now)
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    pub fn next_tick(&self) -> Option<Instant> {
        let wake = self.wakes.first().map(|(at, _)| *at);
        let rest = self.desk.rests.values().min().copied();
        let sweep = self.desk.sweeps.values().map(|sweep| sweep.since).min();
        let held = self.desk.holdings.next();
        [wake, rest, sweep, held, self.desk.undos.next(), self.desk.kept.next()].into_iter().flatten().min()
    }

    fn answer(&mut self, party: &Arc<str>, answer: &Answer, now: Instant) {
        if let Some(id) = answer.id {
            self.turn_of(id, now, |turn| turn.answer(party, id, answer));
        }
    }

    fn confirm(&mut self, party: &Arc<str>, id: CallId) {
        match self.desk.undos.get(id) {
            Some(undo) if undo.party == *party => {
                let Some((undo, was_in_progress)) = self.desk.undos.remove(id) else { return };
                if was_in_progress {
                    self.end_undo(undo.owner.as_ref(), &undo.claims);
                }
                self.decide(&undo.pod);
                self.desk.wake_by_release(party);
            }
            Some(_) => self.desk.defect(party, Defect::Malformed(MalformedAnswer::Foreign)),
            None => {}
        }
    }

    /// The claims of a deallocation are in progress no longer.
    fn end_undo(&mut self, owner: Option<&Owner>, claims: &[ClaimUid]) {
        if let Some(owner) = owner {
            self.desk.ledger.remove(owner, 0);
        }
        let woken = self.desk.claims.end_undo(claims);
        self.desk.woken.extend(woken);
    }

    /// Has parties give back what they hold for a pod that has ended, but for claims that others use.
    fn give_back(&mut self, pod: &Arc<str>, shared: &[ClaimUid], now: Instant) {
        let ended = self.desk.holdings.take(pod, |claims| !claims.iter().any(|claim| shared.contains(claim)));
        if ended.is_empty() {
            return;
        }
        for Holding { call, party, claims } in ended {
            let undo = Undo { pod: pod.clone(), party, claims, until: now + DEALLOCATION, owner: None };
            self.desk.give_back(call, undo);
        }
        self.decide(pod);
    }

    /// Has the decision about a pod recorded, with what a negotiation of it has parties allocate.
    fn decide(&mut self, pod: &Arc<str>) {
        let negotiated = self.desk.assumed.get(pod).and_then(|id| self.live.get(id)).and_then(|it| it.held());
        self.desk.decide(pod, negotiated);
    }

    /// Goes on from the decisions of an earlier process: what is held for bound pods stays so until [`Event::Ended`], and everything else
    /// is given back. What this process has decided itself by now stays; of several decisions with one call, the first counts.
    pub fn restore(&mut self, decisions: Vec<Decision>, now: Instant) -> Vec<Effect> {
        for Decision { pod, stage, held } in decisions {
            for held in held {
                if self.desk.has_call(held.call) {
                    continue;
                }
                let (party, claims) = (held.party, held.claims);
                if stage == Stage::Bound && !held.gives_back {
                    self.desk.holdings.add(&pod, Holding { call: held.call, party, claims });
                } else {
                    let undo = Undo { pod: pod.clone(), party, claims, until: now + DEALLOCATION, owner: None };
                    self.desk.give_back(held.call, undo);
                }
            }
            self.decide(&pod);
        }
        self.finish(now)
    }

    /// Does what is due, and hands over the effects.
    fn finish(&mut self, now: Instant) -> Vec<Effect> {
        self.desk.kept.expire(now, &mut self.desk.out);
        while let Some((owner, claims)) = self.desk.undos.expire(now) {
            self.end_undo(owner.as_ref(), &claims);
        }
        for (party, deallocate) in self.desk.undos.next_repeated(SWEPT) {
            self.desk.send(&party, Call::Deallocate(deallocate));
        }
        for (party, bound) in self.desk.holdings.next_repeated(SWEPT) {
            self.desk.send(&party, Call::Bound(bound));
        }
        self.desk.note_rested(now);
        for id in self.desk.next_swept(SWEPT) {
            self.turn(id, now, |turn| turn.settle());
        }
        self.desk.end_sweeps();
        loop {
            let woken = std::mem::take(&mut self.desk.woken);
            if !woken.is_empty() {
                // The oldest first, so that none waits for ever.
                let number = |id: &NegotiationId| self.live.get(id).map(|it| it.number);
                let mut woken: Vec<_> = woken.into_iter().filter_map(|id| Some((number(&id)?, id))).collect();
                woken.sort_unstable();
                for (_, id) in woken {
                    self.turn(id, now, |turn| turn.note_claims());
                }
            } else if let Some((_, id)) = self.wakes.first().filter(|(at, _)| *at <= now).copied() {
                self.turn(id, now, |turn| turn.tick());
            } else {
                break;
            }
        }
        std::mem::take(&mut self.desk.out)
    }

    /// A turn of one negotiation, if it is there.
    fn turn<T>(&mut self, id: NegotiationId, now: Instant, act: impl FnOnce(&mut Turn<'_>) -> T) -> Option<T> {
        let it = self.live.get_mut(&id)?;
        let mut turn = Turn { it, desk: &mut self.desk, now };
        turn.note_changes();
        let acted = act(&mut turn);
        turn.count();
        let before = it.wake;
        let wake = it.next_wake();
        it.wake = wake;
        if before != wake {
            before.map(|at| self.wakes.remove(&(at, id)));
            wake.map(|at| self.wakes.insert((at, id)));
        }
        let (is_agreed, agreement) = (matches!(it.phase, Phase::Agreed { .. }), (it.number, id));
        if is_agreed {
            self.agreed.entry(it.owner.clone()).or_default().insert(agreement);
        } else if let Some(agreed) = self.agreed.get_mut(&it.owner)
            && agreed.remove(&agreement)
            && agreed.is_empty()
        {
            self.agreed.remove(&it.owner);
        }
        if matches!(it.phase, Phase::Over) {
            self.desk.ledger.remove_order(&it.owner, &it.order);
            self.desk.ledger.remove(&it.owner, it.bytes);
            self.desk.leave(id, &it.owner, &it.seats);
            if let Some(ids) = self.by_pod.get_mut(&it.pod.uid) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    self.by_pod.remove(&it.pod.uid);
                }
            }
            self.live.remove(&id);
            self.desk.out.push(Effect::Over(id));
        }
        Some(acted)
    }

    /// An id that nobody guesses.
    fn new_id(&mut self) -> NegotiationId {
        loop {
            let id = NegotiationId(self.desk.new_token());
            if !self.live.contains_key(&id) {
                return id;
            }
        }
    }

    fn is_of(&self, id: NegotiationId, owner: &Owner) -> bool {
        self.live.get(&id).is_some_and(|it| it.owner == *owner)
    }

    /// The selected negotiation of the pod of one of a local client, where a remote client has it: that keeps no local client out.
    fn gives_way(&self, id: NegotiationId) -> Option<NegotiationId> {
        let it = self.live.get(&id)?;
        let other = self.live.get(self.desk.assumed.get(&it.pod.uid)?)?;
        let is_bound = matches!(other.phase, Phase::Allocated { is_bound: true, .. });
        let gives_way = (it.owner.class, other.owner.class) == (Class::Local, Class::Remote) && !is_bound;
        gives_way.then_some(other.id)
    }

    /// The negotiations of a pod.
    fn for_pod(&self, pod: &str) -> impl Iterator<Item = &Negotiation> {
        self.by_pod.get(pod).into_iter().flatten().filter_map(|id| self.live.get(id).map(|it| &**it))
    }

    /// Makes room for a negotiation. Agreements go for it that nobody has selected yet, for whose ends no stream waits:
    /// the client's own, and those of clients of its class that hold no less; the oldest first.
    fn make_room(&mut self, it: &Negotiation, now: Instant) -> Result<(), Refusal> {
        let owner = &it.owner;
        // An agreement that goes may be the last that has the order.
        let bytes = |ledger: &Ledger| it.bytes.saturating_add(ledger.order_bytes(owner, &it.order));
        if bytes(&self.desk.ledger) > Ledger::most_bytes(owner.class) {
            // For this nobody gives way.
            return Err(Refusal::Full(Ledger::BYTES));
        }
        while let Err(full) = self.desk.ledger.room(owner, bytes(&self.desk.ledger)) {
            let own = self.desk.ledger.held_by(owner).share(owner.class);
            let from = match full {
                Full::Client(_) => Some(owner.clone()).filter(|owner| self.agreed.contains_key(owner)),
                Full::Class(_) => self.desk.ledger.greatest(owner.class).into_iter().find_map(|(other, held)| {
                    let gives_way = other == *owner || held.share(owner.class) >= own;
                    (gives_way && self.agreed.contains_key(&other)).then_some(other)
                }),
            };
            let first = from.and_then(|owner| self.agreed.get(&owner)?.first().copied());
            let Some((_, first)) = first else { return Err(full.into()) };
            self.turn(first, now, |turn| turn.end(End::Gone));
        }
        Ok(())
    }

    /// A turn of the negotiation whose call this is.
    fn turn_of(&mut self, id: CallId, now: Instant, act: impl FnOnce(&mut Turn<'_>)) {
        if let Some(id) = self.desk.calls.get(&id).copied() {
            self.turn(id, now, act);
        }
    }

    fn turn_pod(&mut self, pod: &Arc<str>, now: Instant, act: impl Fn(&mut Turn<'_>)) {
        for id in self.by_pod.get(pod).cloned().unwrap_or_default() {
            self.turn(id, now, &act);
        }
    }
}
