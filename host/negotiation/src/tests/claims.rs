//! R2, R3, R9, R11: who is asked, what is in progress, races.

use super::super::*;
use super::world::*;
use OnSilence::Wait;

#[test]
fn r2_one_question_per_party_with_all_its_delayed_claims_1_1_1_3_1_10_1_23() {
    let class = Party { concern: Concern::DeviceClass(text("k")), ..party("class", Wait) };
    let pods = Party { concern: Concern::Pods, ..party("pods", Wait) };
    let other = Party { concern: Concern::Pods, ..party("other", Wait) };
    let mut world = World::new(vec![party("a", Wait), party("b", Wait), class, pods, other]);
    let mut allocated = claim("c3", "b");
    allocated.state = ClaimState::Allocated;
    let mut classed = claim("c2", "a");
    classed.classes.push(text("k"));
    let mut asked = request("p", vec![claim("c1", "a"), classed, allocated], 0..3);
    asked.selected_by.push(text("pods"));
    world.negotiate(asked);
    let claims = |party: &str, world: &mut World| world.ask(party).claims;
    assert_eq!(claims("a", &mut world), [text("c1"), text("c2")]);
    assert_eq!(claims("class", &mut world), [text("c2")]);
    assert_eq!(claims("pods", &mut world), []);
    assert_eq!((world.calls("b"), world.calls("other")), (vec![], vec![]));
}

#[test]
fn r2_a_pod_without_parties_may_go_where_predicates_allow_it_1_5_1_6() {
    let mut world = World::new(vec![party("a", Wait)]);
    let mut bound = claim("c", "a");
    bound.state = ClaimState::Allocated;
    let id = world.negotiate(request("p", vec![bound], 0..3));
    assert_eq!(world.viable(id), Some(nodes(0..3)));
}

#[test]
fn r3_what_is_in_progress_is_not_negotiated_1_2_1_7() {
    let state = |state| Claim { state, ..claim("c", "a") };
    for claim in [state(ClaimState::InFlight), state(ClaimState::Deallocating)] {
        let mut world = World::new(vec![party("a", Wait)]);
        let id = world.negotiate(request("p", vec![claim], 0..3));
        assert_eq!(world.end(id), Some(End::InProgress(text("c"))));
        assert_eq!(world.calls("a"), []);
        assert_eq!(world.core.usage().negotiations, 0);
    }
}

