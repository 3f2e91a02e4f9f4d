//! Metrics of the engine: how verdicts were obtained, and the size of the store of cached verdicts.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::pending::AskResult;

/// Counters of the engine; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    verdicts: Family<Source, Counter>,
    /// Cached verdicts that were valid for every row.
    pub(super) kept: Counter,
    /// Cached verdicts whose stale rows were evaluated again.
    pub(super) patched: Counter,
    /// Verdicts for which every row was evaluated.
    pub(super) evaluated: Counter,
    /// Cached verdicts and conjunctions evicted from a full store.
    pub(super) evicted: Counter,
    /// Bytes of cached verdicts and conjunctions.
    pub(super) kept_bytes: Gauge,
    /// Cached verdicts that differ from a fresh evaluation.
    pub(super) contradicted: Counter,
    /// Facts of explanations that the verdicts contradict.
    pub(super) contradicted_facts: Counter,
    answers: Family<Answered, Counter>,
    /// By the order of [`AskResult::ALL`].
    by_result: [Counter; AskResult::ALL.len()],
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    result: &'static str,
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
        let answers = Family::<Answered, Counter>::default();
        let by_result = AskResult::ALL.map(|result| answers.get_or_create(&Answered { result: result.name() }).clone());
        Self {
            verdicts,
            kept,
            patched,
            evaluated,
            evicted: Counter::default(),
            kept_bytes: Gauge::default(),
            contradicted: Counter::default(),
            contradicted_facts: Counter::default(),
            answers,
            by_result,
        }
    }
}

impl Metrics {
    /// Counts an answer about one pod to a core.
    pub(super) fn count_answer(&self, result: AskResult) {
        if let Some(counter) = self.by_result.get(result as usize) {
            counter.inc();
        }
    }

    /// Creates the metrics and adds them to a registry.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "nodesift_verdicts",
            "Verdicts of one predicate about one pod, by source: kept (cached and valid), patched (stale rows evaluated \
             again) or evaluated (all rows evaluated)",
            metrics.verdicts.clone(),
        );
        registry.register(
            "nodesift_verdicts_evicted",
            "Cached verdicts and conjunctions evicted because the store was full",
            metrics.evicted.clone(),
        );
        registry.register_with_unit(
            "nodesift_verdicts_kept",
            "Upper bound of the memory of cached verdicts and conjunctions",
            Unit::Bytes,
            metrics.kept_bytes.clone(),
        );
        registry.register(
            "nodesift_verdicts_contradicted",
            "Cached verdicts that differ from a fresh evaluation; counted only while the comparison is enabled",
            metrics.contradicted.clone(),
        );
        registry.register(
            "nodesift_facts_contradicted",
            "Facts that were left out of answers to why a pod is pending, because the verdicts contradict them",
            metrics.contradicted_facts.clone(),
        );
        registry.register(
            "nodesift_pod_evaluations",
            "Answers about one pod to a core that is to place it, by result: fits, unschedulable or error",
            metrics.answers.clone(),
        );
        metrics
    }
}
