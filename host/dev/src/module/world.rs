//! The state of a cluster of objects, as a module with some policy reads it. Start at [`World::new`].

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nodesift_cache::metadata::NodeFacts;
use nodesift_cache::{self as cache, Row, Snapshot};
use nodesift_engine::{ActivePolicy, Batch, Clock, Context};
use nodesift_object::{Object, Pod};
use nodesift_policy::Policy;
use nodesift_sandbox::Module;
use nodesift_source::Loader;
use nodesift_source::change::{Compiler, Record};

use super::cases::NodeSums;
use nodesift::cluster;

/// The state of a cluster, as a module with some policy reads it.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) snapshot: Arc<Snapshot>,
    policy: Arc<ActivePolicy>,
    /// In seconds since 1970-01-01T00:00:00Z.
    now: i64,
}

impl World {
    /// The cluster of these objects, as a sidecar with this module and this policy would hold it, where its nodes show these sums.
    pub(super) fn new(
        policy: &Policy,
        module: &Arc<Module>,
        objects: impl IntoIterator<Item = impl Borrow<Object>>,
        sums: &NodeSums,
    ) -> Self {
        let policy = Arc::new(nodesift_policy::with_module(policy, module));
        let (mut writer, reader) = cache::new();
        let compiler = cluster::compiler_of(&policy, &mut writer);
        let mut loader = Loader::new(&compiler, &mut writer);
        let mut with_sums: Vec<NodeFacts> = Vec::new();
        for object in objects {
            let object = object.borrow();
            loader.apply(object);
            with_sums.extend(sums.get(&object.key()).and_then(|sums| node_with(&compiler, object, sums)));
        }
        loader.publish();
        if !with_sums.is_empty() {
            let names: BTreeSet<Arc<str>> =
                with_sums.iter().flat_map(|node| node.sums.iter().map(|(name, _)| Arc::clone(name))).collect();
            writer.declare_sums(&Vec::from_iter(names));
            with_sums.into_iter().for_each(|node| writer.apply(node));
            writer.publish();
        }
        Self { snapshot: reader.snapshot(), policy, now: Clock::default().now() }
    }

    /// Sets the time that the module is told, in seconds since 1970-01-01T00:00:00Z; `None` keeps it.
    pub(super) fn at(self, now: Option<i64>) -> Self {
        Self { now: now.unwrap_or(self.now), ..self }
    }

    /// The facts about a pod and some rows.
    pub(super) fn context(&self, pod: &Pod, batch: Batch) -> Context {
        Context::for_pod(pod, &self.policy, self.now, &self.snapshot, batch)
    }

    /// Returns every row of the snapshot.
    pub(super) fn rows(&self) -> Vec<Row> {
        (0..u32::try_from(self.snapshot.node_count()).unwrap_or(u32::MAX)).map(Row).collect()
    }

    /// The names of the nodes, by row.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &str> {
        self.rows().into_iter().map(|row| self.snapshot.node_name(row))
    }
}

/// A node that adds these sums itself; `None` for an object that is none.
fn node_with(compiler: &Compiler, object: &Object, sums: &BTreeMap<String, i64>) -> Option<NodeFacts> {
    let Record::Node(node) = compiler.compile(object).record else { return None };
    let sums = sums.iter().map(|(name, sum)| (Arc::from(name.as_str()), *sum)).collect();
    Some(NodeFacts { sums, ..Arc::unwrap_or_clone(node) })
}
