//! The pod of a query: one of the cache, or one that was sent whole. Start at [`Subject`].

use std::sync::Arc;

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::{PodFacts, PodRecord};

use crate::facts::{Batch, Context};
use crate::policy::ActivePolicy;

/// The pod of a query.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// `namespace/name`.
    pub(crate) name: String,
    /// `metadata.name`.
    pub(crate) pod: Arc<str>,
    /// `metadata.uid`; empty where absent.
    pub(crate) uid: Arc<str>,
    /// `spec.priority`; 0 where absent.
    pub(crate) priority: i32,
    /// `spec.nodeName`.
    pub(crate) node_name: Option<Arc<str>>,
    pub(crate) facts: Arc<PodFacts>,
    /// When its evaluation began, in seconds since 1970-01-01T00:00:00Z.
    pub(crate) now: i64,
    /// The annotations that the policy lists.
    pub(crate) annotation_keys: Arc<[String]>,
    /// The ConfigMaps that the policy lists.
    pub(crate) config_maps: Arc<[String]>,
}

impl Subject {
    /// A pod of the cache, for predicates of a policy, evaluated at a time.
    pub(crate) fn of_record(record: &PodRecord, policy: &ActivePolicy, now: i64) -> Self {
        Self {
            name: [&*record.namespace, "/", &record.name].concat(),
            pod: Arc::clone(&record.name),
            uid: if record.object_uid().is_empty() { Arc::default() } else { Arc::clone(&record.uid) },
            priority: record.priority,
            node_name: record.node_name.clone(),
            facts: record.whole_facts(),
            now,
            annotation_keys: Arc::clone(&policy.annotation_keys),
            config_maps: Arc::clone(&policy.config_maps),
        }
    }

    /// The facts about the pod and a batch of rows of a snapshot.
    pub(crate) fn context(&self, snapshot: &Arc<Snapshot>, batch: Batch) -> Context {
        let (snapshot, facts) = (Arc::clone(snapshot), Arc::clone(&self.facts));
        let context = Context::new(snapshot, facts, self.node_name.clone(), batch);
        let context = context.named(Arc::clone(&self.pod), Arc::clone(&self.uid)).at(self.now);
        context.showing(Arc::clone(&self.annotation_keys)).showing_config_maps(Arc::clone(&self.config_maps))
    }
}
