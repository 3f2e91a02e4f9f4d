//! What the cache counts of itself.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counters of the cache; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Pods that are assumed now.
    pub assumed: Gauge,
    /// Assumptions that have ended, by how.
    pub assumptions_ended: Family<Ended, Counter>,
}

/// How an assumption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Ended {
    /// Why.
    pub reason: Reason,
}

/// Why an assumption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Reason {
    /// The watch showed the pod bound to that node.
    Confirmed,
    /// The watch showed the pod bound elsewhere, ended or deleted.
    Conflict,
    /// The watch showed nothing in time.
    Expired,
    /// The core took it back.
    Forgotten,
    /// The node is gone.
    NodeRemoved,
}

impl Metrics {
    /// Makes the counters part of what is scraped.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("nodesift_cache_assumed_pods", "Pods assumed and not yet bound", metrics.assumed.clone());
        registry.register(
            "nodesift_cache_assumptions_ended",
            "Assumptions that ended, by reason",
            metrics.assumptions_ended.clone(),
        );
        metrics
    }
}
