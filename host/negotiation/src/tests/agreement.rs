//! R1, R4, R5, R6: candidates, rounds, answers.

use super::super::*;
use super::world::*;
use crate::limits::{CANDIDATES, DEADLINE, ROUND};
use OnSilence::{Ignore, Reject, Wait};

fn two() -> (World, NegotiationId) {
    let mut world = World::new(vec![party("a", Wait), party("b", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..300));
    (world, id)
}

#[test]
fn r1_candidates_are_128_feasible_nodes_in_the_order_of_the_core_1_4_1_9_1_19() {
    let mut world = World::new(vec![party("a", Wait)]);
    world.rejected = nodes((0..500).filter(|number| number % 2 == 0)).into_iter().collect();
    let id = world.negotiate(request("p", vec![claim("c", "a")], (0..500).rev()));
    let ask = world.ask("a");
    let expected: Vec<Node> = nodes((0..500).rev().filter(|number| number % 2 == 1).take(CANDIDATES));
    assert_eq!(ask.nodes, expected);
    world.answer(&ask, "a", []);
    assert_eq!(world.viable(id), Some(expected));
}

#[test]
fn r1_candidates_are_bounded_by_256_1_9_1_26() {
    let mut world = World::new(vec![party("a", Wait)]);
    let mut asked = request("p", vec![claim("c", "a")], 0..500);
    asked.candidates = 257;
    assert_eq!(world.core.negotiate(asked.clone(), world.now).unwrap_err(), Refusal::OutOfRange("candidates"));
    asked.candidates = 256;
    world.negotiate(asked);
    assert_eq!(world.ask("a").nodes.len(), 256);
}

#[test]
fn r4_a_round_waits_for_all_answers_and_an_empty_one_counts_1_13() {
    let (mut world, id) = two();
    let (a, b) = (world.ask("a"), world.ask("b"));
    world.answer(&a, "a", [0, 2]);
    assert_eq!(world.viable(id), None);
    world.answer(&b, "b", []);
    assert_eq!(world.viable(id), Some(nodes((0..CANDIDATES).filter(|number| ![0, 2].contains(number)))));
}

#[test]
fn r4_the_end_of_the_time_names_who_was_silent_1_13() {
    let (mut world, id) = two();
    let a = world.ask("a");
    world.answer(&a, "a", []);
    world.pass(DEADLINE - ms(1));
    assert_eq!(world.end(id), None);
    world.pass(ms(1));
    assert_eq!(world.end(id), Some(End::TimedOut(vec![text("b")])));
    assert_eq!(world.core.usage().negotiations, 0);
}

#[test]
fn r4_a_late_answer_to_an_earlier_round_counts() {
    let (mut world, id) = two();
    let (a, b) = (world.ask("a"), world.ask("b"));
    world.answer(&a, "a", []);
    world.pass(ROUND * 2);
    world.answer(&b, "b", [0]);
    assert_eq!(world.viable(id), Some(nodes(1..CANDIDATES)));
}

#[test]
fn r4_silence_rejects_or_is_ignored_where_the_policy_says_so() {
    for (on_silence, is_viable) in [(Reject, false), (Ignore, true)] {
        let mut world = World::new(vec![party("a", Wait), party("b", on_silence)]);
        let id = world.negotiate(request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3));
        let ask = world.ask("a");
        world.answer(&ask, "a", [1]);
        world.pass(ROUND);
        assert_eq!(world.told(id).contains(&Progress::Viable(nodes([0, 2]))), is_viable, "{on_silence:?}");
        assert!(world.column.is_empty(), "silence is no answer to keep");
    }
}

#[test]
fn r5_viable_is_the_intersection_in_order_whatever_the_order_of_answers_1_11_1_27() {
    for is_reordered in [false, true] {
        let (mut world, id) = two();
        let (a, b) = (world.ask("a"), world.ask("b"));
        let mut answers = vec![("a", answer(&a, 0..60)), ("b", answer(&b, 64..128))];
        if is_reordered {
            answers.reverse();
        }
        answers.into_iter().for_each(|(party, answer)| world.answer_with(party, answer));
        assert_eq!(world.viable(id), Some(nodes(60..64)));
    }
}

