//! How long predicates are evaluated under the lock of the cache's writer, by all placements together.
//!
//! Each has a limit of its own, and many that follow one another would still keep watch events and publications waiting for longer than
//! probes allow. Start at [`LockedTime::left`].

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::limits::{LOCKED_CHECK_FREE, LOCKED_CHECKS_SHARE, LOCKED_CHECKS_TIME};

/// Time that is left for evaluations under the lock. It comes back as time passes.
#[derive(Debug, Default)]
pub(crate) struct LockedTime(Mutex<Option<Used>>);

#[derive(Debug, Clone, Copy)]
struct Used {
    time: Duration,
    /// When it was that much.
    at: Instant,
}

impl Used {
    fn by(self, now: Instant) -> Duration {
        self.time.saturating_sub(now.saturating_duration_since(self.at) / LOCKED_CHECKS_SHARE)
    }
}

impl LockedTime {
    /// For how long the next placement may evaluate, at most `most`: always for [`LOCKED_CHECK_FREE`], so that ordinary predicates
    /// are never refused.
    pub(crate) fn left(&self, now: Instant, most: Duration) -> Duration {
        let used = self.0.lock().map_or(Duration::ZERO, |used| used.by(now));
        LOCKED_CHECKS_TIME.saturating_sub(used).clamp(LOCKED_CHECK_FREE, most.max(LOCKED_CHECK_FREE))
    }

    /// An evaluation has taken so much time, and ends now.
    pub(crate) fn spend(&self, now: Instant, time: Duration) {
        if time > LOCKED_CHECK_FREE {
            let mut used = self.0.lock();
            *used = Some(Used { time: used.map_or(Duration::ZERO, |used| used.by(now)) + time, at: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_millis(50);

    #[test]
    fn placements_that_follow_one_another_have_a_share_of_the_time_together_and_quick_ones_are_free() {
        let (time, start) = (LockedTime::default(), Instant::now());
        let (mut now, mut held) = (start, Duration::ZERO);
        // One after the other takes all that it may.
        for _ in 0..10_000 {
            let left = time.left(now, MOST);
            now += left;
            time.spend(now, left);
            held += left;
        }
        let slow = held - LOCKED_CHECK_FREE * 10_000;
        assert!(slow <= LOCKED_CHECKS_TIME + (now - start) / LOCKED_CHECKS_SHARE, "{slow:?} of {:?}", now - start);
        assert_eq!(time.left(now, MOST), LOCKED_CHECK_FREE);
        // It comes back.
        now += LOCKED_CHECKS_TIME * LOCKED_CHECKS_SHARE;
        assert_eq!(time.left(now, MOST), MOST);
        assert_eq!(time.left(now, Duration::from_secs(10)), LOCKED_CHECKS_TIME);
        for _ in 0..10_000 {
            time.spend(now, LOCKED_CHECK_FREE);
        }
        assert_eq!(time.left(now, MOST), MOST);
    }
}
