//! Terms found by headings against a walk over all terms, and what a question, a change and a repair look at and copy. Start at [`State`].

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]

use std::collections::BTreeMap;

use super::*;
use crate::limits::{TERM_HEADINGS, TERM_STRIDE_STEPS};
use crate::metadata::{LabelRequirement, PodFacts, PodSelector};
use crate::write::model::{random_pod, text};
use nodesift_object::selector::Operator;

const ROWS: u32 = 8;
const NAMESPACES: [&str; 4] = ["a", "b", "c", "d"];
const LABEL_KEYS: [&str; 3] = ["app", "team", "tier"];
/// Nodes carry some of these.
const TOPOLOGY_KEYS: [&str; 12] = ["host", "zone", "rack", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"];

fn random_text(random: &mut fastrand::Rng, texts: &[&str]) -> Arc<str> {
    text(texts[random.usize(0..texts.len())])
}

/// A label of each key, or none.
fn random_labels(random: &mut fastrand::Rng, keys: &[&str]) -> Labels {
    let mut keys: Vec<&str> = keys.iter().copied().filter(|_| random.bool()).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| (text(key), text(&format!("v{}", random.u8(0..4))))).collect()
}

fn random_requirements(random: &mut fastrand::Rng) -> Vec<LabelRequirement> {
    let requirement = |random: &mut fastrand::Rng| {
        let operators = [Operator::In, Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist];
        let operator = operators[random.usize(0..operators.len())];
        // None, one, few, and more than there are headings for.
        let len = [0, 1, 1, 1, 2, 3, TERM_HEADINGS + 2][random.usize(0..7)];
        let first = random.usize(0..4);
        let values: Vec<Arc<str>> = (first..first + len).map(|value| text(&format!("v{value}"))).collect();
        LabelRequirement::new(LABEL_KEYS[random.usize(0..3)], operator, values).unwrap()
    };
    (0..random.usize(0..3)).map(|_| requirement(random)).collect()
}

fn random_term(random: &mut fastrand::Rng) -> AntiAffinityTerm {
    let mut namespaces: Vec<Arc<str>> = Vec::new();
    if random.u8(0..4) > 0 {
        namespaces.extend((0..random.u8(0..4)).map(|_| random_text(random, &NAMESPACES)));
        if random.u8(0..10) == 0 {
            namespaces.extend((0..TERM_HEADINGS).map(|number| text(&format!("n{number}"))));
        }
        namespaces.sort_unstable();
        namespaces.dedup();
    }
    let namespace_requirements = random.bool().then(|| random_requirements(random));
    let requirements = random_requirements(random);
    let selector = PodSelector { namespaces, namespace_requirements, requirements };
    AntiAffinityTerm { selector, topology_key: random_text(random, &TOPOLOGY_KEYS) }
}

fn pod_with(terms: Vec<AntiAffinityTerm>) -> Arc<PodRecord> {
    let pod = random_pod(&mut fastrand::Rng::with_seed(0), "p", None);
    let facts = Arc::new(PodFacts { anti_affinity_terms: terms, ..PodFacts::default() });
    Arc::new(PodRecord { facts, ..pod })
}

/// Terms of which pods often have the same ones, and one pod the same twice.
fn random_pod_of(random: &mut fastrand::Rng, terms: &[AntiAffinityTerm]) -> Arc<PodRecord> {
    let len = random.usize(0..20);
    pod_with((0..len).map(|_| terms[random.usize(0..terms.len())].clone()).collect())
}

fn empty() -> AntiAffinity {
    let mut anti_affinity = AntiAffinity::default();
    (0..ROWS).for_each(|_| anti_affinity.push());
    anti_affinity
}

fn nodes_with(keys: &[&str]) -> NodeLabels {
    let mut nodes = NodeLabels::default();
    for key in keys {
        nodes.push();
        let row = Row(nodes.rows().len() as u32 - 1);
        nodes.set(row, &[(text(key), text("x"))].into());
    }
    nodes
}

type Pods = Vec<(Row, Arc<PodRecord>)>;

fn sorted(mut matched: Vec<MatchedTerm>) -> Vec<MatchedTerm> {
    matched.sort();
    matched
}

