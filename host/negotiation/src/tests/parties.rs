//! R12, R13: answers that are kept, parties that come and go, limits.

use super::super::*;
use super::world::*;
use crate::limits::{BACKOFF_FIRST, NEGOTIATIONS, QUARANTINE, ROUND, VALID_MOST};
use OnSilence::{Ignore, Wait};

fn scoped(scope: Scope) -> World {
    World::new(vec![Party { scope, ..party("a", Wait) }])
}

#[test]
fn r12_an_answer_serves_others_with_the_same_subject() {
    for (scope, pod, template, uid, is_shared) in [
        (Scope::Pod, "p2", "t", "c", false),
        (Scope::Template, "p2", "t", "c2", true),
        (Scope::Template, "p2", "t2", "c", false),
        (Scope::Claims, "p2", "t2", "c", true),
        (Scope::Claims, "p2", "t", "c2", false),
    ] {
        let mut world = scoped(scope);
        let id = world.negotiate(request("p1", vec![claim("c", "a")], 0..3));
        let ask = world.ask("a");
        world.answer_with("a", Answer { valid: ms(1_000), ..answer(&ask, [0]) });
        assert_eq!(world.viable(id), Some(nodes([1, 2])));
        let mut other = request(pod, vec![claim(uid, "a")], [1, 2]);
        other.pod.template = text(template);
        let id = world.negotiate(other);
        assert_eq!(world.viable(id).is_some(), is_shared, "{scope:?} {pod} {template} {uid}");
        assert_eq!(world.calls("a").is_empty(), is_shared);
    }
}

#[test]
fn r12_answers_are_kept_as_long_as_they_are_valid_and_30_s_at_most() {
    for (valid, kept) in [(ms(500), ms(500)), (ms(60_000), VALID_MOST)] {
        let mut world = scoped(Scope::Template);
        world.negotiate(request("p", vec![claim("c", "a")], 0..3));
        let ask = world.ask("a");
        world.answer_with("a", Answer { valid, ..answer(&ask, [0]) });
        world.pass(kept - ms(1));
        assert_eq!(world.column.len(), 3);
        world.pass(ms(1));
        assert_eq!((world.column.len(), world.core.usage().kept_nodes), (0, 0));
    }
}

#[test]
fn r12_invalidated_answers_are_unknown_and_asked_for_again() {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3));
    let (ask, b) = (world.ask("a"), world.ask("b"));
    world.answer_with("a", Answer { valid: ms(1_000), ..answer(&ask, [0]) });
    assert_eq!(world.column.len(), 3);
    world.step(Event::Invalidated(text("a"), Invalidate { subject: None }));
    assert_eq!(world.column.len(), 0);
    let ask = world.ask("a");
    world.answer(&b, "b", []);
    assert_eq!(world.viable(id), None);
    world.answer(&ask, "a", [1]);
    assert_eq!(world.viable(id), Some(nodes([0, 2])));
}

#[test]
fn r12_where_nothing_else_is_left_what_was_unsuitable_is_asked_about_again_once() {
    for (unsuitable, expected) in [(0..3, End::Exhausted), (0..2, End::Viable)] {
        let mut world = scoped(Scope::Template);
        world.negotiate(request("p1", vec![claim("c1", "a")], 0..3));
        let ask = world.ask("a");
        world.answer_with("a", Answer { valid: ms(10_000), ..answer(&ask, 0..3) });
        let id = world.negotiate(request("p2", vec![claim("c2", "a")], 0..3));
        let ask = world.ask("a");
        assert_eq!((&ask.nodes, &ask.recheck), (&nodes([]), &nodes(0..3)));
        world.answer_with("a", Answer { valid: ms(10_000), ..answer(&ask, unsuitable) });
        assert_eq!(world.end(id), Some(expected));
    }
}

#[test]
fn r12_what_was_invalidated_while_candidates_were_evaluated_is_evaluated_again() {
    let mut world = scoped(Scope::Template);
    world.negotiate(request("p1", vec![claim("c1", "a")], 0..3));
    let ask = world.ask("a");
    world.answer_with("a", Answer { valid: ms(10_000), ..answer(&ask, 0..3) });
    let (id, effects) = world.core.negotiate(request("p2", vec![claim("c2", "a")], 0..3), world.now).unwrap();
    let [Effect::Evaluate(asked)] = &effects[..] else { panic!("{effects:?}") };
    let evaluated = world.evaluate(asked);
    assert_eq!(evaluated.nodes, nodes([]));
    world.step(Event::Invalidated(text("a"), Invalidate { subject: None }));
    world.step(Event::Evaluated(evaluated));
    let ask = world.ask("a");
    assert_eq!((&ask.nodes, &ask.recheck), (&nodes(0..3), &nodes([])));
    world.answer_with("a", answer(&ask, 0..2));
    assert_eq!(world.viable(id), Some(nodes([2])));
}

#[test]
fn r12_what_was_invalidated_while_others_were_asked_about_is_evaluated_again_once() {
    let mut world = scoped(Scope::Template);
    world.negotiate(request("p1", vec![claim("c1", "a")], 0..2));
    let ask = world.ask("a");
    world.answer_with("a", Answer { valid: ms(10_000), ..answer(&ask, 0..2) });
    let id = world.negotiate(request("p2", vec![claim("c2", "a")], 0..3));
    assert_eq!(world.ask("a").nodes, nodes([2]));
    world.step(Event::Invalidated(text("a"), Invalidate { subject: None }));
    world.step(Event::Left { party: text("a"), session: 1 });
    world.attend("a", 2);
    world.pass(BACKOFF_FIRST);
    let ask = world.ask("a");
    assert_eq!(ask.nodes, nodes([2]));
    world.answer_with("a", answer(&ask, [2]));
    let ask = world.ask("a");
    assert_eq!((&ask.nodes, &ask.recheck), (&nodes(0..2), &nodes([2])));
    world.answer_with("a", answer(&ask, 0..3));
    assert_eq!(world.end(id), Some(End::Exhausted));
}

