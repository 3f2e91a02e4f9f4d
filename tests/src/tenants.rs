//! Hostile tenants beside an honest core: heavy pods and claims of some namespaces in a cluster whose other pods have nothing to do with
//! them. A client asks about the tenants' pending pods all the time, while a core asks about ordinary ones. Start at [`run`].
//!
//! Tenants' pods run on nodes that nobody else can use, and their terms match only their own. So every answer about an ordinary pod is the
//! one that a sidecar without these pods and claims gives.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodesift_fixtures::heavy::{Reach, TENANT_CHOICES, Tenant, honest};
use nodesift_fixtures::json::{self, text, texts};
use nodesift_fixtures::{Cluster, Rng};
use nodesift_reference::explain_newest;
use serde_json::{Value, json};

use crate::http::{Client, Endpoint};
use crate::sidecar::Sidecar;
use crate::timeout;

/// The cluster, and who asks.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Seed of the objects: equal seeds make equal objects.
    pub seed: u64,
    /// Nodes that ordinary pods can use.
    pub nodes: usize,
    /// Ordinary pods that wait.
    pub honest: usize,
    /// Number of namespaces of tenants.
    pub tenants: usize,
    /// Loads of each tenant: heavy pods that wait or run, or claims with their pod.
    pub loads: usize,
    /// Bytes of the largest object.
    pub bytes: usize,
    /// How often the core asks about each of its pods, at least: until each pod of a tenant has been asked about.
    pub rounds: usize,
    /// Pods of tenants of which the reference says what is right: it takes seconds for each on thousands of nodes.
    pub judged: usize,
}

/// Pods that run on a node, besides those of tenants.
const RUNNING_PER_NODE: usize = 2;

/// Nodes for the tenants' pods, behind a taint.
const TENANT_NODES: usize = 10;

/// The namespace of a tenant without heavy objects.
const QUIET: &str = "tenant-quiet";

/// Least bytes of a load.
const LEAST_BYTES: usize = 2_000;

/// One load in this many has claims.
const CLAIMS_PART: usize = 8;

/// Rounds of the core at most, until each pod of a tenant has been asked about.
const ROUNDS: usize = 200;

/// Differences that are kept.
const KEPT: usize = 5;

/// Results for the ordinary pods and for those of tenants.
#[derive(Debug, Default)]
pub struct Report {
    /// Objects of the tenants, and their bytes.
    pub heavy: (usize, usize),
    /// Questions of the core beside the tenants.
    pub honest: usize,
    /// Faults of ordinary pods, by predicate and kind, and answers that are none, by status.
    pub honest_faults: BTreeMap<String, usize>,
    /// Answers that differ from those without tenants.
    pub honest_wrong: usize,
    /// Texts of the first differences.
    pub shown: Vec<String>,
    /// The median and the 99th percentile of the core's questions: without tenants, beside their objects, and while they are asked about,
    /// too.
    pub times: [[Duration; 2]; 3],
    /// Outcomes of the questions about the tenants' pods: numbers of answers, and of faults by predicate and kind.
    pub tenants: BTreeMap<String, usize>,
    /// Of the tenants' pods with an answer, those whose answer is that of the reference, and those whose answer is not. The one that is not
    /// heavy is among them.
    pub judged: (usize, usize),
    /// Breakers that have opened.
    pub opened: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
        writeln!(f, "objects of tenants: {} ({} MB)", self.heavy.0, self.heavy.1 / 1_000_000)?;
        writeln!(f, "questions of the core: {}", self.honest)?;
        writeln!(f, "  faults: {} {:?}", sum(&self.honest_faults), self.honest_faults)?;
        writeln!(f, "  wrong answers: {}", self.honest_wrong)?;
        let cases = ["without tenants", "beside their objects", "while they are asked about"];
        for (case, [p50, p99]) in cases.iter().zip(self.times) {
            let ratio = p99.as_secs_f64() / self.times[0][1].as_secs_f64().max(1e-9);
            writeln!(f, "  {case}: p50 {p50:.2?}, p99 {p99:.2?}, {ratio:.2} times that without tenants")?;
        }
        writeln!(f, "breakers that have opened: {}", self.opened)?;
        writeln!(f, "questions about pods of tenants: {}", sum(&self.tenants))?;
        for (what, count) in &self.tenants {
            writeln!(f, "  {what}: {count}")?;
        }
        let (right, wrong) = self.judged;
        writeln!(f, "compared with the reference: {right} right, {wrong} wrong")?;
        self.shown.iter().try_for_each(|difference| writeln!(f, "  {difference}"))
    }
}

/// A pod of a tenant that waits.
struct Pending {
    pod: Value,
    is_endless: bool,
}

