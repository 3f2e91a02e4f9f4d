//! The yield budget: a thread that catches up with many events yields its core every now and then.
//!
//! On a machine with few cores, the kernel may wake a request on the core of a busy thread and leave it there until that
//! thread sleeps, even while another core is idle. An answer of a tenth of a millisecond then takes several times as long.
//! Start at [`YieldBudget::tick`].

use std::thread;
use std::time::{Duration, Instant};

use crate::limits::YIELD_PERIOD;

/// When one thread yields next. It yields after every [`YIELD_PERIOD`] of work, but never gives away more time in all than it
/// worked.
#[derive(Debug, Default)]
pub(crate) struct YieldBudget {
    /// When the current period of work began.
    since: Option<Instant>,
    /// Time given away that has not been worked off yet. Yielding pauses until it is zero.
    owed: Duration,
    /// How often the thread has yielded.
    yields: u64,
}

impl YieldBudget {
    /// Begins a period of work; to be called before the first item.
    pub(crate) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// To be called between two items. Yields the core once a period of work is over.
    ///
    /// The budget exists for machines on which every core is busy: a core that was yielded there comes back milliseconds
    /// later, and without a bound the thread would fall behind the events.
    pub(crate) fn tick(&mut self) {
        let now = Instant::now();
        if self.is_over(now) {
            thread::yield_now();
            self.resumed(now, Instant::now());
        }
    }

    /// How often the thread has yielded.
    #[cfg(test)]
    pub(crate) fn yields(&self) -> u64 {
        self.yields
    }

    /// Whether to yield now.
    fn is_over(&mut self, now: Instant) -> bool {
        let worked = now.duration_since(*self.since.get_or_insert(now));
        if worked < YIELD_PERIOD {
            return false;
        }
        self.since = Some(now);
        self.owed = self.owed.saturating_sub(worked);
        self.owed.is_zero()
    }

    /// The core was yielded at `yielded` and is back at `now`.
    fn resumed(&mut self, yielded: Instant, now: Instant) {
        self.owed += now.duration_since(yielded);
        self.since = Some(now);
        self.yields += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works on `items` items of `item` each; every yield takes `taken`. Returns the number of yields and the time of it all.
    fn work(item: Duration, items: u32, taken: Duration) -> (u64, Duration) {
        let mut budget = YieldBudget::default();
        let began = Instant::now();
        budget.since = Some(began);
        let mut now = began;
        for _ in 0..items {
            now += item;
            if budget.is_over(now) {
                let yielded = now;
                now += taken;
                budget.resumed(yielded, now);
            }
        }
        (budget.yields, now - began)
    }

    #[test]
    fn the_core_is_yielded_after_every_period_and_never_within_one() {
        let item = YIELD_PERIOD / 10;
        assert_eq!(work(item, 9, Duration::ZERO), (0, item * 9));
        assert_eq!(work(item, 100, Duration::ZERO), (10, item * 100));
        assert_eq!(work(YIELD_PERIOD * 3, 5, Duration::ZERO), (5, YIELD_PERIOD * 15), "an item cannot be divided");
    }

    #[test]
    fn no_more_time_is_given_away_than_was_worked_and_one_yield() {
        let (item, taken) = (YIELD_PERIOD / 10, YIELD_PERIOD * 60);
        let items = 100_000;
        let (yields, time) = work(item, items, taken);
        let worked = item * items;
        assert!(yields > 1 && time <= worked * 2 + taken, "{yields} yields, {time:?} for {worked:?}");
        assert!(time >= worked * 2 - taken, "{time:?} for {worked:?}: others get half where they need it");
    }
}
