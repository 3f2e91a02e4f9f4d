//! Record of all answers and calls in plain maps, and the outcomes that must follow from it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::limits::{BACKOFF_FIRST, BACKOFF_JITTER, CANDIDATES_MOST, DEALLOCATION, VALID_MOST};

/// Record of one negotiation.
pub(super) struct Log {
    /// Its place among all that have begun.
    number: usize,
    asked: Request,
    /// The latest end of the stream that is watched now.
    deadline: Instant,
    /// Nodes that have passed predicates.
    candidates: BTreeSet<Node>,
    /// Nodes that a party was known to reject when they were evaluated, and has not taken back.
    hidden: BTreeSet<(Arc<str>, Node)>,
    parties: Vec<(Arc<str>, Subject)>,
    /// Nodes on which the parties agreed.
    viable: Vec<Node>,
    /// Whether parties allocate, and have allocated.
    is_allocating: bool,
    is_allocated: bool,
    /// Latest answer of a party about a node to a question of this negotiation: whether it suits.
    said: BTreeMap<(Arc<str>, Node), bool>,
    /// Answers of a party about a node that were kept since the negotiation began, any of which may have been taken over.
    kept: BTreeSet<(Arc<str>, Node, bool)>,
    /// The calls to allocate: their party, and the nodes on which all claims that it was asked for can be used.
    allocations: BTreeMap<CallId, (Arc<str>, Option<Vec<Node>>)>,
    /// Whether the stream of `Negotiate`, and then that of `Select`, waits.
    waits: bool,
}

impl Log {
    /// Whether a party may be taken to have said this of a node: its own answer counts before what was kept.
    fn says(&self, party: &Arc<str>, node: &Node, suits: bool) -> bool {
        match self.said.get(&(party.clone(), node.clone())) {
            Some(said) => *said == suits,
            None => self.kept.contains(&(party.clone(), node.clone(), suits)),
        }
    }

    /// Whether a node suits all parties that are not ignored.
    fn is_agreed(&self, node: &Node, parties: &BTreeMap<Arc<str>, OnSilence>) -> bool {
        self.parties.iter().all(|(party, _)| {
            let is_ignored = parties[party] == Ignore && !self.said.contains_key(&(party.clone(), node.clone()));
            is_ignored || self.says(party, node, true)
        })
    }
}

#[derive(Default)]
pub(super) struct Record {
    pub(super) parties: BTreeMap<Arc<str>, OnSilence>,
    pub(super) outcomes: BTreeMap<&'static str, usize>,
    logs: BTreeMap<NegotiationId, Log>,
    /// Questions: negotiation, party, subject, nodes without an answer.
    asks: BTreeMap<CallId, (NegotiationId, Arc<str>, Subject, BTreeSet<Node>)>,
    /// The column as answers make it, and as effects do.
    kept: BTreeMap<(Arc<str>, Subject, Node), (Instant, bool)>,
    column: BTreeMap<(Arc<str>, Subject, Node), bool>,
    withdrawn: BTreeSet<CallId>,
    /// Calls to allocate whose party's stream has ended since.
    left: BTreeSet<CallId>,
    /// UID of the pod for which a claim is held: until it is given up, or the pod is bound and all its claims are allocated that somebody allocates.
    held: BTreeMap<ClaimUid, Arc<str>>,
    /// Held claims that a party has been told to allocate: of the others, all parties are ignored.
    called: BTreeSet<ClaimUid>,
    /// Pods that are bound, of those for which claims are held.
    bound: BTreeSet<Arc<str>>,
    undoing: BTreeMap<CallId, (Vec<ClaimUid>, Instant)>,
    /// When claims were given up: parties that do not attend are told to give them back later.
    given_up: BTreeMap<ClaimUid, Instant>,
    /// The node for which a call to allocate is, and what the party's answers about the pod are about.
    selected: BTreeMap<CallId, (Node, Subject)>,
    states: BTreeMap<ClaimUid, ClaimState>,
    /// Since when parties rest.
    rests: BTreeMap<Arc<str>, Instant>,
}

impl Record {
    pub(super) fn begin(&mut self, id: NegotiationId, asked: Request, now: Instant) {
        let deadline = now + asked.deadline;
        let number = self.logs.len();
        self.logs.insert(
            id,
            Log {
                number,
                asked,
                deadline,
                candidates: BTreeSet::new(),
                hidden: BTreeSet::new(),
                viable: Vec::new(),
                is_allocating: false,
                is_allocated: false,
                parties: Vec::new(),
                said: BTreeMap::new(),
                kept: BTreeSet::new(),
                allocations: BTreeMap::new(),
                waits: true,
            },
        );
    }

