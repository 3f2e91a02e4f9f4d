//! Timestamps and durations as Go has them: texts, arithmetic, parts in a time zone. Start at [`Timestamp`].

use std::cell::RefCell;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
const SECONDS_OF_A_DAY: i64 = 86_400;

/// Seconds from 1970 to the first and the last second of a timestamp: years 1 and 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// A point in time; its offset from UTC matters for its text only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timestamp {
    /// Seconds since the beginning of 1970 in UTC; negative before it.
    pub(crate) seconds: i64,
    /// Nanoseconds of that second, less than a second.
    pub(crate) nanos: i64,
    /// Seconds east of UTC.
    offset: i64,
}

/// Date and time of a timestamp in a zone.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    day_of_week: i64,
    second_of_day: i64,
}

impl Timestamp {
    /// A timestamp in UTC; none outside of the years 1 to 9999.
    pub(crate) fn new(seconds: i64, nanos: i64) -> Option<Self> {
        (FIRST..=LAST).contains(&seconds).then_some(Self { seconds, nanos, offset: 0 })
    }

    /// A timestamp of a message's fields, which may be any.
    pub(crate) fn of_fields(seconds: i64, nanos: i32) -> Self {
        let nanos = i64::from(nanos);
        Self { seconds: seconds.wrapping_add(nanos.div_euclid(SECOND)), nanos: nanos.rem_euclid(SECOND), offset: 0 }
    }

    /// Reads a text of RFC 3339; as in Go an hour may have one digit, and a comma may begin the fraction.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let year = digits(&mut rest, 4)?;
        let month = after(&mut rest, "-", 2)?;
        let day = after(&mut rest, "-", 2)?;
        rest = rest.strip_prefix('T')?;
        let two = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let hour = digits(&mut rest, if two { 2 } else { 1 })?;
        let minute = after(&mut rest, ":", 2)?;
        let second = after(&mut rest, ":", 2)?;
        let mut nanos = 0;
        if let Some(fraction) = rest.strip_prefix(['.', ',']) {
            let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
            let (fraction, behind) = fraction.split_at_checked(end).filter(|(fraction, _)| !fraction.is_empty())?;
            nanos = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
            rest = behind;
        }
        let offset = match rest {
            "Z" => 0,
            _ => {
                let sign = if rest.starts_with('-') { -1 } else { 1 };
                rest = rest.strip_prefix(['+', '-'])?;
                let (hours, minutes) = (digits(&mut rest, 2)?, after(&mut rest, ":", 2)?);
                if !rest.is_empty() || hours > 24 || minutes > 60 {
                    return None;
                }
                sign * (hours * 60 + minutes) * 60
            }
        };
        let is_valid = (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !is_valid {
            return None;
        }
        let seconds = days_before(year, month, day) * SECONDS_OF_A_DAY + (hour * 60 + minute) * 60 + second - offset;
        Self::new(seconds, nanos).map(|timestamp| Self { offset, ..timestamp })
    }

    /// The text of RFC 3339 with as many digits as needed.
    pub(crate) fn text(self) -> String {
        let Civil { year, month, day, second_of_day, .. } = self.civil(self.offset);
        let fraction = format!(".{:09}", self.nanos);
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        let zone = match self.offset / 60 {
            0 => "Z".to_owned(),
            minutes => {
                let sign = if minutes < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }
        };
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
    }

    /// The timestamp this many nanoseconds later.
    pub(crate) fn plus(self, nanos: i64) -> Option<Self> {
        let sum = self.nanos + nanos % SECOND;
        let seconds = self.seconds.checked_add(nanos / SECOND)?.checked_add(sum.div_euclid(SECOND))?;
        Self::new(seconds, sum.rem_euclid(SECOND)).map(|later| Self { offset: self.offset, ..later })
    }

    /// The nanoseconds since another one.
    pub(crate) fn since(self, other: Self) -> Option<i64> {
        let seconds = self.seconds.checked_sub(other.seconds)?;
        seconds.checked_mul(SECOND)?.checked_add(self.nanos - other.nanos)
    }

    /// A part of date and time by the name of its function.
    ///
    /// # Errors
    /// There is no such zone.
    pub(crate) fn part(self, name: &str, zone: &str) -> Result<Option<i64>, String> {
        let civil = self.civil(self.offset_in(zone)?);
        Ok(Some(match name {
            "getFullYear" => civil.year,
            "getMonth" => civil.month - 1,
            "getDayOfYear" => civil.day_of_year,
            "getDayOfMonth" => civil.day - 1,
            "getDate" => civil.day,
            "getDayOfWeek" => civil.day_of_week,
            "getHours" => civil.second_of_day / 3600,
            "getMinutes" => civil.second_of_day / 60 % 60,
            "getSeconds" => civil.second_of_day % 60,
            "getMilliseconds" => self.nanos / 1_000_000,
            _ => return Ok(None),
        }))
    }

