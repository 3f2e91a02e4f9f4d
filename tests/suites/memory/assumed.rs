//! Memory of assumed pods: what they are counted for is no less than what they take.

use std::time::{Duration, Instant};

use allocation_counter::measure;
use nodesift_cache as cache;
use nodesift_cache::metadata::{self, PodRecord};
use nodesift_object::{Node, Pod};
use serde_json::{Value, json};

/// Pods of each shape, enough that the tables of the cache, which double as they grow, hardly count.
const PODS: usize = 500;

/// A number of values, no two of them alike, none of them the same in two pods.
fn several(pod: usize, count: usize, value: impl Fn(String) -> Value) -> Value {
    (0..count).map(|at| value(format!("p{pod}-{at}"))).collect()
}

/// A name, and the specs of pods by number.
type Shape = (&'static str, fn(usize) -> Value);

/// Pods whose memory is in one kind of their fields each.
fn shapes() -> [Shape; 8] {
    [
        ("nothing", |_| json!({})),
        ("tolerations", |pod| json!({"tolerations": several(pod, 100, |key| json!({"key": key}))})),
        ("node selector", |pod| json!({"nodeSelector": {"a": pod.to_string(), "b": ""}})),
        ("node affinity", |pod| {
            let terms = several(pod, 50, |key| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]}));
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": terms}}}})
        }),
        ("anti-affinity", |pod| {
            let terms =
                several(pod, 50, |key| json!({"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}}));
            json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
        }),
        ("spread constraints", |pod| {
            let constraint = |key| json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"});
            json!({"topologySpreadConstraints": several(pod, 50, constraint)})
        }),
        ("volumes", |pod| {
            let volume = |name: String| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
            json!({"volumes": several(pod, 50, volume)})
        }),
        ("requests", |pod| {
            let requests: serde_json::Map<_, _> = (0..50).map(|at| (format!("a.b/p{pod}-{at}"), json!("1"))).collect();
            json!({"containers": [{"name": "c", "resources": {"requests": requests}}]})
        }),
    ]
}

fn record(pod: &Value) -> PodRecord {
    metadata::pod_record(&serde_json::from_value::<Pod>(pod.clone()).unwrap(), &["default-scheduler".to_owned()])
}

fn is_counted_in_full(name: &str, pod: impl Fn(usize) -> Value) {
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    let (mut writer, reader) = cache::new();
    writer.apply(metadata::node(&node));
    let until = Instant::now() + Duration::from_secs(3600);
    let mut counted = 0;
    let taken = measure(|| {
        for at in 0..PODS {
            let record = record(&pod(at));
            counted += record.memory_bytes();
            writer.assume_whole(&record, "n", until).unwrap();
        }
        writer.publish();
    });
    drop(reader);
    let taken = usize::try_from(taken.bytes_current).unwrap();
    println!("{name}: {} bytes per pod, counted for {}", taken / PODS, counted / PODS);
    assert!(taken <= counted, "{name}: {taken} bytes, counted for {counted}");
    assert!(counted < 5 * taken, "{name}: {taken} bytes, counted for {counted}");
}

#[test]
fn an_assumed_pod_counts_for_no_less_than_it_takes() {
    let metadata = |at: usize| json!({"namespace": "a", "name": format!("p{at}"), "uid": format!("uid-of-{at}")});
    for (name, spec) in shapes() {
        is_counted_in_full(name, |at| json!({"metadata": metadata(at), "spec": spec(at)}));
    }
    is_counted_in_full("labels", |at| {
        let labels: serde_json::Map<_, _> = (0..160).map(|label| (format!("p{at}-{label}"), json!("x"))).collect();
        let mut metadata = metadata(at);
        metadata["labels"] = json!(labels);
        json!({"metadata": metadata})
    });
}
