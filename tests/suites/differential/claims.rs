//! Claims on devices compared with the reference: random clusters with devices change, and after every few changes verdicts and
//! reasons of DynamicResources on all pods are those of `nodesift_reference::claims`, with cached verdicts and from fresh ones. Each
//! cluster has a version of Kubernetes, by its seed.
//!
//! A run has `NODESIFT_CLAIMS_CLUSTERS` (80) clusters with short histories, and `NODESIFT_CLAIMS_HISTORIES` (24) long ones, in which
//! the engine compares every cached verdict with a fresh one. A difference names its seed: with it as `NODESIFT_SEED` and one
//! cluster or history, a run reproduces it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nodesift_engine::{Clock, Depth, Engine, Metrics, Nodes, Options, PodRef, Query, Reuse};
use nodesift_fixtures::json::{key, name, text};
use nodesift_fixtures::random::device_history::{Change, DeviceHistory};
use nodesift_policy::Policy;
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::{Explanation, Filter, filters};
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::cases::{self, Tally};
use crate::comparison::{self, Answered};
use crate::mirror::{self, Mirror};
use crate::reuse::Counted;
use crate::{SHOWN, Under, cases_from_environment, runtime};

/// Default numbers of clusters and of long histories: some seconds of two cores.
const CLUSTERS: u64 = 80;
const HISTORIES: u64 = 24;

/// Rounds of changes in a short and in a long history, and pods per round.
const SHORT: usize = 3;
const LONG: usize = 16;
const ASKED: usize = 3;

/// Of this many pods that could be allocated, one is.
const DECIDED: usize = 3;

/// The predicates, of which only one reads claims, and both read extended resources.
const FIT: &str = "NodeResourcesFit";
const CLAIMS: &str = "DynamicResources";

/// Different reasons that a run meets at least, so that the generator cannot degenerate unnoticed.
const LEAST_REASONS: usize = 15;

#[test]
fn verdicts_about_claims_are_those_of_the_reference() {
    let wanted = cases_from_environment("NODESIFT_CLAIMS_CLUSTERS", CLUSTERS);
    let worlds = Under::all();
    let done = cases::compare(wanted, |seed| follow(seed, &worlds, SHORT, &[FIT, CLAIMS], Reuse::On));
    assert!(wanted < CLUSTERS || done.has_every_kind(), "a case does not occur: {done:?}");
    assert!(wanted < CLUSTERS || done.by_version.len() == worlds.len(), "every version has clusters: {done:?}");
}

#[test]
fn kept_verdicts_about_claims_are_those_of_a_fresh_evaluation() {
    let wanted = cases_from_environment("NODESIFT_CLAIMS_HISTORIES", HISTORIES);
    let worlds = Under::all();
    let done = cases::compare(wanted, |seed| follow(seed, &worlds, LONG, &[CLAIMS], Reuse::Verified));
    assert!(wanted < HISTORIES || done.has_every_kind(), "a case does not occur: {done:?}");
    let ways = [done.counted.kept, done.counted.patched, done.counted.evaluated];
    assert!(wanted < HISTORIES || ways.iter().all(|count| *count > 0), "a source of verdicts does not occur: {done:?}");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Done {
    histories: u64,
    /// Of the histories: by version.
    by_version: BTreeMap<String, u64>,
    changes: usize,
    verdicts: usize,
    rejected: usize,
    allocations: usize,
    /// Pods that were asked about while an allocation was in flight.
    beside_flight: usize,
    /// Reasons without digits, each with the number of nodes.
    reasons: BTreeMap<String, usize>,
    counted: Counted,
    differences: Vec<String>,
}

impl Tally for Done {
    fn cases(&self) -> u64 {
        self.histories
    }

    fn has_every_kind(&self) -> bool {
        let met = [self.rejected, self.allocations, self.beside_flight];
        met.iter().all(|count| *count > 0) && self.reasons.len() >= LEAST_REASONS
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }

    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        for (version, count) in other.by_version {
            *self.by_version.entry(version).or_default() += count;
        }
        self.changes += other.changes;
        self.verdicts += other.verdicts;
        self.rejected += other.rejected;
        self.allocations += other.allocations;
        self.beside_flight += other.beside_flight;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.counted.add(other.counted);
        self.differences.extend(other.differences);
    }
}

