//! The engine compared with the reference implementation: random histories of clusters are applied to the cache event by event,
//! and after every few events the verdicts of all predicates on several pods are compared. [`preemption`] compares victims,
//! [`overlay`] hypothetical changes, [`nominated`] nominated pods, [`wide`] clusters of many nodes, [`why`] what operators are told about a pending pod,
//! [`edges`] what random clusters seldom have, [`claims`] clusters with devices, [`scores`] how good feasible nodes are, [`parties`] what external parties say, [`facts`] facts that no built-in predicate reads. [`reuse`], [`sample`] and
//! [`bitmaps`] compare two ways to the same answer, [`same_verdicts`] one predicate in several languages with a built-in; [`switched`]
//! replaces the version of Kubernetes in the middle of a history.
//!
//! [`mirror`] loads the reference's objects into the cache; [`comparison`] compares two answers. A run has
//! `NODESIFT_DIFFERENTIAL_CLUSTERS` (32) clusters. Some of their [`seeds`] are the same in every run, the others are new;
//! `NODESIFT_SEED` sets the first instead. A difference names its seed, which alone reproduces it. The numbers are small, so that every
//! commit can be tested with them: `NODESIFT_RANDOM_TIMES` multiplies those of all tests here, as in `make random`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod bitmaps;
mod cases;
mod claims;
mod comparison;
mod edges;
mod facts;
mod mirror;
mod nominated;
mod overlay;
mod parties;
mod preemption;
mod reprieve;
mod reuse;
mod same_verdicts;
mod sample;
mod scores;
mod seeds;
mod situation;
mod switched;
mod victims;
mod why;
mod wide;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nodesift_engine::{Depth, Engine, Nodes, Options, Phase, PodRef, Query};
use nodesift_fixtures::random::History;
use nodesift_fixtures::{Cluster, json};
use nodesift_policy::Policy;
use nodesift_reference::kubernetes::{documented_policy, versions};
use nodesift_reference::{Explanation, Filter, Switches, explain_under, filters};
use nodesift_sandbox::Runtime;
use nodesift_tests::compiled;
use serde_json::Value;

use comparison::Answered;
use mirror::Mirror;
use seeds::Seeds;

/// Default number of clusters: some seconds of two cores.
const CLUSTERS: u64 = 32;

/// One seed in this many is the same in every run.
const FIXED_PART: u64 = 4;

/// Fixed seeds of a run that lasts until enough cases have occurred.
const FIXED_SEEDS: u64 = 3;

/// Rounds of events in each cluster's history; the pods are evaluated before the first and after each.
const ROUNDS: usize = 4;

/// New pods that are evaluated in each round, and unbound pods of the cluster.
const NEW_PODS: usize = 3;
const KNOWN_PODS: usize = 2;

/// Nodes of a query about some nodes.
const SOME_NODES: usize = 3;

/// Time per call, in place of the policy's: the suite compares verdicts, and a busy machine is slow.
const CALL_TIME: Duration = Duration::from_secs(10);

/// Number of pods with differences that ends the run, and of differences shown per pod.
const SHOWN: usize = 4;

#[test]
fn engine_and_reference_agree_on_random_histories() {
    let count = cases_from_environment("NODESIFT_DIFFERENTIAL_CLUSTERS", CLUSTERS);
    let seeds = Seeds::for_run(count / FIXED_PART);
    let started = Instant::now();

    let worlds = Under::all();
    for Under { version, policy, filters, .. } in &worlds {
        let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
        let known: Vec<&str> = filters.iter().map(|filter| filter.name).collect();
        assert_eq!(known, names, "the reference knows every default predicate of {version}, in its order");
    }

    let next = AtomicU64::new(0);
    let work = || {
        let mut done: BTreeMap<&str, Tally> = BTreeMap::new();
        let mut differences = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || differences.len() >= SHOWN {
                return (done, differences);
            }
            let seed = seeds.get(number);
            let under = Under::of_seed(&worlds, seed);
            done.entry(&under.version).or_default().add(compare_history(seed, under, &mut differences));
        }
    };
    let results: Vec<(BTreeMap<&str, Tally>, Vec<String>)> = cases::on_each_core(work);

    let (mut by_version, mut differences) = (BTreeMap::<&str, Tally>::new(), Vec::new());
    for (tallies, found) in results {
        tallies.into_iter().for_each(|(version, tally)| by_version.entry(version).or_default().add(tally));
        differences.extend(found);
    }
    let mut done = Tally::default();
    for (version, tally) in &by_version {
        println!("{version}: {tally:?}");
        done.add(*tally);
    }
    println!("{done:?} in {:.1} s", started.elapsed().as_secs_f32());
    assert!(
        differences.is_empty(),
        "{} histories differ (NODESIFT_SEED=<seed> NODESIFT_DIFFERENTIAL_CLUSTERS=1 reproduces one)\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert_eq!(done.clusters, count, "clusters");
    assert!(done.rejected > 0 && done.feasible > 0, "some nodes fit and some do not");
    assert!(count < CLUSTERS || by_version.len() == worlds.len(), "every version has clusters");
}

/// Counts of what was compared.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    clusters: u64,
    pods: u64,
    /// Verdicts of a predicate on a node.
    verdicts: u64,
    rejected: u64,
    feasible: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.clusters += other.clusters;
        self.pods += other.pods;
        self.verdicts += other.verdicts;
        self.rejected += other.rejected;
        self.feasible += other.feasible;
    }

    fn count(&mut self, nodes: usize, explanation: &Explanation) {
        let rejected: usize = explanation.alone.iter().map(|(_, outcome)| outcome.failures.len()).sum();
        self.pods += 1;
        self.verdicts += (nodes * explanation.alone.len()) as u64;
        self.rejected += rejected as u64;
        self.feasible += explanation.together.feasible.len() as u64;
    }
}