#[test]
fn r5_the_next_round_has_alternatives_that_fit_and_then_unseen_candidates_1_15() {
    let mut world = World::new(vec![party("a", Wait)]);
    world.rejected = nodes([401]).into_iter().collect();
    let mut asked = request("p", vec![claim("c", "a")], 0..300);
    asked.candidates = 4;
    let id = world.negotiate(asked);
    let ask = world.ask("a");
    let alternatives = vec![node(400), node(401), node(7), node(2), text("x")];
    world.answer_with("a", Answer { alternatives, ..answer(&ask, 0..4) });
    let ask = world.ask("a");
    assert_eq!(ask.nodes, nodes([400, 7, 4, 5]));
    assert_eq!(ask.recheck, nodes(0..4));
    world.answer(&ask, "a", [5]);
    // In the order of the core; all four that were asked about again suit now.
    assert_eq!(world.viable(id), Some(nodes([0, 1, 2, 3, 4, 7, 400])));
}

#[test]
fn r5_a_selector_of_alternatives_is_the_callers_to_apply_1_11() {
    let mut world = World::new(vec![party("a", Wait)]);
    world.matched = nodes([50, 60]);
    let mut asked = request("p", vec![claim("c", "a")], 0..100);
    asked.candidates = 3;
    world.negotiate(asked);
    let ask = world.ask("a");
    world.answer_with("a", Answer { selector: Some(text("zone=z")), ..answer(&ask, 0..3) });
    assert_eq!(world.ask("a").nodes, nodes([50, 60, 3]));
}

#[test]
fn r5_a_node_that_suits_after_all_is_asked_about_at_once() {
    for is_kept in [false, true] {
        let of_template = Party { scope: Scope::Template, ..party("a", Wait) };
        let mut world = World::new(vec![of_template, party("b", Wait)]);
        let mut asked = request("p", vec![claim("c1", "a"), claim("c2", "b")], 0..3);
        asked.candidates = 1;
        let id = world.negotiate(asked);
        // Nothing is known of node 0 from the one party, and the other rejects it.
        world.step(Event::Left { party: text("a"), session: 1 });
        let b = world.ask("b");
        world.answer(&b, "b", [0]);
        world.attend("a", 2);
        world.calls("a");
        world.pass(ms(100));
        let (a, b) = (world.ask("a"), world.ask("b"));
        assert_eq!((&a.nodes, &b.nodes, &b.recheck), (&nodes([1]), &nodes([1]), &nodes([0])));
        world.answer(&a, "a", [1]);
        if is_kept {
            world.negotiate(request("q", vec![claim("c3", "a")], 0..1));
            let ask = world.ask("a");
            world.answer_with("a", Answer { valid: ms(1_000), ..answer(&ask, []) });
        }
        world.answer(&b, "b", [1]);
        if !is_kept {
            let ask = world.ask("a");
            assert_eq!(ask.nodes, nodes([0]));
            world.answer(&ask, "a", []);
        }
        assert_eq!(world.viable(id), Some(nodes([0])));
    }
}

#[test]
fn r5_all_rejected_is_exhausted() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..200));
    let ask = world.ask("a");
    world.answer(&ask, "a", 0..CANDIDATES);
    let ask = world.ask("a");
    assert_eq!(ask.nodes, nodes(CANDIDATES..200));
    world.answer(&ask, "a", (CANDIDATES..200).chain(0..CANDIDATES));
    let told = world.told(id);
    let refused = RefusedNodes { party: text("a"), reason: text("no"), nodes: 200 };
    assert_eq!(told[told.len() - 2..], [Progress::Refused(vec![refused]), Progress::Ended(End::Exhausted)]);
}

