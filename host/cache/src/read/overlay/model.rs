//! The model of overlays: another cache with the same history, to which the changes of the overlay are really applied.
//! Random histories compare everything that the two show. A test prints its seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::metadata::volumes::{ClaimSource, Disk, DiskKind, PodVolume};
use crate::metadata::{self, Labels, PodFacts, PodSelector, StorageRecord};
use crate::write::model::{
    SUMS, counts_of, random_labels, random_node, random_pod, random_selector, rounds, text, view_of, views_of,
};
use crate::{CountKey, Identity, Reader, Record, Writer, new};
use nodesift_object::StorageObject;

const DRIVER: &str = "csi.example.com";
const DISKS: [&str; 3] = ["d0", "d1", "d2"];
const CLAIMS: [&str; 3] = ["c0", "c1", "c2"];

/// An event of a cluster, to be applied to more than one cache.
#[derive(Clone)]
enum Event {
    Node(NodeFacts),
    NodeGone(String),
    Pod(PodRecord),
    PodGone(String),
    Namespace(&'static str, Labels),
    Storage(StorageRecord),
}

fn apply(writer: &mut Writer, event: &Event) {
    match event.clone() {
        Event::Node(node) => writer.apply(node),
        Event::NodeGone(name) => writer.remove(&Identity::node(&name)),
        Event::Pod(pod) => writer.apply(pod),
        Event::PodGone(uid) => writer.remove(&Identity::pod(&uid)),
        Event::Namespace(name, labels) => writer.apply(Record::Namespace(Arc::from(name), labels)),
        Event::Storage(record) => writer.apply(record),
    }
}

/// A cache with this history.
fn cache(history: &[Event]) -> (Writer, Reader) {
    let (mut writer, reader) = new();
    writer.declare_sums(&SUMS.map(text));
    history.iter().for_each(|event| apply(&mut writer, event));
    writer.publish();
    (writer, reader)
}

fn node(random: &mut fastrand::Rng) -> NodeFacts {
    let name = format!("n{}", random.u8(0..8));
    let features = if random.bool() { vec![text("f")] } else { Vec::new() };
    NodeFacts { features, ..random_node(random, &name) }
}

fn pod(random: &mut fastrand::Rng, node: Option<Arc<str>>) -> PodRecord {
    let name = format!("p{}", random.u8(0..25));
    let node_is_none = node.is_none();
    let pod = random_pod(random, &name, node);
    let facts = PodFacts { volumes: volumes(random), ..(*pod.facts).clone() };
    let nominated_node = (node_is_none && random.bool()).then(|| text(&format!("n{}", random.u8(0..8))));
    PodRecord { facts: Arc::new(facts), nominated_node, ..pod }
}

fn volumes(random: &mut fastrand::Rng) -> Arc<[PodVolume]> {
    let volume = |number: usize, random: &mut fastrand::Rng| {
        let disk = |id: &str| Disk { kind: DiskKind::Rbd, id: text(id), read_only: false, monitors: Vec::new() };
        let (claim, disks) = match random.bool() {
            true => (Some(ClaimSource::Named(text(CLAIMS[random.usize(0..3)]))), Vec::new()),
            false => (None, vec![disk(DISKS[random.usize(0..3)])]),
        };
        PodVolume { name: text(&format!("v{number}")), claim, disks, in_tree: None }
    };
    (0..random.usize(0..6) / 3).map(|number| volume(number, random)).collect()
}

fn storage(random: &mut fastrand::Rng) -> StorageRecord {
    let number = random.u8(0..3);
    match random.u8(0..3) {
        0 => {
            let claim = format!(
                r#"{{"metadata":{{"namespace":"ns","name":"c{number}"}},"spec":{{"volumeName":"v{}"}}}}"#,
                random.u8(0..3)
            );
            metadata::storage(&StorageObject::Claim(serde_json::from_str(&claim).unwrap()))
        }
        1 => {
            let volume = format!(
                r#"{{"metadata":{{"name":"v{number}"}},
                    "spec":{{"csi":{{"driver":"{DRIVER}","volumeHandle":"h{number}"}}}}}}"#
            );
            metadata::storage(&StorageObject::Volume(serde_json::from_str(&volume).unwrap()))
        }
        _ => {
            let node = format!(
                r#"{{"metadata":{{"name":"n{}"}},
                    "spec":{{"drivers":[{{"name":"{DRIVER}","allocatable":{{"count":{number}}}}}]}}}}"#,
                random.u8(0..8)
            );
            metadata::storage(&StorageObject::Node(serde_json::from_str(&node).unwrap()))
        }
    }
}

