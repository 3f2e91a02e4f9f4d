//! The deadline of one call: a budget of processor time of the calling thread, a much larger bound on wall-clock time, and
//! the end of the request. It covers everything that the call needs: instance, `configure`, `filter`, and host functions.
//!
//! The epoch clock ticks in wall-clock time, but on a busy machine a guest may wait for a processor during many ticks. So a
//! tick only triggers a check: the guest is interrupted if it has used its processor time, else it continues. No tick
//! interrupts a host function: one whose work the guest chooses asks its [`Meter`].

use std::cell::Cell;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use super::clock::ticks;
use crate::limits::{EPOCH_TICK, HOST_TIME_FACTOR, SHARED_HOST_TIME, STARVED_FACTOR};

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
    /// Host time that may still be added to the budget: for what the guest's arguments choose, and for what the host builds
    /// for every call.
    host_time: Duration,
    shared_time: Duration,
}

/// For whom a host function works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostWork {
    /// For this call: its arguments choose what is built.
    Chosen,
    /// For every call on the snapshot: what is built is the same for all, is built once, and is kept.
    Shared,
}

impl Deadline {
    /// The deadline of a call that starts now and may use `budget` of processor time, but not beyond `until`.
    pub(super) fn new(budget: Duration, until: Option<Instant>) -> Self {
        Self {
            budget,
            until,
            most: budget.saturating_mul(STARVED_FACTOR),
            since: None,
            host_time: budget.saturating_mul(HOST_TIME_FACTOR),
            shared_time: SHARED_HOST_TIME,
        }
    }

    /// Whether the request has ended.
    pub(super) fn is_request_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Ticks until the first check.
    pub(super) fn first_look() -> u64 {
        ticks(EPOCH_TICK)
    }

    /// Adds the time of a host function, which began at `started`, to the budget, up to the allowance for such work. Beyond
    /// that it is the guest's. A function shorter than a tick counts as the guest's: two clock readings would take as long.
    pub(super) fn credit(&mut self, work: HostWork, started: Instant) {
        let taken = started.elapsed();
        if taken < EPOCH_TICK {
            return;
        }
        let allowance = match work {
            HostWork::Chosen => &mut self.host_time,
            HostWork::Shared => &mut self.shared_time,
        };
        let granted = taken.min(*allowance);
        *allowance -= granted;
        self.most = self.most.saturating_add(granted);
        match self.since {
            Some(_) => self.budget = self.budget.saturating_add(granted),
            // No clock was read before: processor time is counted from here on. That of the function is not known, and the
            // wall-clock time is no measure of it on a busy machine; but it has used the allowance.
            None => self.since = Some((ThreadTime::now().as_duration(), started)),
        }
    }

    /// Returns the time limit of a host function that starts now: the rest of the budget and of the allowance for such work, and the end of
    /// the request.
    pub(super) fn meter(&self, work: HostWork) -> Meter {
        let allowance = match work {
            HostWork::Chosen => self.host_time,
            HostWork::Shared => self.shared_time,
        };
        let now = || ThreadTime::now().as_duration();
        let used = self.since.map_or(EPOCH_TICK, |(since, _)| now().saturating_sub(since) + EPOCH_TICK);
        Meter {
            left: Some(self.budget.saturating_add(allowance).saturating_sub(used)),
            until: self.until,
            since: Cell::new(None),
        }
    }

    /// Checks the deadline. Returns the ticks until the next check; `None` where the time is up.
    pub(super) fn look(&mut self) -> Option<u64> {
        let (processor, wall) = (ThreadTime::now().as_duration(), Instant::now());
        let (processor_since, wall_since) = *self.since.get_or_insert((processor, wall));
        // The guest ran for about one tick before the first check, or up to an `IDLE_TICK` where it is the first for a while.
        let used = processor.saturating_sub(processor_since) + EPOCH_TICK;
        let taken = wall.saturating_duration_since(wall_since) + EPOCH_TICK;
        let of_request = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(wall));
        let left = self.budget.saturating_sub(used).min(of_request);
        (!left.is_zero() && taken < self.most).then(|| ticks(left))
    }
}

