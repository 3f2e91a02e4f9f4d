//! What the cache holds, in numbers, looked up when somebody asks for them. Start at [`Holdings`].
//!
//! Bytes are those of the tables themselves, by their lengths: cheap to tell, and a lower bound, since texts that objects
//! share and what the allocator adds are not in them.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};

use super::{SharedWriter, Writer};
use crate::limits::{HOLDINGS_WAIT, INDEX_ENTRY_BYTES};
use crate::metadata::{Labels, PodRecord};

/// Shows what a cache holds.
pub struct Holdings {
    writer: Weak<Mutex<Writer>>,
}

impl fmt::Debug for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Holdings")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Part {
    part: &'static str,
}

impl Holdings {
    /// Makes what a cache holds part of what is scraped.
    pub fn register(writer: &SharedWriter, registry: &mut Registry) {
        registry.register_collector(Box::new(Self { writer: Arc::downgrade(writer) }));
    }
}

impl Collector for Holdings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(writer) = self.writer.upgrade() else { return Ok(()) };
        // While the cache is busy its numbers are left out: a scrape must not wait for it.
        let Some(writer) = writer.try_lock_for(HOLDINGS_WAIT) else { return Ok(()) };
        let (orphans, parts) = (writer.orphans(), writer.bytes_by_part());
        drop(writer);
        let orphans = ConstGauge::new(gauge(orphans));
        let help = "Pods bound to a node that is not known";
        orphans.encode(encoder.encode_descriptor(
            "nodesift_cache_orphan_pods",
            help,
            None,
            orphans.metric_type(),
        )?)?;
        let bytes = Family::<Part, Gauge>::default();
        for (part, count) in parts {
            bytes.get_or_create(&Part { part }).set(gauge(count));
        }
        let help = "Memory of the cache's tables by their lengths, without what they refer to together";
        bytes.encode(encoder.encode_descriptor("nodesift_cache", help, Some(&Unit::Bytes), MetricType::Gauge)?)
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Writer {
    /// How many pods are bound to nodes that are not known.
    fn orphans(&self) -> usize {
        let unknown = self.pods_by_node.iter().filter(|(node, _)| self.nodes.row(node).is_none());
        unknown.map(|(_, pods)| pods.len()).sum()
    }

    /// Bytes of each part, at least.
    fn bytes_by_part(&self) -> [(&'static str, usize); 4] {
        let (rows, pods) = (self.nodes.len(), self.pods.len());
        let resources = self.nodes.resources.len() * 3 * size_of::<i64>();
        // Names and labels refer to texts; classes and volumes to lists; the rest are four codes, a flag and four numbers.
        let references = size_of::<Arc<str>>() + size_of::<Labels>() + 2 * size_of::<Arc<()>>();
        let row = references + resources + 4 * size_of::<u32>() + size_of::<u8>() + 4 * size_of::<i64>();
        [
            ("columns", rows * row),
            ("label_columns", self.nodes.label_columns.built_count() * rows * size_of::<u32>()),
            ("counts", self.counts.maintained_count() * rows * size_of::<u32>()),
            ("pods", pods * (size_of::<PodRecord>() + 2 * INDEX_ENTRY_BYTES)),
        ]
    }
}