fn event(random: &mut fastrand::Rng) -> Event {
    match random.u8(0..20) {
        0..5 => Event::Node(node(random)),
        5 => Event::NodeGone(format!("n{}", random.u8(0..8))),
        6..16 => {
            let node = (random.u8(0..5) > 0).then(|| text(&format!("n{}", random.u8(0..8))));
            Event::Pod(pod(random, node))
        }
        16 => Event::PodGone(format!("p{}-{}", random.u8(0..25), random.u8(0..2))),
        17 => Event::Namespace(["ns", "other"][random.usize(0..2)], random_labels(random)),
        _ => Event::Storage(storage(random)),
    }
}

/// A random overlay over what a cache holds, and the same as events.
fn overlay(random: &mut fastrand::Rng, reader: &Reader) -> (Overlay, Vec<Event>) {
    let mut known: Vec<Arc<str>> = (0..25)
        .filter_map(|number| reader.pods().by_name("ns", &format!("p{number}")))
        .map(|pod| Arc::clone(&pod.uid))
        .collect();
    random.shuffle(&mut known);
    let removed: Vec<Arc<str>> = known.iter().take(random.usize(0..5)).cloned().collect();
    let nodes: Vec<NodeFacts> = (0..random.usize(0..6) / 2).map(|_| node(random)).collect();
    let mut homes: BTreeSet<Arc<str>> = reader.snapshot().names().iter().cloned().collect();
    homes.extend(nodes.iter().map(|node| Arc::clone(&node.name)));
    let homes: Vec<Arc<str>> = homes.into_iter().collect();
    let count = if homes.is_empty() { 0 } else { random.usize(0..5) };
    let added: Vec<(Arc<PodRecord>, Arc<str>)> = (0..count)
        .map(|_| {
            let known = known.get(random.usize(0..30)).and_then(|uid| reader.pods().by_uid(uid));
            let pod = known.unwrap_or_else(|| Arc::new(pod(random, None)));
            (pod, Arc::clone(&homes[random.usize(0..homes.len())]))
        })
        .collect();
    let events = nodes.iter().map(|node| Event::Node(node.clone()));
    let events = events.chain(removed.iter().map(|uid| Event::PodGone(uid.to_string())));
    let placed = |(pod, node): &(Arc<PodRecord>, Arc<str>)| Event::Pod(pod.on_node(Some(Arc::clone(node))));
    let events = events.chain(added.iter().map(placed)).collect();
    (Overlay { nodes, removed, added }, events)
}

/// Everything that a snapshot says of features and volumes, by node name where it says it by row.
#[derive(Debug, PartialEq)]
struct Rest {
    features: BTreeMap<String, Vec<Arc<str>>>,
    disks: BTreeMap<&'static str, Vec<String>>,
    claims: BTreeMap<&'static str, u32>,
    used: BTreeMap<String, i64>,
    limits: BTreeMap<String, i64>,
    registered: BTreeMap<String, u8>,
    rows_with: BTreeMap<String, Vec<String>>,
    uncounted: usize,
    nominated: BTreeMap<String, BTreeSet<Arc<str>>>,
}

