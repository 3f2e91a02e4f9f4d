//! Random histories of the cache, compared with the model after every event, and histories of one kind of event.

use std::time::{Duration, Instant};

use super::*;
use crate::limits::DICTIONARY_DEAD_MIN;

/// The parts of a row's view that an interface covers.
fn part(view: &NodeView, name: &str, interface: NodeInterface) -> NodeView {
    let mut all = view.clone();
    let moments = std::mem::take(&mut all.moments);
    let moments = moments.into_iter().filter(|(moment, _)| NodeInterface::for_moment(*moment) == interface).collect();
    let part = match interface {
        NodeInterface::Identity => {
            NodeView { labels: BTreeMap::from([("name".to_owned(), name.to_owned())]), ..NodeView::default() }
        }
        NodeInterface::Labels => NodeView { labels: all.labels, ..NodeView::default() },
        NodeInterface::Annotations => NodeView { annotations: all.annotations, ..NodeView::default() },
        NodeInterface::Taints => {
            NodeView { taints: all.taints, unschedulable: all.unschedulable, ..NodeView::default() }
        }
        NodeInterface::Resources => NodeView {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            unschedulable: false,
            ports: BTreeMap::new(),
            capacity: Vec::new(),
            conditions: Vec::new(),
            info: BTreeMap::new(),
            images: BTreeMap::new(),
            moments: BTreeMap::new(),
            answers: BTreeMap::new(),
            ..all
        },
        // Of moments, below.
        NodeInterface::Features | NodeInterface::NodeDevices | NodeInterface::Age => NodeView::default(),
        NodeInterface::Parties => NodeView { answers: all.answers, ..NodeView::default() },
        NodeInterface::Images => NodeView { images: all.images, ..NodeView::default() },
        NodeInterface::Info => NodeView { info: all.info, ..NodeView::default() },
        NodeInterface::Conditions => NodeView { conditions: all.conditions, ..NodeView::default() },
        NodeInterface::Ports => NodeView { ports: all.ports, ..NodeView::default() },
    };
    NodeView { moments, ..part }
}

/// Counts that are compared after each event of a history.
const COUNTED: usize = 10;

#[test]
fn random_histories_leave_the_cache_equal_to_a_recount() {
    let seed = nodesift_seed::seed();
    let (mut met, metrics) = (BTreeMap::new(), Metrics::default());
    // What is rare may take some more rounds.
    for round in 0..rounds(16) * 12 {
        if round >= rounds(16) && decisions::unmet(&met, &metrics).is_empty() {
            break;
        }
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let (mut writer, reader) = new();
        writer.set_metrics(metrics.clone());
        let mut model = Model::default();
        let mut kept: Vec<(Arc<Snapshot>, BTreeMap<String, NodeView>)> = Vec::new();
        let mut keys: Vec<CountKey> = Vec::new();
        let mut follower = decisions::Follower::new(&mut writer);
        let mut now = Instant::now();
        for _ in 0..250 {
            if random.u8(0..25) == 0 {
                model.declare_sums(&mut random, &mut writer);
            }
            if random.u8(0..10) == 0 {
                model.answer(&mut random, &mut writer);
            }
            let node_name = format!("n{}", random.u8(0..12));
            let pod_name = format!("p{}", random.u8(0..30));
            match random.u8(0..10) {
                0..3 => {
                    let node = random_node(&mut random, &node_name);
                    writer.apply(node.clone());
                    model.nodes.insert(node_name, node);
                }
                3 => {
                    writer.remove(&Identity::node(&node_name));
                    model.remove_node(&node_name);
                }
                4..9 => {
                    let bound = (random.u8(0..4) > 0).then(|| text(&node_name));
                    let mut pod = random_pod(&mut random, &pod_name, bound);
                    if random.u8(0..8) == 0 {
                        model.bind_as_decided(&mut random, &mut pod);
                    }
                    model.apply_pod(pod.clone());
                    writer.apply(pod);
                }
                _ => {
                    let uid = format!("{pod_name}-{}", random.u8(0..2));
                    writer.remove(&Identity::pod(&uid));
                    model.remove_pod(&uid);
                }
            }
            if random.u8(0..2) == 0 {
                now += Duration::from_secs(random.u64(0..3));
                model.decide(&mut random, &mut writer, now);
            }
            if random.u8(0..3) == 0 {
                model.allocate(&mut random, &mut writer);
            }
            model.check_in_flight(&writer);
            if random.u8(0..8) == 0 {
                let (name, labels) = (["ns", "other"][random.usize(0..2)], random_labels(&mut random));
                match random.bool() {
                    true => {
                        writer.apply_namespace(name, &labels);
                        model.namespaces.insert(name.to_owned(), labels);
                    }
                    false => {
                        writer.remove(&Identity::new(Kind::Namespace, name));
                        model.namespaces.remove(name);
                    }
                }
            }
            if random.u8(0..3) == 0 {
                continue;
            }
            writer.publish();
            assert_eq!(writer.audit(0..u32::MAX), []);
            let snapshot = reader.snapshot();
            if random.u8(0..4) == 0 {
                let selectors: BTreeSet<PodSelector> =
                    (0..random.usize(1..3)).map(|_| random_selector(&mut random)).collect();
                keys.push(CountKey { selectors: selectors.into_iter().collect(), terminating: random.bool() });
                if keys.len() > COUNTED {
                    keys.swap_remove(random.usize(..COUNTED));
                }
            }
            keys.iter().for_each(|key| model.check_count(&snapshot, key));
            for (place, pods) in keys.iter().enumerate() {
                let resource = text(["cpu", "memory", "odd", "none"][place % 4]);
                model.check_sum(&snapshot, &SumKey { pods: pods.clone(), resource });
            }
            model.check_terms(&snapshot, &random_labels(&mut random));
            model.check_scoring_terms(&snapshot, &random_labels(&mut random));
            model.check_controllers(&snapshot);
            model.check_images(&snapshot);
            assert_eq!(views_of(&snapshot), model.views());
            model.check_advertised(&snapshot);
            model.check_nominated(&snapshot);
            follower.check(&model, &snapshot);
            let by_name = snapshot.rows_by_name();
            assert!(by_name.iter().map(|row| snapshot.node_name(*row)).eq(model.nodes.keys().map(String::as_str)));
            assert_eq!(reader.pods().len(), model.pods.len());
            for pod in model.pods.values() {
                assert_eq!(*reader.pods().by_name("ns", &pod.name).unwrap(), *pod);
            }
            for (row, name) in snapshot.names().iter().enumerate() {
                assert_eq!(snapshot.node_row(name), Some(Row(row as u32)));
            }
            if random.u8(0..10) == 0 {
                kept.push((snapshot, model.views()));
            }
        }
        for (outcome, times) in model.met {
            *met.entry(outcome).or_default() += times;
        }
        writer.publish();
        let last = reader.snapshot();
        for (snapshot, views) in &kept {
            assert_eq!(views_of(snapshot), *views, "an old snapshot never changes");
            for key in &keys {
                let counts: BTreeMap<String, u32> = counts_of(snapshot, key);
                assert_eq!(counts, counts_of(snapshot, key));
                assert_eq!(counts.len(), snapshot.node_count());
            }
            for interface in NodeInterface::ALL {
                let changed = last.rows_changed(interface, snapshot.generation()).unwrap();
                for row in (0..last.node_count().max(snapshot.node_count())).map(|row| Row(row as u32)) {
                    let differs = row.index() >= last.node_count().min(snapshot.node_count())
                        || part(&view_of(&last, row), last.node_name(row), interface)
                            != part(&view_of(snapshot, row), snapshot.node_name(row), interface);
                    assert!(!differs || changed.contains(&row), "{interface:?} {row:?} changed unseen");
                }
            }
        }
    }
    println!("met: {met:?}");
    assert_eq!(decisions::unmet(&met, &metrics), [""; 0], "{met:?}");
}

