//! Unit tests of the whole predicate on the fixture, and a comparison with a model on random clusters.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use nodesift_sdk::columns::node_taints::Effect;
use nodesift_sdk::columns::pod_spread::{Constraint, Inclusion, WhenUnsatisfiable};
use nodesift_sdk::columns::pod_tolerations::Operator as TolerationOperator;
use nodesift_sdk::columns::selectors::{LabelSelector, Operator, Requirement};
use nodesift_sdk::configure;
use nodesift_sdk::native::{Cluster, Node, Pod};

use super::*;

const ZONE: &str = "zone";
const HOST: &str = "host";

fn labels(labels: &[(&str, &str)]) -> LabelSelector {
    let match_labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    LabelSelector { match_labels, match_expressions: Vec::new() }
}

/// A constraint with a maximum skew of one pod.
fn constraint_on(topology_key: &str) -> Constraint {
    Constraint {
        max_skew: 1,
        topology_key: topology_key.into(),
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
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

fn node(name: &str, zone: &str, pods: usize) -> Node {
    (0..pods).fold(Node::new(name).label(HOST, name).label(ZONE, zone), |node, _| node.running(web()))
}

/// East: two pods on `a`, none on `b`. West: one pod on `c`.
fn cluster(pod: Pod) -> Cluster {
    Cluster::new(pod).node(node("a", "east", 2)).node(node("b", "east", 0)).node(node("c", "west", 1))
}

/// One letter per node: S for the skew, K for a missing topology key, - where the pod fits.
fn rejected(cluster: &Cluster) -> String {
    rejected_by(&configure("{}").unwrap(), cluster)
}

fn rejected_by(predicate: &PodTopologySpread, cluster: &Cluster) -> String {
    let letter = |failure: Option<Failure>| match failure {
        None => '-',
        Some(failure) if failure == Failure::unschedulable(REASON_SKEW) => 'S',
        Some(failure) if failure == Failure::unresolvable(REASON_MISSING_LABEL) => 'K',
        Some(failure) => panic!("{failure:?}"),
    };
    cluster.failures(predicate).into_iter().map(letter).collect()
}

#[test]
fn a_pod_without_constraints_fits_everywhere() {
    assert_eq!(cluster(web()).verdict(&configure::<PodTopologySpread>("{}").unwrap()), Verdict::FitsAll);
}

#[test]
fn a_domain_can_exceed_the_minimum_by_the_maximum_skew() {
    assert_eq!(rejected(&cluster(web().spread(constraint_on(ZONE)))), "SS-");
    assert_eq!(rejected(&cluster(web().spread(constraint_on(HOST)))), "S-S");
    assert_eq!(rejected(&cluster(web().spread(Constraint { max_skew: 2, ..constraint_on(ZONE) }))), "---");
}

#[test]
fn a_constraint_with_schedule_anyway_does_not_filter() {
    for when_unsatisfiable in [WhenUnsatisfiable::ScheduleAnyway, WhenUnsatisfiable::Other] {
        assert_eq!(rejected(&cluster(web().spread(Constraint { when_unsatisfiable, ..constraint_on(ZONE) }))), "---");
    }
}

#[test]
fn a_pod_that_its_selector_does_not_match_is_not_counted() {
    let other = Pod::new("default").label("app", "db");
    assert_eq!(rejected(&cluster(other.clone().spread(constraint_on(ZONE)))), "---");
    assert_eq!(rejected(&cluster(other.spread(constraint_on(HOST)))), "S--");
}

#[test]
fn an_absent_selector_matches_nothing_and_an_empty_one_only_the_pod_itself() {
    let with =
        |selector, max_skew| rejected(&cluster(web().spread(Constraint { selector, max_skew, ..constraint_on(ZONE) })));
    assert_eq!(with(None, 0), "---");
    assert_eq!(with(Some(labels(&[])), 1), "---");
    assert_eq!(with(Some(labels(&[])), 0), "SSS");
}

#[test]
fn terminating_pods_and_pods_of_other_namespaces_are_not_counted() {
    let running = [web().terminating(), Pod::new("other").label("app", "web")];
    for pod in running {
        let full = (0..5).fold(node("a", "east", 0), |node, _| node.running(pod.clone()));
        assert_eq!(
            rejected(&Cluster::new(web().spread(constraint_on(ZONE))).node(full).node(node("b", "west", 0))),
            "--"
        );
    }
}

#[test]
fn a_node_without_a_key_is_rejected_and_excluded_by_every_constraint() {
    let pod = || web().spread(constraint_on(ZONE)).spread(Constraint { max_skew: 9, ..constraint_on(HOST) });
    // `d` has no host label. Its pods would make west the zone with more pods.
    let without_host = Node::new("d").label(ZONE, "west").running(web()).running(web()).running(web());
    assert_eq!(rejected(&cluster(pod()).node(without_host.clone())), "SS-K");
    // The first constraint that fails gives the reason: here the skew of the zone, not the missing host.
    let in_east = Node::new("e").label(ZONE, "east");
    assert_eq!(rejected(&cluster(pod()).node(in_east)), "SS-S");
    assert_eq!(rejected(&Cluster::new(web().spread(constraint_on("none"))).node(without_host)), "K");
}

#[test]
fn an_empty_label_value_is_a_domain() {
    let cluster = Cluster::new(web().spread(constraint_on(ZONE))).node(node("a", "", 0)).node(node("b", "east", 1));
    assert_eq!(rejected(&cluster), "-S");
}

#[test]
fn with_too_few_domains_the_minimum_is_0() {
    let with = |min_domains| rejected(&cluster(web().spread(Constraint { min_domains, ..constraint_on(ZONE) })));
    assert_eq!(with(None), "SS-");
    assert_eq!(with(Some(2)), "SS-");
    assert_eq!(with(Some(3)), "SSS");
    let nowhere = Constraint { max_skew: 1, ..constraint_on(ZONE) };
    let excluded = web().spread(nowhere).node_selector("none", "none");
    assert_eq!(rejected(&cluster(excluded)), "---");
}

#[test]
fn nodes_outside_the_node_affinity_are_excluded_unless_ignored() {
    // Only west is counted: the minimum is its one pod. East has no counted node, so its sum is 0.
    let selecting = |node_affinity_policy| {
        let constraint = Constraint { node_affinity_policy, ..constraint_on(ZONE) };
        rejected(&cluster(web().node_selector(ZONE, "west").spread(constraint)))
    };
    for honored in [None, Some(Inclusion::Honor)] {
        assert_eq!(selecting(honored), "---");
    }
    for ignored in [Inclusion::Ignore, Inclusion::Other] {
        assert_eq!(selecting(Some(ignored)), "SS-");
    }
}

#[test]
fn nodes_with_taints_are_excluded_only_where_taints_are_honored() {
    let tainted = |pod: Pod, node_taints_policy| {
        let constraint = Constraint { node_taints_policy, ..constraint_on(HOST) };
        let empty = node("d", "west", 0).taint("t", "", Effect::NoSchedule);
        let full = Cluster::new(pod.spread(constraint)).node(node("a", "east", 1)).node(node("b", "west", 1));
        rejected(&full.node(empty.unschedulable()))
    };
    assert_eq!(tainted(web(), None), "SS-");
    assert_eq!(tainted(web(), Some(Inclusion::Ignore)), "SS-");
    assert_eq!(tainted(web(), Some(Inclusion::Honor)), "---");
    let tolerating = web().toleration("t", TolerationOperator::Exists, "", None);
    assert_eq!(tainted(tolerating, Some(Inclusion::Honor)), "SS-");
}

#[test]
fn match_label_keys_are_added_to_the_selector() {
    let keyed = |pod: Pod| {
        let constraint =
            Constraint { match_label_keys: vec!["version".into(), "absent".into()], ..constraint_on(ZONE) };
        rejected(&cluster(pod.spread(constraint)).node(node("d", "west", 0).running(web().label("version", "2"))))
    };
    assert_eq!(keyed(web().label("version", "2")), "--SS");
    assert_eq!(keyed(web().label("version", "1")), "----");
    assert_eq!(keyed(web()), "----");
    // An absent selector still matches nothing.
    let constraint =
        Constraint { selector: None, max_skew: 0, match_label_keys: vec!["app".into()], ..constraint_on(ZONE) };
    assert_eq!(rejected(&cluster(web().spread(constraint))), "---");
    // An empty selector now matches existing pods.
    let constraint =
        Constraint { selector: Some(labels(&[])), match_label_keys: vec!["app".into()], ..constraint_on(ZONE) };
    assert_eq!(rejected(&cluster(web().spread(constraint))), "SS-");
}

#[test]
fn an_invalid_selector_is_an_error_with_the_text_of_kubernetes() {
    let broken = Requirement {
        key: "app".into(),
        operator: Operator::In,
        values: vec!["bad value!".into()],
        operator_text: "In".into(),
    };
    let selector = LabelSelector { match_labels: Vec::new(), match_expressions: vec![broken] };
    let pod = web().spread(Constraint { selector: Some(selector), ..constraint_on(ZONE) });
    let reason = "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's hard \
                  topology spread constraints: values[0][app]: Invalid value: \"bad value!\": a valid label must be an \
                  empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                  alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                  '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let verdict = cluster(pod).verdict(&configure::<PodTopologySpread>("{}").unwrap());
    assert_eq!(verdict, Verdict::FitsNone(Failure::error(reason)));
}

#[test]
fn default_constraints_apply_to_pods_with_a_default_selector_and_no_constraints() {
    let args = r#"{"defaultingType":"List","defaultConstraints":[
        {"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"},
        {"maxSkew":1,"topologyKey":"host","whenUnsatisfiable":"ScheduleAnyway"}]}"#;
    let predicate: PodTopologySpread = configure(args).unwrap();
    let owned = || web().default_selector(labels(&[("app", "web")]));
    assert_eq!(rejected_by(&predicate, &cluster(owned())), "SS-");
    assert_eq!(rejected(&cluster(owned())), "---");
    assert_eq!(rejected_by(&predicate, &cluster(web())), "---");
    assert_eq!(rejected_by(&predicate, &cluster(web().default_selector(labels(&[])))), "---");
    // With any constraint of its own, even with ScheduleAnyway, the defaults do not apply.
    let own = Constraint { when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway, ..constraint_on(HOST) };
    assert_eq!(rejected_by(&predicate, &cluster(owned().spread(own))), "---");
}

