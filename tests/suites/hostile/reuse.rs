//! Custom predicates with cached verdicts: reads about the whole cluster, and failures on some rows only. Every engine here
//! compares cached verdicts with fresh ones and returns an error where they differ.

use std::sync::Arc;

use nodesift_cache::metadata;
use nodesift_cache::{self as cache, Reader, Writer};
use nodesift_engine::predicate_metrics::PredicateCounts;
use nodesift_engine::{ActivePolicy, ActivePredicate, OnError, Phases};
use nodesift_engine::{
    Candidate, Cycle, Depth, Engine, Metrics, Nodes, Phase, PodAnswer, PodRef, Preemption, Query, Reuse, RowsByName,
};
use nodesift_sandbox::Runtime;
use nodesift_tests::guest::{Guest, SCRATCH};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use crate::arena::grants;

/// Nodes of the usual cluster: enough that one changed node is evaluated alone.
const NODES: usize = 10;

/// The annotation keys of the policy of every world.
const ANNOTATION_KEYS: [&str; 1] = ["tier"];

/// A predicate that fits every node while there is no gold one, and gold ones alone where there is. It reads the tier from
/// an interface of label or annotation columns. With more imports, and instructions to run first.
fn gold_of(interface: &str, imports: &str, first: &str) -> Guest {
    Guest::healthy()
        .imports(format!(
            r#"(import "nodesift:predicate/{interface}@0.1.1" "code" (func $code (param i32 i32 i32 i32 i32)))
               (import "nodesift:predicate/{interface}@0.1.1" "column" (func $column (param i32 i32 i32)))
               {imports}"#
        ))
        .definitions(r#"(data (i32.const 2048) "tiergold")"#)
        .filter(format!(
            "{first}
             (call $code (i32.const 2048) (i32.const 4) (i32.const 2052) (i32.const 4) (i32.const 2064))
             (if (i32.eqz (i32.load8_u (i32.const 2064))) (then (return (call $fits_all))))
             (call $column (i32.const 2048) (i32.const 4) (i32.const 2072))
             (call $failure (i32.const 96) (i32.const 0) (i32.const 112) (i32.const 1))
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
        ))
}

fn gold_after(imports: &str, first: &str) -> Guest {
    gold_of("node-labels", imports, first)
}

fn gold() -> Guest {
    gold_after("", "")
}

/// A cluster, an engine with one predicate, and its metrics.
struct World {
    writer: Writer,
    engine: Engine,
    registry: Registry,
}

impl World {
    fn new(guest: &Guest) -> Self {
        let (writer, reader) = cache::new();
        let mut registry = Registry::default();
        let engine = engine(guest, reader, &mut registry);
        Self { writer, engine, registry }
    }

    /// The same with the usual nodes, none of which is gold.
    fn of_silver(guest: &Guest) -> Self {
        let mut world = Self::new(guest);
        (0..NODES).for_each(|number| world.node(number, "silver"));
        world.writer.publish();
        world
    }

    fn node(&mut self, number: usize, tier: &str) {
        let labels = if tier.is_empty() { json!({}) } else { json!({"tier": tier}) };
        let node = json!({"metadata": {"name": format!("n{number}"), "labels": labels}});
        self.writer.apply_node(&metadata::node(&serde_json::from_value(node).unwrap()));
    }

    fn cordoned_node(&mut self, number: usize, labels: &Value) {
        let metadata = json!({"name": format!("n{number}"), "labels": labels});
        let node = json!({"metadata": metadata, "spec": {"unschedulable": true}});
        self.writer.apply_node(&metadata::node(&serde_json::from_value(node).unwrap()));
    }

    /// A node whose tier is an annotation.
    fn annotated_node(&mut self, number: usize, key: &str, tier: &str) {
        let annotations = if tier.is_empty() { json!({}) } else { json!({key: tier}) };
        let node = json!({"metadata": {"name": format!("n{number}"), "annotations": annotations}});
        let node = metadata::node_with_annotations(&serde_json::from_value(node).unwrap(), &annotation_keys());
        self.writer.apply_node(&node);
    }

    fn ask(&self) -> PodAnswer {
        self.ask_about(Nodes::All)
    }

    fn ask_about(&self, nodes: Nodes) -> PodAnswer {
        let (phase, depth) = (Phase::Allocate, Depth::FirstFailure);
        let answer = self.engine.answer(&Query { pods: vec![pending()], nodes, phase, depth, deadline: None });
        answer.unwrap_or_else(|error| panic!("{error}")).pods.remove(0)
    }

    /// The names of the nodes that fit.
    fn fits(&self) -> Vec<String> {
        let (answer, snapshot) = (self.ask(), self.engine.snapshot());
        RowsByName::new(&answer.feasible, &snapshot.node_names())
            .map(|row| snapshot.node_name(row).to_owned())
            .collect()
    }

    fn counted(&self, line: &str) -> u64 {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let value = text.lines().find_map(|found| found.strip_prefix(line)).map(str::trim);
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {line} in\n{text}"))
    }

    fn patched(&self) -> u64 {
        self.counted(r#"nodesift_verdicts_total{from="patched"}"#)
    }

    fn evaluated(&self) -> u64 {
        self.counted(r#"nodesift_verdicts_total{from="evaluated"}"#)
    }
}

fn engine(guest: &Guest, reader: Reader, registry: &mut Registry) -> Engine {
    let runtime = Runtime::start(None).unwrap();
    let module = runtime.load(&guest.component(), grants()).unwrap();
    let predicate = ActivePredicate {
        name: Arc::from("Guest"),
        phases: Phases::ALL,
        on_error: OnError::Reject,
        module,
        counts: PredicateCounts::default(),
    };
    let policy = ActivePolicy {
        generation: 1,
        scheduler_names: Vec::new(),
        predicates: vec![predicate],
        annotation_keys: annotation_keys(),
        on_unsupported: OnError::Reject,
    };
    Engine::new(reader, policy, runtime).reusing(Reuse::Verified).counting(Metrics::register(registry))
}

fn annotation_keys() -> Vec<String> {
    ANNOTATION_KEYS.map(str::to_owned).to_vec()
}

fn object(pod: Value) -> nodesift_object::Pod {
    serde_json::from_value(pod).unwrap()
}

fn pending() -> PodRef {
    PodRef::Whole(Box::new(object(json!({"metadata": {"name": "p", "namespace": "default", "uid": "p"}}))))
}

#[test]
fn a_label_text_that_some_node_comes_to_carry_changes_the_verdict_of_the_others() {
    let mut world = World::of_silver(&gold());
    assert_eq!(world.fits().len(), NODES);
    world.node(3, "gold");
    world.writer.publish();
    assert_eq!(world.fits(), ["n3"]);
    // One more gold node changes one row.
    let before = world.patched();
    world.node(5, "gold");
    world.writer.publish();
    assert_eq!(world.fits(), ["n3", "n5"]);
    assert_eq!(world.patched(), before + 1, "the verdict was not patched");
    world.node(5, "silver");
    world.node(3, "");
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES, "no node is gold any more");
}

#[test]
fn an_annotation_that_some_node_comes_to_have_changes_the_verdict_of_the_others() {
    let mut world = World::new(&gold_of("node-annotations", "", ""));
    (0..NODES).for_each(|number| world.annotated_node(number, "tier", "silver"));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
    world.annotated_node(3, "tier", "gold");
    world.writer.publish();
    assert_eq!(world.fits(), ["n3"]);
    let before = world.patched();
    world.annotated_node(5, "tier", "gold");
    world.writer.publish();
    assert_eq!(world.fits(), ["n3", "n5"]);
    assert_eq!(world.patched(), before + 1, "the verdict was not patched");
    // A label or an annotation that the policy does not list changes nothing that this predicate reads.
    let evaluated = world.evaluated();
    world.node(7, "gold");
    world.annotated_node(8, "example.com/tier", "gold");
    world.writer.publish();
    assert_eq!(world.fits(), ["n3", "n5"]);
    world.annotated_node(3, "tier", "");
    world.annotated_node(5, "tier", "silver");
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES, "no node is gold any more");
    assert!(world.evaluated() > evaluated, "the lookup of the value has another result");
}

#[test]
fn a_pod_annotation_is_read_by_key_and_only_where_the_policy_lists_it() {
    // Rejects a pod without the annotation `tier`.
    let guest = |key: &str| {
        Guest::healthy()
            .imports(r#"(import "nodesift:predicate/pod-annotations@0.1.1" "annotation" (func $annotation (param i32 i32 i32)))"#)
            .definitions(format!(r#"(data (i32.const 2048) "{key}")"#))
            .filter(format!(
                "(call $annotation (i32.const 2048) (i32.const {}) (i32.const 2064))
                 (if (i32.load8_u (i32.const 2064)) (then (return (call $fits_all))))
                 (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))",
                key.len()
            ))
    };
    let asked = |world: &World, annotations: Value| {
        let pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "p", "annotations": annotations}});
        let pods = vec![PodRef::Whole(Box::new(object(pod)))];
        let query =
            Query { pods, nodes: Nodes::All, phase: Phase::Allocate, depth: Depth::FirstFailure, deadline: None };
        world.engine.answer(&query).unwrap().pods[0].cycle
    };
    let world = World::of_silver(&guest("tier"));
    assert_eq!(asked(&world, json!({})), Cycle::Rejected);
    assert_eq!(asked(&world, json!({"tier": "gold"})), Cycle::EachNode);
    let evaluated = world.evaluated();
    // Another annotation does not spoil reuse.
    assert_eq!(asked(&world, json!({"tier": "gold", "heartbeat": "1"})), Cycle::EachNode);
    assert_eq!(asked(&world, json!({"tier": "gold", "heartbeat": "2"})), Cycle::EachNode);
    assert_eq!(world.evaluated(), evaluated);
    let unlisted = World::of_silver(&guest("heartbeat"));
    assert_eq!(asked(&unlisted, json!({"heartbeat": "1"})), Cycle::Rejected, "the policy does not list the key");
}

