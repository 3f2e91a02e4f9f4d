//! The time of a preemption query in process, on one thread: the default policy and a full node with 30 victims in a cluster of
//! 5,000 nodes and 150,000 pods, after a filter query for the same pod; for each pod, and for one, half and all of the
//! victims removed. Prints medians.
//!
//! `cargo bench --workspace --features jemalloc --bench preemption`
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use nodesift::cluster;
use nodesift::measure::events::{FullNode, VICTIMS};
use nodesift::measure::pods::question;
use nodesift::measure::{Testbed, timed};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{self as cache, OverlayBuilder};
use nodesift_fixtures::synthetic::Shape;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    // Without `--bench` this is a smoke test.
    let smoke = std::env::args().all(|argument| argument != "--bench");
    let (nodes, rounds) = if smoke { (100, 2) } else { (5_000, 2_000) };
    let shape = Shape { nodes, pods_per_node: 30, seed: 1 };
    let (writer, reader) = cache::new();
    let engine = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap();
    let testbed = Testbed::synthetic(writer, &engine.policy().scheduler_names, shape, || ()).unwrap();
    let full = FullNode::of(&testbed);

    println!("{} nodes, {} pods; victims {VICTIMS}", testbed.nodes(), testbed.pods());
    for template in testbed.templates() {
        // As a core does, which filters first; afterwards most verdicts are cached.
        engine.answer(&question(template)).unwrap();
        for start in [0, VICTIMS / 2, VICTIMS - 1] {
            let (taken, index) = full.measure(&engine, template, start, rounds).unwrap();
            println!("pod {}, start {start:>2}: index {index:?} in {:.1} µs", template.name(), micros(taken));
        }
    }

    let snapshot = testbed.reader().snapshot();
    let row = snapshot.node_row(full.node()).unwrap();
    let records: Vec<Option<Arc<PodRecord>>> =
        full.victims().iter().map(|uid| testbed.reader().pods().by_uid(uid)).collect();
    let strip = median(rounds, || drop(black_box(snapshot.without_one_by_one(row, &records, 0))));
    println!("a strip of {VICTIMS} rows: {:.1} µs", micros(strip));
    let overlay = median(rounds, || {
        let mut hypothesis = OverlayBuilder::new(&snapshot);
        records.iter().flatten().for_each(|pod| hypothesis.remove(row, pod));
        drop(black_box(hypothesis.snapshot()));
    });
    println!("a snapshot without {VICTIMS} pods: {:.1} µs", micros(overlay));
}

fn median(rounds: usize, mut run: impl FnMut()) -> Duration {
    let times = timed(
        rounds,
        |_| Ok(()),
        |()| -> Result<(), Infallible> {
            run();
            Ok(())
        },
    );
    times.unwrap().median()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