    /// Whether it is the first moment of all, which is that of the year 1.
    pub(crate) fn is_first(self) -> bool {
        self.seconds == FIRST && self.nanos == 0
    }

    pub(crate) fn key(self) -> (i64, i64) {
        (self.seconds, self.nanos)
    }

    /// Seconds east of UTC in a zone: a name, or hours and minutes with a sign.
    fn offset_in(self, zone: &str) -> Result<i64, String> {
        let Some((hours, minutes)) = zone.split_once(':') else {
            return if matches!(zone, "" | "UTC" | "Local") { Ok(0) } else { self.offset_in_named(zone) };
        };
        let number = |text: &str| text.parse::<i64>().map_err(|_| format!("parsing \"{text}\": invalid syntax"));
        let (hours, minutes) = (number(hours)?.wrapping_mul(60), number(minutes)?);
        let sum = if zone.starts_with('-') { hours.wrapping_sub(minutes) } else { hours.wrapping_add(minutes) };
        Ok(sum.wrapping_mul(60 * SECOND) / SECOND)
    }

    fn offset_in_named(self, name: &str) -> Result<i64, String> {
        thread_local! {
            /// The last zone, since an expression seldom has two.
            static LAST: RefCell<Option<(String, TimeZone)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| {
            let known = last.take().filter(|(known, _)| known == name).map(|(_, zone)| zone);
            // Names of files, whose case matters.
            let found = known.or_else(|| {
                let zone = TimeZoneDatabase::bundled().get(name).ok()?;
                (zone.iana_name() == Some(name)).then_some(zone)
            });
            let zone = found.ok_or_else(|| format!("unknown time zone {name}"))?;
            let seconds = self.seconds.clamp(jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
            let at = jiff::Timestamp::from_second(seconds).map_err(|error| error.to_string())?;
            let offset = zone.to_offset(at).seconds();
            *last = Some((name.to_owned(), zone));
            Ok(i64::from(offset))
        })
    }

    fn civil(self, offset: i64) -> Civil {
        let local = self.seconds.saturating_add(offset);
        let days = local.div_euclid(SECONDS_OF_A_DAY);
        // Eras of 400 years from March of the year 0, so that the leap day is the last day of a year.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_from_march = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_from_march + 2) / 153;
        let day = day_from_march - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Civil {
            year,
            month,
            day,
            day_of_year: days - days_before(year, 1, 1),
            day_of_week: (days + 4).rem_euclid(7),
            second_of_day: local.rem_euclid(SECONDS_OF_A_DAY),
        }
    }
}

/// Reads so many digits from the start of a text.
fn digits(rest: &mut &str, count: usize) -> Option<i64> {
    let (number, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}

fn after(rest: &mut &str, separator: &str, count: usize) -> Option<i64> {
    *rest = rest.strip_prefix(separator)?;
    digits(rest, count)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970 to a date.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A duration in units of a function; the double in between is Go's.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as Go does")]
pub(crate) fn part_of_duration(name: &str, nanos: i64) -> Option<i64> {
    let unit = match name {
        "getHours" => 3_600 * SECOND,
        "getMinutes" => 60 * SECOND,
        "getSeconds" => SECOND,
        "getMilliseconds" => return Some(nanos / 1_000_000),
        _ => return None,
    };
    Some(((nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64) as i64)
}

/// The text of a duration in seconds.
#[allow(clippy::cast_precision_loss, reason = "as Go does")]
pub(crate) fn duration_text(nanos: i64) -> String {
    format!("{}s", (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9)
}

/// The duration of a message's fields, clamped.
pub(crate) fn duration_of_fields(seconds: i64, nanos: i32) -> i64 {
    let sum = i128::from(seconds) * i128::from(SECOND) + i128::from(nanos);
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}

/// Reads a duration such as `1h30m`, in nanoseconds. The fraction is a double, as in Go.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as Go does")]
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    const MOST: u64 = 1 << 63;
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(end);
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let unit: u64 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok().filter(|whole| *whole <= MOST)? };
        let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= MOST)?;
        // Digits that do not fit any more are left out.
        let (mut part, mut scale) = (0_u64, 1.0);
        for digit in fraction.bytes() {
            let Some(next) = part.checked_mul(10).and_then(|part| part.checked_add(u64::from(digit - b'0'))) else {
                break;
            };
            if next > MOST {
                break;
            }
            part = next;
            scale *= 10.0;
        }
        if part > 0 {
            nanos = nanos.checked_add((part as f64 * (unit as f64 / scale)) as u64).filter(|nanos| *nanos <= MOST)?;
        }
        total = total.checked_add(nanos).filter(|total| *total <= MOST)?;
        rest = behind;
    }
    if is_negative {
        return Some(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).ok()
}