fn rest(snapshot: &Snapshot) -> Rest {
    let name = |row: Row| snapshot.node_name(row).to_owned();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let rows = || (0..snapshot.node_count() as u32).map(Row);
    let features = |row: Row| {
        let code = *snapshot.feature_codes().get(row).unwrap();
        (name(row), snapshot.feature_sets().get(Row(code)).unwrap().to_vec())
    };
    let (volume_use, attachments) = (snapshot.volume_use(), snapshot.attachments());
    let users = |disk| {
        let users = volume_use.disk_users(DiskKind::Rbd, disk).iter().map(|(row, _)| name(*row)).collect();
        (disk, sorted(users))
    };
    let by_name = |rows: &[(Row, i64)]| rows.iter().map(|(row, count)| (name(*row), *count)).collect();
    let rows_with = |handle: u8| {
        let rows = attachments.rows_with(DRIVER, &format!("h{handle}"));
        (format!("h{handle}"), sorted(rows.iter().map(|row| name(Row(*row))).collect()))
    };
    let nominated =
        |node: &str| (node.to_owned(), snapshot.nominated(node).iter().map(|pod| Arc::clone(&pod.uid)).collect());
    Rest {
        features: rows().map(features).collect(),
        disks: DISKS.into_iter().map(users).collect(),
        claims: CLAIMS.into_iter().map(|claim| (claim, volume_use.claim_users("ns", claim))).collect(),
        used: by_name(&attachments.used(DRIVER)),
        limits: by_name(&attachments.limits(DRIVER)),
        registered: rows().map(|row| (name(row), attachments.registered()[row.index()])).collect(),
        rows_with: (0..3).map(rows_with).collect(),
        uncounted: attachments.uncounted().len(),
        nominated: (0..8).map(|number| nominated(&format!("n{number}"))).collect(),
    }
}

fn terms_of(snapshot: &Snapshot, labels: &Labels) -> BTreeMap<String, u32> {
    let mut terms = BTreeMap::new();
    for (_, rows) in snapshot.anti_affinity("ns", labels) {
        for (row, count) in rows.iter() {
            *terms.entry(snapshot.node_name(*row).to_owned()).or_default() += count;
        }
    }
    terms
}

fn scoring_terms_of(snapshot: &Snapshot, labels: &Labels) -> BTreeMap<(String, Option<i32>, String), u32> {
    let mut terms = BTreeMap::new();
    for (term, rows) in snapshot.scoring_terms("ns", labels) {
        for (row, count) in rows.iter() {
            let node = snapshot.node_name(*row).to_owned();
            *terms.entry((term.topology_key.to_string(), term.weight, node)).or_default() += count;
        }
    }
    terms
}

fn random_key(random: &mut fastrand::Rng) -> CountKey {
    let selectors: BTreeSet<PodSelector> = (0..random.usize(1..3)).map(|_| random_selector(random)).collect();
    CountKey { selectors: selectors.into_iter().collect(), terminating: random.bool() }
}

