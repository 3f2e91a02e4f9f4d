//! Cluster files, a sample or an empty cache, and a policy → an engine. It is the one place where sources, policy and engine
//! meet.
//!
//! `files` has the cluster files of a running sidecar, which can be read once more. Pods to evaluate and live clusters are not here: see
//! `ask` and `serve`. Start at [`open`].

mod files;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::args;
pub use crate::args::PolicyArgs;
use crate::exit::Failure;
use crate::limits::DEVELOPMENT_COMPILE_FACTOR;
use crate::progress::Progress;
use crate::terminal;
pub(crate) use files::ClusterFiles;
use nodesift_cache::{self as cache, Reader, SharedWriter};
use nodesift_engine::{ActivePolicy, Engine, Phase};
use nodesift_policy::kubernetes::Auto;
use nodesift_policy::remembered::{RecallError, Remembered, StateFolder};
use nodesift_policy::spec::{API_VERSION, DEFAULT_SCHEDULER, KIND};
use nodesift_policy::{Policy, PolicyText, PredicateSpec, PulledFolder, SelectError};
use nodesift_sandbox::limits::COMPILE_TIME;
use nodesift_sandbox::{CompilerProgram, Runtime};
use nodesift_source::change::Compiler;
use nodesift_source::{Loader, Summary, files as source_files};

/// A real cluster of 298 nodes and 1,737 pods, 94 of them pending. `serve` uses it if no cluster is given.
const SAMPLE: &[u8] = include_bytes!("../assets/sample-cluster.json.gz");

/// Where the cluster's objects come from.
#[derive(Debug)]
pub(crate) enum Origin<'a> {
    /// Files as written by `kubectl get -o json` or `-o yaml`.
    Files(&'a [PathBuf]),
    /// The built-in sample cluster.
    Sample,
    /// None, or an API server that is followed later. The cache starts empty.
    Live,
}

/// An engine over a cluster, and what its files held beside that.
pub(crate) struct Opened {
    /// Answers about the cluster.
    pub(crate) engine: Engine,
    /// Changes the cache that the engine reads.
    pub(crate) writer: SharedWriter,
    /// Counts of the files' objects that were skipped, had no `apiVersion` or lacked other fields.
    pub(crate) summary: Summary,
    /// The files, or the sample, which can be read once more; `None` for a live cluster.
    pub(crate) files: Option<ClusterFiles>,
}

/// Reads the cluster and compiles the policy. Every error in either is reported here, before anything is served.
///
/// # Errors
///
/// [`Failure::Policy`] if the policy is invalid, [`Failure::Data`] if the objects are.
pub(crate) fn open(origin: &Origin<'_>, policy: &PolicyArgs) -> anyhow::Result<Opened> {
    open_with(origin, |reader| engine(reader, policy))
}

/// Opens a cluster with the policy of a document, and modules of registries in the folder `pulled`; unless `scored`, without its scorers.
///
/// # Errors
///
/// As for [`open`].
pub(crate) fn open_text(
    origin: &Origin<'_>,
    text: PolicyText,
    pulled: &PulledFolder,
    scored: bool,
) -> anyhow::Result<Opened> {
    open_with(origin, |reader| {
        let runtime = runtime()?;
        let policy = text.policy(&builtins());
        let policy = policy.map_err(|error| nodesift_policy::with_module_errors(error, &runtime, pulled));
        let policy = policy.map_err(|error| Failure::Policy(error.into()))?;
        let policy = if scored { policy } else { without_scorers(policy) };
        let active = loaded(&policy, text.text, (&runtime, pulled), None).map_err(Failure::Policy)?;
        Ok(Engine::new(reader, active, runtime))
    })
}

/// The document of the command line: that of `--policy`, else the default policy, or one of the predicates that are named.
///
/// # Errors
///
/// If the file cannot be read, or a name is unknown or there twice.
pub(crate) fn policy_text(args: &PolicyArgs) -> anyhow::Result<PolicyText> {
    let text = match &args.policy {
        Some(file) => PolicyText::read(file)?,
        None if args.predicates.is_empty() => PolicyText::built_in(DEFAULT_NAME, nodesift_bundle::DEFAULT_POLICY),
        None => PolicyText::built_in(DEFAULT_NAME, &document_of(&selected(&args.predicates)?, args.scored)),
    };
    Ok(text.under(args.auto()))
}

/// Name of the default policy in messages.
const DEFAULT_NAME: &str = "the default policy";

/// The built-ins with these names, in this order.
fn selected(names: &[String]) -> Result<Vec<PredicateSpec>, SelectError> {
    let all = Policy { predicates: nodesift_policy::bundled(), ..Policy::default() };
    Ok(all.select(names)?.predicates)
}

