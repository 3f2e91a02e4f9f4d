//! Drift is found and repaired: broken cells, and interrupted changes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

impl Model {
    /// A small cluster, in the model and in a cache. Every node lists something and has pods.
    fn small(random: &mut fastrand::Rng, writer: &mut Writer) -> Self {
        let mut model = Self { sum_names: SUMS.map(text).into(), ..Self::default() };
        writer.declare_sums(&SUMS.map(text));
        for node in 0..5 {
            let name = format!("n{node}");
            let mut node = random_node(random, &name);
            node.labels = [(text("zone"), text("a"))].into();
            node.info = [(text("app"), text("arm64"))].into();
            node.images = [(text("a:1"), text(""))].into();
            if node.allocatable.is_empty() {
                node.allocatable.push((text("cpu"), 1));
            }
            writer.apply(node.clone());
            model.nodes.insert(name, node);
        }
        for pod in 0..20 {
            let (name, node) = (format!("p{pod}"), text(&format!("n{}", pod % 5)));
            let pod = random_pod(random, &name, Some(node));
            let owner = Some(Arc::new(OwnerFacts { uid: text("c"), ..OwnerFacts::default() }));
            let facts = Arc::new(PodFacts { owner, ..(*pod.facts).clone() });
            let pod = PodRecord { facts, ..pod };
            writer.apply(pod.clone());
            model.apply_pod(pod);
        }
        model
    }
}

/// Everything that the cache can check by itself.
fn audit(writer: &mut Writer) -> Vec<Drift> {
    let mut found = writer.audit_pods(&writer.pods().all());
    found.extend(writer.audit(0..u32::MAX));
    found
}

#[test]
fn the_audit_finds_and_repairs_any_broken_cell() {
    let seed = nodesift_seed::seed();
    for round in 0..10 * Writer::CELLS {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(u64::from(round)));
        let (mut writer, reader) = new();
        let model = Model::small(&mut random, &mut writer);
        writer.publish();
        assert!(reader.snapshot().label_column("zone").is_some());
        assert!(reader.snapshot().info_column("app").is_some());
        assert!(reader.snapshot().image_column("a:1").is_some());
        assert_eq!(audit(&mut writer), []);
        let holds_all = |writer: &Writer| model.nodes.values().all(|node| writer.holds_node(node));
        assert!(holds_all(&writer));
        let row = Row(random.u32(0..5));
        writer.break_cell(row, round);
        writer.publish();
        let found = audit(&mut writer);
        let snapshot = reader.snapshot();
        let node = snapshot.names().get(row);
        if round % Writer::CELLS < Writer::RECOUNTED_CELLS {
            assert_eq!(found.first().and_then(|found| found.node.as_ref()), node, "{round}: {found:?}");
        } else {
            assert_eq!(found, [], "only the source shows the drift");
            let source = &model.nodes[&**node.unwrap()];
            assert!(!writer.holds_node(source), "{round}");
            writer.apply(source.clone());
        }
        writer.publish();
        assert_eq!(audit(&mut writer), []);
        assert!(holds_all(&writer));
        assert_eq!(views_of(&reader.snapshot()), model.views(), "{round}");
    }
}

/// A random change, made in the model at once; what it is for a cache.
fn change(random: &mut fastrand::Rng, model: &mut Model) -> Box<dyn Fn(&mut Writer)> {
    let node_name = format!("n{}", random.u8(0..8));
    let pod_name = format!("p{}", random.u8(0..20));
    match random.u8(0..10) {
        0..3 => {
            let node = random_node(random, &node_name);
            model.nodes.insert(node_name, node.clone());
            Box::new(move |writer| writer.apply(node.clone()))
        }
        3 => {
            model.remove_node(&node_name);
            Box::new(move |writer| writer.remove(&Identity::node(&node_name)))
        }
        4..9 => {
            let bound = (random.u8(0..4) > 0).then(|| text(&node_name));
            let pod = random_pod(random, &pod_name, bound);
            model.apply_pod(pod.clone());
            Box::new(move |writer| writer.apply(pod.clone()))
        }
        _ => {
            let uid = format!("{pod_name}-{}", random.u8(0..2));
            model.remove_pod(&uid);
            Box::new(move |writer| writer.remove(&Identity::pod(&uid)))
        }
    }
}