#[test]
fn a_snapshot_under_an_overlay_equals_a_cache_that_was_really_changed() {
    let seed = nodesift_seed::seed();
    let mut compared = 0;
    let rounds = rounds(100);
    for round in 0..rounds {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let mut history: Vec<Event> = (0..random.usize(1..120)).map(|_| event(&mut random)).collect();
        let (mut writer, reader) = cache(&history);
        let keys: Vec<CountKey> = (0..4).map(|_| random_key(&mut random)).collect();
        let labels = random_labels(&mut random);
        // Some counts and volumes in use are known below the overlay, some are not.
        keys.iter().take(2).for_each(|key| drop(reader.snapshot().count(key)));
        writer.publish();
        let snapshot = reader.snapshot();
        if random.bool() {
            rest(&snapshot);
        }
        let before = views_of(&snapshot);
        let (overlay, events) = overlay(&mut random, &reader);
        let derived = snapshot.with(reader.pods(), &overlay).unwrap();
        // A second overlay over the first: the second finds pods where the cache has them, so it is only of nodes.
        let mut more: Vec<NodeFacts> = (0..random.usize(0..2)).map(|_| node(&mut random)).collect();
        more.retain(|node| derived.node_row(&node.name).is_some());
        let derived = match more.is_empty() {
            true => derived,
            false => over(&derived, &more),
        };
        history.extend(events);
        history.extend(more.into_iter().map(Event::Node));
        let (_, real) = cache(&history);
        let real = real.snapshot();
        let name = format!("seed {seed} round {round}: {overlay:?}");
        assert_eq!(views_of(&derived), views_of(&real), "{name}");
        for key in keys.iter().chain(&keys) {
            assert_eq!(counts_of(&derived, key), counts_of(&real, key), "{key:?} {name}");
        }
        assert_eq!(terms_of(&derived, &labels), terms_of(&real, &labels), "{name}");
        assert_eq!(scoring_terms_of(&derived, &labels), scoring_terms_of(&real, &labels), "{name}");
        assert_eq!(rest(&derived), rest(&real), "{name}");
        check_untouched(&snapshot, &derived, &keys);
        assert_eq!(views_of(&snapshot), before, "the snapshot below stays as it is");
        compared += u64::from(!overlay.is_empty());
    }
    assert!(compared > rounds / 2, "only {compared} overlays change anything");
}

/// An overlay over an overlay: nodes of the cache are different once more.
fn over(derived: &Snapshot, nodes: &[NodeFacts]) -> Snapshot {
    let mut builder = OverlayBuilder::new(derived);
    for node in nodes {
        builder.set_node(node);
    }
    builder.snapshot()
}

/// Rows that are not listed as touched are as they were.
fn check_untouched(snapshot: &Snapshot, derived: &Snapshot, keys: &[CountKey]) {
    let touched = derived.overlaid_rows().unwrap();
    assert!(snapshot.overlaid_rows().is_none());
    for row in (0..derived.node_count() as u32).map(Row).filter(|row| !touched.contains(row)) {
        assert_eq!(view_of(derived, row), view_of(snapshot, row));
        for key in keys {
            assert_eq!(derived.count(key).get(row), snapshot.count(key).get(row));
        }
    }
    let changed = derived.rows_changed(crate::NodeInterface::Resources, derived.generation()).unwrap();
    assert_eq!(changed, touched);
}

#[test]
fn a_strip_is_the_node_with_one_pod_fewer_in_every_row() {
    let seed = nodesift_seed::seed();
    let mut rows = 0;
    for round in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let history: Vec<Event> = (0..random.usize(20..120)).map(|_| event(&mut random)).collect();
        let (_, reader) = cache(&history);
        let snapshot = reader.snapshot();
        for row in (0..snapshot.node_count() as u32).map(Row) {
            let here = |node: &str| node == snapshot.node_name(row);
            let on_node = reader.pods().counted_on(here).into_iter().map(|(pod, _)| Some(pod));
            let mut victims: Vec<Option<Arc<PodRecord>>> = on_node.chain([None]).collect();
            random.shuffle(&mut victims);
            victims.truncate(random.usize(0..=victims.len()));
            let start = random.usize(0..=victims.len() + 1);
            let strip = snapshot.without_one_by_one(row, &victims, start);
            assert_eq!(strip.node_count(), victims.len().saturating_sub(start));
            let mut builder = OverlayBuilder::new(&snapshot);
            for (index, victim) in victims.iter().enumerate() {
                victim.iter().for_each(|pod| builder.remove(row, pod));
                if index >= start {
                    let expected = view_of(&builder.snapshot(), row);
                    assert_eq!(view_of(&strip, Row((index - start) as u32)), expected, "seed {seed} round {round}");
                    rows += 1;
                }
            }
        }
    }
    assert!(rows > 500, "only {rows} rows compared");
}