/// A policy of kube-scheduler's default profile with these built-ins; unless `scored`, without its scorers, which could read kinds that none
/// of them does.
fn document_of(predicates: &[PredicateSpec], scored: bool) -> String {
    let phases = |spec: &PredicateSpec| {
        let named = [("allocate", Phase::Allocate), ("reserve", Phase::Reserve)];
        named.into_iter().filter(|(_, phase)| spec.phases.contains(*phase)).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let predicates: Vec<_> = predicates.iter().map(|spec| json!({"name": spec.name, "phases": phases(spec)})).collect();
    let mut spec = json!({"schedulerNames": [DEFAULT_SCHEDULER], "predicates": predicates});
    if !scored && let Some(spec) = spec.as_object_mut() {
        spec.insert("scores".to_owned(), json!([]));
    }
    json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "default"}, "spec": spec}).to_string()
}

/// Opens a cluster with the last good policy of an earlier process.
///
/// # Errors
///
/// As for [`open`].
pub(crate) fn open_remembered(origin: &Origin<'_>, remembered: Remembered) -> anyhow::Result<Opened> {
    let Remembered { policy, document } = remembered;
    open_with(origin, |reader| recalled(reader, &policy, document))
}

/// The compiler of objects for a cache that serves this policy: with the facts that its predicates read, and counting by its accounting
/// component, which the writer gets here.
pub fn compiler_of(policy: &ActivePolicy, writer: &mut cache::Writer) -> Compiler {
    writer.set_semantics(policy.settings.kubernetes.semantics);
    writer.set_accountant(policy.accountant());
    Compiler::new(&policy.scheduler_names).selecting(&policy.selection()).accounting_by(writer.accountant())
}

/// Why no policy that was remembered is used, or the policy.
pub(crate) fn remembered(folder: &Path, auto: &Auto) -> Result<Option<Remembered>, RecallError> {
    StateFolder::new(folder, &PulledFolder::none()).recall(&builtins(), auto)
}

fn open_with(origin: &Origin<'_>, engine: impl FnOnce(Reader) -> anyhow::Result<Engine>) -> anyhow::Result<Opened> {
    // The policy first: it is small, and its scheduler names decide which pods are foreign.
    let (mut writer, reader) = cache::new();
    let engine = engine(reader)?;
    let policy = engine.policy();
    let compiler = compiler_of(&policy, &mut writer);
    // Before they are read: what is written meanwhile is a change.
    let again = match origin {
        Origin::Files(files) => Some(ClusterFiles::new(files)),
        Origin::Sample => Some(ClusterFiles::Sample),
        Origin::Live => None,
    };
    let (mut loader, mut objects) = (Loader::new(&compiler, &mut writer), 0_usize);
    let mut take = |object| {
        loader.apply(&object);
        objects += 1;
    };
    let mut progress = Progress::for_bytes();
    let summary = match origin {
        Origin::Files(files) => source_files::read(files, &mut take, &mut |read| progress.set(read.bytes, read.total)),
        Origin::Sample => source_files::read_bytes(files::SAMPLE_NAME, SAMPLE, &mut take),
        Origin::Live => Ok(Summary::default()),
    };
    let summary = summary.map_err(|error| Failure::Data(error.into()))?;
    loader.publish();
    if let Some(time) = progress.long() {
        tracing::info!(objects, seconds = time.as_secs(), "cluster files read");
    }
    Ok(Opened { engine, writer: Arc::new(Mutex::new(writer)), summary, files: again })
}

/// An engine over a cache, with the policy of the command line.
///
/// # Errors
///
/// If the policy is invalid, a module does not compile, or the sandbox does not start.
pub fn engine(reader: Reader, policy: &PolicyArgs) -> anyhow::Result<Engine> {
    let runtime = runtime()?;
    let active = load(policy, &runtime, None).map_err(Failure::Policy)?;
    Ok(Engine::new(reader, active, runtime))
}

/// The sandbox, with the user's cache of compiled modules. It compiles in a process of its own: this program, run as
/// [`COMPILE`](args::COMPILE).
///
/// # Errors
///
/// If the sandbox does not start.
pub fn runtime() -> anyhow::Result<Runtime> {
    Ok(Runtime::start(compiled_modules_folder().as_deref())?.compiling_apart(compiler()))
}

/// The policy of the command line, with the modules of another one where they are the same.
///
/// # Errors
///
/// If the policy is invalid, or a module is refused.
pub(crate) fn load(
    policy: &PolicyArgs,
    runtime: &Runtime,
    beside: Option<&ActivePolicy>,
) -> anyhow::Result<ActivePolicy> {
    let pulled = pulled_folder(None);
    let by = (runtime, &pulled);
    let (policy, document) = policy_of(policy, by)?;
    loaded(&policy, document, by, beside)
}

