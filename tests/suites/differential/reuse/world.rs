//! A cluster with a random history, the engine that follows it, and its queries: repeatedly about the pods of a pool, and
//! about pending pods of the cluster. [`World::compare`] compares answers with the reference. Besides the events of [`History`], pods are
//! assumed and forgotten, and services and controllers, whose selectors default spread constraints use, are added and removed.

use std::num::NonZero;
use std::time::{Duration, Instant};

use nodesift_engine::{Answer, Depth, Engine, Metrics, Nodes, Phase, PodRef, Query, Reuse, Sample};
use nodesift_fixtures::cluster::is_over;
use nodesift_fixtures::json::{name, text};
use nodesift_fixtures::random::{Event, History};
use nodesift_policy::Policy;
use nodesift_reference::{explain, filters};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use crate::comparison::{self, Answered};
use crate::mirror::{self, Mirror};
use crate::{default_policy, runtime};

/// Pods of the pool; in every round one of them is replaced.
const POOL: usize = 10;

/// Namespaces of pods, services and controllers.
const NAMESPACES: [&str; 4] = ["default", "prod", "dev", "ghost"];

/// TTL of assumptions: longer than any history.
const ASSUMED_FOR: Duration = Duration::from_secs(3600);

/// The default policy; for every other seed with default spread constraints.
pub(super) fn policy(seed: u64) -> Policy {
    let mut policy = default_policy();
    let spread = policy.predicates.iter_mut().find(|predicate| predicate.name == "PodTopologySpread");
    if let Some(spread) = spread.filter(|_| seed % 2 == 1) {
        let constraint = |key: &str| json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"});
        let constraints = [constraint("topology.kubernetes.io/zone"), constraint("kubernetes.io/hostname")];
        spread.args = json!({"defaultingType": "List", "defaultConstraints": constraints});
    }
    policy
}

