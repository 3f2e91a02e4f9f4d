//! Slots: how many instances exist at once. A call that finds none free waits for one. Start at [`Slots::take`].

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_slot_that_is_returned_wakes_one_that_waits() {
        let slots = Slots::new(2);
        let taken: Vec<Slot> = (0..2).map(|_| slots.take(Instant::now).unwrap()).collect();
        assert!(slots.take(Instant::now).is_none());
        std::thread::scope(|scope| {
            let waiting: Vec<_> =
                (0..2).map(|_| scope.spawn(|| slots.take(|| Instant::now() + LONG).is_some())).collect();
            drop(taken);
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert!(slots.take(Instant::now).is_some());
    }
}
