//! The deadline of a request: for its body, its waits and its evaluation together.
//!
//! It begins with the first byte of the request's head. A client shortens it by the header `grpc-timeout`, in every protocol
//! as grpc-gateway does, by `request-timeout` in seconds, or by a field of the request. Start at [`Deadline::from_headers`].

use std::time::Duration;

use axum::http::HeaderMap;
use tokio::time::Instant;

use crate::Error;

/// gRPC's header: up to eight digits and a unit, such as `250m`.
const GRPC_TIMEOUT: &str = "grpc-timeout";
/// The header for others: seconds as a decimal number, such as `0.25`.
const REQUEST_TIMEOUT: &str = "request-timeout";

/// When a request must be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    start: Instant,
    at: Instant,
    /// Whether the client has chosen it.
    is_chosen: bool,
}

impl Deadline {
    /// Deadline at `time` after `start`, not chosen by the client.
    pub(crate) fn after(start: Instant, time: Duration) -> Self {
        Self { start, at: start + time, is_chosen: false }
    }

    /// `time` after `start`, or earlier where the headers say so.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidField`] for a header that is no time.
    pub(crate) fn from_headers(headers: &HeaderMap, start: Instant, time: Duration) -> Result<Self, Error> {
        let read = |name: &'static str, parse: fn(&str) -> Option<Duration>, form: &str| match headers.get(name) {
            None => Ok(None),
            Some(value) => match value.to_str().ok().and_then(parse) {
                Some(time) => Ok(Some(time)),
                None => Err(Error::invalid(name, form)),
            },
        };
        let grpc = read(GRPC_TIMEOUT, grpc_timeout, "up to eight digits and one of H, M, S, m, u, n, such as 250m")?;
        let other = read(REQUEST_TIMEOUT, seconds, "seconds as a decimal number, such as 0.25")?;
        Ok([grpc, other].into_iter().flatten().fold(Self::after(start, time), Self::shortened))
    }

    /// Returns this deadline, or `time` after the start of the request where that is earlier.
    pub(crate) fn shortened(self, time: Duration) -> Self {
        match self.start.checked_add(time) {
            Some(at) if at < self.at => Self { at, is_chosen: true, ..self },
            _ => self,
        }
    }

    /// Moves the deadline by a wait that the client has asked for; not where the client has chosen the deadline.
    pub(crate) fn extended(self, wait: Duration) -> Self {
        if self.is_chosen { self } else { Self { at: self.at + wait, ..self } }
    }

    /// Returns the time of the deadline.
    pub(crate) fn at(self) -> Instant {
        self.at
    }

    /// Returns the time of the deadline as a standard `Instant`.
    pub(crate) fn for_engine(self) -> std::time::Instant {
        self.at.into_std()
    }

    /// Whether the client has chosen it.
    pub(crate) fn is_chosen(self) -> bool {
        self.is_chosen
    }

    /// Refuses once it has passed.
    ///
    /// # Errors
    ///
    /// [`Error::DeadlineExceeded`].
    pub(crate) fn check(self) -> Result<(), Error> {
        if Instant::now() < self.at { Ok(()) } else { Err(self.exceeded()) }
    }

    /// The error once it has passed.
    pub(crate) fn exceeded(self) -> Error {
        Error::DeadlineExceeded { time: self.at.saturating_duration_since(self.start) }
    }
}

fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const DEFAULT: Duration = Duration::from_secs(2);

    fn read_deadline(headers: &[(&'static str, &str)]) -> Result<Duration, String> {
        let start = Instant::now();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        Deadline::from_headers(&map, start, DEFAULT).map(|deadline| deadline.at - start).map_err(|error| error.text())
    }

    #[test]
    fn headers_shorten_the_deadline_and_never_lengthen_it() {
        assert_eq!(read_deadline(&[]), Ok(DEFAULT));
        for (value, millis) in [("250m", 250), ("1S", 1000), ("99999999S", 2000), ("99999999H", 2000), ("5000u", 5)] {
            assert_eq!(read_deadline(&[(GRPC_TIMEOUT, value)]), Ok(Duration::from_millis(millis)), "{value}");
        }
        assert_eq!(read_deadline(&[(REQUEST_TIMEOUT, "0.25")]), Ok(Duration::from_millis(250)));
        assert_eq!(read_deadline(&[(REQUEST_TIMEOUT, "30")]), Ok(DEFAULT));
        assert_eq!(read_deadline(&[(REQUEST_TIMEOUT, "1"), (GRPC_TIMEOUT, "5m")]), Ok(Duration::from_millis(5)));
        assert_eq!(read_deadline(&[(GRPC_TIMEOUT, "0n")]), Ok(Duration::ZERO));
    }

    #[test]
    fn a_header_that_is_no_time_is_refused_by_name() {
        for value in ["", "m", "1", "1s", "123456789m", "-1S", "1.5S", "é"] {
            assert!(
                read_deadline(&[(GRPC_TIMEOUT, value)]).is_err_and(|text| text.starts_with("grpc-timeout: ")),
                "{value:?}"
            );
        }
        for value in ["", "x", "-1", "NaN", "inf", "1e300"] {
            let refused = read_deadline(&[(REQUEST_TIMEOUT, value)]);
            assert!(refused.is_err_and(|text| text.starts_with("request-timeout: ")), "{value:?}");
        }
    }

    #[test]
    fn a_wait_that_was_asked_for_does_not_count_unless_the_client_has_chosen_the_deadline() {
        let start = Instant::now();
        let deadline = Deadline::after(start, DEFAULT);
        assert_eq!(deadline.extended(DEFAULT).at, start + 2 * DEFAULT);
        let chosen = deadline.shortened(DEFAULT / 2);
        assert_eq!(chosen.extended(DEFAULT).at, start + DEFAULT / 2);
        assert_eq!(chosen.shortened(DEFAULT), chosen);
    }
}
