//! Clients that ask all the time, what they saw, and percentiles of it.

use std::time::{Duration, Instant};

use nodesift_tests::http::{Client, Endpoint};
use serde_json::Value;

/// One request: when it began, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) began: Instant,
    pub(crate) took: Duration,
}

/// Asks the same until `ends`; every answer must be 200.
pub(crate) fn ask_until(endpoint: &Endpoint, path: &str, body: &Value, ends: impl Fn() -> bool) -> Vec<Sample> {
    let mut client = Client::connect(endpoint).expect("a connection");
    let (body, mut samples) = (body.to_string(), Vec::new());
    while !ends() {
        let began = Instant::now();
        let answer = client.post(path, body.as_bytes()).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        samples.push(Sample { began, took: began.elapsed() });
    }
    samples
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
