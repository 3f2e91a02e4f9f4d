//! Allocations per answer: number and bytes, for pods a–d with the default policy; cold (no cached verdicts, but counts and
//! label columns exist) and warm (all verdicts cached). Two sizes show what grows with the number of rows.
//!
//! `cargo bench --workspace --bench allocations`
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::path::Path;

use allocation_counter::{AllocationInfo, measure};
use nodesift_cache::metadata;
use nodesift_cache::{self as cache, Reader, Writer};
use nodesift_engine::{Engine, Options, PodRef, Query, Reuse};
use nodesift_fixtures::synthetic::{PENDING, Shape};
use nodesift_object::{Node, Pod};
use nodesift_policy::Policy;
use nodesift_sandbox::Runtime;

/// Queries before the measured one: guests grow their memory, columns and counts are built.
const WARM_UP: usize = 5;

fn main() {
    // Without `--bench` this is a smoke test.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let sizes: &[u32] = if is_measured { &[1_000, 5_000] } else { &[100] };
    println!("{:>8}  {:<4} {:>18} {:>18} {:>18} {:>18}", "nodes", "pod", "cold", "cold bytes", "warm", "warm bytes");
    for &nodes in sizes {
        let shape = Shape { nodes, pods_per_node: 30, seed: 1 };
        let (mut writer, reader) = cluster(shape);
        let engines = [Reuse::Off, Reuse::On].map(|reuse| engine(&reader).with_reuse(reuse));
        for (name, json) in PENDING {
            let query = question(json);
            let [cold, warm] = engines.each_ref().map(|engine| {
                (0..WARM_UP).for_each(|_| {
                    engine.answer(&query, Options::default()).unwrap();
                    // The writer maintains the columns that readers have requested from its next publication on.
                    writer.publish();
                });
                once(engine, &query)
            });
            println!(
                "{nodes:>8}  {name:<4} {:>18} {:>18} {:>18} {:>18}",
                cold.count_total, cold.bytes_total, warm.count_total, warm.bytes_total
            );
        }
    }
}

fn once(engine: &Engine, query: &Query) -> AllocationInfo {
    measure(|| drop(std::hint::black_box(engine.answer(query, Options::default()).unwrap())))
}

fn cluster(shape: Shape) -> (Writer, Reader) {
    let (mut writer, reader) = cache::new();
    for json in shape.nodes() {
        writer.apply(metadata::node(&serde_json::from_str::<Node>(&json).unwrap()));
    }
    let ours = ["default-scheduler".to_owned()];
    for json in shape.pods() {
        writer.apply(metadata::pod_record(&serde_json::from_str::<Pod>(&json).unwrap(), &ours));
    }
    writer.publish();
    (writer, reader)
}

fn engine(reader: &Reader) -> Engine {
    let runtime = Runtime::start(Some(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("nodesift/modules"))).unwrap();
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let policy = Policy::read(nodesift_bundle::DEFAULT_POLICY, "default", "".as_ref(), &builtins).unwrap();
    let active = nodesift_policy::activate(&policy, 1, &runtime).unwrap();
    Engine::new(reader.clone(), active, runtime)
}

fn question(json: &str) -> Query {
    let pod: Pod = serde_json::from_str(json).unwrap();
    Query::new([PodRef::Whole(Box::new(pod))])
}
