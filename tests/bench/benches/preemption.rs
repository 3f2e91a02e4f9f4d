//! How long a preemption question takes in process, on one thread: the default policy, a full node with 30 victims, in a
//! cluster of 5,000 nodes and 150,000 pods. Prints medians.
//!
//! `cargo bench --workspace --bench preemption`
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift::cache::{self, Hypothesis, Reader, Row, Writer};
use nodesift::engine::{Candidate, Engine, PodRef, Preemption};
use nodesift::metadata::{self, PodRecord};
use nodesift::object::{Node, Pod};
use nodesift::policy::{ActivePolicy, Policy};
use nodesift::sandbox::Runtime;
use nodesift::source::synthetic::{PENDING, Shape};

const VICTIMS: usize = 30;

fn main() {
    // Without `--bench` cargo only wants to see it run.
    let smoke = std::env::args().all(|argument| argument != "--bench");
    let (nodes, rounds) = if smoke { (100, 2) } else { (5_000, 2_000) };
    let shape = Shape { nodes, pods_per_node: 30, seed: 1 };
    let (mut writer, reader) = cluster(shape);
    let node = reader.snapshot().node_name(Row(nodes / 2)).to_owned();
    let victims = fill(&mut writer, &reader, shape, &node);
    let engine = engine(&reader);

    println!("{nodes} nodes, {} pods; victims {}", reader.pods().len(), victims.len());
    for (name, json) in PENDING {
        let pod: Pod = serde_json::from_str(json).unwrap();
        let uid = Arc::<str>::from(format!("pending-{name}"));
        let facts = Arc::new(metadata::pod(&pod));
        let record = metadata::pod_record(&pod, &["default-scheduler".to_owned()]);
        writer.apply_pod(PodRecord { uid: Arc::clone(&uid), name: Arc::clone(&uid), node_name: None, facts, ..record });
        writer.publish();
        for start in [0, VICTIMS / 2, VICTIMS - 1] {
            let candidate = Candidate { node: node.clone(), victims: victims.clone(), start };
            let question = Preemption { pod: PodRef::Uid(uid.to_string()), candidates: vec![candidate] };
            let index = engine.preempt(&question).unwrap().outcomes.first().and_then(|outcome| outcome.index);
            let taken = median(rounds, || drop(black_box(engine.preempt(&question).unwrap())));
            println!("pod {name}, start {start:>2}: index {index:?} in {:.1} µs", micros(taken));
        }
    }

    let snapshot = reader.snapshot();
    let row = snapshot.node_row(&node).unwrap();
    let records: Vec<Option<Arc<PodRecord>>> = victims.iter().map(|uid| reader.pods().by_uid(uid)).collect();
    let strip = median(rounds, || drop(black_box(snapshot.without_one_by_one(row, &records, 0))));
    println!("a strip of {VICTIMS} rows: {:.1} µs", micros(strip));
    let overlay = median(rounds, || {
        let mut hypothesis = Hypothesis::of(&snapshot);
        records.iter().flatten().for_each(|pod| hypothesis.remove(row, pod));
        drop(black_box(hypothesis.snapshot()));
    });
    println!("a snapshot without {VICTIMS} pods: {:.1} µs", micros(overlay));
}

/// Leaves no room on a node, and returns the UIDs of its pods: the last one alone takes most of it.
fn fill(writer: &mut Writer, reader: &Reader, shape: Shape, node: &str) -> Vec<String> {
    let mut pods: Vec<PodRecord> = shape
        .pods()
        .map(|json| record(&json))
        .filter(|pod| pod.node_name.as_deref() == Some(node))
        .take(VICTIMS)
        .collect();
    let snapshot = reader.snapshot();
    let row = snapshot.node_row(node).unwrap();
    let free = |name| snapshot.resource(name).and_then(|resource| resource.free.get(row).copied()).unwrap_or(0);
    if let Some(last) = pods.last_mut() {
        let mut facts = (*last.facts).clone();
        for (name, amount) in &mut facts.usage {
            *amount += free(name);
        }
        last.facts = Arc::new(facts);
        writer.apply_pod(last.clone());
        writer.publish();
    }
    pods.iter().map(|pod| pod.uid.to_string()).collect()
}

fn record(json: &str) -> PodRecord {
    metadata::pod_record(&serde_json::from_str::<Pod>(json).unwrap(), &["default-scheduler".to_owned()])
}

fn cluster(shape: Shape) -> (Writer, Reader) {
    let (mut writer, reader) = cache::new();
    for json in shape.nodes() {
        writer.apply_node(&metadata::node(&serde_json::from_str::<Node>(&json).unwrap()));
    }
    shape.pods().for_each(|json| writer.apply_pod(record(&json)));
    writer.publish();
    (writer, reader)
}

fn engine(reader: &Reader) -> Engine {
    let runtime = Runtime::start(None).unwrap();
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let policy = Policy::read(nodesift_bundle::DEFAULT_POLICY, "default", "".as_ref(), &builtins).unwrap();
    let active = ActivePolicy::load(&policy, 1, &runtime).unwrap();
    Engine::new(reader.clone(), active, runtime)
}

fn median(rounds: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds.max(1))
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
