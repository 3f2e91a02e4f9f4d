//! Evaluating ahead: when a pending pod appears, its verdicts are prepared before the core asks about it.
//!
//! One thread takes pods from [`Arrivals`] and has the engine evaluate them as any question would, so that what it leaves
//! behind is what that question leaves behind. It gives way: it begins only once answers may be given, goes on only while
//! an evaluation slot is free and nobody waits for one, and looks again before every predicate. It takes no slot itself,
//! and a small share of one core ([`AHEAD_PERCENT`]). What changes afterwards is not prepared again: rows that change are
//! judged again by the question itself, which is cheap, and a pod that nobody asks about would be prepared for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Service;
use crate::limits::{AHEAD_LOOK, AHEAD_PERCENT, AHEAD_WAIT};
use nodesift_cache::{Arrivals, SharedWriter};
use nodesift_engine::{Engine, Prepared};

/// Takes note of pending pods that appear, and once started prepares for them on a thread of its own, which ends when this
/// is dropped.
#[derive(Debug)]
pub struct Ahead {
    arrivals: Arc<Arrivals>,
    metrics: Metrics,
    thread: Option<JoinHandle<()>>,
}

/// What becomes of pods that appear.
#[derive(Debug, Clone)]
pub struct Metrics {
    pods: Family<Fate, Counter>,
    prepared: Counter,
    skipped: Counter,
    dropped: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Fate {
    fate: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let pods = Family::<Fate, Counter>::default();
        let of = |fate| pods.get_or_create(&Fate { fate }).clone();
        let (prepared, skipped, dropped) = (of("prepared"), of("skipped"), of("dropped"));
        Self { pods, prepared, skipped, dropped }
    }
}

impl Metrics {
    /// Counters that a registry shows.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "nodesift_pods_ahead",
            "Pending pods that appeared: prepared; skipped as gone, bound or like a newer one; dropped for want of time or room",
            metrics.pods.clone(),
        );
        metrics
    }
}

impl Ahead {
    /// Takes note of the pending pods that appear in a cache from here on.
    pub fn of(writer: &SharedWriter, metrics: Metrics) -> Self {
        let arrivals = Arc::new(Arrivals::new(metrics.skipped.clone(), metrics.dropped.clone()));
        writer.lock().tell_arrivals(&arrivals);
        Self { arrivals, metrics, thread: None }
    }

    /// Prepares for them, for questions that will be asked of a service over the same cache.
    ///
    /// # Errors
    ///
    /// Where there is no thread to be had.
    pub fn start(&mut self, service: &Service) -> std::io::Result<()> {
        let (arrivals, metrics) = (Arc::clone(&self.arrivals), self.metrics.clone());
        let worker = Worker { service: service.clone(), arrivals, metrics };
        self.thread = Some(thread::Builder::new().name("ahead".to_owned()).spawn(move || worker.run())?);
        Ok(())
    }

    /// Begins nothing any more; what is under way ends with its present call.
    pub fn stop(&self) {
        self.arrivals.close();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

struct Worker {
    service: Service,
    arrivals: Arc<Arrivals>,
    metrics: Metrics,
}

impl Worker {
    fn run(&self) {
        while self.arrivals.wait() {
            // While it waits its turn, newer pods of its template take its place.
            while !self.may_work() {
                if !self.arrivals.pause(AHEAD_LOOK) {
                    return;
                }
            }
            let Some(pod) = self.arrivals.take() else { continue };
            let used = ThreadTime::now();
            let engine: &Engine = self.service.engine();
            let prepared = catch_unwind(AssertUnwindSafe(|| engine.prepare(&pod.uid, &|| self.goes_on())));
            match prepared {
                Ok(Prepared::Whole) => self.metrics.prepared.inc(),
                Ok(Prepared::Interrupted) => self.metrics.dropped.inc(),
                Ok(Prepared::NotPending) => self.metrics.skipped.inc(),
                Err(_) => {
                    tracing::error!(namespace = %pod.namespace, name = %pod.name, "preparing for a pod panicked");
                    self.metrics.dropped.inc()
                }
            };
            let rest = used.elapsed() * (100 - AHEAD_PERCENT) / AHEAD_PERCENT;
            if !self.arrivals.pause(rest) {
                return;
            }
        }
    }

    /// Whether answers may be given, and nobody has to wait because of it.
    fn may_work(&self) -> bool {
        self.service.check().is_ok() && self.service.has_free_slot()
    }

    /// Waits for its turn before the next predicate; false where that does not come in time.
    fn goes_on(&self) -> bool {
        let until = Instant::now() + AHEAD_WAIT;
        while !self.arrivals.is_closed() {
            if self.may_work() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO || !self.arrivals.pause(left.min(AHEAD_LOOK)) {
                break;
            }
        }
        false
    }
}
