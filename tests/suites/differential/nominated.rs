//! Nominated pods: the engine compared with the reference, which binds these pods to their node in a copy of the cluster's
//! objects and evaluates everything again. The engine also compares cached verdicts with fresh ones. Each query is about all
//! nodes and about some, in both phases and both depths.
//!
//! A case is a pod and a node with nominated pods that take precedence. There are at least
//! `NODESIFT_NOMINATED_CASES` (1,500) of them, in clusters of a few fixed [`seeds`](super::seeds) and of new ones. A
//! difference names its seed, which reproduces it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nodesift_engine::{Phase, Reuse};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{list, name, text};
use nodesift_fixtures::random::{Event, History};
use nodesift_policy::Policy;
use nodesift_reference::{Filter, explain, filters, nominated};
use serde_json::{Value, json};

use crate::mirror::Mirror;
use crate::seeds::Seeds;
use crate::{FIXED_SEEDS, SHOWN, ask_and_compare, default_policy, engine, from_environment};

/// Default number of cases.
const CASES: u64 = 1_500;

/// Rounds of events in each cluster's history.
const ROUNDS: usize = 3;

/// Pods that are nominated, and pods that are queried, in each round.
const NOMINATED: usize = 6;
const PODS: usize = 4;

#[test]
fn nodes_with_nominated_pods_must_fit_with_them_and_without() {
    let wanted = from_environment("NODESIFT_NOMINATED_CASES", CASES);
    println!("{wanted} cases");
    let seeds = Seeds::of_run(FIXED_SEEDS);
    let started = Instant::now();
    let (next, cases) = (AtomicU64::new(0), AtomicU64::new(0));
    let policy = default_policy();
    let work = || {
        let mut done = Tally::default();
        while cases.load(Ordering::Relaxed) < wanted && done.differences.len() < SHOWN {
            let tally = history(seeds.get(next.fetch_add(1, Ordering::Relaxed)), &policy);
            cases.fetch_add(tally.cases, Ordering::Relaxed);
            done.add(tally);
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut done = Tally::default();
        workers.into_iter().for_each(|worker| done.add(worker.join().expect("a worker ends")));
        done
    });
    println!("{done:?} in {:.1} s", started.elapsed().as_secs_f32());
    assert!(done.differences.is_empty(), "{} queries differ\n{}", done.differences.len(), done.differences.join("\n"));
    assert!(done.cases >= wanted, "cases");
    let kinds = [done.both, done.only_with, done.only_without, done.otherwise, done.around, done.itself];
    assert!(wanted < CASES || kinds.iter().all(|count| *count > 0), "every kind of case occurs");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    /// The node fits with and without the nominated pods; it fails only with them; it fails only without them; it fails in both
    /// cases, for different reasons.
    both: u64,
    only_with: u64,
    only_without: u64,
    otherwise: u64,
    /// Of those that fail only with them: the number because of spread or affinity.
    around: u64,
    /// The pod of the query is itself nominated.
    itself: u64,
    differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.both += other.both;
        self.only_with += other.only_with;
        self.only_without += other.only_without;
        self.otherwise += other.otherwise;
        self.around += other.around;
        self.itself += other.itself;
        self.differences.extend(other.differences);
    }

    fn count(&mut self, cluster: &Cluster, pod: &Value, filters: &[Filter]) {
        let without = explain(&without_nominations(cluster), pod, filters).together.first;
        for node in cluster.nodes() {
            let Some(bound) = nominated::bound(cluster, pod, node) else { continue };
            let with = explain(&without_nominations(&bound), pod, filters).together.first;
            self.cases += 1;
            match (with.get(name(node)), without.get(name(node))) {
                (None, None) => self.both += 1,
                (Some((filter, _)), None) => {
                    self.only_with += 1;
                    self.around += u64::from(["PodTopologySpread", "InterPodAffinity"].contains(filter));
                }
                (None, Some(_)) => self.only_without += 1,
                (Some(with), Some(without)) => self.otherwise += u64::from(with != without),
            }
        }
        self.itself += u64::from(!text(pod, "status.nominatedNodeName").is_empty());
    }
}

/// All cases of one cluster.
fn history(seed: u64, policy: &Policy) -> Tally {
    let mut tally = Tally::default();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(policy.scheduler_names.clone());
    mirror.load(history.cluster.objects());
    let engine = engine(policy, &mirror).reusing(Reuse::Verified);
    for round in 0..ROUNDS {
        mirror.follow(&history.advance());
        mirror.follow(&nominate(&mut random, &mut history));
        let mut pods: Vec<Value> = (1..PODS).map(|_| history.asked_pod()).collect();
        let nominated = |pod: &&Value| !text(pod, "status.nominatedNodeName").is_empty();
        pods.extend(history.cluster.all("Pod").filter(nominated).take(1).cloned());
        for pod in &pods {
            let phase = if random.u8(0..4) == 0 { Phase::Reserve } else { Phase::Allocate };
            let asked = policy.predicates.iter().filter(|predicate| predicate.phases.contains(phase));
            let filters = filters::named(&asked.map(|predicate| predicate.name.as_str()).collect::<Vec<_>>());
            tally.count(&history.cluster, pod, &filters);
            let explanation = explain(&history.cluster, pod, &filters);
            let found = ask_and_compare(&engine, &history.cluster, pod, phase, &explanation);
            if !found.is_empty() {
                let found = found.iter().take(SHOWN).map(|difference| format!("\n  {difference}")).collect::<String>();
                tally.differences.push(format!("seed {seed}, round {round}, {phase:?}:{found}\n  pod {pod}"));
                return tally;
            }
        }
    }
    tally
}

/// New pods, each nominated for a random node out of a few.
fn nominate(random: &mut fastrand::Rng, history: &mut History) -> Vec<Event> {
    let nodes: Vec<String> = history.cluster.nodes().map(|node| name(node).to_owned()).collect();
    let few = nodes.len().min(4);
    let mut events = Vec::new();
    for _ in 0..if few == 0 { 0 } else { NOMINATED } {
        let mut pod = history.asked_pod();
        pod["spec"]["nodeName"] = json!("");
        pod["status"]["nominatedNodeName"] = json!(nodes[random.usize(0..few)]);
        // Pods on nodes that use claims of other pods: with several of these, any may be reported.
        let own = list(&pod, "spec.volumes").iter().filter(|volume| volume["ephemeral"].is_null()).cloned();
        pod["spec"]["volumes"] = own.collect();
        history.cluster.apply(pod.clone());
        events.push(Event::Apply(Box::new(pod)));
    }
    events
}

/// The cluster without nominations.
fn without_nominations(cluster: &Cluster) -> Cluster {
    let mut without = cluster.clone();
    for pod in cluster.all("Pod") {
        let mut pod = pod.clone();
        pod["status"]["nominatedNodeName"] = json!("");
        without.apply(pod);
    }
    without
}
