//! Timeouts of tests. Tests wait for conditions; a timeout only limits the wait.

use std::time::{Duration, Instant};

/// Multiplies every timeout; set it on a slow machine.
pub const FACTOR: &str = "NODESIFT_TIMEOUT_FACTOR";

/// The default timeout. With cold caches, a start of the binary compiles every predicate.
const LIMIT: Duration = Duration::from_secs(60);

/// The time between two checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// The default timeout times the factor.
pub fn limit() -> Duration {
    scaled(LIMIT)
}

/// A duration times the factor.
pub fn scaled(time: Duration) -> Duration {
    time * factor()
}

fn factor() -> u32 {
    std::env::var(FACTOR).ok().and_then(|factor| factor.parse().ok()).unwrap_or(1)
}

/// Checks the condition until it gives a value; `None` after the default timeout.
pub fn until<T>(mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return Some(value);
        }
        if start.elapsed() > limit() {
            return None;
        }
        std::thread::park_timeout(POLL_INTERVAL);
    }
}