/// Event between an interrupted change and its retry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// No event before the retry.
    Nothing,
    /// Publication of the interrupted state.
    Published,
    /// Audit without the marks of nodes whose change was interrupted.
    Audited,
}

#[test]
fn an_interrupted_change_is_repaired_and_can_be_made_again() {
    let seed = nodesift_seed::seed();
    let mut interrupted = 0;
    let rounds = rounds(20);
    for round in 0..rounds {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let (mut writer, reader) = new();
        let mut model = Model::default();
        model.declare_sums(&mut random, &mut writer);
        let counted = CountKey { selectors: vec![random_selector(&mut random)], terminating: random.bool() };
        for step in 0..150 {
            let name = format!("seed {seed} round {round} step {step}");
            let change = change(&mut random, &mut model);
            panic_after(Some(random.u32(0..12)));
            let made = catch_unwind(AssertUnwindSafe(|| change(&mut writer)));
            panic_after(None);
            if made.is_err() {
                interrupted += 1;
                let meanwhile = [Meanwhile::Nothing, Meanwhile::Published, Meanwhile::Audited][random.usize(0..3)];
                if meanwhile == Meanwhile::Published {
                    writer.publish();
                    assert_eq!(audit(&mut writer), [], "{name}");
                } else if meanwhile == Meanwhile::Audited {
                    writer.placement.take_unfinished();
                    audit(&mut writer);
                    assert_eq!(audit(&mut writer), [], "{name}");
                }
                change(&mut writer);
            }
            writer.publish();
            let snapshot = reader.snapshot();
            assert_eq!(views_of(&snapshot), model.views(), "{name}");
            assert_eq!(audit(&mut writer), [], "{name}");
            model.check_count(&snapshot, &counted);
            model.check_terms(&snapshot, &random_labels(&mut random));
            model.check_scoring_terms(&snapshot, &random_labels(&mut random));
            model.check_nominated(&snapshot);
            model.check_advertised(&snapshot);
            assert_eq!(reader.pods().len(), model.pods.len(), "{name}");
        }
    }
    assert!(interrupted > 15 * rounds, "only {interrupted} changes were interrupted");
}

/// Makes a change that is interrupted after some steps, and then makes it again, as the feed does.
fn make_twice(writer: &mut Writer, steps: u32, change: impl Fn(&mut Writer)) {
    panic_after(Some(steps));
    let made = catch_unwind(AssertUnwindSafe(|| change(writer)));
    panic_after(None);
    assert!(made.is_err(), "there are fewer steps");
    change(writer);
    writer.publish();
}

#[test]
fn a_nominated_pod_whose_change_was_interrupted_has_its_new_priority() {
    let (mut writer, reader) = new();
    let pending = random_pod(&mut fastrand::Rng::with_seed(1), "p", None);
    let of = |priority: i32| PodRecord { nominated_node: Some(text("n")), priority, ..pending.clone() };
    writer.apply(of(2));
    writer.publish();
    // It is known by then, and its earlier state is still where it was nominated.
    make_twice(&mut writer, 0, |writer| writer.apply(of(1)));
    assert_eq!(reader.snapshot().highest_nominated(), Some(1));
    assert_eq!(reader.snapshot().nominated("n"), [Arc::new(of(1))]);
}

#[test]
fn a_new_count_includes_a_pod_whose_addition_was_interrupted() {
    let (mut writer, reader) = new();
    let mut random = fastrand::Rng::with_seed(1);
    writer.apply(random_node(&mut random, "n"));
    let first = random_pod(&mut random, "p", Some(text("n")));
    writer.apply(first.clone());
    writer.publish();
    let all = PodSelector { namespaces: vec![text("ns")], namespace_requirements: None, requirements: Vec::new() };
    let key = CountKey { selectors: vec![all], terminating: true };
    assert_eq!(counts_of(&reader.snapshot(), &key), [("n".to_owned(), 1)].into());
    let second = PodRecord { uid: text("q"), name: text("q"), ..first };
    // It is on its node by then, and nothing is counted of it.
    make_twice(&mut writer, 2, |writer| writer.apply(second.clone()));
    assert_eq!(counts_of(&reader.snapshot(), &key), [("n".to_owned(), 2)].into());
}
