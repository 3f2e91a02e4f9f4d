//! The evaluation before the first question: it builds what a question needs, ends in time whatever predicates do, and nobody is blamed for
//! what fails in it.

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::{self as cache, SharedWriter, metadata};
use nodesift_engine::limits::{QUARANTINE_FAULTS, SET_ASIDE_FAULTS, WARM_UP_TIME};
use nodesift_engine::{
    ActivePolicy, ActivePredicate, Engine, Metrics, Mode, OnError, Options, Phases, PodAnswer, PodRef, Query, WarmUp,
};
use nodesift_sandbox::Runtime;
use nodesift_sandbox::fault::FaultKind;
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use crate::arena::grants;

const NODES: usize = 10;

/// The bytes of columns of labels that are built.
const COLUMNS: &str = r#"nodesift_cache_bytes{part="label_columns"}"#;

/// An engine whose only predicate is a guest, on nodes with a label.
struct World {
    engine: Engine,
    registry: Registry,
    _writer: SharedWriter,
}

impl World {
    fn new(guest: &Guest) -> Self {
        let (mut writer, reader) = cache::new();
        for number in 0..NODES {
            let node = json!({"metadata": {"name": format!("n{number}"), "labels": {"tier": "silver"}}});
            writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
        }
        writer.publish();
        let writer = Arc::new(Mutex::new(writer));
        let mut registry = Registry::default();
        cache::MemoryStats::register(&writer, &mut registry);
        let runtime = Runtime::start(None).unwrap();
        let predicate = ActivePredicate {
            name: Arc::from("Own"),
            phases: Phases::ALL,
            on_error: OnError::Reject,
            mode: Mode::Enforce,
            digest: [0; 32],
            module: Arc::new(runtime.load(&guest.component(), grants()).unwrap()),
            counts: Arc::default(),
            breaker: Arc::default(),
            is_beside: false,
        };
        let engine = Engine::new(reader, ActivePolicy::new(Vec::new(), vec![predicate]), runtime);
        let engine = engine.with_metrics(Metrics::register(&mut registry));
        Self { engine, registry, _writer: writer }
    }

    fn ask(&self) -> PodAnswer {
        let pod = json!({"metadata": {"name": "p", "namespace": "default"}});
        let query = Query::new([PodRef::Whole(serde_json::from_value(pod).unwrap())]);
        self.engine.answer(&query, Options::default()).unwrap().pods.remove(0)
    }

    fn counted(&self, line: &str) -> u64 {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let value = text.lines().find_map(|found| found.strip_prefix(line)).map(str::trim);
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {line} in\n{text}"))
    }

    /// That nothing of what operators read has changed.
    fn nobody_is_blamed(&self) {
        let policy = self.engine.policy();
        let predicate = &policy.predicates[0];
        assert!(predicate.breaker.quarantine().is_none());
        assert!(predicate.breaker.set_aside().is_empty() && policy.throttle.list().is_empty());
        assert_eq!((predicate.counts.calls(), predicate.counts.faults().len()), (0, 0));
        assert_eq!(self.counted(r#"nodesift_verdicts_total{from="evaluated"}"#), 0);
    }

    /// Waits until an instance waits for the next call.
    fn has_a_spare(&self) {
        let policy = self.engine.policy();
        let waits = || (policy.predicates[0].module.waiting() > 0).then_some(());
        timeout::until(waits).expect("an instance waits");
    }
}

#[test]
fn after_it_the_first_question_builds_nothing() {
    let _beside = beside_others();
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-labels@0.2.0" "column" (func $column (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "tier")"#)
        .filter("(call $column (i32.const 2048) (i32.const 4) (i32.const 2072)) (call $fits_all)");
    let world = World::new(&guest);
    assert_eq!(world.counted(COLUMNS), 0);
    assert_eq!(world.engine.warm_up(), WarmUp { pods: 1, is_cut: false });
    let built = world.counted(COLUMNS);
    assert!(built > 0);
    world.nobody_is_blamed();
    world.has_a_spare();
    let answer = world.ask();
    assert!(answer.faults.is_empty(), "{answer:?}");
    assert_eq!(world.counted(COLUMNS), built);
    // Only the question is counted.
    assert_eq!(world.engine.policy().predicates[0].counts.calls(), 1);
}

#[test]
fn one_that_never_ends_takes_its_time_and_no_more_and_is_not_blamed() {
    let _beside = beside_others();
    // The policy grants a call thirty seconds.
    let world = World::new(&Guest::healthy().filter("(loop $forever (br $forever)) (unreachable)"));
    let started = Instant::now();
    assert_eq!(world.engine.warm_up(), WarmUp { pods: 0, is_cut: true });
    timing::at_most("an evaluation that never ends", started.elapsed(), WARM_UP_TIME);
    world.nobody_is_blamed();
    world.has_a_spare();
}

#[test]
fn one_that_fails_again_and_again_is_called_by_the_first_question_all_the_same() {
    let _beside = beside_others();
    let world = World::new(&Guest::healthy().filter("unreachable"));
    for _ in 0..2 * QUARANTINE_FAULTS.max(SET_ASIDE_FAULTS as usize) {
        assert_eq!(world.engine.warm_up(), WarmUp { pods: 1, is_cut: false });
    }
    world.nobody_is_blamed();
    let answer = world.ask();
    assert_eq!(answer.faults.first().map(|report| report.fault.kind), Some(FaultKind::Trap), "{answer:?}");
}
