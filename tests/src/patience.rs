//! How long tests wait for what must happen. Waiting is by condition; patience only says when to give up.

use std::time::{Duration, Instant};

/// Multiplies every wait; set it on a slow machine.
pub const PATIENCE: &str = "NODESIFT_PATIENCE";

/// How long to wait for anything by default: a start of the binary with cold caches compiles every predicate.
const WAIT: Duration = Duration::from_secs(60);

/// Between two looks at a condition that cannot wake us.
const LOOK: Duration = Duration::from_millis(15);

/// The time after which a test gives up waiting.
pub fn wait() -> Duration {
    WAIT * factor()
}

/// A bound on a duration, widened by the patience that was asked for.
pub fn within(time: Duration) -> Duration {
    time * factor()
}

fn factor() -> u32 {
    std::env::var(PATIENCE).ok().and_then(|factor| factor.parse().ok()).unwrap_or(1)
}

/// Looks until the condition gives a value; none once patience is over.
pub fn until<T>(mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return Some(value);
        }
        if start.elapsed() > wait() {
            return None;
        }
        std::thread::park_timeout(LOOK);
    }
}
