//! Nominated pods: the engine compared with the reference, which binds these pods to their node in a copy of the cluster's
//! objects and evaluates everything again. The engine also compares cached verdicts with fresh ones. Each query is about all
//! nodes and about some, in both phases and both depths.
//!
//! A case is a pod and a node with nominated pods that take precedence. There are at least
//! `NODESIFT_NOMINATED_CASES` (200) of them, in clusters of a few fixed [`seeds`](super::seeds) and of new ones. A
//! difference names its seed, which reproduces it.

use nodesift_engine::{Phase, Reuse};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{list, name, text};
use nodesift_fixtures::random::{Event, History};
use nodesift_policy::Policy;
use nodesift_reference::{Filter, explain, filters, nominated};
use serde_json::{Value, json};

use crate::cases::{self, Tally as _};
use crate::mirror::Mirror;
use crate::{SHOWN, ask_and_compare, cases_from_environment, default_policy, engine};

/// Default number of cases.
const CASES: u64 = 200;

/// Rounds of events in each cluster's history.
const ROUNDS: usize = 3;

/// Pods that are nominated, and pods that are queried, in each round.
const NOMINATED: usize = 6;
const PODS: usize = 4;

#[test]
fn nodes_with_nominated_pods_must_fit_with_them_and_without() {
    let wanted = cases_from_environment("NODESIFT_NOMINATED_CASES", CASES);
    let policy = default_policy();
    let done = cases::compare(wanted, |seed| history(seed, &policy));
    assert!(wanted < CASES || done.has_every_kind(), "every kind of case occurs");
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

impl cases::Tally for Tally {
    fn cases(&self) -> u64 {
        self.cases
    }

    fn has_every_kind(&self) -> bool {
        let kinds = [self.both, self.only_with, self.only_without, self.otherwise, self.around, self.itself];
        kinds.iter().all(|count| *count > 0)
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }

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
}

impl Tally {
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
    let engine = engine(policy, &mirror).with_reuse(Reuse::Verified);
    for round in 0..ROUNDS {
        mirror.follow(&history.advance());
        mirror.follow(&nominate(&mut random, &mut history));
        let mut pods: Vec<Value> = (1..PODS).map(|_| history.asked_pod()).collect();
        seek_nominated(&mut random, &history.cluster, &mut pods);
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

/// Has one of the pods require to be beside one of the nominated pods. Random labels and selectors rarely match on a node that
/// fits otherwise, so that a node would hardly ever fit only with the nominated pods.
fn seek_nominated(random: &mut fastrand::Rng, cluster: &Cluster, pods: &mut [Value]) {
    let nominated = |pod: &&Value| {
        let is_labelled = pod["metadata"]["labels"].as_object().is_some_and(|labels| !labels.is_empty());
        is_labelled && !text(pod, "status.nominatedNodeName").is_empty()
    };
    let (Some(friend), Some(pod)) = (cluster.all("Pod").find(nominated), pods.first_mut()) else { return };
    if random.bool() {
        pod["spec"]["priority"] = friend["spec"]["priority"].clone();
        pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!([{
            "labelSelector": {"matchLabels": friend["metadata"]["labels"]},
            "namespaces": [text(friend, "metadata.namespace")],
            "topologyKey": "kubernetes.io/hostname",
        }]);
    }
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