/// A policy with its modules, of which some may be those of another one.
fn loaded(
    policy: &Policy,
    document: String,
    (runtime, pulled): (&Runtime, &PulledFolder),
    beside: Option<&ActivePolicy>,
) -> anyhow::Result<ActivePolicy> {
    // Nothing is compiled that an earlier start has compiled; otherwise it takes seconds.
    let progress = Mutex::new(Progress::new(policy.predicates.len() + policy.scores.len(), "modules compiled"));
    let advance = || progress.lock().advance(1);
    let mut active = match beside {
        None => nodesift_policy::activate_with(policy, FIRST_GENERATION, runtime, pulled, &advance)?,
        Some(beside) => nodesift_policy::activate_beside(policy, beside, runtime, pulled, &advance)?,
    };
    active.origin.document = document.into();
    Ok(active)
}

/// An engine over a cache with this policy, which was remembered.
fn recalled(reader: Reader, policy: &Policy, document: String) -> anyhow::Result<Engine> {
    let runtime = runtime()?;
    let mut active = loaded(policy, document, (&runtime, &PulledFolder::none()), None).map_err(Failure::Policy)?;
    active.origin.is_remembered = true;
    Ok(Engine::new(reader, active, runtime))
}

/// The names of the built-in predicates.
pub fn builtins() -> Vec<&'static str> {
    nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect()
}

/// Generation of the policy that a process starts with.
const FIRST_GENERATION: u64 = 1;

/// The policy of the command line, and its document.
fn policy_of(args: &PolicyArgs, (runtime, pulled): (&Runtime, &PulledFolder)) -> anyhow::Result<(Policy, String)> {
    let text = policy_text(args)?;
    let policy = text.policy(&builtins());
    let policy = policy.map_err(|error| nodesift_policy::with_module_errors(error, runtime, pulled))?;
    Ok((if args.scored { policy } else { without_scorers(policy) }, text.text))
}

/// The policy for questions that ask for no scores: its scorers are not compiled, and what only they read is not listed.
fn without_scorers(policy: Policy) -> Policy {
    Policy { scores: Vec::new(), ..policy }
}

/// The cache of compiled modules, in the user's cache folder. Without such a folder modules are compiled at every start.
fn compiled_modules_folder() -> Option<PathBuf> {
    cache_folder("modules")
}

/// A folder of this program in the user's cache folder.
fn cache_folder(name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("nodesift").join(name)).filter(|folder| folder.is_absolute())
}

/// Where modules of registries are kept: in the folder that remembers the policy, else in the user's cache folder.
pub(crate) fn pulled_folder(state: Option<&Path>) -> PulledFolder {
    const NAME: &str = "pulled";
    let folder = state.map(|state| state.join(NAME)).or_else(|| cache_folder(NAME));
    folder.map_or_else(PulledFolder::none, |folder| PulledFolder::new(&folder))
}

/// Processor time that this program gives the compilation of a module: more in a development build, whose compiler is slower.
pub fn compile_time() -> Duration {
    if cfg!(debug_assertions) { COMPILE_TIME * DEVELOPMENT_COMPILE_FACTOR } else { COMPILE_TIME }
}

/// This program, as the compiler of modules: its file may have been replaced since it started, and this one is still it.
fn compiler() -> CompilerProgram {
    CompilerProgram {
        program: PathBuf::from("/proc/self/exe"),
        arguments: vec![args::COMPILE.into()],
        processor_time: compile_time(),
    }
}

/// Prints on stderr what files of a cluster hold that is not taken as it is, or not at all: the number of objects of each kind.
pub fn note_summary(summary: &Summary) {
    let counts = |kinds: &mut dyn Iterator<Item = (String, usize)>| {
        let counts: Vec<String> = kinds.map(|(kind, count)| format!("{count} {kind}")).collect();
        counts.join(", ")
    };
    let skipped = counts(&mut summary.skipped.iter().map(|(kind, count)| (kind.clone(), *count)));
    let unversioned = counts(&mut summary.unversioned.iter().map(|(kind, count)| (kind.to_string(), *count)));
    let filled = counts(&mut summary.filled.iter().map(|(what, count)| (what.to_string(), *count)));
    let lacking = counts(&mut summary.lacking.iter().map(|(what, count)| (what.to_string(), *count)));
    for (what, counts) in [
        ("filled in as the API server fills it in", filled),
        ("taken as they are, though no API server leaves them so", lacking),
        ("skipped objects of kinds that no predicate reads", skipped),
        ("objects without apiVersion, taken for what their kind says", unversioned),
    ] {
        if !counts.is_empty() {
            terminal::note(&format!("{what}: {counts}"));
        }
    }
}
