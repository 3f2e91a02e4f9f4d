//! From files to an engine that answers about them: the one place where sources, policy and engine are put together.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

pub use super::args::PolicyArgs;
use super::exit::Failure;
use super::report::plain;
use nodesift_cache::{self as cache, Reader, SharedWriter};
use nodesift_engine::Engine;
use nodesift_object::Pod;
use nodesift_policy::Policy;
use nodesift_sandbox::Runtime;
use nodesift_source::{self as source, files};

/// A real cluster of 298 nodes and 1,737 pods, 94 of them pending: what `serve` shows without `--cluster`.
pub const SAMPLE: &[u8] = include_bytes!("../assets/sample-cluster.json.gz");

/// Where the cluster's objects come from.
#[derive(Debug)]
pub enum Origin<'a> {
    /// Files as `kubectl get -o json|yaml` writes them.
    Files(&'a [PathBuf]),
    /// [`SAMPLE`].
    Sample,
    /// An API server, which has not been asked yet: the cluster is empty so far.
    Live,
}

/// An engine over a cluster, and what was left out of it.
pub struct Opened {
    /// Answers about the cluster.
    pub engine: Engine,
    /// Changes what the engine reads.
    pub writer: SharedWriter,
    /// How many objects of which kinds no predicate reads.
    pub skipped: BTreeMap<String, usize>,
}

/// A pod given in a file.
#[derive(Debug)]
pub struct GivenPod {
    /// What predicates read of it.
    pub pod: Box<Pod>,
    /// The whole object as JSON text: what a sidecar is sent.
    pub json: String,
}

/// Reads the cluster and compiles the policy. All that is wrong with them is reported here, before anything is served.
pub fn open(origin: &Origin<'_>, policy: &PolicyArgs) -> anyhow::Result<Opened> {
    // The policy first: it is small, and it says whose pods are foreign.
    let (mut writer, reader) = cache::new();
    let engine = engine(reader, policy)?;
    let contents = match origin {
        Origin::Files(files) => files::read(files),
        Origin::Sample => files::read_bytes("the built-in sample", SAMPLE),
        Origin::Live => Ok(files::Contents::default()),
    };
    let contents = contents.map_err(|error| Failure::Data(error.into()))?;
    source::load(&contents.objects, &engine.policy().scheduler_names, &mut writer);
    Ok(Opened { engine, writer: Arc::new(Mutex::new(writer)), skipped: contents.skipped })
}

/// An engine with the policy that the command line chooses, over a cache.
pub fn engine(reader: Reader, policy: &PolicyArgs) -> anyhow::Result<Engine> {
    let policy = policy_of(policy).map_err(Failure::Policy)?;
    let runtime = Runtime::start(compiled_modules_folder().as_deref())?;
    let active = nodesift_policy::activate(&policy, FIRST_GENERATION, &runtime)
        .map_err(|error| Failure::Policy(error.into()))?;
    Ok(Engine::new(reader, active, runtime))
}

/// The generation of the policy that a process starts with.
const FIRST_GENERATION: u64 = 1;

/// The policy that the command line chooses.
fn policy_of(args: &PolicyArgs) -> anyhow::Result<Policy> {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    if let Some(file) = &args.policy {
        return Ok(Policy::read_file(file, &builtins)?);
    }
    let read = |text, name| Policy::read(text, name, Path::new(""), &builtins);
    let mut policy = read(nodesift_bundle::DEFAULT_POLICY, "the default policy")?;
    if args.predicates.is_empty() {
        return Ok(policy);
    }
    policy.predicates.extend(read(nodesift_bundle::OPTIONAL_POLICY, "the optional predicates")?.predicates);
    Ok(policy.select(&args.predicates)?)
}

/// Where compiled modules are kept between runs: below the user's own cache folder, which nobody else can write, since
/// what lies there is run. Without such a folder modules are compiled at every start.
fn compiled_modules_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let folder = cache.join("nodesift").join("modules");
    let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    created.ok().filter(|()| folder.is_absolute()).map(|()| folder)
}

/// Reads pods to judge, in the order of the files.
pub fn pods(paths: &[PathBuf]) -> anyhow::Result<Vec<GivenPod>> {
    let (pods, skipped) = files::read_pods(paths).map_err(|error| Failure::Data(error.into()))?;
    note_skipped(&skipped);
    Ok(pods.into_iter().map(|(pod, json)| GivenPod { pod, json }).collect())
}

/// Says on stderr which kinds were left out, in one line.
pub fn note_skipped(skipped: &BTreeMap<String, usize>) {
    if skipped.is_empty() {
        return;
    }
    let kinds: Vec<String> = skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    note(&format!("skipped, since no predicate reads them: {}", kinds.join(", ")));
}

/// Says something about the work on stderr; nobody reading it is no failure.
pub fn note(text: &str) {
    let _unwritable = writeln!(std::io::stderr(), "nodesift: {}", plain(text));
}
