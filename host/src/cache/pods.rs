//! The readers' side: the newest snapshot, and pods by UID or name.
//!
//! Pods are found in an index of their own and not in the snapshot: a question's pod is its input, and an index of
//! 150,000 pods would be too large to copy on write.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use super::Snapshot;
use crate::metadata::PodRecord;

/// Takes snapshots and looks pods up; cheap to clone.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(super) latest: Arc<ArcSwap<Snapshot>>,
    pub(super) pods: Arc<PodIndex>,
}

impl Reader {
    /// The newest published snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.latest.load_full()
    }

    /// All pods that are not terminated.
    pub fn pods(&self) -> &PodIndex {
        &self.pods
    }
}

/// All pods that are not terminated, pending ones included.
#[derive(Debug, Default)]
pub struct PodIndex {
    by_uid: DashMap<Arc<str>, Arc<PodRecord>, FxBuildHasher>,
    by_name: DashMap<(Arc<str>, Arc<str>), Arc<str>, FxBuildHasher>,
}

impl PodIndex {
    /// The pod with this UID.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<PodRecord>> {
        self.by_uid.get(uid).map(|pod| Arc::clone(&pod))
    }

    /// The pod with this namespace and name.
    pub fn by_name(&self, namespace: &str, name: &str) -> Option<Arc<PodRecord>> {
        let uid = self.by_name.get(&(Arc::from(namespace), Arc::from(name))).map(|uid| Arc::clone(&uid))?;
        self.by_uid(&uid)
    }

    /// How many pods there are.
    pub fn len(&self) -> usize {
        self.by_uid.len()
    }

    /// Whether there is no pod.
    pub fn is_empty(&self) -> bool {
        self.by_uid.is_empty()
    }

    /// All of them, in no order.
    pub fn all(&self) -> Vec<Arc<PodRecord>> {
        self.by_uid.iter().map(|pod| Arc::clone(pod.value())).collect()
    }

    /// Pods that are bound to no node, by namespace and name.
    pub fn pending(&self) -> Vec<Arc<PodRecord>> {
        let mut pending: Vec<Arc<PodRecord>> =
            self.by_uid.iter().filter(|pod| pod.node_name.is_none()).map(|pod| Arc::clone(pod.value())).collect();
        pending.sort_unstable_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        pending
    }

    pub(super) fn insert(&self, pod: Arc<PodRecord>) {
        self.by_name.insert((Arc::clone(&pod.namespace), Arc::clone(&pod.name)), Arc::clone(&pod.uid));
        self.by_uid.insert(Arc::clone(&pod.uid), pod);
    }

    pub(super) fn remove(&self, uid: &str) -> Option<Arc<PodRecord>> {
        let (_, pod) = self.by_uid.remove(uid)?;
        let name = (Arc::clone(&pod.namespace), Arc::clone(&pod.name));
        self.by_name.remove_if(&name, |_, known| **known == *uid);
        Some(pod)
    }
}