/// The terms that match a pod, by their topology keys.
fn matching(
    terms: &AntiAffinity,
    namespace: &str,
    labels: &Labels,
    namespaces: &Namespaces,
    nodes: &NodeLabels,
) -> Vec<MatchedTerm> {
    let matched = terms.matching(namespace, labels, namespaces, nodes, &mut Steps::new(&|| true)).unwrap().into_iter();
    matched.map(|(term, rows)| (Arc::clone(&term.topology_key), Arc::clone(rows))).collect()
}

/// All that a state consists of, to be compared with a walk over all terms of all pods.
#[derive(Clone)]
struct State {
    anti_affinity: AntiAffinity,
    nodes: NodeLabels,
    namespaces: Namespaces,
    pods: Pods,
}

impl State {
    fn walk(&self, namespace: &str, labels: &Labels) -> Vec<MatchedTerm> {
        let mut distinct: BTreeMap<&AntiAffinityTerm, BTreeMap<Row, u32>> = BTreeMap::new();
        for (row, pod) in &self.pods {
            for term in &pod.facts.anti_affinity_terms {
                *distinct.entry(term).or_default().entry(*row).or_default() += 1;
            }
        }
        let labels_of = |namespace: &str| Some(self.namespaces.get(namespace).cloned().unwrap_or_default());
        let has_domains =
            |key: &str| self.nodes.rows().iter().any(|labels| labels.iter().any(|(known, _)| **known == *key));
        let matching = distinct
            .into_iter()
            .filter(|(term, _)| has_domains(&term.topology_key) && term.selector.matches(namespace, labels, labels_of));
        matching.map(|(term, rows)| (Arc::clone(&term.topology_key), Arc::new(rows.into_iter().collect()))).collect()
    }

    /// Compares the answers about some random pods; gives how many terms matched.
    fn check(&self, random: &mut fastrand::Rng) -> usize {
        let mut matched = 0;
        for namespace in NAMESPACES.iter().chain(&["unknown"]) {
            let labels = random_labels(random, &LABEL_KEYS);
            let answer = matching(&self.anti_affinity, namespace, &labels, &self.namespaces, &self.nodes);
            matched += answer.len();
            assert_eq!(sorted(answer), sorted(self.walk(namespace, &labels)), "{namespace} {labels:?}");
        }
        for row in (0..ROWS).map(Row) {
            let pods = self.pods.iter().filter(|(at, _)| *at == row);
            let terms = pods.map(|(_, pod)| pod.facts.anti_affinity_terms.len() as u32).sum::<u32>();
            assert_eq!(self.anti_affinity.totals.get(row), Some(&terms));
        }
        matched
    }

    fn pods_in_row(&self, row: Row) -> Vec<Arc<PodRecord>> {
        self.pods.iter().filter(|(at, _)| *at == row).map(|(_, pod)| Arc::clone(pod)).collect()
    }
}

#[test]
fn random_pods_are_matched_as_by_a_walk_over_all_terms_and_older_clones_stay_as_they_were() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (nodes, namespaces) = (nodes_with(&["zone", "host"]), Namespaces::default());
    let mut state = State { anti_affinity: empty(), nodes, namespaces, pods: Vec::new() };
    let terms: Vec<AntiAffinityTerm> = (0..2_000).map(|_| random_term(&mut random)).collect();
    let mut kept: Vec<State> = Vec::new();
    let mut matched = 0;
    for step in 0..3_000 {
        // First most pods come, then most go.
        let comes = random.u8(0..10) < if step < 1_500 { 7 } else { 3 };
        let row = Row(random.u32(0..ROWS));
        match random.u8(0..20) {
            0 => {
                let to = Row(random.u32(0..ROWS));
                state.anti_affinity.move_row(row, to, &state.pods_in_row(row));
                state.pods.iter_mut().filter(|(at, _)| *at == row).for_each(|(at, _)| *at = to);
            }
            1 => {
                let labels = random_labels(&mut random, &LABEL_KEYS);
                state.namespaces.insert(random_text(&mut random, &NAMESPACES), labels);
            }
            2 => _ = state.namespaces.remove(&random_text(&mut random, &NAMESPACES)),
            3 => {
                let mut keys = TOPOLOGY_KEYS.to_vec();
                random.shuffle(&mut keys);
                state.nodes = nodes_with(&keys[..random.usize(0..5)]);
            }
            4 => {
                // A defect adds or forgets a pod.
                let pods = state.pods_in_row(row);
                match pods.first().filter(|_| random.bool()) {
                    Some(pod) => state.anti_affinity.apply(Delta::Remove, row, pod),
                    None => state.anti_affinity.apply(Delta::Add, row, &random_pod_of(&mut random, &terms)),
                }
                state.anti_affinity.repair(row, &pods, &mut DriftReport::new(text("n"), Vec::new()));
            }
            _ if comes || state.pods.is_empty() => {
                let pod = random_pod_of(&mut random, &terms);
                state.anti_affinity.apply(Delta::Add, row, &pod);
                state.pods.push((row, pod));
            }
            _ => {
                let (row, pod) = state.pods.swap_remove(random.usize(0..state.pods.len()));
                state.anti_affinity.apply(Delta::Remove, row, &pod);
            }
        }
        if step % 20 == 0 {
            matched += state.check(&mut random);
        }
        if step % 300 == 7 {
            kept.push(state.clone());
        }
    }
    assert!(matched > 1_000, "{matched}");
    for mut state in kept.into_iter().chain([state]) {
        (0..5).for_each(|_| _ = state.check(&mut random));
        // Without pods nothing is left of their terms.
        for (row, pod) in std::mem::take(&mut state.pods) {
            state.anti_affinity.apply(Delta::Remove, row, &pod);
        }
        assert_eq!((state.anti_affinity.carriers.iter().count(), state.anti_affinity.filed.iter().count()), (0, 0));
    }
}

