//! Rounds: candidates, questions, answers, and what follows from them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::candidates::Candidates;
use crate::effect::{Defect, Effect, End, Evaluate, Evaluated, Failure, Progress, RefusedNodes};
use crate::ledger::Ledger;
use crate::limits::{
    AGREED, ALTERNATIVES, CANDIDATES_MOST, EXPLAINED_REASONS, NAME_BYTES, OPEN_ASKS, RECHECKED, SEEN_NODES,
    SILENCE_LEAST, VALID_MOST,
};
use crate::message::{Answer, Ask, Call, CallId, MalformedAnswer, OtherClaim, Unsuitable, cut};
use crate::negotiation::{OpenAsk, Phase, Seat, text_bytes};
use crate::reasons::Reasons;
use crate::request::{Claim, ClaimState, Node, OnSilence, Refusal};
use crate::subject::Suitability;
use crate::turn::Turn;

impl Turn<'_> {
    /// Begins the next round: asks the caller for as many candidates as there is room for.
    pub(crate) fn evaluate(&mut self) {
        let it = &mut *self.it;
        it.round += 1;
        it.rechecks = false;
        it.is_overtaken &= it.next > 0;
        let wanted = it.most.saturating_sub(it.candidates.live().count());
        if it.candidates.len() + wanted > SEEN_NODES {
            it.forget_alternatives();
            it.next = it.order.len();
        }
        let (waiting, selectors) = (it.waiting(), it.selectors());
        let is_exhausted = waiting == 0 && selectors.is_empty() && it.next >= it.order.len();
        if wanted == 0 || is_exhausted {
            return self.consider(0);
        }
        // A selector may match nodes outside of the order.
        let known = waiting + it.order.len().saturating_sub(it.next);
        it.coming = if selectors.is_empty() { wanted.min(known) } else { wanted };
        it.phase = Phase::Evaluating { wanted };
        if self.is_too_much() {
            return self.refuse(Refusal::Full(Ledger::BYTES));
        }
        let it = &mut *self.it;
        let named = it.take_named(wanted);
        self.desk.out.push(Effect::Evaluate(Evaluate {
            negotiation: it.id,
            round: it.round,
            pod: it.pod.uid.clone(),
            parties: it.seats.iter().map(|seat| seat.key.clone()).collect(),
            named,
            selectors,
            order: it.order.clone(),
            start: it.next,
            skip: it.candidates.nodes().cloned().collect(),
            wanted,
        }));
    }

    /// The caller has evaluated candidates. What it was not asked for is passed over.
    pub(crate) fn note_evaluated(&mut self, evaluated: Evaluated) {
        let it = &mut *self.it;
        let Phase::Evaluating { wanted } = it.phase else { return };
        if evaluated.round != it.round {
            return;
        }
        let is_all = evaluated.nodes.len() < wanted;
        // Alternatives may be anywhere in the order.
        let start = if it.candidates.len() == 0 && it.selectors().is_empty() { it.next } else { 0 };
        let order = it.order.clone();
        let added = it.candidates.add(evaluated.nodes, wanted, order.get(start..).unwrap_or_default(), start);
        if is_all {
            it.seats.iter_mut().for_each(|seat| seat.selector = None);
        }
        it.next = if is_all || added == 0 { it.order.len() } else { it.next.max(evaluated.next).min(it.order.len()) };
        self.consider(added);
    }

    /// There are candidates to ask about, or there is an end.
    fn consider(&mut self, added: usize) {
        let is_waiting = self.it.candidates.live().next().is_some();
        if added == 0 && !is_waiting {
            if self.it.waiting() > 0 {
                return self.evaluate();
            }
            if self.it.is_overtaken {
                self.it.next = 0;
                return self.evaluate();
            }
            // Where nothing else is left, what was known to be unsuitable before is asked about again, once.
            self.it.rechecks =
                self.it.round == self.it.first_round && self.it.seats.iter().any(|seat| !self.known(seat).is_empty());
            if !self.it.rechecks {
                return self.exhaust();
            }
        }
        self.note_kept();
        let parties = self.it.seats.iter().map(|seat| seat.party.clone()).collect();
        self.tell(Progress::Asked { nodes: self.it.candidates.live().count(), parties });
        let ends = (self.now + self.it.round_time).min(self.it.deadline);
        self.it.phase = Phase::Asking { ends };
        for position in 0..self.it.seats.len() {
            if let Some(seat) = self.it.seats.get_mut(position) {
                seat.is_given_up = false;
            }
            self.ask(position);
        }
        self.settle();
    }

    /// Takes over the answers to others that are kept of nodes about which seats have not been heard.
    fn note_kept(&mut self) {
        for seat in &mut self.it.seats {
            let kept = self.desk.kept.answers(&seat.key, self.it.candidates.undecided(seat.bit));
            let kept: Vec<_> = kept.map(|(node, said, since)| (node.clone(), said.clone(), since)).collect();
            for (node, said, since) in kept {
                note_word(&mut self.desk.kept.reasons, &mut self.it.candidates, seat, &node, &said, since);
            }
        }
    }

    fn exhaust(&mut self) {
        if self.it.selection.is_some() {
            return self.fail(Failure { party: None, claim: None, reason: "the nodes do not suit any more".into() });
        }
        self.end(End::Exhausted);
    }

    /// Why nodes do not suit, by party, the most frequent reason first: of candidates, and of nodes of the order that were none since they
    /// were known before not to suit.
    pub(crate) fn refusals(&self) -> Vec<RefusedNodes> {
        let mut refusals = Vec::new();
        for seat in &self.it.seats {
            let mut reasons: BTreeMap<Arc<str>, usize> = BTreeMap::new();
            for (word, said, _) in seat.words.iter() {
                if let Suitability::Unsuitable(reason) = said {
                    let nodes = self.it.candidates.iter().filter(|it| it.word(seat.bit) == word).count();
                    *reasons.entry(reason.clone()).or_default() += nodes;
                }
            }
            for (node, said, _) in self.desk.kept.answers(&seat.key, self.it.order.iter()) {
                if let Suitability::Unsuitable(reason) = said
                    && !self.it.candidates.contains(node)
                {
                    *reasons.entry(reason.clone()).or_default() += 1;
                }
            }
            let mut reasons: Vec<(Arc<str>, usize)> = reasons.into_iter().filter(|(_, nodes)| *nodes > 0).collect();
            reasons.sort_by_key(|(_, nodes)| Reverse(*nodes));
            reasons.truncate(EXPLAINED_REASONS);
            let refused = |(reason, nodes)| RefusedNodes { party: seat.party.clone(), reason, nodes };
            refusals.extend(reasons.into_iter().map(refused));
        }
        refusals
    }

    /// Nodes of the order that were known not to suit a seat before this negotiation, the preferred ones first.
    fn known(&self, seat: &Seat) -> Vec<Node> {
        let kept = self.desk.kept.answers(&seat.key, self.it.order.iter());
        let refused = kept.filter(|(_, said, _)| **said != Suitability::Suitable);
        refused.take(RECHECKED).map(|(node, ..)| node.clone()).collect()
    }

    /// Asks a seat about the nodes about which it has not been heard or asked, if it may be asked now.
    pub(crate) fn ask(&mut self, position: usize) {
        let Phase::Asking { .. } = self.it.phase else { return };
        let Some(seat) = self.it.seats.get(position).filter(|seat| !seat.is_given_up) else { return };
        let open: FxHashSet<&Node> = seat.asks.iter().flat_map(|ask| &ask.nodes).collect();
        let rechecked: FxHashSet<&Node> = seat.asks.iter().flat_map(|ask| &ask.recheck).collect();
        let undecided = self.it.candidates.undecided(seat.bit).filter(|node| !open.contains(node));
        let nodes: Vec<Node> = undecided.take(CANDIDATES_MOST).cloned().collect();
        if nodes.is_empty() && !(self.it.rechecks && seat.asks.is_empty()) {
            return;
        }
        let mut recheck: Vec<Node> = if self.it.round == self.it.first_round {
            self.known(seat)
        } else {
            self.it.candidates.unsuitable(seat.bit).take(RECHECKED).cloned().collect()
        };
        // A late answer to the question that has them says the same.
        recheck.retain(|node| !rechecked.contains(node));
        recheck.truncate(self.room() / NAME_BYTES);
        let Some(standing) = self.desk.standing(&seat.party) else { return };
        if standing.is_quarantined(self.now) && seat.on_silence != OnSilence::Wait {
            if let Some(seat) = self.it.seats.get_mut(position) {
                seat.is_given_up = true;
            }
            return;
        }
        if !standing.may_be_asked(self.now) || (nodes.is_empty() && recheck.is_empty()) {
            return;
        }
        let id = self.desk.new_id();
        let time = self.it.round_time.max(SILENCE_LEAST);
        let ask = Ask {
            id,
            negotiation: self.it.id,
            subject: seat.key.1.clone(),
            pod: self.it.pod.uid.clone(),
            claims: seat.claims.clone(),
            others: self.others(seat),
            nodes: nodes.clone(),
            recheck: recheck.clone(),
            deadline: time.min(self.it.deadline.saturating_duration_since(self.now)),
        };
        let round = self.it.round;
        let Some(seat) = self.it.seats.get_mut(position) else { return };
        if seat.asks.len() >= OPEN_ASKS {
            let oldest = seat.asks.remove(0);
            self.desk.close_ask(&seat.party, oldest.id);
            self.desk.send(&seat.party, Call::Withdraw(oldest.id));
        }
        self.desk.send(&seat.party, Call::Ask(ask));
        self.desk.open_ask(&seat.party, id, self.it.id, self.now);
        let due = self.now + time;
        seat.unanswered_since.get_or_insert(self.now);
        seat.asks.push(OpenAsk { id, sent: self.now, due, is_silent: false, round, nodes, recheck });
    }

    /// Claims of the pod about which a seat does not decide.
    fn others(&self, seat: &Seat) -> Vec<OtherClaim> {
        let others = self.it.pod.claims.iter().filter(|claim| !seat.claims.contains(&claim.uid));
        let deciding = |claim: &Claim| {
            let seats = self.it.seats.iter().filter(|of| of.claims.contains(&claim.uid));
            seats.map(|seat| seat.party.clone()).collect()
        };
        let other = |claim: &Claim| OtherClaim {
            claim: claim.uid.clone(),
            is_allocated: claim.state == ClaimState::Allocated,
            parties: deciding(claim),
        };
        others.map(other).collect()
    }

    /// Ends the round if everybody has been heard.
    pub(crate) fn settle(&mut self) {
        let is_asking = matches!(self.it.phase, Phase::Asking { .. });
        if is_asking && self.it.seats.iter().all(|seat| self.it.is_heard(seat)) {
            self.end_round();
        }
    }

    /// Ends the round: agrees, or begins the next.
    pub(crate) fn end_round(&mut self) {
        for seat in &self.it.seats {
            match seat.on_silence {
                OnSilence::Wait => {}
                OnSilence::Reject => self.it.candidates.decide_rest(seat.bit, false),
                OnSilence::Ignore => self.it.candidates.decide_rest(seat.bit, true),
            }
        }
        let viable = self.it.candidates.viable(self.it.all());
        if !viable.is_empty() {
            self.agree(viable);
        } else if self.is_late() {
            self.time_out();
        } else {
            self.evaluate();
        }
    }

    fn agree(&mut self, viable: Vec<Node>) {
        if let Some(mut selection) = self.it.selection.take() {
            selection.nodes.retain(|node| viable.contains(node));
            if selection.nodes.is_empty() {
                return self.fail(Failure {
                    party: None,
                    claim: None,
                    reason: "the nodes do not suit any more".into(),
                });
            }
            return self.assume(selection.nodes, false);
        }
        self.withdraw_asks();
        self.it.forget_alternatives();
        self.tell(Progress::Viable(viable.clone()));
        self.tell(Progress::Ended(End::Viable));
        self.it.phase = Phase::Agreed { nodes: viable, until: self.now + AGREED, is_stale: false };
    }

    /// A party has answered a question of this negotiation.
    pub(crate) fn answer(&mut self, party: &Arc<str>, id: CallId, answer: &Answer) {
        let is_of = |seat: &Seat| seat.asks.iter().position(|ask| ask.id == id);
        let found = self.it.seats.iter().enumerate().find_map(|(at, seat)| Some((at, is_of(seat)?)));
        let Some((position, at)) = found else { return };
        let Some(seat) = self.it.seats.get_mut(position) else { return };
        if seat.party != *party {
            return self.desk.defect(party, Defect::Malformed(MalformedAnswer::Foreign));
        }
        if let Err(error) = check(seat, at, answer) {
            let ask = seat.asks.remove(at);
            seat.is_given_up = true;
            self.desk.close_ask(party, id);
            self.desk.defect(party, Defect::Malformed(error));
            self.desk.note_silence(party, ask.sent, self.now);
            return self.settle();
        }
        self.desk.note_answer(party, self.now);
        let (is_revived, known) = self.note_said(position, at, answer);
        self.note_alternatives(position, &known, answer);
        if is_revived {
            self.ask_undecided();
        }
        self.settle();
    }

    /// A node suits that did not suit before: the round hears the others about it, too.
    fn ask_undecided(&mut self) {
        self.note_kept();
        for position in 0..self.it.seats.len() {
            let seat = self.it.seats.get(position);
            if seat.is_some_and(|seat| self.it.candidates.undecided(seat.bit).next().is_some()) {
                self.ask(position);
            }
        }
    }

    /// Takes over what a good answer says of the nodes that were asked about. Returns whether one of them suits everybody heard so
    /// far, and did not before; and those that were known not to suit, and do.
    fn note_said(&mut self, position: usize, at: usize, answer: &Answer) -> (bool, Vec<Node>) {
        let (mut is_revived, mut known) = (false, Vec::new());
        let Some(seat) = self.it.seats.get_mut(position) else { return (false, known) };
        let Some(ask) = seat.asks.get_mut(at) else { return (false, known) };
        let mut said: Vec<(Node, Suitability)> = Vec::new();
        // The texts of the question, which are those of the cache.
        let asked: FxHashSet<&Node> = ask.nodes.iter().chain(&ask.recheck).collect();
        // A node may be named for several claims.
        let mut named: FxHashMap<&Node, Arc<str>> = FxHashMap::default();
        let mut order: Vec<&Node> = Vec::new();
        for unsuitable in &answer.nodes {
            let reason = reason(unsuitable, &self.it.pod.claims);
            let reason = match named.get(&unsuitable.node) {
                Some(before) => format!("{before}; {reason}").into(),
                None => {
                    order.push(&unsuitable.node);
                    reason
                }
            };
            named.insert(&unsuitable.node, reason);
        }
        for node in order {
            if let (Some(reason), Some(node)) = (named.get(node), asked.get(node)) {
                said.push((Node::clone(node), Suitability::Unsuitable(cut(reason))));
            }
        }
        ask.nodes.retain(|node| !named.contains_key(node));
        ask.recheck.retain(|node| !named.contains_key(node));
        if !answer.partial {
            said.extend(ask.nodes.iter().chain(&ask.recheck).map(|node| (node.clone(), Suitability::Suitable)));
            let ask = seat.asks.remove(at);
            self.desk.close_ask(&seat.party, ask.id);
            known = ask.recheck;
            seat.unanswered_since = seat.asks.iter().map(|ask| ask.sent).min();
        }
        let reasons = &mut self.desk.kept.reasons;
        for (node, said) in &said {
            is_revived |= note_word(reasons, &mut self.it.candidates, seat, node, said, self.now);
        }
        if answer.valid.is_zero() {
            self.desk.kept.drop_nodes(&seat.key, said.iter().map(|(node, _)| node), &mut self.desk.out);
        } else {
            let until = self.now + answer.valid.min(VALID_MOST);
            self.desk.kept.keep(&seat.key, said, self.now, until, &mut self.desk.out);
        }
        (is_revived, known)
    }

    /// Takes nodes for the next rounds, for as long as there is room for what the party of a seat names: those that are known, then those
    /// of its answer. What is too much is dropped: a party ends no negotiation by that.
    fn note_alternatives(&mut self, position: usize, known: &[Node], answer: &Answer) {
        let it = &mut *self.it;
        let Some(seat) = it.seats.get_mut(position) else { return };
        seat.selector.take_if(|_| answer.selector.is_some());
        let left = self.desk.ledger.left_to(&it.owner, &seat.party);
        let mut room = seat.said_bytes.saturating_add(left).saturating_sub(seat.said());
        let mut excess = 0;
        let mut takes = |text: &Arc<str>, is_room: bool| {
            let rest = room.checked_sub(text_bytes(text)).filter(|_| is_room);
            (room, excess) = (rest.unwrap_or(room), excess + usize::from(rest.is_none()));
            rest.is_some()
        };
        if let Some(selector) = answer.selector.as_ref().filter(|selector| takes(selector, true)) {
            seat.selector = Some(selector.clone());
        }
        let mut waiting: FxHashSet<Node> = seat.named.iter().cloned().collect();
        for node in known.iter().chain(&answer.alternatives) {
            let is_new = !it.candidates.contains(node) && !waiting.contains(node);
            if is_new && takes(node, seat.named.len() < ALTERNATIVES) {
                waiting.insert(node.clone());
                seat.named.push_back(node.clone());
            }
        }
        if excess > 0 {
            let party = seat.party.clone();
            self.desk.defect(&party, Defect::Malformed(MalformedAnswer::Excess(excess)));
        }
    }

    /// Handles the revocation of a party's answers: they are removed, and the party is asked again.
    pub(crate) fn invalidate(&mut self, position: usize) {
        if !self.it.is_open() {
            return;
        }
        self.it.is_overtaken = true;
        if let Some(seat) = self.it.seats.get(position) {
            self.it.candidates.forget(seat.bit);
        }
        self.ask(position);
    }

    /// The stream of a party has ended or begun: its questions are over, it is told again what to allocate, and asked again. An agreement
    /// that rests on what it has said is looked at again before it is selected.
    pub(crate) fn note_stream(&mut self, position: usize) {
        let Some(seat) = self.it.seats.get_mut(position) else { return };
        for ask in seat.asks.drain(..) {
            self.desk.calls.remove(&ask.id);
        }
        if let Phase::Agreed { is_stale, .. } = &mut self.it.phase {
            *is_stale = true;
        }
        self.send_allocate(position);
        self.invalidate(position);
    }

    /// Notes which questions are silences by now.
    pub(crate) fn note_silences(&mut self) {
        let now: Instant = self.now;
        for seat in &mut self.it.seats {
            for ask in seat.asks.iter_mut().filter(|ask| !ask.is_silent && now >= ask.due) {
                ask.is_silent = true;
                self.desk.note_silence(&seat.party, ask.sent, now);
            }
        }
    }
}

