//! Ingestion speed: a whole cluster as an API server lists it, and a stream of pod events.
//!
//! Prints JSON lines: wall time is the latency, processor time the cost on a machine with other work.
//! `cargo bench --workspace --bench ingest`; `-- events` omits the
//! lists.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cpu_time::{ProcessTime, ThreadTime};
use nodesift_bench::load::{BATCH, PAGE, apply_all, compile_page, load};
use nodesift_cache::limits::COUNTS_PER_PUBLICATION;
use nodesift_cache::metadata::{LabelRequirement, PodSelector};
use nodesift_cache::{self as cache, CountKey, Identity, Reader};
use nodesift_fixtures::api_objects::{ApiObjects, Stage};
use nodesift_object::selector::Operator;
use nodesift_object::{Kind, Object};
use nodesift_source::change::{Compiled, Compiler};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Threads that decode pages.
const DECODERS: usize = 2;

/// Pods whose events are measured together: many, so that an event rarely finds its pod in the processor caches.
const GROUP: u32 = 20_000;

/// Objects that are decoded and then compiled: few, so that compilation finds them in the processor caches, like a source that
/// compiles each line of a watch at once.
const HOT: u32 = 50;

fn main() {
    // Without `--bench` this is a smoke test.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (nodes, pods, group, rounds) = if is_measured { (5_000, 150_000, GROUP, 5) } else { (50, 1_500, 200, 1) };
    let generator = ApiObjects { nodes, daemons: 5, replicas: 30, bare: false };
    if std::env::args().all(|argument| argument != "events") {
        list(generator, pods);
    }
    for counts in [0, 200] {
        events(generator, pods, group, rounds, counts);
    }
}

/// From the bytes to the published cluster.
fn list(generator: ApiObjects, pods: u32) {
    let nodes = generator.node_pages(PAGE).map(|page| (Kind::Node, page));
    let pages: Vec<(Kind, Vec<u8>)> =
        nodes.chain(generator.pod_pages(pods, PAGE).map(|page| (Kind::Pod, page))).collect();
    let bytes: usize = pages.iter().map(|(_, page)| page.len()).sum();
    for _ in 0..3 {
        let compiler = Compiler::new(&["default-scheduler".to_owned()]);
        let (mut writer, reader) = cache::new();
        let (started, processor) = (Instant::now(), ProcessTime::now());
        let next = AtomicUsize::new(0);
        let decode = || -> Vec<(usize, Vec<Compiled>)> {
            let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|page| *page < pages.len());
            std::iter::from_fn(take)
                .map(|page| (page, compile_page(pages[page].0, &pages[page].1, &compiler)))
                .collect()
        };
        let mut decoded: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..DECODERS).map(|_| scope.spawn(decode)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let (decoding, decoding_processor) = (started.elapsed(), processor.elapsed());
        decoded.sort_unstable_by_key(|(page, _)| *page);
        apply_all(&mut writer, decoded.into_iter().flat_map(|(_, objects)| objects).collect());
        let (all, all_processor) = (started.elapsed(), processor.elapsed());
        assert_eq!(reader.pods().len(), pods as usize);
        println!(
            r#"{{"name":"list","nodes":{},"pods":{pods},"bytes":{bytes},"decoders":{DECODERS},"decode_seconds":{:.3},"apply_seconds":{:.3},"all_seconds":{:.3},"decode_processor_seconds":{:.3},"all_processor_seconds":{:.3}}}"#,
            generator.nodes,
            decoding.as_secs_f64(),
            (all - decoding).as_secs_f64(),
            all.as_secs_f64(),
            decoding_processor.as_secs_f64(),
            all_processor.as_secs_f64(),
        );
    }
}

