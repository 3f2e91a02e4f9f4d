//! What the feed tells about itself. Labels are kinds of objects and names of actions: a few dozen series, whatever the
//! cluster.

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::Shared;
use super::queue::Work;
use nodesift_object::Kind;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Event {
    kind: &'static str,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Action {
    Applied,
    Removed,
    Healed,
    Again,
}

/// Counters of one feed; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    events: Family<Event, Counter>,
    objects: Family<OfKind, Gauge>,
    pub(super) merged: Counter,
    pub(super) stale: Counter,
    pub(super) unordered: Counter,
    pub(super) errors: Counter,
    pub(super) panics: Counter,
    pub(super) published: Counter,
    pub(super) retrying: Gauge,
    pub(super) duration: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            events: Family::default(),
            objects: Family::default(),
            merged: Counter::default(),
            stale: Counter::default(),
            unordered: Counter::default(),
            errors: Counter::default(),
            panics: Counter::default(),
            published: Counter::default(),
            retrying: Gauge::default(),
            // 250 ns to 65 ms: an event takes a microsecond, removing a full node some hundred.
            duration: Histogram::new(exponential_buckets(250e-9, 4.0, 10)),
        }
    }
}

impl Metrics {
    /// Metrics that show up in a registry.
    pub fn register(registry: &mut Registry) -> Self {
        let all = Self::default();
        registry.register("nodesift_feed_events", "Events reconciled with success", all.events.clone());
        registry.register("nodesift_feed_objects", "Objects held in the cache", all.objects.clone());
        registry.register(
            "nodesift_feed_merged_events",
            "Events that a later event of the same object, or a whole list, stood for",
            all.merged.clone(),
        );
        registry.register(
            "nodesift_feed_stale_events",
            "Events dropped because the same or a newer state was known",
            all.stale.clone(),
        );
        registry.register(
            "nodesift_feed_unordered_events",
            "Events whose version could not be compared, applied in the order of arrival",
            all.unordered.clone(),
        );
        registry.register("nodesift_feed_errors", "Tries to reconcile an object that failed", all.errors.clone());
        registry.register("nodesift_feed_panics", "Tries to reconcile that panicked", all.panics.clone());
        registry.register("nodesift_feed_published", "Snapshots published by the feed", all.published.clone());
        registry.register(
            "nodesift_feed_retrying_objects",
            "Objects that wait to be tried again",
            all.retrying.clone(),
        );
        registry.register(
            "nodesift_feed_reconcile_duration_seconds",
            "Time to reconcile one object",
            all.duration.clone(),
        );
        all
    }

    /// An event has been reconciled.
    pub(super) fn applied(&self, work: &Work) {
        let (kind, action) = match work {
            Work::Applied(object) => (object.identity.kind, Action::Applied),
            Work::Gone(gone) => (gone.kind, Action::Removed),
            Work::Healed(object) => (object.identity.kind, Action::Healed),
            Work::Again((kind, _)) => (*kind, Action::Again),
        };
        self.events.get_or_create(&Event { kind: kind.name(), action }).inc();
    }

    pub(super) fn set_objects(&self, kind: Kind, count: i64) {
        self.objects.get_or_create(&OfKind { kind: kind.name() }).set(count);
    }
}

/// How far a feed is behind, looked up when somebody asks: a feed that hangs could not say so itself.
struct BacklogGauges {
    shared: Weak<Shared>,
}

impl fmt::Debug for BacklogGauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BacklogGauges")
    }
}

impl Collector for BacklogGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let backlog = self.shared.upgrade().map(|shared| shared.backlog()).unwrap_or_default();
        let objects = ConstGauge::new(i64::try_from(backlog.objects).unwrap_or(i64::MAX));
        let help = "Objects that wait to be reconciled";
        objects.encode(encoder.encode_descriptor(
            "nodesift_feed_queued_objects",
            help,
            None,
            objects.metric_type(),
        )?)?;
        let age = ConstGauge::new(backlog.age.as_secs_f64());
        let help = "For how long the oldest object that waits has waited";
        age.encode(encoder.encode_descriptor("nodesift_feed_queue_age_seconds", help, None, age.metric_type())?)
    }
}

pub(super) fn register_backlog(registry: &mut Registry, shared: &Arc<Shared>) {
    registry.register_collector(Box::new(BacklogGauges { shared: Arc::downgrade(shared) }));
}
