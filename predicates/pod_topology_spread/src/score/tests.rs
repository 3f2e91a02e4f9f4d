//! Unit tests of the raw scores on the fixture, and a comparison with a model on random clusters.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use nodesift_sdk::columns::node_taints::Effect;
use nodesift_sdk::columns::pod_spread::{Constraint, Inclusion, WhenUnsatisfiable};
use nodesift_sdk::columns::selectors::{LabelSelector, Operator, Requirement};
use nodesift_sdk::configure;
use nodesift_sdk::native::{Cluster, Node, Pod};

use super::*;
use crate::PodTopologySpread;

const ZONE: &str = "topology.kubernetes.io/zone";

fn labels(labels: &[(&str, &str)]) -> LabelSelector {
    let match_labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    LabelSelector { match_labels, match_expressions: Vec::new() }
}

/// A constraint with a maximum skew of one pod.
fn constraint_on(topology_key: &str) -> Constraint {
    Constraint {
        max_skew: 1,
        topology_key: topology_key.into(),
        when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
        selector: Some(labels(&[("app", "web")])),
        min_domains: None,
        node_affinity_policy: None,
        node_taints_policy: None,
        match_label_keys: Vec::new(),
    }
}

fn web() -> Pod {
    Pod::new("default").label("app", "web")
}

fn with(node: Node, pods: usize) -> Node {
    (0..pods).fold(node, |node, _| node.running(web()))
}

fn node(name: &str, zone: &str, pods: usize) -> Node {
    with(Node::new(name).label(HOSTNAME, name).label(ZONE, zone), pods)
}

/// East: two pods on `a`, 20 on `b`. West: five pods on `c`.
fn cluster(pod: Pod) -> Cluster {
    Cluster::new(pod).node(node("a", "east", 2)).node(node("b", "east", 20)).node(node("c", "west", 5))
}

fn raw(cluster: &Cluster, feasible: &[u8]) -> Option<Vec<i64>> {
    raw_by("{}", cluster, feasible)
}

fn raw_by(args: &str, cluster: &Cluster, feasible: &[u8]) -> Option<Vec<i64>> {
    let predicate: PodTopologySpread = configure(args).unwrap();
    cluster.run(|_| predicate.raw(feasible)).unwrap()
}

/// A count of pods in one of `size` domains, weighed.
fn weighed(pods: u32, size: u32) -> i64 {
    round(f64::from(pods) * log::ln(size + 2))
}

#[test]
fn the_pods_of_a_domain_are_weighed_by_how_many_domains_there_are_among_the_feasible_rows() {
    let cluster = cluster(web().spread(constraint_on(ZONE)));
    let (east, west) = (weighed(22, 2), weighed(5, 2));
    assert_eq!((east, west), (30, 7));
    assert_eq!(raw(&cluster, &[1, 1, 1]), Some(vec![east, east, west]));
    // Without west there is one domain; pods count on rows that are not feasible too.
    assert_eq!(raw(&cluster, &[1, 0, 0]), Some(vec![weighed(22, 1), NO_SCORE, NO_SCORE]));
}

#[test]
fn each_row_is_its_own_domain_of_the_hostname() {
    let doubled = cluster(web().spread(constraint_on(HOSTNAME))).node(with(Node::new("x").label(HOSTNAME, "a"), 1));
    let scores = [2, 20, 5, 1].map(|pods| weighed(pods, 4));
    assert_eq!(raw(&doubled, &[1; 4]), Some(scores.to_vec()));
    // Policies do not exclude the pods of the row itself.
    let constraint = Constraint { node_taints_policy: Some(Inclusion::Honor), ..constraint_on(HOSTNAME) };
    let tainted = Cluster::new(web().spread(constraint)).node(node("a", "east", 3).taint("t", "", Effect::NoSchedule));
    assert_eq!(raw(&tainted, &[1]), Some(vec![weighed(3, 1)]));
}

#[test]
fn the_skew_beyond_one_is_added_and_the_sum_is_rounded_once() {
    let skew = |max_skew, key| Constraint { max_skew, ..constraint_on(key) };
    let pod = web().spread(skew(5, ZONE)).spread(skew(3, HOSTNAME));
    let sum = |zone: u32, host: u32| round((f64::from(zone) * log::ln(4) + 4.0) + (f64::from(host) * log::ln(5) + 2.0));
    assert_eq!(raw(&cluster(pod), &[1; 3]), Some(vec![sum(22, 2), sum(22, 20), sum(5, 5)]));
}

