//! Scores: the engine compared with the reference on random histories of clusters, by the default scorers of a version and by random
//! arguments and weights. Some pods are asked about again and again while the cluster changes and while pods are assumed and forgotten, so
//! that a raw score that is used again is compared as well.
//!
//! [`arguments`] makes policies, [`contrast`] compares two answers.

mod arguments;
mod contrast;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nodesift_cache::Row;
use nodesift_cache::metadata::Selection;
use nodesift_engine::{Answer, Clock, Engine, Nodes, Options, PodRef, Query, Reuse, ScoreRequest};
use nodesift_fixtures::cluster::is_over;
use nodesift_fixtures::json::{name, text};
use nodesift_fixtures::random::History;
use nodesift_fixtures::random::claims::DeviceCluster;
use nodesift_fixtures::{Cluster, Rng};
use nodesift_reference::scores::{self, World};
use serde_json::{Value, json};

use crate::cases::{self, Tally as _};
use crate::mirror::{self, Mirror};
use crate::{SHOWN, cases_from_environment, runtime};
use arguments::Under;

/// Default number of pods that are scored: some seconds of two cores.
const PODS: u64 = 400;

/// Default number of pods that are scored on clusters with devices.
const PODS_WITH_DEVICES: u64 = 160;

/// Rounds of events in each history, and pods that are asked about in each round: new ones, and ones that are asked about in every round.
const ROUNDS: usize = 4;
const NEW_PODS: usize = 2;
const SAME_PODS: usize = 2;

/// TTL of assumptions: longer than any history.
const ASSUMED_FOR: Duration = Duration::from_secs(3600);

/// Nodes that are wanted where all are compared: more than any cluster here has.
const ALL: usize = 1000;

/// How often a query is about some nodes only: one time in this many.
const SOME: usize = 4;

#[test]
fn scores_of_the_engine_and_the_reference_agree_on_random_histories() {
    let wanted = cases_from_environment("NODESIFT_SCORED_PODS", PODS);
    let done = cases::compare(wanted, compare_history);
    assert!(wanted < PODS || done.has_every_kind(), "a case does not occur: {done:?}");
}

