//! A policy that answers queries, with its cached verdicts. Start at [`Running`].

use std::sync::Arc;

use nodesift_cache::{Generation, Snapshot};

use super::ActivePolicy;
use crate::metrics::Metrics;
use crate::reuse::Store;

/// The active policy and its cached verdicts.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) policy: Arc<ActivePolicy>,
    pub(crate) store: Store,
    /// [`Snapshot::ownership`] of the snapshots that it decides about.
    pub(super) ownership: u64,
    /// The newest generation of the cache when the policy became active: from then on the cache holds what it reads.
    pub(super) from: Generation,
}

impl Running {
    pub(crate) fn new(policy: Arc<ActivePolicy>, store_bytes: usize, metrics: Metrics, ownership: u64) -> Self {
        let store = Store::new(policy.components().count(), store_bytes, metrics);
        Self { policy, store, ownership, from: Generation(0) }
    }

    /// Returns this policy with a store that holds no verdict.
    pub(crate) fn with_empty_store(&self, store_bytes: usize, metrics: Metrics) -> Self {
        Self::new(Arc::clone(&self.policy), store_bytes, metrics, self.ownership)
    }

    /// Whether a snapshot was taken before the policy became active, and another one has been published in between; or before
    /// pods were counted as the policy says.
    pub(crate) fn is_after(&self, snapshot: &Snapshot) -> bool {
        snapshot.generation() < self.from || snapshot.ownership() < self.ownership
    }
}
