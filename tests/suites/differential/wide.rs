//! Clusters of hundreds of nodes with many distinct values: predicates process columns in blocks and many codes at once. They
//! are compared with the same reference as small clusters. Seeds are printed; `NODESIFT_SEED` reproduces a cluster.

use nodesift_engine::Phase;
use nodesift_fixtures::Cluster;
use nodesift_reference::{explain, filters};
use serde_json::{Value, json};

use super::mirror::Mirror;
use super::{Tally, ask_and_compare, cases_from_environment, default_policy, engine};

/// Default number of clusters, and pods evaluated in each.
const CLUSTERS: u64 = 3;
const ASKED: usize = 12;

/// Label keys with increasing numbers of values: fewer than are looked up at once, more than that, more than a byte holds, and
/// one per node.
const KEYS: [(&str, usize); 4] = [("zone", 3), ("rack", 40), ("cell", 300), ("kubernetes.io/hostname", usize::MAX)];

#[test]
fn engine_and_reference_agree_on_clusters_of_many_nodes_and_values() {
    let clusters = cases_from_environment("NODESIFT_WIDE_CLUSTERS", CLUSTERS);
    let first = nodesift_seed::seed();
    let policy = default_policy();
    let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
    let filters = filters::named(&names);
    let mut tally = Tally { clusters, ..Tally::default() };
    for seed in first..first + clusters {
        println!("NODESIFT_SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let cluster = cluster(&mut random);
        let nodes = cluster.nodes().count();
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(cluster.objects());
        let engine = engine(&policy, &mirror);
        for number in 0..ASKED {
            let pod = asked(&mut random, number, nodes);
            let explanation = explain(&cluster, &pod, &filters);
            tally.count(nodes, &explanation);
            let found = ask_and_compare(&engine, &cluster, &pod, Phase::Allocate, &explanation);
            assert!(found.is_empty(), "seed {seed}, {nodes} nodes: {:#?}\n{pod}", &found[..found.len().min(4)]);
        }
    }
    println!("{tally:?}");
    assert!(tally.rejected > 0 && tally.feasible > 0, "some nodes fit and some do not");
}

fn cluster(random: &mut fastrand::Rng) -> Cluster {
    let mut cluster = Cluster::default();
    let count = random.usize(300..450);
    cluster.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}));
    for number in 0..count {
        cluster.apply(node(random, number));
    }
    for number in 0..count {
        let mut pod = pod(&format!("there-{number}"), &format!("app-{}", random.u8(..40)));
        pod["spec"]["nodeName"] = json!(format!("n{}", random.usize(..count)));
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(random.u8(..3));
        if random.u8(..20) == 0 {
            pod["spec"]["affinity"] = json!({"podAntiAffinity": away(random)});
        }
        cluster.apply(pod);
    }
    cluster
}

fn node(random: &mut fastrand::Rng, number: usize) -> Value {
    let mut labels = serde_json::Map::new();
    for (key, values) in KEYS {
        if random.u8(..30) > 0 {
            labels.insert(key.to_owned(), json!(value(number % values)));
        }
    }
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("n{number}"), "uid": format!("node-{number}"), "labels": labels},
        "spec": {},
        "status": {"allocatable": {"cpu": random.u8(..6).to_string(), "memory": "8Gi", "pods": random.u8(1..6).to_string()}},
    });
    if random.u8(..20) == 0 {
        node["spec"]["unschedulable"] = json!(true);
    }
    // More taint sets than are looked up at once.
    if random.u8(..4) == 0 {
        let value = value(random.usize(..25));
        node["spec"]["taints"] = json!([{"key": "kept-for", "value": value, "effect": "NoSchedule"}]);
    }
    node
}

/// The numbers of the nodes in the order in which they are added, which is that of their names.
fn first_known(nodes: usize) -> impl Iterator<Item = usize> {
    let mut numbers: Vec<usize> = (0..nodes).collect();
    numbers.sort_by_key(|number| format!("n{number}"));
    numbers.into_iter()
}

/// An integer, so that `Gt` and `Lt` apply.
fn value(number: usize) -> String {
    number.to_string()
}

fn pod(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "1Mi"}}}]},
    })
}

fn away(random: &mut fastrand::Rng) -> Value {
    let selector = json!({"matchLabels": {"app": format!("app-{}", random.u8(..40))}});
    let term = json!({"topologyKey": KEYS[random.usize(..KEYS.len())].0, "labelSelector": selector});
    json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]})
}

/// A pod that uses everything that reads columns of codes.
fn asked(random: &mut fastrand::Rng, number: usize, nodes: usize) -> Value {
    let mut pod = pod(&format!("asked-{number}"), &format!("app-{}", random.u8(..40)));
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(random.u8(..6));
    let requirement = |random: &mut fastrand::Rng| {
        let (key, values) = KEYS[random.usize(..KEYS.len())];
        let number = |random: &mut fastrand::Rng| value(random.usize(..nodes.min(values)));
        match random.u8(..6) {
            0 => {
                let operator = if random.bool() { "Gt" } else { "Lt" };
                json!({"key": key, "operator": operator, "values": [number(random)]})
            }
            1 => json!({"key": key, "operator": "Exists"}),
            kind => {
                let count = random.usize(1..30);
                // Either any values, or the first values in the cache, which have small codes.
                let some: Vec<String> = if random.bool() {
                    (0..count).map(|_| number(random)).collect()
                } else {
                    first_known(nodes).map(|node| value(node % values)).take(count.div_ceil(2)).collect()
                };
                json!({"key": key, "operator": if kind < 4 { "In" } else { "NotIn" }, "values": some})
            }
        }
    };
    if random.u8(..3) > 0 {
        let term = json!({"matchExpressions": [requirement(random), requirement(random)]});
        let terms = json!({"nodeSelectorTerms": [term, {"matchExpressions": [requirement(random)]}]});
        pod["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    }
    if random.bool() {
        pod["spec"]["affinity"]["podAntiAffinity"] = away(random);
    }
    if random.bool() {
        let tolerated = |_| json!({"key": "kept-for", "value": value(random.usize(..25)), "effect": "NoSchedule"});
        pod["spec"]["tolerations"] = (0..12).map(tolerated).collect();
    }
    if random.bool() {
        pod["spec"]["topologySpreadConstraints"] = json!([{
            "maxSkew": random.u8(1..4), "topologyKey": KEYS[random.usize(..KEYS.len())].0, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": format!("app-{}", random.u8(..40))}},
        }]);
    }
    pod
}
