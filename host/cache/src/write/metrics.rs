//! Metrics of assumed pods.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counters of assumptions; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Number of pods that are assumed now.
    pub assumed: Gauge,
    /// Assumptions that ended, by reason.
    pub assumptions_ended: Family<Ended, Counter>,
    /// Nodes that are above a watermark, by watermark.
    pub above_watermark: Family<AboveWatermark, Gauge>,
}

/// Label set of [`Metrics::assumptions_ended`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Ended {
    /// Reason why the assumption ended.
    pub reason: Reason,
}

/// Label set of [`Metrics::above_watermark`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct AboveWatermark {
    /// Name of the sum.
    pub sum: String,
    /// Name of the sum or resource of which it is a share.
    pub of: String,
    /// Percent with more than which a node is above.
    pub above: String,
}

/// Why an assumption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Reason {
    /// The watch showed the pod bound to that node.
    Confirmed,
    /// The watch showed the pod bound elsewhere, ended or deleted, or another pod of its namespace and name took its place.
    Conflict,
    /// The watch did not show the pod bound in time.
    Expired,
    /// The core called forget.
    Forgotten,
    /// The node was removed.
    NodeRemoved,
}

impl Metrics {
    /// Registers the metrics of assumptions.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("nodesift_cache_assumed_pods", "Pods assumed and not yet bound", metrics.assumed.clone());
        registry.register(
            "nodesift_cache_assumptions_ended",
            "Assumptions that ended, by reason",
            metrics.assumptions_ended.clone(),
        );
        registry.register(
            "nodesift_cache_nodes_above_watermark",
            "Nodes above a watermark of the accounting component, by its sum, by what that is a share of, and by its percent",
            metrics.above_watermark.clone(),
        );
        metrics
    }
}
