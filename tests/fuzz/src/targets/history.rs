//! Histories of clusters: after every few events the engine's verdicts, cached and fresh, are those of the reference
//! implementation, and those over a cache that is built anew from the same objects.
//!
//! An input is eight bytes of a seed, which chooses the cluster and its events, and a byte per step.

use std::time::{Duration, Instant};

use nodesift_engine::{Depth, Engine, Nodes, Options, PodRef, Query};
use nodesift_fixtures::json;
use nodesift_fixtures::random::History;
use nodesift_reference::{explain, filters};
use serde_json::Value;

use super::world::{self, default_policy};
use crate::comparison::{self, Answered};
use crate::mirror::{self, Mirror};
use crate::{Behaviour, magnitude};

/// Steps of one history.
const STEPS: usize = 24;

/// Pods that are evaluated again and again.
const POOL: usize = 4;

/// TTL of assumptions: longer than any history.
const ASSUMED_FOR: Duration = Duration::from_secs(3600);

struct Unit {
    history: History,
    mirror: Mirror,
    engine: Engine,
    pool: Vec<Value>,
    /// UIDs of assumed pods, of which the reference knows nothing.
    assumed: Vec<String>,
}

/// The history of the input.
pub fn run(input: &[u8]) -> Behaviour {
    let (seed, steps) = input.split_at(input.len().min(8));
    let mut padded = [0; 8];
    padded[..seed.len()].copy_from_slice(seed);
    let mut history = History::new(u64::from_le_bytes(padded));
    let mut mirror = Mirror::new(default_policy().scheduler_names);
    mirror.load(history.cluster.objects());
    let engine = world::engine(mirror.reader());
    let pool = (0..POOL).map(|_| history.asked_pod()).collect();
    let mut unit = Unit { history, mirror, engine, pool, assumed: Vec::new() };
    for step in steps.iter().take(STEPS) {
        unit.step(*step);
    }
    unit.rebuild();
    let nodes = unit.history.cluster.nodes().count();
    Behaviour::new((
        magnitude(nodes),
        magnitude(unit.history.cluster.all("Pod").count()),
        unit.assumed.len(),
        steps.len() / 4,
    ))
}

impl Unit {
    fn step(&mut self, step: u8) {
        let at = usize::from(step >> 4);
        match step & 0xf {
            0..=5 => {
                let events = self.history.advance();
                self.mirror.follow(&events);
            }
            6 => self.pool[at % POOL] = self.history.asked_pod(),
            7 => self.assume(at),
            8 => {
                if let Some(uid) = self.assumed.pop() {
                    self.mirror.writer().forget(&uid);
                    self.mirror.writer().publish();
                }
            }
            9 => self.some_nodes(at),
            _ => self.compare(at),
        }
    }

    /// Assumes a pending pod on some node.
    fn assume(&mut self, at: usize) {
        let cluster = &self.history.cluster;
        let pending = cluster.all("Pod").find(|pod| json::text(pod, "spec.nodeName").is_empty());
        let node = cluster.nodes().nth(at).map(|node| json::name(node).to_owned());
        let (Some(uid), Some(node)) = (pending.map(|pod| json::text(pod, "metadata.uid").to_owned()), node) else {
            return;
        };
        if self.mirror.writer().assume(&uid, &node, Instant::now() + ASSUMED_FOR).is_ok() {
            self.assumed.push(uid);
        }
        self.mirror.writer().publish();
    }

    fn answer(engine: &Engine, pod: &Value, nodes: Nodes, depth: Depth) -> Answered {
        let query = Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))]).with_nodes(nodes).with_depth(depth);
        let answer = engine.answer(&query, Options::default());
        Answered::new(&answer.unwrap_or_else(|error| panic!("{error}\n  pod {pod}")))
    }

    /// A pod of the pool on some nodes: cached verdicts are compared with fresh ones by the engine.
    fn some_nodes(&self, at: usize) {
        let names = self.history.cluster.nodes().map(|node| json::name(node).to_owned());
        let some = names.skip(at % 3).step_by(3).collect();
        Self::answer(&self.engine, &self.pool[at % POOL], Nodes::Named(some), Depth::FirstFailure);
    }

    /// A pod of the pool on all nodes, compared with the reference where that knows everything.
    fn compare(&self, at: usize) {
        let pod = &self.pool[at % POOL];
        let depth = if at.is_multiple_of(2) { Depth::Each } else { Depth::FirstFailure };
        let answered = Self::answer(&self.engine, pod, Nodes::All, depth);
        if !self.assumed.is_empty() {
            return;
        }
        let names = default_policy().predicates.into_iter().map(|predicate| predicate.name).collect::<Vec<_>>();
        let filters = filters::named(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let nodes: Vec<String> = self.history.cluster.nodes().map(|node| json::name(node).to_owned()).collect();
        let expected = explain(&self.history.cluster, pod, &filters);
        let differences = comparison::differences(&answered, &expected, &nodes, depth);
        assert!(
            differences.is_empty(),
            "the engine differs from the reference: {}\n  pod {pod}",
            differences.join("\n  ")
        );
    }

    /// Asserts that a cache built anew from the objects as they are now gives the same answers.
    fn rebuild(&mut self) {
        for uid in std::mem::take(&mut self.assumed) {
            self.mirror.writer().forget(&uid);
        }
        self.mirror.writer().publish();
        let mut anew = Mirror::new(default_policy().scheduler_names);
        anew.load(self.history.cluster.objects());
        let engine = world::engine(anew.reader());
        for pod in &self.pool {
            let [followed, built] =
                [&self.engine, &engine].map(|engine| Self::answer(engine, pod, Nodes::All, Depth::Each));
            assert_eq!(followed, built, "a followed cache and a new one\n  pod {pod}");
        }
        let rows = self.mirror.writer().audit_rows();
        let drift = self.mirror.writer().audit(0..rows);
        assert!(drift.is_empty(), "a recount differs: {drift:?}");
    }
}

/// A seed, and steps at random.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut input = vec![0; 8 + random.usize(4..STEPS)];
    random.fill(&mut input);
    input
}