/// One history: the cache follows the reference's cluster, and both are queried in every round.
fn compare_history(seed: u64, under: &Under, differences: &mut Vec<String>) -> Tally {
    let Under { version, policy, filters, switches } = under;
    let mut tally = Tally { clusters: 1, ..Tally::default() };
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(policy.scheduler_names.clone()).under(policy);
    mirror.load(history.cluster.objects());
    let engine = engine(policy, &mirror);
    for round in 0..=ROUNDS {
        if round > 0 {
            mirror.follow(&history.advance());
        }
        let mut pods: Vec<Value> = (0..NEW_PODS).map(|_| history.asked_pod()).collect();
        let bound = |pod: &&Value| !json::text(pod, "spec.nodeName").is_empty();
        pods.extend(history.cluster.all("Pod").filter(|pod| !bound(pod)).take(KNOWN_PODS).cloned());
        for pod in &pods {
            let explanation = explain_under(&history.cluster, pod, filters, switches);
            tally.count(history.cluster.nodes().count(), &explanation);
            let found = ask_and_compare(&engine, &history.cluster, pod, Phase::Allocate, &explanation);
            if !found.is_empty() {
                let found = found.iter().take(SHOWN).map(|difference| format!("\n  {difference}")).collect::<String>();
                let pod_name = &explanation.pod;
                differences.push(format!("seed {seed}, {version}, round {round}, {pod_name}:{found}\n  pod {pod}"));
                return tally;
            }
        }
    }
    tally
}

/// Compares each predicate alone and the conjunction, over all nodes and over some.
fn ask_and_compare(
    engine: &Engine,
    cluster: &Cluster,
    pod: &Value,
    phase: Phase,
    explanation: &Explanation,
) -> Vec<String> {
    let names: Vec<String> = cluster.nodes().map(|node| json::name(node).to_owned()).collect();
    let step = names.len() / SOME_NODES + 1;
    let some: Vec<String> = names.iter().step_by(step).cloned().collect();
    let ask = |nodes: Nodes, depth: Depth| {
        let pod = PodRef::Whole(Box::new(mirror::pod(pod)));
        let query = Query::new([pod]).with_nodes(nodes).with_phase(phase).with_depth(depth);
        Answered::new(&engine.answer(&query, Options::default()).expect("an answer"))
    };
    let mut differences = Vec::new();
    differences.extend(comparison::differences(&ask(Nodes::All, Depth::Each), explanation, &names, Depth::Each));
    for (nodes, asked) in [(Nodes::All, &names), (Nodes::Named(some.clone()), &some)] {
        let answered = ask(nodes, Depth::FirstFailure);
        differences.extend(comparison::differences(&answered, explanation, asked, Depth::FirstFailure));
    }
    let answered = ask(Nodes::Named(some.clone()), Depth::Each);
    differences.extend(comparison::differences(&answered, explanation, &some, Depth::Each));
    differences
}

/// The number in the variable `name`, or the default.
fn from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")),
        Err(_) => default,
    }
}

/// The number of random cases in the variable `name`; without it the default, times `NODESIFT_RANDOM_TIMES`.
fn cases_from_environment(name: &str, default: u64) -> u64 {
    from_environment(name, default * from_environment("NODESIFT_RANDOM_TIMES", 1))
}

/// A version of Kubernetes: its default policy, and what the reference evaluates by.
struct Under {
    /// The version, and whether its quirks are mended.
    version: String,
    policy: Policy,
    filters: Vec<Filter>,
    switches: Switches,
}

impl Under {
    /// Every version as released, and 1.36 with its quirks mended.
    fn all() -> Vec<Self> {
        let released = versions().into_iter().map(|version| {
            let (policy, filters) = (policy_by(version), filters::default_of(version));
            Self { version: version.to_owned(), policy, filters, switches: Switches::from_version(version) }
        });
        let (policy, filters) = (default_policy(), filters::default_of("1.36"));
        let mended = Self { version: "1.36 mended".to_owned(), policy, filters, switches: Switches::documented() };
        released.chain([mended]).collect()
    }

    /// The one that a seed has. Seeds of a run follow each other, so that each has as many of them.
    fn of_seed(worlds: &[Self], seed: u64) -> &Self {
        let place = usize::try_from(seed % worlds.len() as u64).expect("less than there are");
        &worlds[place]
    }
}

/// The default policy of 1.36 with its quirks mended, by which [`nodesift_reference::explain`] evaluates.
fn default_policy() -> Policy {
    read(&documented_policy())
}

/// The default policy of a version as released.
fn policy_by(version: &str) -> Policy {
    let head = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: default}\nspec:\n";
    read(&format!("{head}  schedulerNames: [default-scheduler]\n  kubernetes: \"{version}\"\n"))
}

/// A policy whose calls have more time.
fn read(text: &str) -> Policy {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let mut policy = Policy::read(text, "the default policy", Path::new(""), &builtins).expect("it can be read");
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(CALL_TIME));
    policy
}

/// A runtime that finds the predicates of the default policy compiled.
fn runtime() -> Runtime {
    let binary = Path::new(env!("CARGO_BIN_EXE_nodesift"));
    Runtime::start(Some(&compiled::folder(binary, Path::new(env!("CARGO_TARGET_TMPDIR"))))).expect("a runtime")
}

/// A separate engine per cluster, so that clusters are independent.
fn engine(policy: &Policy, mirror: &Mirror) -> Engine {
    let runtime = runtime();
    let active = nodesift_policy::activate(policy, 1, &runtime).expect("the default policy can be loaded");
    Engine::new(mirror.reader(), active, runtime)
}