pub(super) struct World {
    random: fastrand::Rng,
    history: History,
    mirror: Mirror,
    pool: Vec<Value>,
    /// Whether nothing happens that the objects of the cluster do not show: pods are not assumed.
    is_plain: bool,
    rounds: usize,
    /// UIDs of all pods that were assumed.
    placed: Vec<String>,
    /// Events so far; of these, pods assumed or forgotten, and services and controllers.
    pub(super) events: u64,
    pub(super) assumed: u64,
    pub(super) workloads: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(default_policy().scheduler_names);
        mirror.load(history.cluster.objects());
        let mut random = fastrand::Rng::with_seed(seed);
        let pool = (0..POOL).map(|_| owned(&mut random, &history.asked_pod())).collect();
        let is_plain = seed.is_multiple_of(4);
        Self {
            random,
            history,
            mirror,
            pool,
            is_plain,
            rounds: 0,
            placed: Vec::new(),
            events: 0,
            assumed: 0,
            workloads: 0,
        }
    }

    /// An engine that compares every cached verdict with a fresh one, and its metrics. `bytes` is the limit of the store of
    /// cached verdicts.
    pub(super) fn engine(&self, policy: &Policy, bytes: Option<usize>) -> (Engine, Registry) {
        let mut registry = Registry::default();
        let runtime = runtime();
        let active = nodesift_policy::activate(policy, 1, &runtime).expect("the default policy can be loaded");
        let engine = Engine::new(self.mirror.reader(), active, runtime).with_reuse(Reuse::Verified);
        let engine = engine.with_metrics(Metrics::register(&mut registry));
        (
            match bytes {
                Some(bytes) => engine.with_store_bytes(bytes),
                None => engine,
            },
            registry,
        )
    }

    /// Makes random changes and publishes them.
    pub(super) fn advance(&mut self) {
        let mut happened = self.history.advance();
        if self.random.u8(0..3) == 0 {
            happened.push(self.workload());
            self.workloads += 1;
        }
        if self.random.u8(0..3) == 0 && !self.is_plain {
            self.decide();
        }
        self.events += happened.len() as u64;
        self.mirror.follow(&happened);
        let at = self.rounds % POOL;
        self.rounds += 1;
        self.pool[at] = if self.random.bool() {
            owned(&mut self.random, &self.history.asked_pod())
        } else {
            // The same pod with another name, and sometimes with another label or namespace.
            let mut pod = self.pool[self.random.usize(0..POOL)].clone();
            pod["metadata"]["name"] = json!(format!("again-{}", self.rounds));
            pod["metadata"]["uid"] = json!(format!("again-{}", self.rounds));
            if self.random.bool() {
                pod["metadata"]["namespace"] = json!(NAMESPACES[self.random.usize(0..NAMESPACES.len())]);
            }
            pod
        };
    }

    /// Assumes a pending pod, or forgets an assumed one.
    fn decide(&mut self) {
        let nodes: Vec<String> = self.history.cluster.nodes().map(|node| name(node).to_owned()).collect();
        if nodes.is_empty() {
            return;
        }
        let is_forgotten = self.random.u8(0..3) == 0 && !self.placed.is_empty();
        let changed = if is_forgotten {
            let at = self.random.usize(0..self.placed.len());
            self.mirror.writer().forget(&self.placed.swap_remove(at))
        } else {
            let pending = self.pending();
            let Some(uid) = pending.get(self.random.usize(0..pending.len().max(1))) else { return };
            let node = &nodes[self.random.usize(0..nodes.len())];
            self.placed.push(uid.clone());
            self.mirror.writer().assume(uid, node, Instant::now() + ASSUMED_FOR).is_ok()
        };
        self.assumed += u64::from(changed);
        self.events += u64::from(changed);
    }

    /// UIDs of unbound pods of the cluster.
    fn pending(&self) -> Vec<String> {
        let pods = self.history.cluster.all("Pod");
        let pending = pods.filter(|pod| text(pod, "spec.nodeName").is_empty() && !is_over(pod));
        pending.map(|pod| text(pod, "metadata.uid").to_owned()).collect()
    }

    /// Adds, changes or removes a service or a controller.
    fn workload(&mut self) -> Event {
        let random = &mut self.random;
        let namespace = NAMESPACES[random.usize(0..NAMESPACES.len())];
        let labels = match random.u8(0..3) {
            0 => json!({"app": (["web", "db", "cache"])[random.usize(0..3)]}),
            1 => json!({"tier": (["front", "back"])[random.usize(0..2)]}),
            _ => json!({"app": "web", "tier": "front"}),
        };
        let named = format!("w{}", random.u8(0..2));
        let mut object = json!({"metadata": {"name": named, "namespace": namespace}});
        if random.bool() {
            object["apiVersion"] = json!("v1");
            object["kind"] = json!("Service");
            object["spec"] = json!({"selector": labels});
        } else {
            object["apiVersion"] = json!("apps/v1");
            object["kind"] = json!("ReplicaSet");
            object["spec"] = json!({"selector": {"matchLabels": labels}});
        }
        let is_gone = random.u8(0..3) == 0;
        if is_gone { Event::Remove(Box::new(object)) } else { Event::Apply(Box::new(object)) }
    }

    /// A query about a pod of the pool or a pending pod: about all nodes, some, or with a limit, in any phase.
    pub(super) fn question(&mut self) -> Query {
        self.question_about().0
    }

    /// The differences between an answer and the reference's about the same pod; `None` where the reference cannot say,
    /// because a pod is assumed, a constraint is the policy's, or a limit cuts the answer.
    pub(super) fn compare(&self, query: &Query, pod: &Value, answer: &Answer) -> Option<Vec<String>> {
        let names: Vec<String> = match &query.nodes {
            Nodes::All => self.history.cluster.nodes().map(|node| name(node).to_owned()).collect(),
            Nodes::Named(names) => names.clone(),
            Nodes::Enough(_) => return None,
        };
        if !self.is_plain {
            return None;
        }
        let policy = default_policy();
        let asked = policy.predicates.iter().filter(|predicate| predicate.phases.contains(query.phase));
        let filters = filters::named(&asked.map(|predicate| predicate.name.as_str()).collect::<Vec<_>>());
        let explanation = explain(&self.history.cluster, pod, &filters);
        Some(comparison::differences(&Answered::new(answer), &explanation, &names, query.depth))
    }

    /// A query like that of [`World::question`], with its pod as an object.
    pub(super) fn question_about(&mut self) -> (Query, Value) {
        let random = &mut self.random;
        let nodes = match random.u8(0..4) {
            0 => {
                let names = self.history.cluster.nodes().map(|node| name(node).to_owned());
                Nodes::Named(names.filter(|_| random.u8(0..3) == 0).collect())
            }
            1 => {
                let sample = Sample::new(random.usize(0..20), NonZero::new(random.usize(1..6)).expect("at least one"));
                Nodes::Enough(Sample { step: random.usize(1..4), ..sample })
            }
            _ => Nodes::All,
        };
        let phase = if random.u8(0..4) == 0 { Phase::Reserve } else { Phase::Allocate };
        let depth = if random.u8(0..4) == 0 { Depth::Each } else { Depth::FirstFailure };
        let whole = &self.pool[random.usize(0..POOL)];
        let by_uid = (random.u8(0..5) == 0).then(|| random.usize(..));
        let pending = by_uid.map(|at| (at, self.pending())).filter(|(_, pending)| !pending.is_empty());
        let (pod, object) = match pending {
            Some((at, mut pending)) => {
                let uid = pending.swap_remove(at % pending.len());
                let is_it = |pod: &&Value| text(pod, "metadata.uid") == uid;
                let object = self.history.cluster.all("Pod").find(is_it).cloned().expect("the pod is pending");
                (PodRef::Uid(uid), object)
            }
            None => (PodRef::Whole(Box::new(mirror::pod(whole))), whole.clone()),
        };
        (Query::new([pod]).with_nodes(nodes).with_phase(phase).with_depth(depth), object)
    }
}

/// The pod as in a query, sometimes with a controller as owner.
fn owned(random: &mut fastrand::Rng, pod: &Value) -> Value {
    let mut pod = pod.clone();
    if random.u8(0..3) == 0 {
        let controller = format!("w{}", random.u8(0..2));
        pod["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": controller, "uid": "r", "controller": true}
        ]);
    }
    pod
}

/// Metrics of an engine: verdicts used unchanged, patched, evaluated, evicted; and the bytes of the store.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) kept: u64,
    pub(crate) patched: u64,
    pub(crate) evaluated: u64,
    pub(crate) evicted: u64,
    pub(crate) bytes: u64,
}

impl Counted {
    pub(crate) fn read(registry: &Registry) -> Self {
        let mut text = String::new();
        encode(&mut text, registry).expect("metrics are text");
        let value = |name: &str| {
            let line = format!("{name} ");
            let value = text.lines().find_map(|text| text.strip_prefix(&line));
            value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {line}in\n{text}"))
        };
        let verdicts = |from: &str| value(&format!("nodesift_verdicts_total{{from=\"{from}\"}}"));
        Self {
            kept: verdicts("kept"),
            patched: verdicts("patched"),
            evaluated: verdicts("evaluated"),
            evicted: value("nodesift_verdicts_evicted_total"),
            bytes: value("nodesift_verdicts_kept_bytes"),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.kept += other.kept;
        self.patched += other.patched;
        self.evaluated += other.evaluated;
        self.evicted += other.evicted;
        self.bytes += other.bytes;
    }
}
