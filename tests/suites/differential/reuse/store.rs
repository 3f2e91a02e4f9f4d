//! The store of cached verdicts with little memory and many threads. Answers equal those of a fresh evaluation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nodesift_engine::{Options, Query};

use super::world::{Counted, World, policy};
use crate::seeds::Seeds;

/// Limits of the store in bytes: zero, less than one verdict, a few verdicts, the verdicts of some pods.
const LIMITS: [usize; 4] = [0, 100, 4_000, 100_000];

/// Number of histories per limit.
const HISTORIES: u64 = 2;

/// Events in each history.
const EVENTS: u64 = 150;

/// Queries between two events: more different pods than the store has room for.
const ASKED: usize = 12;

/// Threads that query while another one changes the cluster.
const THREADS: usize = 6;
const ASKING: Duration = Duration::from_secs(2);

/// Queries per thread and batch.
const BATCH: usize = 24;

#[test]
fn what_makes_room_changes_no_answer_and_room_stays_bounded() {
    let seeds = Seeds::for_run(HISTORIES / 2);
    for limit in LIMITS {
        let mut all = Counted::default();
        for seed in seeds.take(HISTORIES) {
            let mut world = World::new(seed);
            let (engine, registry) = world.engine(&policy(seed), Some(limit));
            while world.events < EVENTS {
                world.advance();
                for _ in 0..ASKED {
                    let query = world.question();
                    if let Err(error) = engine.answer(&query, Options::default()) {
                        panic!("limit {limit}, seed {seed}, event {}: {error}\n  {query:?}", world.events);
                    }
                    // Bytes that a query adds are counted at once, and evictions happen before the answer.
                    let bytes = Counted::read(&registry).bytes;
                    assert!(bytes <= limit as u64, "seed {seed}: {bytes} bytes are cached, the limit is {limit}");
                }
            }
            all.add(Counted::read(&registry));
        }
        println!("limit {limit}: {all:?}");
        assert!(all.evicted > 0, "nothing was evicted under a limit of {limit} bytes: {all:?}");
        let reused = all.kept + all.patched;
        assert!(limit > LIMITS[1] || reused == 0, "verdicts are cached without room for one: {all:?}");
        assert!(limit < LIMITS[3] || reused > 0, "verdicts are not cached although there is room: {all:?}");
    }
}

#[test]
fn many_threads_get_fresh_answers_while_the_cluster_changes() {
    let seed = nodesift_seed::seed();
    let mut world = World::new(seed);
    let (engine, registry) = world.engine(&policy(seed), Some(200_000));
    let done = AtomicBool::new(false);
    let (queries, failures): (u64, Vec<String>) = std::thread::scope(|scope| {
        let mut asked = Vec::new();
        let workers: Vec<_> = (0..THREADS)
            .map(|number| {
                let (sender, receiver) = mpsc::sync_channel::<Vec<Query>>(2);
                asked.push(sender);
                let (engine, done) = (&engine, &done);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(number as u64);
                    let (mut count, mut failures) = (0, Vec::new());
                    let mut queries = receiver.recv().unwrap_or_default();
                    while !done.load(Ordering::Relaxed) && !queries.is_empty() {
                        if let Ok(more) = receiver.try_recv() {
                            queries = more;
                        }
                        let query = &queries[random.usize(0..queries.len())];
                        match engine.answer(query, Options::default()) {
                            Ok(_) => count += 1,
                            // The snapshot changed before the query ran.
                            Err(
                                nodesift_engine::Error::UnknownNode { .. } | nodesift_engine::Error::UnknownPod { .. },
                            ) => {}
                            Err(error) => failures.push(format!("{error}\n  {query:?}")),
                        }
                    }
                    (count, failures)
                })
            })
            .collect();
        let until = Instant::now() + ASKING;
        while Instant::now() < until {
            world.advance();
            // All threads get the same pods, so that they use the same cached verdicts.
            let queries: Vec<Query> = (0..BATCH).map(|_| world.question()).collect();
            for sender in &asked {
                let again = queries.iter().map(again).collect();
                let _full = sender.try_send(again);
            }
        }
        done.store(true, Ordering::Relaxed);
        drop(asked);
        let mut all = (0, Vec::new());
        for worker in workers {
            let (count, failures) = worker.join().expect("a worker ends");
            all.0 += count;
            all.1.extend(failures);
        }
        all
    });
    let counted = Counted::read(&registry);
    println!("{queries} queries while {} events were published: {counted:?}", world.events);
    assert!(failures.is_empty(), "seed {seed}: {} answers differ, the first: {}", failures.len(), failures[0]);
    assert!(counted.kept > 0 && counted.patched > 0 && counted.evaluated > 0, "{counted:?}");
}

/// A copy of a query.
fn again(query: &Query) -> Query {
    Query::new(query.pods.clone()).with_nodes(query.nodes.clone()).with_phase(query.phase).with_depth(query.depth)
}