#[test]
fn a_no_op_update_changes_no_generation() {
    let (mut writer, reader) = new();
    let mut random = fastrand::Rng::with_seed(1);
    let node = random_node(&mut random, "n");
    let pod = random_pod(&mut random, "p", Some(text("n")));
    let mut generations = BTreeSet::new();
    for _ in 0..3 {
        writer.apply(node.clone());
        writer.apply(pod.clone());
        writer.publish();
        generations.insert(reader.snapshot().generation());
    }
    assert_eq!(generations.len(), 1);
}

#[test]
fn keys_that_no_node_carries_make_no_column() {
    let (mut writer, reader) = new();
    let mut random = fastrand::Rng::with_seed(2);
    writer.apply(NodeFacts { labels: [(text("zone"), text("a"))].into(), ..random_node(&mut random, "n") });
    writer.publish();
    let snapshot = reader.snapshot();
    for key in 0..1_000 {
        assert!(snapshot.label_column(&format!("odd-{key}")).is_none());
    }
    assert!(snapshot.label_column("zone").is_some());
    assert_eq!(snapshot.label_columns_built(), 1);
}

#[test]
fn a_dictionary_of_ever_new_texts_is_compacted() {
    let (mut writer, reader) = new();
    let mut random = fastrand::Rng::with_seed(3);
    let plain = random_node(&mut random, "n");
    for value in 0..10_000 {
        let labels = [(text("heartbeat"), text(&format!("{value}")))];
        writer.apply(NodeFacts { labels: labels.into(), ..plain.clone() });
        writer.publish();
        let column = reader.snapshot().label_column("heartbeat").unwrap();
        let code = column.codes.get(Row(0)).copied().unwrap();
        assert_eq!(column.dictionary().text(code).unwrap().as_ref(), format!("{value}"));
        assert!(column.dictionary().listed().len() <= 2 * DICTIONARY_DEAD_MIN + 2);
    }
}

#[test]
fn classes_of_devices_raise_the_generation_though_there_is_no_node() {
    let (mut writer, reader) = new();
    let before = reader.snapshot();
    let serving = |name: &str, resource: &str| ClassRecord {
        name: text(name),
        serves: Some(text(resource)),
        ..ClassRecord::default()
    };
    writer.apply(serving("gpu", "example.com/gpu"));
    writer.publish();
    let after = reader.snapshot();
    assert!(!before.device_class_serves("example.com/gpu") && after.device_class_serves("example.com/gpu"));
    assert!(after.generation() > before.generation());
    writer.apply(serving("other", "example.com/gpu"));
    writer.remove(&Identity::new(Kind::DeviceClass, "gpu"));
    writer.publish();
    let shared = reader.snapshot();
    assert!(shared.device_class_serves("example.com/gpu"), "another class still serves it");
    writer.remove(&Identity::new(Kind::DeviceClass, "other"));
    writer.publish();
    assert!(!reader.snapshot().device_class_serves("example.com/gpu"));
    assert!(reader.snapshot().generation() > shared.generation());
}
