//! Compares what is counted with a slow recount of all that is held, after each step of random cores and parties, some of which say more
//! than anybody needs. The seed is printed: `NODESIFT_SEED` repeats it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;
use super::world::*;
use crate::limits::{
    ALTERNATIVES, CANDIDATE_BYTES, CLAIM_BYTES, KEPT_REASONS, NAME_BYTES, NEGOTIATION_BYTES, SAID_BYTES, SEAT_BYTES,
    TEXT_BYTES,
};
use crate::negotiation::{Negotiation, Phase};
use OnSilence::{Ignore, Wait};

/// Compares what is counted with a recount.
pub(super) fn check(core: &Negotiations) {
    let (live, desk) = core.parts();
    let (mut owners, mut said) = (BTreeMap::<Owner, usize>::new(), BTreeMap::<(Class, Arc<str>), usize>::new());
    let mut orders: Vec<(&Owner, &Arc<[Node]>)> = Vec::new();
    let mut reasons = BTreeMap::<Arc<str>, BTreeMap<Arc<str>, usize>>::new();
    let mut count = |party: &Arc<str>, said: &Suitability| {
        if let Suitability::Unsuitable(text) = said {
            *reasons.entry(party.clone()).or_default().entry(text.clone()).or_default() += 1;
        }
    };
    desk.kept.said().for_each(|(party, said)| count(party, said));
    for it in live {
        *owners.entry(it.owner.clone()).or_default() += it.held_bytes();
        let is_counted = |(of, order): &(&Owner, &Arc<[Node]>)| **of == it.owner && Arc::ptr_eq(order, &it.order);
        if !orders.iter().any(is_counted) {
            *owners.entry(it.owner.clone()).or_default() += it.order.len() * NAME_BYTES;
            orders.push((&it.owner, &it.order));
        }
        let least = recounted(it);
        assert!(least <= it.held_bytes(), "{least} bytes are held, {} are counted: {it:?}", it.held_bytes());
        for seat in &it.seats {
            let named: usize = seat.named.iter().chain(&seat.selector).map(|text| text.len() + TEXT_BYTES).sum();
            assert_eq!(seat.said_bytes, named);
            assert!(seat.named.len() <= ALTERNATIVES);
            *said.entry((it.owner.class, seat.party.clone())).or_default() += named;
            seat.words.texts(0).for_each(|said| count(&seat.party, said));
        }
    }
    for (owner, bytes) in &owners {
        assert_eq!(desk.ledger.held_by(owner).bytes, *bytes, "{owner:?}");
    }
    for class in [Class::Local, Class::Remote] {
        let of_class = |bytes: &BTreeMap<(Class, Arc<str>), usize>| -> usize {
            bytes.iter().filter(|((of, _), _)| *of == class).map(|(_, bytes)| bytes).sum()
        };
        let bytes: usize = owners.iter().filter(|(owner, _)| owner.class == class).map(|(_, bytes)| bytes).sum();
        assert_eq!((desk.ledger.held_by_class(class).bytes, desk.ledger.said(class)), (bytes, of_class(&said)));
    }
    assert!(said.values().all(|bytes| *bytes <= SAID_BYTES), "{said:?}");
    assert_eq!(desk.kept.reasons.counts(), &reasons);
    // One text more stands for all others.
    assert!(reasons.values().all(|texts| texts.len() <= KEPT_REASONS + 1));
}

/// Bytes of everything that a negotiation holds in lists, one by one, its order left out; texts that it shares with nobody once.
fn recounted(it: &Negotiation) -> usize {
    let selected = match &it.phase {
        Phase::Agreed { nodes, .. } | Phase::Assuming { nodes, .. } | Phase::Allocating { nodes } => nodes.as_slice(),
        _ => &[],
    };
    let asks = || it.seats.iter().flat_map(|seat| &seat.asks);
    let calls = || it.seats.iter().filter_map(|seat| seat.call.as_ref()).flat_map(|call| &call.nodes);
    let selection = || it.selection.iter().flat_map(|selection| &selection.nodes);
    let asked = asks().flat_map(|ask| ask.nodes.iter().chain(&ask.recheck)).count();
    let names = asked + selected.len() + calls().count() + selection().count() + it.named.len();
    let known: BTreeSet<&Node> = it.order.iter().chain(it.candidates.nodes()).collect();
    let own: BTreeSet<&Node> = selected.iter().chain(calls()).chain(selection()).collect();
    let texts = own.difference(&known).filter(|_| !matches!(it.phase, Phase::Allocated { .. }));
    let texts: usize = texts.map(|text| text.len()).sum();
    it.pod_bytes + it.candidates.len() * CANDIDATE_BYTES + names * NAME_BYTES + texts
}

/// Each is followed by a recount.
const STEPS: usize = 600;

struct Random {
    world: World,
    random: fastrand::Rng,
    pods: usize,
    /// Orders that negotiations have had.
    orders: Vec<Arc<[Node]>>,
}

impl Random {
    fn text(&mut self, most: usize) -> Arc<str> {
        format!("{}-{}", self.random.usize(..2_000), "x".repeat(self.random.usize(..most))).into()
    }

    fn negotiate(&mut self) {
        self.pods += 1;
        let drivers = ["a", "b", "c"];
        let claims = (0..self.random.usize(..4))
            .map(|at| claim(&format!("c{}-{at}", self.pods), drivers[self.random.usize(..3)]));
        let claims = claims.collect();
        let first = self.random.usize(..100);
        let mut asked = request(&format!("p{}", self.pods), claims, first..first + self.random.usize(..300));
        match self.random.choice(&self.orders) {
            Some(known) if self.random.bool() => asked.order = Arc::clone(known),
            _ => self.orders.push(Arc::clone(&asked.order)),
        }
        let owner = [Owner::default(), local("uid:1"), remote("a")][self.random.usize(..3)].clone();
        let bytes = self.random.usize(..10_000);
        let asked = Request { candidates: self.random.usize(..200), owner, bytes, round: ms(500), ..asked };
        if let Ok((_, effects)) = self.world.core.negotiate(asked, self.world.now) {
            self.world.act(effects);
        }
    }

