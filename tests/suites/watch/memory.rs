//! The resident set of the sidecar process. The bytes per object are the same in every build. M-02 and M-03 are smaller than
//! specified unless `NODESIFT_MEMORY=full`, because a debug build decodes slowly.

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;
use serde_json::json;

use crate::oracle;
use crate::world::{World, launch, node_name, pod};

/// Pods on each node.
const PODS_PER_NODE: usize = 10;

const MIB: u64 = 1 << 20;

/// Limit on the growth of the resident set in M-01, over that of a sidecar without a cluster.
const GROWTH: u64 = 128 * MIB;

/// Pod events between two measurements in M-02: a fortieth of the small test. At least 20,000 events lie between the measurements that
/// are compared.
const CHURN_STEP: usize = 2_000;

/// Of these, pods of one change.
const CHURN_PART: usize = 50;

/// Number of relists in M-03.
const RELISTS: usize = 60;

/// The size of a test: the small one unless `NODESIFT_MEMORY=full`.
fn size(small: usize, full: usize) -> usize {
    if std::env::var("NODESIFT_MEMORY").is_ok_and(|value| value == "full") { full } else { small }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// M-01 at full size: a debug build is fast enough for it.
#[test]
fn a_cluster_is_held_in_so_much_memory() {
    let _beside = beside_others();
    let nodes = 5_000;
    let empty = World::new(ApiServer::start()).sidecar.resident_bytes();
    let server = ApiServer::start();
    fill_as_real(&server, nodes);
    let sidecar = launch(&server, &[]);
    sidecar.wait_until_ready();
    let held = sidecar.resident_bytes();
    println!("{:.1} MiB empty, {:.1} MiB with {nodes} nodes and {} pods", mib(empty), mib(held), nodes * PODS_PER_NODE);
    assert!(held <= empty + GROWTH, "{:.1} MiB more", mib(held - empty));
}

/// M-02: up to 1,000,000 pod events, each with a new name, labels and image.
#[test]
fn churn_with_ever_new_names_leaves_memory_as_it_was() {
    let _beside = beside_others();
    let events = size(80_000, 1_000_000);
    let world = World::with(50, 10);
    world.is_followed("Pod");
    let mut held = Vec::new();
    let mut heard = 0;
    for step in 0..events / CHURN_STEP {
        // In parts: the server answers nobody during a change, and one that is silent for long is taken for dead.
        for part in 0..CHURN_STEP / 2 / CHURN_PART {
            world.server.change(|store| {
                for number in part * CHURN_PART..(part + 1) * CHURN_PART {
                    let name = format!("churn-{step}-{number}");
                    let mut made = pod(&name, &node_name(number % 50), 10);
                    made["metadata"]["labels"] = json!({"app": name, format!("key-{step}-{number}"): name});
                    made["spec"]["containers"][0]["image"] = json!(format!("registry.example.com/{name}"));
                    store.apply(made);
                    store.delete("Pod", &format!("default/{name}"));
                }
            });
        }
        let told = world.server.change(|store| {
            // The last pod of a step stays for the next step. Otherwise the state would be right before the sidecar has read any event.
            if let Some(last) = step.checked_sub(1) {
                store.delete("Pod", &format!("default/end-of-{last}"));
            }
            store.apply(pod(&format!("end-of-{step}"), &node_name(step % 50), 10))
        });
        oracle::state_converges(&world.server, &world.sidecar);
        held.push(world.sidecar.resident_bytes());
        // The history of the scripted server is not measured. One step of it is retained, for a watch that resumes.
        world.server.change(|store| store.truncate(heard));
        heard = told;
    }
    // The first quarter is warm-up: modules are compiled, tombstones fill up, and the heap grows to its working size. A burst
    // may raise the resident set for a moment, so the minimum of later steps counts.
    let quarter = held.len() / 4;
    let warm = held.iter().skip(quarter).take(quarter).max().copied().unwrap();
    let last = held.iter().rev().take(quarter).min().copied().unwrap();
    println!("MiB by step: {:?}", held.iter().map(|bytes| bytes / MIB).collect::<Vec<_>>());
    println!("{:.1} MiB warm, {:.1} MiB after {events} events", mib(warm), mib(last));
    // A self-check may list as well where this takes minutes.
    assert_eq!(world.sidecar.output().matches("listed kind=Pod ").count(), 1);
    assert!(last * 10 <= warm * 11, "{:.1} MiB after {:.1} MiB", mib(last), mib(warm));
}

/// M-03 of the reliability list: relists in a row.
#[test]
fn lists_in_a_row_peak_below_twice_and_a_bit() {
    let _beside = beside_others();
    let server = ApiServer::start();
    fill_as_real(&server, size(200, 5_000));
    let world = World::new(server);
    world.is_followed("Pod");
    world.next_watch_meets("Pod", Fault::expired());
    world.sees("Pod", Verb::List(1), 2);
    oracle::state_converges(&world.server, &world.sidecar);
    let steady = world.sidecar.resident_bytes();
    let mut peak = steady;
    for relist in 0..RELISTS {
        world.next_watch_meets("Pod", Fault::expired());
        let listed = || {
            peak = peak.max(world.sidecar.resident_bytes());
            (world.lists("Pod") >= 3 + relist).then_some(())
        };
        timeout::until(listed).expect("a relist");
    }
    println!("{:.1} MiB steady, {:.1} MiB at most", mib(steady), mib(peak));
    assert_eq!(world.lists("Pod"), 2 + RELISTS);
    assert!(peak * 10 <= steady * 22, "{:.1} MiB at most, {:.1} MiB steady", mib(peak), mib(steady));
    oracle::state_converges(&world.server, &world.sidecar);
}

/// Nodes with labels, and pods of a few applications, as large as the objects of a real cluster.
fn fill_as_real(server: &ApiServer, nodes: usize) {
    server.change(|store| {
        for number in 0..nodes {
            let mut node = crate::world::node(number);
            for label in 0..15 {
                node["metadata"]["labels"][format!("example.com/label-{label}")] = json!(format!("v{}", number % (label + 2)));
            }
            node["status"]["images"] = json!([{"names": ["registry.example.com/image@sha256:0123456789"], "sizeBytes": 1}]);
            store.apply(node);
        }
        for number in 0..nodes * PODS_PER_NODE {
            let app = number % 200;
            let mut pod = pod(&format!("app-{app}-5d9dc9-{number}"), &node_name(number % nodes), 100);
            pod["metadata"]["labels"] = json!({"app": format!("app-{app}"), "pod-template-hash": format!("h{app}")});
            pod["metadata"]["managedFields"] = json!([{"manager": "kubelet", "operation": "Update", "fieldsV1": {
                "f:status": {"f:conditions": {".": {}, "k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}, "f:type": {}}}}}}]);
            pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]);
            store.apply(pod);
        }
    });
}
