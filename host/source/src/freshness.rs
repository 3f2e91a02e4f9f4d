//! Freshness: per kind, when the source last showed that the cache is current. From it comes the staleness of answers.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use nodesift_object::Kind;

/// When each watched kind was last confirmed to be current; clones share it. Files are never watched, so they never grow
/// stale.
#[derive(Debug, Clone, Default)]
pub struct Freshness {
    confirmed: Arc<RwLock<BTreeMap<Kind, Instant>>>,
}

impl Freshness {
    /// At this time the server has shown its newest resourceVersion of a kind: by a list, by an event or bookmark that is not older
    /// than those before, or by ending a watch in order after a while. Opening a watch confirms nothing.
    pub(crate) fn confirm_at(&self, kind: Kind, at: Instant) {
        self.confirmed.write().unwrap_or_else(PoisonError::into_inner).insert(kind, at);
    }

    /// The kind is not followed any more.
    pub(crate) fn forget(&self, kind: Kind) {
        self.confirmed.write().unwrap_or_else(PoisonError::into_inner).remove(&kind);
    }

    /// The time since the kind that was confirmed longest ago; `None` where no kind is watched.
    pub fn staleness(&self) -> Option<Duration> {
        let confirmed = self.confirmed.read().unwrap_or_else(PoisonError::into_inner);
        confirmed.values().min().map(Instant::elapsed)
    }

    /// The time since a kind was confirmed; `None` where it is not watched.
    pub fn staleness_of(&self, kind: Kind) -> Option<Duration> {
        let confirmed = self.confirmed.read().unwrap_or_else(PoisonError::into_inner);
        confirmed.get(&kind).map(Instant::elapsed)
    }

    /// Per watched kind, the time since it was confirmed.
    pub(crate) fn ages(&self) -> Vec<(Kind, Duration)> {
        let confirmed = self.confirmed.read().unwrap_or_else(PoisonError::into_inner);
        confirmed.iter().map(|(kind, at)| (*kind, at.elapsed())).collect()
    }
}
