//! Memory stats: sizes of the cache as metrics, read when metrics are scraped. Start at [`MemoryStats`].
//!
//! Bytes are computed from the lengths of the tables: cheap, and a lower bound, since texts that objects share and the
//! overhead of the allocator are not in them.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};

use crate::limits::{INDEX_ENTRY_BYTES, MEMORY_STATS_WAIT};
use crate::metadata::PodRecord;
use crate::write::{SharedWriter, Writer};

/// Sizes of a cache, as a collector of metrics.
pub struct MemoryStats {
    writer: Weak<Mutex<Writer>>,
}

impl fmt::Debug for MemoryStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStats")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Part {
    part: &'static str,
}

impl MemoryStats {
    /// Registers the sizes of a cache.
    pub fn register(writer: &SharedWriter, registry: &mut Registry) {
        registry.register_collector(Box::new(Self { writer: Arc::downgrade(writer) }));
    }
}

impl Collector for MemoryStats {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(writer) = self.writer.upgrade() else { return Ok(()) };
        // While the writer is locked for longer the metrics are left out: a scrape must not wait for it.
        let Some(writer) = writer.try_lock_for(MEMORY_STATS_WAIT) else { return Ok(()) };
        let (devices, in_use) = writer.device_counts();
        let counts = [
            ("nodesift_cache_orphan_pods", "Pods bound to a node that the cache does not hold", writer.orphan_count()),
            ("nodesift_cache_devices", "Devices of the ResourceSlices in the cache", devices),
            (
                "nodesift_cache_devices_in_use",
                "Devices that claims hold or have shares of, those in flight included",
                in_use,
            ),
        ];
        let parts = bytes_by_part(&writer);
        drop(writer);
        for (name, help, count) in counts {
            let count = ConstGauge::new(gauge(count));
            count.encode(encoder.encode_descriptor(name, help, None, count.metric_type())?)?;
        }
        let bytes = Family::<Part, Gauge>::default();
        for (part, count) in parts {
            bytes.get_or_create(&Part { part }).set(gauge(count));
        }
        let help = "Bytes of the cache's tables by their lengths, without shared texts";
        bytes.encode(encoder.encode_descriptor("nodesift_cache", help, Some(&Unit::Bytes), MetricType::Gauge)?)
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Bytes of each part of a cache, at least.
fn bytes_by_part(writer: &Writer) -> [(&'static str, usize); 10] {
    let (columns, label_columns, counts) = writer.table_bytes();
    let (devices, claims) = writer.device_bytes();
    let pod = size_of::<PodRecord>() + 2 * INDEX_ENTRY_BYTES;
    [
        ("columns", columns),
        ("label_columns", label_columns),
        ("counts", counts),
        ("pods", writer.pods().len() * pod),
        ("pending", writer.pods().pending_bytes()),
        ("pending_objects", writer.pods().object_bytes()),
        ("devices", devices),
        ("claims", claims),
        ("parties", writer.party_bytes()),
        ("events", writer.event_bytes()),
    ]
}