    /// Some party's answer to each question and call that it has had since.
    fn answer(&mut self) {
        let party = ["a", "b", "c"][self.random.usize(..3)];
        for call in self.world.calls(party) {
            match call {
                Call::Ask(ask) => {
                    for _ in 0..self.random.usize(..4) {
                        let answer = self.said(&ask);
                        self.world.answer_with(party, answer);
                    }
                }
                Call::Allocate(allocate) if self.random.bool() => self.world.allocated(party, &allocate),
                Call::Allocate(allocate) if self.random.bool() => self.world.fail(party, &allocate),
                Call::Deallocate(call) if self.random.bool() => {
                    self.world.step(Event::Deallocated(text(party), call.id))
                }
                _ => {}
            }
        }
    }

    fn said(&mut self, ask: &Ask) -> Answer {
        let most = self.random.usize(1..5);
        let asked = ask.nodes.iter().chain(&ask.recheck);
        let refused: Vec<Node> = asked.filter(|_| self.random.usize(..5) < most).cloned().collect();
        let nodes = refused.into_iter().map(|node| Unsuitable { node, claim: None, reason: self.text(100) });
        let nodes = nodes.collect();
        let alternatives = if self.random.u8(..8) == 0 {
            (0..ALTERNATIVES / 2).map(|_| self.text(900)).collect()
        } else {
            (0..self.random.usize(..20)).map(|_| node(self.random.usize(..600))).collect()
        };
        let selector = self.random.bool().then(|| self.text(4_000));
        let (partial, valid) = (self.random.bool(), ms(self.random.u64(..2) * 20_000));
        Answer { id: Some(ask.id), nodes, partial, alternatives, selector, valid }
    }

    /// A core selects something of a negotiation, or gives it up.
    fn decide(&mut self) {
        let views = self.world.core.views();
        let Some(view) = self.random.choice(&views) else { return };
        let (id, owner) = (view.id, self.world.core.parts().0.find(|it| it.id == view.id).unwrap().owner.clone());
        let agreed = self.world.viable(id);
        let effects = if self.random.u8(..5) == 0 {
            self.world.core.release(id, &owner, self.world.now)
        } else {
            let optimistic = agreed.is_none();
            let mut selected = agreed.unwrap_or_else(|| vec![self.text(250), node(3)]);
            selected.truncate(self.random.usize(1..20));
            let select = Select { negotiation: id, nodes: selected, optimistic, deadline: ms(3_000) };
            self.world.core.select(select, &owner, self.world.now)
        };
        if let Ok(effects) = effects {
            self.world.act(effects);
        }
    }

    fn step(&mut self) {
        match self.random.u8(..20) {
            0..5 => self.negotiate(),
            5..12 => self.answer(),
            12..15 => self.decide(),
            15 => self.world.attend(["a", "b", "c"][self.random.usize(..3)], self.random.u64(2..)),
            16 => self.world.step(Event::Invalidated(text("a"), Invalidate { subject: None })),
            17 => {
                let claim = format!("c{}-0", self.random.usize(..self.pods + 1));
                let state = [Some(ClaimState::Allocated), Some(ClaimState::Deallocating), None];
                self.world.claim(&claim, state[self.random.usize(..3)]);
            }
            18 => self.world.step(Event::Bound(format!("p{}", self.random.usize(..self.pods + 1)).into())),
            _ => self.world.pass(ms(self.random.u64(..700))),
        }
    }
}

#[test]
fn what_is_counted_equals_a_slow_recount_of_all_that_is_held_after_each_step() {
    let seed = nodesift_seed::seed();
    let world = World::new(vec![party("a", Wait), party("b", Ignore), party("c", Wait)]);
    let mut it = Random { world, random: fastrand::Rng::with_seed(seed), pods: 0, orders: Vec::new() };
    let (mut most, mut allocated) = (0, 0);
    for _ in 0..STEPS {
        it.step();
        check(&it.world.core);
        let usage = it.world.core.usage();
        most = most.max(usage.local_bytes + usage.remote_bytes);
        allocated += it.world.core.views().iter().filter(|view| view.phase == "allocated").count();
    }
    println!("{} negotiations, at most {most} bytes; {allocated} times one was allocated", it.pods);
    assert!(allocated > 0);
    it.world.pass(ms(4_000_000));
    check(&it.world.core);
    let usage = it.world.core.usage();
    assert_eq!((usage.negotiations, usage.calls, usage.local_bytes, usage.remote_bytes), (0, 0, 0, 0));
    assert_eq!(usage.kept_bytes, 0);
}

#[test]
fn an_allocated_negotiation_counts_for_its_pod_and_the_nodes_of_its_calls() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(Request { bytes: 5_000, ..request("p", vec![claim("c", "a")], 0..1_000) });
    let ask = world.ask("a");
    world.answer_with("a", Answer { alternatives: nodes(2_000..2_100), ..answer(&ask, [0]) });
    world.select(id, nodes([1, 2]), false).unwrap();
    let own = 5_000 + NEGOTIATION_BYTES + SEAT_BYTES + CLAIM_BYTES + NAME_BYTES;
    assert!(world.core.usage().local_bytes > own + 1_000 * NAME_BYTES);
    let allocate = world.allocate("a");
    world.allocated("a", &allocate);
    assert_eq!(world.core.usage().local_bytes, own + 2 * NAME_BYTES);
}
