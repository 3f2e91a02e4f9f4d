//! Moments as the API server writes them: RFC 3339, in UTC and whole seconds. Start at [`Timestamp`].

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

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

/// A moment in seconds since 1970-01-01T00:00:00Z as the API server writes it. Years go from 0 to 9999; what is beyond is the
/// first or last moment of these.
pub fn rfc3339(seconds: i64) -> String {
    let seconds = seconds.clamp(-62_167_219_200, 253_402_300_799);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The year begins at or before the day; 366 days a year are too few years, so that some steps may follow.
    let mut year = 1970 + days.div_euclid(366);
    while days_until(year + 1, 1, 1) <= days {
        year += 1;
    }
    while days_until(year, 1, 1) > days {
        year -= 1;
    }
    let month = (1..=12).rev().find(|month| days_until(year, *month, 1) <= days).unwrap_or(1);
    let day = days - days_until(year, month, 1) + 1;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(seconds) => serializer.serialize_str(&rfc3339(seconds)),
            None => serializer.serialize_none(),
        }
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