/// A node of the model: its labels, the number of its pods, whether the node affinity rejects it, and whether it is
/// tainted.
#[derive(Debug)]
struct ModelNode {
    labels: BTreeMap<&'static str, &'static str>,
    pods: i64,
    affinity_mismatch: bool,
    tainted: bool,
}

/// The model: for one node, a loop over all nodes.
fn expected_letter(constraints: &[Constraint], nodes: &[ModelNode], node: &ModelNode) -> char {
    let complete = |node: &ModelNode| constraints.iter().all(|one| node.labels.contains_key(one.topology_key.as_str()));
    for constraint in constraints {
        let value = |node: &ModelNode| node.labels.get(constraint.topology_key.as_str()).copied();
        let counted = |node: &&ModelNode| {
            complete(node)
                && !(constraint.node_affinity_policy != Some(Inclusion::Ignore) && node.affinity_mismatch)
                && !(constraint.node_taints_policy == Some(Inclusion::Honor) && node.tainted)
        };
        let counted: Vec<&ModelNode> = nodes.iter().filter(counted).collect();
        let in_domain =
            |domain| counted.iter().filter(|node| value(node) == Some(domain)).map(|node| node.pods).sum::<i64>();
        let domains: BTreeSet<&str> = counted.iter().filter_map(|node| value(node)).collect();
        let mut least = domains.iter().map(|domain| in_domain(*domain)).min().unwrap_or(i64::from(i32::MAX));
        if i64::try_from(domains.len()).unwrap() < i64::from(constraint.min_domains.unwrap_or(1)) {
            least = 0;
        }
        let Some(domain) = value(node) else { return 'K' };
        if in_domain(domain) + 1 - least > i64::from(constraint.max_skew) {
            return 'S';
        }
    }
    '-'
}

