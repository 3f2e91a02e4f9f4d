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

    // A volume that is bound once the node is known counts, too.
    let mut world = World::new(vec![party("a", Wait)]);
    let mut asked = request("p", vec![claim("c", "a")], 0..3);
    asked.pod.pending_volumes = 1;
    let id = world.negotiate(asked);
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
    let bound = |id, claim| [Call::Bound(Bound { id, pod: text("p"), claims: vec![text(claim)] })];
    assert_eq!((&world.calls("a")[..], &world.calls("b")[..]), (&bound(a.id, "c1")[..], &bound(b.id, "c2")[..]));
}

#[test]
fn n3_what_is_bound_is_given_back_once_the_pod_has_ended_and_nobody_else_uses_it() {
    let pods = Party { concern: Concern::Pods, ..party("b", Wait) };
    let mut world = World::new(vec![party("a", Wait), pods]);
    let mut asked = request("p", vec![claim("c", "a")], 0..3);
    asked.selected_by.push(text("b"));
    let id = world.negotiate(asked);
    for party in ["a", "b"] {
        let ask = world.ask(party);
        world.answer(&ask, party, []);
    }
    world.select(id, nodes([1]), false).unwrap();
    let (a, b) = (world.allocate("a"), world.allocate("b"));
    let both = |stage, gives_back| Some((stage, vec![(a.id, gives_back), (b.id, gives_back)]));
    assert_eq!(world.decision("p"), both(Stage::Allocating, false));
    world.allocated("a", &a);
    world.allocated("b", &b);
    assert_eq!(world.decision("p"), both(Stage::Allocated, false));
    world.step(Event::Bound(text("p")));
    world.claim("c", Some(ClaimState::Allocated));
    assert_eq!((world.decision("p"), world.core.usage().held), (both(Stage::Bound, false), 2));
    // What is bound is not released, and is told again to whoever attends.
    assert_eq!(world.core.usage().negotiations, 0);
    assert!(matches!(world.calls("b")[..], [Call::Bound(ref bound)] if bound.id == b.id));
    world.attend("b", 2);
    assert!(matches!(world.calls("b")[..], [Call::Bound(ref bound)] if bound.id == b.id));
    world.calls("a");
    // Another pod uses the claim.
    world.step(Event::Ended { pod: text("p"), shared: vec![text("c")] });
    assert_eq!(
        (world.calls("a"), world.calls("b")),
        (vec![], vec![Call::Deallocate(Deallocate { id: b.id, claims: vec![] })])
    );
    assert_eq!(world.decision("p"), Some((Stage::Bound, vec![(a.id, false), (b.id, true)])));
    world.step(Event::Deallocated(text("b"), b.id));
    world.step(Event::Ended { pod: text("p"), shared: Vec::new() });
    assert_eq!(world.calls("a"), [Call::Deallocate(Deallocate { id: a.id, claims: vec![text("c")] })]);
    assert_eq!(world.decision("p"), Some((Stage::Deallocating, vec![(a.id, true)])));
    let early = world.negotiate(request("q", vec![claim("c", "a")], 0..3));
    assert_eq!(world.end(early), Some(End::InProgress(text("c"))), "it is being given back");
    world.step(Event::Deallocated(text("a"), a.id));
    let usage = world.core.usage();
    assert_eq!((world.decision("p"), usage.held, usage.deallocations), (None, 0, 0));
}

#[test]
fn n3_another_process_goes_on_from_what_was_decided() {
    for (is_bound, is_given_back) in [(false, true), (true, false)] {
        let (mut world, id) = agreed();
        world.select(id, nodes([1]), false).unwrap();
        let (a, b) = (world.allocate("a"), world.allocate("b"));
        world.allocated("a", &a);
        if is_bound {
            world.allocated("b", &b);
            world.step(Event::Bound(text("p")));
        }
        let decisions: Vec<Decision> = world.decided.values().cloned().collect();
        let mut after = World::new(Vec::new());
        after.core = Negotiations::new(2);
        after.core.set_parties(vec![party("a", Wait), party("b", Wait)], after.now).unwrap();
        let effects = after.core.restore(decisions, after.now);
        after.act(effects);
        for party in ["a", "b"] {
            after.attend(party, 1);
        }
        after.pass(ms(0));
        for (party, call) in [("a", a.id), ("b", b.id)] {
            match &after.calls(party)[..] {
                [Call::Deallocate(deallocate)] if is_given_back => assert_eq!(deallocate.id, call),
                [Call::Bound(bound)] if !is_given_back => assert_eq!(bound.id, call),
                calls => panic!("{party}, bound {is_bound}: {calls:?}"),
            }
        }
        if is_bound {
            assert_eq!(after.decision("p"), world.decision("p"));
            after.step(Event::Ended { pod: text("p"), shared: Vec::new() });
        }
        after.step(Event::Deallocated(text("a"), a.id));
        after.step(Event::Deallocated(text("b"), b.id));
        assert_eq!((after.decision("p"), after.core.usage().deallocations), (None, 0));
    }
}

#[test]
fn n7_who_is_ignored_is_not_waited_for() {
    for (attends, has_answered) in [(false, false), (true, false), (true, true)] {
        let mut world = World::new(vec![party("a", Wait), party("b", OnSilence::Ignore)]);
        if !attends {
            world.step(Event::Left { party: text("b"), session: 1 });
        }
        let id = world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3));
        let a = world.ask("a");
        world.answer(&a, "a", []);
        if has_answered {
            let b = world.ask("b");
            world.answer(&b, "b", []);
        }
        world.pass(ms(2_000));
        assert_eq!(world.viable(id), Some(nodes(0..3)), "{attends} {has_answered}");
        world.calls("b");
        world.select(id, nodes([1]), false).unwrap();
        let a = world.allocate("a");
        world.allocated("a", &a);
        if has_answered {
            let b = world.allocate("b");
            world.allocated("b", &b);
        }
        assert!(world.told(id).contains(&Progress::Allocated(node(1))), "{attends} {has_answered}");
        assert_eq!(world.calls("b"), []);
        // Nobody allocates its claim, and the negotiation does not wait for that either.
        world.step(Event::Bound(text("p")));
        world.claim("c1", Some(ClaimState::Allocated));
        assert_eq!(world.core.usage().negotiations, usize::from(has_answered), "{attends} {has_answered}");
    }
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
    // Nobody confirms: after a minute the claims are what the cluster says, and whoever attends again is still told.
    let again = request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3);
    world.pass(ms(59_999));
    let early = world.negotiate(again.clone());
    assert!(matches!(world.end(early), Some(End::InProgress(_))));
    world.pass(ms(1));
    let late = world.negotiate(again);
    assert_eq!(world.end(late), None);
    assert_eq!(world.core.usage().deallocations, 2);
    world.calls("b");
    world.attend("b", 2);
    world.pass(ms(0));
    assert!(world.calls("b").iter().any(|call| matches!(call, Call::Deallocate(call) if call.id == b.id)));
    world.step(Event::Deallocated(text("b"), b.id));
    assert_eq!(world.core.usage().deallocations, 1);
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
