//! The feed: brings what sources have seen into the cache, in one place and one object at a time.
//!
//! ```text
//! deliver ─ queue ──── applier (a thread of its own) ─┬─ apply     the cache
//!           merges     chunks, catches, publishes     ├─ ledger    versions: nothing older after something newer
//!                                                     └─ retry     what failed, 100 ms to 1 min later
//! ```
//!
//! Start at [`Feed`]; [`applier`] says what a turn does.

mod applier;
mod apply;
mod ledger;
mod metrics;
mod queue;
mod retry;
mod waiters;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use prometheus_client::registry::Registry;
use rustc_hash::{FxHashMap, FxHashSet};

use self::applier::{Applier, Done};
use self::apply::Apply;
pub use self::apply::ApplyError;
pub(super) use self::ledger::{Held, Ledger};
pub use self::metrics::Metrics;
use self::queue::{Queue, Taken, Work};
use self::waiters::Waiters;
use super::change::{Change, Compiled, Identity};
use crate::limits::FEED_GATHER;
pub use nodesift_cache::SharedWriter;
use nodesift_cache::Writer;
use nodesift_object::Kind;

/// Takes changes from sources and applies them on a thread of its own; clones feed the same cache. The thread ends with
/// the last clone.
#[derive(Clone)]
pub struct Feed {
    shared: Arc<Shared>,
    ledger: Arc<Mutex<Ledger>>,
    _thread: Arc<Thread>,
}

/// Nobody will be told: the feed has ended, or too many wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("changes of this object are not told")]
pub struct Untold;

/// How far the feed is behind what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Objects that wait, those of whole lists included.
    pub objects: usize,
    /// For how long the oldest of them has waited.
    pub age: Duration,
}

struct Shared {
    intake: Mutex<Intake>,
    /// Something was queued where nothing was before, or the feed ends.
    arrived: Condvar,
    remark: Mutex<Option<String>>,
    metrics: Metrics,
}

#[derive(Default)]
struct Intake {
    queue: Queue,
    /// When the oldest of what the applier is working on had arrived.
    in_hand: Option<Instant>,
    waiters: Waiters,
    /// Held until every object of the first whole list of a kind has been applied.
    guards: FxHashMap<Kind, Vec<Box<dyn Send>>>,
    whole: FxHashSet<Kind>,
    closed: bool,
}

impl Feed {
    /// A feed into a cache, with its thread.
    pub fn start(writer: SharedWriter, metrics: Metrics) -> std::io::Result<Self> {
        Self::start_into::<Writer>(writer, metrics)
    }

    fn start_into<A: Apply>(target: Arc<Mutex<A>>, metrics: Metrics) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            intake: Mutex::default(),
            arrived: Condvar::new(),
            remark: Mutex::default(),
            metrics: metrics.clone(),
        });
        let ledger = Arc::<Mutex<Ledger>>::default();
        let applier = Applier::new(target, Arc::clone(&ledger), metrics);
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("feed".to_owned()).spawn(move || run(&for_thread, applier))?;
        let thread = Thread { shared: Arc::clone(&shared), handle: Some(thread) };
        Ok(Self { shared, ledger, _thread: Arc::new(thread) })
    }

    /// Hands changes over, all of which are applied in the same turn. Changes of one object are applied in the order in which
    /// they are delivered, never at the same time; some may be merged. Never waits.
    pub fn deliver(&self, changes: Vec<Change>) {
        self.enqueue(|queue, now| changes.into_iter().map(|change| queue.push(change, now)).sum());
    }

    /// Has an object looked at once more: what waits for a retry is tried now, and what was counted of a pod is counted anew.
    pub fn requeue(&self, kind: Kind, uid: &str) {
        self.enqueue(|queue, now| queue.push_work(Work::Again((kind, Arc::from(uid))), now));
    }

    /// Puts right what was found to differ from the truth. Unlike with [`Feed::deliver`], the truth also replaces what is
    /// held at the same version.
    pub fn heal(&self, objects: Vec<Compiled>, gone: Vec<Identity>) {
        let works = objects.into_iter().map(Work::Healed).chain(gone.into_iter().map(Work::Gone));
        for work in works {
            self.enqueue(|queue, now| queue.push_work(work, now));
        }
    }

    /// Resolves when the next change of an object has been applied and published.
    pub fn changed(&self, kind: Kind, uid: &str) -> impl Future<Output = Result<(), Untold>> + Send + use<> {
        let receiver = self.shared.intake.lock().waiters.register((kind, Arc::from(uid)));
        async move { receiver.ok_or(Untold)?.await.map_err(|_| Untold) }
    }

    /// Holds a guard, such as a readiness latch, until every object of the first whole list of a kind has been applied
    /// with success. Where that is so already, the guard is dropped at once.
    pub fn hold_until_whole(&self, kind: Kind, guard: Box<dyn Send>) {
        let mut intake = self.shared.intake.lock();
        if intake.whole.contains(&kind) {
            drop(intake);
            drop(guard);
        } else {
            intake.guards.entry(kind).or_default().push(guard);
        }
    }

    /// What is wrong, for people, as in `1 object is retried: Pod web/nginx-0`; none where nothing is.
    pub fn remark(&self) -> Option<String> {
        self.shared.remark.lock().clone()
    }

    /// How far the feed is behind.
    pub fn backlog(&self) -> Backlog {
        self.shared.backlog()
    }

    /// Shows the backlog in a registry, as it is when it is looked at.
    pub fn register(&self, registry: &mut Registry) {
        metrics::register_backlog(registry, &self.shared);
    }

    /// Which versions have been applied.
    pub(super) fn ledger(&self) -> &Mutex<Ledger> {
        &self.ledger
    }

    fn enqueue(&self, push: impl FnOnce(&mut Queue, Instant) -> Taken) {
        let mut intake = self.shared.intake.lock();
        let was_empty = intake.queue.is_empty();
        let taken = push(&mut intake.queue, Instant::now());
        drop(intake);
        self.shared.metrics.merged.inc_by(taken.merged);
        self.shared.metrics.stale.inc_by(taken.stale);
        if was_empty {
            self.shared.arrived.notify_one();
        }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}