    pub(super) fn state(&self, uid: &ClaimUid) -> ClaimState {
        self.states.get(uid).copied().unwrap_or(ClaimState::Unallocated)
    }

    pub(super) fn known(&self) -> Vec<NegotiationId> {
        self.logs.keys().copied().collect()
    }

    pub(super) fn check_is_known(&self, id: NegotiationId) {
        assert!(self.logs.contains_key(&id), "{id:?}");
    }

    pub(super) fn pod(&self, id: NegotiationId) -> (Arc<str>, Vec<ClaimUid>) {
        let pod = &self.logs[&id].asked.pod;
        (pod.uid.clone(), pod.claims.iter().map(|claim| claim.uid.clone()).collect())
    }

    pub(super) fn some_candidates(&self, id: NegotiationId) -> Vec<Node> {
        self.logs[&id].candidates.iter().take(3).cloned().collect()
    }

    pub(super) fn note_select(&mut self, select: &Select, now: Instant) {
        let log = self.logs.get_mut(&select.negotiation).unwrap();
        log.deadline = now + select.deadline;
        log.waits = true;
    }

    pub(super) fn note_left(&mut self, party: &Arc<str>) {
        self.note_taken_back(party);
        self.asks.retain(|_, (_, of, ..)| of != party);
        let allocations = self.logs.values().flat_map(|log| &log.allocations);
        self.left.extend(allocations.filter(|(_, (of, _))| of == party).map(|(id, _)| *id));
    }

    /// Nothing counts any more that a party has said.
    fn note_taken_back(&mut self, party: &Arc<str>) {
        self.kept.retain(|(of, ..), _| of != party);
        for log in self.logs.values_mut() {
            log.said.retain(|(of, _), _| of != party);
            log.kept.retain(|(of, ..)| of != party);
            log.hidden.retain(|(of, _)| of != party);
        }
    }

    pub(super) fn check_all_ended(&self) {
        let lost: Vec<_> = self.logs.iter().filter(|(_, log)| log.waits).map(|(id, _)| id).collect();
        assert!(lost.is_empty(), "without an end: {lost:?}");
    }

    /// Two of three nodes pass; of the rest, those do that no party is known to reject.
    pub(super) fn evaluate(&mut self, asked: &Evaluate) -> Evaluated {
        let number = |node: &Node| node[1..].parse::<usize>().unwrap_or(0);
        let rejects = |(party, subject): &(Arc<str>, Subject), node: &Node| {
            self.column.get(&(party.clone(), subject.clone(), node.clone())) == Some(&false)
        };
        let is_unsuitable = |node: &Node| asked.parties.iter().any(|party| rejects(party, node));
        let fits = |node: &&Node| number(node) % 3 > 0 && !asked.skip.contains(node) && !is_unsuitable(node);
        let hidden = |node: &Node| -> Vec<(Arc<str>, Node)> {
            let by = asked.parties.iter().filter(|party| rejects(party, node));
            by.map(|(party, _)| (party.clone(), node.clone())).collect()
        };
        let hidden: Vec<_> = asked.order.iter().flat_map(hidden).collect();
        let mut found: Vec<Node> = asked.named.iter().filter(fits).cloned().collect();
        let mut next = asked.start;
        while found.len() < asked.wanted && next < asked.order.len() {
            found.extend(Some(&asked.order[next]).filter(fits).cloned().filter(|node| !found.contains(node)));
            next += 1;
        }
        found.truncate(asked.wanted);
        self.logs.get_mut(&asked.negotiation).unwrap().hidden.extend(hidden);
        Evaluated { negotiation: asked.negotiation, round: asked.round, nodes: found, next }
    }