/// Terms held for each row with how many of its terms are this one, and the total of the row.
type Held = Vec<(Vec<(Arc<AntiAffinityTerm>, u32)>, Option<u32>)>;

fn held(anti_affinity: &AntiAffinity) -> Held {
    let rows = (0..ROWS).map(Row);
    rows.map(|row| (anti_affinity.terms_in_row(row), anti_affinity.totals.get(row).copied())).collect()
}

#[test]
fn a_repair_finds_whatever_of_a_row_is_not_as_its_pods_have_it() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let terms: Vec<AntiAffinityTerm> = (0..60).map(|_| random_term(&mut random)).collect();
    let mut broken = 0;
    for _ in 0..1_000 {
        let mut anti_affinity = empty();
        let pods = (0..random.u8(0..12)).map(|_| (Row(random.u32(0..ROWS)), random_pod_of(&mut random, &terms)));
        let pods: Pods = pods.collect();
        pods.iter().for_each(|(row, pod)| anti_affinity.apply(Delta::Add, *row, pod));
        let whole = held(&anti_affinity);
        let row = Row(random.u32(0..ROWS));
        match random.u8(0..4) {
            0 => anti_affinity.totals.set(row, random.u32(0..5)),
            1 => anti_affinity.clear(row),
            _ => {
                for _ in 0..random.u8(0..4) {
                    let delta = if random.bool() { Delta::Add } else { Delta::Remove };
                    anti_affinity.apply(delta, row, &random_pod_of(&mut random, &terms));
                }
            }
        }
        let is_broken = held(&anti_affinity) != whole;
        broken += u32::from(is_broken);
        let of_row = pods.iter().filter(|(at, _)| *at == row).map(|(_, pod)| Arc::clone(pod));
        let mut report = DriftReport::new(text("n"), Vec::new());
        anti_affinity.repair(row, &of_row.collect::<Vec<_>>(), &mut report);
        assert_eq!(held(&anti_affinity), whole);
        assert_eq!(!report.into_found().is_empty(), is_broken);
    }
    assert!(broken > 300, "{broken}");
}

#[test]
fn what_a_defect_has_left_of_the_last_row_goes_with_it() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut anti_affinity = empty();
    let [moved, left] = std::array::from_fn(|_| pod_with(vec![random_term(&mut random)]));
    let (from, to) = (Row(ROWS - 1), Row(0));
    anti_affinity.apply(Delta::Add, from, &moved);
    anti_affinity.apply(Delta::Add, from, &left);
    anti_affinity.move_row(from, to, std::slice::from_ref(&moved));
    anti_affinity.pop();
    anti_affinity.push();
    let mut expected = empty();
    expected.apply(Delta::Add, to, &moved);
    assert_eq!(held(&anti_affinity), held(&expected));
}

