//! The worker: the feed's thread. It waits for changes or for a retry that is due, and gives each batch to the applier.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use parking_lot::MutexGuard;

use super::applier::{Applier, Published};
use super::intake::Shared;
use super::target::Target;
use crate::limits::{FEED_GATHER, FEED_PULSE};

/// The thread; dropping it closes the feed and waits for the end of the turn in progress.
pub(super) struct Worker {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// Where the system starts no thread.
    pub(super) fn start<T: Target>(shared: Arc<Shared>, applier: Applier<T>) -> std::io::Result<Self> {
        let for_thread = Arc::clone(&shared);
        let handle = thread::Builder::new().name("feed".to_owned()).spawn(move || run(&for_thread, applier))?;
        Ok(Self { shared, handle: Some(handle) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.intake.lock().closed = true;
        self.shared.arrived.notify_one();
        // Where a guard holds the last feed, this runs on the thread itself, which cannot join itself.
        if let Some(handle) = self.handle.take().filter(|handle| handle.thread().id() != thread::current().id()) {
            let _panicked = handle.join();
        }
    }
}

/// Turn after turn, until the feed is closed. Changes that arrive during a turn, or within [`FEED_GATHER`] of its beginning,
/// make the next batch.
fn run<T: Target>(shared: &Shared, mut applier: Applier<T>) {
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
            let pulse = Instant::now() + FEED_PULSE;
            let wake = due.map_or(pulse, |due| due.min(pulse));
            if shared.arrived.wait_until(&mut intake, wake).timed_out() {
                MutexGuard::unlocked(&mut intake, || rest(shared, &applier));
            }
        }
        let since = intake.queue.since();
        intake.in_progress = since;
        let batch = intake.queue.drain();
        drop(intake);
        #[cfg(debug_assertions)]
        stand_still(shared);
        let began = Instant::now();
        let published = applier.turn(batch, began);
        if let Some(since) = since {
            applier.metrics().lag.observe(since.elapsed().as_secs_f64());
        }
        *shared.remark.lock() = applier.remark();
        *shared.counts.lock() = applier.counts();
        finish(shared, &published, &applier);
        let mut intake = shared.intake.lock();
        while !intake.closed && !shared.arrived.wait_until(&mut intake, began + FEED_GATHER).timed_out() {}
    }
}

/// Nothing is to be done.
#[cfg_attr(not(debug_assertions), allow(unused_variables))]
fn rest<T: Target>(shared: &Shared, applier: &Applier<T>) {
    #[cfg(debug_assertions)]
    stand_still(shared);
    applier.rest();
}

/// Waits as long as a test wants the thread to be stuck.
#[cfg(debug_assertions)]
fn stand_still(shared: &Shared) {
    while shared.pulse.is_stalled() && !shared.intake.lock().closed {
        thread::park_timeout(FEED_PULSE);
    }
}

/// Wakes the waiters of what a turn has published, and drops the guards of kinds that are now synced.
fn finish<T: Target>(shared: &Shared, published: &Published, applier: &Applier<T>) {
    let mut intake = shared.intake.lock();
    intake.in_progress = None;
    intake.waiters.wake(&published.changed);
    let mut released = Vec::new();
    for kind in &published.synced {
        intake.synced.insert(*kind, applier.round(*kind));
        // Otherwise the kind has begun anew meanwhile, and is waited for again.
        if intake.is_synced(*kind) {
            released.extend(intake.guards.remove(kind));
        }
    }
    // Dropping a guard runs code of its owner, so it must not happen under the lock.
    drop(intake);
    drop(released);
}
