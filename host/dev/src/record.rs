//! `nodesift-dev explain --record`: questions and their answers as cases for `nodesift-dev module test`. Start at [`explain`].
//!
//! ```text
//! prune   objects, cut to what the recorded predicates can read
//! ```
//!
//! A case is about one pod and one predicate with a module by path. The cluster of all cases in a file is the same.

mod prune;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nodesift::ask::{self, Local, pods};
use nodesift::cluster;
use nodesift::exit::Failure;
use nodesift::terminal::{self, counted};
use nodesift_engine::{ActivePredicate, Clock, Depth, Engine, Nodes, Options, PodAnswer, PodRef, Query};
use nodesift_object::Object;
use nodesift_policy::{ModuleSource, Policy, PredicateSpec};
use nodesift_sandbox::Interface;
use nodesift_source::files;
use nodesift_source::kube::kinds;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::args::{ExplainArgs, QuestionArgs};
use crate::limits::{RECORD_BYTES, RECORD_NODES};
use crate::module;
use prune::Pruning;

/// Comment on top of the file, before its cases.
const HEADER: &str = "# Recorded by `nodesift-dev explain --record`: run it with `nodesift-dev module test FILE`.\n";

/// Interfaces whose facts an accounting component changes. Cases have no accounting component.
const ACCOUNTED: [Interface; 4] =
    [Interface::PodResources, Interface::NodeResources, Interface::NodeSums, Interface::ClusterPods];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    scheduler_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config_maps: Vec<String>,
    /// In seconds since 1970; absent where no recorded predicate can ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<i64>,
    nodes: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<Value>,
    cases: Vec<Case>,
}

#[derive(Serialize)]
struct Case {
    name: String,
    module: PathBuf,
    #[serde(skip_serializing_if = "is_empty")]
    args: Value,
    #[serde(skip_serializing_if = "is_empty")]
    limits: Value,
    pod: Value,
    #[serde(flatten)]
    expected: Map<String, Value>,
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

/// A predicate of the policy that is recorded.
struct Recorded<'p> {
    spec: &'p PredicateSpec,
    active: &'p ActivePredicate,
    module: PathBuf,
}

/// `nodesift-dev explain --record`: writes the cases, then explains as `nodesift explain` does, at the same moment.
///
/// # Errors
///
/// If arguments, files or policy are invalid, nothing can be recorded, or the modules alone answer otherwise.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<()> {
    let question = &args.question;
    if question.cluster.cluster.is_empty() {
        return Err(Failure::Usage("no cluster given: use --cluster FILE for its objects".to_owned()).into());
    }
    let now = Clock::default().now();
    let local = Local::open(question)?.at(now);
    // First: what is refused has no answer either.
    record(local.engine(), now, question, &args.record)?;
    ask::explain_by(&local, question)
}