#[test]
fn changes_that_the_snapshot_does_not_show_yet_are_not_removed_from_it() {
    let mut random = fastrand::Rng::with_seed(7);
    let node = random_node(&mut random, "n");
    let resident = random_pod(&mut random, "p", Some(text("n")));
    let (mut writer, reader) = cache(&[Event::Node(node), Event::Pod(resident.clone())]);
    let snapshot = reader.snapshot();
    assert!(snapshot.counted(reader.pods(), &resident.uid).unwrap().is_some());
    let newcomer = random_pod(&mut random, "q", Some(text("n")));
    writer.apply(newcomer.clone());
    writer.apply(PodRecord { terminating: !resident.terminating, ..resident.clone() });
    for uid in [&newcomer.uid, &resident.uid] {
        let overlay = Overlay { removed: vec![Arc::clone(uid)], ..Overlay::default() };
        let refused = snapshot.with(reader.pods(), &overlay).unwrap_err();
        assert!(matches!(refused, OverlayError::Unsettled { .. }), "{refused}");
        let refused = snapshot.counted(reader.pods(), uid).unwrap_err();
        assert!(matches!(refused, OverlayError::Unsettled { .. }), "{refused}");
        writer.publish();
        assert!(reader.snapshot().with(reader.pods(), &overlay).is_ok());
    }
    // A record that changes nothing that counts, a new version say, leaves things as they are.
    let newest = reader.snapshot();
    writer.apply(PodRecord { resource_version: text("9"), ..newcomer.clone() });
    assert!(newest.counted(reader.pods(), &newcomer.uid).unwrap().is_some());
    // A pod that is gone already is still in the snapshot.
    writer.remove(&Identity::pod(&newcomer.uid));
    let refused = newest.counted(reader.pods(), &newcomer.uid).unwrap_err();
    assert!(matches!(refused, OverlayError::Unsettled { .. }), "{refused}");
    writer.publish();
    assert_eq!(reader.snapshot().counted(reader.pods(), &newcomer.uid).unwrap(), None);
}

#[test]
fn an_orphan_that_changes_this_moment_is_not_left_out_of_a_new_node() {
    let mut random = fastrand::Rng::with_seed(9);
    let waiting = random_pod(&mut random, "p", Some(text("n")));
    let (mut writer, reader) = cache(&[Event::Pod(waiting.clone())]);
    let overlay = Overlay { nodes: vec![random_node(&mut random, "n")], ..Overlay::default() };
    let on_node = |snapshot: &Snapshot| *snapshot.pods().get(Row(0)).unwrap();
    assert_eq!(on_node(&reader.snapshot().with(reader.pods(), &overlay).unwrap()), 1);
    writer.apply(PodRecord { terminating: !waiting.terminating, ..waiting });
    let refused = reader.snapshot().with(reader.pods(), &overlay).unwrap_err();
    assert!(matches!(refused, OverlayError::Unsettled { .. }), "{refused}");
    writer.publish();
    assert_eq!(on_node(&reader.snapshot().with(reader.pods(), &overlay).unwrap()), 1);
}

#[test]
fn overlays_that_name_unknown_pods_or_nodes_are_refused() {
    let (_, reader) = cache(&[]);
    let snapshot = reader.snapshot();
    let removed = Overlay { removed: vec![text("nobody")], ..Overlay::default() };
    let refused = snapshot.with(reader.pods(), &removed).unwrap_err();
    assert!(matches!(refused, OverlayError::UnknownPod { .. }), "{refused}");
    let pod = Arc::new(random_pod(&mut fastrand::Rng::with_seed(8), "p", None));
    let added = Overlay { added: vec![(pod, text("nowhere"))], ..Overlay::default() };
    let refused = snapshot.with(reader.pods(), &added).unwrap_err();
    assert!(matches!(refused, OverlayError::UnknownNode { .. }), "{refused}");
}