#[test]
fn rows_without_a_key_have_no_score_and_their_pods_do_not_count() {
    let pod = web().spread(constraint_on(ZONE)).spread(constraint_on("rack"));
    let racked = |name, zone, pods| node(name, zone, pods).label("rack", "1");
    let cluster =
        Cluster::new(pod).node(racked("a", "east", 1)).node(node("b", "east", 9)).node(racked("c", "west", 0));
    let sum = |zone: u32, rack: u32| round(f64::from(zone) * log::ln(4) + f64::from(rack) * log::ln(3));
    assert_eq!(raw(&cluster, &[1; 3]), Some(vec![sum(1, 1), NO_SCORE, sum(0, 1)]));
}

#[test]
fn a_missing_label_is_an_empty_value_for_the_constraints_of_kube_scheduler_itself() {
    let pod = web().default_selector(labels(&[("app", "web")]));
    let host = |name: &str, pods| with(Node::new(name).label(HOSTNAME, name), pods);
    let cluster = Cluster::new(pod)
        .node(node("a", "east", 2))
        .node(node("b", "", 3))
        .node(host("c", 4))
        .node(with(Node::new("d"), 5));
    let sum = |host: u32, zone: u32| round((f64::from(host) * log::ln(6) + 2.0) + (f64::from(zone) * log::ln(4) + 4.0));
    // The zone of `b` has the pods of `c` and `d` as well, which have no score of a zone; `d` has none of a host either.
    let of_host = round(4.0 * log::ln(6) + 2.0);
    assert_eq!(raw(&cluster, &[1; 4]), Some(vec![sum(2, 2), sum(3, 12), of_host, 0]));
}

