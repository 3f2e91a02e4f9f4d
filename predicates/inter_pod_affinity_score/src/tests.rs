//! Unit tests of the whole score on the fixture, and a comparison with a model on random clusters.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use nodesift_sdk::columns::pod_affinity::Term;
use nodesift_sdk::columns::selectors::{LabelSelector, Operator, Requirement};
use nodesift_sdk::configure;
use nodesift_sdk::native::{Cluster, Node, Pod};

use super::*;

const ZONE: &str = "zone";
const HOST: &str = "host";

fn app(app: &str) -> LabelSelector {
    LabelSelector { match_labels: vec![("app".into(), app.into())], match_expressions: Vec::new() }
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

fn web() -> Pod {
    Pod::new("default").label("app", "web")
}

fn db() -> Pod {
    Pod::new("default").label("app", "db")
}

fn node(name: &str, zone: &str) -> Node {
    Node::new(name).label(HOST, name).label(ZONE, zone)
}

/// East: `a` with `on_a`, and `b`. West: `c`. No zone: `d` with `on_d`.
fn cluster(pod: Pod, on_a: &[Pod], on_d: &[Pod]) -> Cluster {
    let with = |node: Node, pods: &[Pod]| pods.iter().cloned().fold(node, Node::running);
    Cluster::new(pod)
        .node(with(node("a", "east"), on_a))
        .node(node("b", "east"))
        .node(node("c", "west"))
        .node(with(Node::new("d").label(HOST, "d"), on_d))
}

fn score(args: &str) -> InterPodAffinity {
    configure(args).unwrap()
}

fn raw(cluster: &Cluster) -> Option<Vec<i64>> {
    raw_by(&score("{}"), cluster)
}

fn raw_by(score: &InterPodAffinity, cluster: &Cluster) -> Option<Vec<i64>> {
    cluster.run(|rows| score.raw(rows)).unwrap()
}

#[test]
fn preferred_terms_of_the_pod_count_each_pod_of_the_domain() {
    let near = web().preferred_affinity(7, term(ZONE, app("db")));
    assert_eq!(raw(&cluster(near.clone(), &[db(), db()], &[])), Some(vec![14, 14, 0, 0]));
    let far = near.preferred_anti_affinity(100, term(HOST, app("db")));
    assert_eq!(raw(&cluster(far, &[db(), db()], &[db()])), Some(vec![-186, 14, 0, -100]));
}

#[test]
fn terms_of_pods_on_nodes_count_if_they_match_the_pod() {
    let drawn = db().preferred_affinity(5, term(ZONE, app("web")));
    let repelled = db().preferred_anti_affinity(3, term(HOST, app("web"))).preferred_affinity(9, term(ZONE, app("x")));
    assert_eq!(raw(&cluster(web(), &[drawn.clone(), repelled], &[])), Some(vec![2, 5, 0, 0]));
    // The pod of another namespace is not that of the term.
    assert_eq!(raw(&cluster(Pod::new("other").label("app", "web"), &[drawn], &[])), None);
}

#[test]
fn required_affinity_of_pods_on_nodes_counts_by_the_weight_of_the_arguments() {
    let needing = || db().affinity(term(ZONE, app("web")));
    let cluster = cluster(web(), &[needing(), needing()], &[]);
    assert_eq!(raw(&cluster), Some(vec![2, 2, 0, 0]));
    let weighing = |weight: i32| score(&format!(r#"{{"hardPodAffinityWeight":{weight}}}"#));
    assert_eq!(raw_by(&weighing(37), &cluster), Some(vec![74, 74, 0, 0]));
    // Without a weight no term has matched.
    assert_eq!(raw_by(&weighing(0), &cluster), None);
}

#[test]
fn a_pod_that_no_term_is_about_is_skipped() {
    assert_eq!(raw(&cluster(web(), &[db()], &[])), None);
    // Its own terms match no pod, or one on a node outside of every domain.
    let near = web().preferred_affinity(7, term(ZONE, app("db")));
    assert_eq!(raw(&cluster(near.clone(), &[], &[])), None);
    assert_eq!(raw(&cluster(near, &[], &[db()])), None);
    let outside = db().preferred_affinity(5, term(ZONE, app("web"))).affinity(term("nowhere", app("web")));
    assert_eq!(raw(&cluster(web(), &[], &[outside])), None);
}

#[test]
fn terms_that_cancel_to_0_do_not_skip_the_pod() {
    let both = web().preferred_affinity(7, term(ZONE, app("db"))).preferred_anti_affinity(7, term(ZONE, app("db")));
    assert_eq!(raw(&cluster(both, &[db()], &[])), Some(vec![0; 4]));
    let both = db().preferred_affinity(7, term(ZONE, app("web"))).preferred_anti_affinity(7, term(ZONE, app("web")));
    assert_eq!(raw(&cluster(web(), &[both], &[])), Some(vec![0; 4]));
    // Terms of the pod and of a pod on a node cancel as well.
    let near = web().preferred_affinity(7, term(ZONE, app("db")));
    let far = db().preferred_anti_affinity(7, term(ZONE, app("web")));
    assert_eq!(raw(&cluster(near, &[far], &[])), Some(vec![0; 4]));
}

#[test]
fn terms_of_other_pods_are_ignored_only_where_the_pod_has_none() {
    let ignoring = score(r#"{"ignorePreferredTermsOfExistingPods":true}"#);
    let drawn = || db().preferred_affinity(5, term(ZONE, app("web"))).affinity(term(ZONE, app("web")));
    assert_eq!(raw_by(&ignoring, &cluster(web(), &[drawn()], &[])), None);
    let near = web().preferred_affinity(100, term(HOST, app("none")));
    assert_eq!(raw_by(&ignoring, &cluster(near, &[drawn()], &[])), Some(vec![6, 6, 0, 0]));
}

#[test]
fn an_absent_selector_matches_nothing_and_an_empty_one_every_pod() {
    let nothing = web().preferred_affinity(7, Term { selector: None, ..term(ZONE, app("db")) });
    assert_eq!(raw(&cluster(nothing, &[db()], &[])), None);
    let empty = LabelSelector { match_labels: Vec::new(), match_expressions: Vec::new() };
    let all = web().preferred_affinity(7, term(ZONE, empty.clone()));
    assert_eq!(raw(&cluster(all, &[db(), web().terminating(), Pod::new("other")], &[])), Some(vec![14, 14, 0, 0]));
    let everywhere = Term { namespace_selector: Some(empty.clone()), ..term(ZONE, empty) };
    let all = web().preferred_affinity(7, everywhere);
    assert_eq!(raw(&cluster(all, &[db(), Pod::new("other")], &[])), Some(vec![14, 14, 0, 0]));
}

#[test]
fn a_namespace_without_an_object_has_no_labels_for_terms_of_other_pods_and_matches_none_of_the_pods_own() {
    let outside = expression("team", Operator::NotIn, &["a"]);
    let selecting = |selector| Term { namespace_selector: Some(outside.clone()), ..term(ZONE, selector) };
    let drawn = db().preferred_affinity(5, selecting(app("web")));
    assert_eq!(raw(&cluster(web(), &[drawn], &[])), Some(vec![5, 5, 0, 0]));
    let near = || web().preferred_affinity(7, selecting(app("db")));
    let mended = score(r#"{"switches":{"NamespaceSelectorMerge":false}}"#);
    assert_eq!(raw_by(&mended, &cluster(near(), &[db()], &[])), None);
    let labelled = cluster(near(), &[db()], &[]).namespace("default", &[("team", "b")]);
    assert_eq!(raw_by(&mended, &labelled), Some(vec![7, 7, 0, 0]));
    // As released, every namespace matches.
    assert_eq!(raw(&cluster(near(), &[db()], &[])), Some(vec![7, 7, 0, 0]));
}

#[test]
fn an_invalid_selector_is_an_error_and_voids_the_list_of_a_pod_on_a_node() {
    let invalid = || term(ZONE, expression("app", Operator::In, &[]));
    let own = web().preferred_affinity(7, invalid());
    let error = cluster(own, &[], &[]).run(|rows| score("{}").raw(rows)).unwrap_err();
    assert!(error.starts_with("failed to parse pod: preferredAffinityTerms: "), "{error}");
    let other = db().preferred_affinity(5, invalid()).preferred_affinity(5, term(ZONE, app("web")));
    assert_eq!(raw(&cluster(web(), std::slice::from_ref(&other), &[])), None);
    let other = other.preferred_anti_affinity(2, term(ZONE, app("web")));
    assert_eq!(raw(&cluster(web(), &[other], &[])), Some(vec![-2, -2, 0, 0]));
}

/// A node of the model: its labels, and the pods on it.
#[derive(Debug)]
struct ModelNode {
    labels: BTreeMap<&'static str, &'static str>,
    pods: Vec<ModelPod>,
}

/// A pod of the model: its `app`, and its preferred and required terms with points, key and the `app` that they match.
#[derive(Debug, Clone)]
struct ModelPod {
    app: &'static str,
    preferred: Vec<(i32, &'static str, &'static str)>,
    required: Vec<(&'static str, &'static str)>,
}

impl ModelPod {
    fn random(random: &mut fastrand::Rng, keys: &[&'static str]) -> Self {
        const APPS: [&str; 3] = ["a", "b", "c"];
        let app = |random: &mut fastrand::Rng| APPS[random.usize(..3)];
        let key = |random: &mut fastrand::Rng| keys[random.usize(..keys.len())];
        let preferred = (0..random.usize(..6) / 2).map(|_| {
            let weight = [-100, -7, -1, 1, 7, 100][random.usize(..6)];
            (weight, key(random), app(random))
        });
        let preferred = preferred.collect();
        let required = (0..random.usize(..4) / 2).map(|_| (key(random), app(random))).collect();
        Self { app: app(random), preferred, required }
    }

    fn pod(&self) -> Pod {
        let pod = Pod::new("default").label("app", self.app);
        let pod = self.required.iter().fold(pod, |pod, (key, other)| pod.affinity(term(key, app(other))));
        self.preferred.iter().fold(pod, |pod, (weight, key, other)| match weight {
            ..0 => pod.preferred_anti_affinity(-weight, term(key, app(other))),
            _ => pod.preferred_affinity(*weight, term(key, app(other))),
        })
    }
}

/// The model: for each pair of pods its terms, in a map of sums; for each node the sums of its labels.
fn expected(pod: &ModelPod, nodes: &[ModelNode], required_weight: i64) -> Option<Vec<i64>> {
    let mut sums: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for node in nodes {
        for other in &node.pods {
            let own = pod.preferred.iter().filter(|(_, _, app)| *app == other.app);
            let theirs = other.preferred.iter().filter(|(_, _, app)| *app == pod.app);
            let preferred = own.chain(theirs).map(|(weight, key, _)| (*key, i64::from(*weight)));
            let required = other.required.iter().filter(|(_, app)| *app == pod.app && required_weight > 0);
            for (key, points) in preferred.chain(required.map(|(key, _)| (*key, required_weight))) {
                if let Some(value) = node.labels.get(key) {
                    *sums.entry((key, *value)).or_default() += points;
                }
            }
        }
    }
    let of_node =
        |node: &ModelNode| node.labels.iter().filter_map(|(key, value)| sums.get(&(*key, *value))).sum::<i64>();
    (!sums.is_empty()).then(|| nodes.iter().map(of_node).collect())
}

#[test]
fn columns_and_pairs_of_pods_give_the_same_scores() {
    const KEYS: [&str; 3] = ["x", "y", "z"];
    const VALUES: [&str; 4] = ["", "1", "2", "3"];
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut skipped, mut varying) = (0, 0);
    for round in 0..1_000 {
        // Few keys on few nodes, so that some terms are about domains that no node is in.
        let nodes: Vec<ModelNode> = (0..random.usize(1..40))
            .map(|_| {
                let keys: Vec<&str> = KEYS.into_iter().filter(|_| random.bool()).collect();
                let labels = keys.into_iter().map(|key| (key, VALUES[random.usize(..4)])).collect();
                let pods = (0..random.usize(..8) / 5).map(|_| ModelPod::random(&mut random, &KEYS)).collect();
                ModelNode { labels, pods }
            })
            .collect();
        let pod = ModelPod::random(&mut random, &KEYS);
        let weight = [0, 1, 37][random.usize(..3)];
        let cluster = nodes.iter().fold(Cluster::new(pod.pod()), |cluster, model| {
            let node = model.labels.iter().fold(Node::new("n"), |node, (key, value)| node.label(key, value));
            cluster.node(model.pods.iter().map(ModelPod::pod).fold(node, Node::running))
        });
        let expected = expected(&pod, &nodes, weight);
        let found = raw_by(&score(&format!(r#"{{"hardPodAffinityWeight":{weight}}}"#)), &cluster);
        assert_eq!(found, expected, "seed {seed}, round {round}: {pod:?} {nodes:?}");
        match expected {
            None => skipped += 1,
            Some(raw) => varying += usize::from(raw.iter().min() != raw.iter().max()),
        }
    }
    assert!(skipped > 50 && varying > 300, "seed {seed}: {skipped} skipped, {varying} varying");
}
