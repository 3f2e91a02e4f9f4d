//! Failpoint of the process suite: lets handlers panic, as a defect could. Not part of release builds.

use std::sync::atomic::{AtomicU32, Ordering};

static LEFT: AtomicU32 = AtomicU32::new(0);

/// Has so many of the next handlers panic.
pub fn panic_in_handlers(count: u32) {
    LEFT.store(count, Ordering::SeqCst);
}

/// A handler has begun.
pub(crate) fn step() {
    let taken = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    assert!(taken.is_err(), "on purpose, in a handler");
}
