//! Unit tests of the whole predicate on the fixture, and a comparison with a model on random selectors.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use nodesift_sdk::configure;
use nodesift_sdk::native::{Cluster, Node, Pod};

use super::*;

fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement { key: key.into(), operator, values: values.iter().map(|value| (*value).into()).collect() }
}

fn labels(expressions: Vec<Requirement>) -> Term {
    Term { expressions, fields: Vec::new() }
}

fn fields(fields: Vec<Requirement>) -> Term {
    Term { expressions: Vec::new(), fields }
}

fn named(names: &[&str]) -> Requirement {
    requirement("metadata.name", Operator::In, names)
}

fn cluster(pod: Pod) -> Cluster {
    Cluster::new(pod)
        .node(Node::new("a").label("zone", "east").label("cores", "8"))
        .node(Node::new("b").label("zone", "west").label("cores", "64"))
        .node(Node::new("c").label("cores", "many").label("empty", ""))
}

fn predicate() -> NodeAffinity {
    configure("{}").unwrap()
}

/// The nodes that fit the pod, by name; checks that the others fail for `reason`.
fn fitting(pod: Pod, predicate: &NodeAffinity, reason: &str) -> String {
    let failures = cluster(pod).failures(predicate);
    for failure in failures.iter().flatten() {
        assert_eq!(*failure, Failure::unresolvable(reason));
    }
    "abc".chars().zip(failures).filter_map(|(name, failure)| failure.is_none().then_some(name)).collect()
}

fn by_terms(terms: Vec<Term>) -> String {
    fitting(Pod::new("default").required_terms(terms), &predicate(), REASON_POD)
}

#[test]
fn a_pod_without_node_selector_and_affinity_fits_everywhere() {
    assert_eq!(cluster(Pod::new("default")).verdict(&predicate()), Verdict::FitsAll);
}

#[test]
fn all_entries_of_the_node_selector_must_hold() {
    let select = |pairs: &[(&str, &str)]| {
        let pod = pairs.iter().fold(Pod::new("default"), |pod, (key, value)| pod.node_selector(key, value));
        fitting(pod, &predicate(), REASON_POD)
    };
    assert_eq!(select(&[("zone", "east")]), "a");
    assert_eq!(select(&[("zone", "east"), ("cores", "8")]), "a");
    assert_eq!(select(&[("zone", "east"), ("cores", "64")]), "");
    assert_eq!(select(&[("zone", "north")]), "");
    assert_eq!(select(&[("empty", "")]), "c");
    assert_eq!(select(&[("not a key", "-")]), "");
}

#[test]
fn every_operator_compares_as_kubernetes_does() {
    for (key, operator, values, expected) in [
        ("zone", Operator::In, &["east", "north"][..], "a"),
        ("zone", Operator::NotIn, &["east"], "bc"),
        ("zone", Operator::NotIn, &["north"], "abc"),
        ("zone", Operator::Exists, &[], "ab"),
        ("zone", Operator::DoesNotExist, &[], "c"),
        ("none", Operator::DoesNotExist, &[], "abc"),
        ("none", Operator::Exists, &[], ""),
        ("empty", Operator::In, &[""], "c"),
        ("zone", Operator::In, &[""], ""),
        ("cores", Operator::Gt, &["8"], "b"),
        ("cores", Operator::Gt, &["7"], "ab"),
        ("cores", Operator::Lt, &["64"], "a"),
        ("cores", Operator::Lt, &["0"], ""),
        ("none", Operator::Lt, &["1"], ""),
    ] {
        let terms = vec![labels(vec![requirement(key, operator, values)])];
        assert_eq!(by_terms(terms), expected, "{key} {operator:?} {values:?}");
    }
}

#[test]
fn terms_are_alternatives_and_their_requirements_are_not() {
    let east = || requirement("zone", Operator::In, &["east"]);
    let large = || requirement("cores", Operator::Gt, &["32"]);
    assert_eq!(by_terms(vec![labels(vec![east(), large()])]), "");
    assert_eq!(by_terms(vec![labels(vec![east()]), labels(vec![large()])]), "ab");
}

#[test]
fn an_empty_term_and_an_empty_list_match_nothing() {
    assert_eq!(by_terms(Vec::new()), "");
    assert_eq!(by_terms(vec![labels(Vec::new())]), "");
    assert_eq!(by_terms(vec![labels(Vec::new()), labels(vec![requirement("zone", Operator::Exists, &[])])]), "ab");
}

