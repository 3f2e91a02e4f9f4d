//! The deadline of one call: so much processor time of the calling thread, and a bound on wall-clock time far beyond it.
//!
//! The clock's ticks are wall-clock time, and on a busy machine a healthy guest may not run for many of them. So a tick
//! that finds a guest running only looks: whoever has used up its processor time is interrupted, whoever was kept
//! waiting goes on.

use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use super::clock::ticks;
use crate::limits::{EPOCH_TICK, HOST_TIME_FACTOR, STARVED_FACTOR};

/// The deadline of the running call.
#[derive(Debug)]
pub(super) struct Deadline {
    budget: Duration,
    /// Wall-clock time that the call may take.
    most: Duration,
    /// When the first tick found the call running, in processor time of the thread and by the wall clock; a call that ends
    /// before it looks at no clock.
    since: Option<(Duration, Instant)>,
    /// What the host may still take off the clock for its own work.
    host_time: Duration,
}

impl Deadline {
    /// A call that begins now and may use `budget`.
    pub(super) fn new(budget: Duration) -> Self {
        Self { budget, most: budget * STARVED_FACTOR, since: None, host_time: budget * HOST_TIME_FACTOR }
    }

    /// The ticks after which to look for the first time.
    pub(super) fn first_look() -> u64 {
        ticks(EPOCH_TICK)
    }

    /// What the host took to answer is not the guest's time, within bounds: else a guest could ask without end.
    pub(super) fn extend(&mut self, by: Duration) {
        if self.since.is_none() {
            // Nothing has been counted yet that could be given back.
            return;
        }
        let granted = by.min(self.host_time);
        self.host_time -= granted;
        self.budget += granted;
        self.most += granted;
    }

    /// The ticks after which to look again; none where the time is up.
    pub(super) fn look(&mut self) -> Option<u64> {
        let (processor, wall) = (ThreadTime::now().as_duration(), Instant::now());
        let (processor_since, wall_since) = *self.since.get_or_insert((processor, wall));
        // What ran of the guest before the first look is about a tick.
        let used = processor.saturating_sub(processor_since) + EPOCH_TICK;
        let taken = wall.saturating_duration_since(wall_since) + EPOCH_TICK;
        let left = self.budget.saturating_sub(used);
        (!left.is_zero() && taken < self.most).then(|| ticks(left))
    }
}
