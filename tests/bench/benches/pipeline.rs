//! Whole answers: the default policy over pods a–d, on one thread, at 5,000 nodes with 150,000 pods and at 100,000 nodes
//! with 1,000,000 pods: cold (nothing kept, counts warm), cold after one pod event, warm (everything kept), and with one pod bound since
//! the last answer. Then what one pod event costs with 200 materialised
//! counts alive. Prints medians.
//!
//! `cargo bench -p nodesift-bench --bench pipeline -- --quick` leaves the large cluster out and does less.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift::cache::{self, CountKey, Reader, Writer};
use nodesift::engine::{Depth, Engine, Nodes, Phase, PodRef, Question, Reuse};
use nodesift::limits::COUNTS_PER_PUBLICATION;
use nodesift::metadata::{self, LabelRequirement, PodRecord, PodSelector};
use nodesift::object::selector::Operator;
use nodesift::object::{Node, Pod};
use nodesift::policy::{ActivePolicy, Policy};
use nodesift::sandbox::Runtime;
use nodesift::source::synthetic::{PENDING, Shape};

/// Materialised counts alive while one pod event is measured.
const COUNTS: usize = 200;

fn main() {
    let given = |argument: &str| std::env::args().any(|known| known == argument);
    // Without `--bench` cargo only wants to see it run.
    let smoke = !given("--bench");
    let quick = smoke || given("--quick");
    let sizes: &[(u32, u32)] = match (smoke, quick) {
        (true, _) => &[(100, 30)],
        (false, true) => &[(5_000, 30)],
        (false, false) => &[(5_000, 30), (100_000, 10)],
    };
    println!(
        "{:>8} {:>9}  {:<4} {:>14} {:>22} {:>14} {:>14}",
        "nodes", "pods", "pod", "cold", "cold, after one event", "warm", "one pod bound"
    );
    for &(nodes, pods_per_node) in sizes {
        let shape = Shape { nodes, pods_per_node, seed: 1 };
        let (mut writer, reader) = cluster(shape);
        let (cold, keeping) = (engine(&reader).reusing(Reuse::Off), engine(&reader));
        let rounds = if quick { 50 } else { 300 };
        for (name, json) in PENDING {
            let question = question(json);
            let ask = |engine: &Engine| drop(std::hint::black_box(engine.answer(&question).unwrap()));
            ask(&cold);
            // The writer takes over what readers asked for.
            touch(&mut writer, shape, 0);
            ask(&cold);
            let mut event = 0;
            let mut measure = |engine: &Engine, events: bool| {
                ask(engine);
                let rounds = if events { rounds / 4 } else { rounds };
                let before = || {
                    if events {
                        event += 1;
                        touch(&mut writer, shape, event);
                    }
                };
                micros(median(rounds, before, |()| ask(engine)))
            };
            let pods = nodes * pods_per_node;
            let [cold, cold_after, warm, bound] =
                [measure(&cold, false), measure(&cold, true), measure(&keeping, false), measure(&keeping, true)];
            println!(
                "{nodes:>8} {pods:>9}  {name:<4} {cold:>11.1} µs {cold_after:>19.1} µs {warm:>11.1} µs {bound:>11.1} µs"
            );
        }
        measure_event(&mut writer, &reader, shape, rounds * 10);
    }
}

/// What one pod event costs, publishing included, while readers hold snapshots and counts are alive.
fn measure_event(writer: &mut Writer, reader: &Reader, shape: Shape, rounds: usize) {
    for app in 0..COUNTS {
        let requirement = LabelRequirement::new("app", Operator::In, [Arc::from(format!("app-{app}"))]).unwrap();
        let namespaces = (0..20).map(|namespace| Arc::from(format!("ns-{namespace}"))).collect();
        let selector = PodSelector { namespaces, namespace_requirements: None, requirements: vec![requirement] };
        reader.snapshot().count(&CountKey { selectors: vec![selector], terminating: false });
    }
    // Each publication takes over some of them.
    (0..COUNTS.div_ceil(COUNTS_PER_PUBLICATION)).for_each(|_| touch(writer, shape, usize::MAX));
    let pods: Vec<PodRecord> = shape.pods().step_by(7).take(rounds).map(|json| record(&json)).collect();
    let mut events = pods.iter().cycle().cloned();
    let mut held = reader.snapshot();
    let taken = median(
        rounds,
        || events.next().unwrap(),
        |pod| {
            writer.remove_pod(&pod.uid);
            writer.apply_pod(pod);
            writer.publish();
            held = reader.snapshot();
        },
    );
    drop(held);
    // A removal and an addition are two events.
    println!("{:>8}  one pod event with {COUNTS} counts alive: {:.2} µs", shape.nodes, micros(taken) / 2.0);
}

/// One pod event: a pod that matches nothing that pods a–d ask for comes or goes.
fn touch(writer: &mut Writer, shape: Shape, event: usize) {
    let json = shape.pods().nth(event % 1_000).unwrap();
    let mut pod = record(&json);
    pod.uid = Arc::from("touch");
    pod.name = Arc::from("touch");
    if event.is_multiple_of(2) {
        writer.apply_pod(pod)
    } else {
        writer.remove_pod("touch")
    }
    writer.publish();
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

fn question(json: &str) -> Question {
    let pod: Pod = serde_json::from_str(json).unwrap();
    Question {
        pods: vec![PodRef::Whole(Box::new(pod))],
        nodes: Nodes::All,
        phase: Phase::Allocate,
        depth: Depth::FirstFailure,
    }
}

fn median<T>(rounds: usize, mut prepare: impl FnMut() -> T, mut run: impl FnMut(T)) -> Duration {
    let mut times: Vec<Duration> = (0..rounds.max(1))
        .map(|_| {
            let prepared = prepare();
            let started = Instant::now();
            run(prepared);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
