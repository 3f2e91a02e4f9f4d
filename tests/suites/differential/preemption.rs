//! Preemption: the engine compared with the reference, which removes the victims from the cluster's objects one by one and
//! evaluates everything again each time.
//!
//! There are `NODESIFT_PREEMPTION_CASES` (120) cases, of a few fixed [`seeds`](super::seeds) and of new ones. A difference
//! names its seed, which reproduces it.

use nodesift_engine::{Candidate, Engine, FaultReport, Metrics, Options, PodRef, Preemption, Query, Reuse};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{key, list, name, text};
use nodesift_fixtures::random::{Event, History};
use nodesift_reference::{Code, Explanation, Filter, explain, filters};
use nodesift_sandbox::fault::FaultKind;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::cases::{self, Tally as _};
use crate::mirror::{self, Mirror};
use crate::{cases_from_environment, default_policy, engine};

/// Default number of cases.
const CASES: u64 = 120;

/// Rounds of events in each cluster's history; cases are made after each.
const ROUNDS: usize = 3;

/// Preemptors in each round, and candidate nodes for each of them.
const PODS: usize = 3;
const NODES: usize = 3;

/// More preemptors, of which only those count that affinity or spread with other pods rejects.
const NEIGHBOURS: usize = 12;

/// Filters whose verdict on a node depends on pods of other nodes.
const CLUSTER_WIDE: [&str; 2] = ["PodTopologySpread", "InterPodAffinity"];

#[test]
fn preemption_agrees_with_a_recomputation_without_the_victims() {
    let wanted = cases_from_environment("NODESIFT_PREEMPTION_CASES", CASES);
    let done = cases::compare(wanted, history);
    assert!(wanted < CASES || done.has_every_kind(), "every kind of case occurs");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    /// The pod never fits; it fits at the first index; it fits later.
    none: u64,
    at_start: u64,
    later: u64,
    /// Of the latter two: the number of nodes that spread or affinity rejected before.
    made_room_around: u64,
    /// Victims whose removal frees nothing: unknown ones, static ones, those of other nodes, repeated ones.
    no_ops: u64,
    /// Cases in which cached verdicts were used.
    by_kept: u64,
    differences: Vec<String>,
}

impl cases::Tally for Tally {
    fn cases(&self) -> u64 {
        self.cases
    }

    fn has_every_kind(&self) -> bool {
        let kinds = [self.none, self.at_start, self.later, self.made_room_around, self.no_ops, self.by_kept];
        kinds.iter().all(|count| *count > 0)
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }

    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.none += other.none;
        self.at_start += other.at_start;
        self.later += other.later;
        self.made_room_around += other.made_room_around;
        self.no_ops += other.no_ops;
        self.by_kept += other.by_kept;
        self.differences.extend(other.differences);
    }
}

/// All cases of one cluster.
fn history(seed: u64) -> Tally {
    let policy = default_policy();
    let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
    let filters = filters::named(&names);
    let mut tally = Tally::default();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(policy.scheduler_names.clone());
    mirror.load(history.cluster.objects());
    let mut registry = Registry::default();
    let engine = engine(&policy, &mirror).with_reuse(Reuse::Verified).with_metrics(Metrics::register(&mut registry));
    for round in 0..ROUNDS {
        mirror.follow(&history.advance());
        mirror.follow(&make_some_static(&mut random, &mut history.cluster));
        for number in 0..PODS + NEIGHBOURS {
            let pod = history.asked_pod();
            let before = explain(&history.cluster, &pod, &filters);
            // As a core does: it filters first and preempts if the pod fits no node. The cached verdicts are then used.
            if random.bool() {
                engine.answer(&about(&pod), Options::default()).expect("an answer");
            }
            for node in nodes(&mut random, &history.cluster, &before, number >= PODS) {
                let (victims, no_ops) = victims(&mut random, &history.cluster, &node);
                let start = if random.bool() { 0 } else { random.usize(0..=victims.len().min(4)) };
                let case = Case { pod: &pod, node: &node, victims: &victims, start };
                let expected = case.recompute(&history.cluster, &filters);
                let kept = kept(&registry);
                let found = case.ask(&engine);
                tally.cases += 1;
                tally.by_kept += u64::from(kept < self::kept(&registry));
                tally.no_ops += no_ops;
                match expected {
                    None => tally.none += 1,
                    Some(index) if index == start => tally.at_start += 1,
                    Some(_) => tally.later += 1,
                }
                let around = rejecting(&before, &node).any(|(filter, _)| CLUSTER_WIDE.contains(&filter));
                tally.made_room_around += u64::from(expected.is_some() && around);
                if found != expected {
                    tally.differences.push(format!(
                        "seed {seed}, round {round}: engine {found:?}, reference {expected:?}; node {node}, start {start}, \
                         victims {victims:?}\n  pod {pod}"
                    ));
                    return tally;
                }
            }
        }
    }
    tally
}

/// The number of cached verdicts that were used.
fn kept(registry: &Registry) -> u64 {
    let mut text = String::new();
    encode(&mut text, registry).expect("writing to a string succeeds");
    let count = text.lines().find_map(|line| line.strip_prefix("nodesift_verdicts_total{from=\"kept\"} "));
    count.and_then(|count| count.parse().ok()).expect("the counter exists")
}