/// The time that one call of a host function may take. The function asks it every so many steps, not at each: an answer takes
/// some 300 ns.
#[derive(Debug)]
pub struct Meter {
    /// Processor time from the first question on; `None` without a limit.
    left: Option<Duration>,
    until: Option<Instant>,
    /// Processor time of the thread at the first question: a function that never asks reads no clock.
    since: Cell<Option<Duration>>,
}

impl Meter {
    /// Without any limit: for facts that are read outside of a guest's call.
    pub fn unlimited() -> Self {
        Self { left: None, until: None, since: Cell::new(None) }
    }

    /// Whether there is time left.
    pub fn goes_on(&self) -> bool {
        let Some(left) = self.left else { return true };
        let now = ThreadTime::now().as_duration();
        let since = self.since.get().unwrap_or(now);
        self.since.set(Some(since));
        now.saturating_sub(since) < left && self.until.is_none_or(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses so much processor time.
    fn work(time: Duration) -> Instant {
        let (started, began) = (Instant::now(), ThreadTime::now());
        while began.elapsed() < time {
            std::hint::spin_loop();
        }
        started
    }

    #[test]
    fn host_time_beyond_the_allowance_is_the_guests() {
        let budget = Duration::from_millis(10);
        // However long the thread waits for a processor.
        let mut deadline = Deadline { most: Duration::MAX, ..Deadline::new(budget, None) };
        // The first long function uses the allowance although no tick has passed.
        deadline.credit(HostWork::Chosen, work(budget * HOST_TIME_FACTOR));
        assert!(deadline.look().is_some(), "the allowance");
        deadline.credit(HostWork::Chosen, work(budget));
        assert!(deadline.look().is_none(), "the budget is used up");
        // The same after a tick.
        let mut deadline = Deadline { most: Duration::MAX, ..Deadline::new(budget, None) };
        assert!(deadline.look().is_some());
        deadline.credit(HostWork::Chosen, work(budget * HOST_TIME_FACTOR));
        assert!(deadline.look().is_some(), "the allowance");
        deadline.credit(HostWork::Chosen, work(budget));
        assert!(deadline.look().is_none(), "the budget is used up");
    }

    #[test]
    fn a_thread_that_waits_for_a_processor_uses_none_of_its_time() {
        let budget = Duration::from_millis(10);
        let mut deadline = Deadline::new(budget, None);
        // The host function has begun long ago, and has hardly run since.
        let Some(started) = Instant::now().checked_sub(budget * (HOST_TIME_FACTOR + 5)) else { return };
        deadline.credit(HostWork::Chosen, started);
        assert!(deadline.look().is_some());
    }

    #[test]
    fn a_call_that_hardly_gets_a_processor_ends_after_many_times_its_budget() {
        let budget = Duration::from_secs(1);
        // The first tick was so long ago, and the thread has hardly run since.
        let goes_on = |ago: Duration| {
            let mut deadline = Deadline::new(budget, None);
            deadline.since = Some((ThreadTime::now().as_duration(), Instant::now().checked_sub(ago)?));
            Some(deadline.look().is_some())
        };
        assert_ne!(goes_on(budget * STARVED_FACTOR / 2), Some(false));
        assert_ne!(goes_on(budget * STARVED_FACTOR), Some(true));
    }

    #[test]
    fn what_the_host_builds_for_every_call_is_not_the_guests() {
        let budget = Duration::from_millis(2);
        let mut deadline = Deadline::new(budget, None);
        deadline.credit(HostWork::Shared, work(budget * (HOST_TIME_FACTOR + 10)));
        assert!(deadline.look().is_some());
        assert!(!deadline.is_request_over());
    }

    #[test]
    fn a_meter_ends_with_the_call_or_with_the_request() {
        let budget = Duration::from_millis(2);
        let meter = Deadline::new(budget, None).meter(HostWork::Chosen);
        let shared = Deadline::new(budget, None).meter(HostWork::Shared);
        assert!(shared.goes_on());
        assert!(meter.goes_on());
        work(budget * (HOST_TIME_FACTOR + 1));
        assert!(!meter.goes_on());
        assert!(shared.goes_on(), "what is built for every call has an allowance of its own");
        for work in [HostWork::Chosen, HostWork::Shared] {
            assert!(!Deadline::new(budget, Some(Instant::now())).meter(work).goes_on(), "{work:?}");
        }
        assert!(Meter::unlimited().goes_on());
    }
}
