//! What the engine counts.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// Counters of the engine; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    verdicts: Family<Source, Counter>,
    /// Verdicts that stood as they were kept.
    pub(super) kept: Counter,
    /// Verdicts of which some rows were judged again.
    pub(super) patched: Counter,
    /// Verdicts for which every row was judged.
    pub(super) evaluated: Counter,
    /// Kept verdicts that made room for others.
    pub(super) evicted: Counter,
    /// Bytes of kept verdicts and answers.
    pub(super) kept_bytes: Gauge,
    /// Reused verdicts that a fresh evaluation contradicted.
    pub(super) contradicted: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Source {
    from: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let verdicts = Family::<Source, Counter>::default();
        let of = |from| verdicts.get_or_create(&Source { from }).clone();
        let (kept, patched, evaluated) = (of("kept"), of("patched"), of("evaluated"));
        Self {
            verdicts,
            kept,
            patched,
            evaluated,
            evicted: Counter::default(),
            kept_bytes: Gauge::default(),
            contradicted: Counter::default(),
        }
    }
}

impl Metrics {
    /// Counters that a registry shows.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "nodesift_verdicts",
            "Verdicts of one predicate about one pod, by whether they were kept, patched or evaluated",
            metrics.verdicts.clone(),
        );
        registry.register("nodesift_verdicts_evicted", "Kept verdicts that made room", metrics.evicted.clone());
        registry.register_with_unit(
            "nodesift_verdicts_kept",
            "Kept verdicts and answers, at most",
            Unit::Bytes,
            metrics.kept_bytes.clone(),
        );
        registry.register(
            "nodesift_verdicts_contradicted",
            "Reused verdicts that a fresh evaluation contradicted; counted only while both are compared",
            metrics.contradicted.clone(),
        );
        metrics
    }
}
