//! Heavy objects beside ordinary pods: pods, claims, slices and nodes of up to 1.5 MB, written by tenants, and after each of them pods
//! that have nothing to do with it. These are answered as the reference does, without a fault; a heavy pod is so, too, or has a fault that
//! says what it has too much of. Calls have the time and memory of the default policy.
//!
//! An input is eight bytes of a seed, then two bytes for each load: what it is, and how large.

use nodesift_engine::{Answer, Depth, Engine, Error, Options, PodRef, Query, RowsByName};
use nodesift_fixtures::heavy::{Load, OBJECT_BYTES, Reach, Tenant, honest};
use nodesift_fixtures::json::{name, text};
use nodesift_fixtures::random::Event;
use nodesift_fixtures::{Cluster, Rng};
use nodesift_policy::Policy;
use nodesift_reference::{Explanation, Filter, explain, filters};
use nodesift_sandbox::fault::FaultKind;
use serde_json::Value;

use super::world::{self, shipped_policy};
use crate::comparison::{self, Answered};
use crate::mirror::{self, Mirror};
use crate::{Behaviour, magnitude};

/// The cluster without its tenants: nodes, and pods that run there.
const NODES: usize = 9;
const RUNNING: usize = 12;

/// Namespaces of tenants: one tenant's faults are counted apart from another's.
const TENANTS: [&str; 2] = ["tenant-0", "tenant-1"];

/// Loads of one unit, and bytes of all of them: the reference is slow.
const LOADS: usize = 4;
const BYTES: usize = 2 * OBJECT_BYTES;
const LEAST_BYTES: usize = 1_000;

/// Sizes of a load, each half of the one before.
const SIZES: u8 = 14;

/// Ordinary pods that are asked about after each load.
const ORDINARY: usize = 2;

/// Ordinary pods that are tried where one runs out of time: on a busy machine, that happens to one, and not to each.
const TRIES: usize = 5;

/// Differences that are shown.
const SHOWN: usize = 3;

/// Bytes of the reasons of one node up to which a predicate says all of them; it says at least these, of all nodes together.
const REASONS: usize = 64 << 10;

/// The predicate whose search the reference does not end.
const SEARCHING: &str = "DynamicResources";

/// Faults that an object can cause by its size.
const OWN_FAULTS: [FaultKind; 5] =
    [FaultKind::Deadline, FaultKind::Memory, FaultKind::OutputTooLarge, FaultKind::Quarantined, FaultKind::Unsupported];

struct Unit {
    rng: Rng,
    tenants: Vec<Tenant>,
    cluster: Cluster,
    mirror: Mirror,
    engine: Engine,
    filters: Vec<Filter>,
    asked: usize,
    bytes: usize,
    loads: Vec<Load>,
    seen: Vec<(&'static str, u32, Vec<&'static str>, usize)>,
}

/// The loads of the input.
pub fn run(input: &[u8]) -> Behaviour {
    let (seed, steps) = input.split_at(input.len().min(8));
    let mut padded = [0; 8];
    padded[..seed.len()].copy_from_slice(seed);
    let mut unit = Unit::new(u64::from_le_bytes(padded));
    unit.ordinary("nothing");
    for step in steps.chunks_exact(2).take(LOADS) {
        unit.step(usize::from(step[0]), step[1]);
    }
    unit.finish();
    Behaviour::new(unit.seen)
}

