//! `nodesift-dev bench`: a small run prints every figure, in every format, for synthetic clusters and for files.

use nodesift_tests::workshop::lines;
use serde_json::Value;

use crate::new_workshop;

/// Fields of every object about a pod.
const OF_POD: [&str; 4] = ["cold_ns", "warm_ns", "row_changed_ns", "other_row_changed_ns"];
/// Fields of the object about the cluster.
const OF_CLUSTER: [&str; 8] = [
    "uds_p50_ns",
    "uds_p99_ns",
    "uds_requests",
    "pods_per_second",
    "batch_pods",
    "connections",
    "preemption_ns",
    "pod_event_ns",
];

/// Checks the objects of one cluster size: those of the pods by name, then that of the cluster.
fn check(objects: &[Value], pods: &[&str], nodes: u64, bound: u64) {
    let names: Vec<&str> = objects.iter().filter_map(|object| object["pod"].as_str()).collect();
    assert_eq!(names, pods);
    assert_eq!(objects.len(), pods.len() + 1);
    for (object, fields) in objects.iter().zip(std::iter::repeat_n(&OF_POD[..], pods.len()).chain([&OF_CLUSTER[..]])) {
        assert_eq!((object["nodes"].as_u64(), object["pods"].as_u64()), (Some(nodes), Some(bound)), "{object}");
        for field in fields {
            assert!(object[field].as_u64().is_some_and(|figure| figure > 0), "{field} in {object}");
        }
    }
    for pod in &objects[..pods.len()] {
        let feasible = pod["feasible"].as_u64().unwrap();
        assert!(feasible > 0 && feasible < nodes, "{pod}");
        assert!(pod["warm_ns"].as_u64() < pod["cold_ns"].as_u64(), "a warm query is not faster than a cold one: {pod}");
        // Numbers if the native program is built, otherwise null.
        let fields = ["native_ns", "sandboxed_ns", "sandboxed_by_native", "streamed_ns", "sandboxed_by_streamed"];
        let native = fields.map(|field| pod.get(field).unwrap());
        assert!(native.iter().all(|field| field.is_number()) || native.iter().all(|field| field.is_null()), "{pod}");
    }
}

#[test]
fn a_quick_run_prints_every_figure_of_every_pod_and_cluster() {
    let shop = new_workshop();
    let json = shop.answer(&["bench", "--quick", "--nodes", "100,60", "--pods-per-node", "3", "-o", "json"]);
    let objects: Vec<Value> = serde_json::from_str(&json).unwrap();
    let (first, second) = objects.split_at(5);
    check(first, &["a", "b", "c", "d"], 100, 300);
    check(second, &["a", "b", "c", "d"], 60, 180);
}

#[test]
fn clusters_with_devices_have_figures_of_their_own() {
    let shop = new_workshop();
    let run = ["bench", "--quick", "--devices", "40x8"];
    let objects = lines(&shop.answer(&[&run[..], &["-o", "jsonl"]].concat()));
    let [pods @ .., cluster] = &objects[..] else { panic!("no objects") };
    assert_eq!(pods.iter().map(|pod| pod["pod"].as_str().unwrap()).collect::<Vec<_>>(), ["one", "four"]);
    let fields: [&[&str]; 2] = [
        &["cold_ns", "allocated_ns", "warm_ns"],
        &[
            "held",
            "new_expression_common_ns",
            "new_expression_distinct_ns",
            "placed_pods",
            "placed_per_second",
            "clients",
            "placed_by_clients_per_second",
        ],
    ];
    for (object, fields) in pods.iter().map(|pod| (pod, fields[0])).chain([(cluster, fields[1])]) {
        assert_eq!((object["nodes"].as_u64(), object["devices"].as_u64()), (Some(40), Some(320)), "{object}");
        for field in fields {
            assert!(object[field].as_u64().is_some_and(|figure| figure > 0), "{field} in {object}");
        }
    }
    for pod in pods {
        assert!(pod["feasible"].as_u64().is_some_and(|feasible| feasible > 0 && feasible < 40), "{pod}");
        assert!(pod["warm_ns"].as_u64() < pod["cold_ns"].as_u64(), "a warm query is not faster than a cold one: {pod}");
    }
    shop.fails_naming(64, &["bench", "--devices", "40"], &["NODESxDEVICES"]);
}

#[test]
fn files_take_the_place_of_synthetic_clusters() {
    let shop = new_workshop();
    let synth = ["cluster", "synth", "--nodes", "80", "--pods-per-node", "2", "--out", "cluster.json.gz", "--pods"];
    shop.answer(&[&synth[..], &["pods.json"]].concat());
    let files = ["bench", "--quick", "--cluster", "cluster.json.gz", "--pods", "pods.json"];
    check(&lines(&shop.answer(&[&files[..], &["-o", "jsonl"]].concat())), &["a", "b", "c", "d"], 80, 160);
    let table = shop.answer(&files);
    for part in ["80 nodes, 160 pods", "Unix socket", "pods per second"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
    assert!(!table.contains("met"), "clusters from files have no targets:\n{table}");
}

#[test]
fn what_cannot_be_measured_is_said_before_anything_is() {
    let shop = new_workshop().with_cluster();
    shop.fails_naming(64, &["bench", "--cluster", "cluster.json"], &["--pods"]);
    shop.fails_naming(64, &["bench", "--cluster", "-", "--pods", "pods.json"], &["stdin"]);
    shop.fails_naming(64, &["bench", "--nodes", "10,20", "--pods-per-node", "1,2,3"], &["--pods-per-node"]);
    shop.fails_naming(64, &["bench", "--native", "not/there"], &["not/there"]);
    shop.fails_naming(66, &["bench", "--cluster", "cluster.json", "--pods", "absent.json"], &["absent.json"]);
}
