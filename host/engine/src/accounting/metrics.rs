//! Metrics of the accounting component, read at every scrape: calls, quarantine, and those sums of nodes that the policy lists. Start at
//! [`register`].

use std::fmt;
use std::sync::{Arc, Weak};

use nodesift_cache::Row;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::Engine;
use crate::limits::NODE_SUM_SERIES;

/// Adds the metrics of an engine's accounting component to a registry. They do not keep the engine alive.
pub fn register(engine: &Arc<Engine>, registry: &mut Registry) {
    registry.register_collector(Box::new(OfAccounting(Arc::downgrade(engine))));
}

struct OfAccounting(Weak<Engine>);

impl fmt::Debug for OfAccounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OfAccounting")
    }
}

impl Collector for OfAccounting {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(engine) = self.0.upgrade() else { return Ok(()) };
        let policy = engine.policy();
        let Some(accounting) = &policy.accounting else { return Ok(()) };
        let help = "Pods and nodes about which the accounting component was called";
        let calls = ConstCounter::new(accounting.calls());
        calls.encode(encoder.encode_descriptor("nodesift_accounting_calls", help, None, calls.metric_type())?)?;
        let help = "1 while the accounting component is in quarantine: it fails for everything, and is hardly called";
        let quarantined = ConstGauge::new(i64::from(accounting.quarantine().is_some()));
        let metric =
            encoder.encode_descriptor("nodesift_accounting_quarantined", help, None, quarantined.metric_type())?;
        quarantined.encode(metric)?;
        let names = &accounting.settings().gauges;
        if names.is_empty() {
            return Ok(());
        }
        let snapshot = engine.snapshot();
        let help = "A sum of the accounting component over a node and its pods, of those that the policy lists";
        let mut metric = encoder.encode_descriptor("nodesift_node_sum", help, None, MetricType::Gauge)?;
        let columns = names.iter().filter_map(|name| Some((name, snapshot.named_sum(name)?)));
        let cells = columns.flat_map(|(name, column)| column.iter().zip((0..).map(Row)).map(move |cell| (name, cell)));
        for (name, (sum, row)) in cells.take(NODE_SUM_SERIES) {
            let labels = [("node", snapshot.node_name(row)), ("sum", name.as_str())];
            ConstGauge::new(*sum).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
