//! Counters of the reflectors. Every label has a closed set of values.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::failure::Failure;
use super::kinds::Resource;
use super::reflector::state::{End, RelistReason};
use crate::freshness::Freshness;

type ByKind = Family<[(&'static str, &'static str); 1], Counter>;
type ByKindAnd = Family<[(&'static str, &'static str); 2], Counter>;

/// Counters of all kinds; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    lists: ByKind,
    relists: ByKindAnd,
    watches: ByKindAnd,
    events: ByKindAnd,
    unreadable: ByKind,
    failures: ByKindAnd,
    unordered: ByKindAnd,
}

impl Metrics {
    /// Shows the counters in a registry, with a gauge of the freshness of every watched kind.
    #[must_use]
    pub fn registered(self, registry: &mut Registry, freshness: &Freshness) -> Self {
        let metrics = self;
        registry.register("nodesift_kube_lists", "Complete lists delivered, by kind", metrics.lists.clone());
        registry.register("nodesift_kube_relists", "Relists, by kind and reason", metrics.relists.clone());
        registry.register(
            "nodesift_kube_watches",
            "Watches that ended, by kind and how they ended",
            metrics.watches.clone(),
        );
        registry.register("nodesift_kube_events", "Watch events, by kind and type", metrics.events.clone());
        registry.register(
            "nodesift_kube_unreadable_objects",
            "Objects in lists and watch events that do not decode, by kind",
            metrics.unreadable.clone(),
        );
        registry.register(
            "nodesift_kube_failures",
            "Requests that failed, by kind and class: denied points to RBAC, transport to the network",
            metrics.failures.clone(),
        );
        registry.register(
            "nodesift_kube_unordered_versions",
            "Watch events whose resourceVersion went back or cannot be compared",
            metrics.unordered.clone(),
        );
        registry.register_collector(Box::new(FreshnessGauge(freshness.clone())));
        metrics
    }

    pub(super) fn list(&self, resource: impl Into<Resource>) {
        self.lists.get_or_create(&[kind_label(resource)]).inc();
    }

    pub(super) fn relist(&self, resource: impl Into<Resource>, reason: RelistReason) {
        self.relists.get_or_create(&[kind_label(resource), ("reason", reason.name())]).inc();
    }

    pub(super) fn watch(&self, resource: impl Into<Resource>, end: &End) {
        let how = match end {
            End::Orderly => "orderly",
            End::Cut(_) => "cut",
            End::Silent => "silent",
            End::Failed(_) => "failed",
            End::Lagging => "lagging",
        };
        self.watches.get_or_create(&[kind_label(resource), ("end", how)]).inc();
    }

    pub(super) fn event(&self, resource: impl Into<Resource>, event: &'static str) {
        self.events.get_or_create(&[kind_label(resource), ("type", event)]).inc();
    }

    pub(super) fn unreadable(&self, resource: impl Into<Resource>) {
        self.unreadable.get_or_create(&[kind_label(resource)]).inc();
    }

    pub(super) fn failure(&self, resource: impl Into<Resource>, failure: &Failure) {
        self.failures.get_or_create(&[kind_label(resource), ("class", failure.class())]).inc();
    }

    pub(super) fn unordered(&self, resource: impl Into<Resource>, how: &'static str) {
        self.unordered.get_or_create(&[kind_label(resource), ("how", how)]).inc();
    }
}

/// Values of counters, for tests.
#[cfg(test)]
impl Metrics {
    pub(super) fn unreadable_count(&self, resource: impl Into<Resource>) -> u64 {
        self.unreadable.get_or_create(&[kind_label(resource)]).get()
    }

    pub(super) fn unordered_count(&self, resource: impl Into<Resource>, how: &'static str) -> u64 {
        self.unordered.get_or_create(&[kind_label(resource), ("how", how)]).get()
    }

    pub(super) fn failure_count(&self, resource: impl Into<Resource>, class: &'static str) -> u64 {
        self.failures.get_or_create(&[kind_label(resource), ("class", class)]).get()
    }
}

fn kind_label(resource: impl Into<Resource>) -> (&'static str, &'static str) {
    ("kind", resource.into().plural)
}

/// Shows per kind how long ago the cache was confirmed to be current.
#[derive(Debug)]
struct FreshnessGauge(Freshness);

impl Collector for FreshnessGauge {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let ages = self.0.ages();
        if ages.is_empty() {
            return Ok(());
        }
        let help = "Seconds since the server last confirmed that the cache is current, by kind";
        let kind = prometheus_client::metrics::MetricType::Gauge;
        let mut family = encoder.encode_descriptor("nodesift_kube_silence_seconds", help, None, kind)?;
        for (kind, age) in ages {
            let labels = [kind_label(kind)];
            ConstGauge::new(age.as_secs_f64()).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use nodesift_object::Kind;

    use super::*;

    #[test]
    fn counters_and_freshness_are_shown_by_kind() {
        let (mut registry, freshness) = (Registry::default(), Freshness::default());
        let metrics = Metrics::default().registered(&mut registry, &freshness);
        metrics.relist(Kind::Pod, RelistReason::Expired);
        metrics.watch(Kind::Node, &End::Silent);
        freshness.confirm_at(Kind::Pod, tokio::time::Instant::now());
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "nodesift_kube_relists_total{kind=\"pods\",reason=\"expired\"} 1",
            "nodesift_kube_watches_total{kind=\"nodes\",end=\"silent\"} 1",
            "nodesift_kube_silence_seconds{kind=\"pods\"} ",
        ] {
            assert!(text.lines().any(|shown| shown.starts_with(line)), "{line} is not in\n{text}");
        }
    }
}