#[test]
fn scores_of_pods_with_devices_are_those_of_the_reference() {
    let wanted = cases_from_environment("NODESIFT_SCORED_PODS_WITH_DEVICES", PODS_WITH_DEVICES);
    let done = cases::compare(wanted, compare_devices);
    assert!(wanted < PODS_WITH_DEVICES || done.has_every_kind(), "a case does not occur: {done:?}");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Tally {
    pods: u64,
    /// Of the pods: by version, and whether the arguments are the default ones.
    by_version: BTreeMap<String, u64>,
    /// Pods and nodes on which they fit.
    pairs: u64,
    /// Raw scores, and pods that a scorer has nothing to say about.
    scores: u64,
    skips: u64,
    /// Of the scores, those by a scorer whose raw scores differ between the nodes of the pod.
    varying: u64,
    /// Pods that cannot be scored.
    errors: u64,
    /// Of the pods: those asked about while another pod is assumed, and those with several best nodes.
    assumed: u64,
    tied: u64,
    differences: Vec<String>,
}

impl cases::Tally for Tally {
    fn cases(&self) -> u64 {
        self.pods
    }

    fn has_every_kind(&self) -> bool {
        [self.skips, self.varying, self.errors, self.assumed, self.tied].iter().all(|count| *count > 0)
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }

    fn add(&mut self, other: Self) {
        self.pods += other.pods;
        for (version, count) in other.by_version {
            *self.by_version.entry(version).or_default() += count;
        }
        self.pairs += other.pairs;
        self.scores += other.scores;
        self.skips += other.skips;
        self.varying += other.varying;
        self.errors += other.errors;
        self.assumed += other.assumed;
        self.tied += other.tied;
        self.differences.extend(other.differences);
    }
}

/// Counts of what was compared on clusters with devices, where few of the other kinds occur.
#[derive(Debug, Default)]
struct DeviceTally {
    all: Tally,
    /// Pods that ask for an extended resource which a class serves, and fit some node.
    served: u64,
}

impl cases::Tally for DeviceTally {
    fn cases(&self) -> u64 {
        self.all.cases()
    }

    fn has_every_kind(&self) -> bool {
        self.all.varying > 0 && self.served > 0
    }

    fn differences(&self) -> &[String] {
        self.all.differences()
    }

    fn add(&mut self, other: Self) {
        self.all.add(other.all);
        self.served += other.served;
    }
}

/// The engine, the cache that it reads, and the policy of both sides.
struct Scene {
    under: Under,
    mirror: Mirror,
    engine: Engine,
    random: Rng,
}

fn compare_history(seed: u64) -> Tally {
    let mut tally = Tally::default();
    let mut random = Rng::with_seed(seed);
    let under = arguments::random(&mut random);
    let mut history = History::for_scores(seed);
    let mut scene = Scene::new(under, &history.cluster, random);
    let same: Vec<Value> = (0..SAME_PODS).map(|_| history.asked_pod()).collect();
    for round in 0..=ROUNDS {
        if round > 0 {
            let events = history.advance();
            scene.mirror.follow(&events);
        }
        let new: Vec<Value> = (0..NEW_PODS).map(|_| history.asked_pod()).collect();
        let mut found = Vec::new();
        for pod in same.iter().chain(&new) {
            found.extend(scene.compare(pod, &history.cluster, false, &mut tally));
        }
        found.extend(scene.compare_while_assumed(&same, &history.cluster, &mut tally));
        if !found.is_empty() {
            let shown = found.iter().take(SHOWN).map(|difference| format!("\n  {difference}")).collect::<String>();
            let about = format!("seed {seed}, {}, round {round}", scene.under.about);
            tally.differences.push(format!("{about}:{shown}\n  policy {}", scene.under.document));
            return tally;
        }
    }
    tally
}

/// All pods of one cluster with devices, by the scorers that read devices. Those of resources count devices of pools that can be used, and
/// kube-scheduler's those of every slice, so that they are compared where every pool can be used: on half of the clusters.
fn compare_devices(seed: u64) -> DeviceTally {
    let (mut tally, mut random) = (DeviceTally::default(), Rng::with_seed(seed));
    let is_counted = random.chance(50);
    let under = arguments::about_devices(&mut random, is_counted);
    let DeviceCluster { mut cluster, pods } = DeviceCluster::new(seed);
    if is_counted {
        mend_pools(&mut cluster);
        // Its devices are those of the driver, or all.
        let mut class = cluster.get("DeviceClass", "gpu").cloned().expect("every cluster has the class");
        class["spec"]["extendedResourceName"] = json!(arguments::SERVED);
        if random.chance(30) {
            class["spec"]["selectors"] = json!([]);
        }
        cluster.apply(class);
    }
    let mut scene = Scene::new(under, &cluster, random);
    for pod in &pods {
        let pairs = tally.all.pairs;
        let found = scene.compare(pod, &cluster, false, &mut tally.all);
        let is_served = is_counted && pod["spec"]["containers"].to_string().contains(arguments::SERVED);
        tally.served += u64::from(is_served && tally.all.pairs > pairs);
        if let Some(difference) = found.first() {
            tally.all.differences.push(format!("seed {seed}: {difference}\n  policy {}", scene.under.document));
            break;
        }
    }
    tally
}

/// Makes every pool of a cluster one that can be used: without older generations, complete, and with the counters that its devices name.
fn mend_pools(cluster: &mut Cluster) {
    let pool = |slice: &Value| (text(slice, "spec.driver").to_owned(), text(slice, "spec.pool.name").to_owned());
    let is_old = |slice: &&Value| slice["spec"]["pool"]["generation"] == 0;
    let slices: Vec<Value> = cluster.all("ResourceSlice").cloned().collect();
    for old in slices.iter().filter(is_old) {
        cluster.remove("ResourceSlice", name(old));
    }
    let slices: Vec<Value> = slices.into_iter().filter(|slice| !is_old(&slice)).collect();
    for slice in &slices {
        let mut mended = slice.clone();
        let count = slices.iter().filter(|other| pool(other) == pool(slice)).count();
        mended["spec"]["pool"]["resourceSliceCount"] = json!(count);
        for device in mended["spec"]["devices"].as_array_mut().into_iter().flatten() {
            if let Some(consumed) = device.pointer_mut("/consumesCounters/0/counterSet") {
                *consumed = json!("card");
            }
        }
        cluster.apply(mended);
    }
}

impl Scene {
    /// An engine that compares what it uses again with what is fresh, on a cache with the objects of the cluster.
    fn new(under: Under, cluster: &Cluster, random: Rng) -> Self {
        let runtime = runtime();
        let active = nodesift_policy::activate(&under.policy, 1, &runtime).expect("the policy can be loaded");
        let selection = Selection { pod_claims: true, ..active.selection() };
        let mut mirror = Mirror::new(under.policy.scheduler_names.clone()).under(&under.policy).selecting(selection);
        mirror.load(cluster.objects());
        let engine = Engine::new(mirror.reader(), active, runtime).with_reuse(Reuse::Verified);
        // The reference's filters know no time either.
        let engine = engine.with_clock(Clock::new(|| 0));
        Self { under, mirror, engine, random }
    }

    /// Compares the answers about a pod on a cluster, whose filters are not compared where pods are assumed.
    fn compare(&mut self, pod: &Value, cluster: &Cluster, is_assumed: bool, tally: &mut Tally) -> Vec<String> {
        let names: Vec<String> = cluster.nodes().map(|node| name(node).to_owned()).collect();
        let nodes = match self.random.below(SOME) {
            0 => Nodes::Named(names.iter().filter(|_| self.random.chance(50)).cloned().collect()),
            _ => Nodes::All,
        };
        let answer = self.ask(pod, nodes.clone(), ScoreRequest { top: ALL, seed: None, each: true });
        let order: Vec<String> = (0..u32::try_from(answer.snapshot.node_count()).expect("few rows"))
            .map(|row| answer.snapshot.node_name(Row(row)).to_owned())
            .collect();
        let Under { profile, switches, filters, .. } = &self.under;
        let world = World { cluster, order: &order, switches, profile };
        let feasible = contrast::feasible(&answer);
        if !is_assumed {
            let mut expected = scores::feasible(&world, pod, filters);
            if let Nodes::Named(names) = &nodes {
                expected.retain(|node| names.contains(node));
            }
            if feasible != expected {
                return vec![format!("feasible {feasible:?}, reference {expected:?}\n  pod {pod}")];
            }
        }
        tally.pods += 1;
        *tally.by_version.entry(self.under.about.clone()).or_default() += 1;
        tally.pairs += feasible.len() as u64;
        tally.assumed += u64::from(is_assumed);
        let expected = scores::score(&world, pod, &feasible);
        let mut differences = contrast::differences(&answer, &feasible, &expected, tally);
        if let Ok(expected) = &expected {
            let top = self.random.between(1, 3);
            let seed = self.random.chance(50).then(|| self.random.number());
            let best = self.ask(pod, nodes, ScoreRequest { top, seed, each: false });
            differences.extend(contrast::best(&best, top, seed, &feasible, expected, tally));
        }
        differences.iter().map(|difference| format!("{difference}\n  pod {pod}")).collect()
    }

    /// Assumes a pending pod, compares, forgets it, and compares again.
    fn compare_while_assumed(&mut self, pods: &[Value], cluster: &Cluster, tally: &mut Tally) -> Vec<String> {
        let pending: Vec<Value> =
            cluster.all("Pod").filter(|pod| text(pod, "spec.nodeName").is_empty() && !is_over(pod)).cloned().collect();
        let nodes: Vec<String> = cluster.nodes().map(|node| name(node).to_owned()).collect();
        let (Some(assumed), Some(node)) = (self.random.choose(&pending).cloned(), self.random.choose(&nodes).cloned())
        else {
            return Vec::new();
        };
        let uid = text(&assumed, "metadata.uid");
        if self.mirror.writer().assume(uid, &node, Instant::now() + ASSUMED_FOR).is_err() {
            return Vec::new();
        }
        self.mirror.follow(&[]);
        let mut with_it = cluster.clone();
        let mut bound = assumed.clone();
        bound["spec"]["nodeName"] = json!(node);
        with_it.apply(bound);
        let mut differences: Vec<String> = Vec::new();
        for pod in pods {
            differences.extend(self.compare(pod, &with_it, true, tally));
        }
        self.mirror.writer().forget(uid);
        self.mirror.follow(&[]);
        for pod in pods {
            differences.extend(self.compare(pod, cluster, false, tally));
        }
        differences.iter().map(|difference| format!("{assumed} assumed on {node}: {difference}")).collect()
    }

    fn ask(&self, pod: &Value, nodes: Nodes, scores: ScoreRequest) -> Answer {
        let pod = PodRef::Whole(Box::new(mirror::pod(pod)));
        let query = Query::new([pod]).with_nodes(nodes).with_scores(scores);
        self.engine.answer(&query, Options::default()).expect("an answer")
    }
}
