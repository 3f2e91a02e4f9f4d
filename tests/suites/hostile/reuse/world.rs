//! A small cluster, an engine with one custom predicate, and the predicates that look for gold nodes.

use std::sync::Arc;

use nodesift_cache::metadata::{self, Selection};
use nodesift_cache::{self as cache, Reader, Writer};
use nodesift_engine::{ActivePolicy, ActivePredicate, OnError, Phases, PolicySettings};
use nodesift_engine::{Engine, Metrics, Nodes, Options, PodAnswer, PodRef, Query, Reuse, RowsByName};
use nodesift_sandbox::Runtime;
use nodesift_tests::guest::{Guest, SCRATCH};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use crate::arena::grants;

/// Nodes of the usual cluster: enough that one changed node is evaluated alone.
pub(super) const NODES: usize = 10;

/// The annotation keys of the policy of every world.
const ANNOTATION_KEYS: [&str; 1] = ["tier"];

/// The ConfigMap of the policy of every world.
pub(super) const CONFIG_MAP: &str = "ops/tiers";

/// Compares the codes of a column, whose address is at 2072, with the one at 2068, and rejects the rows that have another.
pub(super) fn gold_rows() -> String {
    format!(
        "(call $failure (i32.const 96) (i32.const 0) (i32.const 112) (i32.const 1))
         (block $done (loop $row
           (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
           (i32.store16
             (i32.add (i32.const {SCRATCH}) (i32.shl (local.get $i) (i32.const 1)))
             (i32.ne
               (i32.load (i32.add (i32.load (i32.const 2072)) (i32.shl (local.get $i) (i32.const 2))))
               (i32.load (i32.const 2068))))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br $row)))
         (call $by_row (i32.const {SCRATCH}) (local.get $rows) (i32.const 96) (i32.const 1))"
    )
}

/// A predicate that fits every node while there is no gold one, and gold ones alone where there is. It reads the tier from
/// an interface of label or annotation columns. With more imports, and instructions to run first.
pub(super) fn gold_of(interface: &str, imports: &str, first: &str) -> Guest {
    Guest::healthy()
        .imports(format!(
            r#"(import "nodesift:predicate/{interface}@0.2.0" "code" (func $code (param i32 i32 i32 i32 i32)))
               (import "nodesift:predicate/{interface}@0.2.0" "column" (func $column (param i32 i32 i32)))
               {imports}"#
        ))
        .definitions(r#"(data (i32.const 2048) "tiergold")"#)
        .filter(format!(
            "{first}
             (call $code (i32.const 2048) (i32.const 4) (i32.const 2052) (i32.const 4) (i32.const 2064))
             (if (i32.eqz (i32.load8_u (i32.const 2064))) (then (return (call $fits_all))))
             (call $column (i32.const 2048) (i32.const 4) (i32.const 2072))
             {}",
            gold_rows()
        ))
}

pub(super) fn gold_after(imports: &str, first: &str) -> Guest {
    gold_of("node-labels", imports, first)
}

pub(super) fn gold() -> Guest {
    gold_after("", "")
}

/// A cluster, an engine with one predicate, and its metrics.
pub(super) struct World {
    pub(super) writer: Writer,
    pub(super) engine: Engine,
    pub(super) registry: Registry,
}

impl World {
    pub(super) fn new(guest: &Guest) -> Self {
        let (writer, reader) = cache::new();
        let mut registry = Registry::default();
        let engine = engine(guest, reader, &mut registry);
        Self { writer, engine, registry }
    }

    /// A world with the usual nodes, none of which is gold.
    pub(super) fn with_silver_nodes(guest: &Guest) -> Self {
        let mut world = Self::new(guest);
        (0..NODES).for_each(|number| world.node(number, "silver"));
        world.writer.publish();
        world
    }

    pub(super) fn node(&mut self, number: usize, tier: &str) {
        let labels = if tier.is_empty() { json!({}) } else { json!({"tier": tier}) };
        let node = json!({"metadata": {"name": format!("n{number}"), "labels": labels}});
        self.writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    }

    pub(super) fn cordoned_node(&mut self, number: usize, labels: &Value) {
        let metadata = json!({"name": format!("n{number}"), "labels": labels});
        let node = json!({"metadata": metadata, "spec": {"unschedulable": true}});
        self.writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    }

    /// A node whose tier is an annotation.
    pub(super) fn annotated_node(&mut self, number: usize, key: &str, tier: &str) {
        let annotations = if tier.is_empty() { json!({}) } else { json!({key: tier}) };
        let node = json!({"metadata": {"name": format!("n{number}"), "annotations": annotations}});
        let node = metadata::node_selecting(
            &serde_json::from_value(node).unwrap(),
            &Selection::annotations(&annotation_keys()),
        );
        self.writer.apply(node);
    }

    pub(super) fn ask(&self) -> PodAnswer {
        self.ask_about(Nodes::All)
    }

    pub(super) fn ask_about(&self, nodes: Nodes) -> PodAnswer {
        let answer = self.engine.answer(&Query::new([pending()]).with_nodes(nodes), Options::default());
        answer.unwrap_or_else(|error| panic!("{error}")).pods.remove(0)
    }

    /// The names of the nodes that fit.
    pub(super) fn fits(&self) -> Vec<String> {
        let (answer, snapshot) = (self.ask(), self.engine.snapshot());
        RowsByName::new(&answer.feasible, &snapshot.node_names())
            .map(|row| snapshot.node_name(row).to_owned())
            .collect()
    }

    pub(super) fn counted(&self, line: &str) -> u64 {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let value = text.lines().find_map(|found| found.strip_prefix(line)).map(str::trim);
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {line} in\n{text}"))
    }

    pub(super) fn patched(&self) -> u64 {
        self.counted(r#"nodesift_verdicts_total{from="patched"}"#)
    }

    pub(super) fn evaluated(&self) -> u64 {
        self.counted(r#"nodesift_verdicts_total{from="evaluated"}"#)
    }
}

pub(super) fn engine(guest: &Guest, reader: Reader, registry: &mut Registry) -> Engine {
    let runtime = Runtime::start(None).unwrap();
    let module = runtime.load(&guest.component(), grants()).unwrap();
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
    let policy = ActivePolicy {
        settings: Arc::new(PolicySettings {
            annotation_keys: annotation_keys().into(),
            config_maps: [CONFIG_MAP.to_owned()].into(),
            ..PolicySettings::default()
        }),
        ..ActivePolicy::new(Vec::new(), vec![predicate])
    };
    Engine::new(reader, policy, runtime).with_reuse(Reuse::Verified).with_metrics(Metrics::register(registry))
}

pub(super) fn annotation_keys() -> Vec<String> {
    ANNOTATION_KEYS.map(str::to_owned).to_vec()
}

pub(super) fn object(pod: Value) -> nodesift_object::Pod {
    serde_json::from_value(pod).unwrap()
}

pub(super) fn pending() -> PodRef {
    PodRef::Whole(Box::new(object(json!({"metadata": {"name": "p", "namespace": "default", "uid": "p"}}))))
}