/// Asks the engine about the pods and writes its answers as cases into a new file. `now` is the time that the engine tells to
/// predicates.
///
/// # Errors
///
/// [`Failure::Usage`] where nothing can be recorded, and [`Failure::Files`] where the file cannot be written. An error of no kind of
/// its own where the cases are written, and the modules alone answer otherwise.
fn record(engine: &Engine, now: i64, args: &QuestionArgs, file: &Path) -> anyhow::Result<()> {
    let usage = |text: String| Failure::Usage(text).into();
    if file.exists() {
        return Err(usage(format!("{} is there already: name a new file", file.display())));
    }
    if args.cluster.cluster.iter().chain(&args.pods).any(|path| path == Path::new("-")) {
        return Err(usage("--record reads the objects twice: give them as files, not on standard input".to_owned()));
    }
    let (policy, active) = (policy(args)?, engine.policy());
    let recorded: Vec<Recorded<'_>> = policy
        .predicates
        .iter()
        .zip(&active.predicates)
        .filter_map(|(spec, active)| match &spec.module {
            ModuleSource::Path { path, .. } => Some(Recorded { spec, active, module: from(file, path.path()) }),
            ModuleSource::Builtin | ModuleSource::Oci { .. } | ModuleSource::Registry(_) => None,
        })
        .collect();
    if recorded.is_empty() {
        let text =
            "--record writes cases of predicates with module.path, and the policy has none: give one with --policy";
        return Err(usage(text.to_owned()));
    }
    let imports: BTreeSet<Interface> =
        recorded.iter().flat_map(|predicate| predicate.active.module.imports()).copied().collect();
    if policy.accounting.is_some()
        && let Some(read) = ACCOUNTED.iter().find(|interface| imports.contains(interface))
    {
        let text = format!(
            "a case cannot say what spec.accounting says of pods, and a module with module.path reads {}",
            read.name()
        );
        return Err(usage(text));
    }
    let is_cluster_wide = imports.iter().any(|interface| interface.is_cluster_wide());
    let nodes = match args.node.is_empty() || is_cluster_wide {
        true => Nodes::All,
        false => Nodes::Named(args.node.clone()),
    };
    let objects = Objects::read(
        engine,
        args,
        &nodes,
        &Pruning::new(&imports, &policy.settings.annotation_keys, &policy.settings.config_maps),
    )?;
    let mut cases = Vec::new();
    for pod in objects.asked {
        let query =
            Query::new([pod.reference]).with_nodes(nodes.clone()).with_phase(args.phase.into()).with_depth(Depth::Each);
        let answer = engine.answer(&query, Options::default()).map_err(|error| Failure::Data(error.into()))?;
        for (predicate, pod_answer) in recorded.iter().flat_map(|one| answer.pods.iter().map(move |pod| (one, pod))) {
            let name = |row| answer.snapshot.node_name(row).to_owned();
            if let Some(expected) = expected(pod_answer, &predicate.active.name, &name) {
                cases.push(Case {
                    name: format!("{}: {}", predicate.spec.name, pod_answer.pod),
                    module: predicate.module.clone(),
                    args: predicate.spec.args.clone(),
                    limits: limits(predicate.spec),
                    pod: pod.json.clone(),
                    expected,
                });
            }
        }
    }
    let count = cases.len();
    if count == 0 {
        return Err(usage("there is no pod to record, or no predicate that runs in this phase".to_owned()));
    }
    let document = Document {
        scheduler_names: policy.scheduler_names,
        annotations: policy.settings.annotation_keys.to_vec(),
        config_maps: policy.settings.config_maps.to_vec(),
        now: imports.contains(&Interface::Time).then_some(now),
        nodes: objects.nodes,
        objects: objects.others,
        cases,
    };
    let text = HEADER.to_owned() + &serde_saphyr::to_string(&document)?;
    if text.len() > RECORD_BYTES {
        let text = format!(
            "the cases would take more than {} MiB: name pods with --pod and nodes with --node",
            RECORD_BYTES >> 20
        );
        return Err(usage(text));
    }
    std::fs::write(file, text).map_err(|error| Failure::Files(anyhow!(error).context(file.display().to_string())))?;
    terminal::note(&format!("{}: {} recorded", file.display(), counted(count, "case")));
    match module::first_difference(file)? {
        None => Ok(()),
        Some(difference) => Err(anyhow!("{}: the module alone answers otherwise: {difference}", file.display())),
    }
}

/// The policy of the command line.
fn policy(args: &QuestionArgs) -> anyhow::Result<Policy> {
    let Some(file) = &args.policy.policy else { return Ok(Policy::default()) };
    Policy::read_file(file, &cluster::builtins()).map_err(|error| Failure::Policy(error.into()).into())
}

/// A path as a file names it that is to be written: relative where it is below its folder.
fn from(file: &Path, module: &Path) -> PathBuf {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let module = whole(module);
    module.strip_prefix(whole(folder)).map(Path::to_owned).unwrap_or(module)
}

