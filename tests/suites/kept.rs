//! The memory of cached verdicts, measured with a counting allocator: the bytes that are freed when all of them are dropped.
//! Columns that a snapshot shares are not freed, so the measured bytes are never more than the counted ones.
//!
//! Runtimes make no spare instances: their thread allocates and frees beside the measurement.
//!
//! This is a separate suite with few tests, because the allocator counts for the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

#[path = "differential/mirror.rs"]
#[allow(dead_code, reason = "overlays are not used")]
mod mirror;

use std::alloc::System;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cap::Cap;
use nodesift_cache::metadata;
use nodesift_cache::{self as cache, Reader};
use nodesift_engine::{ActivePolicy, ActivePredicate, OnError, Phases};
use nodesift_engine::{Engine, FaultReport, Metrics, Options, PodRef, Query};
use nodesift_fixtures::random::History;
use nodesift_fixtures::synthetic::Shape;
use nodesift_object::Pod;
use nodesift_policy::Policy;
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::{Grants, Runtime};
use nodesift_tests::compiled;
use nodesift_tests::guest::Guest;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use mirror::Mirror;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Histories, and rounds of events in each.
const HISTORIES: u64 = 6;
const ROUNDS: usize = 60;

/// Pods per round of queries.
const ASKED: usize = 6;

/// Time per call, in place of the policy's: this suite measures memory, and a busy machine is slow.
const CALL_TIME: Duration = Duration::from_secs(30);

/// Limit of the store in bytes: less than the verdicts of a history take.
const LIMIT: usize = 512 << 10;

#[test]
fn kept_verdicts_take_what_they_are_counted_as_and_no_more_than_they_may() {
    random_histories_stay_within_the_limit();
    texts_that_guests_ask_by_are_counted();
    dictionaries_of_columns_are_counted();
    what_a_template_takes_is_said();
}

/// Drops the cached verdicts of an engine. Returns the freed bytes and the counted bytes.
fn forget(engine: Engine, registry: &Registry) -> (usize, usize) {
    let counted = metric(registry, "nodesift_verdicts_kept_bytes ");
    let others = Metrics::default();
    let before = ALLOCATOR.allocated();
    let engine = engine.with_metrics(others);
    let freed = before.saturating_sub(ALLOCATOR.allocated());
    drop(engine);
    (freed, counted)
}

fn metric(registry: &Registry, name: &str) -> usize {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

fn ask(engine: &Engine, pod: Pod) {
    let query = Query::new([PodRef::Whole(Box::new(pod))]);
    let answer = engine.answer(&query, Options::default()).unwrap();
    let is_unsupported = |report: &FaultReport| report.fault.kind == FaultKind::Unsupported;
    assert!(answer.pods[0].faults.iter().all(is_unsupported), "{:?}", answer.pods[0].faults);
}

fn default_policy() -> Policy {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let read = Policy::read(nodesift_bundle::DEFAULT_POLICY, "the default policy", Path::new(""), &builtins);
    let mut policy = read.unwrap();
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(CALL_TIME));
    policy
}

fn random_histories_stay_within_the_limit() {
    let first = nodesift_seed::seed();
    let policy = default_policy();
    let mut evicted = 0;
    for seed in (0..HISTORIES).map(|history| first.wrapping_add(history)) {
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(history.cluster.objects());
        let runtime = runtime();
        let active = nodesift_policy::activate(&policy, 1, &runtime).unwrap();
        let mut registry = Registry::default();
        let engine = Engine::new(mirror.reader(), active, runtime);
        let engine = engine.with_store_bytes(LIMIT).with_metrics(Metrics::register(&mut registry));
        let mut pool: Vec<Pod> = Vec::new();
        for _ in 0..ROUNDS {
            mirror.follow(&history.advance());
            pool.extend((0..ASKED / 2).map(|_| mirror::pod(&history.asked_pod())));
            for pod in pool.iter().rev().take(ASKED) {
                ask(&engine, pod.clone());
                let counted = metric(&registry, "nodesift_verdicts_kept_bytes ");
                assert!(counted <= LIMIT, "seed {seed}: {counted} bytes are counted, the limit is {LIMIT}");
            }
        }
        evicted += metric(&registry, "nodesift_verdicts_evicted_total ");
        let (freed, counted) = forget(engine, &registry);
        println!("seed {seed}: {freed} bytes freed, {counted} counted");
        assert!(freed <= 2 * LIMIT, "seed {seed}: {freed} bytes were cached, the limit is {LIMIT}");
        assert!(freed <= counted, "seed {seed}: {freed} bytes were cached, {counted} counted");
        assert!(counted > LIMIT / 4, "seed {seed}: {counted} bytes are too few to test the limit");
    }
    assert!(evicted > 0, "nothing was evicted");
}

/// A runtime that finds the predicates of the default policy compiled.
fn runtime() -> Runtime {
    let binary = Path::new(env!("CARGO_BIN_EXE_nodesift"));
    let folder = compiled::folder(binary, Path::new(env!("CARGO_TARGET_TMPDIR")));
    Runtime::start(Some(&folder)).unwrap().without_spares()
}

