//! A caller with a clock of its own: it evaluates by a set of nodes, assumes what it is asked to, and keeps all effects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::*;

pub(super) use std::sync::Arc;
pub(super) use std::time::Instant;

pub(super) fn text(text: &str) -> Arc<str> {
    text.into()
}

pub(super) fn node(number: usize) -> Node {
    format!("n{number}").into()
}

pub(super) fn nodes(numbers: impl IntoIterator<Item = usize>) -> Vec<Node> {
    numbers.into_iter().map(node).collect()
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Seed of a run, which is printed where that panics.
pub(super) struct Seed(pub(super) u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("NODESIFT_SEED={}", self.0);
        }
    }
}

/// A party for the claims of the driver with its name.
pub(super) fn party(name: &str, on_silence: OnSilence) -> Party {
    Party { name: text(name), concern: Concern::Driver(text(name)), scope: Scope::Pod, on_silence }
}

/// A delayed claim of a driver.
pub(super) fn claim(uid: &str, driver: &str) -> Claim {
    Claim {
        uid: text(uid),
        name: text(&format!("name-of-{uid}")),
        drivers: vec![text(driver)],
        classes: Vec::new(),
        state: ClaimState::Unallocated,
        shared: false,
    }
}

pub(super) fn request(pod: &str, claims: Vec<Claim>, order: impl IntoIterator<Item = usize>) -> Request {
    Request {
        pod: Pod { uid: text(pod), template: text("t"), claims, pending_volumes: 0 },
        selected_by: Vec::new(),
        order: nodes(order).into(),
        candidates: 0,
        deadline: Duration::ZERO,
        round: Duration::ZERO,
        supersedes: None,
        owner: Owner::default(),
        bytes: 0,
    }
}

/// A client on this machine.
pub(super) fn local(identity: &str) -> Owner {
    Owner { class: Class::Local, identity: text(identity) }
}

/// A client of the class [`Class::Remote`].
pub(super) fn remote(identity: &str) -> Owner {
    Owner { class: Class::Remote, identity: text(identity) }
}

pub(super) struct World {
    pub(super) core: Negotiations,
    pub(super) now: Instant,
    /// Nodes that predicates reject.
    pub(super) rejected: BTreeSet<Node>,
    /// Nodes that selectors match.
    pub(super) matched: Vec<Node>,
    /// Whether the caller assumes what it is asked to.
    pub(super) assumes: bool,
    /// Evaluations that nobody has answered yet; none where each is answered at once.
    pub(super) late: Option<Vec<Evaluate>>,
    /// Effects since they were taken, without those that the world has answered itself.
    pub(super) effects: Vec<Effect>,
    pub(super) column: BTreeMap<(Arc<str>, Subject, Node), Suitability>,
    /// The decision about each pod, as a record has it.
    pub(super) decided: BTreeMap<Arc<str>, Decision>,
}

impl World {
    /// A world whose parties attend.
    pub(super) fn new(parties: Vec<Party>) -> Self {
        let mut world = Self {
            core: Negotiations::new(1),
            now: Instant::now(),
            rejected: BTreeSet::new(),
            matched: Vec::new(),
            assumes: true,
            late: None,
            effects: Vec::new(),
            column: BTreeMap::new(),
            decided: BTreeMap::new(),
        };
        let names: Vec<_> = parties.iter().map(|party| party.name.clone()).collect();
        world.core.set_parties(parties, world.now).unwrap();
        for name in names {
            world.attend(&name, 1);
        }
        world
    }

    pub(super) fn attend(&mut self, party: &str, session: u64) {
        let effects = self.core.attend(&text(party), session, &Owner::default(), self.now).unwrap();
        self.act(effects);
    }

    pub(super) fn negotiate(&mut self, request: Request) -> NegotiationId {
        let (id, effects) = self.core.negotiate(request, self.now).unwrap();
        self.act(effects);
        id
    }