#[test]
fn r13_a_party_that_comes_back_is_asked_again_after_a_rest() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
    world.ask("a");
    world.step(Event::Left { party: text("a"), session: 1 });
    world.attend("a", 2);
    assert_eq!(world.calls("a"), []);
    world.pass(BACKOFF_FIRST);
    let ask = world.ask("a");
    world.answer(&ask, "a", []);
    assert_eq!(world.viable(id), Some(nodes(0..3)));
}

#[test]
fn r13_a_party_in_quarantine_is_not_asked_and_not_waited_for_where_it_may_be_ignored() {
    let mut world = World::new(vec![party("a", Ignore)]);
    for pod in 0..5 {
        let id = world.negotiate(request(&format!("p{pod}"), vec![claim(&format!("c{pod}"), "a")], 0..3));
        world.pass(ROUND + ms(2_000));
        assert_eq!(world.viable(id), Some(nodes(0..3)));
    }
    assert!(world.defects().contains(&Defect::Quarantined));
    world.calls("a");
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
    assert_eq!((world.viable(id), world.calls("a")), (Some(nodes(0..3)), vec![]));
    world.pass(QUARANTINE);
    world.negotiate(request("p'", vec![claim("c'", "a")], 0..3));
    world.ask("a");
}

#[test]
fn r13_sixteen_parties_and_so_many_negotiations_1_26() {
    let parties = |count: usize| (0..count).map(|number| party(&format!("{number}"), Wait)).collect::<Vec<_>>();
    let mut world = World::new(parties(16));
    assert_eq!(world.core.set_parties(parties(17), world.now), Err(Refusal::OutOfRange("parties")));
    // Of two clients, since no single one gets them all.
    for pod in 0..NEGOTIATIONS {
        let asked = request(&format!("p{pod}"), vec![claim(&format!("c{pod}"), "1")], 0..1);
        world.negotiate(Request { owner: local(if pod % 2 == 0 { "a" } else { "b" }), ..asked });
    }
    let more = Request { owner: local("c"), ..request("p", vec![claim("c", "1")], 0..1) };
    assert!(matches!(world.core.negotiate(more, world.now), Err(Refusal::Full(_))));
    assert_eq!(world.core.usage().calls, NEGOTIATIONS);
}

#[test]
fn parties_of_a_new_policy_decide_about_what_is_not_selected() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
    let ask = world.ask("a");
    let class = Party { concern: Concern::Driver(text("a")), ..party("b", Wait) };
    let mut effects = world.core.set_parties(vec![class], world.now).unwrap();
    assert!(effects.contains(&Effect::Call(text("a"), Call::Withdraw(ask.id))));
    let Some(Effect::Evaluate(asked)) = effects.pop() else { panic!("expected candidates: {effects:?}") };
    let evaluated = world.evaluate(&asked);
    world.step(Event::Evaluated(evaluated));
    world.attend("b", 1);
    let ask = world.ask("b");
    world.answer(&ask, "b", [0]);
    assert_eq!(world.viable(id), Some(nodes([1, 2])));
}

#[test]
fn a_restart_in_each_phase_knows_nothing_and_answers_to_before_hit_nothing() {
    for phase in 0..4 {
        let mut world = World::new(vec![party("a", Wait)]);
        let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
        let ask = world.ask("a");
        if phase > 0 {
            world.answer(&ask, "a", []);
        }
        let mut allocate = None;
        if phase > 1 {
            world.select(id, nodes([1]), false).unwrap();
            allocate = Some(world.allocate("a"));
        }
        if phase > 2 {
            world.allocated("a", allocate.as_ref().unwrap());
        }
        let mut after = World::new(Vec::new());
        after.core = Negotiations::new(2);
        after.core.set_parties(vec![party("a", Wait)], after.now).unwrap();
        after.attend("a", 1);
        assert_eq!(after.select(id, nodes([1]), false), Err(Refusal::Unknown(id)));
        let again = after.negotiate(request("p", vec![claim("c", "a")], 0..3));
        let new_ask = after.ask("a");
        after.answer(&ask, "a", 0..3);
        if let Some(allocate) = &allocate {
            after.allocated("a", allocate);
            after.step(Event::Deallocated(text("a"), allocate.id));
        }
        assert_eq!((after.told(again).len(), after.defects()), (1, vec![]), "phase {phase}");
        after.answer(&new_ask, "a", [0]);
        assert_eq!(after.viable(again), Some(nodes([1, 2])));
    }
}

#[test]
fn what_a_party_has_said_that_left_or_was_displaced_counts_no_more() {
    for is_displaced in [false, true] {
        let mut world = World::new(vec![party("a", Wait)]);
        // A stranger agrees to everything, for as long as it may.
        let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
        let ask = world.ask("a");
        world.answer_with("a", Answer { valid: VALID_MOST, ..answer(&ask, []) });
        assert_eq!(world.viable(id), Some(nodes(0..3)));
        if is_displaced {
            world.attend("a", 2);
        } else {
            world.step(Event::Left { party: text("a"), session: 1 });
            world.attend("a", 2);
        }
        assert_eq!(world.core.usage().kept_nodes, 0);
        // The true party is asked before anything is assumed.
        world.select(id, nodes(0..3), false).unwrap();
        assert!(!world.effects.iter().any(|effect| matches!(effect, Effect::Assume { .. })));
        let ask = world.ask("a");
        world.answer(&ask, "a", 0..3);
        assert!(matches!(world.told(id)[..], [.., Progress::Failed(_)]));
    }
}
