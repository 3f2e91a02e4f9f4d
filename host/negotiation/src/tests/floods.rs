//! Parties that say more than anybody needs: what they have said takes a bounded number of bytes, what they take back a bounded number of
//! steps.

use super::super::*;
use super::world::*;
use crate::limits::{CANDIDATES_MOST, KEPT_BYTES, KEPT_REASONS, REASON_BYTES, SWEPT};

/// Answers that no node suits, each for a long reason of its own.
fn refused(ask: &Ask, salt: usize) -> Answer {
    let reason = |at: usize| Arc::from(format!("{salt}-{at}-{}", "x".repeat(REASON_BYTES - 100)));
    let unsuitable = ask.nodes.iter().enumerate().map(|(at, node)| Unsuitable {
        node: node.clone(),
        claim: None,
        reason: reason(at),
    });
    Answer { id: Some(ask.id), nodes: unsuitable.collect(), valid: ms(30_000), ..Answer::default() }
}

#[test]
fn reasons_are_kept_once_and_a_party_has_so_many() {
    let mut world = World::new(vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]);
    for name in ["a", "b"] {
        for pod in 0..64 {
            let claims = vec![claim(&format!("c{name}{pod}"), name)];
            world.negotiate(Request {
                candidates: CANDIDATES_MOST,
                ..request(&format!("{name}{pod}"), claims, 0..CANDIDATES_MOST)
            });
            let ask = world.ask(name);
            world.answer_with(name, refused(&ask, pod));
        }
    }
    let usage = world.core.usage();
    assert_eq!(usage.kept_nodes, 2 * 64 * CANDIDATES_MOST);
    // One text more stands for all others.
    let texts = 2 * (KEPT_REASONS + 1) * REASON_BYTES;
    assert!(usage.kept_bytes < usage.kept_nodes * 200 + texts, "{usage:?}");
    let different = |name: &str| {
        let of_party = world.column.iter().filter(|((party, ..), _)| **party == *name);
        of_party.map(|(_, said)| format!("{said:?}")).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((different("a"), different("b")), (KEPT_REASONS + 1, KEPT_REASONS + 1));
    world.pass(ms(30_000));
    assert_eq!((world.core.usage().kept_nodes, world.core.usage().kept_bytes), (0, 0));
}

#[test]
fn answers_that_are_kept_have_so_many_bytes_and_those_that_expire_first_go() {
    let mut world = World::new(vec![party("a", OnSilence::Wait)]);
    let mut most = 0;
    for pod in 0..2_500 {
        let claims = vec![claim(&format!("c{pod}"), "a")];
        world.negotiate(Request {
            candidates: CANDIDATES_MOST,
            deadline: ms(20),
            ..request(&format!("p{pod}"), claims, 0..CANDIDATES_MOST)
        });
        let ask = world.ask("a");
        world.answer_with("a", refused(&ask, 0));
        world.calls("a");
        world.pass(ms(1));
        let usage = world.core.usage();
        assert!(usage.kept_bytes <= KEPT_BYTES, "{usage:?}");
        most = most.max(usage.kept_bytes);
        assert_eq!(world.column.len(), usage.kept_nodes);
    }
    assert!(most > KEPT_BYTES / 10 * 9, "{most}");
    world.effects.clear();
}

#[test]
fn what_is_taken_back_again_and_again_costs_each_step_the_same_and_reaches_everybody() {
    const MANY: usize = 1_000;
    let mut world = World::new(vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]);
    for pod in 0..MANY {
        let claims = vec![claim(&format!("a{pod}"), "a"), claim(&format!("b{pod}"), "b")];
        world.negotiate(request(&format!("p{pod}"), claims, 0..2));
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
    }
    world.calls("b");
    let asked =
        |effects: Vec<Effect>| effects.iter().filter(|effect| matches!(effect, Effect::Call(_, Call::Ask(_)))).count();
    // A question follows for each negotiation that is looked at.
    let mut all = 0;
    for _ in 0..3 {
        let said = Event::Invalidated(text("a"), Invalidate { subject: None });
        let count = asked(world.core.step(said, world.now));
        assert!(count <= SWEPT, "{count}");
        all += count;
    }
    while world.core.next_tick().is_some_and(|at| at <= world.now) {
        let count = asked(world.core.step(Event::Tick, world.now));
        assert!(count <= SWEPT, "{count}");
        all += count;
    }
    // Those that had been asked again before the last time have the question open already.
    assert_eq!(all, MANY);
}

#[test]
fn what_is_taken_back_counts_before_anything_else_happens_to_a_negotiation() {
    const MANY: usize = 10 * SWEPT;
    let mut world = World::new(vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]);
    let mut asks = Vec::new();
    for pod in 0..MANY {
        let claims = vec![claim(&format!("a{pod}"), "a"), claim(&format!("b{pod}"), "b")];
        let id = world.negotiate(request(&format!("p{pod}"), claims, 0..2));
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
        asks.push((id, world.ask("b")));
    }
    let effects = world.core.step(Event::Invalidated(text("a"), Invalidate { subject: None }), world.now);
    assert!(effects.len() <= 2 * SWEPT);
    // None is agreed on by what has been taken back, whether it has been looked at or not.
    for (id, ask) in asks {
        world.answer(&ask, "b", []);
        assert_eq!(world.viable(id), None);
    }
}