/// Complete pod lifetimes in a full cluster. An event is a decoded object; it is compiled and applied on one thread, and
/// published in a batch.
fn events(generator: ApiObjects, pods: u32, group: u32, rounds: u32, counts: u32) {
    let compiler = Compiler::new(&["default-scheduler".to_owned()]);
    let (mut writer, reader) = cache::new();
    load(Kind::Node, generator.node_pages(PAGE), &compiler, &mut writer);
    let bare = ApiObjects { bare: true, ..generator };
    load(Kind::Pod, bare.pod_pages(pods, PAGE), &compiler, &mut writer);
    ask_for_counts(&reader, counts, pods / generator.replicas);
    // The writer takes over some of the requested counts with each publication.
    (0..(counts as usize).div_ceil(COUNTS_PER_PUBLICATION)).for_each(|_| writer.publish());
    let mut best = [Cost::MAX; STAGES.len() + 1];
    let mut sum_best = Cost::MAX;
    for round in 0..rounds {
        let mut sum = Cost::default();
        let mut uids: Vec<Arc<str>> = Vec::new();
        for (stage, best) in STAGES.iter().zip(&mut best) {
            let decode = |pod: u32| -> Object {
                let json = generator.pod(pods + pod, round + 1, *stage);
                nodesift_object::decode::decode(Kind::Pod, &json).unwrap()
            };
            uids.clear();
            let mut cost = Cost::default();
            for from in (0..group).step_by(HOT as usize) {
                let objects: Vec<Object> = (from..group.min(from + HOT)).map(decode).collect();
                let clock = Clock::start();
                for object in &objects {
                    let compiled = compiler.compile(object);
                    uids.push(Arc::clone(&compiled.identity.uid));
                    writer.apply(compiled.record);
                }
                if uids.len().is_multiple_of(BATCH) {
                    writer.publish();
                }
                cost = cost.plus(clock.cost());
            }
            sum = sum.plus(cost);
            *best = best.min(cost);
        }
        assert_eq!(reader.pods().len(), (pods + group) as usize);
        let clock = Clock::start();
        for batch in uids.chunks(BATCH) {
            batch.iter().for_each(|uid| writer.remove(&Identity::pod(uid)));
            writer.publish();
        }
        let cost = clock.cost();
        sum = sum.plus(cost);
        best[STAGES.len()] = best[STAGES.len()].min(cost);
        sum_best = sum_best.min(sum);
        assert_eq!(reader.pods().len(), pods as usize);
    }
    let names = ["created", "bound", "started", "status", "status again", "deleted"];
    for (name, cost) in names.iter().zip(best) {
        cost.print(name, counts, group);
    }
    sum_best.print("all", counts, group * u32::try_from(best.len()).unwrap());
}

/// The stages of a pod before its deletion; the last two change only its version.
const STAGES: [Stage; 5] = [Stage::Pending, Stage::Bound, Stage::Running(0), Stage::Running(1), Stage::Running(2)];

/// Requests counts for every third app, as topology spread does.
fn ask_for_counts(reader: &Reader, counts: u32, first: u32) {
    for app in (first..).step_by(3).take(counts as usize) {
        let requirement = LabelRequirement::new("app", Operator::In, [Arc::from(format!("app-{app}"))]).unwrap();
        let namespaces = vec![Arc::from(ApiObjects::namespace(app))];
        let selector = PodSelector { namespaces, namespace_requirements: None, requirements: vec![requirement] };
        reader.snapshot().count(&CountKey { selectors: vec![selector], terminating: false });
    }
}

struct Clock(Instant, ThreadTime);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), ThreadTime::now())
    }

    fn cost(&self) -> Cost {
        Cost { wall: self.0.elapsed(), processor: self.1.elapsed() }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    wall: Duration,
    processor: Duration,
}

impl Cost {
    const MAX: Self = Self { wall: Duration::MAX, processor: Duration::MAX };

    fn plus(self, other: Self) -> Self {
        Self { wall: self.wall + other.wall, processor: self.processor + other.processor }
    }

    fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), processor: self.processor.min(other.processor) }
    }

    fn print(self, name: &str, counts: u32, events: u32) {
        let per_second = |time: Duration| f64::from(events) / time.as_secs_f64();
        println!(
            r#"{{"name":"events {name}","counts":{counts},"events":{events},"per_second":{:.0},"per_processor_second":{:.0}}}"#,
            per_second(self.wall),
            per_second(self.processor)
        );
    }
}
