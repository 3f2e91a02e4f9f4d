//! What is counted of following an API server. Every label has a closed set of values.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::failure::Failure;
use super::kinds::Resource;
use super::state::{End, Reason};
use crate::freshness::Freshness;
use nodesift_object::Kind;

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
    /// Counters that a registry shows, and beside them the silence of every kind that is followed.
    pub fn register(registry: &mut Registry, freshness: &Freshness) -> Self {
        let metrics = Self::default();
        registry.register("nodesift_kube_lists", "Whole lists delivered", metrics.lists.clone());
        registry.register("nodesift_kube_relists", "Lists begun anew, by reason", metrics.relists.clone());
        registry.register("nodesift_kube_watches", "Watches that ended, by how", metrics.watches.clone());
        registry.register("nodesift_kube_events", "Events of watches, by type", metrics.events.clone());
        registry.register(
            "nodesift_kube_unreadable_objects",
            "Objects read from the server that cannot be decoded and are kept out",
            metrics.unreadable.clone(),
        );
        registry.register(
            "nodesift_kube_failures",
            "Requests that failed, by class: denied asks for permissions, transport for the network",
            metrics.failures.clone(),
        );
        registry.register(
            "nodesift_kube_unordered_versions",
            "Resource versions that went back, or that cannot be compared",
            metrics.unordered.clone(),
        );
        registry.register_collector(Box::new(Silence(freshness.clone())));
        metrics
    }

    pub(super) fn list(&self, kind: Kind) {
        self.lists.get_or_create(&[of(kind)]).inc();
    }

    pub(super) fn relist(&self, kind: Kind, reason: Reason) {
        self.relists.get_or_create(&[of(kind), ("reason", reason.name())]).inc();
    }

    pub(super) fn watch(&self, kind: Kind, end: &End) {
        let how = match end {
            End::Orderly => "orderly",
            End::Cut(_) => "cut",
            End::Silent => "silent",
            End::Failed(_) => "failed",
        };
        self.watches.get_or_create(&[of(kind), ("end", how)]).inc();
    }

    pub(super) fn event(&self, kind: Kind, event: &'static str) {
        self.events.get_or_create(&[of(kind), ("type", event)]).inc();
    }

    pub(super) fn unreadable(&self, kind: Kind) {
        self.unreadable.get_or_create(&[of(kind)]).inc();
    }

    pub(super) fn failure(&self, kind: Kind, failure: &Failure) {
        self.failures.get_or_create(&[of(kind), ("class", failure.class())]).inc();
    }

    pub(super) fn unordered(&self, kind: Kind, how: &'static str) {
        self.unordered.get_or_create(&[of(kind), ("how", how)]).inc();
    }
}

/// What tests look at.
#[cfg(test)]
impl Metrics {
    pub(super) fn unreadable_count(&self, kind: Kind) -> u64 {
        self.unreadable.get_or_create(&[of(kind)]).get()
    }

    pub(super) fn unordered_count(&self, kind: Kind, how: &'static str) -> u64 {
        self.unordered.get_or_create(&[of(kind), ("how", how)]).get()
    }

    pub(super) fn failure_count(&self, kind: Kind, class: &'static str) -> u64 {
        self.failures.get_or_create(&[of(kind), ("class", class)]).get()
    }
}

fn of(kind: Kind) -> (&'static str, &'static str) {
    ("kind", Resource::of(kind).plural)
}

/// Shows per kind for how long nothing has been heard.
#[derive(Debug)]
struct Silence(Freshness);

impl Collector for Silence {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let silences = self.0.silences();
        if silences.is_empty() {
            return Ok(());
        }
        let help = "Seconds since the server has shown that nothing of the kind is missing here";
        let kind = prometheus_client::metrics::MetricType::Gauge;
        let mut family = encoder.encode_descriptor("nodesift_kube_silence_seconds", help, None, kind)?;
        for (kind, silence) in silences {
            let labels = [of(kind)];
            ConstGauge::new(silence.as_secs_f64()).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_silences_are_shown_by_kind() {
        let (mut registry, freshness) = (Registry::default(), Freshness::default());
        let metrics = Metrics::register(&mut registry, &freshness);
        metrics.relist(Kind::Pod, Reason::Expired);
        metrics.watch(Kind::Node, &End::Silent);
        freshness.heard(Kind::Pod);
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
