//! The example of Neon: its accounting module and NeonFit, as they are built, in one policy, compared with its rules over plain numbers.
//! The reference reads no annotation: what a pod takes is drawn as numbers, from which objects are written.
//!
//! A run asks `NODESIFT_NEON_QUESTIONS` (2,000) questions. A difference names the seed of its history.

use std::collections::BTreeMap;
use std::path::Path;

use nodesift_cache::{self as cache, Identity};
use nodesift_engine::{Engine, Options, PodRef, Query};
use nodesift_object::Object;
use nodesift_policy::Policy;
use nodesift_source::Loader;
use nodesift_source::change::Compiler;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::world::{object, runtime};

/// Default number of questions, and how many each history has, in rounds.
const QUESTIONS: u64 = 2_000;
const ROUNDS: usize = 5;
const ASKED: usize = 20;

const NODES: usize = 5;
const PODS: usize = 16;

/// The part of a node that is the watermark, in thousandths.
const WATERMARK: i64 = 900;

/// Processors in thousandths of a core, and bytes.
type Pair = [i64; 2];

/// Kind of a pod, with the numbers from which its object is written.
#[derive(Debug, Clone)]
enum Kind {
    Machine(Machine),
    /// Requests of its containers; what an init container and overhead add does not count.
    Other(Vec<Pair>),
    /// A virtual machine whose annotation cannot be read: it takes what its container requests.
    Broken(Pair),
}

#[derive(Debug, Clone)]
struct Machine {
    /// Whether it is the source of a migration, or the target.
    is_source: Option<bool>,
    cpu: i64,
    slots: i64,
    slot_bytes: i64,
    approved: Option<Pair>,
    requested: Option<Pair>,
    /// In thousandths; none for 1.
    overcommit: [Option<i64>; 2],
}

/// Amounts that a pod adds to its node, by the rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Effect {
    taken: Pair,
    committed: Pair,
    wanted: Pair,
    migrating: Pair,
}

impl Kind {
    fn random(random: &mut fastrand::Rng) -> Self {
        match random.u8(0..10) {
            0..6 => Self::Machine(Machine::random(random)),
            6 => Self::Broken(pair(random)),
            _ => Self::Other((0..random.usize(0..3)).map(|_| pair(random)).collect()),
        }
    }

    fn effect(&self) -> Effect {
        match self {
            Self::Machine(machine) => machine.effect(),
            Self::Broken(taken) => Effect { taken: *taken, ..Effect::default() },
            Self::Other(containers) => {
                let sum = |at: usize| containers.iter().map(|container| container[at]).sum();
                let taken = [sum(0), sum(1)];
                Effect { taken, committed: taken, ..Effect::default() }
            }
        }
    }
}

impl Machine {
    fn random(random: &mut fastrand::Rng) -> Self {
        let slot_bytes = [1, 7, 1 << 20][random.usize(0..3)];
        let scaled = |random: &mut fastrand::Rng| random.bool().then(|| pair(random));
        let factor = |random: &mut fastrand::Rng| random.bool().then(|| random.i64(1..6_000));
        Self {
            is_source: [None, Some(true), Some(false)][random.usize(0..3)],
            cpu: random.i64(0..3_000),
            slots: random.i64(0..1 << 12),
            slot_bytes,
            approved: scaled(random),
            requested: scaled(random),
            overcommit: [factor(random), factor(random)],
        }
    }

    fn effect(&self) -> Effect {
        let has = [self.cpu, self.slots * self.slot_bytes];
        let (approved, requested) = (self.approved.unwrap_or(has), self.requested.unwrap_or(has));
        let each = |of: &dyn Fn(usize) -> i64| [of(0), of(1)];
        let taken = each(&|at| approved[at] * 1_000 / self.overcommit[at].unwrap_or(1_000));
        Effect {
            taken,
            committed: approved,
            wanted: each(&|at| (requested[at] - approved[at]).max(0)),
            migrating: if self.is_source == Some(true) { taken } else { [0, 0] },
        }
    }

