//! Custom predicates with cached verdicts: reads about the whole cluster, and failures on some rows only. Every engine here
//! compares cached verdicts with fresh ones and returns an error where they differ.

mod facts;
mod values;
mod world;

use nodesift_cache::Identity;
use nodesift_cache::metadata::{self, ClassRecord};
use nodesift_engine::{Candidate, Cycle, Nodes, Options, PodRef, Preemption, Query};
use nodesift_object::Kind;
use nodesift_tests::guest::{Guest, SCRATCH};
use nodesift_tests::machine::beside_others;
use serde_json::{Value, json};

use self::world::{NODES, World, gold, gold_after, gold_of, object, pending};

#[test]
fn a_label_text_that_some_node_comes_to_carry_changes_the_verdict_of_the_others() {
    let _beside = beside_others();
    let mut world = World::with_silver_nodes(&gold());
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
    let _beside = beside_others();
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
    let _beside = beside_others();
    // Rejects a pod without the annotation `tier`.
    let guest = |key: &str| {
        Guest::healthy()
            .imports(r#"(import "nodesift:predicate/pod-annotations@0.2.0" "annotation" (func $annotation (param i32 i32 i32)))"#)
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
        let query = Query::new([PodRef::Whole(Box::new(object(pod)))]);
        world.engine.answer(&query, Options::default()).unwrap().pods[0].cycle
    };
    let world = World::with_silver_nodes(&guest("tier"));
    assert_eq!(asked(&world, json!({})), Cycle::Rejected);
    assert_eq!(asked(&world, json!({"tier": "gold"})), Cycle::EachNode);
    let evaluated = world.evaluated();
    // Another annotation does not spoil reuse.
    assert_eq!(asked(&world, json!({"tier": "gold", "heartbeat": "1"})), Cycle::EachNode);
    assert_eq!(asked(&world, json!({"tier": "gold", "heartbeat": "2"})), Cycle::EachNode);
    assert_eq!(world.evaluated(), evaluated);
    let unlisted = World::with_silver_nodes(&guest("heartbeat"));
    assert_eq!(asked(&unlisted, json!({"heartbeat": "1"})), Cycle::Rejected, "the policy does not list the key");
}

#[test]
fn a_label_text_that_goes_with_its_last_node_changes_the_verdict_of_the_others() {
    let _beside = beside_others();
    let mut world = World::with_silver_nodes(&gold());
    world.node(NODES, "gold");
    world.writer.publish();
    assert_eq!(world.fits(), [format!("n{NODES}")]);
    world.writer.remove(&Identity::node(&format!("n{NODES}")));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
}

#[test]
fn labels_that_come_and_go_at_random_leave_no_verdict_behind_that_a_fresh_one_contradicts() {
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut world = World::with_silver_nodes(&gold());
    for _ in 0..400 {
        for _ in 0..random.usize(1..3) {
            let number = random.usize(0..NODES + 4);
            match random.u8(0..8) {
                0 => world.writer.remove(&Identity::node(&format!("n{number}"))),
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
    let _beside = beside_others();
    // Importing what a pod takes of its node, it is asked about the node with one pod fewer after the other.
    let pods = r#"(import "nodesift:predicate/node-resources@0.2.0" "pods" (func $pods (param i32)))"#;
    let mut world = World::with_silver_nodes(&gold_after(pods, "(call $pods (i32.const 2080))"));
    world.node(3, "gold");
    for node in ["n1", "n3"] {
        let victim = json!({
            "metadata": {"name": node, "namespace": "default", "uid": node}, "spec": {"nodeName": node}
        });
        world.writer.apply(metadata::pod_record(&object(victim), &[]));
    }
    world.writer.publish();
    assert_eq!(world.fits(), ["n3"]);
    for (node, expected) in [("n1", None), ("n3", Some(0))] {
        let candidate = Candidate { node: node.to_owned(), victims: vec![node.to_owned()], start: 0 };
        let answer = world
            .engine
            .preempt(
                &Preemption { pod: pending(), candidates: vec![candidate], deadline: None },
                &world.engine.snapshot(),
            )
            .unwrap();
        assert!(answer.faults.is_empty(), "{:?}", answer.faults);
        assert_eq!(answer.outcomes[0].index, expected, "{node}");
    }
}

#[test]
fn what_a_device_class_serves_is_asked_again_though_there_is_no_node() {
    let _beside = beside_others();
    // Rejects the pod as a whole while no device class serves the resource.
    let guest = Guest::healthy()
        .imports(
            r#"(import "nodesift:predicate/node-resources@0.2.0" "device-class-serves"
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
        let serving = ClassRecord { name: "gpus".into(), serves: Some("x.io/gpu".into()), ..ClassRecord::default() };
        world.writer.apply(serving);
        world.writer.publish();
        assert_eq!(world.ask().cycle, Cycle::EachNode, "{nodes} nodes");
        world.writer.remove(&Identity::new(Kind::DeviceClass, "gpus"));
        world.writer.publish();
        assert_eq!(world.ask().cycle, Cycle::Rejected, "{nodes} nodes");
    }
}

#[test]
fn a_predicate_that_fails_on_some_rows_alone_is_asked_about_all() {
    let _beside = beside_others();
    // Looks up one node by name, and traps if it is not in the batch.
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-identity@0.2.0" "row" (func $row (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "n0")"#)
        .filter(
            "(call $row (i32.const 2048) (i32.const 2) (i32.const 2064))
             (if (i32.eqz (i32.load8_u (i32.const 2064))) (then (unreachable)))
             (call $fits_all)",
        );
    let mut world = World::with_silver_nodes(&guest);
    assert_eq!(world.fits().len(), NODES);
    world.node(NODES, "silver");
    world.writer.publish();
    let answer = world.ask();
    assert!(answer.faults.is_empty(), "{:?}", answer.faults);
    assert_eq!(answer.feasible.len(), NODES + 1);
}

#[test]
fn a_verdict_that_asked_by_more_text_than_is_kept_is_evaluated_each_time() {
    let _beside = beside_others();
    let mut world = World::with_silver_nodes(&Guest::asking(1 << 20, 20));
    for query in 1..=3 {
        assert_eq!(world.fits().len(), NODES);
        assert_eq!(world.evaluated(), query);
    }
    world.writer.publish();
    let kept = world.counted("nodesift_verdicts_kept_bytes");
    assert!(kept < 16 << 10, "{kept} bytes are counted although nothing is cached");
    // A cached verdict is counted with its recorded reads.
    let world = World::with_silver_nodes(&Guest::asking(1 << 10, 40));
    world.fits();
    world.fits();
    assert_eq!(world.evaluated(), 1);
    let kept = world.counted("nodesift_verdicts_kept_bytes");
    assert!(kept > 40 << 10, "only {kept} bytes are counted");
}

#[test]
fn a_node_that_is_looked_up_by_name_and_goes_or_comes_changes_the_verdict_of_the_others() {
    let _beside = beside_others();
    // Rejects the pod as a whole while there is no node n9.
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-identity@0.2.0" "row" (func $row (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "n9")"#)
        .filter(
            "(call $row (i32.const 2048) (i32.const 2) (i32.const 2064))
             (if (i32.load8_u (i32.const 2064)) (then (return (call $fits_all))))
             (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1))",
        );
    let mut world = World::with_silver_nodes(&guest);
    let mut publish = |change: &mut dyn FnMut(&mut World)| {
        change(&mut world);
        world.writer.publish();
        world.fits().len()
    };
    assert_eq!(publish(&mut |_| ()), NODES);
    assert_eq!(publish(&mut |world| world.writer.remove(&Identity::node("n9"))), 0, "the last row went");
    assert_eq!(publish(&mut |world| world.node(9, "silver")), NODES);
    // Another node in its row, so that there are as many rows as before.
    let replace = &mut |world: &mut World| {
        world.writer.remove(&Identity::node("n9"));
        world.node(11, "silver");
    };
    assert_eq!(publish(replace), 0);
    assert_eq!(publish(&mut |world| world.writer.remove(&Identity::node("n11"))), 0);
    assert_eq!(publish(&mut |world| world.node(9, "silver")), NODES);
}

#[test]
fn a_row_that_went_is_no_reason_any_more() {
    let _beside = beside_others();
    // Rejects the pod as a whole while some node is cordoned.
    let guest = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/node-taints@0.2.0" "unschedulable" (func $cordons (param i32)))"#)
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
    let mut world = World::with_silver_nodes(&guest);
    world.cordoned_node(NODES, &json!({}));
    world.writer.publish();
    assert_eq!(world.fits().len(), 0);
    world.writer.remove(&Identity::node(&format!("n{NODES}")));
    world.writer.publish();
    assert_eq!(world.fits().len(), NODES);
}

#[test]
fn what_only_a_changed_row_made_a_predicate_read_is_watched_from_then_on() {
    let _beside = beside_others();
    // Rejects cordoned nodes that have a tier; without any tier it does not look at cordons.
    let guest = Guest::healthy()
        .imports(
            r#"(import "nodesift:predicate/node-labels@0.2.0" "column" (func $column (param i32 i32 i32)))
               (import "nodesift:predicate/node-taints@0.2.0" "unschedulable" (func $cordons (param i32)))"#,
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
    let _beside = beside_others();
    const KEYS: usize = 600;
    let labels = |tier: &str| {
        let odd = (0..KEYS).map(|key| (format!("odd-{key}"), json!("x")));
        Value::Object(odd.chain([("tier".to_owned(), json!(tier))]).collect())
    };
    let mut world = World::new(&gold());
    let apply = |world: &mut World, number: usize, tier: &str| {
        let node = json!({"metadata": {"name": format!("n{number}"), "labels": labels(tier)}});
        world.writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
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
