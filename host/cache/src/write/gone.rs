//! Pods that are gone: UIDs of those that were deleted or have ended, so that a late decision about one is told apart from one
//! about a pod that the watch has not shown yet. Start at [`Gone::note`].

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::limits::GONE_PODS;

/// The last [`GONE_PODS`] UIDs. A UID is never given to a second pod.
#[derive(Debug, Default)]
pub(super) struct Gone {
    uids: FxHashSet<Arc<str>>,
    /// UIDs in the order in which they were noted, the oldest first.
    order: VecDeque<Arc<str>>,
}

impl Gone {
    /// Remembers a pod. What stands for a missing UID, the only one with a slash, may be another pod tomorrow, and is not
    /// remembered.
    pub(super) fn note(&mut self, uid: &str) {
        if uid.contains('/') || self.uids.contains(uid) {
            return;
        }
        if self.order.len() >= GONE_PODS
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
        let uid: Arc<str> = Arc::from(uid);
        self.order.push_back(Arc::clone(&uid));
        self.uids.insert(uid);
    }

    /// The watch shows the pod after all: a list and a watch were answered by different servers.
    pub(super) fn revive(&mut self, uid: &str) {
        if self.uids.remove(uid) {
            self.order.retain(|known| **known != *uid);
        }
    }

    /// Whether a pod is gone.
    pub(super) fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_uids_are_remembered_and_a_pod_that_is_shown_again_is_not() {
        let mut gone = Gone::default();
        for number in 0..=GONE_PODS {
            gone.note(&format!("u{number}"));
        }
        assert!(!gone.contains("u0") && gone.contains("u1") && gone.contains(&format!("u{GONE_PODS}")));
        gone.revive("u1");
        gone.note("u2");
        gone.note("ns/name");
        assert!(!gone.contains("u1") && gone.contains("u2") && !gone.contains("ns/name"));
        assert_eq!((gone.uids.len(), gone.order.len()), (GONE_PODS - 1, GONE_PODS - 1));
    }
}