    fn metadata(&self, random: &mut fastrand::Rng) -> Value {
        let resources = json!({
            "cpus": {"min": "1", "use": cpu(random, self.cpu)},
            "memorySlots": {"use": self.slots},
            "memorySlotSize": bytes(random, self.slot_bytes),
        });
        let mut annotations = json!({"vm.neon.tech/resources": resources.to_string(), "other": "x"});
        let mut scaled = |key: &str, pair: Option<Pair>| {
            let Some([processors, memory]) = pair else { return };
            let text = json!({"vCPUs": cpu(random, processors), "mem": bytes(random, memory)}).to_string();
            annotations[format!("internal.autoscaling.neon.tech/resources-{key}")] = json!(text);
        };
        scaled("approved", self.approved);
        scaled("requested", self.requested);
        if self.overcommit.iter().any(Option::is_some) {
            let mut factors = json!({});
            for (name, factor) in ["cpu", "memory"].into_iter().zip(self.overcommit) {
                if let Some(factor) = factor {
                    factors[name] = cpu(random, factor);
                }
            }
            annotations["vm.neon.tech/overcommit"] = json!(factors.to_string());
        }
        let owner = |kind: &str, controller: bool| json!({"apiVersion": "vm.neon.tech/v1", "kind": kind, "name": "it", "controller": controller});
        let is_target = self.is_source == Some(false);
        let mut owners = vec![owner("VirtualMachine", !is_target)];
        owners.extend(self.is_source.map(|is_source| owner("VirtualMachineMigration", !is_source)));
        random.shuffle(&mut owners);
        json!({"annotations": annotations, "ownerReferences": owners})
    }
}

fn pair(random: &mut fastrand::Rng) -> Pair {
    let memory = [4_000, 4 << 20, 4 << 30][random.usize(0..3)];
    [random.i64(0..3_000), random.i64(0..memory)]
}

/// Thousandths, as Kubernetes or JSON may write them.
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn cpu(random: &mut fastrand::Rng, milli: i64) -> Value {
    match random.u8(0..3) {
        0 => json!(milli as f64 / 1_000.0),
        1 => json!(format!("{}.{:03}", milli / 1_000, milli % 1_000)),
        _ => json!(format!("{milli}m")),
    }
}

fn bytes(random: &mut fastrand::Rng, bytes: i64) -> Value {
    match random.u8(0..3) {
        0 => json!(bytes),
        1 if bytes % 1_024 == 0 => json!(format!("{}Ki", bytes / 1_024)),
        _ => json!(bytes.to_string()),
    }
}

/// The object of a pod.
fn pod(random: &mut fastrand::Rng, name: &str, kind: &Kind, node: Option<&str>) -> Value {
    let requests = |pair: &Pair| json!({"name": "c", "resources": {"requests": {"cpu": format!("{}m", pair[0]), "memory": pair[1].to_string()}}});
    let (mut metadata, containers, more) = match kind {
        Kind::Machine(machine) => (machine.metadata(random), vec![requests(&pair(random))], true),
        Kind::Broken(pair) => {
            let annotations = json!({"vm.neon.tech/resources": "{}"});
            let owners = json!([{"apiVersion": "vm.neon.tech/v1", "kind": "VirtualMachine", "name": "it"}]);
            (json!({"annotations": annotations, "ownerReferences": owners}), vec![requests(pair)], false)
        }
        Kind::Other(containers) => (json!({}), containers.iter().map(requests).collect(), true),
    };
    metadata["name"] = json!(name);
    metadata["namespace"] = json!("ns");
    metadata["uid"] = json!(format!("u-{name}"));
    let mut spec = json!({"containers": containers, "nodeName": node.unwrap_or_default()});
    if more && random.bool() {
        spec["overhead"] = json!({"cpu": "5m", "memory": "9"});
        spec["initContainers"] = json!([requests(&[9_000, 1 << 40])]);
    }
    json!({"kind": "Pod", "metadata": metadata, "spec": spec})
}

