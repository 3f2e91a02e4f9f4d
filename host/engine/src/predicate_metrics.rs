//! Metrics of each predicate: its calls, their rows and time, and its faults by kind.
//!
//! Only the predicates of the active policy are exposed, so the policy bounds the label set. A reload keeps the counts of
//! predicates that it does not change, and starts the others at zero. Start at [`PredicateCounts::count`] and [`register`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use nodesift_sandbox::fault::FaultKind;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::{ActivePolicy, ActivePredicate, Engine};

/// The calls of one predicate.
#[derive(Debug)]
pub struct PredicateCounts {
    calls: Counter,
    rows: Counter,
    time: Histogram,
    faults: Mutex<BTreeMap<&'static str, u64>>,
}

impl Default for PredicateCounts {
    fn default() -> Self {
        Self {
            calls: Counter::default(),
            rows: Counter::default(),
            // From 4 µs to 262 ms: a built-in takes some ten microseconds, the default budget of a call is 100 ms.
            time: Histogram::new(exponential_buckets(4e-6, 4.0, 9)),
            faults: Mutex::default(),
        }
    }
}

impl PredicateCounts {
    /// Calls so far, cached verdicts not included.
    pub fn calls(&self) -> u64 {
        self.calls.get()
    }

    /// Rows of all calls.
    pub fn rows(&self) -> u64 {
        self.rows.get()
    }

    /// Calls that ended in a fault, by the name of its kind.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        self.faults.lock().clone()
    }

    /// Counts a call over `rows` rows.
    pub(crate) fn count(&self, rows: u32, time: Duration, fault: Option<FaultKind>) {
        self.calls.inc();
        self.rows.inc_by(u64::from(rows));
        if let Some(kind) = fault {
            *self.faults.lock().entry(kind.name()).or_default() += 1;
        }
        // A call that was refused did not run.
        if !matches!(fault, Some(FaultKind::Quarantined | FaultKind::Overloaded | FaultKind::RequestDeadline)) {
            self.time.observe(time.as_secs_f64());
        }
    }
}

/// Exposes the predicates of the engine's active policy for as long as the engine exists.
pub fn register(engine: &Arc<Engine>, registry: &mut Registry) {
    registry.register_collector(Box::new(Predicates(Arc::downgrade(engine))));
}

#[derive(Debug)]
struct Predicates(Weak<Engine>);

impl Collector for Predicates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(engine) = self.0.upgrade() else { return Ok(()) };
        encode(&engine.policy(), &mut encoder)
    }
}

fn encode(policy: &ActivePolicy, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Calls of a predicate; cached verdicts need none";
    let metric = encoder.encode_descriptor("nodesift_predicate_calls", help, None, MetricType::Counter)?;
    each(policy, metric, |predicate, metric| predicate.counts.calls.encode(metric))?;
    let help = "Rows of all calls of a predicate";
    let metric = encoder.encode_descriptor("nodesift_predicate_rows", help, None, MetricType::Counter)?;
    each(policy, metric, |predicate, metric| predicate.counts.rows.encode(metric))?;
    let help = "Time of one call of a predicate that ran";
    let unit = Some(&Unit::Seconds);
    let metric = encoder.encode_descriptor("nodesift_predicate_duration", help, unit, MetricType::Histogram)?;
    each(policy, metric, |predicate, metric| predicate.counts.time.encode(metric))?;
    let help = "Calls of a predicate that ended in a fault, by its kind";
    let mut metric = encoder.encode_descriptor("nodesift_predicate_faults", help, None, MetricType::Counter)?;
    for predicate in &policy.predicates {
        for (kind, count) in &*predicate.counts.faults.lock() {
            let labels = [("predicate", &*predicate.name), ("fault", *kind)];
            ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn each(
    policy: &ActivePolicy,
    mut metric: MetricEncoder<'_>,
    encode: impl Fn(&ActivePredicate, MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    for predicate in &policy.predicates {
        encode(predicate, metric.encode_family(&[("predicate", &*predicate.name)])?)?;
    }
    Ok(())
}
