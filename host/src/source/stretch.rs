//! Work in stretches: who catches up with many events lets others have the core in between.
//!
//! On a machine with few cores a request that has just come may be woken on the core of a thread that works, and then waits
//! for it to go to sleep, even where another core falls idle meanwhile: for an answer of a tenth of a millisecond that is
//! some times as long as it takes. Start at [`Stretch::goes_on`].

use std::thread;
use std::time::{Duration, Instant};

use crate::limits::WORK_STRETCH;

/// Something that takes time, done bit by bit on one thread.
#[derive(Debug)]
pub(super) struct Stretch {
    since: Instant,
    worked: Duration,
    /// What others took when they were let have the core.
    given: Duration,
}

impl Stretch {
    pub(super) fn begin() -> Self {
        Self { since: Instant::now(), worked: Duration::ZERO, given: Duration::ZERO }
    }

    /// To be called between two bits. Once a stretch is over, whoever waits for the core has it; but in all for no longer
    /// than was worked: where every core is busy all the time, what is given up comes back milliseconds later, and what has
    /// to be caught up with would be lost sight of.
    pub(super) fn goes_on(&mut self) {
        let now = Instant::now();
        if self.is_over(now) {
            thread::yield_now();
            self.resumes(now, Instant::now());
        }
    }

    /// Whether it is time to let others have the core.
    fn is_over(&mut self, now: Instant) -> bool {
        let worked = now.duration_since(self.since);
        if worked < WORK_STRETCH {
            return false;
        }
        self.worked += worked;
        self.since = now;
        self.given <= self.worked
    }

    /// The core was given up, and is back.
    fn resumes(&mut self, gave: Instant, now: Instant) {
        self.given += now.duration_since(gave);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works in bits until so much was worked; others keep the core for `taken` whenever they get it. Returns how often
    /// they got it, and how long all of it took.
    fn work(bit: Duration, bits: u32, taken: Duration) -> (u32, Duration) {
        let mut stretch = Stretch::begin();
        let began = stretch.since;
        let (mut now, mut times) = (began, 0);
        for _ in 0..bits {
            now += bit;
            if stretch.is_over(now) {
                let gave = now;
                now += taken;
                times += 1;
                stretch.resumes(gave, now);
            }
        }
        (times, now - began)
    }

    #[test]
    fn others_have_the_core_after_every_stretch_and_never_within_one() {
        let bit = WORK_STRETCH / 10;
        assert_eq!(work(bit, 9, Duration::ZERO), (0, bit * 9));
        assert_eq!(work(bit, 100, Duration::ZERO), (10, bit * 100));
        assert_eq!(work(WORK_STRETCH * 3, 5, Duration::ZERO), (5, WORK_STRETCH * 15), "what cannot be cut");
    }

    #[test]
    fn others_have_no_more_than_what_was_worked_and_one_turn() {
        let (bit, taken) = (WORK_STRETCH / 10, WORK_STRETCH * 60);
        let bits = 100_000;
        let (times, time) = work(bit, bits, taken);
        let worked = bit * bits;
        assert!(times > 1 && time <= worked * 2 + taken, "{times} times, {time:?} for {worked:?}");
        assert!(time >= worked * 2 - taken, "{time:?} for {worked:?}: half is theirs where they want it");
    }
}