fn about(pod: &Value) -> Query {
    Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))])
}

/// Replaces some pods on nodes by static pods. Whether a pod is static is decided when it is first seen.
fn make_some_static(random: &mut fastrand::Rng, cluster: &mut Cluster) -> Vec<Event> {
    let placed: Vec<Value> = cluster.placed_pods().into_iter().map(|(_, pod)| pod.clone()).collect();
    let mut events = Vec::new();
    for mut pod in placed.into_iter().filter(|_| random.u8(0..20) == 0) {
        events.push(Event::Remove(Box::new(pod.clone())));
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": text(&pod, "spec.nodeName"), "uid": "n"}]);
        cluster.apply(pod.clone());
        events.push(Event::Apply(Box::new(pod)));
    }
    events
}

/// Candidate nodes: some that preemption could help, and any other; or only those that spread or affinity rejects.
fn nodes(random: &mut fastrand::Rng, cluster: &Cluster, before: &Explanation, around_only: bool) -> BTreeSet<String> {
    let all: Vec<String> = cluster.nodes().map(|node| name(node).to_owned()).collect();
    let resolvable = |node: &&String| {
        let mut failures = rejecting(before, node).peekable();
        failures.peek().is_some() && failures.all(|(_, code)| code == Code::Unschedulable)
    };
    let around = |node: &&String| rejecting(before, node).any(|(filter, _)| CLUSTER_WIDE.contains(&filter));
    let mut hopeful: Vec<String> =
        all.iter().filter(resolvable).filter(|node| !around_only || around(node)).cloned().collect();
    random.shuffle(&mut hopeful);
    let any = (!all.is_empty() && !around_only).then(|| all[random.usize(0..all.len())].clone());
    hopeful.into_iter().take(NODES - 1).chain(any).collect()
}

/// The filters that reject a node.
fn rejecting<'a>(explanation: &'a Explanation, node: &'a str) -> impl Iterator<Item = (&'static str, Code)> + use<'a> {
    explanation.alone.iter().filter_map(move |(filter, outcome)| Some((*filter, outcome.failures.get(node)?.code)))
}

/// UIDs of pods of a node in random order, mixed with some whose removal frees nothing, and the number of these.
fn victims(random: &mut fastrand::Rng, cluster: &Cluster, node: &str) -> (Vec<String>, u64) {
    let mut victims: Vec<String> = Vec::new();
    let mut no_ops = 0;
    let here = cluster.get("Node", node).into_iter().flat_map(|node| cluster.pods_on(node));
    for pod in here.filter(|_| random.u8(0..10) > 0) {
        victims.push(text(pod, "metadata.uid").to_owned());
        no_ops += u64::from(is_static(pod));
    }
    if random.u8(0..4) == 0 {
        victims.push("nobody".to_owned());
        no_ops += 1;
    }
    if random.u8(0..4) == 0
        && let Some((_, pod)) = cluster.placed_pods().into_iter().find(|(home, _)| name(home) != node)
    {
        victims.push(text(pod, "metadata.uid").to_owned());
        no_ops += 1;
    }
    if random.u8(0..6) == 0 && !victims.is_empty() {
        victims.push(victims[random.usize(0..victims.len())].clone());
        no_ops += 1;
    }
    random.shuffle(&mut victims);
    (victims, no_ops)
}

fn is_static(pod: &Value) -> bool {
    list(pod, "metadata.ownerReferences").iter().any(|owner| text(owner, "kind") == "Node")
}

/// Preemption query for one candidate node.
struct Case<'a> {
    pod: &'a Value,
    node: &'a str,
    victims: &'a [String],
    start: usize,
}

impl Case<'_> {
    fn ask(&self, engine: &Engine) -> Option<usize> {
        let candidate = Candidate { node: self.node.to_owned(), victims: self.victims.to_vec(), start: self.start };
        let query = Preemption {
            pod: PodRef::Whole(Box::new(mirror::pod(self.pod))),
            candidates: vec![candidate],
            deadline: None,
        };
        let answer = engine.preempt(&query, &engine.snapshot()).expect("an answer");
        let is_ignored = |fault: &FaultReport| fault.fault.kind == FaultKind::Unsupported;
        assert!(answer.faults.iter().all(is_ignored), "{:?}", answer.faults);
        answer.outcomes[0].index
    }

    /// Removes the victims one by one from the objects, and evaluates the pod again each time.
    fn recompute(&self, cluster: &Cluster, filters: &[Filter]) -> Option<usize> {
        let mut left = cluster.clone();
        for (index, uid) in self.victims.iter().enumerate() {
            let here = |pod: &&Value| text(pod, "spec.nodeName") == self.node && !is_static(pod);
            let victim = cluster.all("Pod").filter(here).find(|pod| text(pod, "metadata.uid") == uid);
            let is_gone = victim.is_some_and(|pod| left.remove("Pod", &key(pod)).is_some());
            let is_try = index == self.start || (index > self.start && is_gone);
            if is_try && rejecting(&explain(&left, self.pod, filters), self.node).next().is_none() {
                return Some(index);
            }
        }
        None
    }
}
