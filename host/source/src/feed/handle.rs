//! [`Feed`], the handle: what sources, the audit and readiness call. Nothing here waits or applies.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use super::applier::Applier;
use super::backlog;
use super::intake::{Backlog, Shared};
use super::ledger::Ledger;
use super::metrics::Metrics;
use super::pulse::Pulse;
use super::target::Target;
use super::worker::Worker;
use crate::change::{Change, Compiled, Identity, ObjectChange};
use nodesift_cache::{SharedWriter, Writer};
use nodesift_object::Kind;

/// Takes changes and applies them on a thread of its own. Clones feed the same cache; the thread ends with the last clone.
#[derive(Clone)]
pub struct Feed {
    pub(super) shared: Arc<Shared>,
    ledger: Arc<Mutex<Ledger>>,
    _worker: Arc<Worker>,
}

/// Why waiting for a change of an object ended without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot wait for a change of this object: the feed has ended, or too many requests wait")]
pub struct WaitError;

impl Feed {
    /// Starts a feed into a cache, with its thread.
    ///
    /// # Errors
    ///
    /// Where the system starts no thread.
    pub fn start(writer: SharedWriter, metrics: Metrics) -> std::io::Result<Self> {
        Self::start_into::<Writer>(writer, metrics)
    }

    pub(super) fn start_into<T: Target>(target: Arc<Mutex<T>>, metrics: Metrics) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new(metrics.clone()));
        let ledger = Arc::<Mutex<Ledger>>::default();
        let applier = Applier::new(target, Arc::clone(&ledger), metrics).beating(Arc::clone(&shared.pulse));
        let worker = Worker::start(Arc::clone(&shared), applier)?;
        Ok(Self { shared, ledger, _worker: Arc::new(worker) })
    }

    /// Queues changes, all of which are applied in the same turn. Changes of one object are applied one after the other in
    /// the order of delivery; some may be merged. Never blocks.
    pub fn deliver(&self, changes: Vec<Change>) {
        let mut released = Vec::new();
        self.shared.enqueue(|intake, now| {
            let queued = changes.into_iter().map(|change| {
                if let Change::Dropped { kind } = &change {
                    // Nobody waits any more for a kind that is not followed.
                    released.extend(intake.guards.remove(kind));
                }
                intake.queue.push(change, now)
            });
            queued.sum()
        });
        // Dropping a guard runs code of its owner, so it must not happen under the lock.
        drop(released);
    }

    /// Queues one object to be looked at again: a waiting retry is attempted now, and the counts of a pod are recounted.
    pub fn requeue(&self, kind: Kind, uid: &str) {
        self.enqueue_object(ObjectChange::Requeued((kind, Arc::from(uid))));
    }

    /// Queues repairs of what an audit found to differ. Unlike with [`Feed::deliver`], an object also replaces what is held at
    /// the same resourceVersion, and no version counts as seen.
    pub fn repair(&self, objects: Vec<Compiled>, deleted: Vec<Identity>) {
        objects.into_iter().map(ObjectChange::Repaired).for_each(|change| self.enqueue_object(change));
        deleted.into_iter().map(ObjectChange::Deleted).for_each(|change| self.enqueue_object(change));
    }

    /// Resolves when the next change of an object has been applied and published.
    ///
    /// # Errors
    ///
    /// [`WaitError`] where the feed ends first, or where too many wait already.
    pub fn changed(&self, kind: Kind, uid: &str) -> impl Future<Output = Result<(), WaitError>> + Send + use<> {
        let receiver = self.shared.intake.lock().waiters.register((kind, Arc::from(uid)));
        async move { receiver.ok_or(WaitError)?.await.map_err(|_| WaitError) }
    }

    /// Holds a guard, such as a readiness latch, until every object of the first list of a kind has been applied, or of the first
    /// one that is compiled otherwise; or until the kind is dropped. The guard is dropped at once where that has happened
    /// already.
    pub fn hold_until_synced(&self, kind: Kind, guard: Box<dyn Send>) {
        let mut intake = self.shared.intake.lock();
        if intake.is_synced(kind) {
            drop(intake);
            drop(guard);
        } else {
            intake.guards.entry(kind).or_default().push(guard);
        }
    }

    /// Describes what is wrong at the moment, for operators, as in `1 object is retried: Pod web/nginx-0`; `None` where nothing is.
    pub fn remark(&self) -> Option<String> {
        self.shared.remark.lock().clone()
    }

    /// Describes what is wrong as [`Self::remark`] does, without the names of objects.
    pub fn counts(&self) -> Option<String> {
        self.shared.counts.lock().clone()
    }

    /// The heartbeats of the thread and of publication.
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.shared.pulse
    }

    /// How far the feed is behind.
    pub fn backlog(&self) -> Backlog {
        self.shared.backlog()
    }

    /// Adds gauges of the backlog to a registry. They are read at every scrape.
    pub fn register(&self, registry: &mut Registry) {
        backlog::register(registry, &self.shared);
    }

    /// Which resourceVersions have been applied.
    pub(crate) fn ledger(&self) -> &Mutex<Ledger> {
        &self.ledger
    }

    fn enqueue_object(&self, change: ObjectChange) {
        self.shared.enqueue(|intake, now| intake.queue.push_object(change, now));
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}