#[test]
fn a_label_text_that_goes_with_its_last_node_changes_the_verdict_of_the_others() {
    let mut world = World::of_silver(&gold());
    world.node(NODES, "gold");
    world.writer.publish();
    assert_eq!(world.fits(), [format!("n{NODES}")]);
    world.writer.remove_node(&format!("n{NODES}"));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
}

#[test]
fn labels_that_come_and_go_at_random_leave_no_verdict_behind_that_a_fresh_one_contradicts() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut world = World::of_silver(&gold());
    for _ in 0..400 {
        for _ in 0..random.usize(1..3) {
            let number = random.usize(0..NODES + 4);
            match random.u8(0..8) {
                0 => world.writer.remove_node(&format!("n{number}")),
                1 => world.node(number, "gold"),
                other => world.node(number, ["silver", "bronze", ""][usize::from(other) % 3]),
            }
        }
        world.writer.publish();
        if random.bool() {
            world.ask();
        } else {
            let snapshot = world.engine.snapshot();
            let names = (0..NODES).map(|number| format!("n{number}"));
            world.ask_about(Nodes::Named(names.filter(|name| snapshot.node_row(name).is_some()).take(3).collect()));
        }
    }
    let (patched, evaluated) = (world.patched(), world.evaluated());
    assert!(
        patched > 5 && evaluated > 5,
        "a source of verdicts does not occur: {patched} patched, {evaluated} evaluated"
    );
}

