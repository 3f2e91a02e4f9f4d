//! A cluster that is counted by a policy with an accounting component, without a server: objects go through compiler and feed. Start at
//! [`World::new`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_cache::{self as cache, Reader, SharedWriter, Snapshot};
use nodesift_engine::{ActivePolicy, Engine};
use nodesift_object::{Kind, Object};
use nodesift_policy::{ActivateErrors, Policy};
use nodesift_sandbox::Runtime;
use nodesift_source::Loader;
use nodesift_source::change::{Change, Compiler, Identity, ObjectChange};
use nodesift_source::feed::{Feed, Metrics};
use nodesift_tests::compiled;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

const COMPONENT: &str = include_str!("../../../host/sandbox/src/accounting/tests/component.wat");

/// The path of the component, in a folder of its own.
pub(super) fn component(folder: &TempDir) -> String {
    let path = folder.path().join("component.wasm");
    std::fs::write(&path, wat::parse_str(COMPONENT).unwrap()).unwrap();
    path.display().to_string()
}

/// A policy with NodeResourcesFit, and with the component where there are fields of it.
pub(super) fn policy(folder: &TempDir, accounting: Option<&Value>) -> Policy {
    let mut spec = json!({"schedulerNames": ["default-scheduler"], "predicates": [{"name": "NodeResourcesFit"}]});
    if let Some(fields) = accounting {
        let mut fields = fields.clone();
        fields["module"] = json!({"path": component(folder)});
        spec["accounting"] = fields;
    }
    let document = json!({"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "spec": spec});
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    Policy::read(&document.to_string(), "test", Path::new(""), &builtins).unwrap()
}

/// Fields of the policy that grant the component the annotation `k`, and `extra`.
pub(super) fn granting(extra: &Value) -> Value {
    let mut fields = json!({"annotations": ["k"]});
    for (field, value) in extra.as_object().unwrap() {
        fields[field] = value.clone();
    }
    fields
}

pub(super) fn runtime() -> Runtime {
    let binary = Path::new(env!("CARGO_BIN_EXE_nodesift"));
    Runtime::start(Some(&compiled::folder(binary, Path::new(env!("CARGO_TARGET_TMPDIR"))))).unwrap()
}

pub(super) fn activate(runtime: &Runtime, accounting: Option<&Value>) -> Result<ActivePolicy, ActivateErrors> {
    nodesift_policy::activate(&policy(&TempDir::new().unwrap(), accounting), 1, runtime)
}

pub(super) struct World {
    pub(super) engine: Arc<Engine>,
    pub(super) writer: SharedWriter,
    pub(super) reader: Reader,
    pub(super) compiler: Compiler,
    pub(super) feed: Feed,
}

impl World {
    pub(super) fn new(accounting: Option<&Value>) -> Self {
        let (mut writer, reader) = cache::new();
        let runtime = runtime();
        let active = activate(&runtime, accounting).unwrap();
        writer.set_accountant(active.accountant());
        writer.publish();
        let compiler = Compiler::new(&active.scheduler_names).selecting(&active.selection());
        let compiler = compiler.accounting_by(writer.accountant());
        let engine = Arc::new(Engine::new(reader.clone(), active, runtime));
        let writer = Arc::new(Mutex::new(writer));
        let feed = Feed::start(Arc::clone(&writer), Metrics::default()).unwrap();
        Self { engine, writer, reader, compiler, feed }
    }

    /// Delivers objects, each a change of its own, together.
    pub(super) fn deliver(&self, objects: &[Value]) {
        let compile = |value: &Value| self.compiler.compile(&object(value));
        let changes = objects.iter().map(|value| ObjectChange::Applied(compile(value)).into());
        self.feed.deliver(changes.collect());
    }

    pub(super) fn delete(&self, value: &Value, version: u64) {
        let Identity { kind, key, uid, .. } = self.compiler.compile(&object(value)).identity;
        let deleted = Identity { kind, key, uid, version: Arc::from(version.to_string()) };
        self.feed.deliver(vec![ObjectChange::Deleted(deleted).into()]);
    }

    /// Waits until everything that was delivered is published. The version has to be above all of it.
    pub(super) fn settle(&self, version: u64) -> Arc<Snapshot> {
        let version: Arc<str> = Arc::from(version.to_string());
        let bookmark = |kind| Change::Bookmark { kind, version: Arc::clone(&version) };
        self.feed.deliver(vec![bookmark(Kind::Node), bookmark(Kind::Pod)]);
        until(|| self.writer.lock().observed_version(Kind::Pod).is_some_and(|seen| *seen == *version));
        self.writer.lock().publish();
        self.reader.snapshot()
    }
}

/// Waits until something holds.
pub(super) fn until(holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "it does not come");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// The cluster of objects that are read from files, and have no history.
pub(super) fn fresh(accounting: Option<&Value>, objects: &[Value]) -> Arc<Snapshot> {
    let (mut writer, reader) = cache::new();
    let runtime = runtime();
    let active = activate(&runtime, accounting).unwrap();
    writer.set_accountant(active.accountant());
    let compiler = Compiler::new(&active.scheduler_names).selecting(&active.selection());
    let compiler = compiler.accounting_by(writer.accountant());
    let mut loader = Loader::new(&compiler, &mut writer);
    objects.iter().for_each(|value| loader.apply(&object(value)));
    loader.publish();
    reader.snapshot()
}

pub(super) fn object(value: &Value) -> Object {
    match value["kind"].as_str().unwrap() {
        "Node" => Object::Node(serde_json::from_value(value.clone()).unwrap()),
        _ => Object::Pod(serde_json::from_value(value.clone()).unwrap()),
    }
}

/// A node with this much processor time, and with an annotation if there is one.
pub(super) fn node(name: &str, version: u64, milli: u64, letter: Option<&str>) -> Value {
    json!({
        "kind": "Node",
        "metadata": {
            "name": name, "uid": format!("u-{name}"), "resourceVersion": version.to_string(),
            "annotations": letter.map(|letter| json!({"k": letter})).unwrap_or_default(),
        },
        "status": {"allocatable": {"cpu": format!("{milli}m"), "memory": "64Gi", "pods": "110"}},
    })
}

/// A pod of the namespace `ns` whose container requests this much, and 5m of overhead.
pub(super) fn pod(name: &str, version: u64, node: Option<&str>, milli: u64, letter: Option<&str>) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("u-{name}"), "resourceVersion": version.to_string(),
            "annotations": letter.map(|letter| json!({"k": letter, "other": "x"})).unwrap_or_default(),
        },
        "spec": {
            "nodeName": node.unwrap_or_default(),
            "containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{milli}m")}}}],
            "overhead": {"cpu": "5m"},
        },
    })
}

/// Amounts of `cpu` that pods take of each node, and the node's sum `s`, by the name of the node.
pub(super) fn taken(snapshot: &Snapshot) -> BTreeMap<String, (i64, Option<i64>)> {
    let names = (0..snapshot.node_count()).map(|row| cache::Row(u32::try_from(row).unwrap()));
    let of = |row: cache::Row| {
        let cpu = snapshot
            .resource("cpu")
            .map_or(0, |cpu| cpu.allocatable.get(row).copied().unwrap_or(0) - cpu.free.get(row).copied().unwrap_or(0));
        let sum = snapshot.named_sum("s").and_then(|sum| sum.get(row)).copied();
        (snapshot.node_name(row).to_owned(), (cpu, sum))
    };
    names.map(of).collect()
}