impl Unit {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut cluster = Cluster::default();
        honest::namespaces(&TENANTS).into_iter().for_each(|namespace| cluster.apply(namespace));
        for number in 0..NODES {
            cluster.apply(honest::node(&mut rng, number));
        }
        for number in 0..RUNNING {
            let node = honest::node_name(rng.below(NODES));
            cluster.apply(honest::running(&mut rng, number, &node));
        }
        let policy = shipped_policy();
        let nodes: Vec<String> = (0..NODES).map(honest::node_name).collect();
        let tenant = |namespace: &&str| Tenant::new(rng.number(), namespace, nodes.clone(), Reach::Anybody);
        let tenants = TENANTS.iter().map(tenant).collect();
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(cluster.objects());
        let engine = world::engine_of(mirror.reader(), &policy);
        Self {
            rng,
            tenants,
            cluster,
            mirror,
            engine,
            filters: filters_of(&policy),
            asked: RUNNING,
            bytes: 0,
            loads: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Draws a load, asks about its pod, and about others.
    fn step(&mut self, choice: usize, size: u8) {
        if size & 0x80 > 0 && !self.loads.is_empty() {
            let load = self.loads.remove(0);
            self.follow(load.objects, true);
        }
        let bytes = (OBJECT_BYTES * 9 / 10) >> (size % SIZES);
        let bytes = bytes.min((BYTES - self.bytes).max(LEAST_BYTES));
        self.bytes = (self.bytes + bytes).min(BYTES);
        let turn = self.seen.len() % TENANTS.len();
        let load = self.tenants[turn].draw(choice, bytes);
        self.follow(load.objects.clone(), false);
        let (faults, feasible) = match &load.asked {
            Some(pod) => self.heavy(&load, pod),
            None => (Vec::new(), 0),
        };
        self.seen.push((load.of, magnitude(bytes), faults, feasible));
        self.ordinary(load.of);
        self.loads.push(load);
    }

    /// Writes objects, or removes them.
    fn follow(&mut self, objects: Vec<Value>, is_removed: bool) {
        let mut events = Vec::new();
        for object in objects {
            if is_removed {
                self.cluster.remove(text(&object, "kind"), &nodesift_fixtures::json::key(&object));
                events.push(Event::Remove(Box::new(object)));
            } else {
                self.cluster.apply(object.clone());
                events.push(Event::Apply(Box::new(object)));
            }
        }
        self.mirror.follow(&events);
    }

    /// A heavy pod: twice, since it may be set aside. Returns the faults, and how many nodes it fits.
    fn heavy(&self, load: &Load, pod: &Value) -> (Vec<&'static str>, usize) {
        let skip: Vec<String> = if load.is_endless { vec![SEARCHING.to_owned()] } else { Vec::new() };
        let filters: Vec<Filter> =
            self.filters.iter().filter(|filter| !skip.iter().any(|name| name == filter.name)).copied().collect();
        let expected = explain(&self.cluster, pod, &filters);
        let by_uid = || PodRef::Uid(text(pod, "metadata.uid").to_owned());
        let whole = || PodRef::Whole(Box::new(mirror::pod(pod)));
        let (mut faults, mut fits) = (Vec::new(), 0);
        for (pod, depth) in [(by_uid(), Depth::FirstFailure), (whole(), Depth::Each)] {
            let Some(answer) = self.own_answer(load, &query(pod.clone(), depth, Vec::new()), &mut faults) else {
                continue;
            };
            let found = feasible(&answer);
            let is_right = found.iter().all(|node| expected.together.feasible.contains(node));
            assert!(is_right, "{}: feasible {found:?}, at most {:?}", load.of, expected.together.feasible);
            fits = found.len();
            if is_cut(&expected) {
                assert_eq!(found.len(), expected.together.feasible.len(), "{}: {found:?}", load.of);
            } else if skip.is_empty() {
                self.compare(load.of, &answer, &expected, depth);
            } else if let Some(answer) =
                self.own_answer(load, &query(pod, Depth::FirstFailure, skip.clone()), &mut faults)
            {
                self.compare(load.of, &answer, &expected, Depth::FirstFailure);
            }
        }
        faults.sort_unstable();
        faults.dedup();
        (faults, fits)
    }

    /// An answer about a heavy pod; none where it has faults, or is larger than one may be.
    fn own_answer(&self, load: &Load, query: &Query, faults: &mut Vec<&'static str>) -> Option<Answer> {
        let answer = match self.engine.answer(query, Options::default()) {
            Ok(answer) => answer,
            Err(Error::AnswerTooLarge { .. }) => {
                faults.push("AnswerTooLarge");
                return None;
            }
            Err(error) => panic!("{}: {error}", load.of),
        };
        let [about] = &answer.pods[..] else { panic!("one pod in the query, {} in the answer", answer.pods.len()) };
        for report in &about.faults {
            assert!(OWN_FAULTS.contains(&report.fault.kind), "{}: {report:?}", load.of);
            assert!(feasible(&answer).is_empty(), "{}: {report:?}, and it fits", load.of);
            faults.push(report.fault.kind.name());
        }
        about.faults.is_empty().then_some(answer)
    }

    /// Pods that have nothing to do with what was written last.
    fn ordinary(&mut self, after: &str) {
        for turn in 0..ORDINARY {
            let depth = if turn == 0 { Depth::FirstFailure } else { Depth::Each };
            let mut late = Vec::new();
            let answered = (0..TRIES)
                .find_map(|_| self.ordinary_answer(after, depth).map_err(|predicate| late.push(predicate)).ok());
            let Some((pod, answer)) = answered else {
                panic!("after {after}: ordinary pods run out of time: {late:?}")
            };
            let expected = explain(&self.cluster, &pod, &self.filters);
            self.compare(after, &answer, &expected, depth);
        }
    }

    /// The answer about a pod that nobody has asked about; where it has run out of time, the predicate.
    fn ordinary_answer(&mut self, after: &str, depth: Depth) -> Result<(Value, Answer), String> {
        self.asked += 1;
        let pod = honest::pod(&mut self.rng, self.asked);
        let whole = PodRef::Whole(Box::new(mirror::pod(&pod)));
        let answer = self.engine.answer(&query(whole, depth, Vec::new()), Options::default());
        let answer = answer.unwrap_or_else(|error| panic!("after {after}: an ordinary pod: {error}"));
        match answer.pods[0].faults.first() {
            None => Ok((pod, answer)),
            Some(report) if report.fault.kind == FaultKind::Deadline => Err(report.predicate.to_string()),
            Some(report) => panic!("after {after}: an ordinary pod: {report:?}"),
        }
    }

    fn compare(&self, about: &str, answer: &Answer, expected: &Explanation, depth: Depth) {
        let names: Vec<String> = self.cluster.nodes().map(|node| name(node).to_owned()).collect();
        let differences = comparison::differences(&Answered::new(answer), expected, &names, depth);
        let cut = |text: &String| text.chars().take(2_000).collect::<String>();
        let shown: String =
            differences.iter().take(SHOWN).map(|difference| format!("\n  {}", cut(difference))).collect();
        assert!(
            differences.is_empty(),
            "{about}: the engine differs from the reference about {}:{shown}",
            answer.pods[0].pod
        );
    }

    /// Asserts that no predicate was quarantined and that a recount of the cache finds no difference.
    fn finish(&mut self) {
        for predicate in &self.engine.policy().predicates {
            assert_eq!(predicate.breaker.opened(), 0, "{} was quarantined", predicate.name);
        }
        let rows = self.mirror.writer().audit_rows();
        let drift = self.mirror.writer().audit(0..rows);
        assert!(drift.is_empty(), "a recount differs: {drift:?}");
    }
}

fn filters_of(policy: &Policy) -> Vec<Filter> {
    filters::named(&policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect::<Vec<_>>())
}

/// Whether a predicate has more reasons than it can say.
fn is_cut(expected: &Explanation) -> bool {
    let failures = expected.alone.iter().flat_map(|(_, outcome)| outcome.failures.values());
    failures.map(|failure| failure.reasons.iter().map(String::len).sum()).any(|bytes: usize| bytes > REASONS)
}

fn query(pod: PodRef, depth: Depth, skip: Vec<String>) -> Query {
    Query::new([pod]).with_depth(depth).with_skip(skip)
}

/// Names of the nodes that the pod of an answer fits.
fn feasible(answer: &Answer) -> Vec<String> {
    let rows = RowsByName::new(&answer.pods[0].feasible, &answer.snapshot.node_names());
    rows.map(|row| answer.snapshot.node_name(row).to_owned()).collect()
}

/// A seed, and loads at random.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut input = vec![0; 8 + 2 * random.usize(1..=LOADS)];
    random.fill(&mut input);
    input
}
