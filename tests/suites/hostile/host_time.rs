//! Host functions that work long: their time is the guest's beyond an allowance, however often they are called.

use std::sync::Arc;

use cpu_time::ThreadTime;
use nodesift_cache as cache;
use nodesift_cache::metadata::{self, StorageRecord};
use nodesift_engine::{Batch, Context};
use nodesift_object::{Kind, Object, Pod, decode};
use nodesift_sandbox::Facts;
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::limits::{FILTER_TIME_MIN, HOST_TIME_FACTOR};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::timing;
use serde_json::{Value, json};

use crate::arena::{OVERRUN, default_grants, healthy_answers_are_right, load};

/// Calls a guest that works until its time is up, and asserts that this is soon.
fn ends_by_the_deadline(what: &str, guest: &Guest, facts: &Arc<dyn Facts>) {
    let module = load(&guest.component(), default_grants());
    let started = ThreadTime::now();
    let outcome = module.filter(Arc::clone(facts), 1, None);
    let used = started.elapsed();
    let most = FILTER_TIME_MIN * (1 + HOST_TIME_FACTOR) + OVERRUN;
    println!("{what}: {used:?}, at most {most:?}");
    assert_eq!(outcome.map_err(|fault| fault.kind), Err(FaultKind::Deadline), "{what}");
    timing::at_most(what, used, most);
    healthy_answers_are_right();
}

/// Facts of a pod in a cluster with very many anti-affinity terms of one topology key that match it.
fn many_terms() -> Arc<dyn Facts> {
    const PODS: u32 = 1_500;
    const TERMS: u32 = 100;
    let (mut writer, reader) = cache::new();
    let node = json!({"metadata": {"name": "n", "labels": {"zone": "a"}}});
    writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    for number in 0..PODS {
        let term = |term: u32| {
            let absent = json!({"key": format!("k{number}-{term}"), "operator": "DoesNotExist"});
            json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": [absent]}})
        };
        let terms: Vec<Value> = (0..TERMS).map(term).collect();
        let pod = json!({
            "metadata": {"namespace": "default", "name": format!("p{number}")},
            "spec": {"nodeName": "n", "affinity": {"podAntiAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": terms}}},
        });
        writer.apply(metadata::pod_record(&serde_json::from_value(pod).unwrap(), &[]));
    }
    writer.publish();
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "default"}})).unwrap();
    Arc::new(Context::new(reader.snapshot(), Arc::new(metadata::pod(&pod)), None, Batch::All))
}

#[test]
fn what_is_made_of_kept_facts_is_the_guests_time_at_each_call() {
    let _beside = beside_others();
    let facts = many_terms();
    // The terms are looked up, and kept.
    assert_eq!(facts.anti_affinity_keys(), ["zone".into()]);
    let import = r#"(import "nodesift:predicate/cluster-affinity@0.2.0" "anti-affinity-terms"
      (func $terms (param i32 i32 i32)))"#;
    let definitions = r#"(data (i32.const 2048) "zone")"#;
    let guest = Guest::healthy().imports(import).definitions(definitions).filter(
        "(loop $forever
           (global.set $heap (i32.const 65536))
           (call $terms (i32.const 2048) (i32.const 4) (i32.const 4096))
           (br $forever))
         (unreachable)",
    );
    ends_by_the_deadline("anti-affinity-terms", &guest, &facts);
}

/// Facts of a pod in a cluster with a claim `c` and many volumes for it, each with labels that take long to copy.
fn many_volumes() -> Arc<dyn Facts> {
    const VOLUMES: u32 = 100_000;
    const LABELS: u32 = 100;
    let record = |object: &Value| {
        let kind =
            Kind::from_type_meta(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()).unwrap();
        let Object::Storage(object) = decode::decode(kind, &object.to_string()).unwrap() else { panic!("storage") };
        metadata::storage(&object)
    };
    let (mut writer, reader) = cache::new();
    writer.apply(record(&json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "default", "name": "c"}, "spec": {"storageClassName": "s"}})));
    let labels: serde_json::Map<_, _> = (0..LABELS).map(|label| (format!("l{label}"), json!("x"))).collect();
    let volume = record(&json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "v", "labels": labels}, "spec": {"storageClassName": "s"}}));
    let StorageRecord::Volume(volume) = volume else { panic!("a volume") };
    for number in 0..VOLUMES {
        let name = format!("v{number}").into();
        writer.apply(StorageRecord::Volume(metadata::Volume { name, ..volume.clone() }));
    }
    writer.publish();
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "default"}})).unwrap();
    Arc::new(Context::new(reader.snapshot(), Arc::new(metadata::pod(&pod)), None, Batch::All))
}

#[test]
fn copying_every_volume_of_a_class_ends_by_the_deadline() {
    let _beside = beside_others();
    let facts = many_volumes();
    for function in ["volumes-for", "exact-sizes-for"] {
        let import = format!(
            r#"(import "nodesift:predicate/cluster-storage@0.2.0" "{function}" (func $function (param i32 i32 i32)))"#
        );
        let definitions = r#"(data (i32.const 2048) "c")"#;
        let guest = Guest::healthy().imports(import).definitions(definitions).filter(
            "(loop $forever
               (global.set $heap (i32.const 65536))
               (call $function (i32.const 2048) (i32.const 1) (i32.const 4096))
               (br $forever))
             (unreachable)",
        );
        ends_by_the_deadline(function, &guest, &facts);
    }
}