#[test]
fn an_invalid_term_does_not_affect_the_others() {
    let broken = || requirement("cores", Operator::Gt, &["-1"]);
    let east = || requirement("zone", Operator::In, &["east"]);
    assert_eq!(by_terms(vec![labels(vec![broken()])]), "");
    assert_eq!(by_terms(vec![labels(vec![broken(), east()]), labels(vec![east()])]), "a");
}

#[test]
fn names_are_compared_one_at_a_time() {
    let not = |name| requirement("metadata.name", Operator::NotIn, &[name]);
    assert_eq!(by_terms(vec![fields(vec![named(&["b"])])]), "b");
    assert_eq!(by_terms(vec![fields(vec![not("b")])]), "ac");
    assert_eq!(by_terms(vec![fields(vec![not("b"), not("c")])]), "a");
    assert_eq!(by_terms(vec![fields(vec![named(&["z"])])]), "");
    assert_eq!(by_terms(vec![fields(vec![named(&["a"])]), fields(vec![named(&["c"])])]), "ac");
    // Two values: PreFilter uses both, Filter treats the term as invalid.
    assert_eq!(by_terms(vec![fields(vec![named(&["a", "b"])])]), "");
}

#[test]
fn fields_and_labels_of_a_term_must_both_hold() {
    let east = requirement("zone", Operator::In, &["east"]);
    let term = |name| Term { expressions: vec![east.clone()], fields: vec![named(&[name])] };
    assert_eq!(by_terms(vec![term("a")]), "a");
    assert_eq!(by_terms(vec![term("b")]), "");
}

#[test]
fn terms_that_all_select_by_contradicting_names_conflict() {
    let conflicting = |terms: Vec<Term>| {
        let pod = Pod::new("default").required_terms(terms).node_selector("zone", "north");
        cluster(pod).verdict(&predicate()) == Verdict::FitsNone(Failure::unresolvable(REASON_CONFLICT))
    };
    let contradiction = || fields(vec![named(&["a"]), named(&["b"])]);
    assert!(conflicting(vec![contradiction()]));
    assert!(conflicting(vec![contradiction(), contradiction()]));
    assert!(conflicting(vec![fields(vec![named(&[])])]));
    // No conflict where a term selects a name, or has no requirement on the name.
    assert!(!conflicting(vec![contradiction(), fields(vec![named(&["a"])])]));
    assert!(!conflicting(vec![contradiction(), labels(Vec::new())]));
    assert!(!conflicting(vec![fields(vec![named(&["a", "b"]), named(&["b", "c"])])]));
    assert!(!conflicting(vec![fields(vec![requirement("metadata.name", Operator::NotIn, &["a"])])]));
    assert!(!conflicting(Vec::new()));
}

#[test]
fn added_affinity_is_reported_first() {
    let added = r#"{"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}}}"#;
    let predicate: NodeAffinity = configure(added).unwrap();
    assert_eq!(fitting(Pod::new("default"), &predicate, REASON_ENFORCED), "ab");
    let failures = cluster(Pod::new("default").node_selector("zone", "east")).failures(&predicate);
    let reasons = [None, Some(REASON_POD), Some(REASON_ENFORCED)];
    assert_eq!(failures, reasons.map(|reason| reason.map(Failure::unresolvable)));
}

#[test]
fn added_terms_that_match_nothing_reject_every_node() {
    let added = r#"{"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}"#;
    let predicate: NodeAffinity = configure(added).unwrap();
    assert_eq!(fitting(Pod::new("default"), &predicate, REASON_ENFORCED), "");
}

/// The model: one node, one requirement after the other.
fn matches(terms: &[Term], name: &str, node: &BTreeMap<&str, &str>) -> bool {
    let label = |requirement: &Requirement| {
        let value = node.get(requirement.key.as_str()).copied();
        let listed = value.is_some_and(|value| requirement.values.iter().any(|one| one == value));
        let integers = || Some((value?.parse::<i64>().ok()?, requirement.values[0].parse::<i64>().ok()?));
        match requirement.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => integers().is_some_and(|(value, limit)| value > limit),
            Operator::Lt => integers().is_some_and(|(value, limit)| value < limit),
            Operator::Unknown => false,
        }
    };
    let field = |requirement: &Requirement| (requirement.values[0] == name) == (requirement.operator == Operator::In);
    terms.iter().any(|term| {
        !(term.expressions.is_empty() && term.fields.is_empty())
            && term.expressions.iter().all(label)
            && term.fields.iter().all(field)
    })
}

