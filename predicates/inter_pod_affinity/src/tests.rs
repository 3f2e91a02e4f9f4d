//! Unit tests of the whole predicate on the fixture, and a comparison with a model on random clusters.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use nodesift_sdk::columns::pod_affinity::Term;
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

fn expression(key: &str, operator: Operator, values: &[&str]) -> LabelSelector {
    let values = values.iter().map(|value| (*value).into()).collect();
    let requirement = Requirement { key: key.into(), operator, values, operator_text: format!("{operator:?}") };
    LabelSelector { match_labels: Vec::new(), match_expressions: vec![requirement] }
}

/// A term about pods in the namespace of the pod that has the term.
fn term(topology_key: &str, selector: LabelSelector) -> Term {
    Term {
        selector: Some(selector),
        namespaces: Vec::new(),
        namespace_selector: None,
        topology_key: topology_key.into(),
        match_label_keys: Vec::new(),
        mismatch_label_keys: Vec::new(),
    }
}

fn app(app: &str) -> LabelSelector {
    labels(&[("app", app)])
}

fn pod() -> Pod {
    Pod::new("default").label("app", "web")
}

fn node(name: &str, zone: &str) -> Node {
    Node::new(name).label(HOST, name).label(ZONE, zone)
}

fn db() -> Pod {
    Pod::new("default").label("app", "db").label("tier", "back")
}

/// East: `a` with a database, and `b`. West: `c`. No zone: `d` with a database.
fn cluster(pod: Pod) -> Cluster {
    Cluster::new(pod)
        .node(node("a", "east").running(db()))
        .node(node("b", "east"))
        .node(node("c", "west"))
        .node(Node::new("d").label(HOST, "d").running(db()))
}

