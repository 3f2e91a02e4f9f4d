//! Parties that say more than anybody needs: what they have said takes a bounded number of bytes, what they take back a bounded number of
//! steps.

use super::super::*;
use super::world::*;
use crate::limits::{
    ALTERNATIVES, BACKOFF_FIRST, BACKOFF_MOST, CANDIDATES_MOST, KEPT_BYTES, KEPT_REASONS, QUARANTINE, REASON_BYTES,
    ROUND, SAID_BYTES, SELECTOR_BYTES, SWEPT,
};

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
    // Together nearly twice what is kept.
    for pod in 0..1_000 {
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

/// Looks at everybody that is left to look at, and returns how much each step has done.
fn steps(world: &mut World) -> Vec<Vec<Effect>> {
    let mut steps = Vec::new();
    while world.core.next_tick().is_some_and(|at| at <= world.now) {
        steps.push(world.core.step(Event::Tick, world.now));
    }
    steps
}

/// A negotiation with two parties whose time is not over in any of these tests.
fn patient(pod: usize) -> Request {
    let claims = vec![claim(&format!("a{pod}"), "a"), claim(&format!("b{pod}"), "b")];
    Request { round: ms(600_000), deadline: ms(600_000), ..request(&format!("p{pod}"), claims, 0..2) }
}

#[test]
fn attending_again_and_again_costs_each_step_the_same() {
    const MANY: usize = 1_000;
    let mut world = World::new(vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]);
    for pod in 0..MANY {
        world.negotiate(patient(pod));
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
    }
    let mut all = Vec::new();
    for stream in 2..20 {
        all.push(world.core.attend(&text("a"), stream, &Owner::default(), world.now).unwrap());
        if stream % 3 == 0 {
            all.push(world.core.step(Event::Left { party: text("a"), session: stream }, world.now));
        }
    }
    all.extend(steps(&mut world));
    // The streams that ended with open questions were silences: it is asked again after a rest.
    world.now += BACKOFF_MOST;
    let effects = world.core.attend(&text("a"), 20, &Owner::default(), world.now).unwrap();
    let mut last = vec![effects];
    last.extend(steps(&mut world));
    world.now += QUARANTINE;
    last.extend(steps(&mut world));
    let most = all.iter().chain(&last).map(Vec::len).max().unwrap();
    assert!(most <= 2 * SWEPT, "{most} effects of one step");
    println!("at most {most} effects of one step");
}

#[test]
fn negotiations_that_begin_while_others_are_told_of_a_stream_hide_none_of_these() {
    const MANY: usize = 4 * SWEPT;
    let mut world = World::new(vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]);
    let mut before = std::collections::BTreeSet::new();
    for pod in 0..MANY {
        before.insert(world.negotiate(patient(pod)));
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
    }
    let mut effects = vec![world.core.attend(&text("a"), 2, &Owner::default(), world.now).unwrap()];
    let mut pod = MANY;
    while world.core.next_tick().is_some_and(|at| at <= world.now) {
        // Each may stand before those that are not told yet: ids are drawn.
        for _ in 0..8 {
            world.negotiate(patient(pod));
            pod += 1;
        }
        effects.push(world.core.step(Event::Tick, world.now));
        assert!(pod < 40 * MANY, "it never ends");
    }
    // Each step tells some, those that begin a negotiation as well.
    effects.push(std::mem::take(&mut world.effects));
    let asked = |effects: &[Effect], id: NegotiationId| {
        let is_about = |effect: &Effect| match effect {
            Effect::Call(to, Call::Ask(ask)) => **to == *"a" && ask.negotiation == id,
            _ => false,
        };
        effects.iter().any(is_about)
    };
    before.retain(|id| !effects.iter().any(|effects| asked(effects, *id)));
    assert!(before.is_empty(), "{} of {MANY} do not know of the stream", before.len());
}

