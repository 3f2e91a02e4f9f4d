//! Unusual requests have bounded costs: memory in proportion to their bytes, and processor time in proportion to the client's
//! own.
//!
//! The costs measured here are those of a request's content. A request of few bytes about every node is legitimate; it is
//! bounded by the limit on pairs of pod and node.

use std::time::Duration;

use cpu_time::ThreadTime;
use nodesift_tests::machine::alone;
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timing};
use serde_json::{Value, json};

use crate::arena::{Arena, mib, node_names, pending_objects, random};

const REQUESTS: usize = 1_000;
/// Size of a request in bytes, at most.
const BYTES: usize = 48 * 1024;
/// Memory that any request may take, and the allowance beyond it as a multiple of the request's bytes.
const MEMORY_FREE: u64 = 256 * 1024;
const MEMORY_FACTOR: u64 = 10;
/// Aim of the sidecar's processor time, as a multiple of the client's.
const WORK_FACTOR: f64 = 100.0;
/// Promise of the processor time of a request of [`LARGE`] bytes. Work in proportion to its bytes takes some tenths of a second in the dev
/// profile; the square of its values, of which it has tens of thousands, takes many seconds.
const LARGE_WORK: Duration = Duration::from_secs(1);
/// Bytes of a large request.
const LARGE: usize = 1 << 20;
/// Least processor time of a client that is used: some machines measure thread time no more finely.
const CLIENT_LEAST: Duration = Duration::from_micros(100);

/// Kinds of unusual requests: name, call, memory limit of a large one as a multiple of its bytes, and a function that makes a
/// body of about `bytes` bytes. Large requests of many small values take most memory: short strings, each in a map or list.
/// their own.
type Kind = (&'static str, &'static str, u64, fn(usize) -> String);