/// The limits of a predicate, as a policy writes them.
fn limits(spec: &PredicateSpec) -> Value {
    let time = |time: std::time::Duration| format!("{}us", time.as_micros());
    let fields = [
        ("memory", spec.limits.memory_bytes.map(|bytes| json!(bytes))),
        ("timePerCall", spec.limits.time_per_call.map(|limit| json!(time(limit)))),
        ("output", spec.limits.output_bytes.map(|bytes| json!(bytes))),
        ("logLines", spec.limits.log_lines.map(|lines| json!(lines))),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
}

/// Expectation of a case from a predicate's answer about a pod; none where it does not run in the phase.
fn expected(
    answer: &PodAnswer,
    predicate: &str,
    name: &dyn Fn(nodesift_cache::Row) -> String,
) -> Option<Map<String, Value>> {
    let field = |name: &str, value: Value| Some(Map::from_iter([(name.to_owned(), value)]));
    if let Some(report) = answer.faults.iter().find(|report| *report.predicate == *predicate) {
        return field("fault", json!(report.fault.kind.name()));
    }
    let alone = answer.predicates.iter().find(|alone| *alone.predicate == *predicate)?;
    let rejected: BTreeMap<String, Value> = alone
        .failures
        .iter()
        .flat_map(|group| {
            let rejection = match &*group.reasons {
                [reason] => json!({"reason": reason, "code": group.code.name()}),
                reasons => json!({"reasons": reasons, "code": group.code.name()}),
            };
            let rows: Vec<_> = group.rows.iter().collect();
            rows.into_iter().map(move |row| (name(row), rejection.clone()))
        })
        .collect();
    match rejected.is_empty() {
        true => field("fits", json!("all")),
        false => field("rejects", json!(rejected)),
    }
}

/// A pod that is asked about.
struct Asked {
    reference: PodRef,
    json: Value,
}

/// The objects of the question, as text.
struct Objects {
    asked: Vec<Asked>,
    nodes: Vec<Value>,
    others: Vec<Value>,
}

impl Objects {
    /// Reads them again, because the cache has only what predicates can read of them.
    fn read(engine: &Engine, args: &QuestionArgs, nodes: &Nodes, pruning: &Pruning<'_>) -> anyhow::Result<Self> {
        let asked_nodes: Option<BTreeSet<&str>> = match nodes {
            Nodes::Named(names) => Some(names.iter().map(String::as_str).collect()),
            Nodes::All | Nodes::Enough(_) => None,
        };
        let is_asked_node = |name: &str| asked_nodes.as_ref().is_none_or(|names| names.contains(name));
        let kinds = kinds::needed(pruning.imports().iter().copied());
        let wanted: BTreeSet<String> = match (args.pods.is_empty(), args.pod.is_empty()) {
            (false, _) => BTreeSet::new(),
            (true, false) => args.pod.iter().map(ToString::to_string).collect(),
            (true, true) => engine.pending_pods().iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect(),
        };
        let mut read = Self { asked: Vec::new(), nodes: Vec::new(), others: Vec::new() };
        let mut named: BTreeMap<String, Value> = BTreeMap::new();
        let mut wrong = None;
        files::read_texts(&args.cluster.cluster, &mut |object: Object, json: &str| {
            let value: Value = match serde_json::from_str(json) {
                Ok(value) => value,
                Err(error) => return wrong = Some(error),
            };
            match &object {
                Object::Node(node) if is_asked_node(&node.metadata.name) => read.nodes.push(pruning.node(&value)),
                Object::Node(_) => {}
                Object::Pod(pod) => {
                    if wanted.contains(&pod.key()) {
                        named.insert(pod.key(), pruning.pod(&value));
                    }
                    if pruning.reads_pods() && !pod.spec.node_name.is_empty() && is_asked_node(&pod.spec.node_name) {
                        read.others.push(pruning.pod(&value));
                    }
                }
                other if kinds.contains(&other.kind()) && pruning.is_read(other) => {
                    read.others.push(Pruning::other(other.kind(), &value));
                }
                _ => {}
            }
        })
        .map_err(|error| Failure::Data(error.into()))?;
        if let Some(error) = wrong {
            return Err(Failure::Data(error.into()).into());
        }
        if read.nodes.len() > RECORD_NODES {
            let text = format!(
                "{} nodes would be recorded, at most {RECORD_NODES} make a case: name some with --node, or a smaller cluster with \
                 --cluster where a predicate reads all of it",
                read.nodes.len()
            );
            return Err(Failure::Usage(text).into());
        }
        if let Some(missing) = wanted.iter().find(|key| !named.contains_key(*key)) {
            return Err(Failure::Data(anyhow!("pod {missing} is not in the cluster's files")).into());
        }
        if args.pods.is_empty() {
            let reference = |key: &str| {
                let (namespace, name) = key.split_once('/').unwrap_or(("", key));
                PodRef::Name { namespace: namespace.to_owned(), name: name.to_owned() }
            };
            read.asked = named.into_iter().map(|(key, json)| Asked { reference: reference(&key), json }).collect();
        } else {
            for file in pods::read(&args.pods, &args.pod)? {
                let json: Value = serde_json::from_str(&file.json).map_err(|error| Failure::Data(error.into()))?;
                read.asked.push(Asked { reference: PodRef::Whole(file.pod), json: pruning.pod(&json) });
            }
        }
        Ok(read)
    }
}
