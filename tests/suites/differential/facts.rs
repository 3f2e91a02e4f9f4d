//! Facts about nodes and about pods on them, by guests that show what they have read: the code of a row is made of the fact's
//! value. Random histories compare cached verdicts with fresh ones and with a plain computation over objects ([`plain`]), on
//! the cluster and on overlays. [`probe`] has the guests.
//!
//! A run has `NODESIFT_FACTS_HISTORIES` (6) histories for each probe. A difference names its seed, which alone reproduces it.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod plain;
mod probe;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nodesift_cache::metadata::Selection;
use nodesift_engine::{
    ActivePolicy, ActivePredicate, Answer, Cycle, Engine, Metrics, Mode, Nodes, OnError, Options, OverlaySpec, Phases,
    PodRef, PolicySettings, Query, Reuse, RowsByName,
};
use nodesift_fixtures::json::{name, text};
use nodesift_fixtures::random::History;
use nodesift_sandbox::Grants;
use nodesift_sandbox::fault::FaultKind;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use self::plain::Plain;
use self::probe::Probe;
use crate::mirror::{self, Mirror};
use crate::reuse::Counted;
use crate::seeds::Seeds;
use crate::{cases, cases_from_environment};

/// Default number of histories of each probe.
const HISTORIES: u64 = 6;

/// Histories of each probe whose seeds are the same in every run.
const FIXED: u64 = 3;

/// Rounds of events in a history, and queries in each of them.
const ROUNDS: usize = 25;
const ASKED: usize = 4;

/// Pods that are asked about again and again.
const POOL: usize = 6;

/// TTL of assumptions: longer than any history.
const ASSUMED_FOR: Duration = Duration::from_secs(3600);

/// Counts of the comparisons of a run.
#[derive(Debug, Default, Clone, Copy)]
struct Done {
    histories: u64,
    queries: u64,
    overlays: u64,
    /// Verdicts of rows; of these, those that reject.
    rows: u64,
    rejected: u64,
    assumed: u64,
    counted: Counted,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.queries += other.queries;
        self.overlays += other.overlays;
        self.rows += other.rows;
        self.rejected += other.rejected;
        self.assumed += other.assumed;
        self.counted.add(other.counted);
    }
}

#[test]
fn facts_of_nodes_and_counts_are_those_of_the_objects_in_every_history() {
    let histories = cases_from_environment("NODESIFT_FACTS_HISTORIES", HISTORIES);
    let seeds = Seeds::for_run(FIXED);
    let started = Instant::now();
    let probes = Probe::all();
    let next = AtomicU64::new(0);
    let work = || {
        let mut done = vec![Done::default(); probes.len()];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (at, history) = (number as usize % probes.len(), number / probes.len() as u64);
            if history >= histories {
                return done;
            }
            done[at].add(follow(seeds.get(history), &probes[at]));
        }
    };
    let mut all = vec![Done::default(); probes.len()];
    for done in cases::on_each_core(work) {
        all.iter_mut().zip(done).for_each(|(all, done)| all.add(done));
    }
    for (probe, done) in probes.iter().zip(&all) {
        println!("{probe:?}: {done:?}");
        // The moments at which random nodes are created all have a code other than 0.
        let fits = done.rows - done.rejected + u64::from(matches!(probe, Probe::Created));
        let met = [done.rejected, fits, done.overlays, done.counted.kept, done.counted.evaluated];
        assert!(histories < HISTORIES || met.iter().all(|count| *count > 0), "{probe:?}: a case does not occur");
        let is_patched = done.counted.patched > 0 || probe.is_cluster_wide();
        assert!(histories < HISTORIES || is_patched, "{probe:?}: no verdict is patched");
    }
    println!("{:.1} s", started.elapsed().as_secs_f32());
}

/// Everything that some policies select.
pub(super) fn everything() -> Selection {
    Selection { pod_owner: true, node_info: true, node_images: true, ..Selection::default() }
}

/// An engine with the probe as its only predicate, which compares cached verdicts with fresh ones.
fn engine(probe: &Probe, mirror: &Mirror) -> (Engine, Registry) {
    let mut registry = Registry::default();
    let runtime = crate::runtime();
    let grants = Grants { time_per_call: Some(crate::CALL_TIME), ..Grants::default() };
    let module = runtime.load(&probe.guest().component(), grants).expect("the probe can be loaded");
    let predicate = ActivePredicate {
        name: Arc::from("Probe"),
        phases: Phases::ALL,
        on_error: OnError::Reject,
        mode: Mode::Enforce,
        module: Arc::new(module),
        digest: [0; 32],
        counts: Arc::default(),
        breaker: Arc::default(),
        is_beside: false,
    };
    let policy = ActivePolicy {
        settings: Arc::new(PolicySettings { on_unsupported: OnError::Ignore, ..PolicySettings::default() }),
        ..ActivePolicy::new(vec!["default-scheduler".to_owned()], vec![predicate])
    };
    let engine = Engine::new(mirror.reader(), policy, runtime).with_reuse(Reuse::Verified);
    (engine.with_metrics(Metrics::register(&mut registry)), registry)
}

