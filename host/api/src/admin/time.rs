//! Moments and durations as documents have them. Start at [`rfc3339`].

use std::time::{Duration, SystemTime};

/// A time in RFC 3339, in milliseconds.
pub fn rfc3339(time: SystemTime) -> String {
    let mut time = prost_types::Timestamp::from(time);
    time.nanos -= time.nanos % 1_000_000;
    time.to_string()
}

pub(super) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
