//! Cluster files, a sample or an empty cache, and a policy → an engine. It is the one place where sources, policy and engine
//! meet.
//!
//! Pods to evaluate and live clusters are not here: see `ask` and `serve`. Start at [`open`].

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

pub use crate::args::PolicyArgs;
use crate::exit::Failure;
use crate::terminal;
use nodesift_cache::{self as cache, Reader, SharedWriter};
use nodesift_engine::Engine;
use nodesift_policy::Policy;
use nodesift_sandbox::Runtime;
use nodesift_source::change::Compiler;
use nodesift_source::{self as source, files};

/// A real cluster of 298 nodes and 1,737 pods, 94 of them pending. `serve` uses it if no cluster is given.
const SAMPLE: &[u8] = include_bytes!("../assets/sample-cluster.json.gz");

/// Where the cluster's objects come from.
#[derive(Debug)]
pub(crate) enum Origin<'a> {
    /// Files as written by `kubectl get -o json` or `-o yaml`.
    Files(&'a [PathBuf]),
    /// The built-in sample cluster.
    Sample,
    /// An API server that is followed later. The cache starts empty.
    Live,
}

/// An engine over a cluster, and what its files held beside that.
pub(crate) struct Opened {
    /// Answers about the cluster.
    pub(crate) engine: Engine,
    /// Changes the cache that the engine reads.
    pub(crate) writer: SharedWriter,
    /// Number of skipped objects by kind: no predicate reads these kinds.
    pub(crate) skipped: BTreeMap<String, usize>,
}

/// Reads the cluster and compiles the policy. Every error in either is reported here, before anything is served.
///
/// # Errors
///
/// [`Failure::Policy`] if the policy is invalid, [`Failure::Data`] if the objects are.
pub(crate) fn open(origin: &Origin<'_>, policy: &PolicyArgs) -> anyhow::Result<Opened> {
    // The policy first: it is small, and its scheduler names decide which pods are foreign.
    let (mut writer, reader) = cache::new();
    let engine = engine(reader, policy)?;
    let contents = match origin {
        Origin::Files(files) => files::read(files),
        Origin::Sample => files::read_bytes("the built-in sample", SAMPLE),
        Origin::Live => Ok(files::Contents::default()),
    };
    let contents = contents.map_err(|error| Failure::Data(error.into()))?;
    let policy = engine.policy();
    let compiler = Compiler::new(&policy.scheduler_names).with_annotations(&policy.annotation_keys);
    source::load(&contents.objects, &compiler, &mut writer);
    Ok(Opened { engine, writer: Arc::new(Mutex::new(writer)), skipped: contents.skipped })
}

/// An engine over a cache, with the policy of the command line.
///
/// # Errors
///
/// If the policy is invalid, a module does not compile, or the sandbox does not start.
pub fn engine(reader: Reader, policy: &PolicyArgs) -> anyhow::Result<Engine> {
    let runtime = Runtime::start(compiled_modules_folder().as_deref())?;
    let policy = policy_of(policy, &runtime).map_err(Failure::Policy)?;
    let active = nodesift_policy::activate(&policy, FIRST_GENERATION, &runtime)
        .map_err(|error| Failure::Policy(error.into()))?;
    Ok(Engine::new(reader, active, runtime))
}

/// Generation of the policy that a process starts with.
const FIRST_GENERATION: u64 = 1;

/// The policy of the command line.
fn policy_of(args: &PolicyArgs, runtime: &Runtime) -> anyhow::Result<Policy> {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    if let Some(file) = &args.policy {
        let policy = Policy::read_file(file, &builtins);
        return Ok(policy.map_err(|error| nodesift_policy::with_module_errors(error, runtime))?);
    }
    let read = |text, name| Policy::read(text, name, Path::new(""), &builtins);
    let mut policy = read(nodesift_bundle::DEFAULT_POLICY, "the default policy")?;
    if args.predicates.is_empty() {
        return Ok(policy);
    }
    policy.predicates.extend(read(nodesift_bundle::OPTIONAL_POLICY, "the optional predicates")?.predicates);
    Ok(policy.select(&args.predicates)?)
}

/// The cache of compiled modules, in the user's cache folder and with mode 0700: the sidecar executes what is in it. Without
/// such a folder modules are compiled at every start.
fn compiled_modules_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let folder = cache.join("nodesift").join("modules");
    let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    created.ok().filter(|()| folder.is_absolute()).map(|()| folder)
}

/// Prints the number of skipped objects of each kind on stderr, in one line.
pub(crate) fn note_skipped(skipped: &BTreeMap<String, usize>) {
    if skipped.is_empty() {
        return;
    }
    let kinds: Vec<String> = skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    terminal::note(&format!("skipped objects of kinds that no predicate reads: {}", kinds.join(", ")));
}
