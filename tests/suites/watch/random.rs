//! Random histories with random faults: every answer, and the final state, are correct.
//!
//! `NODESIFT_SEED` is the first seed, `NODESIFT_WATCH_SEEDS` the number of histories, `NODESIFT_WATCH_EVENTS` the number of
//! events in each. A difference names its seed; that seed alone gives the same history and the same faults, but not the same
//! interleaving.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::machine::beside_others;
use serde_json::json;

use crate::oracle::{StatePoller, state_converges};
use crate::world::{self, launch, node, node_name, pod};

/// Number of histories unless `NODESIFT_WATCH_SEEDS` is set.
const SEEDS: u64 = 50;

/// Number of changes per history unless `NODESIFT_WATCH_EVENTS` is set.
const EVENTS: u64 = 150;

/// Histories that run concurrently: each mostly waits for the next retry.
const AT_ONCE: usize = 12;

/// Maximum number of nodes.
const NODES: usize = 6;

/// Names of pods: few, so that most are created and deleted several times.
const PODS: usize = 30;

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

/// Random changes of nodes and pods that an API server would accept.
pub(crate) struct RandomChanges {
    random: Rng,
    nodes: usize,
}

impl RandomChanges {
    /// Changes with at most this number of nodes.
    pub(crate) fn new(seed: u64, nodes: usize) -> Self {
        Self { random: Rng::with_seed(seed), nodes }
    }

    /// Makes one random change.
    pub(crate) fn step(&mut self, server: &ApiServer) {
        let name = format!("p{}", self.random.usize(..PODS));
        let key = format!("default/{name}");
        let known = server.look(|store| {
            let stored = store.now("Pod").get(&key)?;
            serde_json::from_str::<serde_json::Value>(&stored.text).ok()
        });
        match (self.random.u8(..20), known) {
            (0, _) => {
                server.delete("Node", &node_name(self.random.usize(..self.nodes)));
            }
            (1..=3, _) => {
                let number = self.random.usize(..self.nodes);
                let mut node = node(number);
                node["metadata"]["labels"]["generation"] = json!(self.random.u8(1..4).to_string());
                node["spec"]["unschedulable"] = json!(self.random.bool());
                node["status"]["allocatable"]["cpu"] = json!(format!("{}m", self.random.u32(1_000..20_000)));
                server.apply(node);
            }
            (4..=9, Some(_)) => {
                server.delete("Pod", &key);
            }
            (10..=11, Some(_)) => {
                // At once recreated under the same name.
                let made = self.pod(&name);
                server.change(|store| {
                    store.delete("Pod", &key);
                    store.apply(made);
                });
            }
            (_, Some(known)) => {
                let mut changed = known;
                changed["kind"] = json!("Pod");
                changed["apiVersion"] = json!("v1");
                self.change(&mut changed);
                server.apply(changed);
            }
            (_, None) => {
                let made = self.pod(&name);
                server.apply(made);
            }
        }
    }

    fn pod(&mut self, name: &str) -> serde_json::Value {
        // Some pods name a node that does not exist.
        let node = if self.random.u8(..3) == 0 { String::new() } else { node_name(self.random.usize(..=self.nodes)) };
        let mut made = pod(name, &node, self.random.i64(0..3_000));
        match self.random.u8(..5) {
            0 => made["spec"]["schedulerName"] = json!("volcano"),
            1 => {
                made["metadata"]["ownerReferences"] =
                    json!([{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}])
            }
            _ => {}
        }
        made
    }

    /// A random change of an existing pod.
    fn change(&mut self, pod: &mut serde_json::Value) {
        match self.random.u8(..6) {
            0 | 1 if pod["spec"]["nodeName"].is_null() => {
                pod["spec"]["nodeName"] = json!(node_name(self.random.usize(..self.nodes)));
                pod["status"]["phase"] = json!("Running");
            }
            2 => pod["status"]["phase"] = json!(if self.random.bool() { "Succeeded" } else { "Failed" }),
            3 => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            4 => {
                let millicores = self.random.u32(1..4_000);
                pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(format!("{millicores}m"));
            }
            _ => pod["metadata"]["labels"]["app"] = json!(format!("app{}", self.random.u8(..3))),
        }
    }
}

