//! Kubernetes quantities, exact to the nanounit, with the two formats of Go's `resource.Quantity`: a 64-bit integer times a
//! power of ten while that suffices, otherwise an unlimited decimal. They differ where a value does not fit 64 bits: the
//! first then returns 0, the second the low 64 bits.

use serde_json::Value;

/// An amount of the Kubernetes API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// In nanounits. Larger texts are clamped to the maximum.
    nanounits: i128,
    /// The power of ten of the 64-bit format, `None` in the unlimited one.
    scale: Option<i32>,
}

/// Nanounits per unit, as a power of ten.
const NANO: i32 = 9;

/// Digits that always fit 64 bits: Go uses this number to choose the format.
const SAFE_DIGITS: usize = 18;

impl Quantity {
    /// Zero in the 64-bit format.
    pub const ZERO: Self = Self { nanounits: 0, scale: Some(0) };

    /// Reads a quantity from an object; `None` where it is invalid.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::ZERO),
            Value::String(text) => Self::parse(text.trim()),
            number => Self::parse(&number.to_string()),
        }
    }

    /// Parses a quantity as Go does; `None` where it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, rest) = rest.split_at(digits_end);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
            None => ("", rest),
        };
        if text.is_empty() {
            return None;
        }
        let has_digit = !whole.is_empty() || !fraction.is_empty();
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let unit = Unit::parse(suffix)?;

        let amount = unit.amount(whole, fraction);
        let scale = unit.scale(whole, fraction, amount);
        // Go reads a sign, a point or a suffix alone as zero, except where the number may not fit 64 bits.
        if scale.is_none() && !has_digit {
            return None;
        }
        // Beyond 64 bits only values with binary suffixes are clamped.
        let cap = i128::from(i64::MAX) * power(NANO);
        let amount = if scale.is_none() && matches!(unit, Unit::Binary(_)) { amount.min(cap) } else { amount };
        Some(Self { nanounits: if negative { -amount } else { amount }, scale })
    }

    /// Returns the sum, in the format that Go gives it.
    pub fn plus(self, other: Self) -> Self {
        let nanounits = self.nanounits.saturating_add(other.nanounits);
        let scale = match (self.scale, other.scale) {
            (Some(_), Some(_)) if other.nanounits == 0 => self.scale,
            (Some(_), Some(_)) if self.nanounits == 0 => other.scale,
            (Some(a), Some(b)) => {
                let scale = a.min(b);
                let fit = [self.nanounits, other.nanounits, nanounits].iter().all(|amount| fits(*amount, scale));
                fit.then_some(scale)
            }
            _ => None,
        };
        Self { nanounits, scale }
    }

    /// Whether this amount is larger than another.
    pub fn exceeds(self, other: Self) -> bool {
        self.nanounits > other.nanounits
    }

    /// Compares the amounts, whatever their formats.
    pub fn compare(self, other: Self) -> std::cmp::Ordering {
        self.nanounits.cmp(&other.nanounits)
    }

    /// Makes a quantity of this many units.
    pub fn from_units(units: i64) -> Self {
        Self { nanounits: i128::from(units) * power(NANO), scale: Some(0) }
    }

    /// In units, if that is a whole number of 64 bits.
    pub fn whole(self) -> Option<i64> {
        if self.nanounits % power(NANO) == 0 { i64::try_from(self.nanounits / power(NANO)).ok() } else { None }
    }

    /// A text that reads as the same amount.
    pub fn decimal(self) -> String {
        match self.nanounits % power(NANO) {
            0 => (self.nanounits / power(NANO)).to_string(),
            _ => format!("{}n", self.nanounits),
        }
    }

    /// In whole units, rounded up.
    pub fn value(self) -> i64 {
        self.rounded_up(0)
    }

    /// In thousandths, rounded up.
    pub fn milli_value(self) -> i64 {
        self.rounded_up(-3)
    }

    #[allow(clippy::cast_possible_truncation, reason = "the low 64 bits are what Go reads")]
    fn rounded_up(self, scale: i32) -> i64 {
        let unit = power(NANO + scale);
        let whole = self.nanounits.div_euclid(unit) + i128::from(self.nanounits.rem_euclid(unit) != 0);
        match i64::try_from(whole) {
            Ok(value) => value,
            Err(_) if self.scale.is_some() => 0,
            Err(_) => whole as i64,
        }
    }
}

/// The factor of a suffix.
enum Unit {
    /// A power of two.
    Binary(u32),
    /// A power of ten.
    Decimal(i32),
}

impl Unit {
    #[allow(clippy::cast_possible_truncation, reason = "as Go does")]
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            // Go reads 64 bits and keeps the lower half of them.
            _ => Self::Decimal(suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
        })
    }

    /// The amount in nanounits, rounded up.
    fn amount(&self, whole: &str, fraction: &str) -> i128 {
        let digits = format!("{whole}{fraction}").parse::<i128>().unwrap_or(i128::MAX);
        let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let (digits, exponent) = match self {
            Self::Binary(bits) => (digits.saturating_mul(1 << bits), NANO.saturating_sub(places)),
            Self::Decimal(exponent) => (digits, NANO.saturating_add(*exponent).saturating_sub(places)),
        };
        if exponent >= 0 {
            return digits.saturating_mul(power(exponent));
        }
        let unit = power(exponent.saturating_neg());
        digits.div_euclid(unit) + i128::from(digits.rem_euclid(unit) != 0)
    }

    /// The scale in which Go's parser holds the number in 64 bits, if it does.
    fn scale(&self, whole: &str, fraction: &str, amount: i128) -> Option<i32> {
        let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let scale = match self {
            Self::Decimal(exponent) if whole.len() + fraction.len() <= SAFE_DIGITS => exponent.saturating_sub(places),
            // 15 digits, minus the written ones, minus those of the suffix.
            Self::Binary(bits) if fraction.is_empty() && whole.len() + (*bits as usize * 3 / 10) < 15 => 0,
            _ => return None,
        };
        (scale >= -NANO && fits(amount, scale)).then_some(scale)
    }
}

/// Whether an amount in nanounits is a 64-bit multiple of 10^scale.
fn fits(nanounits: i128, scale: i32) -> bool {
    i64::try_from(nanounits / power(NANO.saturating_add(scale))).is_ok()
}

/// A power of ten, clamped to the maximum.
fn power(exponent: i32) -> i128 {
    u32::try_from(exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent)).unwrap_or(i128::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn values(text: &str) -> (i64, i64) {
        let quantity = Quantity::parse(text).unwrap();
        (quantity.value(), quantity.milli_value())
    }

    #[test]
    fn texts_read_as_in_kubernetes() {
        assert_eq!(values("1930m"), (2, 1930));
        assert_eq!(values("2665e-3"), (3, 2665));
        assert_eq!(values("0.0005"), (1, 1));
        assert_eq!(values("110e0"), (110, 110_000));
        assert_eq!(values("7.5Gi"), (8_053_063_680, 8_053_063_680_000));
        assert_eq!(values(".5"), (1, 500));
        assert_eq!(values("1n"), (1, 1));
        assert_eq!(values("46000000E3").0, 46_000_000_000);
        assert_eq!(values("9223372036854775807").0, i64::MAX);
        for text in ["", "4x", "1 Gi", "--1", "1e", "1mi"] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        let sum = |count: usize| {
            let part = Quantity::parse("100u").unwrap();
            (0..count).fold(Quantity::ZERO, |sum, _| sum.plus(part)).milli_value()
        };
        assert_eq!((sum(10), sum(11)), (1, 2));
    }
}
