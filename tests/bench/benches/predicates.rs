//! Each built-in predicate, cold, over 1,000, 5,000 and 100,000 nodes: in the sandbox, and the same code compiled natively over
//! the same columns. Prints a table of medians and their ratios at the end.
//!
//! Start at [`CASES`]. `cargo bench --workspace --features jemalloc --bench predicates -- --quick` gives rough figures
//! quickly; a word after `--` selects cases by name.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use nodesift_bench::Bridge;
use nodesift_cache::metadata;
use nodesift_cache::{self as cache, Snapshot};
use nodesift_engine::{Batch, Context};
use nodesift_fixtures::synthetic::{PENDING, Shape};
use nodesift_object::{Node, Pod};
use nodesift_sandbox::limits::BUILTIN_FAILURE_REASONS;
use nodesift_sandbox::{Grants, Lifetime, Module, Runtime};
use nodesift_sdk::native;

// The allocator of the production binary: both variants allocate their verdicts with it.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Numbers of nodes, and of pods per node as in busy clusters of that size.
const SIZES: [(u32, u32); 3] = [(1_000, 30), (5_000, 30), (100_000, 10)];

/// A predicate, and the name of the pod that it evaluates.
struct Case {
    predicate: &'static str,
    pod: &'static str,
}

const fn case(predicate: &'static str, pod: &'static str) -> Case {
    Case { predicate, pod }
}

/// Pod `b` has requests, a node selector, node affinity and a toleration; `port` requests a host port that half the nodes
/// have in use, `name` names one node. `c` has spread constraints over zones and nodes, `d` also has anti-affinity to its own
/// app.
const CASES: [Case; 8] = [
    case("NodeUnschedulable", "b"),
    case("NodeName", "name"),
    case("TaintToleration", "b"),
    case("NodeAffinity", "b"),
    case("NodePorts", "port"),
    case("NodeResourcesFit", "b"),
    case("PodTopologySpread", "c"),
    case("InterPodAffinity", "d"),
];

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let runtime = Runtime::start(Some(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("nodesift/modules"))).unwrap();
    for (nodes, pods_per_node) in SIZES {
        // Built lazily, for the selected cases only.
        let snapshot = LazyCell::new(|| cluster(nodes, pods_per_node));
        let mut group = criterion.benchmark_group(nodes.to_string());
        for case in &CASES {
            measure(&mut group, case, &snapshot, &runtime);
        }
        group.finish();
    }
    criterion.final_summary();
    print_table();
}

fn cluster(nodes: u32, pods_per_node: u32) -> Arc<Snapshot> {
    let shape = Shape { nodes, pods_per_node, seed: 1 };
    let (mut writer, reader) = cache::new();
    for json in shape.nodes() {
        writer.apply(metadata::node(&serde_json::from_str::<Node>(&json).unwrap()));
    }
    for json in shape.pods() {
        writer.apply(metadata::pod_record(&serde_json::from_str::<Pod>(&json).unwrap(), &[]));
    }
    writer.publish();
    reader.snapshot()
}

fn load(runtime: &Runtime, predicate: &str) -> Module {
    let grants = Grants {
        // A large time budget: the machine's other work must not interrupt the benchmark.
        time_per_call: Some(Duration::from_secs(1)),
        lifetime: Lifetime::Reused,
        reasons: BUILTIN_FAILURE_REASONS,
        ..Grants::default()
    };
    let builtin = nodesift_bundle::BUILTINS.iter().find(|builtin| builtin.name == predicate).unwrap();
    runtime.load(builtin.bytes, grants).unwrap()
}

fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    case: &Case,
    snapshot: &LazyCell<Arc<Snapshot>, impl FnOnce() -> Arc<Snapshot>>,
    runtime: &Runtime,
) {
    let context = LazyCell::new(|| {
        let pod = Arc::new(metadata::pod(&pod(case.pod)));
        let node_name = (case.pod == "name").then(|| snapshot.names().flat()[snapshot.node_count() / 2].clone());
        Arc::new(Context::new(Arc::clone(snapshot), pod, node_name, Batch::All))
    });
    let module = LazyCell::new(|| load(runtime, case.predicate));
    group.bench_function(BenchmarkId::new(case.predicate, "sandbox"), |bencher| {
        let (context, module): (&Arc<Context>, &Module) = (&context, &module);
        let rows = context.rows();
        bencher.iter(|| module.filter(Arc::clone(context) as _, rows, None).unwrap());
    });
    let filter = nodesift_bench::native::filter(case.predicate).unwrap();
    group.bench_function(BenchmarkId::new(case.predicate, "native"), |bencher| {
        let rows = context.rows() as usize;
        let facts: Rc<dyn native::Facts> = Rc::new(Bridge(Arc::clone(&context)));
        bencher.iter(|| native::with_facts(Rc::clone(&facts), || filter(rows)));
    });
}

fn pod(name: &str) -> Pod {
    let json = PENDING.iter().find(|(known, _)| *known == name).map_or(PENDING[0].1, |(_, json)| json);
    let mut pod: Pod = serde_json::from_str(json).unwrap();
    if name == "port" {
        let ports = serde_json::from_str(r#"[{"containerPort":9100,"hostPort":9100}]"#).unwrap();
        pod.spec.containers[0].ports = ports;
    }
    pod
}

/// Prints criterion's medians and the overhead of the sandbox over native code.
fn print_table() {
    let root = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let median_us = |nodes: u32, predicate: &str, side: &str| -> Option<f64> {
        let path = root.join(format!("criterion/{nodes}/{predicate}/{side}/new/estimates.json"));
        let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        Some(estimates["median"]["point_estimate"].as_f64()? / 1_000.0)
    };
    println!("\n{:>8}  {:<18} {:>12} {:>12} {:>7}", "nodes", "predicate", "sandbox", "native", "ratio");
    for (nodes, _) in SIZES {
        for case in &CASES {
            let both = (median_us(nodes, case.predicate, "sandbox"), median_us(nodes, case.predicate, "native"));
            if let (Some(sandbox), Some(native)) = both {
                let ratio = sandbox / native;
                println!("{nodes:>8}  {:<18} {sandbox:>9.2} µs {native:>9.2} µs {ratio:>7.2}", case.predicate);
            }
        }
    }
}