#[test]
fn n9_a_party_sees_what_others_allocate_for_the_pod_and_its_reasons_name_claims() {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    let there = Claim { state: ClaimState::Allocated, ..claim("c4", "a") };
    let claims = vec![claim("c1", "a"), claim("c2", "a"), claim("c3", "b"), there];
    let id = world.negotiate(request("p", claims, 0..2));
    let (a, b) = (world.ask("a"), world.ask("b"));
    let other = |claim: &str, is_allocated, parties: &[&str]| OtherClaim {
        claim: text(claim),
        is_allocated,
        parties: parties.iter().map(|party| text(party)).collect(),
    };
    assert_eq!(a.others, [other("c3", false, &["b"]), other("c4", true, &[])]);
    assert_eq!(b.others, [other("c1", false, &["a"]), other("c2", false, &["a"]), other("c4", true, &[])]);
    let unsuitable = |node_number, claim: Option<&str>, reason: &str| Unsuitable {
        node: node(node_number),
        claim: claim.map(text),
        reason: text(reason),
    };
    let said = [("c1", "full"), ("c2", "broken")].map(|(claim, reason)| unsuitable(0, Some(claim), reason));
    let said = said.into_iter().chain([unsuitable(1, None, "far")]).collect();
    world.answer_with("a", Answer { id: Some(a.id), nodes: said, valid: ms(1_000), ..Answer::default() });
    world.answer(&b, "b", []);
    let reasons = world.column.values().filter_map(|said| match said {
        Suitability::Unsuitable(reason) => Some(reason.to_string()),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["claim name-of-c1: full; claim name-of-c2: broken", "far"]);
    assert_eq!(world.viable(id), None);
}

#[test]
fn r9_the_first_negotiation_of_a_pod_wins_unless_a_token_supersedes_it_1_12() {
    let mut world = World::new(vec![party("a", Wait)]);
    let mut asked = request("p", vec![claim("c", "a")], 0..3);
    let first = world.negotiate(asked.clone());
    let ask = world.ask("a");
    for token in [None, Some(NegotiationId(first.0 + 1))] {
        asked.supersedes = token;
        assert_eq!(world.core.negotiate(asked.clone(), world.now).unwrap_err(), Refusal::AlreadyExists(first));
    }
    asked.supersedes = Some(first);
    let second = world.negotiate(asked);
    assert_eq!(world.end(first), Some(End::Superseded));
    let calls = world.calls("a");
    assert!(matches!(&calls[..], [Call::Withdraw(id), Call::Ask(_)] if *id == ask.id), "{calls:?}");
    // The answer to what was withdrawn may have been on its way.
    world.answer(&ask, "a", [0]);
    assert_eq!((world.viable(second), world.defects()), (None, vec![]));
}

/// Two pods share a claim; the first is selected, on node 1.
fn race(is_agreed: bool) -> (World, NegotiationId, NegotiationId) {
    let mut world = World::new(vec![party("a", Wait)]);
    let winner = world.negotiate(request("p1", vec![claim("c", "a")], 0..3));
    let ask = world.ask("a");
    world.answer(&ask, "a", []);
    let loser = world.negotiate(request("p2", vec![claim("c", "a")], 0..3));
    let ask = world.ask("a");
    if is_agreed {
        world.answer(&ask, "a", []);
        assert_eq!(world.viable(loser), Some(nodes(0..3)));
    }
    world.select(winner, nodes([1]), false).unwrap();
    (world, winner, loser)
}

#[test]
fn r11_the_loser_of_a_race_waits_and_sees_the_selector_of_the_claim_1_16_1_27() {
    let (mut world, winner, loser) = race(false);
    let allocate = world.allocate("a");
    world.pass(ms(5_000));
    world.allocated("a", &allocate);
    assert!(world.told(winner).contains(&Progress::Allocated(node(1))));
    assert_eq!(world.end(loser), None);
    world.rejected = nodes([0, 2]).into_iter().collect();
    world.claim("c", Some(ClaimState::Allocated));
    assert_eq!(world.viable(loser), Some(nodes([1])));
    world.step(Event::Bound(text("p1")));
    assert_eq!(world.core.usage().negotiations, 1);
}

#[test]
fn r11_a_selection_that_loses_the_race_waits_and_shares_1_16() {
    let (mut world, winner, loser) = race(true);
    let allocate = world.allocate("a");
    world.select(loser, nodes([0, 1]), false).unwrap();
    assert_eq!(world.told(loser), []);
    world.allocated("a", &allocate);
    world.rejected = nodes([0, 2]).into_iter().collect();
    world.claim("c", Some(ClaimState::Allocated));
    let told = world.told(loser);
    assert_eq!(told[1..], [Progress::Selected(node(1)), Progress::Allocated(node(1))], "{told:?}");
    // What both use is not given back for one of them.
    world.release(winner);
    assert_eq!(world.calls("a"), []);
}

#[test]
fn r11_the_loser_of_a_race_negotiates_on_where_the_winner_fails_1_16() {
    let (mut world, winner, loser) = race(false);
    let allocate = world.allocate("a");
    world.fail("a", &allocate);
    assert!(matches!(world.told(winner).last(), Some(Progress::Failed(_))));
    let ask = world.ask("a");
    // What was said of the winner's pod is not about this one.
    assert_eq!(ask.nodes, nodes(0..3));
    world.answer(&ask, "a", [0]);
    assert_eq!(world.viable(loser), Some(nodes([1, 2])));
}

#[test]
fn r11_a_loser_whose_time_is_over_is_told_of_the_claim_1_7() {
    let (mut world, _, loser) = race(false);
    world.pass(ms(30_000));
    assert_eq!(world.end(loser), Some(End::InProgress(text("c"))));
}

#[test]
fn a_deleted_claim_or_pod_is_gone_and_a_new_one_is_another_1_20() {
    for is_pod in [false, true] {
        let mut world = World::new(vec![party("a", Wait)]);
        let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
        if is_pod {
            world.step(Event::PodGone(text("p")));
        } else {
            world.claim("c", None);
        }
        assert_eq!(world.end(id), Some(End::Gone));
        let again = world.negotiate(request("p", vec![claim("c'", "a")], 0..3));
        assert_eq!(world.end(again), None);
    }
}