    pub(super) fn note_event(&mut self, event: &Event, now: Instant) {
        match event {
            Event::Answered(party, answer) => self.note_answer(party, answer, now),
            Event::Allocated(party, said) => {
                self.rests.remove(party);
                if let Some((_, nodes)) = self.logs.values_mut().find_map(|log| log.allocations.get_mut(&said.id)) {
                    nodes.get_or_insert_with(|| said.nodes.clone());
                }
            }
            Event::Failed(party, said) => {
                self.rests.remove(party);
                let Some(log) = self.logs.values_mut().find(|log| log.allocations.contains_key(&said.id)) else {
                    return;
                };
                if let Some((node, subject)) = self.selected.get(&said.id).filter(|_| log.is_allocating) {
                    self.kept.insert((party.clone(), subject.clone(), node.clone()), (now + VALID_MOST, false));
                }
            }
            Event::Ended { pod, .. } => {
                let of_pod = self.logs.values().filter(|log| log.asked.pod.uid == *pod);
                let claims = of_pod.flat_map(|log| &log.asked.pod.claims).map(|claim| (claim.uid.clone(), now));
                self.given_up.extend(claims);
            }
            Event::Deallocated(_, id) => {
                self.undoing.remove(id);
            }
            Event::Invalidated(party, _) => self.note_taken_back(party),
            Event::Evaluated(evaluated) => {
                if let Some(log) = self.logs.get_mut(&evaluated.negotiation) {
                    log.candidates.extend(evaluated.nodes.iter().cloned());
                }
            }
            Event::Claim { uid, state: Some(state), .. } => {
                self.states.insert(uid.clone(), *state);
                self.let_go_of_what_is_shown();
            }
            Event::Bound(pod) => {
                let of_pod = self.logs.values().filter(|log| log.asked.pod.uid == *pod);
                let latest = of_pod.max_by_key(|log| log.number);
                if latest.is_some_and(|log| log.is_allocated) {
                    self.bound.insert(pod.clone());
                }
                self.let_go_of_what_is_shown();
            }
            _ => {}
        }
    }

    fn note_answer(&mut self, party: &Arc<str>, answer: &Answer, now: Instant) {
        let Some((id, _, subject, open)) = self.asks.get_mut(&answer.id.unwrap()) else { return };
        let named: BTreeSet<Node> = answer.nodes.iter().map(|it| it.node.clone()).collect();
        if !named.is_subset(open) {
            self.asks.remove(&answer.id.unwrap());
            return;
        }
        self.rests.remove(party);
        let (id, subject) = (*id, subject.clone());
        let mut said: Vec<(Node, bool)> = named.iter().map(|node| (node.clone(), false)).collect();
        open.retain(|node| !named.contains(node));
        if !answer.partial {
            said.extend(std::mem::take(open).into_iter().map(|node| (node, true)));
            self.asks.remove(&answer.id.unwrap());
        }
        for (node, suits) in said {
            let key = (party.clone(), subject.clone(), node.clone());
            if answer.valid.is_zero() {
                self.kept.remove(&key);
            } else {
                self.kept.insert(key, (now + answer.valid.min(VALID_MOST), suits));
            }
            // What is said of a node before it is a candidate counts only where it is kept.
            let log = self.logs.get_mut(&id).unwrap();
            if log.candidates.contains(&node) {
                log.said.insert((party.clone(), node), suits);
            }
        }
    }

    pub(super) fn check_column(&mut self, now: Instant) {
        self.kept.retain(|_, (until, _)| *until > now);
        let kept = self.kept.iter().map(|(key, (_, suits))| (key, suits));
        assert!(kept.eq(&self.column), "the column is not what was said");
        for (id, log) in &self.logs {
            assert!(!log.waits || now <= log.deadline, "{id:?} has not ended in time");
        }
    }

    pub(super) fn note_effect(&mut self, effect: &Effect, now: Instant) {
        match effect {
            Effect::Call(party, call) => self.note_call(party, call, now),
            Effect::Evaluate(asked) => {
                let log = self.logs.get_mut(&asked.negotiation).unwrap();
                log.parties = asked.parties.clone();
                if asked.skip.is_empty() && asked.start == 0 {
                    // It begins, or begins again because a claim has changed.
                    log.candidates.clear();
                    log.viable.clear();
                    log.said.clear();
                    let kept = self.column.iter().map(|((party, subject, node), suits)| (party, subject, node, suits));
                    let is_seated = |party: &Arc<str>, subject: &Subject| {
                        log.parties.iter().any(|(of, about)| (of, about) == (party, subject))
                    };
                    let kept = kept.filter(|(party, subject, ..)| is_seated(party, subject));
                    log.kept = kept.map(|(party, _, node, suits)| (party.clone(), node.clone(), *suits)).collect();
                }
            }
            Effect::Rows { party, subject, changes } => {
                let seat = (party.clone(), subject.clone());
                let mut seated: Vec<_> = self.logs.values_mut().filter(|log| log.parties.contains(&seat)).collect();
                for (node, said) in changes {
                    let key = (party.clone(), subject.clone(), node.clone());
                    if *said == Suitability::Unknown {
                        self.column.remove(&key);
                        continue;
                    }
                    let suits = *said == Suitability::Suitable;
                    self.column.insert(key, suits);
                    for log in &mut seated {
                        log.kept.insert((party.clone(), node.clone(), suits));
                    }
                }
            }
            Effect::Assume { negotiation, pod, claims, node, .. } => {
                let log = self.logs.get_mut(negotiation).unwrap();
                log.is_allocating = false;
                // More than one claim is never allocated for a node before everybody has said that it suits.
                let is_agreed = log.viable.contains(node) || log.is_agreed(node, &self.parties);
                assert!(is_agreed || claims.len() <= 1, "{negotiation:?} has not agreed on {node}");
                for claim in claims {
                    match self.held.insert(claim.clone(), pod.clone()) {
                        Some(holder) => assert_eq!(holder, *pod, "{claim} is held twice"),
                        // Of a claim that is held already, a party may begin to give back what was allocated before that.
                        None => {
                            assert!(!self.is_undoing(claim, now), "{claim} is being deallocated");
                            self.called.remove(claim);
                        }
                    }
                }
            }
            Effect::Forget { pod } => self.free(pod, now),
            Effect::Defect(party, Defect::Silent | Defect::Quarantined) => {
                self.rests.insert(party.clone(), now);
            }
            Effect::Refuse(id, refusal) => panic!("{id:?} is refused: {refusal}"),
            Effect::Defect(_, Defect::Malformed(_)) | Effect::Decide(_) | Effect::Woken { .. } | Effect::Over(_) => {}
            Effect::Tell { negotiation, progress, .. } => self.check_progress(*negotiation, progress, now),
        }
    }