/// Why a node does not suit, with the claim where it is about one.
fn reason(unsuitable: &Unsuitable, claims: &[Claim]) -> Arc<str> {
    let Some(uid) = &unsuitable.claim else { return unsuitable.reason.clone() };
    let name = claims.iter().find(|claim| claim.uid == *uid).map_or(uid, |claim| &claim.name);
    match &*unsuitable.reason {
        "" => format!("claim {name}").into(),
        reason => format!("claim {name}: {reason}").into(),
    }
}

/// A seat has said something of a node, which stands since a time. Returns what [`Candidates::decide`] does.
fn note_word(
    reasons: &mut Reasons,
    candidates: &mut Candidates,
    seat: &mut Seat,
    node: &Node,
    said: &Suitability,
    since: Instant,
) -> bool {
    let (bit, before) = (seat.bit, seat.words.len());
    let text = reasons.shared(&seat.party, said.clone());
    let word = seat.words.word(&text, since, |word| candidates.iter().any(|candidate| candidate.word(bit) == word));
    seat.words.texts(before).for_each(|text| reasons.add(&seat.party, text));
    candidates.decide(node, bit, *said == Suitability::Suitable, word)
}

/// Checks that an answer says only what it was asked about.
fn check(seat: &Seat, at: usize, answer: &Answer) -> Result<(), MalformedAnswer> {
    answer.check_size()?;
    let Some(ask) = seat.asks.get(at) else { return Ok(()) };
    let asked: FxHashSet<&Node> = ask.nodes.iter().chain(&ask.recheck).collect();
    let mut said = FxHashSet::default();
    for unsuitable in &answer.nodes {
        if !asked.contains(&unsuitable.node) {
            return Err(MalformedAnswer::NotAsked(unsuitable.node.clone()));
        }
        if let Some(claim) = unsuitable.claim.as_ref().filter(|claim| !seat.claims.contains(claim)) {
            return Err(MalformedAnswer::NotAskedClaim(claim.clone()));
        }
        if !said.insert((&unsuitable.node, &unsuitable.claim)) {
            return Err(MalformedAnswer::Twice(unsuitable.node.clone()));
        }
    }
    Ok(())
}
