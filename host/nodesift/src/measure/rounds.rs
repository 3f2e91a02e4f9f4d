//! The same work many times over, each time by itself.

use std::time::{Duration, Instant};

/// How long each round took, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Sorts what was measured.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that this share of the rounds, between 0 and 1, did not exceed; 0 without any round.
    pub fn quantile(&self, share: f64) -> Duration {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // Counts of rounds are far below 2^52, and shares are positive.
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The time that half the rounds did not exceed.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

/// Runs and measures `run` so many times, `prepare` before each round unmeasured. The first failure ends it.
///
/// # Errors
///
/// What either fails with.
pub fn timed<T, E>(
    rounds: usize,
    mut prepare: impl FnMut(usize) -> Result<T, E>,
    mut run: impl FnMut(T) -> Result<(), E>,
) -> Result<Times, E> {
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let prepared = prepare(round)?;
        let started = Instant::now();
        run(prepared)?;
        times.push(started.elapsed());
    }
    Ok(Times::of(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let times = Times::of((1..=100).rev().map(Duration::from_nanos).collect());
        assert_eq!(times.median(), Duration::from_nanos(50));
        assert_eq!(times.quantile(0.99), Duration::from_nanos(99));
        assert_eq!(times.quantile(1.0), Duration::from_nanos(100));
        assert_eq!(times.quantile(0.0), Duration::from_nanos(1));
        assert_eq!(Times::of(Vec::new()).median(), Duration::ZERO);
        assert_eq!(Times::of(vec![Duration::from_nanos(3)]).quantile(0.99), Duration::from_nanos(3));
    }

    #[test]
    fn preparing_is_not_measured_and_a_failure_ends_the_rounds() {
        let mut ran = Vec::new();
        let run = |round| {
            ran.push(round);
            if round < 3 { Ok(()) } else { Err(round) }
        };
        let outcome = timed(5, Ok, run);
        assert_eq!((outcome, ran), (Err(3), vec![0, 1, 2, 3]));
    }
}