#[test]
fn equal_terms_give_an_equal_list_whatever_was_there_before() {
    let mut random = fastrand::Rng::with_seed(4);
    let nodes = nodes_with(&TOPOLOGY_KEYS[..4]);
    let terms: Vec<AntiAffinityTerm> = (0..1_000).map(|_| random_term(&mut random)).collect();
    let mut pods: Vec<_> = (0..200).map(|_| (Row(random.u32(0..ROWS)), random_pod_of(&mut random, &terms))).collect();
    let [mut a, mut b] = [empty(), empty()];
    pods.iter().for_each(|(row, pod)| a.apply(Delta::Add, *row, pod));
    let other = random_pod_of(&mut random, &terms);
    b.apply(Delta::Add, Row(0), &other);
    random.shuffle(&mut pods);
    pods.iter().for_each(|(row, pod)| b.apply(Delta::Add, *row, pod));
    b.apply(Delta::Remove, Row(0), &other);
    for namespace in NAMESPACES {
        let labels = random_labels(&mut random, &LABEL_KEYS);
        let [a, b] = [&a, &b].map(|terms| matching(terms, namespace, &labels, &Namespaces::default(), &nodes));
        assert!(!a.is_empty());
        assert_eq!(a, b);
    }
}

/// 20,000 terms of 20 pods that a tenant has in a namespace of its own, made by number.
fn tenant(term: impl Fn(usize) -> AntiAffinityTerm) -> AntiAffinity {
    let mut anti_affinity = empty();
    for pod in 0..20_usize {
        let terms = (0..1_000).map(|number| term(pod * 1_000 + number)).collect();
        anti_affinity.apply(Delta::Add, Row(pod as u32 % ROWS), &pod_with(terms));
    }
    assert_eq!(anti_affinity.carriers.iter().count(), 20_000);
    anti_affinity
}

fn requirement(key: &str, operator: Operator, value: &str) -> LabelRequirement {
    LabelRequirement::new(key, operator, (!value.is_empty()).then(|| text(value))).unwrap()
}

/// A term of a tenant by the nodes' `host`.
fn term_of(namespaces: &[&str], everywhere: bool, requirement: LabelRequirement) -> AntiAffinityTerm {
    let selector = PodSelector {
        namespaces: namespaces.iter().copied().map(text).collect(),
        namespace_requirements: everywhere.then(Vec::new),
        requirements: vec![requirement],
    };
    AntiAffinityTerm { selector, topology_key: text("host") }
}

/// How many terms are looked at for a pod of this namespace with the label `app: web`.
fn looked_at(anti_affinity: &AntiAffinity, namespace: &str) -> usize {
    let namespaces = Namespaces::from_iter(NAMESPACES.map(|name| (text(name), [(text("name"), text(name))].into())));
    let labels: Labels = [(text("app"), text("web")), (text("team"), text("core"))].into();
    let go_on = || true;
    let mut steps = Steps::new(&go_on);
    anti_affinity.candidates(namespace, &labels, &namespaces, &nodes_with(&["host", "zone"]), &mut steps).unwrap().len()
}

#[test]
fn terms_that_cannot_match_a_pod_are_not_looked_at() {
    let number = |number: usize| format!("x{number}");
    // Whatever the terms select of the tenant's namespace, pods of another one look at none.
    let own = tenant(|n| term_of(&["a"], false, requirement("app", Operator::NotIn, &number(n))));
    assert_eq!([looked_at(&own, "a"), looked_at(&own, "b"), looked_at(&own, "unknown")], [20_000, 0, 0]);
    // Everywhere, those that need a label or a key which the pod does not have.
    let label = tenant(|n| term_of(&[], true, requirement("app", Operator::In, &number(n))));
    assert_eq!(looked_at(&label, "b"), 0);
    let key = tenant(|n| term_of(&[], true, requirement(&number(n), Operator::Exists, "")));
    assert_eq!(looked_at(&key, "b"), 0);
    // Those that need a label which the pod's namespace does not have.
    let labelled = tenant(|n| {
        let mut term = term_of(&[], true, requirement("app", Operator::NotIn, &number(n)));
        term.selector.namespace_requirements = Some(vec![requirement("name", Operator::In, "a")]);
        term
    });
    assert_eq!([looked_at(&labelled, "a"), looked_at(&labelled, "b")], [20_000, 0]);
    // Those whose topology key no node has, even if they match.
    let by_key = tenant(|n| AntiAffinityTerm {
        topology_key: text(&number(n)),
        ..term_of(&[], true, requirement("app", Operator::Exists, ""))
    });
    assert_eq!(looked_at(&by_key, "b"), 0);
    // Of many that do match, each is looked at once.
    let all = tenant(|n| term_of(&["b"], true, requirement("app", Operator::NotIn, &number(n))));
    let (nodes, labels) = (nodes_with(&["host"]), [(text("app"), text("web"))].into());
    assert_eq!(matching(&all, "b", &labels, &Namespaces::default(), &nodes).len(), 20_000);
}

