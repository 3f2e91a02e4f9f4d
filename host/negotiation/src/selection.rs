//! Selections: pods assumed, claims allocated by all parties or given back by all.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::candidates::Candidates;
use crate::effect::{Defect, Effect, Failure, Progress};
use crate::holdings::Holding;
use crate::ledger::Ledger;
use crate::limits::{ALLOCATED, CANDIDATES_MOST, DEADLINE, DEALLOCATION, UNDOS_OF_POD, VALID_MOST};
use crate::message::{Allocate, Bound, Call, CallId, MalformedAnswer, PartyAllocated, PartyFailed, cut};
use crate::negotiation::{Allocation, Phase, Seat, Selection, text_bytes};
use crate::request::{ClaimState, ClaimUid, Node, OnSilence, Refusal, Select};
use crate::standing::Standing;
use crate::subject::Suitability;
use crate::turn::Turn;
use crate::undos::Undo;
use crate::words::Words;

impl Turn<'_> {
    /// A core selects nodes.
    pub(crate) fn select(&mut self, select: Select) -> Result<(), Refusal> {
        let Select { negotiation, nodes, optimistic, deadline } = select;
        let Some(first) = nodes.first() else { return Err(Refusal::OutOfRange("nodes")) };
        if nodes.len() > CANDIDATES_MOST || nodes.iter().collect::<FxHashSet<_>>().len() < nodes.len() {
            return Err(Refusal::OutOfRange("nodes"));
        }
        if self.it.is_selected() || self.it.selection.is_some() {
            return Err(Refusal::Selected(negotiation));
        }
        if self.desk.undos.for_pod(&self.it.pod.uid).count() >= UNDOS_OF_POD {
            return Err(Refusal::Full("what parties give back for the pod"));
        }
        let agreed = match &self.it.phase {
            Phase::Agreed { nodes, is_stale, .. } => Some((nodes, *is_stale)),
            _ => None,
        };
        let (claims, pending) = (self.it.pod.delayed().count(), self.it.pod.pending());
        if optimistic && (claims, pending) != (1, 1) {
            return Err(Refusal::NotOptimistic(pending));
        }
        if !optimistic {
            let Some((viable, _)) = agreed else { return Err(Refusal::NotViable(first.clone())) };
            if let Some(node) = nodes.iter().find(|node| !viable.contains(node)) {
                return Err(Refusal::NotViable(node.clone()));
            }
        }
        if self.is_selected_elsewhere() {
            return Err(Refusal::SelectedElsewhere);
        }
        let is_stale = agreed.is_some_and(|(_, is_stale)| is_stale);
        let nodes = self.held(nodes)?;
        self.it.deadline = self.now + if deadline.is_zero() { DEADLINE } else { deadline };
        let is_busy = self.desk.claims.busy(&self.it.pod.claims, self.it.id).is_some();
        if is_stale && !is_busy {
            self.it.selection = Some(Selection { nodes, is_optimistic: optimistic });
            self.restart();
        } else {
            self.assume(nodes, optimistic);
        }
        Ok(())
    }

    /// Whether another negotiation of the pod is selected: of two, both would have parties allocate.
    fn is_selected_elsewhere(&self) -> bool {
        self.desk.assumed.get(&self.it.pod.uid).is_some_and(|by| *by != self.it.id)
    }

    /// Selected nodes as the negotiation holds them: candidates with the texts that it has, others as they came, if there is room for them.
    fn held(&mut self, nodes: Vec<Node>) -> Result<Vec<Node>, Refusal> {
        let it = &mut *self.it;
        let known = |node: Node| it.candidates.text(&node).cloned().ok_or(node);
        let nodes: Vec<Result<Node, Node>> = nodes.into_iter().map(known).collect();
        let foreign: usize = nodes.iter().filter_map(|node| node.as_ref().err()).map(|node| text_bytes(node)).sum();
        it.foreign_bytes = foreign * (it.seats.len() + 1);
        if self.is_too_much() {
            self.it.foreign_bytes = 0;
            return Err(Refusal::Full(Ledger::BYTES));
        }
        Ok(nodes.into_iter().map(|node| node.unwrap_or_else(|foreign| foreign)).collect())
    }

    /// Holds the claims, and asks the caller to assume the pod on the first node; waits where another has one of the claims.
    pub(crate) fn assume(&mut self, nodes: Vec<Node>, is_optimistic: bool) {
        if let Some(claim) = self.desk.claims.busy(&self.it.pod.claims, self.it.id) {
            self.it.selection = Some(Selection { nodes, is_optimistic });
            return self.wait(claim);
        }
        if self.is_selected_elsewhere() {
            let reason = Refusal::SelectedElsewhere.to_string().into();
            return self.fail(Failure { party: None, claim: None, reason });
        }
        self.withdraw_asks();
        self.it.forget_alternatives();
        let losers = self.desk.claims.hold(self.it.id, &self.it.pod.claims);
        self.desk.woken.extend(losers);
        self.plan(&nodes, is_optimistic);
        self.push_assume(nodes, false);
    }

    /// Decides which parties are called, and by which ids. Whoever is ignored is not waited for: a party whose silence the policy ignores
    /// is called where it has said something of a node, or could not have yet.
    fn plan(&mut self, nodes: &[Node], is_optimistic: bool) {
        for seat in &mut self.it.seats {
            let attends = self.desk.standing(&seat.party).is_some_and(Standing::attends);
            let is_heard = is_optimistic || nodes.iter().any(|node| self.it.candidates.is_heard(node, seat.bit));
            seat.is_ignored = seat.on_silence == OnSilence::Ignore && !(attends && is_heard);
        }
        self.it.planned = self.it.seats.iter().map(|_| self.desk.new_id()).collect();
    }

    fn push_assume(&mut self, nodes: Vec<Node>, is_moving: bool) {
        let Some(node) = nodes.first().cloned() else {
            return self.fail(Failure { party: None, claim: None, reason: "no node is left".into() });
        };
        self.it.is_assumed = true;
        self.desk.assumed.insert(self.it.pod.uid.clone(), self.it.id);
        self.it.phase = Phase::Assuming { nodes, is_moving };
        let is_decided = !is_moving && !self.it.planned.is_empty();
        let decision = is_decided.then(|| self.desk.decision(&self.it.pod.uid, self.it.held()));
        self.desk.out.push(Effect::Assume {
            negotiation: self.it.id,
            pod: self.it.pod.uid.clone(),
            node,
            claims: self.it.pod.delayed().map(|claim| claim.uid.clone()).collect(),
            decision,
        });
    }

    /// The caller has assumed the pod, or not: then the next node is tried.
    pub(crate) fn note_assumed(&mut self, outcome: Result<(), Arc<str>>) {
        let Phase::Assuming { nodes, is_moving } = &mut self.it.phase else { return };
        let (mut nodes, is_moving) = (std::mem::take(nodes), *is_moving);
        match outcome {
            Err(reason) => {
                self.it.is_assumed = is_moving;
                if nodes.len() == 1 {
                    return self.fail(Failure { party: None, claim: None, reason });
                }
                nodes.remove(0);
                self.push_assume(nodes, is_moving);
            }
            Ok(()) if is_moving => self.finish(nodes),
            Ok(()) => self.allocate(nodes),
        }
    }

    fn allocate(&mut self, nodes: Vec<Node>) {
        if let Some(node) = nodes.first() {
            self.tell(Progress::Selected(node.clone()));
        }
        let called = self.it.seats.iter_mut().zip(self.it.planned.iter().copied());
        for (seat, id) in called.filter(|(seat, _)| !seat.is_ignored) {
            self.desk.calls.insert(id, self.it.id);
            seat.call = Some(Allocation {
                id,
                since: self.now,
                is_sent: false,
                pending: seat.claims.clone(),
                failed: Vec::new(),
                nodes: nodes.clone(),
                is_finished: false,
                has_failed: false,
            });
        }
        self.it.phase = Phase::Allocating { nodes };
        for position in 0..self.it.seats.len() {
            self.send_allocate(position);
        }
        self.conclude();
    }

    /// Sends a call to allocate that has not been finished; again, where a party has a new stream.
    pub(crate) fn send_allocate(&mut self, position: usize) {
        let Phase::Allocating { nodes } = &self.it.phase else { return };
        let Some(seat) = self.it.seats.get_mut(position) else { return };
        let Some(call) = seat.call.as_mut().filter(|call| !call.is_finished) else { return };
        let allocate = Allocate {
            id: call.id,
            negotiation: self.it.id,
            pod: self.it.pod.uid.clone(),
            claims: seat.claims.clone(),
            nodes: nodes.clone(),
        };
        call.is_sent |= self.desk.send(&seat.party, Call::Allocate(allocate));
    }

    /// The position of the seat whose allocation has this call; none where no allocation runs, or the call is another party's.
    fn position_of(&mut self, party: &Arc<str>, call: CallId) -> Option<usize> {
        let is_asked = |seat: &Seat| seat.call.as_ref().is_some_and(|known| known.id == call);
        let position = match &self.it.phase {
            Phase::Allocating { .. } => self.it.seats.iter().position(is_asked)?,
            _ => return None,
        };
        if self.it.seats.get(position).is_some_and(|seat| seat.party != *party) {
            self.desk.defect(party, Defect::Malformed(MalformedAnswer::Foreign));
            return None;
        }
        Some(position)
    }

    /// A party has allocated.
    pub(crate) fn note_allocated(&mut self, party: &Arc<str>, said: &PartyAllocated) {
        let Some(position) = self.position_of(party, said.id) else { return };
        let (Phase::Allocating { nodes }, Some(seat)) = (&self.it.phase, self.it.seats.get_mut(position)) else {
            return;
        };
        // Of more than there are, one is there twice, or another.
        let (most_nodes, most_claims) = (nodes.len() + 1, seat.claims.len() + 1);
        let foreign_node = said.nodes.iter().take(most_nodes).find(|node| !nodes.contains(node));
        let foreign_claim = said.claims.iter().take(most_claims).find(|claim| !seat.claims.contains(claim));
        let foreign_node = foreign_node.or(said.nodes.get(nodes.len()));
        let foreign_claim = foreign_claim.or(said.claims.get(seat.claims.len()));
        let Some(call) = seat.call.as_mut().filter(|call| !call.is_finished) else { return };
        let error = match (foreign_node, foreign_claim) {
            (Some(node), _) => Some(MalformedAnswer::NotAsked(node.clone())),
            (None, Some(claim)) => Some(MalformedAnswer::NotAskedClaim(claim.clone())),
            (None, None) if said.nodes.is_empty() => Some(MalformedAnswer::Nowhere),
            (None, None) => None,
        };
        if let Some(error) = error {
            let reason = error.to_string().into();
            self.desk.defect(party, Defect::Malformed(error));
            return self.fail(Failure { party: Some(party.clone()), claim: None, reason });
        }
        call.nodes.retain(|node| said.nodes.contains(node));
        call.pending.retain(|claim| !said.claims.contains(claim));
        call.is_finished = call.pending.is_empty();
        self.desk.note_answer(party, self.now);
        self.conclude();
    }

    /// Finishes once all parties have.
    fn conclude(&mut self) {
        let Phase::Allocating { nodes } = &self.it.phase else { return };
        let calls = || self.it.seats.iter().filter_map(|seat| seat.call.as_ref());
        if !calls().all(|call| call.is_finished) {
            return;
        }
        let is_common = |node: &&Node| calls().all(|call| call.nodes.contains(node));
        let common: Vec<Node> = nodes.iter().filter(is_common).cloned().collect();
        if common.is_empty() {
            let reason = "the parties have allocated for different nodes".into();
            return self.fail(Failure { party: None, claim: None, reason });
        }
        if common.first() == nodes.first() { self.finish(common) } else { self.push_assume(common, true) }
    }

    fn finish(&mut self, nodes: Vec<Node>) {
        if let Some(node) = nodes.into_iter().next() {
            self.tell(Progress::Allocated(node));
        }
        self.it.phase = Phase::Allocated { until: self.now + ALLOCATED, is_bound: false };
        if !self.it.planned.is_empty() {
            self.desk.decide(&self.it.pod.uid, self.it.held());
        }
        self.forget_rounds();
        self.complete();
    }

    /// Drops what rounds and selections need: the pod may stay unbound for long.
    fn forget_rounds(&mut self) {
        self.it.candidates = Candidates::default();
        self.desk.ledger.remove_order(&self.it.owner, &self.it.order);
        self.it.order = Arc::from([]);
        for seat in &mut self.it.seats {
            self.desk.forget_words(seat);
            seat.words = Words::default();
        }
    }

    /// The pod is bound: its core may bind it only once everything is allocated, and otherwise has given up on negotiation.
    pub(crate) fn note_bound(&mut self) {
        match &mut self.it.phase {
            Phase::Allocated { is_bound, .. } => {
                *is_bound = true;
                self.hold();
                self.complete();
            }
            // A change of the node never reallocates: the parties go on.
            Phase::Assuming { .. } | Phase::Allocating { .. } => self.it.was_seen_bound = true,
            _ => self.end(crate::effect::End::Gone),
        }
    }

    /// Holds what is allocated for the pod until it ends, whatever becomes of the negotiation.
    fn hold(&mut self) {
        if std::mem::take(&mut self.it.planned).is_empty() {
            return;
        }
        let pod = self.it.pod.uid.clone();
        for seat in &mut self.it.seats {
            let Some(call) = seat.call.take() else { continue };
            self.desk.calls.remove(&call.id);
            let (party, claims) = (seat.party.clone(), seat.claims.clone());
            self.desk.send(&party, Call::Bound(Bound { id: call.id, pod: pod.clone(), claims: claims.clone() }));
            self.desk.holdings.add(&pod, Holding { call: call.id, party, claims });
        }
        self.desk.decide(&pod, None);
    }

    /// Ends once the cluster's objects say all there is to know.
    pub(crate) fn complete(&mut self) {
        let is_shown = |uid: &ClaimUid| self.desk.claims.state(uid) == Some(ClaimState::Allocated);
        // Nobody allocates a claim about which only those decide who are ignored.
        let is_left = |uid: &ClaimUid| {
            let mut seats = self.it.seats.iter().filter(|seat| seat.claims.contains(uid)).peekable();
            seats.peek().is_some() && seats.all(|seat| seat.is_ignored)
        };
        if matches!(self.it.phase, Phase::Allocated { is_bound: true, .. })
            && self.it.pod.delayed().all(|claim| is_shown(&claim.uid) || is_left(&claim.uid))
        {
            self.close();
        }
    }

    /// A party cannot allocate.
    pub(crate) fn note_failed(&mut self, party: &Arc<str>, said: &PartyFailed) {
        let Some(position) = self.position_of(party, said.id) else { return };
        let (Phase::Allocating { nodes }, Some(seat)) = (&self.it.phase, self.it.seats.get_mut(position)) else {
            return;
        };
        let Some(call) = seat.call.as_mut() else { return };
        match &said.claim {
            Some(claim) if seat.claims.contains(claim) => call.failed.push(claim.clone()),
            Some(claim) => {
                let error = MalformedAnswer::NotAskedClaim(claim.clone());
                self.desk.defect(party, Defect::Malformed(error));
            }
            None => call.has_failed = true,
        }
        let reason = cut(&said.reason);
        // With the texts of the candidates, which are kept. More of them than there are say nothing more.
        let said_of = |node: &&Node| said.nodes.iter().take(nodes.len()).any(|named| named == *node);
        let named: Vec<&Node> = if said.nodes.is_empty() {
            nodes.first().into_iter().collect()
        } else {
            nodes.iter().filter(said_of).collect()
        };
        let unsuitable =
            named.into_iter().map(|node| (node.clone(), Suitability::Unsuitable(reason.clone()))).collect();
        self.desk.kept.keep(&seat.key, unsuitable, self.now, self.now + VALID_MOST, &mut self.desk.out);
        self.desk.note_answer(party, self.now);
        self.fail(Failure { party: Some(party.clone()), claim: said.claim.clone(), reason });
    }

    /// Ends a selection that cannot be had.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.tell(Progress::Failed(failure));
        self.wait_for_parties();
        self.undo();
        self.close();
    }

    /// Gives back what is held for this pod alone.
    pub(crate) fn undo(&mut self) {
        // Where another negotiation of the pod has moved it meanwhile, it is that one's.
        let is_own = self.desk.assumed.get(&self.it.pod.uid) == Some(&self.it.id);
        if is_own {
            self.desk.assumed.remove(&self.it.pod.uid);
        }
        if std::mem::take(&mut self.it.is_assumed) && is_own {
            self.desk.out.push(Effect::Forget { pod: self.it.pod.uid.clone() });
        }
        for seat in &mut self.it.seats {
            let Some(call) = seat.call.take() else { continue };
            self.desk.calls.remove(&call.id);
            if !call.is_finished {
                self.desk.send(&seat.party, Call::Withdraw(call.id));
            }
            if !call.is_sent || call.has_failed {
                continue;
            }
            let is_held = |uid: &&ClaimUid| !call.failed.contains(uid) && self.desk.claims.holds_alone(self.it.id, uid);
            let claims: Vec<ClaimUid> = seat.claims.iter().filter(is_held).cloned().collect();
            if claims.is_empty() && !seat.claims.is_empty() {
                continue;
            }
            let (pod, party, owner) = (self.it.pod.uid.clone(), seat.party.clone(), Some(self.it.owner.clone()));
            self.desk.give_back(call.id, Undo { pod, party, claims, until: self.now + DEALLOCATION, owner });
        }
        let was_decided = !std::mem::take(&mut self.it.planned).is_empty();
        // Where another negotiation of the pod has moved it, the decision is that one's.
        if was_decided && is_own {
            self.desk.decide(&self.it.pod.uid, None);
        }
    }
}
