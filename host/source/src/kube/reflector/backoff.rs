//! Exponential backoff with jitter: how long a failed request waits. Pure: the clock is an argument.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{RETRY_FIRST, RETRY_JITTER, RETRY_MOST, RETRY_RESET, UNREACHABLE_RETRY_MOST};

/// The cause of failures without a connection, by its metric label.
pub(in crate::kube) const UNREACHABLE: &str = "transport";

/// The backoff of one kind. It doubles with each failure, from [`RETRY_FIRST`] to [`RETRY_MOST`], or [`UNREACHABLE_RETRY_MOST`] where
/// there is no connection, and starts again after a
/// success, after [`RETRY_RESET`] without a failure, and with each cause that is new since then: a server that was down and
/// is up may deny everything for a moment, which has nothing to do with how long it was down.
#[derive(Debug, Clone)]
pub(in crate::kube) struct Backoff {
    failures: u32,
    /// The causes since the last success, by their metric label.
    causes: Vec<&'static str>,
    /// When the last wait ends: time without a failure counts from then.
    asked_again: Option<Instant>,
    random: fastrand::Rng,
}

impl Backoff {
    /// A backoff without failures. `random` gives the jitter.
    pub(in crate::kube) fn new(random: fastrand::Rng) -> Self {
        Self { failures: 0, causes: Vec::new(), asked_again: None, random }
    }

    /// A request was answered well.
    pub(in crate::kube) fn succeeded(&mut self) {
        self.failures = 0;
        self.causes.clear();
    }

    /// The wait after another failure.
    pub(in crate::kube) fn after_failure(&mut self, cause: &'static str, now: Instant) -> Duration {
        if self.asked_again.is_some_and(|at| now.saturating_duration_since(at) >= RETRY_RESET) {
            self.succeeded();
        }
        if !self.causes.contains(&cause) {
            self.failures = 0;
            self.causes.push(cause);
        }
        let most = if cause == UNREACHABLE { UNREACHABLE_RETRY_MOST } else { RETRY_MOST };
        // 2^6 times the first wait is longer than the longest.
        let wait = (RETRY_FIRST * 2_u32.pow(self.failures.min(6))).min(most);
        self.failures = self.failures.saturating_add(1);
        self.wait(now, wait)
    }

    /// The longest wait, for failures that only an operator can fix.
    pub(in crate::kube) fn longest(&mut self, now: Instant) -> Duration {
        self.wait(now, RETRY_MOST)
    }

    /// Replaces the wait by a longer one that the server has asked for.
    pub(in crate::kube) fn prolong(&mut self, now: Instant, wait: Duration) {
        self.asked_again = Some(now + wait);
    }

    fn wait(&mut self, now: Instant, wait: Duration) -> Duration {
        let wait = wait.mul_f64(1.0 + RETRY_JITTER * (2.0 * self.random.f64() - 1.0));
        self.asked_again = Some(now + wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a wait is one of `seconds`, give or take the jitter.
    fn is_about(wait: Duration, seconds: f64) -> bool {
        (seconds * (1.0 - RETRY_JITTER)..=seconds * (1.0 + RETRY_JITTER)).contains(&wait.as_secs_f64())
    }

    #[test]
    fn waits_double_to_the_longest_and_have_jitter() {
        let now = Instant::now();
        let waits = |seed, cause| {
            let mut backoff = Backoff::new(fastrand::Rng::with_seed(seed));
            (0..9).map(|_| backoff.after_failure(cause, now)).collect::<Vec<_>>()
        };
        for (wait, seconds) in waits(1, "server").into_iter().zip([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]) {
            assert!(is_about(wait, seconds), "{wait:?}, expected about {seconds} s");
        }
        for (wait, seconds) in waits(1, UNREACHABLE).into_iter().zip([0.8, 1.6, 3.2, 6.4, 12.8, 20.0, 20.0]) {
            assert!(is_about(wait, seconds), "{wait:?}, expected about {seconds} s");
        }
        assert_ne!(waits(1, "server"), waits(2, "server"));
    }

    #[test]
    fn two_minutes_without_a_failure_reset_the_backoff_and_less_does_not() {
        let mut backoff = Backoff::new(fastrand::Rng::with_seed(1));
        let mut now = Instant::now();
        for _ in 0..8 {
            now += backoff.after_failure("server", now);
        }
        now += RETRY_RESET - Duration::from_secs(1);
        let wait = backoff.after_failure("server", now);
        assert!(is_about(wait, 30.0), "{wait:?}");
        now += wait + RETRY_RESET;
        let wait = backoff.after_failure("server", now);
        assert!(is_about(wait, 0.8), "{wait:?}");
    }

    #[test]
    fn a_cause_that_is_new_is_retried_soon_and_causes_in_turn_are_not() {
        let mut backoff = Backoff::new(fastrand::Rng::with_seed(1));
        let now = Instant::now();
        (0..8).for_each(|_| {
            backoff.after_failure("transport", now);
        });
        for seconds in [0.8, 1.6, 3.2] {
            let wait = backoff.after_failure("denied", now);
            assert!(is_about(wait, seconds), "{wait:?}, expected about {seconds} s");
        }
        let wait = backoff.after_failure("transport", now);
        assert!(is_about(wait, 6.4), "{wait:?}");
        backoff.succeeded();
        let wait = backoff.after_failure("transport", now);
        assert!(is_about(wait, 0.8), "{wait:?}");
    }
}