#[test]
fn a_question_about_terms_stops_as_soon_as_it_may_not_go_on() {
    let number = |number: usize| format!("x{number}");
    let (nodes, namespaces) = (nodes_with(&["host"]), Namespaces::default());
    let labels: Labels = [(text("app"), text("web"))].into();
    // Terms that match every pod, which are walked; and the same beside more that match none, which are searched.
    let all = tenant(|n| term_of(&[], true, requirement("app", Operator::NotIn, &number(n))));
    let mut others = all.clone();
    for pod in 1..=3_usize {
        let term = |n: usize| term_of(&["a"], false, requirement("app", Operator::In, &number(n + 20_000 * pod)));
        others.apply(Delta::Add, Row(0), &pod_with((0..20_000).map(term).collect()));
    }
    assert!(all.walks(20_000) && !others.walks(20_000));
    for terms in [&all, &others] {
        let asked = Cell::new(0);
        for allowed in 0..5 {
            asked.set(0);
            let go_on = || asked.replace(asked.get() + 1) < allowed;
            assert!(terms.matching("b", &labels, &namespaces, &nodes, &mut Steps::new(&go_on)).is_none());
            assert_eq!(asked.get(), allowed + 1, "it stops at the first refusal");
        }
        asked.set(0);
        let go_on = || asked.replace(asked.get() + 1) < 1_000;
        let matched = terms.matching("b", &labels, &namespaces, &nodes, &mut Steps::new(&go_on)).unwrap();
        assert_eq!(matched.len(), 20_000);
        // Each term takes at least two steps.
        assert!(asked.get() >= 2 * 20_000 / TERM_STRIDE_STEPS, "{} questions", asked.get());
    }
    // To sort those that were found takes steps as well: these are fewer than a stride without that.
    let mut few = empty();
    few.apply(
        Delta::Add,
        Row(0),
        &pod_with((0..500).map(|n| term_of(&["b"], false, requirement("app", Operator::NotIn, &number(n)))).collect()),
    );
    few.apply(
        Delta::Add,
        Row(0),
        &pod_with((0..600).map(|n| term_of(&["a"], false, requirement("app", Operator::In, &number(n)))).collect()),
    );
    assert!(!few.walks(500) && 4 * 500 < TERM_STRIDE_STEPS);
    assert!(few.matching("b", &labels, &namespaces, &nodes, &mut Steps::new(&|| false)).is_none());
    // A term counts as much as it lists.
    let asked = Cell::new(0);
    let go_on = || asked.replace(asked.get() + 1) < 1;
    let listed = (0..TERM_STRIDE_STEPS).map(|n| requirement("app", Operator::NotIn, &number(n))).collect();
    let selector =
        PodSelector { requirements: listed, namespace_requirements: Some(Vec::new()), namespaces: Vec::new() };
    Steps::new(&go_on).take_match(&selector).unwrap();
    assert_eq!(asked.get(), 1);
    // So does its hash, by the values of each requirement.
    let values = (0..8 * TERM_STRIDE_STEPS).map(|n| text(&number(n)));
    let long = LabelRequirement::new("app", Operator::NotIn, values).unwrap();
    let selector = PodSelector { requirements: vec![long], namespace_requirements: None, namespaces: Vec::new() };
    asked.set(0);
    Steps::new(&go_on).take_hash(&selector).unwrap();
    assert_eq!(asked.get(), 1);
}