/// One history: all pods are asked about in turn, and some of them get what was found for them.
fn follow(seed: u64, worlds: &[Under], rounds: usize, predicates: &[&str], reuse: Reuse) -> Done {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = DeviceHistory::new(seed);
    let Under { version, policy, switches, .. } = Under::of_seed(worlds, seed);
    let policy = with_predicates(policy, predicates);
    let mut mirror = Mirror::new(policy.scheduler_names.clone()).under(&policy);
    mirror.load(history.cluster.objects());
    let time = Arc::new(AtomicI64::new(history.now_s));
    let (engine, registry) = engine(&policy, &mirror, reuse, &time);
    let selectors = Selectors::default();
    let filters = filters::named(predicates);
    let mut done = Done { histories: 1, by_version: BTreeMap::from([(version.clone(), 1)]), ..Done::default() };
    for round in 0..=rounds {
        if round > 0 {
            let changes = history.advance();
            done.changes += changes.len();
            apply(&mut mirror, &changes);
            time.store(history.now_s, Ordering::Relaxed);
        }
        let mut pods: Vec<Value> = history.cluster.all("Pod").cloned().collect();
        random.shuffle(&mut pods);
        for pod in pods.iter().take(ASKED) {
            let (cluster, in_flight) = (&history.cluster, &history.in_flight);
            let world = World { cluster, in_flight, now_s: history.now_s, switches };
            let (expected, mut found) = explanation(&world, &selectors, &filters, pod);
            done.count(&world, &expected, found.len());
            let differences = ask(&mut random, &engine, &world, pod, &expected);
            if !differences.is_empty() {
                let shown = differences.iter().take(SHOWN).map(|line| format!("\n  {line}")).collect::<String>();
                done.differences
                    .push(format!("seed {seed}, {version}, round {round}, {}:{shown}\n  pod {pod}", key(pod)));
                return done;
            }
            if let Some((_, allocations)) = found.pop_first().filter(|_| random.usize(0..DECIDED) == 0) {
                let changes = history.decide(pod, &allocations);
                done.changes += changes.len();
                apply(&mut mirror, &changes);
            }
        }
    }
    Done { counted: Counted::read(&registry), ..done }
}

impl Done {
    fn count(&mut self, world: &World<'_>, expected: &Explanation, allocations: usize) {
        let failures: Vec<_> = expected.alone.iter().flat_map(|(_, outcome)| outcome.failures.values()).collect();
        self.verdicts += world.cluster.nodes().count();
        self.rejected += failures.len();
        self.allocations += allocations;
        self.beside_flight += usize::from(!world.in_flight.is_empty());
        for reason in failures.iter().flat_map(|failure| &failure.reasons) {
            let anonymous: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
            *self.reasons.entry(anonymous).or_default() += 1;
        }
    }
}

/// Returns the reference's explanation of a pod, and by node what each of its claims would get.
fn explanation(
    world: &World<'_>,
    selectors: &Selectors,
    filters: &[Filter],
    pod: &Value,
) -> (Explanation, BTreeMap<String, Vec<Value>>) {
    let decision = judge(world, selectors, pod);
    // The filter knows neither the time nor what is in flight.
    let judged = |filter: &Filter| match filter.name {
        CLAIMS => decision.outcome.clone(),
        _ => (filter.judge)(world.cluster, pod, world.switches),
    };
    let alone = filters.iter().map(|filter| (filter.name, judged(filter))).collect();
    let nodes = world.cluster.nodes().map(name);
    (Explanation::new(key(pod), nodes, alone, &BTreeMap::new()), decision.allocations)
}

/// Asks about a pod, by its UID or as it is, over all nodes or some.
fn ask(
    random: &mut fastrand::Rng,
    engine: &Engine,
    world: &World<'_>,
    pod: &Value,
    expected: &Explanation,
) -> Vec<String> {
    let mut names: Vec<String> = world.cluster.nodes().map(|node| name(node).to_owned()).collect();
    let nodes = match random.u8(0..4) {
        0 => {
            names.retain(|_| random.bool());
            Nodes::Named(names.clone())
        }
        _ => Nodes::All,
    };
    let depth = if random.u8(0..3) == 0 { Depth::FirstFailure } else { Depth::Each };
    let pod = match random.bool() {
        true => PodRef::Uid(text(pod, "metadata.uid").to_owned()),
        false => PodRef::Whole(Box::new(mirror::pod(pod))),
    };
    let query = Query::new([pod]).with_nodes(nodes).with_depth(depth);
    match engine.answer(&query, Options::default()) {
        Ok(answer) => comparison::differences(&Answered::new(&answer), expected, &names, depth),
        Err(error) => vec![error.to_string()],
    }
}

fn apply(mirror: &mut Mirror, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Object(event) => mirror.change(event),
            Change::Hold(claim) => mirror.hold(claim),
            Change::Release(uid) => mirror.writer().release_in_flight(uid),
        }
    }
    mirror.follow(&[]);
}

/// A policy with these predicates only.
fn with_predicates(policy: &Policy, predicates: &[&str]) -> Policy {
    let mut policy = policy.clone();
    policy.predicates.retain(|predicate| predicates.contains(&predicate.name.as_str()));
    policy
}

fn engine(policy: &Policy, mirror: &Mirror, reuse: Reuse, time: &Arc<AtomicI64>) -> (Engine, Registry) {
    let mut registry = Registry::default();
    let runtime = runtime();
    let active = nodesift_policy::activate(policy, 1, &runtime).expect("the policy can be loaded");
    let time = Arc::clone(time);
    let clock = Clock::new(move || time.load(Ordering::Relaxed));
    let engine = Engine::new(mirror.reader(), active, runtime).with_reuse(reuse).with_clock(clock);
    (engine.with_metrics(Metrics::register(&mut registry)), registry)
}