/// A random fault for the next request of its kind. Faults after which the sidecar waits for long are rare, because they take
/// time and cover nothing else.
fn fault(random: &mut Rng, server: &ApiServer, started_at: u64) {
    let kind = if random.bool() { "Pod" } else { "Node" };
    let bytes = random.usize(..3_000);
    match random.u8(..24) {
        0..=2 => server.next(kind, Verb::Watch, Fault::expired()),
        3..=5 => server.next(kind, Verb::Watch, Fault::ExpiredAfter(random.usize(..4))),
        6..=8 => server.next(kind, Verb::Watch, Fault::Cut(1_500 + bytes)),
        9..=10 => server.next(kind, Verb::Watch, Fault::Chunks(random.usize(1..50))),
        11..=12 => server.next(kind, Verb::Watch, Fault::Twice),
        13 => server.next(kind, Verb::Watch, Fault::Together),
        14 => server.next(kind, Verb::Watch, Fault::broken()),
        15 => server.next(kind, Verb::Watch, Fault::too_large_version()),
        16 => server.next(kind, Verb::List(1), Fault::Cut(bytes)),
        17 => {
            let now = server.look(|store| store.version());
            server.next(kind, Verb::List(1), Fault::Stale(random.u64(started_at..=now)));
        }
        18 => server.next(kind, Verb::List(1), Fault::Late(Duration::from_millis(random.u64(..100)))),
        19 => server.change(|store| store.compact()),
        20..=21 => {
            server.change(|store| store.bookmark(kind));
        }
        22 => server.cut_watches(kind),
        _ => {
            // Repeats an earlier event unchanged.
            let (old, version) = server.look(|store| {
                let version = random.u64(started_at..=store.version());
                (store.objects_at(kind, version), version)
            });
            if let Some(object) = old.get(random.usize(..old.len().max(1))) {
                let line = json!({"type": "MODIFIED", "object": object}).to_string();
                let is_known =
                    server.look(|store| store.now(kind).contains_key(&nodesift_tests::apiserver::store::key(object)));
                // A real server sends no events for deleted objects.
                if is_known && version > 0 {
                    server.change(|store| store.say(kind, &line));
                }
            }
        }
    }
    if random.bool() {
        server.end_watches(kind);
    }
}

/// Runs one history. Returns the number of answers checked.
fn play(seed: u64, events: u64) -> usize {
    let mut random = Rng::with_seed(seed);
    let server = ApiServer::start();
    world::fill(&server, random.usize(1..=NODES), random.usize(..4));
    let started_at = server.look(|store| store.version());
    let sidecar = launch(&server, &["--predicates", "NodeUnschedulable,NodeResourcesFit"]);
    sidecar.wait_until_ready();
    let poller = StatePoller::start(&sidecar);
    let mut changes = RandomChanges::new(random.u64(..), NODES);
    for _ in 0..events {
        changes.step(&server);
        if random.u8(..12) == 0 {
            fault(&mut random, &server, started_at);
        }
        if random.u8(..4) == 0 {
            std::thread::park_timeout(Duration::from_millis(random.u64(..6)));
        }
    }
    server.clear_faults();
    state_converges(&server, &sidecar);
    let checked = poller.check(&server);
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
    checked
}

/// W-17 of the reliability list: random histories and faults.
#[test]
fn random_histories_with_random_faults_end_in_the_truth() {
    let _beside = beside_others();
    let first = nodesift_seed::seed();
    let count = from_environment("NODESIFT_WATCH_SEEDS").unwrap_or(SEEDS);
    let events = from_environment("NODESIFT_WATCH_EVENTS").unwrap_or(EVENTS);
    println!("NODESIFT_WATCH_SEEDS={count} NODESIFT_WATCH_EVENTS={events}");
    let next = AtomicU64::new(0);
    let checked = AtomicU64::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let seed = first.wrapping_add(number);
            let played = std::panic::catch_unwind(|| play(seed, events));
            match played {
                Ok(answers) => checked.fetch_add(answers as u64, Ordering::Relaxed),
                Err(panic) => {
                    println!(
                        "NODESIFT_SEED={seed} NODESIFT_WATCH_SEEDS=1 NODESIFT_WATCH_EVENTS={events} reproduces it"
                    );
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                    std::panic::resume_unwind(panic);
                }
            };
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    println!("{} answers checked", checked.load(Ordering::Relaxed));
}