#[test]
fn what_is_looked_at_for_a_pod_takes_steps_whether_it_may_match_or_not() {
    let number = |number: usize| format!("x{number}");
    let (nodes, namespaces) = (nodes_with(&["host"]), Namespaces::default());
    let asked = Cell::new(0);
    let go_on = || asked.replace(asked.get() + 1) < usize::MAX;
    let steps_of = |terms: &AntiAffinity, labels: &Labels| {
        asked.set(0);
        terms.matching("b", labels, &namespaces, &nodes, &mut Steps::new(&go_on)).unwrap();
        asked.get()
    };
    let labels = |count: usize| -> Labels {
        let mut keys: Vec<String> = (0..count).map(number).collect();
        keys.sort_unstable();
        keys.iter().map(|key| (text(key), text("v"))).collect()
    };
    let mut anti_affinity = empty();
    let term = |n: usize| AntiAffinityTerm {
        topology_key: text("bogus/x"),
        ..term_of(&["b"], false, requirement(&number(n), Operator::In, "v"))
    };
    let terms: Vec<AntiAffinityTerm> = (0..3 * TERM_STRIDE_STEPS).map(term).collect();
    anti_affinity.apply(Delta::Add, Row(0), &pod_with(terms));
    assert_eq!(steps_of(&anti_affinity, &labels(1)), 0);
    // Each label is searched for, and the term under it is looked at and left out, since no node has its key.
    assert!(steps_of(&anti_affinity, &labels(3 * TERM_STRIDE_STEPS)) >= 6);
    // Where the time is over while labels are searched for, nothing is found.
    assert!(
        anti_affinity
            .matching("b", &labels(2 * TERM_STRIDE_STEPS), &namespaces, &nodes, &mut Steps::new(&|| false))
            .is_none()
    );
}

#[test]
fn whose_terms_take_most_of_a_question_is_told_by_the_pods_that_carry_them() {
    let number = |number: usize| format!("x{number}");
    let (nodes, namespaces) = (nodes_with(&["host"]), Namespaces::default());
    let labels: Labels = [(text("app"), text("web"))].into();
    let named = |namespace: &str, name: &str, terms: Vec<AntiAffinityTerm>| {
        let pod = pod_with(terms);
        Arc::new(PodRecord { namespace: text(namespace), name: text(name), ..(*pod).clone() })
    };
    let terms = |from: usize, to: usize| -> Vec<AntiAffinityTerm> {
        (from..to).map(|n| term_of(&[], true, requirement("app", Operator::NotIn, &number(n)))).collect()
    };
    let mut anti_affinity = empty();
    let found = |terms: &AntiAffinity, go_on: &dyn Fn() -> bool| {
        terms.owner("b", &labels, &namespaces, &nodes, go_on).map(|o| (o.namespace, o.pod, o.percent))
    };
    let owner = |terms: &AntiAffinity| found(terms, &|| true);
    assert_eq!(owner(&anti_affinity), None);
    let shop = named("shop", "web", terms(0, 1_000));
    anti_affinity.apply(Delta::Add, Row(0), &shop);
    assert_eq!(owner(&anti_affinity), Some((text("shop"), text("web"), 100)));
    let tenant = [named("tenant", "first", terms(1_000, 2_000)), named("tenant", "second", terms(2_000, 4_000))];
    tenant.iter().for_each(|pod| anti_affinity.apply(Delta::Add, Row(1), pod));
    // Terms that this pod is not compared with do not count, however many there are.
    let others = (0..9_000).map(|n| term_of(&["c"], false, requirement("app", Operator::In, &number(n)))).collect();
    anti_affinity.apply(Delta::Add, Row(2), &named("others", "p", others));
    let (namespace, pod, percent) = owner(&anti_affinity).unwrap();
    assert_eq!((&*namespace, &*pod), ("tenant", "second"));
    assert!((70..=80).contains(&percent), "{percent}");
    // Where there is no time, one term speaks for all.
    assert_eq!(found(&anti_affinity, &|| false).map(|(_, _, percent)| percent), Some(100));
    anti_affinity.move_row(Row(1), Row(3), &tenant);
    assert_eq!(owner(&anti_affinity).map(|(namespace, pod, _)| (namespace, pod)), Some((namespace, pod)));
    tenant.iter().for_each(|pod| anti_affinity.apply(Delta::Remove, Row(3), pod));
    assert_eq!(owner(&anti_affinity), Some((text("shop"), text("web"), 100)));
}