const KINDS: [Kind; 16] = [
    ("zeros in a pod's object", "/v1/filter", 10, |bytes| in_object(&list(bytes, "0"))),
    ("lists in a pod's object", "/v1/filter", 10, |bytes| in_object(&list(bytes, "[]"))),
    ("spaces", "/v1/filter", 10, |bytes| " ".repeat(bytes)),
    ("unknown pods", "/v1/filter", 10, |bytes| {
        format!(r#"{{"pods":[{}]}}"#, list(bytes.min(14_000), r#"{"uid":"a"}"#))
    }),
    ("unknown names", "/extender/filter", 45, |bytes| {
        let names: Vec<String> = (0..bytes / 9).map(|at| format!("n{at:05}")).collect();
        json!({"Pod": {"metadata": {"name": "p"}}, "NodeNames": names}).to_string()
    }),
    ("skipped lists in lists", "/extender/filter", 10, |bytes| {
        format!(r#"{{"Pod":{{"metadata":{{"name":"p"}},"x":[{}]}},"NodeNames":[]}}"#, list(bytes, "[]"))
    }),
    ("lists in a pod's text", "/v1/filter", 10, |bytes| {
        in_text(&format!(r#"{{"metadata":{{"name":"p"}},"x":[{}]}}"#, list(bytes, "[]")))
    }),
    ("escapes", "/v1/filter", 10, |bytes| format!(r#"{{"pods":[{{"uid":"{}"}}]}}"#, "\\u00e9".repeat(bytes / 6))),
    ("labels", "/v1/filter", 20, |bytes| {
        in_text(&json!({"metadata": {"name": "p", "labels": keys(bytes)}}).to_string())
    }),
    ("node selectors", "/v1/filter", 20, |bytes| {
        in_text(&json!({"metadata": {"name": "p"}, "spec": {"nodeSelector": keys(bytes)}}).to_string())
    }),
    ("tolerations", "/v1/filter", 10, |bytes| {
        pod_with("tolerations", bytes, |at| json!({"key": format!("k{at}"), "operator": "Exists"}))
    }),
    ("containers", "/v1/filter", 15, |bytes| {
        pod_with(
            "containers",
            bytes,
            |at| json!({"resources": {"requests": {format!("e.com/r{at}"): "1"}}, "ports": [{"hostPort": at}]}),
        )
    }),
    ("spread constraints", "/v1/filter", 10, |bytes| {
        pod_with("topologySpreadConstraints", bytes, |at| {
            json!({"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                   "labelSelector": {"matchLabels": {"app": format!("a{at}")}}})
        })
    }),
    ("anti-affinity terms", "/v1/filter", 25, |bytes| {
        let terms = |at: usize| json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": format!("app-{at}")}}});
        let terms: Vec<Value> = (0..bytes / 90).map(terms).collect();
        let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
        in_text(&json!({"metadata": {"name": "p"}, "spec": {"affinity": affinity}}).to_string())
    }),
    ("node affinity terms", "/v1/filter", 25, |bytes| {
        let term = |at: usize| json!({"matchExpressions": [{"key": format!("k{at}"), "operator": "In", "values": ["a", "b"]}]});
        let terms: Vec<Value> = (0..bytes / 70).map(term).collect();
        let affinity =
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
        in_text(&json!({"metadata": {"name": "p"}, "spec": {"affinity": affinity}}).to_string())
    }),
    ("victims", "/extender/preempt", 10, |bytes| {
        let pods: Vec<Value> = (0..bytes / 20).map(|at| json!({"UID": format!("uid-{at}")})).collect();
        json!({"Pod": {"metadata": {"name": "p"}}, "NodeNameToMetaVictims": {"nobody": {"Pods": pods}}}).to_string()
    }),
];

fn list(bytes: usize, item: &str) -> String {
    vec![item; (bytes / (item.len() + 1)).max(1)].join(",")
}

fn keys(bytes: usize) -> Value {
    (0..bytes / 14).map(|at| (format!("k{at:05}"), json!("v"))).collect::<serde_json::Map<String, Value>>().into()
}

/// A request with a pod as an object that has an unknown field.
fn in_object(items: &str) -> String {
    let node = first_node();
    format!(r#"{{"pods":[{{"object":{{"metadata":{{"name":"p"}},"x":[{items}]}}}}],"nodes":{{"names":["{node}"]}}}}"#)
}

/// A request with a pod as text, evaluated on a few nodes only.
fn in_text(pod: &str) -> String {
    json!({"pods": [{"json": pod}], "nodes": {"names": [first_node()]}, "detail": "DETAIL_FEASIBLE"}).to_string()
}

fn pod_with(field: &str, bytes: usize, item: impl Fn(usize) -> Value) -> String {
    let each = item(1000).to_string().len() + 1;
    let items: Vec<Value> = (0..bytes / each).map(item).collect();
    in_text(&json!({"metadata": {"name": "p"}, "spec": {field: items}}).to_string())
}

fn first_node() -> &'static str {
    static FIRST: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| node_names().swap_remove(0));
    &FIRST
}

/// Growth of the process that is not caused by a single request: a thread that evaluates for the first time takes an arena of
/// the allocator and an instance of every predicate.
const JUMP: u64 = 8 << 20;
/// How often such growth may occur.
const JUMPS: usize = 3;

/// The memory and processor time that a request takes in the sidecar, and its client's processor time.
struct Cost {
    memory: u64,
    work: Duration,
    client: Duration,
}

fn cost(arena: &Arena, wire: &mut Wire, path: &str, make: impl FnOnce() -> String) -> (usize, Cost) {
    let id = arena.sidecar.id();
    let (work, memory) = (process::processor_time(id), process::resident_bytes(id));
    process::forget_peak(id);
    let clock = ThreadTime::now();
    let body = make();
    let answer = wire.post(path, &body).unwrap();
    let client = clock.elapsed();
    assert!(answer.status < 500 || answer.status == 503, "{path}: {} {}", answer.status, answer.text());
    let work = process::processor_time(id).saturating_sub(work);
    let memory = process::peak_resident_bytes(id).saturating_sub(memory);
    (body.len(), Cost { memory, work, client })
}

#[test]
fn a11_a_thousand_odd_requests_cost_what_they_look_like() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let mut random = random();
    let mut wire = arena.wire();
    // Warm-up: threads, buffers and columns that any request creates exist before the measurement.
    for pod in pending_objects() {
        wire.post("/v1/filter", json!({"pods": [{"object": pod}]}).to_string()).unwrap();
    }
    for (_, path, _, make) in KINDS {
        cost(&arena, &mut wire, path, || make(BYTES));
    }
    let mut worst: Vec<(&str, f64, Duration, u64)> =
        KINDS.iter().map(|(name, ..)| (*name, 0.0, Duration::ZERO, 0)).collect();
    let mut jumps = 0;
    for _ in 0..REQUESTS {
        let kind = random.usize(..KINDS.len());
        let (name, path, _, make) = KINDS[kind];
        let size = random.usize(100..BYTES);
        let (bytes, spent) = cost(&arena, &mut wire, path, || make(size));
        let memory = MEMORY_FACTOR * bytes as u64 + MEMORY_FREE;
        if spent.memory > memory {
            println!("{name}: {bytes} bytes, +{}", mib(spent.memory));
            jumps += 1;
        }
        assert!(jumps <= JUMPS && spent.memory <= memory.max(JUMP), "{name}: {bytes} bytes, +{}", mib(spent.memory));
        let client = spent.client.max(CLIENT_LEAST);
        let factor = spent.work.as_secs_f64() / client.as_secs_f64();
        let worst = &mut worst[kind];
        *worst =
            (name, worst.1.max(factor), worst.2.max(spent.work), worst.3.max(spent.memory / (bytes as u64).max(1)));
    }
    for (name, factor, work, memory) in worst {
        println!("{name}: {factor:.1} times its client's work, {work:?} at most; {memory} times its bytes");
        timing::number(&format!("processor time of odd requests, {name}, of their client's"), factor, WORK_FACTOR);
    }
    arena.goes_on();
}

/// Memory that a large request of this factor may take.
fn allowed(factor: u64, bytes: usize) -> u64 {
    factor * bytes as u64 + 4 * MEMORY_FREE
}

#[test]
fn a11_a_large_odd_request_takes_no_more_memory_than_its_kind_may() {
    let _alone = alone();
    for (name, path, factor, make) in KINDS {
        let arena = Arena::new(&[]);
        let mut wire = arena.wire();
        cost(&arena, &mut wire, path, || make(1000));
        // An arena that the allocator takes for another thread does not repeat, the request's own memory does: the least of three, or the
        // first that is within both bounds.
        let mut costs = Vec::new();
        while costs.len() < 3 {
            let (bytes, cost) = cost(&arena, &mut wire, path, || make(LARGE));
            let is_within = cost.memory <= allowed(factor, bytes) && cost.work <= LARGE_WORK;
            costs.push((bytes, cost));
            if is_within {
                break;
            }
        }
        println!("{name}: {:?}", costs.iter().map(|(_, cost)| (mib(cost.memory), cost.work)).collect::<Vec<_>>());
        let work = costs.iter().map(|(_, cost)| cost.work).min().unwrap();
        timing::at_most(&format!("processor time of a large odd request, {name}"), work, LARGE_WORK);
        let (bytes, cost) = costs.into_iter().min_by_key(|(_, cost)| cost.memory).unwrap();
        assert!(cost.memory <= allowed(factor, bytes), "{name}: +{}", mib(cost.memory));
    }
}