    fn is_undoing(&self, claim: &ClaimUid, now: Instant) -> bool {
        self.undoing.values().any(|(claims, since)| claims.contains(claim) && now < *since + DEALLOCATION)
    }

    fn note_call(&mut self, party: &Arc<str>, call: &Call, now: Instant) {
        match call {
            Call::Ask(ask) => {
                if let Some(since) = self.rests.remove(party) {
                    assert!(now >= since + BACKOFF_FIRST.mul_f64(1.0 - BACKOFF_JITTER), "{party} was asked too early");
                }
                let is_of = |log: &Log| log.waits && log.asked.pod.uid == ask.pod;
                let (id, log) = self.logs.get_key_value(&ask.negotiation).unwrap();
                assert!(is_of(log));
                assert!(ask.nodes.iter().all(|node| log.candidates.contains(node)), "{ask:?}");
                assert!(ask.nodes.len() <= CANDIDATES_MOST && ask.recheck.len() <= CANDIDATES_MOST);
                let nodes = ask.nodes.iter().chain(&ask.recheck).cloned().collect();
                self.asks.insert(ask.id, (*id, party.clone(), ask.subject.clone(), nodes));
            }
            Call::Allocate(allocate) => {
                let is_of = |log: &Log| log.waits && log.asked.pod.uid == allocate.pod;
                let log = self.logs.get_mut(&allocate.negotiation).unwrap();
                assert!(is_of(log));
                log.allocations.entry(allocate.id).or_insert((party.clone(), None));
                let (_, _, scope) = PARTIES.into_iter().find(|(name, ..)| **name == **party).unwrap();
                let pod = &log.asked.pod;
                let subject = Subject::new(scope, &pod.uid, &pod.template, &allocate.claims);
                self.called.extend(allocate.claims.iter().cloned());
                self.selected.insert(allocate.id, (allocate.nodes[0].clone(), subject));
            }
            Call::Deallocate(deallocate) => {
                let (_, nodes) = self.logs.values().find_map(|log| log.allocations.get(&deallocate.id)).unwrap();
                let is_over = self.withdrawn.contains(&deallocate.id) || nodes.is_some();
                // To one whose stream has ended, nothing has to be withdrawn.
                assert!(is_over || self.left.contains(&deallocate.id), "{deallocate:?} before its withdrawal");
                // It may come long after that, with a new stream.
                let since = deallocate.claims.iter().filter_map(|claim| self.given_up.get(claim)).min();
                let since = since.copied().unwrap_or(now);
                self.undoing.entry(deallocate.id).or_insert((deallocate.claims.clone(), since));
            }
            Call::Bound(bound) => assert!(self.logs.values().any(|log| log.allocations.contains_key(&bound.id))),
            Call::Withdraw(id) => {
                self.asks.remove(id);
                self.withdrawn.insert(*id);
            }
        }
    }

    /// Bound pods hold no claims that are all allocated, but for those that nobody allocates.
    fn let_go_of_what_is_shown(&mut self) {
        let is_shown = |claim: &ClaimUid| self.states.get(claim) == Some(&ClaimState::Allocated);
        let is_awaited = |claim: &ClaimUid| self.called.contains(claim) && !is_shown(claim);
        let open = self.held.iter().filter(|(claim, _)| is_awaited(claim)).map(|(_, pod)| pod.clone());
        let open: BTreeSet<Arc<str>> = open.collect();
        self.held.retain(|_, pod| open.contains(pod) || !self.bound.contains(pod));
        self.bound.retain(|pod| open.contains(pod));
    }

