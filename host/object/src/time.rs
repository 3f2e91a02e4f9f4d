//! Moments as the API server writes them: RFC 3339, in UTC and whole seconds. Start at [`Timestamp`].

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A moment in seconds since 1970-01-01T00:00:00Z; `None` where it is absent, or no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub Option<i64>);

impl Timestamp {
    /// The moment that a text names: `2026-11-24T09:30:00Z`, with a fraction of a second, which is dropped, or another offset
    /// from UTC.
    pub fn parse(text: &str) -> Self {
        Self(parse(text))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a moment as text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                Ok(Timestamp::parse(text))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

fn parse(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let (clock, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let clock = clock.split_once('.').map_or(Some(clock), |(clock, fraction)| digits(fraction).map(|_| clock))?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let is_moment = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let offset = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign, offset) => {
            let [hours, minutes] = numbers(offset, ':', [2, 2])?;
            let seconds = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60)?;
            if sign == "+" { seconds } else { -seconds }
        }
    };
    is_moment.then(|| ((days_until(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset)
}

/// Numbers of so many digits each, with a sign between them.
fn numbers<const N: usize>(text: &str, between: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, width) in numbers.iter_mut().zip(widths) {
        *number = parts.next().filter(|part| part.len() == width).and_then(digits)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date, negative before it.
fn days_until(year: i64, month: i64, day: i64) -> i64 {
    // Leap days before a year, counted from the year 0, which is one.
    let leap_days = |year: i64| (year + 3).div_euclid(4) - (year + 99).div_euclid(100) + (year + 399).div_euclid(400);
    let years = (year - 1970) * 365 + leap_days(year) - leap_days(1970);
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1
}
