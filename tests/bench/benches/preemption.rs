//! The time of a preemption query in process, on one thread: the default policy and a full node with 30 victims in a cluster of
//! 5,000 nodes and 150,000 pods, after a filter query for the same pod; for each pod, and for one, half and all of the
//! victims removed; and of a reprieve of all pods of 500 nodes. Prints medians.
//!
//! `cargo bench --workspace --features jemalloc --bench preemption`
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use nodesift::cluster;
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{self as cache, OverlayBuilder};
use nodesift_dev::measure::events::{FullNode, VICTIMS};
use nodesift_dev::measure::pods::question;
use nodesift_dev::measure::{Testbed, timed};
use nodesift_engine::{NodeVictims, Options, PodRef, Reprieve, ReprieveOutcome};
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
    let testbed =
        Testbed::synthetic(writer, &engine.policy().scheduler_names, &engine.policy().selection(), shape, || ())
            .unwrap();
    let full = FullNode::fill(&testbed);

    println!("{} nodes, {} pods; victims {VICTIMS}", testbed.nodes(), testbed.pods());
    for template in testbed.templates() {
        // As a core does, which filters first; afterwards most verdicts are cached.
        engine.answer(&question(template), Options::default()).unwrap();
        for start in [0, VICTIMS / 2, VICTIMS - 1] {
            let (taken, index) = full.measure(&engine, template, start, rounds).unwrap();
            println!("pod {}, start {start:>2}: index {index:?} in {:.1} µs", template.name(), micros(taken));
        }
    }

    let asked = nodes_with_all_their_pods(&testbed);
    for template in testbed.templates() {
        engine.answer(&question(template), Options::default()).unwrap();
        let mut victims = 0;
        let taken = median(rounds.div_ceil(100), || {
            let pod = PodRef::Uid(template.uids()[0].clone());
            let query = Reprieve { pod, nodes: asked.clone(), deadline: None, skip: Vec::new(), is_negotiated: false };
            let answer = engine.reprieve(&query, &engine.snapshot()).unwrap();
            let kept = |outcome: &Result<ReprieveOutcome, _>| match outcome {
                Ok(ReprieveOutcome::Fits { kept }) => kept.len(),
                _ => 0,
            };
            victims = answer.outcomes.iter().map(kept).sum();
        });
        println!(
            "pod {}, reprieve of {} nodes: {victims} pods stay, in {:.0} µs",
            template.name(),
            asked.len(),
            micros(taken)
        );
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

/// 500 nodes, each with all its pods as victims.
fn nodes_with_all_their_pods(testbed: &Testbed) -> Vec<NodeVictims> {
    const NODES: usize = 500;
    let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in testbed.reader().pods().all() {
        if let Some(node) = &pod.node_name {
            by_node.entry(node.to_string()).or_default().push(pod.uid.to_string());
        }
    }
    by_node.into_iter().take(NODES).map(|(node, victims)| NodeVictims { node, victims }).collect()
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
