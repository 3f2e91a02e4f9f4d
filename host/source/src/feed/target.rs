//! The target: the cache's writer behind the few calls that the applier needs, so that tests can inject faults.

use std::sync::Arc;

use super::unaccounted::{AccountedId, Unknown};
use crate::change::{Compiled, Identity};
use crate::limits::FEED_UNACCOUNTED;
use nodesift_cache::Writer;
use nodesift_cache::metadata::PodRecord;
use nodesift_object::Kind;

/// Why an object cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    /// The key of a namespaced object has no namespace.
    #[error("the key {key:?} has no namespace")]
    NoNamespace {
        /// The key as the source delivered it.
        key: String,
    },
    /// The cache panicked while the change was applied.
    #[error("panicked: {message}")]
    Panicked {
        /// Message of the panic.
        message: String,
    },
}

/// Destination of the applier's changes: the cache's writer, or a fake in tests.
pub(super) trait Target: Send + 'static {
    /// Adds an object, or replaces what is held of it.
    ///
    /// # Errors
    ///
    /// Where the object cannot be applied; it is retried.
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError>;
    /// Removes an object.
    ///
    /// # Errors
    ///
    /// Where the object cannot be removed; it is retried.
    fn remove(&mut self, deleted: &Identity) -> Result<(), ApplyError>;
    /// Notes that a pod which may never have been held has ended: a decision about it comes too late.
    fn note_ended(&mut self, uid: &str);
    /// Recounts what depends on an object from what is held of it, and repairs the difference.
    ///
    /// # Errors
    ///
    /// Where the object cannot be recounted; it is retried.
    fn recount(&mut self, kind: Kind, uid: &str) -> Result<(), ApplyError>;
    /// The pod with this UID, else the one with this key, `namespace/name`. Not pods that only a core has assumed.
    fn pod(&self, uid: &str, key: &str) -> Option<Arc<PodRecord>>;
    /// All pods that a source has delivered; not those that only a core has assumed.
    fn pods(&self) -> Vec<Arc<PodRecord>>;
    /// How many pods are held.
    fn pod_count(&self) -> usize;
    /// Returns the work by which the accountant accounts anew for an object, to be run without the target's lock since it may take a while.
    /// `None` where there is nothing to do.
    fn forgetting(&self, _: &AccountedId) -> Option<Box<dyn FnOnce() + Send>> {
        None
    }
    /// Has an object count by what the accountant says of it now.
    fn account_again(&mut self, _: &AccountedId) {}
    /// Objects of which no account is known, at most [`FEED_UNACCOUNTED`] pods and as many nodes.
    fn unaccounted(&self) -> Vec<Unknown> {
        Vec::new()
    }
    /// Notes that everything of a kind up to a resourceVersion has been applied.
    fn observe(&mut self, kind: Kind, version: &Arc<str>);
    /// Forgets which version of a kind was observed: versions begin anew.
    fn forget_version(&mut self, kind: Kind);
    /// Publishes a snapshot of everything applied so far.
    fn publish(&mut self);
    /// Notes that all nodes and pods of the first lists have been applied and published: what comes now has changed since.
    fn complete_start(&mut self) {}
}

impl Target for Writer {
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError> {
        Writer::apply(self, object.record.clone());
        Ok(())
    }

    fn remove(&mut self, deleted: &Identity) -> Result<(), ApplyError> {
        // A pod is found by its UID.
        if deleted.kind.info().namespaced && deleted.kind != Kind::Pod && !deleted.key.contains('/') {
            return Err(ApplyError::NoNamespace { key: deleted.key.to_string() });
        }
        Writer::remove(self, deleted);
        Ok(())
    }

    fn note_ended(&mut self, uid: &str) {
        self.note_gone(uid);
    }

    fn recount(&mut self, kind: Kind, uid: &str) -> Result<(), ApplyError> {
        if kind == Kind::Pod
            && let Some(pod) = self.pods().by_uid(uid)
        {
            let mut drift = self.audit_pods(&[Arc::clone(&pod)]);
            let node = pod.node_name.as_ref().and_then(|node| self.row(node));
            drift.extend(node.map(|row| self.audit(row.0..row.0 + 1)).unwrap_or_default());
            drift.iter().for_each(|difference| tracing::error!(%difference, "cache drift repaired"));
        }
        Ok(())
    }

    fn pod(&self, uid: &str, key: &str) -> Option<Arc<PodRecord>> {
        let named = || {
            let (namespace, name) = key.split_once('/')?;
            Writer::pods(self).by_name(namespace, name)
        };
        // A pod that only a core has assumed says nothing about what sources have delivered.
        Writer::pods(self).by_uid(uid).or_else(named).filter(|pod| self.was_shown(pod))
    }

    fn pods(&self) -> Vec<Arc<PodRecord>> {
        let mut pods = Writer::pods(self).all();
        pods.retain(|pod| self.was_shown(pod));
        pods
    }

    fn pod_count(&self) -> usize {
        Writer::pods(self).len()
    }

    fn forgetting(&self, (kind, id): &AccountedId) -> Option<Box<dyn FnOnce() + Send>> {
        match kind {
            Kind::Pod => self.forgetting_pod(id),
            Kind::Node => self.forgetting_node(id),
            _ => None,
        }
    }

    fn account_again(&mut self, (kind, id): &AccountedId) {
        match kind {
            Kind::Pod => Writer::account_again(self, id),
            Kind::Node => self.account_for_node_again(id),
            _ => {}
        }
    }

    fn unaccounted(&self) -> Vec<Unknown> {
        let unknown = self.unknown_accounts();
        let key = |uid: &str| {
            let pod = Writer::pods(self).by_uid(uid);
            pod.map_or_else(|| uid.to_owned(), |pod| format!("{}/{}", pod.namespace, pod.name))
        };
        let of = |kind, (id, reason): (&Arc<str>, &Arc<str>)| {
            let key = if kind == Kind::Pod { key(id) } else { id.to_string() };
            Unknown { id: (kind, Arc::clone(id)), key, reason: Arc::clone(reason) }
        };
        let pods = unknown.pods.iter().take(FEED_UNACCOUNTED).map(|entry| of(Kind::Pod, entry));
        pods.chain(unknown.nodes.iter().take(FEED_UNACCOUNTED).map(|entry| of(Kind::Node, entry))).collect()
    }

    fn observe(&mut self, kind: Kind, version: &Arc<str>) {
        self.observe_version(kind, version);
    }

    fn forget_version(&mut self, kind: Kind) {
        Writer::forget_version(self, kind);
    }

    fn publish(&mut self) {
        Writer::publish(self);
    }

    fn complete_start(&mut self) {
        Writer::complete_start(self);
    }
}
