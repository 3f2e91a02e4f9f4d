//! Permissions, limits and arguments that a policy gives a module, the lifetime of its instances, and minimums for a single call.

use std::time::Duration;

use super::interface::Interface;
use crate::limits::{
    FAILURE_REASONS, FILTER_TIME_MIN, FILTER_TIME_MOST, FILTER_TIME_PER_10_000_ROWS, FILTER_TIME_WEIGHT,
    GUEST_MEMORY_BYTES, LOG_LINES, OUTPUT_BYTES,
};

/// Whether instances are reused between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// A new instance for every call: no state can leak from one pod to the next.
    PerCall,
    /// Instances of a module that one trusts are reused, until they have grown by more than
    /// [`REUSED_GROWTH_BYTES`](crate::limits::REUSED_GROWTH_BYTES), have served
    /// [`REUSED_CALLS`](crate::limits::REUSED_CALLS), or a call faults.
    Recycled,
    /// Instances of a built-in are reused until a call faults.
    Reused,
}

/// The permissions, limits and arguments that a policy gives a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<Interface>>,
    /// The arguments for `configure`: a JSON object as text.
    pub args: String,
    /// Linear memory of one instance in bytes.
    pub memory_bytes: usize,
    /// Bytes that one call may pass to the host, not counting the codes or scores of the rows.
    pub output_bytes: usize,
    /// Lines that it may write to the log in each [`LOG_PERIOD`](crate::limits::LOG_PERIOD), all instances together.
    pub log_lines: u32,
    /// Processor time budget of one `filter` or `score` call; `None` derives it from the number of rows.
    pub time_per_call: Option<Duration>,
    /// Whether instances are reused.
    pub lifetime: Lifetime,
    /// Reasons that are kept of one failure; the others are counted.
    pub reasons: usize,
}

/// Minimum processor time and memory of one call, where its other limits are lower. The default is zero: no minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extra {
    /// Processor time that the call may use at least.
    pub time: Duration,
    /// Linear memory in bytes. If it is more than the grants give, the call has an instance of its own, which ends with it; a built-in can
    /// have up to [`EXTRA_MEMORY_BYTES`](crate::limits::EXTRA_MEMORY_BYTES), other modules no more than before.
    pub memory_bytes: usize,
}

impl Default for Grants {
    /// Grants of a custom module for which the policy sets nothing: every interface, no arguments, the default limits.
    fn default() -> Self {
        Self {
            allow: None,
            args: "{}".to_owned(),
            memory_bytes: GUEST_MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            log_lines: LOG_LINES,
            time_per_call: None,
            lifetime: Lifetime::PerCall,
            reasons: FAILURE_REASONS,
        }
    }
}

impl Grants {
    /// The processor time of a call over so many rows about a pod of this [`weight`](crate::Facts::weight).
    pub(super) fn call_time(&self, rows: u32, weight: usize) -> Duration {
        self.time_per_call.unwrap_or_else(|| usual_time(rows, weight))
    }
}

/// The budget of a call whose module names none: it grows with the rows, and with the pod.
fn usual_time(rows: u32, weight: usize) -> Duration {
    let least = (FILTER_TIME_PER_10_000_ROWS * rows.div_ceil(10_000)).max(FILTER_TIME_MIN);
    let times = u32::try_from(1 + weight / FILTER_TIME_WEIGHT).unwrap_or(u32::MAX);
    least.max(least.saturating_mul(times).min(FILTER_TIME_MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_call_grows_with_rows_and_with_the_pod_up_to_a_limit() {
        let milliseconds = |rows, weight| usual_time(rows, weight).as_millis();
        assert_eq!([milliseconds(0, 0), milliseconds(20_000, 0), milliseconds(100_000, 0)], [10, 10, 50]);
        // A pod of 1 MB has 500 ms, and on 100,000 nodes one of 24 kB four times as much as a small one.
        let weights = [0, 8 << 10, 24 << 10, 100 << 10, 1 << 20, usize::MAX];
        assert_eq!(weights.map(|weight| milliseconds(1_500, weight)), [10, 20, 40, 130, 500, 500]);
        assert_eq!(milliseconds(100_000, 24 << 10), 200);
        assert_eq!(milliseconds(2_000_000, 1 << 20), 1_000, "rows alone make it longer");
    }
}