#[test]
fn default_constraints_are_those_of_pods_without_any() {
    let owned = || web().default_selector(labels(&[("app", "web")]));
    let list = r#"{"defaultingType":"List","defaultConstraints":[
        {"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway"},
        {"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule"}]}"#;
    let scores = Some(vec![weighed(22, 2), weighed(22, 2), weighed(5, 2)]);
    assert_eq!(raw_by(list, &cluster(owned()), &[1; 3]), scores);
    let hard = Constraint { when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule, ..constraint_on(HOSTNAME) };
    for args in ["{}", list] {
        // Without a selector of its services and controller, or with any constraint of its own, a pod has none of them.
        assert_eq!(raw_by(args, &cluster(web()), &[1; 3]), None);
        assert_eq!(raw_by(args, &cluster(web().default_selector(labels(&[]))), &[1; 3]), None);
        assert_eq!(raw_by(args, &cluster(owned().spread(hard.clone())), &[1; 3]), None);
    }
    assert_eq!(raw_by(r#"{"defaultingType":"List"}"#, &cluster(owned()), &[1; 3]), None);
}

#[test]
fn an_absent_and_an_empty_selector_count_no_pod() {
    for selector in [None, Some(labels(&[]))] {
        let constraint = Constraint { selector, max_skew: 4, ..constraint_on(ZONE) };
        assert_eq!(raw(&cluster(web().spread(constraint)), &[1; 3]), Some(vec![3; 3]));
    }
}

#[test]
fn an_invalid_selector_is_an_error() {
    let broken = Requirement {
        key: "app".into(),
        operator: Operator::In,
        values: vec!["bad value!".into()],
        operator_text: "In".into(),
    };
    let selector = LabelSelector { match_labels: Vec::new(), match_expressions: vec![broken] };
    let pod = web().spread(Constraint { selector: Some(selector), ..constraint_on(ZONE) });
    let predicate: PodTopologySpread = configure("{}").unwrap();
    let error = cluster(pod).run(|_| predicate.raw(&[1; 3])).unwrap_err();
    assert!(error.starts_with("running PreScore plugin \"PodTopologySpread\": "), "{error}");
    assert!(error.contains("soft topology spread constraints: values[0][app]: Invalid value"), "{error}");
}

/// A node of the model.
#[derive(Debug)]
struct ModelNode {
    labels: BTreeMap<&'static str, &'static str>,
    pods: u32,
    is_feasible: bool,
    affinity_mismatch: bool,
    tainted: bool,
}

/// The model: sets of values and loops over all nodes, as kube-scheduler has them.
fn expected(constraints: &[Constraint], nodes: &[ModelNode], needs_all_keys: bool) -> Vec<i64> {
    let has_all = |node: &ModelNode| {
        !needs_all_keys || constraints.iter().all(|one| node.labels.contains_key(one.topology_key.as_str()))
    };
    let value =
        |node: &ModelNode, one: &Constraint| node.labels.get(one.topology_key.as_str()).copied().unwrap_or_default();
    let scored: Vec<&ModelNode> = nodes.iter().filter(|node| node.is_feasible && has_all(node)).collect();
    let score = |node: &ModelNode| {
        if !node.is_feasible || !has_all(node) {
            return NO_SCORE;
        }
        let mut sum = 0.0;
        for one in constraints.iter().filter(|one| node.labels.contains_key(one.topology_key.as_str())) {
            let is_hostname = one.topology_key == HOSTNAME;
            let values: BTreeSet<&str> = scored.iter().map(|node| value(node, one)).collect();
            let size = if is_hostname { scored.len() } else { values.len() };
            let is_counted = |other: &&ModelNode| {
                has_all(other)
                    && !(one.node_affinity_policy != Some(Inclusion::Ignore) && other.affinity_mismatch)
                    && !(one.node_taints_policy == Some(Inclusion::Honor) && other.tainted)
                    && value(other, one) == value(node, one)
            };
            let in_domain: u32 = nodes.iter().filter(is_counted).map(|other| other.pods).sum();
            let pods = if is_hostname { node.pods } else { in_domain };
            sum += f64::from(pods) * log::ln(u32::try_from(size).unwrap() + 2) + f64::from(one.max_skew - 1);
        }
        round(sum)
    };
    nodes.iter().map(score).collect()
}

#[test]
fn columns_and_nodes_give_the_same_scores() {
    const KEYS: [&str; 3] = [HOSTNAME, ZONE, "rack"];
    const VALUES: [&str; 4] = ["", "1", "2", "3"];
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut scored, mut ignored) = (0, 0);
    for round in 0..1_000 {
        let nodes: Vec<ModelNode> = (0..random.usize(1..70))
            .map(|_| {
                let keys: Vec<&str> = KEYS.into_iter().filter(|_| random.u8(..9) > 0).collect();
                ModelNode {
                    labels: keys.into_iter().map(|key| (key, VALUES[random.usize(..4)])).collect(),
                    pods: random.u32(0..3),
                    is_feasible: random.bool(),
                    affinity_mismatch: random.u8(..4) == 0,
                    tainted: random.u8(..4) == 0,
                }
            })
            .collect();
        let policy =
            |random: &mut fastrand::Rng| [None, Some(Inclusion::Honor), Some(Inclusion::Ignore)][random.usize(..3)];
        let constraints: Vec<Constraint> = (0..random.usize(1..4))
            .map(|_| Constraint {
                max_skew: random.i32(1..12),
                node_affinity_policy: policy(&mut random),
                node_taints_policy: policy(&mut random),
                ..constraint_on(KEYS[random.usize(..3)])
            })
            .collect();
        let pod = constraints.iter().cloned().fold(web().node_selector("in", "yes"), Pod::spread);
        let cluster = nodes.iter().fold(Cluster::new(pod), |cluster, model| {
            let node = model.labels.iter().fold(Node::new("n"), |node, (key, value)| node.label(key, value));
            let node = (0..model.pods).fold(node, |node, _| node.running(web()));
            let node = if model.affinity_mismatch { node } else { node.label("in", "yes") };
            cluster.node(if model.tainted { node.taint("t", "", Effect::NoExecute) } else { node })
        });
        let feasible: Vec<u8> = nodes.iter().map(|node| u8::from(node.is_feasible)).collect();
        let needs_all_keys = random.bool();
        let expected = expected(&constraints, &nodes, needs_all_keys);
        let parsed = cluster.run(|_| crate::constraint::for_pod(WhenUnsatisfiable::ScheduleAnyway, &[])).unwrap();
        let found = cluster.run(|_| super::raw(&parsed.constraints, needs_all_keys, &feasible));
        assert_eq!(found, expected, "seed {seed}, round {round}: {constraints:?} {nodes:?}");
        scored += expected.iter().filter(|score| **score != NO_SCORE).count();
        ignored += expected.iter().zip(&feasible).filter(|(score, at)| **score == NO_SCORE && **at != 0).count();
    }
    assert!(scored > 5_000 && ignored > 500, "seed {seed}: {scored} scored, {ignored} ignored");
}
