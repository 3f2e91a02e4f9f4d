//! R7, R8, R10: selections, allocations, what is undone.

use super::super::*;
use super::world::*;
use OnSilence::Wait;

/// Two parties agree on nodes 0 to 2.
fn agreed() -> (World, NegotiationId) {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3));
    let (a, b) = (world.ask("a"), world.ask("b"));
    world.answer(&a, "a", []);
    world.answer(&b, "b", []);
    assert_eq!(world.viable(id), Some(nodes(0..3)));
    (world, id)
}

#[test]
fn r7_one_delayed_claim_may_be_selected_before_answers_and_more_never_1_21() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
    assert_eq!(world.select(id, nodes([2]), false), Err(Refusal::NotViable(node(2))));
    let ask = world.ask("a");
    world.select(id, nodes([2]), true).unwrap();
    assert!(world.effects.contains(&Effect::Call(text("a"), Call::Withdraw(ask.id))));
    assert_eq!(world.allocate("a").nodes, nodes([2]));

    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "a")], 0..3));
    assert_eq!(world.select(id, nodes([2]), true), Err(Refusal::NotOptimistic(2)));
}

#[test]
fn r7_a_claim_given_back_after_the_selection_makes_it_wait_for_answers_1_21() {
    let mut world = World::new(vec![party("a", Wait)]);
    let other = Claim { state: ClaimState::Allocated, ..claim("c2", "a") };
    let id = world.negotiate(request("p", vec![claim("c1", "a"), other], 0..3));
    let ask = world.ask("a");
    world.answer(&ask, "a", []);
    assert_eq!(world.viable(id), Some(nodes(0..3)));
    world.claim("c2", Some(ClaimState::Unallocated));
    world.select(id, nodes([2]), true).unwrap();
    let ask = world.ask("a");
    assert_eq!(ask.claims.len(), 2);
    world.answer(&ask, "a", []);
    assert_eq!(world.allocate("a").nodes, nodes([2]));
}

#[test]
fn r8_allocated_only_when_each_has_finished_1_14_1_17_1_25() {
    let (mut world, id) = agreed();
    assert_eq!(world.select(id, nodes([7]), false), Err(Refusal::NotViable(node(7))));
    world.select(id, nodes([1, 0]), false).unwrap();
    assert!(
        matches!(&world.effects[..], [Effect::Assume { node: of, claims, .. }, ..] if *of == node(1) && claims.len() == 2)
    );
    assert_eq!(world.told(id), [Progress::Selected(node(1))]);
    let (a, b) = (world.allocate("a"), world.allocate("b"));
    assert_eq!(a.nodes, nodes([1, 0]));
    world.allocated("a", &a);
    assert_eq!(world.told(id), []);
    world.allocated("b", &b);
    assert_eq!(world.told(id), [Progress::Allocated(node(1))]);
    // It is kept until the cluster shows it all.
    world.step(Event::Bound(text("p")));
    world.claim("c1", Some(ClaimState::Allocated));
    assert_eq!(world.core.usage().negotiations, 1);
    world.claim("c2", Some(ClaimState::Allocated));
    assert_eq!(world.core.usage().negotiations, 0);
    assert_eq!((world.calls("a"), world.calls("b")), (vec![], vec![]));
}

#[test]
fn r8_the_pod_moves_to_the_node_that_the_parties_have_in_common_1_14() {
    let (mut world, id) = agreed();
    world.select(id, nodes([1, 0, 2]), false).unwrap();
    let (a, b) = (world.allocate("a"), world.allocate("b"));
    let said =
        |allocate: &Allocate, on| PartyAllocated { id: allocate.id, claims: allocate.claims.clone(), nodes: nodes(on) };
    world.step(Event::Allocated(text("a"), said(&a, [0, 1])));
    world.step(Event::Allocated(text("b"), said(&b, [2, 0])));
    assert_eq!(world.told(id), [Progress::Selected(node(1)), Progress::Allocated(node(0))]);
}

#[test]
fn r8_claims_in_flight_are_in_progress_for_others() {
    let (mut world, id) = agreed();
    world.select(id, nodes([1]), false).unwrap();
    let other = world.negotiate(request("p2", vec![claim("c1", "a")], 0..3));
    assert_eq!(world.end(other), Some(End::InProgress(text("c1"))));
    assert_eq!(world.select(id, nodes([1]), false), Err(Refusal::Selected(id)));
}

