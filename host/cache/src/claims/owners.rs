//! Allocations in flight by the pod with which they end. Start at [`Owners`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Allocations in flight by the pod for which they were decided. One that was decided for no pod is not here.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// UIDs of allocations in flight by the UID of the pod.
    by_pod: FxHashMap<Arc<str>, Vec<Arc<str>>>,
    /// UID of the pod by the UID of an allocation in flight, the reverse of `by_pod`.
    pods: FxHashMap<Arc<str>, Arc<str>>,
}

impl Owners {
    /// Records the pod that an allocation in flight belongs to, in the place of any other.
    pub(super) fn insert(&mut self, pod_uid: &Arc<str>, uid: &Arc<str>) {
        self.remove(uid);
        self.pods.insert(Arc::clone(uid), Arc::clone(pod_uid));
        self.by_pod.entry(Arc::clone(pod_uid)).or_default().push(Arc::clone(uid));
    }

    /// Removes an allocation in flight that has ended.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some(pod) = self.pods.remove(uid) else { return };
        if let Some(uids) = self.by_pod.get_mut(&pod) {
            uids.retain(|known| **known != *uid);
            if uids.is_empty() {
                self.by_pod.remove(&pod);
            }
        }
    }

    /// The allocations in flight of a pod.
    pub(super) fn for_pod(&self, pod_uid: &str) -> &[Arc<str>] {
        self.by_pod.get(pod_uid).map_or(&[], Vec::as_slice)
    }
}
