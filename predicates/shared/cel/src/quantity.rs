//! Kubernetes quantities, exact to the nanounit, in the two forms that Kubernetes gives them: which one decides what is an integer.

use std::cmp::Ordering;

/// An amount: a number and the power of ten that it is multiplied with. Amounts beyond about 1.7e29 units are clamped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    base: i128,
    exponent: i32,
    /// Whether it is a number of any length, and not one of 64 bits.
    is_long: bool,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other).is_eq()
    }
}

/// The power of ten of the smallest unit.
const NANO: i32 = -9;

/// Decimal digits of a number of 64 bits, whatever they are.
const SHORT_DIGITS: usize = 18;

/// Decimal digits of the largest amount: a longer number is clamped.
const DIGITS: usize = 38;

/// How a suffix counts.
enum Suffix {
    /// A power of ten.
    Decimal(i32),
    /// A power of two.
    Binary(u32),
}

/// Text of a quantity, split into its number and its suffix.
struct Parts<'t> {
    is_negative: bool,
    /// Digits before the point without leading zeros, and those behind it.
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

impl Quantity {
    /// Reads a text, rounded up to the nanounit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Parts { is_negative, whole, fraction, suffix } = parts(text)?;
        let suffix = suffix_of(suffix)?;
        let sign = if is_negative { -1 } else { 1 };
        let digits = whole.len().max(1) + fraction.len();
        // A number of 64 bits is one that can have no more digits than fit.
        let short = match suffix {
            Suffix::Decimal(exponent) if digits <= SHORT_DIGITS => {
                Some((1, exponent.wrapping_sub(i32::try_from(fraction.len()).ok()?)))
            }
            Suffix::Binary(bits) if fraction.is_empty() && digits + bits as usize * 3 / 10 < 15 => Some((1 << bits, 0)),
            _ => None,
        };
        let number = format!("{whole}{fraction}");
        let amount =
            number.bytes().skip_while(|digit| *digit == b'0').enumerate().fold(0_i128, |sum, (at, digit)| {
                if at < DIGITS { sum * 10 + i128::from(digit - b'0') } else { i128::MAX }
            });
        if let Some((factor, exponent)) = short
            && exponent >= NANO
            && let Some(product) = amount.checked_mul(factor).filter(|product| i64::try_from(*product).is_ok())
        {
            return Some(Self { base: sign * product, exponent, is_long: false });
        }
        let places = i64::try_from(fraction.len()).ok()?;
        let (factor, exponent) = match suffix {
            Suffix::Decimal(exponent) => (1, i64::from(exponent)),
            Suffix::Binary(bits) => (1_i128 << bits, 0),
        };
        let scaled = amount.saturating_mul(factor);
        let exponent = exponent + 9 - places;
        let nanos = if exponent >= 0 {
            scaled.saturating_mul(power_of_ten(exponent))
        } else {
            let unit = power_of_ten(-exponent);
            scaled.div_euclid(unit) + i128::from(scaled.rem_euclid(unit) != 0)
        };
        let most = i128::from(i64::MAX);
        if matches!(suffix, Suffix::Binary(_)) && nanos > most * power_of_ten(9) {
            return Some(Self { base: sign * most, exponent: 0, is_long: true });
        }
        Some(Self { base: sign * nanos, exponent: NANO, is_long: true })
    }

    fn nanos(self) -> i128 {
        self.base.saturating_mul(power_of_ten(i64::from(self.exponent) - i64::from(NANO)))
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.nanos().cmp(&other.nanos())
    }

    pub(crate) fn sign(self) -> i64 {
        i64::try_from(self.base.signum()).unwrap_or(0)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let is_short = !self.is_long && !other.is_long;
        if is_short && (self.base == 0 || other.base == 0) {
            return if other.base == 0 { self } else { other };
        }
        let exponent = self.exponent.min(other.exponent);
        let at = |quantity: Self| {
            quantity.base.saturating_mul(power_of_ten(i64::from(quantity.exponent) - i64::from(exponent)))
        };
        let (a, b) = (at(self), at(other));
        let sum = a.saturating_add(b);
        let is_long = !is_short || [a, b, sum].into_iter().any(|number| i64::try_from(number).is_err());
        Self { base: sum, exponent, is_long }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        let difference = self.plus(Self { base: other.base.saturating_neg(), ..other });
        // The least number of 64 bits is its own negative there.
        if other.base == i128::from(i64::MIN) && !other.is_long {
            let wrapped = self.plus(other);
            return if wrapped.is_long { difference } else { wrapped };
        }
        difference
    }

    pub(crate) fn from_int(value: i64) -> Self {
        Self { base: i128::from(value), exponent: 0, is_long: false }
    }

    /// The value, if it is written as a whole number of 64 bits.
    pub(crate) fn as_integer(self) -> Option<i64> {
        let power = u32::try_from(self.exponent).ok()?;
        if self.is_long || self.base == 0 {
            return (!self.is_long).then_some(0);
        }
        i64::try_from(10_i128.checked_pow(power)?.checked_mul(self.base)?).ok()
    }

    #[allow(clippy::cast_precision_loss, reason = "approximate by definition")]
    pub(crate) fn as_float(self) -> f64 {
        let base = self.base as f64;
        if self.exponent == 0 { base } else { base * format!("1e{}", self.exponent).parse().unwrap_or(1.0) }
    }
}

/// Splits a text; digits may be missing.
fn parts(text: &str) -> Option<Parts<'_>> {
    if text.is_empty() {
        return None;
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let rest = rest.trim_start_matches('0');
    let (whole, rest) = rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len()));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len())),
        None => ("", rest),
    };
    Some(Parts { is_negative: text.starts_with('-'), whole, fraction, suffix })
}

#[allow(clippy::cast_possible_truncation, reason = "as Kubernetes does")]
fn suffix_of(suffix: &str) -> Option<Suffix> {
    Some(match suffix {
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "" => Suffix::Decimal(0),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(10),
        "Mi" => Suffix::Binary(20),
        "Gi" => Suffix::Binary(30),
        "Ti" => Suffix::Binary(40),
        "Pi" => Suffix::Binary(50),
        "Ei" => Suffix::Binary(60),
        // Kubernetes reads 64 bits and keeps the lower half of them.
        _ => Suffix::Decimal(suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
    })
}

/// A power of ten, clamped to the maximum.
fn power_of_ten(exponent: i64) -> i128 {
    u32::try_from(exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent)).unwrap_or(i128::MAX)
}
