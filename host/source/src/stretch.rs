//! Work in stretches: who catches up with many events lets others have the core in between.
//!
//! On a machine with few cores a request that has just come may be woken on the core of a thread that works, and then waits
//! for it to go to sleep, even where another core falls idle meanwhile: for an answer of a tenth of a millisecond that is
//! some times as long as it takes. Start at [`Stretch::goes_on`].

use std::thread;
use std::time::{Duration, Instant};

use crate::limits::WORK_STRETCH;

/// What one thread does bit by bit, now and then.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// When the one under way began.
    since: Option<Instant>,
    /// What others took of the core that has not been worked since.
    ahead: Duration,
    /// How often others were let have it.
    times: u64,
}

impl Stretch {
    /// To be called before the first of some bits.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// To be called between two bits. Once a stretch is over, whoever waits for the core has it; but for no longer in all than
    /// is worked: where every core is busy all the time, what is given up comes back milliseconds later, and what has to be
    /// caught up with would be lost sight of.
    pub(super) fn goes_on(&mut self) {
        let now = Instant::now();
        if self.is_over(now) {
            thread::yield_now();
            self.resumes(now, Instant::now());
        }
    }

    /// How often others were let have the core.
    #[cfg(test)]
    pub(super) fn times(&self) -> u64 {
        self.times
    }

    /// Whether it is time to let others have the core.
    fn is_over(&mut self, now: Instant) -> bool {
        let worked = now.duration_since(*self.since.get_or_insert(now));
        if worked < WORK_STRETCH {
            return false;
        }
        self.since = Some(now);
        self.ahead = self.ahead.saturating_sub(worked);
        self.ahead.is_zero()
    }

    /// The core was given up, and is back.
    fn resumes(&mut self, gave: Instant, now: Instant) {
        self.ahead += now.duration_since(gave);
        self.since = Some(now);
        self.times += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works in bits, on end; others keep the core for `taken` whenever they get it. Returns how often they got it, and how
    /// long all of it took.
    fn work(bit: Duration, bits: u32, taken: Duration) -> (u64, Duration) {
        let mut stretch = Stretch::default();
        let began = Instant::now();
        stretch.since = Some(began);
        let mut now = began;
        for _ in 0..bits {
            now += bit;
            if stretch.is_over(now) {
                let gave = now;
                now += taken;
                stretch.resumes(gave, now);
            }
        }
        (stretch.times, now - began)
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
