//! Allocations beyond their negotiations: decisions that are gone on from, pods that end while a party is away, and how much a
//! party, and a pod, may have of it.

use std::collections::BTreeSet;

use super::super::*;
use super::world::*;
use OnSilence::Wait;
use limits::{CALLS_OF_POD, HOLDINGS, HOLDINGS_OF_PARTY, PARTIES, UNDOS_OF_POD};

/// A decision about a pod: calls of a party, none of which is given back.
fn decision(pod: &str, stage: Stage, party: &str, calls: impl IntoIterator<Item = u64>) -> Decision {
    let held = |call| Held { party: text(party), call: CallId(call), claims: Vec::new(), gives_back: false };
    Decision { pod: text(pod), stage, held: calls.into_iter().map(held).collect() }
}

/// A world of parties that decide about all pods which select them.
fn world(parties: &[&str]) -> World {
    World::new(parties.iter().map(|name| Party { concern: Concern::Pods, ..party(name, Wait) }).collect())
}

fn restore(world: &mut World, decisions: Vec<Decision>) {
    let effects = world.core.restore(decisions, world.now);
    world.act(effects);
}

/// Negotiations and deallocations that count for clients of this machine.
fn counted(world: &World) -> usize {
    world.core.parts().1.ledger.held_by_class(Class::Local).negotiations
}

/// A request for a pod that one party decides about.
fn asked(pod: &str, party: &str) -> Request {
    Request { selected_by: vec![text(party)], ..request(pod, Vec::new(), 0..1) }
}

#[test]
fn a_call_in_two_decisions_is_that_of_the_first() {
    let mut world = world(&["a"]);
    let bound = decision("running", Stage::Bound, "a", [7]);
    restore(&mut world, vec![bound.clone(), decision("invented", Stage::Deallocating, "a", [7, 8])]);
    let deallocated = Call::Deallocate(Deallocate { id: CallId(8), claims: Vec::new() });
    assert_eq!(world.calls("a"), [deallocated]);
    assert_eq!(world.decision("running"), Some((Stage::Bound, vec![(CallId(7), false)])));
    restore(&mut world, vec![decision("invented", Stage::Deallocating, "a", [7])]);
    restore(&mut world, vec![bound]);
    let usage = world.core.usage();
    assert_eq!((usage.held, usage.deallocations, world.calls("a")), (1, 1, Vec::new()));
}

#[test]
fn pods_that_end_while_their_party_is_away_take_no_place_of_a_negotiation() {
    let mut world = world(&["a"]);
    restore(&mut world, (0..10).map(|pod| decision(&pod.to_string(), Stage::Bound, "a", [pod + 1])).collect());
    restore(&mut world, vec![decision("left", Stage::Allocating, "a", [20])]);
    world.step(Event::Left { party: text("a"), session: 1 });
    for pod in 0..10 {
        world.step(Event::Ended { pod: text(&pod.to_string()), shared: Vec::new() });
    }
    assert_eq!((world.core.usage().deallocations, counted(&world)), (11, 0));
    world.attend("a", 2);
    for call in (1..11).chain([20]) {
        world.step(Event::Deallocated(text("a"), CallId(call)));
    }
    world.pass(limits::DEALLOCATION);
    assert_eq!((world.core.usage().deallocations, counted(&world)), (0, 0));
}

#[test]
fn a_party_that_holds_its_share_keeps_no_pod_of_another_out() {
    let mut world = world(&["a", "b"]);
    let most = u64::try_from(HOLDINGS_OF_PARTY).unwrap();
    let full = Err(Refusal::Full("what parties hold for pods"));
    let negotiate = |world: &mut World, pod: &str, party: &str| -> Result<(), Refusal> {
        let (id, effects) = world.core.negotiate(asked(pod, party), world.now)?;
        world.act(effects);
        world.release(id);
        Ok(())
    };
    restore(&mut world, vec![decision("many", Stage::Bound, "a", 1..most)]);
    assert_eq!(negotiate(&mut world, "p", "a"), Ok(()));
    restore(&mut world, vec![decision("one", Stage::Deallocating, "a", [most])]);
    assert_eq!(negotiate(&mut world, "p", "a"), full);
    assert_eq!(negotiate(&mut world, "p", "b"), Ok(()));
    let rest = u64::try_from(HOLDINGS - HOLDINGS_OF_PARTY).unwrap();
    restore(&mut world, vec![decision("others", Stage::Bound, "c", most + 1..=most + rest)]);
    assert_eq!(negotiate(&mut world, "p", "b"), full);
    assert_eq!(negotiate(&mut world, "p", "nobody"), Ok(()), "for a pod without parties nothing is held");
}

#[test]
fn a_pod_for_which_much_is_given_back_is_selected_once_less_is() {
    let mut world = world(&["a"]);
    let most = u64::try_from(UNDOS_OF_POD).unwrap();
    restore(&mut world, vec![decision("p", Stage::Deallocating, "a", 1..=most)]);
    world.calls("a");
    let id = world.negotiate(asked("p", "a"));
    let ask = world.ask("a");
    world.answer(&ask, "a", []);
    assert_eq!(world.select(id, nodes(0..1), false), Err(Refusal::Full("what parties give back for the pod")));
    world.step(Event::Deallocated(text("a"), CallId(1)));
    assert_eq!(world.select(id, nodes(0..1), false), Ok(()));
    let held = world.decision("p").unwrap().1.len();
    assert!(held < CALLS_OF_POD - 2 * (PARTIES - 1), "{held} calls with one party");
}

