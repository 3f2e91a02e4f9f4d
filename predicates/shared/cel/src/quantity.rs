//! Kubernetes quantities, exact to the nanounit.

use std::cmp::Ordering;

/// An amount in nanounits; texts beyond about 1.7e29 units are clamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

const NANOS: i128 = 1_000_000_000;

/// Decimal digits of the largest amount: a longer number is clamped.
const DIGITS: usize = 38;

impl Quantity {
    /// Reads a text, rounded up to the nanounit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let digits = whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0');
        let digits = digits
            .enumerate()
            .fold(0_i128, |sum, (at, digit)| if at < DIGITS { sum * 10 + i128::from(digit - b'0') } else { i128::MAX });
        let places = i64::try_from(fraction.len()).ok()?;
        let (factor, exponent) = suffix_of(suffix)?;
        let scaled = digits.saturating_mul(factor);
        let exponent = exponent + 9 - places;
        let amount = if exponent >= 0 {
            scaled.saturating_mul(power_of_ten(exponent))
        } else {
            let unit = power_of_ten(-exponent);
            scaled.div_euclid(unit) + i128::from(scaled.rem_euclid(unit) != 0)
        };
        Some(Self(if negative { -amount } else { amount }))
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.0.cmp(&other.0)
    }

    pub(crate) fn sign(self) -> i64 {
        i64::try_from(self.0.signum()).unwrap_or(0)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(crate) fn from_int(value: i64) -> Self {
        Self(i128::from(value) * NANOS)
    }

    /// The value, if it is whole and fits.
    pub(crate) fn as_integer(self) -> Option<i64> {
        if self.0 % NANOS == 0 { i64::try_from(self.0 / NANOS).ok() } else { None }
    }

    #[allow(clippy::cast_precision_loss, reason = "approximate by definition")]
    pub(crate) fn as_float(self) -> f64 {
        // Whole amounts are converted by themselves, so that they are the nearest double.
        if self.0 % NANOS == 0 { (self.0 / NANOS) as f64 } else { self.0 as f64 / NANOS as f64 }
    }
}

/// The factor and power of ten of a suffix.
fn suffix_of(suffix: &str) -> Option<(i128, i64)> {
    let binary = |bits: u32| Some((1_i128 << bits, 0));
    let decimal = |exponent: i64| Some((1, exponent));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => decimal(i64::from(suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?)),
    }
}

/// A power of ten, clamped to the maximum.
fn power_of_ten(exponent: i64) -> i128 {
    u32::try_from(exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent)).unwrap_or(i128::MAX)
}
