//! The heartbeats of the feed's thread and of publication, by which a watchdog sees that both go on.

use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(debug_assertions)]
use std::sync::atomic::AtomicBool;

/// Counts that grow while all is well, several times a second even where nothing changes.
#[derive(Debug, Default)]
pub struct Pulse {
    thread: AtomicU64,
    publication: AtomicU64,
    #[cfg(debug_assertions)]
    stalled: AtomicBool,
}

impl Pulse {
    /// Steps of the thread: objects applied, and looks at an empty queue.
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Steps of the thread, without those at which a publication was overdue or the cache's writer could not be had.
    pub fn publication(&self) -> u64 {
        self.publication.load(Ordering::Relaxed)
    }

    /// The thread has made a step. `publishes`: nothing that is applied waits for a publication that has failed.
    pub(super) fn beat(&self, publishes: bool) {
        self.thread.fetch_add(1, Ordering::Relaxed);
        if publishes {
            self.publication.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Stops the thread as a defect could, or lets it go on. Not part of release builds.
    #[cfg(debug_assertions)]
    pub fn stall(&self, stalled: bool) {
        self.stalled.store(stalled, Ordering::Relaxed);
    }

    #[cfg(debug_assertions)]
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }
}