#[test]
fn of_two_negotiations_of_a_pod_one_is_selected() {
    let mut world = world(&["a"]);
    let mut agreed = |owner: &Owner| {
        let id = world.negotiate(Request { owner: owner.clone(), ..asked("p", "a") });
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
        Select { negotiation: id, nodes: nodes(0..1), optimistic: false, deadline: ms(0) }
    };
    let (one, other) = (agreed(&local("one")), agreed(&local("other")));
    let first = one.negotiation;
    let effects = world.core.select(one, &local("one"), world.now).unwrap();
    world.act(effects);
    let refused = world.core.select(other.clone(), &local("other"), world.now);
    assert_eq!(refused, Err(Refusal::SelectedElsewhere));
    let effects = world.core.release(first, &local("one"), world.now).unwrap();
    world.act(effects);
    let selected = world.core.select(other, &local("other"), world.now);
    assert!(selected.is_ok(), "{selected:?}");
}

#[test]
fn what_a_lost_core_has_selected_and_not_bound_is_given_back_and_nothing_else() {
    let mut world = World::new(vec![party("a", Wait)]);
    let negotiated = |world: &mut World, pod: &str, owner: &Owner| {
        let asked = request(pod, vec![claim(&format!("of-{pod}"), "a")], 0..1);
        let id = world.negotiate(Request { owner: owner.clone(), ..asked });
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
        id
    };
    let allocate = |world: &mut World, pod: &str, owner: &Owner| {
        let negotiation = negotiated(world, pod, owner);
        let select = Select { negotiation, nodes: nodes(0..1), optimistic: false, deadline: ms(0) };
        let effects = world.core.select(select, owner, world.now).unwrap();
        world.act(effects);
        (negotiation, world.allocate("a"))
    };
    let (lost, other) = (local("uid:1"), local("uid:2"));
    let (bound, call) = allocate(&mut world, "bound", &lost);
    world.allocated("a", &call);
    world.step(Event::Bound(text("bound")));
    world.calls("a");
    let (allocated, call) = allocate(&mut world, "allocated", &lost);
    world.allocated("a", &call);
    let (allocating, late) = allocate(&mut world, "allocating", &lost);
    let (early, call_of_early) = allocate(&mut world, "early", &lost);
    world.step(Event::Bound(text("early")));
    let (others, _) = allocate(&mut world, "others", &other);
    let agreed = negotiated(&mut world, "agreed", &lost);
    world.calls("a");
    world.told(allocating);
    world.step(Event::Lost(lost));
    let calls = world.calls("a").into_iter();
    let given_back = calls.filter_map(|call| if let Call::Deallocate(back) = call { Some(back.id) } else { None });
    let given_back: BTreeSet<CallId> = given_back.collect();
    assert_eq!(given_back, BTreeSet::from([call.id, late.id]));
    assert_eq!(world.end(allocating), Some(End::Gone), "whoever still watches is told");
    assert!(!world.core.is_live(allocated) && !world.core.is_live(allocating));
    assert!([bound, early, others, agreed].into_iter().all(|id| world.core.is_live(id)));
    assert_eq!(world.core.usage().held, 1, "what is bound is held");
    // Whose pod is bound before its party has allocated goes on, and is held then.
    world.allocated("a", &call_of_early);
    world.step(Event::Bound(text("early")));
    assert_eq!(world.core.usage().held, 2);
    world.calls("a");
    // Another client may have the pod once all is given back.
    for call in given_back {
        world.step(Event::Deallocated(text("a"), call));
    }
    allocate(&mut world, "allocated", &other);
}

#[test]
fn what_a_remote_client_has_selected_gives_way_to_a_local_one_and_not_the_other_way_round() {
    let mut world = world(&["a"]);
    let mut agreed = |owner: &Owner| {
        let id = world.negotiate(Request { owner: owner.clone(), ..asked("p", "a") });
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
        Select { negotiation: id, nodes: nodes(0..1), optimistic: false, deadline: ms(0) }
    };
    let (far, near) = (agreed(&remote("core")), agreed(&local("core")));
    let (remote_id, local_id) = (far.negotiation, near.negotiation);
    let effects = world.core.select(far.clone(), &remote("core"), world.now).unwrap();
    world.act(effects);
    world.told(remote_id);
    let effects = world.core.select(near, &local("core"), world.now).unwrap();
    world.act(effects);
    assert_eq!(world.end(remote_id), Some(End::Superseded));
    assert!(!world.core.is_live(remote_id) && world.core.is_live(local_id));
    world.calls("a");
    let late = world.negotiate(Request { owner: remote("late"), ..asked("p", "a") });
    let ask = world.ask("a");
    world.answer(&ask, "a", []);
    let select = Select { negotiation: late, ..far };
    let refused = world.core.select(select, &remote("late"), world.now);
    assert_eq!(refused, Err(Refusal::SelectedElsewhere));
    assert!(world.core.is_live(local_id));
}