#[test]
fn columns_and_nodes_make_the_same_verdict() {
    const KEYS: [&str; 3] = ["x", "y", "z"];
    const VALUES: [&str; 8] = ["", "1", "2", "3", "40", "500", "a", "b"];
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut matched = 0;
    for round in 0..1_000 {
        let nodes: Vec<(String, BTreeMap<&str, &str>)> = (0..random.usize(1..70))
            .map(|row| {
                let keys = KEYS.into_iter().filter(|_| random.u8(..4) > 0).collect::<Vec<_>>();
                let labels = keys.into_iter().map(|key| (key, VALUES[random.usize(..VALUES.len())])).collect();
                (row.to_string(), labels)
            })
            .collect();
        let term = |random: &mut fastrand::Rng| {
            let mut term = labels(Vec::new());
            for _ in 0..random.usize(..3) {
                let key = KEYS[random.usize(..KEYS.len())];
                let mut values = VALUES;
                random.shuffle(&mut values);
                let one = random.u8(..9).to_string();
                term.expressions.push(match random.u8(..6) {
                    0 => requirement(key, Operator::In, &values[..random.usize(1..8)]),
                    1 => requirement(key, Operator::NotIn, &values[..random.usize(1..8)]),
                    2 => requirement(key, Operator::Exists, &[]),
                    3 => requirement(key, Operator::DoesNotExist, &[]),
                    4 => requirement(key, Operator::Gt, &[&one]),
                    _ => requirement(key, Operator::Lt, &[&one]),
                });
            }
            if random.u8(..5) == 0 {
                let operator = if random.bool() { Operator::In } else { Operator::NotIn };
                term.fields.push(requirement("metadata.name", operator, &[&random.usize(..70).to_string()]));
            }
            term
        };
        let terms: Vec<Term> = (0..random.usize(..4)).map(|_| term(&mut random)).collect();
        let pod = Pod::new("default").required_terms(terms.clone());
        let cluster = nodes.iter().fold(Cluster::new(pod), |cluster, (name, labels)| {
            let node = labels.iter().fold(Node::new(name), |node, (key, value)| node.label(key, value));
            cluster.node(node)
        });
        let fits: Vec<bool> = cluster.failures(&predicate()).iter().map(Option::is_none).collect();
        let expected: Vec<bool> = nodes.iter().map(|(name, labels)| matches(&terms, name, labels)).collect();
        assert_eq!(fits, expected, "seed {seed}, round {round}: {terms:?}");
        matched += expected.iter().filter(|fits| **fits).count();
    }
    assert!(matched > 1_000, "seed {seed}: too few rows matched: {matched}");
}

#[test]
fn preferences_that_a_node_meets_are_added_up() {
    let term = |weight, key: &str, values: &[&str]| (weight, labels(vec![requirement(key, Operator::In, values)]));
    let preferred = vec![
        term(3, "zone", &["east", "north"]),
        term(5, "zone", &["west"]),
        term(-1, "cores", &["8", "64"]),
        // No preference, and one that every node would meet if it were a term of a required affinity.
        (0, labels(vec![requirement("not a key", Operator::In, &[])])),
        (7, labels(Vec::new())),
        (20, fields(vec![named(&["c"])])),
    ];
    let cluster = cluster(Pod::new("default").preferred_terms(preferred));
    assert_eq!(cluster.scores(&predicate()), Scores::ByRow(vec![2, 4, 20]));
}

#[test]
fn an_empty_list_is_a_list_without_preferences_and_no_list_is_none() {
    let weighed = |pod, predicate: &NodeAffinity| cluster(pod).scores(predicate);
    assert_eq!(weighed(Pod::new("default"), &predicate()), Scores::Skip);
    assert_eq!(weighed(Pod::new("default").preferred_terms(Vec::new()), &predicate()), Scores::ByRow(vec![0, 0, 0]));
    let added = r#"{"addedAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":9,"preference":{"matchExpressions":[{"key":"cores","operator":"Gt","values":["10"]}]}}]}}"#;
    let added: NodeAffinity = configure(added).unwrap();
    assert_eq!(weighed(Pod::new("default"), &added), Scores::ByRow(vec![0, 9, 0]));
    let own = vec![(1, labels(vec![requirement("empty", Operator::Exists, &[])]))];
    assert_eq!(weighed(Pod::new("default").preferred_terms(own), &added), Scores::ByRow(vec![0, 9, 1]));
}

#[test]
fn an_invalid_preference_ends_the_cycle_of_the_pod() {
    let invalid = vec![(1, labels(Vec::new())), (2, labels(vec![requirement("cores", Operator::Gt, &["many"])]))];
    let scores = cluster(Pod::new("default").preferred_terms(invalid)).scores(&predicate());
    let Scores::Failed(error) = scores else { panic!("{scores:?}") };
    assert!(
        error.starts_with(
            "preferredDuringSchedulingIgnoredDuringExecution[1].preference.matchExpressions[0].values[0]: "
        ),
        "{error}"
    );
}