/// Follows one history of a probe.
fn follow(seed: u64, probe: &Probe) -> Done {
    let mut random = fastrand::Rng::with_seed(!seed);
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(vec!["default-scheduler".to_owned()]).selecting(everything());
    if probe.is_accounted() {
        mirror = mirror.accounting();
    }
    mirror.load(history.cluster.objects());
    let (engine, registry) = engine(probe, &mirror);
    let mut pool: Vec<Value> = (0..POOL).map(|_| history.asked_pod()).collect();
    let mut done = Done { histories: 1, ..Done::default() };
    let names_of_sums = [Arc::from(mirror::SUM)];
    for round in 0..ROUNDS {
        mirror.follow(&history.advance());
        done.assumed += u64::from(assume(&mut random, &mut mirror, &history));
        let has_sum = probe.is_accounted() && random.u8(0..5) > 0;
        mirror.writer().declare_sums(if has_sum { &names_of_sums } else { &[] });
        mirror.writer().publish();
        pool[round % POOL] = history.asked_pod();
        let plain = Plain::new(&history.cluster, mirror.writer(), has_sum);
        let names: Vec<String> = plain.nodes.keys().cloned().collect();
        for _ in 0..ASKED {
            let pod = &pool[random.usize(0..POOL)];
            let place = || format!("seed {seed}, round {round}, {probe:?}");
            let nodes = match random.u8(0..3) {
                0 => Nodes::Named(names.iter().filter(|_| random.bool()).cloned().collect()),
                _ => Nodes::All,
            };
            let answer = engine
                .answer(&query(pod, nodes.clone()), Options::default())
                .unwrap_or_else(|error| panic!("{}: {error}", place()));
            compare(probe, &plain, pod, &nodes, &answer, &mut done, &place);
            done.queries += 1;
            if random.u8(0..3) == 0 {
                let (spec, changed) = overlay(&mut random, &mut history, &plain, &mirror);
                let snapshot = engine.overlay_snapshot(&spec).unwrap_or_else(|error| panic!("{}: {error}", place()));
                let answer = engine.answer(&query(pod, Nodes::All), Options::on(&snapshot));
                let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", place()));
                let place = || format!("{}, overlay {spec:?}", place());
                compare(probe, &changed, pod, &Nodes::All, &answer, &mut done, &place);
                done.overlays += 1;
            }
        }
    }
    Done { counted: Counted::read(&registry), ..done }
}

fn query(pod: &Value, nodes: Nodes) -> Query {
    Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))]).with_nodes(nodes)
}

/// Assumes a pending pod on a node, or forgets one that may be assumed; and publishes.
fn assume(random: &mut fastrand::Rng, mirror: &mut Mirror, history: &History) -> bool {
    let nodes: Vec<&str> = history.cluster.nodes().map(name).collect();
    let pods: Vec<&str> = history.cluster.all("Pod").map(|pod| text(pod, "metadata.uid")).collect();
    if nodes.is_empty() || pods.is_empty() {
        return false;
    }
    let (pod, node) = (pods[random.usize(0..pods.len())], nodes[random.usize(0..nodes.len())]);
    let writer = mirror.writer();
    let changed = match random.u8(0..3) {
        0 => writer.forget(pod),
        _ => writer.assume(pod, node, Instant::now() + ASSUMED_FOR).is_ok(),
    };
    writer.publish();
    changed
}

