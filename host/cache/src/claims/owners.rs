//! Which allocations in flight end with which pod. Start at [`Owners`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Allocations in flight by the pod for which they were decided. One that was decided for no pod is not here.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// UIDs of allocations in flight by the UID of the pod.
    by_pod: FxHashMap<Arc<str>, Vec<Arc<str>>>,
    /// The reverse.
    pods: FxHashMap<Arc<str>, Arc<str>>,
}

impl Owners {
    /// An allocation in flight is a pod's from now on.
    pub(super) fn insert(&mut self, pod_uid: &Arc<str>, uid: &Arc<str>) {
        self.remove(uid);
        self.pods.insert(Arc::clone(uid), Arc::clone(pod_uid));
        self.by_pod.entry(Arc::clone(pod_uid)).or_default().push(Arc::clone(uid));
    }

    /// An allocation in flight has ended.
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
    pub(super) fn of(&self, pod_uid: &str) -> &[Arc<str>] {
        self.by_pod.get(pod_uid).map_or(&[], Vec::as_slice)
    }
}
