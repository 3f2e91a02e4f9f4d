//! Cached verdicts compared with fresh ones: an engine that compares both for every query follows random histories and is
//! queried about the same pods repeatedly. In every fourth history each answer is compared with the reference as well. [`store`] tests eviction and queries from many threads, [`row_sets`] a predicate over row sets.
//!
//! A run has `NODESIFT_REUSE_HISTORIES` (8) histories with at least `NODESIFT_REUSE_EVENTS` (200) events each, of a few fixed
//! [`seeds`](super::seeds) and of new ones. A difference names its seed, which alone reproduces it.

mod row_sets;
mod store;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nodesift_engine::{Engine, Options, PodRef, Query};

use super::seeds::Seeds;
use super::{FIXED_PART, cases, cases_from_environment, from_environment};
pub(super) use world::Counted;
use world::{World, policy};

/// Default number of histories and events: some seconds of two cores.
const HISTORIES: u64 = 8;
const EVENTS: u64 = 200;

/// Pods per round of queries.
const ASKED: usize = 4;

#[test]
fn kept_verdicts_are_those_of_a_fresh_evaluation() {
    let count = cases_from_environment("NODESIFT_REUSE_HISTORIES", HISTORIES);
    let events = from_environment("NODESIFT_REUSE_EVENTS", EVENTS);
    let seeds = Seeds::for_run(count / FIXED_PART);
    let started = Instant::now();

    let next = AtomicU64::new(0);
    let work = || {
        let mut done = Done::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.add(follow(seeds.get(number), events));
        }
    };
    let mut done = Done::default();
    cases::on_each_core(work).into_iter().for_each(|other| done.add(other));
    println!("{done:?} in {:.1} s", started.elapsed().as_secs_f32());
    let ways = [done.counted.kept, done.counted.patched, done.counted.evaluated];
    assert!(ways.iter().all(|count| *count > 0), "a source of verdicts does not occur: {done:?}");
    let met = [done.assumed, done.workloads, done.yielding, done.compared];
    assert!(count < HISTORIES || met.iter().all(|count| *count > 0), "a case does not occur: {done:?}");
}

/// Counts of events and queries.
#[derive(Debug, Default, Clone, Copy)]
struct Done {
    histories: u64,
    events: u64,
    /// Of the events: pods assumed or forgotten; services and controllers added, changed or removed.
    assumed: u64,
    workloads: u64,
    queries: u64,
    /// Of the queries: those about a pod over which a nominated pod takes precedence; those compared with the reference.
    yielding: u64,
    compared: u64,
    counted: Counted,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.events += other.events;
        self.assumed += other.assumed;
        self.workloads += other.workloads;
        self.queries += other.queries;
        self.yielding += other.yielding;
        self.compared += other.compared;
        self.counted.add(other.counted);
    }
}

/// Follows one history and queries in every round, about all nodes and about some.
fn follow(seed: u64, events: u64) -> Done {
    let mut world = World::new(seed);
    let (engine, registry) = world.engine(&policy(seed), None);
    let mut done = Done { histories: 1, ..Done::default() };
    while world.events < events {
        world.advance();
        for _ in 0..ASKED {
            let (query, pod) = world.question_about();
            done.yielding += u64::from(yields(&engine, &query));
            let place = || format!("seed {seed}, event {}", world.events);
            let answer = engine
                .answer(&query, Options::default())
                .unwrap_or_else(|error| panic!("{}: {error}\n  {query:?}", place()));
            done.queries += 1;
            // The engine has compared cached verdicts with its own fresh ones; both could be wrong alike.
            if let Some(differences) = world.compare(&query, &pod, &answer) {
                let shown = differences.join("\n  ");
                assert!(differences.is_empty(), "{}: the reference differs:\n  {shown}\n  pod {pod}", place());
                done.compared += 1;
            }
        }
    }
    let (assumed, workloads, events) = (world.assumed, world.workloads, world.events);
    Done { events, assumed, workloads, counted: Counted::read(&registry), ..done }
}

/// Whether a nominated pod takes precedence over the pod of the query.
fn yields(engine: &Engine, query: &Query) -> bool {
    let priority = match &query.pods[0] {
        PodRef::Whole(pod) => pod.spec.priority.unwrap_or(0),
        _ => return false,
    };
    engine.snapshot().highest_nominated().is_some_and(|highest| highest >= priority)
}
