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
    /// The thread's processor time at the first tick; a call that ends before it costs no system call.
    since: Option<Duration>,
    ends: Instant,
    /// What the host may still take off the clock for its own work.
    host_time: Duration,
}

impl Deadline {
    /// A call that begins now and may use `budget`.
    pub(super) fn new(budget: Duration) -> Self {
        let ends = Instant::now() + budget * STARVED_FACTOR;
        Self { budget, since: None, ends, host_time: budget * HOST_TIME_FACTOR }
    }

    /// The ticks after which to look for the first time.
    pub(super) fn first_look() -> u64 {
        ticks(EPOCH_TICK)
    }

    /// What the host took to answer is not the guest's time, within bounds: else a guest could ask without end.
    pub(super) fn extend(&mut self, by: Duration) {
        let granted = by.min(self.host_time);
        self.host_time -= granted;
        self.budget += granted;
        self.ends += granted;
    }

    /// The ticks after which to look again; none where the time is up.
    pub(super) fn look(&mut self) -> Option<u64> {
        let now = ThreadTime::now().as_duration();
        let used = now.saturating_sub(*self.since.get_or_insert(now));
        // What ran before the first look is less than a tick.
        let left = self.budget.saturating_sub(used + EPOCH_TICK);
        (!left.is_zero() && Instant::now() < self.ends).then(|| ticks(left))
    }
}
