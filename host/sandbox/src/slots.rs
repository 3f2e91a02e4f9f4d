//! Slots: how many instances exist at once. A call that finds none free waits for one. Start at [`Slots::take`].

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::fault::{Fault, FaultKind};
use crate::limits::SLOT_WAIT;

/// A number of slots, shared by those that take them. A slot that nobody waits for is returned without a system call, which the
/// standard library's condition variable makes each time.
#[derive(Debug)]
pub(super) struct Slots {
    free: Mutex<u32>,
    returned: Condvar,
}

/// A taken slot. It is returned when dropped.
#[derive(Debug)]
pub(super) struct Slot(Arc<Slots>);

impl Slots {
    pub(super) fn new(count: u32) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(count), returned: Condvar::new() })
    }

    /// How many are free.
    pub(super) fn free(&self) -> u32 {
        *self.free.lock()
    }

    /// Takes a slot, and waits until `until` where none is free. `None` once that has passed.
    pub(super) fn take(self: &Arc<Self>, until: impl FnOnce() -> Instant) -> Option<Slot> {
        let mut free = self.free.lock();
        if *free == 0 {
            // The clock is read only here.
            self.returned.wait_while_until(&mut free, |free| *free == 0, until());
        }
        *free = free.checked_sub(1)?;
        Some(Slot(Arc::clone(self)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.returned.notify_one();
    }
}

/// One wait for all slots that a call takes: until its request ends, but no longer than [`SLOT_WAIT`].
#[derive(Debug)]
pub(super) struct Wait {
    until: Option<Instant>,
    /// Set by the first slot that is not free.
    end: OnceCell<Instant>,
}

impl Wait {
    /// Waits for a call whose request ends at `until`.
    pub(super) fn new(until: Option<Instant>) -> Self {
        Self { until, end: OnceCell::new() }
    }

    /// Takes one of these slots; the fault calls them by their name.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Overloaded`], or [`FaultKind::RequestDeadline`] where the request has ended.
    pub(super) fn take(&self, slots: &Arc<Slots>, name: &str) -> Result<Slot, Fault> {
        let last = || {
            let last = *self.end.get_or_init(|| Instant::now() + SLOT_WAIT);
            self.until.map_or(last, |until| until.min(last))
        };
        slots.take(last).ok_or_else(|| match self.until.is_some_and(|until| Instant::now() >= until) {
            true => Fault { kind: FaultKind::RequestDeadline, detail: "the request's deadline passed".to_owned() },
            false => {
                let detail = format!("{name} were in use for {} ms", SLOT_WAIT.as_millis());
                Fault { kind: FaultKind::Overloaded, detail }
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Longer than any test waits.
    const FOR_EVER: Duration = Duration::from_secs(24 * 60 * 60);

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_slot_that_is_returned_wakes_one_that_waits() {
        let slots = Slots::new(2);
        let taken: Vec<Slot> = (0..2).map(|_| slots.take(Instant::now).unwrap()).collect();
        assert!(slots.take(Instant::now).is_none());
        let (woken, wakes) = mpsc::channel();
        for _ in 0..2 {
            let (slots, woken) = (Arc::clone(&slots), woken.clone());
            // Not joined: one that nobody wakes must not keep the test from failing.
            thread::spawn(move || {
                let end = || {
                    woken.send(None).unwrap();
                    Instant::now() + FOR_EVER
                };
                // Given back before that is told.
                let has_slot = slots.take(end).is_some();
                woken.send(Some(has_slot))
            });
        }
        // Both are about to wait, under the lock.
        (0..2).for_each(|_| assert_eq!(wakes.recv_timeout(LONG), Ok(None)));
        drop(taken);
        (0..2).for_each(|_| assert_eq!(wakes.recv_timeout(LONG), Ok(Some(true)), "nobody has woken it"));
        assert!(slots.take(Instant::now).is_some());
    }
}