#[test]
fn columns_and_nodes_make_the_same_verdict() {
    const KEYS: [&str; 3] = ["x", "y", "z"];
    const VALUES: [&str; 4] = ["", "1", "2", "3"];
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen: BTreeMap<char, usize> = BTreeMap::new();
    for round in 0..1_000 {
        let nodes: Vec<ModelNode> = (0..random.usize(1..70))
            .map(|_| {
                let keys: Vec<&str> = KEYS.into_iter().filter(|_| random.u8(..9) > 0).collect();
                let labels = keys.into_iter().map(|key| (key, VALUES[random.usize(..4)])).collect();
                let pods = random.i64(0..3);
                ModelNode { labels, pods, affinity_mismatch: random.u8(..4) == 0, tainted: random.u8(..4) == 0 }
            })
            .collect();
        let policy =
            |random: &mut fastrand::Rng| [None, Some(Inclusion::Honor), Some(Inclusion::Ignore)][random.usize(..3)];
        let constraints: Vec<Constraint> = (0..random.usize(1..4))
            .map(|_| Constraint {
                max_skew: random.i32(1..12),
                min_domains: [None, Some(-1), Some(0), Some(1), Some(3), Some(9)][random.usize(..6)],
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
        let expected: String = nodes.iter().map(|node| expected_letter(&constraints, &nodes, node)).collect();
        assert_eq!(rejected(&cluster), expected, "seed {seed}, round {round}: {constraints:?} {nodes:?}");
        expected.chars().for_each(|letter| *seen.entry(letter).or_default() += 1);
    }
    for letter in ['S', 'K', '-'] {
        assert!(seen.get(&letter).is_some_and(|count| *count > 500), "seed {seed}: too few {letter}: {seen:?}");
    }
}
