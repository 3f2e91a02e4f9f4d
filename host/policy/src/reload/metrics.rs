//! Metrics of reloads. Start at [`Metrics::register`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use nodesift_engine::Engine;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};

use crate::activate::Made;

/// Counters of reloads; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    reloads: Family<ByResult, Counter>,
    last: Gauge<f64, AtomicU64>,
    is_last_good: Gauge,
    predicates: Family<ByOrigin, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOrigin {
    from: &'static str,
}

const ACTIVE: ByResult = ByResult { result: "active" };
const REFUSED: ByResult = ByResult { result: "refused" };
const ROLLED_BACK: ByResult = ByResult { result: "rolledBack" };

impl Default for Metrics {
    fn default() -> Self {
        let (reloads, last, is_last_good) = (Family::default(), Gauge::default(), Gauge::default());
        let metrics = Self { reloads, last, is_last_good, predicates: Family::default() };
        metrics.is_last_good.set(1);
        // Shown as 0 from the beginning.
        for result in [ACTIVE, REFUSED, ROLLED_BACK] {
            drop(metrics.reloads.get_or_create(&result));
        }
        metrics.count(Made::default());
        metrics
    }
}

impl Metrics {
    /// Creates the metrics and adds them to a registry, with the generation of the engine's policy.
    pub fn register(engine: &Arc<Engine>, registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_collector(Box::new(Generation(Arc::downgrade(engine))));
        let help = "Reloads of the policy, by result: active, refused, which leaves the policy before active, or rolledBack to it";
        registry.register("nodesift_policy_reloads", help, metrics.reloads.clone());
        let help = "Time of the last reload, whatever its result, since 1970; 0 where there was none";
        registry.register_with_unit("nodesift_policy_last_reload_timestamp", help, Unit::Seconds, metrics.last.clone());
        let help = "1 if the last reload made its policy active, or there was none; 0 if it was refused or rolled back";
        registry.register("nodesift_policy_last_reload_successful", help, metrics.is_last_good.clone());
        let help = "Predicates of policies that became active by a reload, by where they come from: kept (unchanged), relinked \
                    (compiled code used again) or compiled";
        registry.register("nodesift_policy_predicates", help, metrics.predicates.clone());
        metrics
    }

    pub(super) fn active(&self, made: Made, at: SystemTime) {
        self.reloads.get_or_create(&ACTIVE).inc();
        self.is_last_good.set(1);
        self.count(made);
        self.note(at);
    }

    pub(super) fn refused(&self, at: SystemTime) {
        self.reloads.get_or_create(&REFUSED).inc();
        self.is_last_good.set(0);
        self.note(at);
    }

    pub(super) fn rolled_back(&self, at: SystemTime) {
        self.reloads.get_or_create(&ROLLED_BACK).inc();
        self.is_last_good.set(0);
        self.note(at);
    }

    fn count(&self, made: Made) {
        for (from, count) in [("kept", made.kept), ("relinked", made.relinked), ("compiled", made.compiled)] {
            self.predicates.get_or_create(&ByOrigin { from }).inc_by(u64::try_from(count).unwrap_or(u64::MAX));
        }
    }

    fn note(&self, at: SystemTime) {
        self.last.set(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
    }
}

/// The generation of the active policy, whether it was remembered, and the version of Kubernetes that it follows.
#[derive(Debug)]
struct Generation(std::sync::Weak<Engine>);

impl Collector for Generation {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(engine) = self.0.upgrade() else { return Ok(()) };
        let active = engine.policy();
        let remembered = ConstGauge::new(i64::from(active.origin.is_remembered));
        let help = "1 while the active policy is the last good one of an earlier process, because the one that is named is broken";
        remembered.encode(encoder.encode_descriptor("nodesift_policy_remembered", help, None, MetricType::Gauge)?)?;
        let generation = ConstGauge::new(i64::try_from(active.generation).unwrap_or(i64::MAX));
        let help = "Generation of the active policy: 1 at the start, and one more with each that becomes active";
        generation.encode(encoder.encode_descriptor("nodesift_policy_generation", help, None, MetricType::Gauge)?)?;
        let kubernetes = &active.settings.kubernetes;
        let help = "1: the version of Kubernetes whose verdicts are given, where it was taken from, and that of the API server where it \
                    is followed";
        let mut metric =
            encoder.encode_descriptor("nodesift_kubernetes_version_info", help, None, MetricType::Gauge)?;
        let labels = [
            ("version", &*kubernetes.version),
            ("origin", kubernetes.origin.as_str()),
            ("server", kubernetes.origin.server().unwrap_or_default()),
        ];
        ConstGauge::new(1_i64).encode(metric.encode_family(&labels)?)
    }
}