/// A policy with both modules, as the bundle has them.
fn policy(folder: &TempDir) -> Policy {
    let write = |modules: &[nodesift_bundle::Module], name: &str| {
        let module = modules.iter().find(|module| module.name == name).unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, module.bytes).unwrap();
        path.display().to_string()
    };
    let annotations = [
        "vm.neon.tech/resources",
        "vm.neon.tech/overcommit",
        "internal.autoscaling.neon.tech/resources-requested",
        "internal.autoscaling.neon.tech/resources-approved",
    ];
    let document = json!({"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "spec": {
        "schedulerNames": ["default-scheduler"],
        "accounting": {
            "module": {"path": write(nodesift_bundle_examples::ACCOUNTING, "Neon")},
            "args": {"watermarkPerMille": WATERMARK},
            "annotations": annotations,
            "onError": "Standard",
        },
        "predicates": [{"name": "NeonFit", "module": {"path": write(nodesift_bundle_examples::EXAMPLES, "NeonFit")},
            "allow": ["node-resources", "pod-resources"]}],
    }});
    Policy::read(&document.to_string(), "test", Path::new(""), &[]).unwrap()
}

/// Cases that a run has met, counted.
#[derive(Debug, Default)]
struct Met {
    questions: u64,
    fits: u64,
    rejected: u64,
    sums: u64,
    migrating: u64,
    broken: u64,
}

/// Nodes with what they have, and pods with where they are.
#[derive(Default)]
struct Plain {
    nodes: BTreeMap<String, Pair>,
    pods: BTreeMap<String, (Kind, String)>,
}

impl Plain {
    fn on(&self, node: &str) -> impl Iterator<Item = Effect> {
        self.pods.values().filter(move |(_, on)| on == node).map(|(kind, _)| kind.effect())
    }

    fn total(&self, node: &str, of: fn(Effect) -> Pair) -> Pair {
        self.on(node).map(of).fold([0, 0], |[cpu, memory], pair| [cpu + pair[0], memory + pair[1]])
    }

    fn fits(&self, node: &str, pod: &Kind) -> bool {
        let (taken, effect) = (self.total(node, |effect| effect.taken), pod.effect());
        (0..2).all(|at| taken[at] + effect.taken[at] <= self.nodes[node][at])
    }

    /// Expected columns of a node: the amounts taken, and the sums.
    fn shown(&self, node: &str) -> BTreeMap<String, i64> {
        let total = self.nodes[node];
        let parts: [(&str, Pair); 5] = [
            ("taken", self.total(node, |effect| effect.taken)),
            ("neon.committed", self.total(node, |effect| effect.committed)),
            ("neon.wanted", self.total(node, |effect| effect.wanted)),
            ("neon.migrating", self.total(node, |effect| effect.migrating)),
            ("neon.watermark", [total[0] * WATERMARK / 1_000, total[1] * WATERMARK / 1_000]),
        ];
        let named =
            |(name, [cpu, memory]): (&str, Pair)| [(format!("{name}-cpu"), cpu), (format!("{name}-memory"), memory)];
        parts.into_iter().flat_map(named).collect()
    }
}

/// Columns of a node in a snapshot, in the form of [`Plain::shown`].
fn found(snapshot: &cache::Snapshot, node: &str) -> BTreeMap<String, i64> {
    let row = snapshot.node_row(node).unwrap();
    let sum = |name: &str| (name.to_owned(), *snapshot.named_sum(name).unwrap().get(row).unwrap());
    let mut found: BTreeMap<String, i64> = snapshot.sum_names().map(|name| sum(name)).collect();
    for resource in ["cpu", "memory"] {
        let column = snapshot.resource(resource).unwrap();
        found.insert(format!("taken-{resource}"), column.allocatable.get(row).unwrap() - column.free.get(row).unwrap());
    }
    found
}

#[test]
fn what_pods_take_and_where_they_fit_follows_from_neons_rules() {
    let questions = std::env::var("NODESIFT_NEON_QUESTIONS").map_or(QUESTIONS, |number| number.parse().unwrap());
    let first = nodesift_seed::seed();
    let folder = TempDir::new().unwrap();
    let policy = policy(&folder);
    let mut met = Met::default();
    for seed in (0..).map(|history| first.wrapping_add(history)) {
        history(seed, &policy, &mut met);
        if met.questions >= questions {
            break;
        }
    }
    println!("{met:?}");
    let is_met = [met.fits, met.rejected, met.sums, met.migrating, met.broken].iter().all(|count| *count > 0);
    assert!(questions < QUESTIONS || is_met, "a case does not occur: {met:?}");
}

