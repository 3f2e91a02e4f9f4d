//! Timing: the same work in many rounds, each round timed on its own. Start at [`timed`].

use std::time::{Duration, Instant};

/// The time of each round, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl Times {
    /// The times of some rounds, in any order.
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that this share of the rounds, from 0 to 1, did not exceed; zero without rounds.
    pub fn quantile(&self, share: f64) -> Duration {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // Counts of rounds are far below 2^52, and shares are positive.
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The time that half of the rounds did not exceed.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

/// Times `run` in each of `rounds` rounds. `prepare` runs before each round and is not timed.
///
/// # Errors
///
/// The first error of either; no round follows it.
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
    Ok(Times::new(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_times() {
        let times = Times::new((1..=100).rev().map(Duration::from_nanos).collect());
        assert_eq!(times.median(), Duration::from_nanos(50));
        assert_eq!(times.quantile(0.99), Duration::from_nanos(99));
        assert_eq!(times.quantile(1.0), Duration::from_nanos(100));
        assert_eq!(times.quantile(0.0), Duration::from_nanos(1));
        assert_eq!(Times::new(Vec::new()).median(), Duration::ZERO);
        assert_eq!(Times::new(vec![Duration::from_nanos(3)]).quantile(0.99), Duration::from_nanos(3));
    }

    #[test]
    fn preparation_is_not_timed_and_an_error_ends_the_rounds() {
        let mut ran = Vec::new();
        let run = |round| {
            ran.push(round);
            if round < 3 { Ok(()) } else { Err(round) }
        };
        let outcome = timed(5, Ok, run);
        assert_eq!((outcome, ran), (Err(3), vec![0, 1, 2, 3]));
    }
}