impl Shared {
    fn backlog(&self) -> Backlog {
        let intake = self.intake.lock();
        let since = intake.in_hand.into_iter().chain(intake.queue.since()).min();
        Backlog { objects: intake.queue.depth(), age: since.map_or(Duration::ZERO, |since| since.elapsed()) }
    }
}

/// The thread that applies; ends when dropped.
struct Thread {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.shared.intake.lock().closed = true;
        self.shared.arrived.notify_one();
        // A guard that holds the last feed is dropped on the thread itself, which cannot wait for its own end.
        if let Some(handle) = self.handle.take().filter(|handle| handle.thread().id() != thread::current().id()) {
            let _panicked = handle.join();
        }
    }
}

/// Turn after turn, until the feed is closed. What arrives during a turn, or soon after it began, is the next one.
fn run<A: Apply>(shared: &Shared, mut applier: Applier<A>) {
    loop {
        let mut intake = shared.intake.lock();
        loop {
            if intake.closed {
                return;
            }
            let due = applier.next_due();
            if !intake.queue.is_empty() || due.is_some_and(|due| due <= Instant::now()) {
                break;
            }
            match due {
                Some(due) => drop(shared.arrived.wait_until(&mut intake, due)),
                None => shared.arrived.wait(&mut intake),
            }
        }
        intake.in_hand = intake.queue.since();
        let drained = intake.queue.drain();
        drop(intake);
        let began = Instant::now();
        let done = applier.turn(drained, began);
        *shared.remark.lock() = applier.remark();
        finish(shared, &done);
        let mut intake = shared.intake.lock();
        while !intake.closed && !shared.arrived.wait_until(&mut intake, began + FEED_GATHER).timed_out() {}
    }
}

/// Tells those who wait for what a turn has made visible.
fn finish(shared: &Shared, done: &Done) {
    let mut intake = shared.intake.lock();
    intake.in_hand = None;
    intake.waiters.tell(&done.changed);
    let mut fulfilled = Vec::new();
    for kind in &done.whole {
        intake.whole.insert(*kind);
        fulfilled.extend(intake.guards.remove(kind));
    }
    // A guard may do whatever it likes when it is dropped, so it is not dropped under the lock.
    drop(intake);
    drop(fulfilled);
}

/// Brings one object into the cache, as the feed does.
pub(super) fn apply(cache: &mut Writer, object: &Compiled) {
    let Identity { kind, key, version, .. } = &object.identity;
    match Apply::apply(cache, object) {
        Ok(()) => cache.observe_version(*kind, version),
        Err(error) => tracing::error!(%kind, %key, %error, "object not applied"),
    }
}