/// Objects of the cluster, and the pods that are asked about.
struct World {
    /// Without what the tenants have written.
    plain: Vec<Value>,
    heavy: Vec<Value>,
    /// UIDs of the ordinary pods that wait.
    honest: Vec<String>,
    pending: Vec<Pending>,
}

impl World {
    fn new(shape: &Shape) -> Self {
        let mut rng = Rng::with_seed(shape.seed);
        let names: Vec<String> = (0..shape.tenants).map(|number| format!("tenant-{number}")).collect();
        let mut plain = honest::namespaces(&names.iter().map(String::as_str).chain([QUIET]).collect::<Vec<_>>());
        plain.extend((0..shape.nodes).map(|number| honest::node(&mut rng, number)));
        let own: Vec<String> = (shape.nodes..shape.nodes + TENANT_NODES).map(honest::node_name).collect();
        for number in shape.nodes..shape.nodes + TENANT_NODES {
            let mut node = honest::node(&mut rng, number);
            node["spec"]["taints"] = json!([{"key": "tenants", "value": "only", "effect": "NoSchedule"}]);
            plain.push(node);
        }
        let running = shape.nodes * RUNNING_PER_NODE;
        for number in 0..running {
            let node = honest::node_name(rng.below(shape.nodes));
            plain.push(honest::running(&mut rng, number, &node));
        }
        let waiting: Vec<Value> = (0..shape.honest).map(|number| honest::pod(&mut rng, running + number)).collect();
        let honest = waiting.iter().map(|pod| text(pod, "metadata.uid").to_owned()).collect();
        plain.extend(waiting);
        // One has nothing but an ordinary pod, which has an answer on every machine.
        let pod = Tenant::new(shape.seed, QUIET, own.clone(), Reach::Own).plain_pod();
        let (mut heavy, mut pending) = (vec![pod.clone()], vec![Pending { pod, is_endless: false }]);
        for namespace in &names {
            let mut tenant = Tenant::new(rng.number(), namespace, own.clone(), Reach::Own);
            for _ in 0..shape.loads {
                let last = TENANT_CHOICES - 1;
                let choice = if rng.below(CLAIMS_PART) == 0 { last } else { rng.below(last) };
                let halved = rng.below(7);
                let load = tenant.draw(choice, (shape.bytes >> halved).max(LEAST_BYTES));
                pending.extend(load.asked.map(|pod| Pending { pod, is_endless: load.is_endless }));
                heavy.extend(load.objects);
            }
        }
        Self { plain, heavy, honest, pending }
    }
}

