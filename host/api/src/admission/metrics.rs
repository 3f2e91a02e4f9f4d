//! Metrics of the API's own load: requests by call, in flight and refused, and evaluations that run.

use std::time::Instant;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::requests::Requests;
use nodesift_edge::intake::IntakeMetrics;

/// Counters of the API; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Requests whose handlers run.
    pub(crate) in_flight: Gauge,
    /// Evaluations that run. One runs to its end even when its client has left.
    pub(crate) evaluations: Gauge,
    /// Requests that a panic of this program has ended, and responses while they were sent.
    pub(crate) panics: Counter,
    /// Requests that got no evaluation slot in time.
    pub(super) refused: Counter,
    /// Waits for evaluation slots, in vain or not.
    pub(super) slot_wait: SlotWait,
    /// Requests that have ended.
    pub(crate) requests: Requests,
    /// Memory that requests hold.
    pub(crate) intake: IntakeMetrics,
}

impl Metrics {
    /// Metrics that a registry exposes.
    pub fn register(registry: &mut Registry) -> Self {
        let intake = IntakeMetrics::register(registry);
        let metrics = Self { intake, ..Self::default() };
        let help = "Requests in flight, the scrape of this metric included";
        registry.register("nodesift_api_requests_in_flight", help, metrics.in_flight.clone());
        registry.register("nodesift_api_evaluations", "Evaluations running", metrics.evaluations.clone());
        let help = "Requests and responses ended by a panic of the sidecar, which is a defect: see its log";
        registry.register("nodesift_api_panics", help, metrics.panics.clone());
        let help = "Requests refused because no evaluation slot would have become free in time";
        registry.register("nodesift_api_requests_refused", help, metrics.refused.clone());
        let help = "Time for which requests that need an evaluation waited for a slot, refused ones included";
        registry.register_with_unit("nodesift_api_slot_wait", help, Unit::Seconds, metrics.slot_wait.0.clone());
        metrics.requests.register(registry);
        metrics
    }

    /// Returns gauges of bytes that `holder` keeps for clients of the Unix socket and of TCP, beside those of requests.
    pub fn held_by(&self, holder: &'static str) -> [Gauge; 2] {
        ["unix", "tcp"].map(|listener| self.intake.budget(listener, holder).held)
    }
}

/// Times of waits for evaluation slots.
#[derive(Debug, Clone)]
pub(super) struct SlotWait(Histogram);

impl Default for SlotWait {
    /// From 25 µs, a slot that is free, to 1.6 s, more than the queue lets a request wait.
    fn default() -> Self {
        Self(Histogram::new(exponential_buckets(25e-6, 4.0, 9)))
    }
}

impl SlotWait {
    /// Notes the wait of a request that began to wait then.
    pub(super) fn ended(&self, began: Instant) {
        self.0.observe(began.elapsed().as_secs_f64());
    }
}

/// Counts one in a gauge until dropped.
#[derive(Debug)]
pub(crate) struct Counted(Gauge);

impl Counted {
    pub(crate) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