#[test]
fn preemption_asks_about_the_labels_of_the_whole_cluster_and_not_of_the_candidate_alone() {
    // Importing what a pod takes of its node, it is asked about the node with one pod fewer after the other.
    let pods = r#"(import "nodesift:predicate/node-resources@0.1.1" "pods" (func $pods (param i32)))"#;
    let mut world = World::of_silver(&gold_after(pods, "(call $pods (i32.const 2080))"));
    world.node(3, "gold");
    for node in ["n1", "n3"] {
        let victim = json!({
            "metadata": {"name": node, "namespace": "default", "uid": node}, "spec": {"nodeName": node}
        });
        world.writer.apply_pod(metadata::pod_record(&object(victim), &[]));
    }
    world.writer.publish();
    assert_eq!(world.fits(), ["n3"]);
    for (node, expected) in [("n1", None), ("n3", Some(0))] {
        let candidate = Candidate { node: node.to_owned(), victims: vec![node.to_owned()], start: 0 };
        let answer =
            world.engine.preempt(&Preemption { pod: pending(), candidates: vec![candidate], deadline: None }).unwrap();
        assert!(answer.faults.is_empty(), "{:?}", answer.faults);
        assert_eq!(answer.outcomes[0].index, expected, "{node}");
    }
}

#[test]
fn what_a_device_class_serves_is_asked_again_though_there_is_no_node() {
    // Rejects the pod as a whole while no device class serves the resource.
    let guest = Guest::healthy()
        .imports(
            r#"(import "nodesift:predicate/node-resources@0.1.1" "device-class-serves"
                 (func $serves (param i32 i32) (result i32)))"#,
        )
        .definitions(r#"(data (i32.const 2048) "x.io/gpu")"#)
        .filter(
            "(if (call $serves (i32.const 2048) (i32.const 8)) (then (return (call $fits_all))))
             (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))",
        );
    for nodes in [0, NODES] {
        let mut world = World::new(&guest);
        (0..nodes).for_each(|number| world.node(number, "silver"));
        world.writer.publish();
        assert_eq!(world.ask().cycle, Cycle::Rejected);
        world.writer.apply_device_class("gpus", &[Arc::from("x.io/gpu")]);
        world.writer.publish();
        assert_eq!(world.ask().cycle, Cycle::EachNode, "{nodes} nodes");
        world.writer.remove_device_class("gpus");
        world.writer.publish();
        assert_eq!(world.ask().cycle, Cycle::Rejected, "{nodes} nodes");
    }
}