fn history(seed: u64, policy: &Policy, met: &mut Met) {
    let mut random = fastrand::Rng::with_seed(seed);
    let random = &mut random;
    let (mut writer, reader) = cache::new();
    let runtime = runtime();
    let active = nodesift_policy::activate(policy, 1, &runtime).unwrap();
    writer.set_accountant(active.accountant());
    writer.publish();
    let compiler = Compiler::new(&active.scheduler_names).selecting(&active.selection());
    let compiler = compiler.accounting_by(writer.accountant());
    let engine = Engine::new(reader.clone(), active, runtime);
    let mut plain = Plain::default();
    for round in 0..ROUNDS {
        let mut changed: Vec<Value> = Vec::new();
        for number in (0..NODES).filter(|_| round == 0 || random.u8(0..4) == 0).collect::<Vec<_>>() {
            let name = format!("n{number}");
            // Both large and small for what pods take.
            let most = [20_000, 20 << 20, 20 << 30][random.usize(0..3)];
            let total = [random.i64(0..20_000), random.i64(1..most)];
            changed.push(json!({"kind": "Node", "metadata": {"name": name, "uid": name}, "status": {"allocatable":
                {"cpu": format!("{}m", total[0]), "memory": total[1].to_string(), "pods": "110"}}}));
            plain.nodes.insert(name, total);
        }
        for number in (0..PODS).filter(|_| round == 0 || random.u8(0..3) == 0).collect::<Vec<_>>() {
            let name = format!("p{number}");
            if let Some((kind, _)) = plain.pods.remove(&name) {
                met.broken += u64::from(matches!(kind, Kind::Broken(_)));
                writer.remove(&Identity::pod(&format!("u-{name}")));
            }
            if random.u8(0..5) > 0 {
                let (kind, node) = (Kind::random(random), format!("n{}", random.usize(0..NODES)));
                changed.push(pod(random, &name, &kind, Some(&node)));
                plain.pods.insert(name, (kind, node));
            }
        }
        let mut loader = Loader::new(&compiler, &mut writer);
        changed.iter().for_each(|value| loader.apply(&object(value)));
        loader.publish();
        let snapshot = reader.snapshot();
        for node in plain.nodes.keys() {
            let expected = plain.shown(node);
            assert_eq!(found(&snapshot, node), expected, "seed {seed}, round {round}, {node}");
            met.sums += u64::from(expected.values().any(|sum| *sum != 0));
            met.migrating += u64::from(expected["neon.migrating-cpu"] != 0);
        }
        for asked in 0..ASKED {
            let kind = Kind::random(random);
            let value = pod(random, "asked", &kind, None);
            let rejected = rejected(&engine, &value);
            for node in plain.nodes.keys() {
                let fits = plain.fits(node, &kind);
                let place = || format!("seed {seed}, round {round}, question {asked}, {node}: {kind:?}\n{value}");
                assert_eq!(!rejected.contains(node), fits, "{}", place());
                met.fits += u64::from(fits);
                met.rejected += u64::from(!fits);
            }
            met.questions += 1;
        }
    }
}

/// The names of the nodes that NeonFit rejects, each with the plugin's text.
fn rejected(engine: &Engine, pod: &Value) -> Vec<String> {
    let Object::Pod(pod) = object(pod) else { panic!("a pod") };
    let query = Query::new([PodRef::Whole(pod)]);
    let answer = engine.answer(&query, Options::default()).unwrap();
    let of_pod = &answer.pods[0];
    assert!(of_pod.faults.is_empty(), "{:?}", of_pod.faults);
    let mut rejected = Vec::new();
    for failure in of_pod.failures.iter() {
        let reasons: Vec<&str> = failure.reasons.iter().map(|reason| &**reason).collect();
        assert_eq!(reasons, ["Not enough resources for Pod"]);
        rejected.extend(failure.rows.iter().map(|row| answer.snapshot.node_name(row).to_owned()));
    }
    rejected
}