fn engine_of(guest: &Guest, reader: Reader, registry: &mut Registry) -> Engine {
    let runtime = Runtime::start(None).unwrap().without_spares();
    let grants = Grants { time_per_call: Some(CALL_TIME), ..Grants::default() };
    let module = runtime.load(&guest.component(), grants).unwrap();
    let predicate = ActivePredicate {
        name: Arc::from("Guest"),
        phases: Phases::ALL,
        on_error: OnError::Reject,
        mode: nodesift_engine::Mode::Enforce,
        module: Arc::new(module),
        digest: [0; 32],
        counts: Arc::default(),
        breaker: Arc::default(),
        is_beside: false,
    };
    let policy = ActivePolicy::new(Vec::new(), vec![predicate]);
    Engine::new(reader, policy, runtime).with_metrics(Metrics::register(registry))
}

fn pod() -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "default"}})).unwrap()
}

fn texts_that_guests_ask_by_are_counted() {
    // 100 keys of a megabyte, whose verdicts are not cached; 60 of a kilobyte, whose verdicts are cached and counted.
    for (bytes, labels, least, most) in [(1 << 20, 100, 0, 16 << 10), (1 << 10, 60, 60 << 10, 256 << 10)] {
        let (mut writer, reader) = cache::new();
        writer.publish();
        let mut registry = Registry::default();
        let engine = engine_of(&Guest::asking(bytes, labels), reader, &mut registry);
        ask(&engine, pod());
        let (freed, counted) = forget(engine, &registry);
        println!("{labels} keys of {bytes} bytes: {freed} bytes freed, {counted} counted");
        assert!((least..=most).contains(&freed), "{freed} bytes were cached");
        assert!(freed <= counted && counted <= most, "{freed} bytes were cached, {counted} counted");
    }
}

fn dictionaries_of_columns_are_counted() {
    // The guest reads a label column with distinct values, as a cluster-wide predicate.
    let guest = Guest::healthy()
        .imports(
            r#"(import "nodesift:predicate/node-labels@0.2.0" "column" (func $column (param i32 i32 i32)))
               (import "nodesift:predicate/cluster-affinity@0.2.0" "topology-keys" (func $keys (param i32)))"#,
        )
        .definitions(r#"(data (i32.const 2048) "host")"#)
        .filter(
            "(call $keys (i32.const 2064))
             (call $column (i32.const 2048) (i32.const 4) (i32.const 2072))
             (call $fits_all)",
        );
    let (mut writer, reader) = cache::new();
    let node = |number: usize, host: String| {
        let node = json!({"metadata": {"name": format!("n{number}"), "labels": {"host": host}}});
        metadata::node(&serde_json::from_value(node).unwrap())
    };
    for number in 0..5_000 {
        writer.apply(node(number, format!("a-host-of-this-cluster-{number}")));
    }
    writer.publish();
    let mut registry = Registry::default();
    let engine = engine_of(&guest, reader, &mut registry);
    ask(&engine, pod());
    // The cluster changes: from now on only the cached verdict holds the old column.
    (0..5_000).for_each(|number| writer.apply(node(number, format!("another-one-{number}"))));
    writer.publish();
    let (freed, counted) = forget(engine, &registry);
    println!("a column of 5000 texts: {freed} bytes freed, {counted} counted");
    // The strings themselves are interned and not freed at once.
    assert!(freed > 5_000 * 60, "only {freed} bytes were cached");
    assert!(freed <= counted, "{freed} bytes were cached, {counted} counted");
}

/// Prints the counted bytes of one template, which the documentation of the limit states.
fn what_a_template_takes_is_said() {
    for nodes in [5_000, 100_000] {
        let (mut writer, reader) = cache::new();
        let shape = Shape { nodes, pods_per_node: 0, seed: 1 };
        for node in shape.nodes() {
            writer.apply(metadata::node(&serde_json::from_str(&node).unwrap()));
        }
        writer.publish();
        let runtime = runtime();
        let active = nodesift_policy::activate(&default_policy(), 1, &runtime).unwrap();
        let mut registry = Registry::default();
        let engine = Engine::new(reader, active, runtime).with_metrics(Metrics::register(&mut registry));
        // One predicate rejects rows: those of the other zones.
        let pod = json!({
            "metadata": {"name": "p", "namespace": "default", "labels": {"app": "web"}},
            "spec": {
                "nodeSelector": {"topology.kubernetes.io/zone": "eu-central-1a"},
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
            }
        });
        ask(&engine, serde_json::from_value(pod).unwrap());
        let (freed, counted) = forget(engine, &registry);
        println!("a template over {nodes} nodes: {freed} bytes freed, {counted} counted");
        assert!(freed <= counted && counted > 2 * nodes as usize, "{freed} bytes were cached, {counted} counted");
    }
}
