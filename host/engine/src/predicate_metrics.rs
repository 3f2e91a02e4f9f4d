//! Metrics of each predicate and scorer: its calls, their rows and time, its faults by kind, and its breaker; of predicates how verdicts were
//! obtained.
//!
//! Only those of the active policy are exposed, so the policy bounds the label set. A reload keeps the counts of
//! those that it does not change, and starts the others at zero. Start at [`PredicateCounts::count`] and [`register`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use nodesift_sandbox::Interface;
use nodesift_sandbox::fault::FaultKind;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::latency::Latency;
use crate::unnamed::UnnamedCounts;
use crate::{ActivePolicy, ActivePredicate, Engine};

/// The calls of one predicate or scorer, and the verdicts of a predicate.
#[derive(Debug, Default)]
pub struct PredicateCounts {
    calls: Counter,
    rows: Counter,
    time: Latency,
    faults: Mutex<BTreeMap<&'static str, u64>>,
    /// Reads of facts that the policy does not name.
    pub(crate) unnamed: UnnamedCounts,
    /// Verdicts by source, like the counters of the same names in [`Metrics`](crate::Metrics).
    pub(crate) kept: Counter,
    pub(crate) patched: Counter,
    pub(crate) evaluated: Counter,
}

/// How the verdicts of a predicate were obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdicts {
    /// Cached verdicts that were valid for every row.
    pub kept: u64,
    /// Cached verdicts of which stale rows were evaluated again.
    pub patched: u64,
    /// Verdicts for which every row was evaluated.
    pub evaluated: u64,
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

    /// The time that this share of the calls that ran did not exceed, up to a quarter too long. `None` where none ran.
    pub fn time(&self, share: f64) -> Option<Duration> {
        self.time.quantile(share)
    }

    /// How its verdicts were obtained so far.
    pub fn verdicts(&self) -> Verdicts {
        Verdicts { kept: self.kept.get(), patched: self.patched.get(), evaluated: self.evaluated.get() }
    }

    /// Calls that ended in a fault or were not made, by the name of its kind.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        self.faults.lock().clone()
    }

    /// Counts a call over `rows` rows.
    pub(crate) fn count(&self, rows: u32, time: Duration, fault: Option<FaultKind>) {
        self.calls.inc();
        self.rows.inc_by(u64::from(rows));
        if let Some(kind) = fault {
            self.refuse(kind);
        }
        // A call that was refused did not run.
        if !matches!(fault, Some(FaultKind::Overloaded | FaultKind::RequestDeadline)) {
            self.time.observe(time);
        }
    }

    /// Counts a fault, which may be that of a call that is not made.
    pub(crate) fn refuse(&self, kind: FaultKind) {
        *self.faults.lock().entry(kind.name()).or_default() += 1;
    }
}

/// Exposes the predicates and scorers of the engine's active policy for as long as the engine exists.
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
    let predicates: Vec<&ActivePredicate> = policy.predicates.iter().collect();
    Components { kind: "predicate", all: &predicates }.encode(encoder)?;
    let help = "Verdicts of a predicate about one pod, by source, as in nodesift_verdicts";
    let mut metric = encoder.encode_descriptor("nodesift_predicate_verdicts", help, None, MetricType::Counter)?;
    for predicate in predicates {
        let Verdicts { kept, patched, evaluated } = predicate.counts.verdicts();
        for (from, count) in [("kept", kept), ("patched", patched), ("evaluated", evaluated)] {
            let labels = [("predicate", &*predicate.name), ("from", from)];
            ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
        }
    }
    let scorers: Vec<&ActivePredicate> = policy.scorers.iter().map(|scorer| &scorer.component).collect();
    Components { kind: "scorer", all: &scorers }.encode(encoder)?;
    let help = "Namespaces whose large pods get no more time than ordinary ones for now";
    let metric = encoder.encode_descriptor("nodesift_throttled_namespaces", help, None, MetricType::Gauge)?;
    ConstGauge::new(i64::try_from(policy.throttle.list().len()).unwrap_or(i64::MAX)).encode(metric)
}

/// The predicates of a policy, or its scorers.
struct Components<'a> {
    /// `predicate` or `scorer`: part of the names of their metrics, and the label that has the name of one.
    kind: &'static str,
    all: &'a [&'a ActivePredicate],
}

impl Components<'_> {
    /// Writes how often they were called, for how long and with which faults; nothing where there is none.
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kind = self.kind;
        if self.all.is_empty() {
            return Ok(());
        }
        let (name, help) = (format!("nodesift_{kind}_calls"), format!("Calls of a {kind}; what is cached needs none"));
        let metric = encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        self.each(metric, |component, metric| component.counts.calls.encode(metric))?;
        let (name, help) = (format!("nodesift_{kind}_rows"), format!("Rows of all calls of a {kind}"));
        let metric = encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        self.each(metric, |component, metric| component.counts.rows.encode(metric))?;
        let (name, help) = (format!("nodesift_{kind}_duration"), format!("Time of one call of a {kind} that ran"));
        let metric = encoder.encode_descriptor(&name, &help, Some(&Unit::Seconds), MetricType::Histogram)?;
        self.each(metric, |component, metric| component.counts.time.encode(metric))?;
        let name = format!("nodesift_{kind}_log_lines");
        let help =
            format!("Lines that a {kind} wrote to the log, and lines that were dropped because they were too many");
        let mut metric = encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        for component in self.all.iter().filter(|component| component.module.imports().contains(&Interface::Log)) {
            let (written, dropped) = component.module.log_counts();
            for (fate, count) in [("written", written), ("dropped", dropped)] {
                let labels = [(kind, &*component.name), ("fate", fate)];
                ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
            }
        }
        let name = format!("nodesift_{kind}_quarantined");
        let help = format!("1 while a {kind} is in quarantine: its failure policy answers without calling it");
        let metric = encoder.encode_descriptor(&name, &help, None, MetricType::Gauge)?;
        self.each(metric, |component, metric| {
            ConstGauge::new(i64::from(component.breaker.quarantine().is_some())).encode(metric)
        })?;
        let (name, help) =
            (format!("nodesift_{kind}_quarantines"), format!("How often a {kind} was put in quarantine"));
        let metric = encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        self.each(metric, |component, metric| ConstCounter::new(component.breaker.opened()).encode(metric))?;
        let name = format!("nodesift_{kind}_set_aside");
        let help =
            format!("Pod templates that a {kind} is not called about for now, because calls about them have failed");
        let metric = encoder.encode_descriptor(&name, &help, None, MetricType::Gauge)?;
        self.each(metric, |component, metric| {
            ConstGauge::new(i64::try_from(component.breaker.set_aside().len()).unwrap_or(i64::MAX)).encode(metric)
        })?;
        let name = format!("nodesift_{kind}_faults");
        let help = format!("Calls of a {kind} that ended in a fault or were not made, by its kind");
        let mut metric = encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        for component in self.all {
            for (fault, count) in &*component.counts.faults.lock() {
                let labels = [(kind, &*component.name), ("fault", *fault)];
                ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn each(
        &self,
        mut metric: MetricEncoder<'_>,
        encode: impl Fn(&ActivePredicate, MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        for component in self.all {
            encode(component, metric.encode_family(&[(self.kind, &*component.name)])?)?;
        }
        Ok(())
    }
}
