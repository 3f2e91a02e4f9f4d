//! Cost of an accounting component: an event of a pod with facts of its own, which the component has to be called about; an event of such
//! pods from their creation to their end, of which most change nothing that it reads; and the recount of a whole cluster by another
//! policy's component.
//!
//! Prints JSON lines. `cargo bench --workspace --bench accounting`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_cache::metadata::{Accountant, Selection};
use nodesift_cache::{self as cache, Identity};
use nodesift_engine::{AccountingSettings, ActiveAccounting};
use nodesift_object::{Object, Pod};
use nodesift_sandbox::Runtime;
use nodesift_sandbox::accounting::AccountingGrants;
use nodesift_source::change::Compiler;
use serde_json::json;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Its accounts are what the API says, with a sum.
const COMPONENT: &str = include_str!("../../../host/sandbox/src/accounting/tests/component.wat");

/// Objects that are decoded before they are compiled and applied.
const HOT: u64 = 50;

fn main() {
    // Without `--bench` this is a smoke test.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (nodes, pods) = if is_measured { (5_000, 150_000) } else { (50, 1_500) };
    let runtime = Runtime::start(None).unwrap();
    let accounting = || {
        let grants = AccountingGrants { annotations: vec!["k".to_owned()], ..AccountingGrants::default() };
        let component = runtime.load_accounting(&wat::parse_str(COMPONENT).unwrap(), grants).unwrap();
        Arc::new(ActiveAccounting::new(component, AccountingSettings::default()))
    };
    let without = load(nodes, pods, None);
    let first = accounting();
    let with = load(nodes, pods, Some(&first));
    println!(
        r#"{{"name":"event","pods":{pods},"without_us":{:.2},"with_us":{:.2},"calls":{}}}"#,
        micros(without.1, pods),
        micros(with.1, pods),
        first.calls(),
    );
    let (lives_without, _) = live(nodes, pods, None);
    let second = accounting();
    let (lives_with, events) = live(nodes, pods, Some(&second));
    println!(
        r#"{{"name":"life","pods":{pods},"events":{events},"without_us":{:.2},"with_us":{:.2},"calls":{}}}"#,
        micros(lives_without, events),
        micros(lives_with, events),
        second.calls(),
    );
    let (mut writer, _) = with;
    for _ in 0..3 {
        let next = accounting();
        let started = Instant::now();
        next.prepare(&writer.pods().all(), &writer.accounted_nodes(), &|| false);
        let prepared = started.elapsed();
        let changed = writer.recount_accounts(Some(Arc::clone(&next) as Arc<dyn Accountant>));
        let counted = started.elapsed() - prepared;
        writer.publish();
        println!(
            r#"{{"name":"recount","pods":{pods},"changed":{changed},"prepare_ms":{:.1},"count_ms":{:.1},"publish_ms":{:.1}}}"#,
            millis(prepared),
            millis(counted),
            millis(started.elapsed() - prepared - counted),
        );
        writer.recount_accounts(None);
    }
}

/// A cluster of pods of which no two are equal, and the time that they took.
fn load(nodes: u64, pods: u64, accounting: Option<&Arc<ActiveAccounting>>) -> (cache::Writer, Duration) {
    let (mut writer, compiler) = empty(nodes, accounting);
    let mut time = Duration::ZERO;
    for from in (0..pods).step_by(usize::try_from(HOT).unwrap()) {
        let decoded: Vec<Object> = (from..pods.min(from + HOT)).map(|number| pod(number, nodes)).collect();
        let started = Instant::now();
        apply(&mut writer, &compiler, &decoded);
        time += started.elapsed();
    }
    (writer, time)
}

/// Pods that come and go, at most [`HOT`] at a time: the time of their events, and how many these were. Each is created, bound, has its
/// status written three times, has the annotation changed that the component reads, and is deleted.
fn live(nodes: u64, pods: u64, accounting: Option<&Arc<ActiveAccounting>>) -> (Duration, u64) {
    let (mut writer, compiler) = empty(nodes, accounting);
    let (mut time, mut events) = (Duration::ZERO, 0);
    for from in (0..pods).step_by(usize::try_from(HOT).unwrap()) {
        let numbers = || from..pods.min(from + HOT);
        let states: Vec<Vec<Object>> = (0..6)
            .map(|state| {
                let annotation = if state == 5 { "ab" } else { "a" };
                let node = (state > 0).then_some(nodes);
                numbers().map(|number| pod_in(number, node, annotation, state)).collect()
            })
            .collect();
        let uids: Vec<String> = numbers().map(|number| format!("u{number}")).collect();
        let started = Instant::now();
        states.iter().for_each(|decoded| apply(&mut writer, &compiler, decoded));
        uids.iter().for_each(|uid| writer.remove(&Identity::pod(uid)));
        writer.publish();
        time += started.elapsed();
        events += 7 * (uids.len() as u64);
    }
    (time, events)
}

/// Compiles and applies pods that have been decoded.
fn apply(writer: &mut cache::Writer, compiler: &Compiler, decoded: &[Object]) {
    for object in decoded {
        writer.apply(compiler.compile(object).record);
    }
    writer.publish();
}

/// A cluster of nodes without pods, and what compiles objects for it.
fn empty(nodes: u64, accounting: Option<&Arc<ActiveAccounting>>) -> (cache::Writer, Compiler) {
    let (mut writer, _) = cache::new();
    writer.set_accountant(accounting.map(|accounting| Arc::clone(accounting) as Arc<dyn Accountant>));
    let selection =
        Selection { object_owners: true, object_containers: true, ..Selection::annotations(&["k".to_owned()]) };
    let compiler = Compiler::new(&["default-scheduler".to_owned()]).selecting(&selection);
    let compiler = compiler.accounting_by(writer.accountant());
    for number in 0..nodes {
        let node = json!({
            "metadata": {"name": format!("n{number}")},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}},
        });
        let compiled = compiler.compile(&Object::Node(serde_json::from_value(node).unwrap()));
        writer.apply(compiled.record);
    }
    writer.publish();
    (writer, compiler)
}

/// One whose owner is its own, as that of a virtual machine.
fn pod(number: u64, nodes: u64) -> Object {
    pod_in(number, Some(nodes), "a", 0)
}

/// Makes a pod with an owner of its own, on one of so many nodes or on none, with this annotation, at this resourceVersion.
fn pod_in(number: u64, nodes: Option<u64>, annotation: &str, version: u64) -> Object {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {
            "name": format!("p{number}"), "namespace": "ns", "uid": format!("u{number}"),
            "resourceVersion": version.to_string(), "annotations": {"k": annotation},
            "ownerReferences": [{
                "apiVersion": "vm.neon.tech/v1", "kind": "VirtualMachine", "name": format!("vm{number}"),
                "uid": format!("o{number}"), "controller": true,
            }],
        },
        "spec": {
            "nodeName": nodes.map(|nodes| format!("n{}", number % nodes)),
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}],
        },
    }))
    .unwrap();
    Object::Pod(Box::new(pod))
}

fn micros(time: Duration, pods: u64) -> f64 {
    time.as_secs_f64() * 1e6 / pods as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