    pub(super) fn select(
        &mut self,
        negotiation: NegotiationId,
        nodes: Vec<Node>,
        optimistic: bool,
    ) -> Result<(), Refusal> {
        let select = Select { negotiation, nodes, optimistic, deadline: Duration::ZERO };
        let effects = self.core.select(select, &Owner::default(), self.now)?;
        self.act(effects);
        Ok(())
    }

    pub(super) fn release(&mut self, id: NegotiationId) {
        let effects = self.core.release(id, &Owner::default(), self.now).unwrap();
        self.act(effects);
    }

    pub(super) fn step(&mut self, event: Event) {
        let effects = self.core.step(event, self.now);
        self.act(effects);
    }

    /// Lets time pass, with every tick that is due.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.core.next_tick().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.step(Event::Tick);
        }
        self.now = end;
    }

    /// Answers that these of the nodes do not suit.
    pub(super) fn answer(&mut self, ask: &Ask, party: &str, unsuitable: impl IntoIterator<Item = usize>) {
        self.answer_with(party, answer(ask, unsuitable));
    }

    pub(super) fn answer_with(&mut self, party: &str, answer: Answer) {
        self.step(Event::Answered(text(party), answer));
    }

    pub(super) fn allocated(&mut self, party: &str, allocate: &Allocate) {
        let said = PartyAllocated { id: allocate.id, claims: allocate.claims.clone(), nodes: allocate.nodes.clone() };
        self.step(Event::Allocated(text(party), said));
    }

    pub(super) fn fail(&mut self, party: &str, allocate: &Allocate) {
        let said = PartyFailed { id: allocate.id, claim: None, reason: text("full"), nodes: Vec::new() };
        self.step(Event::Failed(text(party), said));
    }

    pub(super) fn claim(&mut self, uid: &str, state: Option<ClaimState>) {
        self.step(Event::Claim { uid: text(uid), state, shared: false });
    }

    /// The calls of a party since they were taken.
    pub(super) fn calls(&mut self, party: &str) -> Vec<Call> {
        self.take(|effect| match effect {
            Effect::Call(to, call) if **to == *party => Some(call.clone()),
            _ => None,
        })
    }

    /// The one question that a party has been asked since, perhaps after a withdrawal.
    pub(super) fn ask(&mut self, party: &str) -> Ask {
        let calls = self.calls(party);
        match calls.iter().filter(|call| !matches!(call, Call::Withdraw(_))).collect::<Vec<_>>()[..] {
            [Call::Ask(ask)] => ask.clone(),
            _ => panic!("expected a question to {party}: {calls:?}"),
        }
    }

    /// The one call to allocate that a party has had since, perhaps after a withdrawal.
    pub(super) fn allocate(&mut self, party: &str) -> Allocate {
        let calls = self.calls(party);
        match calls.iter().filter(|call| !matches!(call, Call::Withdraw(_))).collect::<Vec<_>>()[..] {
            [Call::Allocate(allocate)] => allocate.clone(),
            _ => panic!("expected a call to allocate of {party}: {calls:?}"),
        }
    }

    /// Takes the progress that the streams of a negotiation have reported since the last call.
    pub(super) fn told(&mut self, id: NegotiationId) -> Vec<Progress> {
        self.take(|effect| match effect {
            Effect::Tell { negotiation, progress, .. } if *negotiation == id => Some(progress.clone()),
            _ => None,
        })
    }

    /// How a negotiation has ended since.
    pub(super) fn end(&mut self, id: NegotiationId) -> Option<End> {
        self.told(id).into_iter().find_map(|told| match told {
            Progress::Ended(end) => Some(end),
            _ => None,
        })
    }

    /// The nodes that were agreed on since.
    pub(super) fn viable(&mut self, id: NegotiationId) -> Option<Vec<Node>> {
        self.told(id).into_iter().find_map(|told| match told {
            Progress::Viable(nodes) => Some(nodes),
            _ => None,
        })
    }

    /// How many negotiations were refused for want of room since.
    pub(super) fn refused(&mut self) -> usize {
        let refused = self.take(|effect| match effect {
            Effect::Refuse(_, refusal) => Some(refusal.clone()),
            _ => None,
        });
        refused.into_iter().filter(|refusal| matches!(refusal, Refusal::Full(_))).count()
    }

    pub(super) fn defects(&mut self) -> Vec<Defect> {
        self.take(|effect| match effect {
            Effect::Defect(_, defect) => Some(defect.clone()),
            _ => None,
        })
    }

    fn take<T>(&mut self, pick: impl Fn(&Effect) -> Option<T>) -> Vec<T> {
        let picked = self.effects.iter().filter_map(&pick).collect();
        self.effects.retain(|effect| pick(effect).is_none());
        picked
    }

    pub(super) fn act(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Evaluate(asked) => match &mut self.late {
                    Some(late) => late.push(asked),
                    None => {
                        let evaluated = self.evaluate(&asked);
                        self.step(Event::Evaluated(evaluated));
                    }
                },
                Effect::Assume { negotiation, ref decision, .. } => {
                    decision.iter().for_each(|decision| self.decide(decision.clone()));
                    self.effects.push(effect);
                    let outcome = if self.assumes { Ok(()) } else { Err(text("Insufficient cpu")) };
                    self.step(Event::Assumed(negotiation, outcome));
                }
                Effect::Rows { party, subject, changes } => {
                    for (node, said) in changes {
                        let key = (party.clone(), subject.clone(), node);
                        match said {
                            Suitability::Unknown => self.column.remove(&key),
                            said => self.column.insert(key, said),
                        };
                    }
                }
                Effect::Decide(decision) => self.decide(decision),
                Effect::Over(_) => {}
                effect => self.effects.push(effect),
            }
        }
    }

    /// Records a decision; one that holds nothing is none.
    fn decide(&mut self, decision: Decision) {
        match decision.held.is_empty() {
            true => drop(self.decided.remove(&decision.pod)),
            false => drop(self.decided.insert(decision.pod.clone(), decision)),
        }
    }

    /// The stage of the decision about a pod, and the calls of it, each with whether it is given back.
    pub(super) fn decision(&self, pod: &str) -> Option<(Stage, Vec<(CallId, bool)>)> {
        let decision = self.decided.get(pod)?;
        Some((decision.stage, decision.held.iter().map(|held| (held.call, held.gives_back)).collect()))
    }

    /// Evaluates as a predicate that reads the column would.
    pub(super) fn evaluate(&self, asked: &Evaluate) -> Evaluated {
        let is_unsuitable = |node: &Node| {
            let said = asked
                .parties
                .iter()
                .filter_map(|(party, subject)| self.column.get(&(party.clone(), subject.clone(), node.clone())));
            said.into_iter().any(|said| matches!(said, Suitability::Unsuitable(_)))
        };
        let fits = |node: &&Node| {
            node.starts_with('n')
                && !self.rejected.contains(*node)
                && !asked.skip.contains(node)
                && !is_unsuitable(node)
        };
        let mut found: Vec<Node> = asked.named.iter().filter(fits).cloned().collect();
        if !asked.selectors.is_empty() {
            found.extend(self.matched.iter().filter(fits).cloned());
        }
        found.truncate(asked.wanted);
        let mut next = asked.start;
        while found.len() < asked.wanted
            && let Some(node) = asked.order.get(next)
        {
            found.extend(Some(node).filter(fits).cloned());
            next += 1;
        }
        Evaluated { negotiation: asked.negotiation, round: asked.round, nodes: found, next }
    }
}

/// An answer by which these nodes do not suit.
pub(super) fn answer(ask: &Ask, unsuitable: impl IntoIterator<Item = usize>) -> Answer {
    let nodes = nodes(unsuitable).into_iter();
    let nodes = nodes.map(|node| Unsuitable { node, claim: None, reason: text("no") }).collect();
    Answer { id: Some(ask.id), nodes, ..Answer::default() }
}
