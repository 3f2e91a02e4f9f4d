//! Moments and durations as documents have them. Start at [`rfc3339`].

use std::time::{Duration, SystemTime};

/// A time in RFC 3339, in UTC with three digits of the second: texts of one length, which sort as their times do.
pub fn rfc3339(time: SystemTime) -> String {
    let time = prost_types::Timestamp::from(time);
    with_milliseconds(time.seconds, time.nanos / 1_000_000)
}

/// A time in whole seconds since 1970-01-01T00:00:00Z, as [`rfc3339`] writes it.
pub(super) fn rfc3339_of_seconds(seconds: i64) -> String {
    with_milliseconds(seconds, 0)
}

fn with_milliseconds(seconds: i64, milliseconds: i32) -> String {
    let whole = nodesift_object::time::rfc3339(seconds);
    format!("{}.{milliseconds:03}Z", whole.trim_end_matches('Z'))
}

pub(super) fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn every_time_has_three_digits_of_the_second() {
        let at = |nanoseconds| rfc3339(UNIX_EPOCH + Duration::new(86_400, nanoseconds));
        assert_eq!(at(0), "1970-01-02T00:00:00.000Z");
        assert_eq!(at(40_999_999), "1970-01-02T00:00:00.040Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_millis(1)), "1969-12-31T23:59:59.999Z");
        assert_eq!(rfc3339_of_seconds(86_400), at(0));
    }
}