#[test]
fn whoever_attends_again_is_asked_again_about_everything_step_by_step() {
    const MANY: usize = 10 * SWEPT;
    let mut world = World::new(vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]);
    for pod in 0..MANY {
        world.negotiate(patient(pod));
        let ask = world.ask("a");
        world.answer(&ask, "a", []);
    }
    let asked = |effects: &[Effect]| -> Vec<NegotiationId> {
        let of_a = effects.iter().filter_map(|effect| match effect {
            Effect::Call(to, Call::Ask(ask)) if **to == *"a" => Some(ask.negotiation),
            _ => None,
        });
        of_a.collect()
    };
    let mut effects = world.core.attend(&text("a"), 2, &Owner::default(), world.now).unwrap();
    let mut count = asked(&effects).len();
    assert!(count <= SWEPT, "{count}");
    // A second stream, in the midst of it, ends the questions of the first.
    effects = world.core.attend(&text("a"), 3, &Owner::default(), world.now).unwrap();
    assert_eq!(asked(&effects), [], "it was silent, and rests");
    steps(&mut world);
    world.now += BACKOFF_FIRST;
    let mut all = std::collections::BTreeSet::new();
    for effects in steps(&mut world) {
        count = asked(&effects).len();
        assert!(count <= SWEPT, "{count}");
        all.extend(asked(&effects));
    }
    assert_eq!(all.len(), MANY);
    // One question each.
    assert_eq!(world.core.usage().calls, 2 * MANY);
}

#[test]
fn deallocations_are_repeated_step_by_step_to_whoever_attends_again() {
    const MANY: usize = 10 * SWEPT;
    let mut world = World::new(vec![party("a", OnSilence::Wait)]);
    for pod in 0..MANY {
        let id = world.negotiate(request(&format!("p{pod}"), vec![claim(&format!("c{pod}"), "a")], 0..1));
        world.select(id, nodes(0..1), true).unwrap();
        world.release(id);
    }
    let deallocated = |effects: Vec<Effect>| {
        effects.iter().filter(|effect| matches!(effect, Effect::Call(_, Call::Deallocate(_)))).count()
    };
    for stream in 2..10 {
        let count = deallocated(world.core.attend(&text("a"), stream, &Owner::default(), world.now).unwrap());
        assert!(0 < count && count <= SWEPT, "{count}");
    }
    let rest: Vec<usize> = steps(&mut world).into_iter().map(deallocated).collect();
    assert!(rest.iter().all(|count| *count <= SWEPT), "{rest:?}");
    assert_eq!(rest.iter().sum::<usize>(), MANY - SWEPT);
}

#[test]
fn alternatives_of_a_party_take_bounded_bytes() {
    const MANY: usize = 64;
    const PARTS: usize = 16;
    let mut world = World::new(vec![party("bad", OnSilence::Ignore), party("good", OnSilence::Wait)]);
    let negotiate = |world: &mut World, pod: usize| {
        let claims = vec![claim(&format!("b{pod}"), "bad"), claim(&format!("g{pod}"), "good")];
        let id = world.negotiate(request(&format!("p{pod}"), claims, 0..2));
        (id, world.ask("bad"), world.ask("good"))
    };
    let own = {
        let mut other = World::new(vec![party("bad", OnSilence::Ignore), party("good", OnSilence::Wait)]);
        negotiate(&mut other, 0);
        other.core.usage().local_bytes
    };
    let mut open = Vec::new();
    for pod in 0..MANY {
        let (id, bad, good) = negotiate(&mut world, pod);
        for part in 0..PARTS {
            let name = |at: usize| Node::from(format!("{pod}-{part}-{at}-{}", "x".repeat(980)));
            let alternatives = (0..ALTERNATIVES).map(name).collect();
            let selector = Some(Arc::from("y".repeat(SELECTOR_BYTES)));
            let said = Answer { id: Some(bad.id), partial: true, alternatives, selector, ..Answer::default() };
            world.answer_with("bad", said);
        }
        let usage = world.core.usage();
        assert!(usage.local_bytes <= (pod + 1) * own + SAID_BYTES, "{usage:?}");
        open.push((id, bad, good));
    }
    let is_excess = |defect: &Defect| matches!(defect, Defect::Malformed(MalformedAnswer::Excess(_)));
    let defects = world.defects();
    assert!(!defects.is_empty() && defects.iter().all(is_excess));
    // The alternatives of another are taken as before, and the core's negotiation goes on.
    let (id, bad, good) = open.pop().unwrap();
    world.answer(&bad, "bad", []);
    world.answer_with("good", Answer { alternatives: nodes(7..9), ..answer(&good, 0..2) });
    assert_eq!(world.ask("good").nodes, nodes(7..9));
    assert!(world.core.is_live(id));
    // Once it is agreed on, no alternative is held any more.
    world.calls("bad");
    for (id, _, good) in open {
        world.answer(&good, "good", []);
        assert!(world.core.is_live(id));
    }
    world.pass(ROUND);
    let agreed = world.core.views().iter().filter(|view| view.phase == "agreed").count();
    assert_eq!(agreed, MANY - 1);
    let usage = world.core.usage();
    assert!(usage.local_bytes <= MANY * own + ALTERNATIVES * 2_000, "{usage:?}, {own} each");
}