#[test]
fn a_predicate_that_fails_on_some_rows_alone_is_asked_about_all() {
    // Looks up one node by name, and traps if it is not in the batch.
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-identity@0.1.1" "row" (func $row (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "n0")"#)
        .filter(
            "(call $row (i32.const 2048) (i32.const 2) (i32.const 2064))
             (if (i32.eqz (i32.load8_u (i32.const 2064))) (then (unreachable)))
             (call $fits_all)",
        );
    let mut world = World::of_silver(&guest);
    assert_eq!(world.fits().len(), NODES);
    world.node(NODES, "silver");
    world.writer.publish();
    let answer = world.ask();
    assert!(answer.faults.is_empty(), "{:?}", answer.faults);
    assert_eq!(answer.feasible.len(), NODES + 1);
}

#[test]
fn a_verdict_that_asked_by_more_text_than_is_kept_is_evaluated_each_time() {
    let mut world = World::of_silver(&Guest::asking(1 << 20, 20));
    for query in 1..=3 {
        assert_eq!(world.fits().len(), NODES);
        assert_eq!(world.evaluated(), query);
    }
    world.writer.publish();
    let kept = world.counted("nodesift_verdicts_kept_bytes");
    assert!(kept < 16 << 10, "{kept} bytes are counted although nothing is cached");
    // A cached verdict is counted with its recorded reads.
    let world = World::of_silver(&Guest::asking(1 << 10, 40));
    world.fits();
    world.fits();
    assert_eq!(world.evaluated(), 1);
    let kept = world.counted("nodesift_verdicts_kept_bytes");
    assert!(kept > 40 << 10, "only {kept} bytes are counted");
}

