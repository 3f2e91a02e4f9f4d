//! Counters of the feed. Labels are kinds of objects and names of actions: a few dozen series for any cluster.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::change::ObjectChange;
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

/// The values of the label `action`: dashboards know them by these names.
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
    pub(super) unaccounted: Gauge,
    pub(super) duration: Histogram,
    /// Of the oldest change of each batch.
    pub(super) lag: Histogram,
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
            unaccounted: Gauge::default(),
            // 250 ns to 65 ms: most changes take a microsecond, removing a full node some hundred.
            duration: Histogram::new(exponential_buckets(250e-9, 4.0, 10)),
            // 1 ms, most of which is waiting for others of the same moment, to 16 s.
            lag: Histogram::new(exponential_buckets(1e-3, 4.0, 8)),
        }
    }
}

impl Metrics {
    /// Counters that a registry shows.
    pub fn register(registry: &mut Registry) -> Self {
        let all = Self::default();
        registry.register(
            "nodesift_feed_events",
            "Changes of objects applied with success, by kind and action",
            all.events.clone(),
        );
        registry.register("nodesift_feed_objects", "Objects held in the cache, by kind", all.objects.clone());
        registry.register(
            "nodesift_feed_merged_events",
            "Changes replaced in the queue by a later change of the same object or by a list",
            all.merged.clone(),
        );
        registry.register(
            "nodesift_feed_stale_events",
            "Changes dropped because the same or a newer resourceVersion was known",
            all.stale.clone(),
        );
        registry.register(
            "nodesift_feed_unordered_events",
            "Changes whose resourceVersion could not be compared, applied in the order of arrival",
            all.unordered.clone(),
        );
        registry.register(
            "nodesift_feed_errors",
            "Attempts to apply a change that failed with an error",
            all.errors.clone(),
        );
        registry.register("nodesift_feed_panics", "Attempts to apply or publish that panicked", all.panics.clone());
        registry.register("nodesift_feed_published", "Snapshots published by the feed", all.published.clone());
        registry.register(
            "nodesift_feed_retrying_objects",
            "Objects whose change failed and waits for a retry",
            all.retrying.clone(),
        );
        registry.register(
            "nodesift_feed_unaccounted_objects",
            "Pods and nodes of which no account is known, and about which the accounting component is asked again",
            all.unaccounted.clone(),
        );
        registry.register(
            "nodesift_feed_reconcile_duration_seconds",
            "Time to apply one change of an object",
            all.duration.clone(),
        );
        registry.register(
            "nodesift_feed_lag_seconds",
            "Time from the arrival of the oldest change of a batch to the snapshot that shows the batch",
            all.lag.clone(),
        );
        all
    }

    /// A change has been applied.
    pub(super) fn applied(&self, change: &ObjectChange) {
        let (kind, action) = match change {
            ObjectChange::Applied(object) => (object.identity.kind, Action::Applied),
            ObjectChange::Deleted(deleted) => (deleted.kind, Action::Removed),
            ObjectChange::Repaired(object) => (object.identity.kind, Action::Healed),
            ObjectChange::Requeued((kind, _)) => (*kind, Action::Again),
        };
        self.events.get_or_create(&Event { kind: kind.name(), action }).inc();
    }

    pub(super) fn set_objects(&self, kind: Kind, count: i64) {
        self.objects.get_or_create(&OfKind { kind: kind.name() }).set(count);
    }
}
