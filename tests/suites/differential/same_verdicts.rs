//! One custom predicate in every language compared with a built-in: TeamIsolation for a pod with a label decides as NodeAffinity
//! does for the same pod with a term that wants this label of nodes. Random clusters change between queries, so that cached
//! verdicts are compared as well.
//!
//! The module in Rust is always compared. `NODESIFT_SAME_VERDICTS` names a folder with the modules in other languages, as
//! `make scripts` builds them; each is a file `<language>.wasm`. There are `NODESIFT_SAME_VERDICTS_CLUSTERS` (40) clusters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nodesift_engine::{Answer, OnError, Options, PodRef, Query, RowsByName};
use nodesift_fixtures::random::History;
use nodesift_policy::Policy;
use nodesift_sandbox::fault::FaultKind;
use serde_json::{Value, json};

use crate::mirror::{self, Mirror};
use crate::seeds::Seeds;
use crate::{cases_from_environment, engine};

/// Default number of clusters.
const CLUSTERS: u64 = 40;

/// Rounds of events per cluster, and pods per round.
const ROUNDS: usize = 3;
const PODS: usize = 3;

/// The label of pods and nodes, and values of it; no node has the last one.
const LABEL: &str = "topology.kubernetes.io/zone";
const VALUES: [&str; 4] = ["z-0", "z-1", "z-2", "nowhere"];

#[test]
fn the_same_predicate_in_every_language_has_the_verdicts_of_node_affinity() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("same_verdicts");
    let modules = modules(&folder);
    let clusters = cases_from_environment("NODESIFT_SAME_VERDICTS_CLUSTERS", CLUSTERS);
    let seeds = Seeds::for_run(clusters / 4);
    for (language, module) in &modules {
        let started = Instant::now();
        let (custom, builtin) = (custom(module), policy(&json!({"name": "NodeAffinity"})));
        let mut done = Compared::default();
        for seed in seeds.take(clusters) {
            compare(seed, [&custom, &builtin], &mut done);
        }
        println!("{language}: {done:?} in {:.1} s", started.elapsed().as_secs_f32());
        assert!(done.rejected > 0 && done.feasible > 0, "{language}: some nodes are rejected and some are not");
    }
}

/// The modules by language.
fn modules(folder: &Path) -> Vec<(String, PathBuf)> {
    std::fs::create_dir_all(folder).expect("a folder");
    let rust = folder.join("rust.wasm");
    let example =
        nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "TeamIsolation").expect("the example");
    std::fs::write(&rust, example.bytes).expect("a file");
    let mut modules = vec![("rust".to_owned(), rust)];
    let Some(others) = std::env::var_os("NODESIFT_SAME_VERDICTS") else { return modules };
    for entry in std::fs::read_dir(&others).expect("the folder of modules") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            modules.push((path.file_stem().expect("a name").to_string_lossy().into_owned(), path));
        }
    }
    assert!(modules.len() > 1, "{} has no modules", others.display());
    modules
}

fn custom(module: &Path) -> Policy {
    policy(&json!({
        "name": "TeamIsolation",
        "module": {"path": module},
        "args": {"label": LABEL},
        "allow": ["pod-labels", "node-labels"],
        "limits": {"memory": "256Mi", "timePerCall": "10s"},
    }))
}

fn policy(predicate: &Value) -> Policy {
    let document = json!({
        "apiVersion": "nodesift.dev/v1alpha1",
        "kind": "PredicatePolicy",
        "metadata": {"name": "same-verdicts"},
        "spec": {"schedulerNames": ["default-scheduler"], "predicates": [predicate]},
    });
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let read = Policy::read(&document.to_string(), "the policy", Path::new(""), &builtins);
    let mut policy = read.unwrap_or_else(|problems| panic!("{problems:?}"));
    policy.settings.on_unsupported = OnError::Ignore;
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(Duration::from_secs(10)));
    policy
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Compared {
    clusters: u64,
    rejected: usize,
    feasible: usize,
}

/// An answer about one pod, without names of predicates and reasons.
#[derive(Debug, PartialEq, Eq)]
struct Codes {
    feasible: Vec<String>,
    /// The rejected nodes, each with its code.
    rejected: BTreeMap<String, &'static str>,
    faults: Vec<String>,
}

impl Codes {
    fn new(answer: &Answer) -> Self {
        let [pod] = &answer.pods[..] else { panic!("one pod in the query, {} in the answer", answer.pods.len()) };
        let name = |row| answer.snapshot.node_name(row).to_owned();
        // What only a DeviceClass serves is a fault of every policy, which these ignore.
        let faults = pod.faults.iter().filter(|fault| fault.fault.kind != FaultKind::Unsupported);
        let rejected = pod.failures.iter().flat_map(|failure| {
            let code = failure.code.name();
            failure.rows.iter().map(move |row| (name(row), code)).collect::<Vec<_>>()
        });
        Self {
            feasible: RowsByName::new(&pod.feasible, &answer.snapshot.node_names()).map(name).collect(),
            rejected: rejected.collect(),
            faults: faults.map(|fault| format!("{fault:?}")).collect(),
        }
    }
}

/// Compares the two policies over one history.
fn compare(seed: u64, policies: [&Policy; 2], done: &mut Compared) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(policies[0].scheduler_names.clone());
    mirror.load(history.cluster.objects());
    let engines = policies.map(|policy| engine(policy, &mirror));
    for round in 0..=ROUNDS {
        if round > 0 {
            mirror.follow(&history.advance());
        }
        for _ in 0..PODS {
            let (labelled, with_affinity) = pods(&mut random, &history.asked_pod());
            let [custom, builtin] = [(&engines[0], &labelled), (&engines[1], &with_affinity)].map(|(engine, pod)| {
                let query = Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))]);
                Codes::new(&engine.answer(&query, Options::default()).expect("an answer"))
            });
            let differ = || format!("seed {seed}, round {round}:\n{custom:?}\n{builtin:?}\npod {labelled}");
            assert!(custom.faults.is_empty() && custom == builtin, "{}", differ());
            done.feasible += custom.feasible.len();
            done.rejected += custom.rejected.len();
        }
    }
    done.clusters += 1;
}

/// A pod with the label, and the same pod with a term that wants it of nodes; neither, now and then.
fn pods(random: &mut fastrand::Rng, pod: &Value) -> (Value, Value) {
    let mut pod = pod.clone();
    if let Some(spec) = pod["spec"].as_object_mut() {
        for field in ["nodeSelector", "affinity", "nodeName"] {
            spec.remove(field);
        }
    }
    if let Some(labels) = pod["metadata"]["labels"].as_object_mut() {
        labels.remove(LABEL);
    }
    if random.u8(0..8) == 0 {
        return (pod.clone(), pod);
    }
    let value = VALUES[random.usize(0..VALUES.len())];
    let (mut labelled, mut with_affinity) = (pod.clone(), pod);
    labelled["metadata"]["labels"][LABEL] = json!(value);
    with_affinity["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": LABEL, "operator": "In", "values": [value]}]}],
    }}});
    (labelled, with_affinity)
}