/// Asks about the ordinary pods without tenants, beside their objects, and while a client asks about these, too. `start` starts a sidecar
/// that serves a cluster file.
pub fn run(shape: &Shape, start: impl Fn(&Path) -> Sidecar) -> Report {
    let world = World::new(shape);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let serving = |name: &str, objects: &[&Value]| {
        let file = folder.path().join(name);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        std::fs::write(&file, list.to_string()).expect("a cluster file");
        start(&file)
    };
    let plain: Vec<&Value> = world.plain.iter().collect();
    let all: Vec<&Value> = world.plain.iter().chain(&world.heavy).collect();
    let (expected, without) = ask(shape, &serving("plain.json", &plain).unix(), &world.honest, || true);
    let (silent, beside) = ask(shape, &serving("silent.json", &all).unix(), &world.honest, || true);
    let sidecar = serving("tenants.json", &all);
    let (stop, are_all_asked) = (AtomicBool::new(false), AtomicBool::new(false));
    let (tenants, feasible, (asked, meanwhile)) = std::thread::scope(|scope| {
        let client = scope.spawn(|| pester(&sidecar.unix(), &world.pending, &stop, &are_all_asked));
        let honest = ask(shape, &sidecar.unix(), &world.honest, || are_all_asked.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        let (tenants, feasible) = client.join().expect("the tenants' client");
        (tenants, feasible, honest)
    });

    let bytes = world.heavy.iter().map(|object| object.to_string().len()).sum();
    let mut report =
        Report { heavy: (world.heavy.len(), bytes), honest: silent.len() + asked.len(), tenants, ..Report::default() };
    report.times = [without, beside, meanwhile].map(|times| [50, 99].map(|percent| percentile(&times, percent)));
    for (number, answer) in silent.iter().enumerate().chain(asked.iter().enumerate()) {
        let faults = faults(answer);
        // Each round has the same pods.
        let expected = expected.get(number % world.honest.len());
        let is_wrong = faults.is_empty() && Some(answer) != expected;
        report.honest_wrong += usize::from(is_wrong);
        if (is_wrong || !faults.is_empty()) && report.shown.len() < KEPT {
            let cut = |answer: &Value| answer.to_string().chars().take(600).collect::<String>();
            report.shown.push(format!("{} instead of {}", cut(answer), expected.map(cut).unwrap_or_default()));
        }
        faults.into_iter().for_each(|fault| *report.honest_faults.entry(fault).or_default() += 1);
    }
    judge(shape, &all, &world.pending, &feasible, &mut report);
    let policy = crate::http::get(&sidecar.unix(), "/v1/policy").expect("the sidecar answers").json();
    report.opened = json::list(&policy, "predicates")
        .iter()
        .filter_map(|predicate| json::at(predicate, "breaker.opened").as_u64())
        .sum();
    let log = sidecar.output();
    assert!(!log.contains("panicked") && !log.contains("overflowed its stack"), "{log}");
    report
}

/// The core: asks about each pod in turn, some rounds and until it is enough. Returns what is said of each pod, and how long each answer of
/// the first rounds took.
fn ask(
    shape: &Shape,
    endpoint: &Endpoint,
    uids: &[String],
    is_enough: impl Fn() -> bool,
) -> (Vec<Value>, Vec<Duration>) {
    let mut client = Client::connect(endpoint).expect("the sidecar accepts connections");
    let (mut answers, mut times) = (Vec::new(), Vec::new());
    let mut round = 0;
    while round < shape.rounds || round < ROUNDS && !is_enough() {
        for uid in uids {
            let started = Instant::now();
            answers.push(about(&mut client, uid));
            times.push(started.elapsed());
        }
        round += 1;
    }
    times.truncate(shape.rounds * uids.len());
    (answers, times)
}

/// Requests the answer about one pod. Where the status is not 200, an object with the status as a fault.
fn about(client: &mut Client, uid: &str) -> Value {
    let response = client.post("/v1/filter", json!({"pods": [{"uid": uid}]}).to_string().as_bytes());
    let response = response.expect("the sidecar answers");
    match response.status {
        200 => response.json()["pods"][0].take(),
        status => json!({"faults": [{"predicate": "status", "fault": status.to_string()}]}),
    }
}

/// The faults of an answer: predicate and kind.
fn faults(answer: &Value) -> Vec<String> {
    let of = |fault: &Value| format!("{} {}", text(fault, "predicate"), text(fault, "fault"));
    json::list(answer, "faults").iter().map(of).collect()
}

/// Asks about the tenants' pods until it is told to stop, each at least once. Returns what became of them, and by UID the nodes of those
/// with an answer.
fn pester(
    endpoint: &Endpoint,
    pending: &[Pending],
    stop: &AtomicBool,
    are_all_asked: &AtomicBool,
) -> (BTreeMap<String, usize>, BTreeMap<String, Vec<String>>) {
    let mut client = Client::connect(endpoint).expect("the sidecar accepts connections");
    let (mut counts, mut feasible) = (BTreeMap::<String, usize>::new(), BTreeMap::new());
    let until = Instant::now() + timeout::limit();
    for turn in 0.. {
        let is_first = turn < pending.len() && Instant::now() < until;
        let Some(of) = pending.get(turn % pending.len().max(1)) else { break };
        if stop.load(Ordering::Relaxed) && !is_first {
            break;
        }
        let uid = text(&of.pod, "metadata.uid");
        let answer = about(&mut client, uid);
        let faults = faults(&answer);
        if faults.is_empty() {
            feasible.insert(uid.to_owned(), texts(&answer, "feasible"));
            *counts.entry("answered".to_owned()).or_default() += 1;
        }
        faults.into_iter().for_each(|fault| *counts.entry(fault).or_default() += 1);
        are_all_asked.store(turn + 1 >= pending.len(), Ordering::Relaxed);
    }
    are_all_asked.store(true, Ordering::Relaxed);
    (counts, feasible)
}

/// Compares answers about some of the tenants' pods with the reference.
fn judge(
    shape: &Shape,
    objects: &[&Value],
    pending: &[Pending],
    answered: &BTreeMap<String, Vec<String>>,
    report: &mut Report,
) {
    let mut cluster = Cluster::default();
    objects.iter().for_each(|object| cluster.apply((*object).clone()));
    let judged = pending.iter().filter(|of| !of.is_endless).filter_map(|of| {
        let found = answered.get(text(&of.pod, "metadata.uid"))?;
        Some((&of.pod, found))
    });
    for (pod, found) in judged.take(shape.judged) {
        let mut expected = explain_newest(&cluster, pod).together.feasible;
        expected.sort_unstable();
        let mut found = found.clone();
        found.sort_unstable();
        if found == expected {
            report.judged.0 += 1;
        } else {
            report.judged.1 += 1;
            report.shown.push(format!("{}: {} nodes instead of {}", json::key(pod), found.len(), expected.len()));
        }
    }
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}
