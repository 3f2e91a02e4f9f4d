//! Clients that ask all the time, what they saw, and percentiles of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodesift_tests::http::{Client, Endpoint};
use serde_json::Value;

/// One request: when it began, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) began: Instant,
    pub(crate) took: Duration,
}

/// Time between an answer and the next request: clients without it take all cores, and what is waited for beside them takes as long as
/// they let it.
const PAUSE: Duration = Duration::from_millis(1);

/// Asks the same until `ends`; every answer must be 200.
pub(crate) fn ask_until(endpoint: &Endpoint, path: &str, body: &Value, ends: impl Fn() -> bool) -> Vec<Sample> {
    let mut client = Client::connect(endpoint).expect("a connection");
    let (body, mut samples) = (body.to_string(), Vec::new());
    while !ends() {
        let began = Instant::now();
        let answer = client.post(path, body.as_bytes()).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        samples.push(Sample { began, took: began.elapsed() });
        std::thread::park_timeout(PAUSE);
    }
    samples
}

/// Ends clients when it is dropped, also where a test fails: the scope of their threads waits for all of them.
pub(crate) struct Ending<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// By how much the p99 of two samples of the same load differ: what a ratio of two p99 means on this machine.
pub(crate) fn noise(one: &[Sample], other: &[Sample]) -> f64 {
    ratio(p99(one), p99(other)).max(ratio(p99(other), p99(one)))
}

/// The time that 99 of 100 did not exceed.
pub(crate) fn p99<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Duration {
    let mut times: Vec<Duration> = samples.into_iter().map(|sample| sample.took).collect();
    times.sort_unstable();
    times.get((times.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
}

/// How many times as long one duration is.
pub(crate) fn ratio(long: Duration, short: Duration) -> f64 {
    long.as_secs_f64() / short.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Seconds that a test takes which can also run at length: those of the environment, or these.
pub(crate) fn length(short: Duration) -> Duration {
    let given = std::env::var("NODESIFT_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    given.map_or(short, Duration::from_secs)
}