/// One letter per node: A for affinity, N for anti-affinity, E for existing anti-affinity, - where the pod fits.
fn rejected(cluster: &Cluster) -> String {
    rejected_by(r#"{"switches":{"NamespaceSelectorMerge":false}}"#, cluster)
}

fn rejected_by(args: &str, cluster: &Cluster) -> String {
    let predicate: InterPodAffinity = configure(args).unwrap();
    let letter = |failure: Option<Failure>| {
        let failure = failure?;
        Some(match failure.reasons.join(", ").as_str() {
            REASON_AFFINITY => {
                assert_eq!(failure, Failure::unresolvable(REASON_AFFINITY));
                'A'
            }
            REASON_ANTI_AFFINITY => {
                assert_eq!(failure, Failure::unschedulable(REASON_ANTI_AFFINITY));
                'N'
            }
            REASON_EXISTING => {
                assert_eq!(failure, Failure::unschedulable(REASON_EXISTING));
                'E'
            }
            other => panic!("{other}"),
        })
    };
    cluster.failures(&predicate).into_iter().map(|failure| letter(failure).unwrap_or('-')).collect()
}

#[test]
fn a_pod_without_terms_fits_everywhere() {
    assert_eq!(rejected(&cluster(pod())), "----");
}

#[test]
fn affinity_needs_a_pod_in_the_same_domain() {
    assert_eq!(rejected(&cluster(pod().affinity(term(ZONE, app("db"))))), "--AA");
    assert_eq!(rejected(&cluster(pod().affinity(term(HOST, app("db"))))), "-AA-");
    assert_eq!(rejected(&cluster(pod().affinity(term(ZONE, app("nobody"))))), "AAAA");
}

#[test]
fn one_pod_must_match_all_affinity_terms() {
    let both = |key| pod().affinity(term(key, app("db"))).affinity(term(key, labels(&[("tier", "front")])));
    let split = |cluster: Cluster| cluster.node(node("e", "west").running(Pod::new("default").label("tier", "front")));
    assert_eq!(rejected(&split(cluster(both(ZONE)))), "AAAAA");
    let one = |cluster: Cluster| {
        cluster.node(node("e", "west").running(Pod::new("default").label("app", "db").label("tier", "front")))
    };
    assert_eq!(rejected(&one(cluster(both(ZONE)))), "AA-A-");
}

#[test]
fn affinity_terms_with_several_keys_need_every_key() {
    let pod = pod().affinity(term(ZONE, app("db"))).affinity(term(HOST, app("db")));
    assert_eq!(rejected(&cluster(pod)), "-AAA");
}

#[test]
fn the_first_pod_of_a_group_needs_only_the_keys() {
    assert_eq!(rejected(&cluster(pod().affinity(term(ZONE, app("web"))))), "---A");
    // A matching pod on a node without the key is in no domain and is not counted.
    let without_key = cluster(pod().affinity(term(ZONE, app("web")))).node(Node::new("e").running(pod()));
    assert_eq!(rejected(&without_key), "---AA");
    // A matching pod in a domain is counted.
    let in_domain = cluster(pod().affinity(term(ZONE, app("web")))).node(node("e", "west").running(pod()));
    assert_eq!(rejected(&in_domain), "AA-A-");
    // The pod must match all of its terms itself.
    let other = pod().affinity(term(ZONE, app("web"))).affinity(term(ZONE, app("none")));
    assert_eq!(rejected(&cluster(other)), "AAAA");
}

#[test]
fn a_pod_is_counted_in_each_domain_of_its_node() {
    // The database on `d` is in the domain of its host and in no zone. So no zone satisfies the term on zones, and the
    // pod is not the first of its group.
    let cluster = Cluster::new(db().affinity(term(ZONE, app("db"))).affinity(term(HOST, app("db"))))
        .node(node("a", "east"))
        .node(Node::new("d").label(HOST, "d").running(db()));
    assert_eq!(rejected(&cluster), "AA");
}

#[test]
fn anti_affinity_needs_a_domain_without_the_pods() {
    assert_eq!(rejected(&cluster(pod().anti_affinity(term(ZONE, app("db"))))), "NN--");
    assert_eq!(rejected(&cluster(pod().anti_affinity(term(HOST, app("db"))))), "N--N");
    assert_eq!(rejected(&cluster(pod().anti_affinity(term("none", app("db"))))), "----");
    // Each anti-affinity term is compared by itself, unlike affinity terms.
    let either = pod().anti_affinity(term(HOST, app("db"))).anti_affinity(term(ZONE, app("none")));
    assert_eq!(rejected(&cluster(either)), "N--N");
}

#[test]
fn anti_affinity_of_existing_pods_rejects_their_domain() {
    let with_term = |key| db().anti_affinity(term(key, app("web")));
    let cluster = |key| cluster(pod()).node(node("e", "west").running(with_term(key)));
    assert_eq!(rejected(&cluster(ZONE)), "--E-E");
    assert_eq!(rejected(&cluster(HOST)), "----E");
    assert_eq!(rejected(&cluster("none")), "-----");
    // Without namespaces, their terms are about their own namespace.
    let foreign = Pod::new("other").anti_affinity(term(ZONE, app("web")));
    assert_eq!(rejected(&Cluster::new(pod()).node(node("a", "east").running(foreign))), "-");
}

#[test]
fn only_the_first_failed_check_gives_a_reason() {
    let with_term = db().anti_affinity(term(ZONE, app("web")));
    let all = |pod: Pod| Cluster::new(pod).node(node("a", "east").running(with_term.clone()));
    assert_eq!(rejected(&all(pod())), "E");
    assert_eq!(rejected(&all(pod().anti_affinity(term(ZONE, app("db"))))), "N");
    let everything = pod().anti_affinity(term(ZONE, app("db"))).affinity(term(ZONE, app("none")));
    assert_eq!(rejected(&all(everything)), "A");
}

#[test]
fn terminating_pods_are_counted() {
    let pod = pod().anti_affinity(term(ZONE, app("db")));
    assert_eq!(rejected(&Cluster::new(pod).node(node("a", "east").running(db().terminating()))), "N");
}

#[test]
fn an_absent_selector_matches_no_pod_and_an_empty_one_every_pod() {
    let missing = || Term { selector: None, ..term(ZONE, app("db")) };
    assert_eq!(rejected(&cluster(pod().anti_affinity(missing()))), "----");
    assert_eq!(rejected(&cluster(pod().affinity(missing()))), "AAAA");
    assert_eq!(rejected(&cluster(pod().anti_affinity(term(ZONE, labels(&[]))))), "NN--");
}

#[test]
fn namespaces_are_the_own_one_or_listed_or_selected_by_labels() {
    let with = |namespaces: &[&str], namespace_selector: Option<LabelSelector>| {
        let namespaces = namespaces.iter().map(|name| (*name).into()).collect();
        let term = Term { namespaces, namespace_selector, ..term(HOST, app("db")) };
        let running = |namespace: &str| Pod::new(namespace).label("app", "db");
        let cluster = Cluster::new(pod().anti_affinity(term))
            .namespace("default", &[("team", "red")])
            .namespace("blue", &[("team", "blue")])
            .namespace("bare", &[])
            .node(node("a", "east").running(running("default")))
            .node(node("b", "east").running(running("blue")))
            .node(node("c", "east").running(running("bare")))
            .node(node("d", "east").running(running("without-object")));
        rejected(&cluster)
    };
    assert_eq!(with(&[], None), "N---");
    assert_eq!(with(&["blue"], None), "-N--");
    assert_eq!(with(&[], Some(labels(&[]))), "NNNN");
    assert_eq!(with(&[], Some(labels(&[("team", "blue")]))), "-N--");
    assert_eq!(with(&["bare"], Some(labels(&[("team", "blue")]))), "-NN-");
    // A namespace selector selects only namespaces that have an object.
    assert_eq!(with(&[], Some(expression("team", Operator::NotIn, &["blue"]))), "N-N-");
    assert_eq!(with(&[], Some(expression("team", Operator::DoesNotExist, &[]))), "--N-");
}

#[test]
fn for_terms_of_existing_pods_a_namespace_without_an_object_has_no_labels() {
    let with_term = |selector| Term { namespace_selector: Some(selector), ..term(ZONE, app("web")) };
    let by = |selector| {
        rejected(
            &Cluster::new(pod()).node(node("a", "east").running(Pod::new("other").anti_affinity(with_term(selector)))),
        )
    };
    assert_eq!(by(expression("team", Operator::NotIn, &["blue"])), "E");
    assert_eq!(by(expression("team", Operator::Exists, &[])), "-");
}

#[test]
fn as_released_a_namespace_selector_that_selects_no_labels_selects_every_namespace() {
    let of = |key, operator, values: &[&str]| {
        let namespace_selector = Some(expression(key, operator, values));
        let term = Term { namespace_selector, ..term(HOST, app("db")) };
        cluster(pod().anti_affinity(term)).namespace("default", &[("env", "prod")])
    };
    for (key, operator, values, documented, released) in [
        ("env", Operator::NotIn, &["prod"][..], "----", "N--N"),
        ("env", Operator::DoesNotExist, &[], "----", "N--N"),
        ("env", Operator::In, &["prod"], "N--N", "N--N"),
        ("env", Operator::Exists, &[], "N--N", "N--N"),
        ("other", Operator::Exists, &[], "----", "----"),
    ] {
        let cluster = of(key, operator, values);
        assert_eq!(rejected(&cluster), documented, "{key} {operator:?}");
        assert_eq!(rejected_by("{}", &cluster), released, "{key} {operator:?}");
    }
}

#[test]
fn match_label_keys_are_ignored() {
    let keyed =
        Term { match_label_keys: vec!["app".into()], mismatch_label_keys: vec!["x".into()], ..term(ZONE, app("db")) };
    assert_eq!(rejected(&cluster(pod().anti_affinity(keyed))), "NN--");
}

#[test]
fn an_invalid_term_rejects_every_node_with_the_text_of_kubernetes() {
    let broken =
        |operator| Requirement { key: "a".into(), operator, values: Vec::new(), operator_text: "Bogus".into() };
    let term_of =
        |operator| term(ZONE, LabelSelector { match_labels: Vec::new(), match_expressions: vec![broken(operator)] });
    let verdict = |pod| cluster(pod).verdict(&configure::<InterPodAffinity>("{}").unwrap());
    let rejection = |reason: &str| Verdict::FitsNone(Failure::unresolvable(reason));
    let bogus = "\"Bogus\" is not a valid label selector operator";
    let empty = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";
    assert_eq!(
        verdict(pod().anti_affinity(term_of(Operator::Unknown))),
        rejection(&format!("parsing pod: requiredAntiAffinityTerms: {bogus}"))
    );
    assert_eq!(
        verdict(pod().affinity(term_of(Operator::In)).anti_affinity(term_of(Operator::Unknown))),
        rejection(&format!("parsing pod: [requiredAffinityTerms: {empty}, requiredAntiAffinityTerms: {bogus}]"))
    );
    let by_namespace = Term { namespace_selector: Some(labels(&[("a b", "c")])), ..term(ZONE, app("db")) };
    let Verdict::FitsNone(failure) = verdict(pod().affinity(by_namespace)) else { panic!("some node fits") };
    assert!(failure.reasons[0].starts_with("parsing pod: requiredAffinityTerms: key: Invalid value: \"a b\": "));
    let preferred = |affinity: Vec<Term>, anti: Vec<Term>| pod().invalid_preferred(affinity, anti);
    assert_eq!(
        verdict(preferred(vec![term_of(Operator::Unknown)], Vec::new())),
        rejection(&format!("parsing pod: preferredAffinityTerms: {bogus}"))
    );
    assert_eq!(
        verdict(
            preferred(vec![term_of(Operator::In)], vec![term_of(Operator::Unknown)])
                .anti_affinity(term_of(Operator::Unknown))
        ),
        rejection(&format!(
            "parsing pod: [requiredAntiAffinityTerms: {bogus}, preferredAffinityTerms: {empty}, \
             preferredAntiAffinityTerms: {bogus}]"
        ))
    );
}

/// A pod of the model: its label, and its required terms as topology key and label value.
#[derive(Debug, Clone, Default)]
struct ModelPod {
    label: &'static str,
    affinity: Vec<(&'static str, &'static str)>,
    anti_affinity: Vec<(&'static str, &'static str)>,
}

/// A node of the model: its labels and its pods.
type ModelNode = (BTreeMap<&'static str, &'static str>, Vec<ModelPod>);

/// The model: for one node, a loop over every pod of every node.
fn expected_letter(pod: &ModelPod, nodes: &[ModelNode], node: &ModelNode) -> char {
    let together = |key: &str, other: &ModelNode| node.0.contains_key(key) && node.0.get(key) == other.0.get(key);
    let meets_all = |other: &ModelPod| pod.affinity.iter().all(|(_, label)| other.label == *label);
    let near = |key: &str| nodes.iter().any(|other| together(key, other) && other.1.iter().any(meets_all));
    let anywhere = nodes
        .iter()
        .any(|other| other.1.iter().any(meets_all) && pod.affinity.iter().any(|(key, _)| other.0.contains_key(key)));
    let keys = pod.affinity.iter().all(|(key, _)| node.0.contains_key(key));
    let first = !anywhere && meets_all(pod);
    if !keys || !(pod.affinity.iter().all(|(key, _)| near(key)) || first) {
        return 'A';
    }
    for (key, label) in &pod.anti_affinity {
        if nodes.iter().any(|other| together(key, other) && other.1.iter().any(|other| other.label == *label)) {
            return 'N';
        }
    }
    for other in nodes {
        for existing in &other.1 {
            if existing.anti_affinity.iter().any(|(key, label)| together(key, other) && pod.label == *label) {
                return 'E';
            }
        }
    }
    '-'
}

#[test]
fn columns_and_nodes_make_the_same_verdict() {
    const KEYS: [&str; 3] = ["x", "y", "z"];
    const VALUES: [&str; 3] = ["", "1", "2"];
    const LABELS: [&str; 3] = ["red", "green", "blue"];
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen: BTreeMap<char, usize> = BTreeMap::new();
    for round in 0..1_000 {
        let model = |random: &mut fastrand::Rng, terms: usize| {
            let list = |random: &mut fastrand::Rng| {
                let term = |random: &mut fastrand::Rng| (KEYS[random.usize(..3)], LABELS[random.usize(..3)]);
                (0..random.usize(..=terms)).map(|_| term(random)).collect()
            };
            ModelPod { label: LABELS[random.usize(..3)], affinity: list(random), anti_affinity: list(random) }
        };
        let nodes: Vec<ModelNode> = (0..random.usize(1..45))
            .map(|_| {
                let keys: Vec<&str> = KEYS.into_iter().filter(|_| random.u8(..5) > 0).collect();
                let labels = keys.into_iter().map(|key| (key, VALUES[random.usize(..3)])).collect();
                let pods = if random.u8(..8) == 0 { random.usize(..3) } else { 0 };
                (labels, (0..pods).map(|_| model(&mut random, 1)).collect())
            })
            .collect();
        let pod = model(&mut random, 2);
        let term = |(key, label): &(&str, &str)| term(key, labels(&[("label", label)]));
        let build = |model: &ModelPod| {
            let pod = Pod::new("default").label("label", model.label);
            let pod = model.affinity.iter().map(term).fold(pod, Pod::affinity);
            model.anti_affinity.iter().map(term).fold(pod, Pod::anti_affinity)
        };
        let cluster = nodes.iter().fold(Cluster::new(build(&pod)), |cluster, (labels, pods)| {
            let node = labels.iter().fold(Node::new("n"), |node, (key, value)| node.label(key, value));
            cluster.node(pods.iter().map(build).fold(node, Node::running))
        });
        let expected: String = nodes.iter().map(|node| expected_letter(&pod, &nodes, node)).collect();
        assert_eq!(rejected(&cluster), expected, "seed {seed}, round {round}: {pod:?} {nodes:?}");
        expected.chars().for_each(|letter| *seen.entry(letter).or_default() += 1);
    }
    for letter in ['A', 'N', 'E', '-'] {
        assert!(seen.get(&letter).is_some_and(|count| *count > 500), "seed {seed}: too few {letter}: {seen:?}");
    }
}