#[test]
fn r8_a_pod_that_cannot_be_assumed_tells_no_party() {
    let (mut world, id) = agreed();
    world.assumes = false;
    world.select(id, nodes([1, 2]), false).unwrap();
    let failure = Failure { party: None, claim: None, reason: text("Insufficient cpu") };
    assert_eq!(world.told(id), [Progress::Failed(failure)]);
    assert_eq!((world.calls("a"), world.calls("b")), (vec![], vec![]));
    assert!(!world.effects.iter().any(|effect| matches!(effect, Effect::Forget { .. })));
}

#[test]
fn r10_a_failure_is_undone_withdrawn_first_and_in_progress_until_confirmed_1_22_1_28() {
    let (mut world, id) = agreed();
    world.select(id, nodes([1]), false).unwrap();
    let (a, b) = (world.allocate("a"), world.allocate("b"));
    world.fail("a", &a);
    assert!(matches!(&world.told(id)[..], [.., Progress::Failed(failure)] if failure.party == Some(text("a"))));
    assert!(world.effects.contains(&Effect::Forget { pod: text("p") }));
    // The party that failed has nothing; the other may have everything by now.
    assert_eq!(world.calls("a"), [Call::Withdraw(a.id)]);
    let deallocate = Deallocate { id: b.id, claims: vec![text("c2")] };
    assert_eq!(world.calls("b"), [Call::Withdraw(b.id), Call::Deallocate(deallocate.clone())]);
    assert_eq!(world.column.keys().map(|(_, _, node)| node.clone()).collect::<Vec<_>>(), nodes([1]));

    let again = request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3);
    let early = world.negotiate(again.clone());
    assert_eq!(world.end(early), Some(End::InProgress(text("c2"))));
    // A new stream is told again; the party confirms.
    world.attend("b", 2);
    assert_eq!(world.calls("b"), [Call::Deallocate(deallocate)]);
    world.step(Event::Deallocated(text("b"), b.id));
    world.negotiate(again);
    let ask = world.ask("a");
    assert_eq!((ask.nodes, ask.recheck), (nodes([0, 2]), nodes([1])));
}

#[test]
fn r10_what_others_use_is_not_deallocated_1_22() {
    let (mut world, id) = agreed();
    world.select(id, nodes([1]), false).unwrap();
    let (_, b) = (world.allocate("a"), world.allocate("b"));
    world.step(Event::Claim { uid: text("c1"), state: Some(ClaimState::Allocated), shared: true });
    world.fail("b", &b);
    assert!(matches!(world.calls("a")[..], [Call::Withdraw(_)]));
}

#[test]
fn r10_a_change_of_the_node_never_reallocates_by_itself_1_22() {
    let (mut world, id) = agreed();
    world.select(id, nodes([1]), false).unwrap();
    let (a, b) = (world.allocate("a"), world.allocate("b"));
    world.step(Event::Bound(text("p")));
    assert_eq!((world.calls("a"), world.calls("b")), (vec![], vec![]));
    world.allocated("a", &a);
    world.allocated("b", &b);
    assert!(world.told(id).contains(&Progress::Allocated(node(1))));
}

#[test]
fn r10_an_allocation_that_takes_too_long_names_who_did_not_finish() {
    let (mut world, id) = agreed();
    world.select(id, nodes([1]), false).unwrap();
    let (a, b) = (world.allocate("a"), world.allocate("b"));
    world.allocated("a", &a);
    world.pass(ms(30_000));
    assert_eq!(world.end(id), Some(End::TimedOut(vec![text("b")])));
    assert!(matches!(world.calls("a")[..], [Call::Deallocate(_)]));
    assert!(matches!(world.calls("b")[..], [Call::Withdraw(id), Call::Deallocate(_)] if id == b.id));
    // Nobody confirms: after a minute the claims are what the cluster says.
    world.pass(ms(60_000));
    assert_eq!(world.core.usage().deallocations, 0);
}

#[test]
fn r10_a_release_gives_back_and_a_claim_that_is_taken_away_ends_the_selection_1_22() {
    for is_taken in [false, true] {
        let (mut world, id) = agreed();
        world.select(id, nodes([1]), false).unwrap();
        world.told(id);
        let (a, _) = (world.allocate("a"), world.allocate("b"));
        world.allocated("a", &a);
        let expected = if is_taken {
            world.claim("c1", Some(ClaimState::Deallocating));
            End::InProgress(text("c1"))
        } else {
            world.release(id);
            End::Gone
        };
        assert_eq!(world.told(id), [Progress::Ended(expected)]);
        assert!(matches!(world.calls("a")[..], [Call::Deallocate(_)]));
    }
}