    /// A pod does not hold its claims any more.
    fn free(&mut self, pod: &Arc<str>, now: Instant) {
        self.bound.remove(pod);
        let freed = self.held.extract_if(.., |_, holder| holder == pod).map(|(claim, _)| (claim, now));
        self.given_up.extend(freed);
    }

    /// The nodes to select of what was agreed on.
    pub(super) fn viable(&self, id: NegotiationId) -> Vec<Node> {
        self.logs[&id].viable.clone()
    }

    fn check_progress(&mut self, id: NegotiationId, progress: &Progress, now: Instant) {
        let log = self.logs.get_mut(&id).unwrap();
        assert!(log.waits, "{id:?} is told {progress:?} after its end");
        let outcome = match progress {
            Progress::Asked { .. } | Progress::Refused(_) => return,
            Progress::Viable(nodes) => {
                for node in nodes {
                    assert!(log.candidates.contains(node), "{node} has not passed predicates");
                    assert!(log.is_agreed(node, &self.parties), "{id:?}: not everybody has said that {node} suits");
                }
                let rank = |node: &Node| log.asked.order.iter().position(|of| of == node).unwrap_or(usize::MAX);
                assert!(nodes.is_sorted_by_key(rank), "{nodes:?} are not in order");
                log.viable = nodes.clone();
                return;
            }
            Progress::Selected(_) => {
                log.is_allocating = true;
                return;
            }
            Progress::Allocated(node) => {
                let mut allocations = log.allocations.values();
                let is_there = |nodes: &Option<Vec<Node>>| nodes.as_ref().is_some_and(|nodes| nodes.contains(node));
                assert!(allocations.all(|(_, nodes)| is_there(nodes)), "not everything is allocated for {node}");
                log.is_allocated = true;
                "Allocated"
            }
            Progress::Failed(_) => "Failed",
            Progress::Ended(end) => self.check_end(id, end, now),
        };
        let log = self.logs.get_mut(&id).unwrap();
        log.waits = false;
        log.is_allocating = false;
        let pod = log.asked.pod.uid.clone();
        if matches!(progress, Progress::Failed(_)) {
            self.free(&pod, now);
        }
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    fn check_end(&self, id: NegotiationId, end: &End, now: Instant) -> &'static str {
        let log = &self.logs[&id];
        let is_rejected = |node: &Node| {
            let mut parties = log.parties.iter().map(|(party, _)| party);
            // A node that silence has rejected stays so, whatever others hear of it.
            parties.any(|party| log.says(party, node, false) || self.parties[party] == Reject)
        };
        match end {
            End::Viable => {
                assert!(!log.viable.is_empty());
                "Viable"
            }
            End::Exhausted => {
                for node in &log.candidates {
                    assert!(is_rejected(node), "nobody has rejected {node}");
                }
                for node in log.asked.order.iter().filter(|node| node[1..].parse::<usize>().unwrap() % 3 > 0) {
                    let is_hidden = log.hidden.iter().any(|(_, hidden)| hidden == node);
                    assert!(log.candidates.contains(node) || is_hidden, "{node} was not tried");
                }
                "Exhausted"
            }
            End::TimedOut(parties) => {
                assert!(now >= log.deadline, "too early");
                for party in parties {
                    // A party that does not attend has not been told to allocate.
                    let has_finished = log.allocations.values().any(|(of, nodes)| of == party && nodes.is_some());
                    let is_allocating = log.is_allocating && !has_finished;
                    let is_asked = self.asks.values().any(|(of, by, ..)| *of == id && by == party);
                    let is_said = |node: &Node| log.said.contains_key(&(party.clone(), node.clone()));
                    let is_unheard = !log.candidates.iter().all(is_said);
                    assert!(is_allocating || is_asked || is_unheard, "{party} was not silent");
                }
                "TimedOut"
            }
            End::InProgress(claim) => {
                let pod = &log.asked.pod;
                assert!(pod.claims.iter().any(|it| it.uid == *claim), "{claim} is another pod's");
                let is_held = self.held.get(claim).is_some_and(|holder| *holder != pod.uid);
                let is_undoing = self.given_up.get(claim).is_some_and(|since| now <= *since + DEALLOCATION);
                assert!(is_held || is_undoing, "{claim} is not in progress");
                "InProgress"
            }
            End::Gone => "Gone",
            End::Superseded => "Superseded",
        }
    }
}