#[test]
fn a_pod_that_parties_refuse_is_woken_by_what_they_say_and_no_other() {
    let of_template = Party { scope: Scope::Template, ..party("a", Wait) };
    let mut world = World::new(vec![of_template]);
    let refuse = |world: &mut World, pod: &str, template: &str, valid| {
        let mut asked = request(pod, vec![claim(&format!("c-{pod}"), "a")], 0..2);
        asked.pod.template = text(template);
        world.negotiate(asked);
        let ask = world.ask("a");
        world.answer_with("a", Answer { valid, ..answer(&ask, 0..2) });
    };
    let woken = |world: &mut World| -> Vec<Arc<str>> {
        let woken = world.effects.extract_if(.., |effect| matches!(effect, Effect::Woken { .. }));
        let pods = woken.filter_map(|effect| match effect {
            Effect::Woken { pods, .. } => Some(pods),
            _ => None,
        });
        pods.flatten().collect()
    };
    refuse(&mut world, "p", "t", ms(0));
    refuse(&mut world, "q", "u", ms(0));
    assert_eq!(woken(&mut world), []);
    let subject = Some(Subject::Template(text("u")));
    world.step(Event::Invalidated(text("a"), Invalidate { subject }));
    assert_eq!(woken(&mut world), [text("q")]);
    world.attend("a", 2);
    assert_eq!(woken(&mut world), [text("p")]);
    world.step(Event::Invalidated(text("a"), Invalidate { subject: None }));
    assert_eq!(woken(&mut world), [], "each once");
    // One that is asked about is told by its own stream.
    refuse(&mut world, "p", "t", ms(0));
    world.negotiate(request("p", vec![claim("c-p", "a")], 0..2));
    world.step(Event::Invalidated(text("a"), Invalidate { subject: None }));
    assert_eq!(woken(&mut world), []);
}

#[test]
fn r6_what_was_not_asked_about_makes_an_answer_malformed_1_11_1_26() {
    let (large, ask_only) = ("x".repeat(300 << 10), Answer::default());
    let cases = [
        Answer { nodes: vec![unsuitable("n5", None)], ..ask_only.clone() },
        Answer { nodes: vec![unsuitable("n1", None), unsuitable("n1", None)], ..ask_only.clone() },
        Answer { nodes: vec![unsuitable("n1", Some("c9"))], ..ask_only.clone() },
        Answer { alternatives: nodes(0..257), ..ask_only.clone() },
        Answer { selector: Some("x".repeat(5_000).into()), ..ask_only.clone() },
        Answer { alternatives: vec![large.as_str().into()], ..ask_only },
    ];
    for case in cases {
        let mut world = World::new(vec![party("a", Wait)]);
        let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
        let ask = world.ask("a");
        world.answer_with("a", Answer { id: Some(ask.id), ..case });
        assert!(matches!(world.defects()[..], [Defect::Malformed(_), Defect::Silent]));
        assert_eq!(world.viable(id), None);
        // It is asked again, after a rest.
        world.pass(ms(100));
        let ask = world.ask("a");
        world.answer(&ask, "a", [0]);
        assert_eq!(world.viable(id), Some(nodes([1, 2])));
    }
}

fn unsuitable(node: &str, claim: Option<&str>) -> Unsuitable {
    Unsuitable { node: text(node), claim: claim.map(text), reason: text("no") }
}

#[test]
fn r6_the_rest_of_a_partial_answer_is_unknown_until_the_last_1_11() {
    let mut world = World::new(vec![party("a", Wait)]);
    let id = world.negotiate(request("p", vec![claim("c", "a")], 0..3));
    let ask = world.ask("a");
    world.answer_with("a", Answer { partial: true, valid: ms(1_000), ..answer(&ask, [0]) });
    assert_eq!(world.viable(id), None);
    assert_eq!(world.column.len(), 1);
    world.answer_with("a", Answer { valid: ms(1_000), ..answer(&ask, [2]) });
    assert_eq!(world.viable(id), Some(nodes([1])));
    assert_eq!(world.column.len(), 3);
}