/// Random changes as an overlay, and the cluster with them.
fn overlay(random: &mut fastrand::Rng, history: &mut History, plain: &Plain, mirror: &Mirror) -> (OverlaySpec, Plain) {
    let (mut spec, mut changed) = (OverlaySpec::default(), plain.clone());
    for node in history.cluster.nodes().filter(|_| random.u8(0..6) == 0).cloned().collect::<Vec<_>>() {
        let mut node = node;
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
        node["status"]["images"] = json!([{"names": ["app:v2"]}]);
        node["status"]["nodeInfo"] = json!({"architecture": "riscv64", "osImage": "Debian"});
        node["metadata"]["creationTimestamp"] = json!("1970-01-01T00:00:07Z");
        if random.u8(0..3) == 0 {
            node["metadata"]["name"] = json!(format!("new-{}", name(&node)));
        }
        spec.nodes.push(mirror::node(&node));
        changed.overlaid.insert(name(&node).to_owned());
        changed.nodes.insert(name(&node).to_owned(), node);
    }
    let uids: Vec<String> = plain.pods.keys().filter(|_| random.u8(0..8) == 0).cloned().collect();
    let names: Vec<String> = changed.nodes.keys().cloned().collect();
    for uid in uids {
        if random.bool() || names.is_empty() {
            spec.removed.push(PodRef::Uid(uid.clone()));
            changed.remove(&uid);
        } else {
            let node = &names[random.usize(0..names.len())];
            spec.added.push((PodRef::Uid(uid.clone()), node.clone()));
            changed.place(&uid, node);
        }
    }
    if let Some(node) = names.first() {
        let pod = history.asked_pod();
        let whole = mirror::pod(&pod);
        // The policy accounts for nothing, so only the mirror's record has an account.
        let added = match plain.has_sum {
            true => PodRef::Known(Arc::new(mirror.record(&whole))),
            false => PodRef::Whole(Box::new(whole)),
        };
        spec.added.push((added, node.clone()));
        changed.add(&pod, node);
    }
    (spec, changed)
}

/// Compares an answer with what the probe must say of the objects.
fn compare(
    probe: &Probe,
    plain: &Plain,
    pod: &Value,
    nodes: &Nodes,
    answer: &Answer,
    done: &mut Done,
    place: &dyn Fn() -> String,
) {
    let [of_pod] = &answer.pods[..] else { panic!("{}: one pod", place()) };
    // What only a DeviceClass serves is a fault of every policy, which this one ignores.
    let faults: Vec<_> = of_pod.faults.iter().filter(|fault| fault.fault.kind != FaultKind::Unsupported).collect();
    assert!(faults.is_empty(), "{}: {faults:?}", place());
    assert_eq!(of_pod.cycle, Cycle::EachNode, "{}", place());
    let row_name = |row| answer.snapshot.node_name(row).to_owned();
    let mut found: BTreeMap<String, u16> = BTreeMap::new();
    for row in RowsByName::new(&of_pod.feasible, &answer.snapshot.node_names()) {
        found.insert(row_name(row), 0);
    }
    for failure in of_pod.failures.iter() {
        let [reason] = &failure.reasons[..] else { panic!("{}: {:?}", place(), failure.reasons) };
        let code = reason.trim_start_matches('v').parse().unwrap_or_else(|_| panic!("{}: {reason}", place()));
        found.extend(failure.rows.iter().map(|row| (row_name(row), code)));
    }
    let asked = |node: &&String| match nodes {
        Nodes::Named(names) => names.contains(node),
        _ => true,
    };
    let expected: BTreeMap<String, u16> =
        plain.nodes.keys().filter(asked).map(|node| (node.clone(), probe.expected(plain, node, pod))).collect();
    let differing: Vec<(&String, Option<&u16>, &u16)> = expected
        .iter()
        .map(|(node, expected)| (node, found.get(node), expected))
        .filter(|(_, found, expected)| *found != Some(expected))
        .take(4)
        .collect();
    assert!(differing.is_empty() && found.len() == expected.len(), "{}: {differing:?}\n  pod {pod}", place());
    done.rows += expected.len() as u64;
    done.rejected += expected.values().filter(|code| **code > 0).count() as u64;
}

#[test]
fn a_heartbeat_changes_no_generation() {
    let mut mirror = Mirror::new(Vec::new()).selecting(everything());
    let node = |heartbeat: &str, ready: &str| {
        let condition = json!({"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": heartbeat,
            "creationTimestamp": "2026-11-24T00:00:00Z"},
            "status": {"conditions": [condition], "images": [{"names": ["a", "b"], "sizeBytes": 1}],
                "nodeInfo": {"architecture": "arm64"}}})
    };
    let mut generation = |heartbeat: &str, ready: &str| {
        mirror.follow(&[nodesift_fixtures::random::Event::Apply(Box::new(node(heartbeat, ready)))]);
        mirror.reader().snapshot().generation()
    };
    let first = generation("2026-11-24T00:00:00Z", "True");
    assert_eq!(generation("2026-11-24T00:00:10Z", "True"), first);
    assert!(generation("2026-11-24T00:00:20Z", "False") > first);
}
