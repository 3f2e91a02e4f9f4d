//! Metrics of the list of pending pods, read when metrics are scraped. They are there once a list is, with every cause and every
//! predicate of the active policy, and no other label: no number of pods or nodes adds a series. Start at [`register`].

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::list::Listed;
use crate::{ActivePolicy, Engine};

/// Exposes the list of pending pods of an engine for as long as the engine exists.
pub fn register(engine: &Arc<Engine>, registry: &mut Registry) {
    registry.register_collector(Box::new(PendingPods(Arc::downgrade(engine))));
}

#[derive(Debug)]
struct PendingPods(Weak<Engine>);

impl Collector for PendingPods {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(engine) = self.0.upgrade() else { return Ok(()) };
        let Some(listed) = engine.pending().listed() else { return Ok(()) };
        encode(&listed, &engine.policy(), encoder)
    }
}

fn encode(listed: &Listed, policy: &ActivePolicy, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Pods without a node that events show, by the first cause that holds";
    let mut metric = encoder.encode_descriptor("nodesift_pending_pods", help, None, MetricType::Gauge)?;
    for (cause, of_cause) in listed.causes() {
        ConstGauge::new(gauge(of_cause.count)).encode(metric.encode_family(&[("cause", cause.name())])?)?;
    }
    let help =
        "Pods that fit no node, by predicates that are the first to reject some node; a pod counts for each of them";
    let mut metric = encoder.encode_descriptor("nodesift_unschedulable_pods", help, None, MetricType::Gauge)?;
    for predicate in &policy.predicates {
        let pods = listed.totals.rejected.get(&predicate.name).copied().unwrap_or(0);
        ConstGauge::new(gauge(pods)).encode(metric.encode_family(&[("predicate", &*predicate.name)])?)?;
    }
    let help =
        "Time at which the oldest pod with a cause was created, in seconds since 1970; only where there is a pod";
    let unit = Some(&Unit::Seconds);
    let mut metric =
        encoder.encode_descriptor("nodesift_pending_pod_oldest_timestamp", help, unit, MetricType::Gauge)?;
    for (cause, of_cause) in listed.causes() {
        if let Some(oldest) = of_cause.oldest {
            ConstGauge::new(oldest).encode(metric.encode_family(&[("cause", cause.name())])?)?;
        }
    }
    let help =
        "Time since every pod of the list of pending pods was looked at, which the metrics by cause are counted from";
    let metric = encoder.encode_descriptor("nodesift_pending_list_age", help, unit, MetricType::Gauge)?;
    ConstGauge::new(listed.age().as_secs_f64()).encode(metric)?;
    let help = "Pending pods that are not in the list: it has no room for them, or comes to them for the first time";
    let metric = encoder.encode_descriptor("nodesift_pending_pods_unlisted", help, None, MetricType::Gauge)?;
    ConstGauge::new(gauge(listed.unlisted)).encode(metric)
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
