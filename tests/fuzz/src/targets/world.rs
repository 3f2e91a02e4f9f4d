//! A cluster with everything that answers about it: the objects, the cache, the engine, the policy.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nodesift_cache::metadata::Selection;
use nodesift_cache::{self as cache, Reader, SharedWriter, Writer};
use nodesift_engine::{Engine, Reuse};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::random::History;
use nodesift_fixtures::random::claims::DeviceCluster;
use nodesift_policy::Policy;
use nodesift_sandbox::Runtime;
use nodesift_source::change::Compiler;
use nodesift_source::{Loader, files};
use serde_json::json;

/// Time per call, in place of the policy's: targets look for wrong answers, and a busy machine is slow.
const CALL_TIME: Duration = Duration::from_secs(10);

/// A random cluster, and what answers about it.
pub(super) struct World {
    /// Objects of the cluster.
    pub(super) cluster: Cluster,
    pub(super) engine: Arc<Engine>,
    pub(super) writer: SharedWriter,
}

impl World {
    /// The cluster of this seed, with the nodes, devices and claims of another one. The engine compares every cached verdict with a
    /// fresh one.
    pub(super) fn new(seed: u64) -> Self {
        let mut cluster = History::new(seed).cluster;
        DeviceCluster::new(seed).cluster.objects().for_each(|object| cluster.apply(object.clone()));
        let (mut writer, reader) = cache::new();
        load(&cluster, &mut writer);
        Self { cluster, engine: Arc::new(engine(reader)), writer: Arc::new(parking_lot::Mutex::new(writer)) }
    }
}

/// Loads a cluster into an empty cache.
pub(super) fn load(cluster: &Cluster, writer: &mut Writer) {
    let items: Vec<_> = cluster.objects().collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let selection = Selection { pod_claims: true, ..Selection::default() };
    let policy = shipped_policy();
    writer.set_semantics(policy.settings.kubernetes.semantics);
    let compiler = Compiler::new(&policy.scheduler_names).selecting(&selection);
    let mut loader = Loader::new(&compiler, writer);
    let read = files::read_bytes("a random cluster", list.as_bytes(), &mut |object| loader.apply(&object));
    read.expect("the cluster can be read");
    loader.publish();
}

/// An engine with the default policy, which compares every cached verdict with a fresh one.
pub(super) fn engine(reader: Reader) -> Engine {
    engine_of(reader, &default_policy()).with_reuse(Reuse::Verified)
}

/// An engine with a policy.
pub(super) fn engine_of(reader: Reader, policy: &Policy) -> Engine {
    let runtime = runtime();
    let active = nodesift_policy::activate(policy, 1, &runtime).expect("the policy can be loaded");
    Engine::new(reader, active, runtime)
}

/// The policy by which the reference evaluates, with more time for calls.
pub(crate) fn default_policy() -> Policy {
    let mut policy = shipped_policy();
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(CALL_TIME));
    policy
}

/// The policy by which the reference evaluates.
pub(super) fn shipped_policy() -> Policy {
    let text = nodesift_reference::kubernetes::documented_policy();
    let read = Policy::read(&text, "the policy of the reference", Path::new(""), &builtins());
    read.expect("it can be read")
}

/// Names of the built-in predicates.
pub(super) fn builtins() -> Vec<&'static str> {
    nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect()
}

/// A runtime that finds the built-in predicates compiled, after the first time.
pub(super) fn runtime() -> Runtime {
    Runtime::start(Some(&cache_folder())).expect("a runtime")
}

/// The folder of compiled predicates. What is in it is executed, so it belongs to this user alone.
fn cache_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz/cache");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).expect("a folder for compiled predicates");
    folder
}
