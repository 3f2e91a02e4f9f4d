//! Gauges of the queue, read when metrics are scraped: a worker that hangs could not update them.

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::intake::Shared;

/// Adds the gauges of a feed to a registry. They do not keep the feed alive.
pub(super) fn register(registry: &mut Registry, shared: &Arc<Shared>) {
    registry.register_collector(Box::new(BacklogGauges { shared: Arc::downgrade(shared) }));
}

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
        let help = "Objects that wait in the feed's queue, those of lists included";
        objects.encode(encoder.encode_descriptor(
            "nodesift_feed_queued_objects",
            help,
            None,
            objects.metric_type(),
        )?)?;
        let age = ConstGauge::new(backlog.age.as_secs_f64());
        let help = "Seconds that the oldest change in the feed has waited";
        age.encode(encoder.encode_descriptor("nodesift_feed_queue_age_seconds", help, None, age.metric_type())?)
    }
}