/// What a guest reads to learn which rows are gold: the distinct values of all nodes, and a column of codes.
#[derive(Debug, Clone, Copy)]
enum Listed {
    Dictionary(&'static str),
    Integers(&'static str),
    Taints,
    Features,
}

impl Listed {
    const ALL: [Self; 6] = [
        Self::Dictionary("node-labels"),
        Self::Dictionary("node-annotations"),
        Self::Integers("node-labels"),
        Self::Integers("node-annotations"),
        Self::Taints,
        Self::Features,
    ];

    /// A predicate that fits every node while no value is gold, and the nodes with that value alone where one is.
    fn guest(self) -> Guest {
        let (interface, list, by_key) = match self {
            Self::Dictionary(interface) => (interface, "dictionary", true),
            Self::Integers(interface) => (interface, "integers", true),
            Self::Taints => ("node-taints", "sets", false),
            Self::Features => ("node-features", "sets", false),
        };
        // Every list has entries of eight bytes: texts and sets are an address and a length.
        let entry = "(i32.add (i32.load (i32.const 2080)) (i32.shl (local.get $j) (i32.const 3)))";
        let is_gold = match self {
            Self::Dictionary(_) => format!(
                "(if (result i32) (i32.eq (i32.load offset=4 {entry}) (i32.const 4))
                   (then (i32.eq (i32.load (i32.load {entry})) (i32.load (i32.const 2052))))
                   (else (i32.const 0)))"
            ),
            Self::Integers(_) => format!("(i64.eq (i64.load {entry}) (i64.const 77))"),
            Self::Taints | Self::Features => format!("(i32.ne (i32.load offset=4 {entry}) (i32.const 0))"),
        };
        let (parameters, key) =
            if by_key { ("(param i32 i32 i32)", "(i32.const 2048) (i32.const 4)") } else { ("(param i32)", "") };
        Guest::healthy()
            .imports(format!(
                r#"(import "nodesift:predicate/{interface}@0.1.1" "{list}" (func $list {parameters}))
                   (import "nodesift:predicate/{interface}@0.1.1" "column" (func $column {parameters}))"#
            ))
            .definitions(r#"(data (i32.const 2048) "tiergold")"#)
            .filter(format!(
                "(call $list {key} (i32.const 2080))
                 (i32.store (i32.const 2064) (i32.const 0))
                 (block $end (loop $entry
                   (br_if $end (i32.ge_u (local.get $j) (i32.load (i32.const 2084))))
                   (if {is_gold} (then
                     (i32.store (i32.const 2064) (i32.const 1))
                     (i32.store (i32.const 2068) (local.get $j))))
                   (local.set $j (i32.add (local.get $j) (i32.const 1)))
                   (br $entry)))
                 (if (i32.eqz (i32.load (i32.const 2064))) (then (return (call $fits_all))))
                 (call $column {key} (i32.const 2072))
                 (call $failure (i32.const 96) (i32.const 0) (i32.const 112) (i32.const 1))
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
            ))
    }

    fn apply(self, world: &mut World, number: usize, is_gold: bool) {
        let name = format!("n{number}");
        let tier = match (self, is_gold) {
            (_, false) => "silver",
            (Self::Integers(_), true) => "77",
            (_, true) => "gold",
        };
        let node = match self {
            Self::Dictionary("node-labels") | Self::Integers("node-labels") => return world.node(number, tier),
            Self::Dictionary(_) | Self::Integers(_) => return world.annotated_node(number, "tier", tier),
            Self::Taints => {
                let taints = if is_gold { json!([{"key": "gold", "effect": "NoSchedule"}]) } else { json!([]) };
                json!({"metadata": {"name": name}, "spec": {"taints": taints}})
            }
            Self::Features => {
                let features = if is_gold { json!(["Gold"]) } else { json!([]) };
                json!({"metadata": {"name": name}, "status": {"declaredFeatures": features}})
            }
        };
        world.writer.apply_node(&metadata::node(&serde_json::from_value(node).unwrap()));
    }
}

#[test]
fn a_value_that_comes_into_a_list_of_all_values_or_leaves_it_changes_the_verdict_of_other_nodes() {
    for listed in Listed::ALL {
        println!("{listed:?}");
        let mut world = World::new(&listed.guest());
        (0..NODES).for_each(|number| listed.apply(&mut world, number, false));
        world.writer.publish();
        assert_eq!(world.fits().len(), NODES);
        listed.apply(&mut world, 3, true);
        world.writer.publish();
        assert_eq!(world.fits(), ["n3"]);
        // The same list, another row.
        let before = world.patched();
        listed.apply(&mut world, 5, true);
        world.writer.publish();
        assert_eq!(world.fits(), ["n3", "n5"]);
        assert_eq!(world.patched(), before + 1, "the verdict was not patched");
        listed.apply(&mut world, 3, false);
        world.writer.remove_node("n5");
        world.writer.publish();
        assert_eq!(world.fits().len(), NODES - 1, "no node is gold any more, and no list says so");
    }
}

#[test]
fn a_node_that_is_looked_up_by_name_and_goes_or_comes_changes_the_verdict_of_the_others() {
    // Rejects the pod as a whole while there is no node n9.
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-identity@0.1.1" "row" (func $row (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "n9")"#)
        .filter(
            "(call $row (i32.const 2048) (i32.const 2) (i32.const 2064))
             (if (i32.load8_u (i32.const 2064)) (then (return (call $fits_all))))
             (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))",
        );
    let mut world = World::of_silver(&guest);
    let mut publish = |change: &mut dyn FnMut(&mut World)| {
        change(&mut world);
        world.writer.publish();
        world.fits().len()
    };
    assert_eq!(publish(&mut |_| ()), NODES);
    assert_eq!(publish(&mut |world| world.writer.remove_node("n9")), 0, "the last row went");
    assert_eq!(publish(&mut |world| world.node(9, "silver")), NODES);
    // Another node in its row, so that there are as many rows as before.
    let replace = &mut |world: &mut World| {
        world.writer.remove_node("n9");
        world.node(11, "silver");
    };
    assert_eq!(publish(replace), 0);
    assert_eq!(publish(&mut |world| world.writer.remove_node("n11")), 0);
    assert_eq!(publish(&mut |world| world.node(9, "silver")), NODES);
}

#[test]
fn a_row_that_went_is_no_reason_any_more() {
    // Rejects the pod as a whole while some node is cordoned.
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-taints@0.1.1" "unschedulable" (func $cordons (param i32)))"#)
        .filter(
            "(call $cordons (i32.const 2072))
             (block $done (loop $row
               (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
               (if (i32.load8_u (i32.add (i32.load (i32.const 2072)) (local.get $i)))
                 (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $row)))
             (call $fits_all)",
        );
    let mut world = World::of_silver(&guest);
    world.cordoned_node(NODES, &json!({}));
    world.writer.publish();
    assert_eq!(world.fits().len(), 0);
    world.writer.remove_node(&format!("n{NODES}"));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
}

#[test]
fn what_only_a_changed_row_made_a_predicate_read_is_watched_from_then_on() {
    // Rejects cordoned nodes that have a tier; without any tier it does not look at cordons.
    let guest = Guest::healthy()
        .imports(
            r#"(import "nodesift:predicate/node-labels@0.1.1" "column" (func $column (param i32 i32 i32)))
               (import "nodesift:predicate/node-taints@0.1.1" "unschedulable" (func $cordons (param i32)))"#,
        )
        .definitions(r#"(data (i32.const 2048) "tier")"#)
        .filter(format!(
            "(call $column (i32.const 2048) (i32.const 4) (i32.const 2072))
             (block $found
               (block $none (loop $row
                 (br_if $none (i32.ge_u (local.get $i) (local.get $rows)))
                 (br_if $found
                   (i32.load (i32.add (i32.load (i32.const 2072)) (i32.shl (local.get $i) (i32.const 2)))))
                 (local.set $i (i32.add (local.get $i) (i32.const 1)))
                 (br $row)))
               (return (call $fits_all)))
             (call $cordons (i32.const 2080))
             (call $failure (i32.const 96) (i32.const 0) (i32.const 112) (i32.const 1))
             (local.set $i (i32.const 0))
             (block $done (loop $row
               (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
               (i32.store16
                 (i32.add (i32.const {SCRATCH}) (i32.shl (local.get $i) (i32.const 1)))
                 (i32.and
                   (i32.load8_u (i32.add (i32.load (i32.const 2080)) (local.get $i)))
                   (i32.ne (i32.const 0)
                     (i32.load (i32.add (i32.load (i32.const 2072)) (i32.shl (local.get $i) (i32.const 2)))))))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $row)))
             (call $by_row (i32.const {SCRATCH}) (local.get $rows) (i32.const 96) (i32.const 1))"
        ));
    let mut world = World::new(&guest);
    (0..NODES).for_each(|number| world.node(number, ""));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
    let before = world.patched();
    world.node(3, "silver");
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
    assert_eq!(world.patched(), before + 1, "the verdict was not patched");
    world.cordoned_node(3, &json!({"tier": "silver"}));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES - 1);
}

#[test]
fn odd_label_keys_spoil_no_cached_verdict() {
    const KEYS: usize = 600;
    let labels = |tier: &str| {
        let odd = (0..KEYS).map(|key| (format!("odd-{key}"), json!("x")));
        Value::Object(odd.chain([("tier".to_owned(), json!(tier))]).collect())
    };
    let mut world = World::new(&gold());
    let apply = |world: &mut World, number: usize, tier: &str| {
        let node = json!({"metadata": {"name": format!("n{number}"), "labels": labels(tier)}});
        world.writer.apply_node(&metadata::node(&serde_json::from_value(node).unwrap()));
        world.writer.publish();
    };
    let read_odd_keys = |world: &World| {
        let snapshot = world.engine.snapshot();
        (0..KEYS).for_each(|key| assert!(snapshot.label_column(&format!("odd-{key}")).is_some()));
    };
    (0..NODES).for_each(|number| apply(&mut world, number, "silver"));
    for round in 0..3 {
        assert_eq!(world.fits().len(), NODES, "round {round}");
        read_odd_keys(&world);
        apply(&mut world, 3, "gold");
        read_odd_keys(&world);
        assert_eq!(world.fits(), ["n3"]);
        read_odd_keys(&world);
        apply(&mut world, 5, "gold");
        assert_eq!(world.fits(), ["n3", "n5"]);
        apply(&mut world, 3, "silver");
        apply(&mut world, 5, "silver");
    }
}
