//! The order of events does not matter: what counts in the end is what a fresh count of the objects gives.
//!
//! A run follows `NODESIFT_ACCOUNTING_HISTORIES` (12) histories. A difference names the seed of its history.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::world::{World, fresh, granting, node, pod, taken};

/// Histories, and objects in each.
const HISTORIES: u64 = 12;
const PODS: usize = 40;
const NODES: usize = 4;

/// Counts the objects by hand: by the component's rules, and by the standard amounts where it fails.
fn counted_by_hand(
    nodes: &BTreeMap<String, Value>,
    pods: &BTreeMap<String, Value>,
) -> BTreeMap<String, (i64, Option<i64>)> {
    let milli = |text: &Value| text.as_str().unwrap().trim_end_matches('m').parse::<i64>().unwrap();
    let letter = |object: &Value| object["metadata"]["annotations"]["k"].as_str().unwrap_or("").to_owned();
    let own = |node: &Value| match letter(node).as_str() {
        // Nothing was known of it before.
        "t" | "b" => 0,
        _ => milli(&node["status"]["allocatable"]["cpu"]),
    };
    let mut counted: BTreeMap<String, (i64, Option<i64>)> =
        nodes.iter().map(|(name, node)| (name.clone(), (0, Some(own(node))))).collect();
    for pod in pods.values() {
        let Some((cpu, sum)) = counted.get_mut(pod["spec"]["nodeName"].as_str().unwrap()) else { continue };
        let container = milli(&pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]);
        let (usage, added) = match letter(pod).as_str() {
            "a" => (container + 5, 7),
            "c" => (container, 7),
            _ => (container + 5, 0),
        };
        *cpu += usage;
        *sum = sum.map(|sum| sum + added);
    }
    counted
}

#[test]
fn permuted_histories_count_as_a_fresh_count() {
    let first = nodesift_seed::seed();
    let runs = std::env::var("NODESIFT_ACCOUNTING_HISTORIES").map_or(HISTORIES, |number| number.parse().unwrap());
    let settings = granting(&json!({"onError": "Standard"}));
    for seed in (0..runs).map(|history| first.wrapping_add(history)) {
        let mut random = fastrand::Rng::with_seed(seed);
        // Each object has states in order; the objects among each other have none.
        let mut histories: Vec<Vec<Value>> = Vec::new();
        for number in 0..NODES + PODS {
            let states = (0..random.u64(1..5)).map(|state| {
                let letter = [None, Some("a"), Some("c"), Some("b"), Some("t")][random.usize(0..5)];
                match number < NODES {
                    true => node(&format!("n{number}"), state + 1, 100_000 + 10 * random.u64(0..9), letter),
                    false => {
                        let on = format!("n{}", random.usize(0..NODES));
                        // A pod is bound once, and stays there.
                        pod(&format!("p{number}"), state + 1, Some(&on), 10 * random.u64(1..50), letter)
                    }
                }
            });
            let mut states: Vec<Value> = states.collect();
            let on = states[0]["spec"]["nodeName"].clone();
            states
                .iter_mut()
                .skip(1)
                .filter(|state| state["kind"] == "Pod")
                .for_each(|state| state["spec"]["nodeName"] = on.clone());
            histories.push(states);
        }
        let world = World::new(Some(&settings));
        let (mut nodes, mut pods) = (BTreeMap::new(), BTreeMap::new());
        let mut gone = Vec::new();
        while !histories.is_empty() {
            let at = random.usize(0..histories.len());
            let state = histories[at].remove(0);
            let name = state["metadata"]["name"].as_str().unwrap().to_owned();
            world.deliver(std::slice::from_ref(&state));
            if state["kind"] == "Node" {
                nodes.insert(name, state)
            } else {
                pods.insert(name, state)
            };
            if histories[at].is_empty() {
                histories.swap_remove(at);
            }
        }
        for name in pods.keys().filter(|_| random.u8(0..10) == 0) {
            gone.push(name.clone());
        }
        for name in gone {
            world.delete(&pods.remove(&name).unwrap(), 1_000);
        }
        let snapshot = world.settle(2_000);
        let hand = counted_by_hand(&nodes, &pods);
        assert_eq!(taken(&snapshot), hand, "seed {seed}");
        let objects: Vec<Value> = pods.values().chain(nodes.values()).cloned().collect();
        assert_eq!(taken(&fresh(Some(&settings), &objects)), hand, "seed {seed}");
        let mut writer = world.writer.lock();
        let rows = writer.audit_rows();
        assert!(writer.audit(0..rows).is_empty(), "seed {seed}");
        // Without a component the same objects take what the API says, and there are no sums.
        let standard = fresh(None, &objects);
        assert_eq!(standard.sum_names().len(), 0);
        assert!(taken(&standard).values().all(|(_, sum)| sum.is_none()));
    }
}

#[test]
fn pods_of_ignored_namespaces_take_nothing() {
    let objects = [node("n", 1, 1000, None), pod("p", 1, Some("n"), 300, Some("a")), pod("q", 1, Some("n"), 300, None)];
    let ignoring = granting(&json!({"ignoreNamespaces": ["ns", "kube-system"]}));
    assert_eq!(taken(&fresh(Some(&ignoring), &objects))["n"], (0, Some(1000)));
    let others = granting(&json!({"ignoreNamespaces": ["other"]}));
    assert_eq!(taken(&fresh(Some(&others), &objects))["n"], (610, Some(1007)));
}
