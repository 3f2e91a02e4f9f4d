//! Kept verdicts against fresh ones: an engine that compares both for every question follows random histories and is asked
//! about the same pods again and again.
//!
//! The histories of a run are those of the seeds from `NODESIFT_REUSE_SEED` (0) on, `NODESIFT_REUSE_HISTORIES` (40) of them
//! with at least `NODESIFT_REUSE_EVENTS` (200) events each. A difference names its seed: the same seed alone makes it
//! again.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nodesift::engine::{Depth, Engine, Metrics, Nodes, Phase, PodRef, Question, Reuse};
use nodesift::object::Pod;
use nodesift::policy::{ActivePolicy, Policy};
use nodesift::sandbox::Runtime;
use nodesift_twin::random::History;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::mirror::{self, Mirror};
use super::{default_policy, from_environment};

/// Histories and events where nothing is said: some seconds of two cores.
const HISTORIES: u64 = 40;
const EVENTS: u64 = 200;

/// Pods that are asked about again and again; in every round one of them gives way to a new one.
const POOL: usize = 10;

/// Pods asked about in a round.
const ASKED: usize = 4;

#[test]
fn kept_verdicts_are_those_of_a_fresh_evaluation() {
    let first = from_environment("NODESIFT_REUSE_SEED", 0);
    let count = from_environment("NODESIFT_REUSE_HISTORIES", HISTORIES);
    let events = from_environment("NODESIFT_REUSE_EVENTS", EVENTS);
    println!("seeds {first} to {}, {events} events each", first + count - 1);
    let started = Instant::now();
    let policy = default_policy();

    let next = AtomicU64::new(first);
    let work = || {
        let mut done = Done::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return done;
            }
            done.add(follow(seed, events, &policy));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut done = Done::default();
        workers.into_iter().for_each(|worker| done.add(worker.join().expect("a worker ends")));
        done
    });
    println!("{done:?} in {:.1} s", started.elapsed().as_secs_f32());
    assert!(done.kept > 0 && done.patched > 0 && done.evaluated > 0, "all ways to a verdict are gone: {done:?}");
}

/// What was done.
#[derive(Debug, Default, Clone, Copy)]
struct Done {
    histories: u64,
    events: u64,
    questions: u64,
    /// Verdicts that stood, were patched, were evaluated.
    kept: u64,
    patched: u64,
    evaluated: u64,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.events += other.events;
        self.questions += other.questions;
        self.kept += other.kept;
        self.patched += other.patched;
        self.evaluated += other.evaluated;
    }
}

/// Follows one history and asks in every round, about all nodes and about some.
fn follow(seed: u64, events: u64, policy: &Policy) -> Done {
    let mut done = Done { histories: 1, ..Done::default() };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(policy.scheduler_names.clone());
    mirror.load(history.cluster.objects());
    let mut registry = Registry::default();
    let engine = engine(policy, &mirror, &mut registry);
    let mut pool: Vec<Pod> = (0..POOL).map(|_| mirror::pod(&history.asked_pod())).collect();
    let mut round = 0;
    while done.events < events {
        let happened = history.advance();
        done.events += happened.len() as u64;
        mirror.follow(&happened);
        let at = round % POOL;
        if random.bool() {
            pool[at] = mirror::pod(&history.asked_pod());
        } else {
            // The same pod under another name, and sometimes with another label, or in another namespace.
            let mut pod = pool[random.usize(0..POOL)].clone();
            pod.metadata.name = format!("again-{round}");
            pod.metadata.uid = format!("again-{round}");
            if random.bool() {
                pod.metadata.namespace =
                    (*random.choice(["default", "prod", "dev", "ghost"].iter()).unwrap()).to_owned();
            }
            pool[at] = pod;
        }
        for _ in 0..ASKED {
            let pod = &pool[random.usize(0..POOL)];
            let names = || history.cluster.nodes().map(|node| nodesift_twin::json::name(node).to_owned());
            let nodes = match random.u8(0..4) {
                0 => Nodes::Named(names().filter(|_| random.u8(0..3) == 0).collect()),
                _ => Nodes::All,
            };
            let phase = if random.u8(0..4) == 0 { Phase::Reserve } else { Phase::Allocate };
            let pods = vec![PodRef::Whole(Box::new(pod.clone()))];
            let answer = engine.answer(&Question { pods, nodes, phase, depth: Depth::FirstFailure });
            if let Err(error) = answer {
                panic!("seed {seed}, round {round}: {error}\n  pod {pod:?}");
            }
            done.questions += 1;
        }
        round += 1;
    }
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    let counted = |from: &str| {
        let line = format!("nodesift_verdicts_total{{from=\"{from}\"}} ");
        let value = text.lines().find_map(|text| text.strip_prefix(&line));
        value.and_then(|value| value.parse::<u64>().ok()).unwrap_or_else(|| panic!("no {line}in\n{text}"))
    };
    Done { kept: counted("kept"), patched: counted("patched"), evaluated: counted("evaluated"), ..done }
}

/// An engine that compares every verdict it keeps with a fresh one.
fn engine(policy: &Policy, mirror: &Mirror, registry: &mut Registry) -> Engine {
    let runtime = Runtime::start(Some(Path::new(env!("CARGO_TARGET_TMPDIR")))).expect("a runtime");
    let active = ActivePolicy::load(policy, 1, &runtime).expect("the default policy can be loaded");
    Engine::new(mirror.reader(), active, runtime).reusing(Reuse::Verified).counting(Metrics::register(registry))
}
