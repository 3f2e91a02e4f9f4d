//! Explanations of parties' stances: who has said what of how many nodes, and since when.

use super::super::*;
use super::world::*;
use crate::limits::{EXPLAINED_REASONS, ROUND};
use OnSilence::{Ignore, Wait};

/// The stances about a pod, with the milliseconds since when.
fn stances(world: &World, pod: &str, seats: &[(Arc<str>, Subject)]) -> Vec<(String, Said, usize, Option<u128>)> {
    let age = |since: Instant| (world.now - since).as_millis();
    let stances = world.core.stances(pod, seats, world.now).into_iter();
    stances.map(|it| (it.party.to_string(), it.said, it.nodes, it.since.map(age))).collect()
}

fn refused(reason: &str) -> Said {
    Said::Refused(text(reason))
}

fn because(ask: &Ask, refused: &[(usize, &str)]) -> Answer {
    let unsuitable = |(at, reason): &(usize, &str)| Unsuitable { node: node(*at), claim: None, reason: text(reason) };
    Answer { id: Some(ask.id), nodes: refused.iter().map(unsuitable).collect(), ..Answer::default() }
}

#[test]
fn who_refuses_and_who_is_silent_is_told_with_the_time_of_each() {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..5));
    let a = world.ask("a");
    world.pass(ms(300));
    world.answer_with("a", Answer { partial: true, ..because(&a, &[(0, "full"), (1, "full")]) });
    world.pass(ms(200));
    let heard = vec![("a".to_owned(), refused("full"), 2, Some(200)), ("a".to_owned(), Said::Silent, 3, Some(500))];
    // What a refuses needs no answer of b.
    assert_eq!(stances(&world, "p", &[]), [heard, vec![("b".to_owned(), Said::Silent, 3, Some(500))]].concat());
    world.answer_with("a", because(&a, &[(2, "broken")]));
    world.pass(ms(100));
    let expected = [
        ("a".to_owned(), refused("full"), 2, Some(300)),
        ("a".to_owned(), refused("broken"), 1, Some(100)),
        ("a".to_owned(), Said::Accepted, 2, Some(100)),
        ("b".to_owned(), Said::Silent, 2, Some(600)),
    ];
    assert_eq!(stances(&world, "p", &[]), expected);
}

#[test]
fn an_answer_that_no_node_has_any_more_begins_anew() {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..2));
    let ask = world.ask("a");
    world.answer(&ask, "a", [0]);
    world.pass(ms(100));
    world.step(Event::Invalidated(text("a"), Invalidate { subject: None }));
    let ask = world.ask("a");
    assert_eq!(stances(&world, "p", &[])[0], ("a".to_owned(), Said::Silent, 2, Some(0)));
    world.pass(ms(100));
    world.answer(&ask, "a", [0]);
    world.pass(ms(50));
    assert_eq!(stances(&world, "p", &[])[0], ("a".to_owned(), refused("no"), 1, Some(50)));
}

#[test]
fn who_cannot_be_asked_is_told_with_the_reason() {
    let mut world = World::new(vec![party("a", Wait), party("b", Ignore)]);
    world.step(Event::Left { party: text("b"), session: 1 });
    world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..2));
    let ask = world.ask("a");
    world.pass(ms(10));
    let away = || ("b".to_owned(), Said::NotAsked("it does not attend"), 2, None);
    assert_eq!(stances(&world, "p", &[]), [("a".to_owned(), Said::Silent, 2, Some(10)), away()]);
    // The negotiation goes on without b, which has still said nothing.
    world.pass(ROUND);
    world.answer(&ask, "a", []);
    assert_eq!(stances(&world, "p", &[]), [("a".to_owned(), Said::Accepted, 2, Some(0)), away()]);
}

#[test]
fn who_allocates_is_told_with_the_time_of_the_call() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..2));
    let ask = world.ask("a");
    world.answer(&ask, "a", [1]);
    world.select(id, nodes([0]), false).unwrap();
    world.pass(ms(700));
    assert_eq!(stances(&world, "p", &[])[0], ("a".to_owned(), Said::Allocating, 1, Some(700)));
    let allocate = world.allocate("a");
    world.allocated("a", &allocate);
    assert_eq!(stances(&world, "p", &[])[0], ("a".to_owned(), Said::Allocated, 1, Some(700)));
}

#[test]
fn without_a_negotiation_what_is_kept_is_told_for_as_long_as_it_stands() {
    let mut world = World::new(vec![Party { scope: Scope::Template, ..party("a", Wait) }]);
    let seats = [(text("a"), Subject::Template(text("t")))];
    let nothing = [("a".to_owned(), Said::NotAsked(""), 0, None)];
    assert_eq!(stances(&world, "other", &seats), nothing);
    for _ in 0..2 {
        // Said again, it stands since it was said first; and it serves the second negotiation, which asks nothing.
        let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
        if let Some(ask) = world.calls("a").into_iter().find_map(|call| match call {
            Call::Ask(ask) => Some(ask),
            _ => None,
        }) {
            world.answer_with("a", Answer { valid: ms(1_000), ..answer(&ask, [0]) });
        }
        world.pass(ms(200));
        world.release(id);
    }
    let expected = [("a".to_owned(), refused("no"), 1, Some(400)), ("a".to_owned(), Said::Accepted, 2, Some(400))];
    assert_eq!(stances(&world, "other", &seats), expected);
    world.negotiate(request("p", vec![claim("c", "a")], 0..3));
    assert_eq!(
        stances(&world, "p", &[])[0],
        ("a".to_owned(), Said::Accepted, 2, Some(400)),
        "the node refused is no candidate"
    );
    world.pass(ms(600));
    assert_eq!(stances(&world, "other", &seats), nothing);
}

#[test]
fn further_reasons_are_told_together() {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..100));
    let ask = world.ask("a");
    let reasons: Vec<String> = (0..100).map(|at| format!("reason {at}")).collect();
    let said: Vec<(usize, &str)> = reasons.iter().enumerate().skip(1).map(|(at, reason)| (at, &**reason)).collect();
    world.answer_with("a", Answer { valid: ms(1_000), ..because(&ask, &said) });
    let subject = Subject::Pod(text("p"));
    for (pod, seats) in [("p", vec![]), ("q", vec![(text("a"), subject)])] {
        let told = stances(&world, pod, &seats);
        let of_a = told.iter().filter(|(party, ..)| party == "a");
        assert_eq!(of_a.clone().map(|(_, _, nodes, _)| nodes).sum::<usize>(), 100);
        assert_eq!(of_a.clone().count(), EXPLAINED_REASONS + 2);
        assert!(of_a.clone().any(|it| it.1 == Said::Accepted && it.2 == 1));
        assert!(of_a.clone().any(|it| it.1 == refused("other reasons") && it.2 == 99 - EXPLAINED_REASONS));
    }
}
