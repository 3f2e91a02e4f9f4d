//! What the feed writes to: the cache, behind the few calls that the applier needs.

use std::sync::Arc;

use crate::change::{Compiled, Identity, Record};
use nodesift_cache::Writer;
use nodesift_cache::metadata::PodRecord;
use nodesift_object::Kind;

/// Why an object cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The key of an object that is in a namespace names none.
    #[error("the key {key:?} has no namespace")]
    NoNamespace {
        /// As the source gave it.
        key: String,
    },
    /// The work on it panicked.
    #[error("panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
}

/// Takes objects, one at a time.
pub(super) trait Apply: Send + 'static {
    /// Adds an object, or replaces what is known of it.
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError>;
    /// Removes an object.
    fn remove(&mut self, gone: &Identity) -> Result<(), ApplyError>;
    /// Counts once more what depends on an object, from what is held of it.
    fn again(&mut self, kind: Kind, uid: &str) -> Result<(), ApplyError>;
    /// The pod of this UID, else the one of this `namespace/name`.
    fn pod(&self, uid: &str, key: &str) -> Option<Arc<PodRecord>>;
    /// All pods that a source has shown.
    fn pods(&self) -> Vec<Arc<PodRecord>>;
    /// How many pods there are.
    fn pod_count(&self) -> usize;
    /// Everything of a kind up to a version has been applied.
    fn observe(&mut self, kind: Kind, version: &Arc<str>);
    /// Makes everything applied so far visible.
    fn publish(&mut self);
}

impl Apply for Writer {
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError> {
        let Identity { key, uid, .. } = &object.identity;
        match &object.record {
            Record::Node(node) => self.apply_node(node),
            Record::Pod(pod) => self.apply_pod(Arc::clone(pod)),
            Record::EndedPod => self.remove_pod(uid),
            Record::Namespace(labels) => self.apply_namespace(key, labels),
            Record::DeviceClass(serves) => self.apply_device_class(key, serves),
            Record::Workload(workload) => self.apply_workload(workload),
            Record::Storage(record) => self.apply_storage((**record).clone()),
            // It is not gone, so what was known of it stays.
            Record::Unreadable => {}
        }
        Ok(())
    }

    fn remove(&mut self, gone: &Identity) -> Result<(), ApplyError> {
        match gone.kind {
            Kind::Node => self.remove_node(&gone.key),
            Kind::Pod => self.remove_pod(&gone.uid),
            Kind::Namespace => self.remove_namespace(&gone.key),
            Kind::DeviceClass => self.remove_device_class(&gone.key),
            Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                let no_namespace = || ApplyError::NoNamespace { key: gone.key.to_string() };
                let (namespace, name) = gone.key.split_once('/').ok_or_else(no_namespace)?;
                self.remove_workload(gone.kind, namespace, name);
            }
            Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::StorageClass
            | Kind::CsiNode
            | Kind::CsiDriver
            | Kind::CsiStorageCapacity
            | Kind::VolumeAttachment => self.remove_storage(gone.kind, &gone.key),
        }
        Ok(())
    }

    fn again(&mut self, kind: Kind, uid: &str) -> Result<(), ApplyError> {
        if kind == Kind::Pod
            && let Some(pod) = self.pods().by_uid(uid)
        {
            let mut counted = self.audit_pods(&[Arc::clone(&pod)]);
            let node = pod.node_name.as_ref().and_then(|node| self.row(node));
            counted.extend(node.map(|row| self.audit(row.0..row.0 + 1)).unwrap_or_default());
            counted.iter().for_each(|difference| tracing::error!(%difference, "the cache was wrong, and is put right"));
        }
        Ok(())
    }

    fn pod(&self, uid: &str, key: &str) -> Option<Arc<PodRecord>> {
        let named = || {
            let (namespace, name) = key.split_once('/')?;
            Writer::pods(self).by_name(namespace, name)
        };
        // What a core alone has spoken of says nothing about what a source has shown.
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

    fn observe(&mut self, kind: Kind, version: &Arc<str>) {
        self.observe_version(kind, version);
    }

    fn publish(&mut self) {
        Writer::publish(self);
    }
}
