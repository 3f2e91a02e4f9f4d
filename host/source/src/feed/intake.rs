//! State that the handle and the worker of a feed share. Everything here is short work under one lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

use super::metrics::Metrics;
use super::pulse::Pulse;
use super::queue::{Absorbed, Queue, Round};
use super::waiters::Waiters;
use nodesift_object::Kind;

/// How far the feed is behind its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Objects that wait in the queue, those of lists included.
    pub objects: usize,
    /// How long the oldest change that is not published has waited.
    pub age: Duration,
}

/// Shared by all clones of a feed and its worker.
pub(super) struct Shared {
    pub(super) intake: Mutex<Intake>,
    /// Signalled when the queue is no longer empty, and when the feed closes.
    pub(super) arrived: Condvar,
    /// Description of what is wrong at the moment, for operators, as [`Applier::remark`](super::applier::Applier::remark) gives it.
    pub(super) remark: Mutex<Option<String>>,
    /// Description of what is wrong at the moment, without the names of objects.
    pub(super) counts: Mutex<Option<String>>,
    pub(super) metrics: Metrics,
    pub(super) pulse: Arc<Pulse>,
}

#[derive(Default)]
pub(super) struct Intake {
    pub(super) queue: Queue,
    /// When the oldest change of the batch that the worker is applying was queued.
    pub(super) in_progress: Option<Instant>,
    pub(super) waiters: Waiters,
    /// By kind, what is held until its first list is synced.
    pub(super) guards: FxHashMap<Kind, Vec<Box<dyn Send>>>,
    /// Kinds of whose first list every object has been applied, and in which round.
    pub(super) synced: FxHashMap<Kind, Round>,
    pub(super) closed: bool,
}

impl Intake {
    /// Whether every object of the first list of a kind has been applied since the kind was last begun anew.
    pub(super) fn is_synced(&self, kind: Kind) -> bool {
        self.synced.get(&kind) == Some(&self.queue.round(kind))
    }
}

impl Shared {
    /// Shared state of a feed whose queue is empty.
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            intake: Mutex::default(),
            arrived: Condvar::new(),
            remark: Mutex::default(),
            counts: Mutex::default(),
            metrics,
            pulse: Arc::default(),
        }
    }

    /// Lets `push` add to the queue, and wakes the worker where the queue was empty.
    pub(super) fn enqueue(&self, push: impl FnOnce(&mut Intake, Instant) -> Absorbed) {
        let mut intake = self.intake.lock();
        let was_empty = intake.queue.is_empty();
        let absorbed = push(&mut intake, Instant::now());
        drop(intake);
        self.metrics.merged.inc_by(absorbed.merged);
        self.metrics.stale.inc_by(absorbed.stale);
        if was_empty {
            self.arrived.notify_one();
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        let intake = self.intake.lock();
        let since = intake.in_progress.into_iter().chain(intake.queue.since()).min();
        Backlog { objects: intake.queue.depth(), age: since.map_or(Duration::ZERO, |since| since.elapsed()) }
    }
}