#[test]
fn terms_are_walked_where_most_may_match_and_give_the_list_that_a_search_gives() {
    let number = |number: usize| format!("x{number}");
    let (nodes, namespaces) = (nodes_with(&["host"]), Namespaces::default());
    let labels: Labels = [(text("app"), text("web"))].into();
    let matched = |terms: &AntiAffinity| -> Vec<AntiAffinityTerm> {
        let go_on = || true;
        let mut steps = Steps::new(&go_on);
        let matched = terms.matching("b", &labels, &namespaces, &nodes, &mut steps).unwrap().into_iter();
        matched.map(|(term, _)| (**term).clone()).collect()
    };
    let pod_of = |term: &dyn Fn(usize) -> AntiAffinityTerm| pod_with((0..1_000).map(term).collect());
    let mut terms = empty();
    // Filed twice each: by the name of the namespace, and for every one.
    terms.apply(
        Delta::Add,
        Row(0),
        &pod_of(&|n| term_of(&["b"], true, requirement("app", Operator::NotIn, &number(n)))),
    );
    assert!(terms.walks(1_000) && !terms.walks(TERM_CHUNK) && !terms.walks(500));
    let walked = matched(&terms);
    assert_eq!(walked.len(), 1_000);
    for row in 1..=4 {
        let others = pod_of(&|n| term_of(&["a"], false, requirement("app", Operator::In, &number(n + 1_000 * row))));
        terms.apply(Delta::Add, Row(row as u32), &others);
    }
    assert!(!terms.walks(2_000), "all have 5,000 by now");
    assert_eq!(matched(&terms), walked);
}

#[test]
fn a_change_after_a_clone_copies_a_chunk_of_each_map() {
    for is_crowded in [false, true] {
        let mut terms = tenant(|n| {
            let operator = if is_crowded { Operator::NotIn } else { Operator::In };
            term_of(&["a"], false, requirement("app", operator, &format!("x{n}")))
        });
        let before = terms.clone();
        let pod = pod_with(vec![term_of(&["b"], false, requirement("app", Operator::In, "web"))]);
        for delta in [Delta::Add, Delta::Remove] {
            terms.apply(delta, Row(0), &pod);
            let (carriers, filed) =
                (terms.carriers.chunks_beside(&before.carriers), terms.filed.chunks_beside(&before.filed));
            assert!(carriers.0 > 50 && filed.0 > 50, "{carriers:?} {filed:?}");
            // Two where the chunk was full and was split.
            assert!(carriers.1 <= 2 && filed.1 <= 2, "{carriers:?} {filed:?}");
        }
    }
}

#[test]
fn a_term_is_filed_under_few_headings_beside_its_namespaces() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..5_000 {
        let term = random_term(&mut random);
        let headings = headings::term_headings(&term.selector);
        assert!(headings.len() <= term.selector.namespaces.len() + TERM_HEADINGS, "{term:?}");
        assert!(headings.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn many_labels_of_a_pod_and_of_its_namespace_cost_a_look_each_and_not_their_product() {
    const LABELS: usize = 600;
    let labels = |of: &str| (0..LABELS).map(|at| (text(&format!("{of}{at:04}")), text("v"))).collect::<Labels>();
    let (of_namespace, of_pod) = (labels("n"), labels("p"));
    let needs = |key: String| vec![LabelRequirement::new(&key, Operator::Exists, Vec::new()).unwrap()];
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let terms = (0..LABELS).map(|at| {
        // Of some, the pod lacks the label; and some need none.
        let requirements = match random.u8(0..3) {
            0 => needs(format!("p{:04}", random.usize(0..2 * LABELS))),
            1 => needs(format!("other{at}")),
            _ => Vec::new(),
        };
        let namespace_requirements = Some(needs(format!("n{at:04}")));
        let selector = PodSelector { namespaces: Vec::new(), namespace_requirements, requirements };
        AntiAffinityTerm { selector, topology_key: text("host") }
    });
    let filed: std::collections::BTreeSet<u64> =
        terms.flat_map(|term| headings::term_headings(&term.selector)).collect();
    let looked = Cell::new(0);
    let next = |heading| {
        looked.set(looked.get() + 1);
        filed.range(heading..).next().copied()
    };
    let found = headings::pod_headings("a", &of_namespace, &of_pod, next);
    let all = 2 * LABELS + 2;
    // Each scope is looked up once, and each heading that is filed under it leads to one look more at most.
    assert!(looked.get() <= 2 * all + 2 * filed.len(), "{} looks, {} headings", looked.get(), filed.len());
    let clues = headings::pod_headings("a", &of_namespace, &of_pod, Some);
    let expected: Vec<u64> = filed.iter().copied().filter(|heading| clues.binary_search(heading).is_ok()).collect();
    assert!(found.len() > LABELS / 4, "{} headings", found.len());
    assert_eq!(found, expected);
}
