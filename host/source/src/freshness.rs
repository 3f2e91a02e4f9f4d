//! How old what is known may be: per kind, when the source was last known to be whole and current.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use nodesift_object::Kind;

/// When each kind that is followed was last heard of; clones share it. Without any kind nothing can grow old: files do not.
#[derive(Debug, Clone, Default)]
pub struct Freshness {
    heard: Arc<RwLock<BTreeMap<Kind, Instant>>>,
}

impl Freshness {
    /// The server has just shown how far it is: a list, an event or bookmark that is not older than what was seen before,
    /// or a watch that it has closed in order after a while. That it has opened one says nothing.
    pub fn heard(&self, kind: Kind) {
        self.heard.write().unwrap_or_else(PoisonError::into_inner).insert(kind, Instant::now());
    }

    /// For how long the kind that was heard of longest ago has been silent; none where nothing is followed.
    pub fn staleness(&self) -> Option<Duration> {
        let heard = self.heard.read().unwrap_or_else(PoisonError::into_inner);
        heard.values().min().map(Instant::elapsed)
    }

    /// For how long each kind that is followed has been silent.
    pub fn silences(&self) -> Vec<(Kind, Duration)> {
        let heard = self.heard.read().unwrap_or_else(PoisonError::into_inner);
        heard.iter().map(|(kind, at)| (*kind, at.elapsed())).collect()
    }
}
