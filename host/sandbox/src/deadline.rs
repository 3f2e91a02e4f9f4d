//! The deadline of one call: a budget of processor time of the calling thread, and a much larger bound on wall-clock time.
//!
//! The epoch clock ticks in wall-clock time, but on a busy machine a guest may wait for a processor during many ticks. So a
//! tick only triggers a check: the guest is interrupted if it has used its processor time, else it continues.

use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use super::clock::ticks;
use crate::limits::{EPOCH_TICK, HOST_TIME_FACTOR, STARVED_FACTOR};

/// The deadline of the running call.
#[derive(Debug)]
pub(super) struct Deadline {
    budget: Duration,
    /// When the request ends for which the call is made, whatever is left of the budget.
    until: Option<Instant>,
    /// Bound on the wall-clock time of the call.
    most: Duration,
    /// Processor time of the thread and wall-clock time at the first tick during the call. `None` before: a call shorter than
    /// one tick reads no clock.
    since: Option<(Duration, Instant)>,
    /// Host time that may still be added to the budget.
    host_time: Duration,
}

impl Deadline {
    /// The deadline of a call that starts now and may use `budget` of processor time, but not beyond `until`.
    pub(super) fn new(budget: Duration, until: Option<Instant>) -> Self {
        let host_time = budget.saturating_mul(HOST_TIME_FACTOR);
        Self { budget, until, most: budget.saturating_mul(STARVED_FACTOR), since: None, host_time }
    }

    /// Whether the request has ended.
    pub(super) fn is_request_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Ticks until the first check.
    pub(super) fn first_look() -> u64 {
        ticks(EPOCH_TICK)
    }

    /// Adds the time of a host function to the budget, up to [`HOST_TIME_FACTOR`] times the original budget.
    pub(super) fn extend(&mut self, by: Duration) {
        if self.since.is_none() {
            // Time is counted from the first tick on.
            return;
        }
        let granted = by.min(self.host_time);
        self.host_time -= granted;
        self.budget += granted;
        self.most += granted;
    }

    /// Checks the deadline. Returns the ticks until the next check; `None` where the time is up.
    pub(super) fn look(&mut self) -> Option<u64> {
        let (processor, wall) = (ThreadTime::now().as_duration(), Instant::now());
        let (processor_since, wall_since) = *self.since.get_or_insert((processor, wall));
        // The guest ran for about one tick before the first check.
        let used = processor.saturating_sub(processor_since) + EPOCH_TICK;
        let taken = wall.saturating_duration_since(wall_since) + EPOCH_TICK;
        let of_request = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(wall));
        let left = self.budget.saturating_sub(used).min(of_request);
        (!left.is_zero() && taken < self.most).then(|| ticks(left))
    }
}
