//! Quantities: exact decimal amounts as Kubernetes writes them (`1500m`, `1.5Gi`, `2e3`).
//!
//! Parsing, adding, comparing and rounding give what apimachinery's `resource.Quantity` gives, oddities included
//! (staging/src/k8s.io/apimachinery/pkg/api/resource at 1.36: quantity.go, amount.go, scale_int.go): an answer of
//! kube-scheduler rests on them. Go keeps an amount in one of two forms, and rounds and overflows differently in each,
//! so a [`Quantity`] remembers which one Go would hold. Start at [`Quantity`], then [`parse`](Quantity::from_str).
//!
//! Two differences are left, both far from any real amount: beyond what `i128` holds in nano (1.7e29 units) an amount
//! stays at that bound, where Go goes on exactly and then returns the low 64 bits of the result; and a zero written
//! with more than nine decimal places does not lend its places to a sum below -9.2e9 units.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// The finest decimal place that an amount keeps: nano.
const NANO: i32 = -9;

/// Digits for which Go takes its short path: as many as `i64` always holds.
const MAX_SHORT_DIGITS: i64 = 18;

/// One unit in nano.
const UNIT_IN_NANO: i128 = 1_000_000_000;

/// An exact decimal amount: `unscaled` × 10^`scale`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quantity {
    unscaled: i128,
    scale: i32,
    /// Whether Go would hold it as a big decimal (`inf.Dec`) and not as an `int64` with a scale.
    big: bool,
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is not a number followed by a suffix.
    #[error("{0:?} is not a quantity: expected a number, such as 2 or 1.5, and a suffix, such as m, k, Mi, Gi or e3")]
    Format(Text),
    /// The text after the number is not a known suffix.
    #[error("{0:?} is not a quantity: unknown suffix; known are n u m k M G T P E, Ki Mi Gi Ti Pi Ei, and exponents")]
    Suffix(Text),
}

/// A piece of the offending input, short enough for a message.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(String);

/// Characters of an offending input that a message shows: enough to find it.
const SHOWN_CHARS: usize = 40;

impl Text {
    fn new(text: &str) -> Self {
        match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => Self(format!("{}…", text.get(..end).unwrap_or_default())),
            None => Self(text.to_owned()),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Multiplier that a suffix of a quantity stands for.
enum Suffix {
    /// Power of ten by its exponent: 3 for `k`.
    Decimal(i32),
    /// Power of two by its exponent: 10 for `Ki`.
    Binary(u32),
}

impl Quantity {
    /// Returns the quantity of `units` whole units.
    pub const fn from_units(units: i64) -> Self {
        Self { unscaled: units as i128, scale: 0, big: false }
    }

    /// Returns the quantity of `millis` thousandths of a unit.
    pub const fn from_millis(millis: i64) -> Self {
        Self { unscaled: millis as i128, scale: -3, big: false }
    }

    /// The amount as it is held: equal amounts of different notations differ, and so may what they round to.
    pub const fn notation(&self) -> (i128, i32, bool) {
        (self.unscaled, self.scale, self.big)
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.unscaled == 0
    }

    /// Returns the amount in billionths of a unit, exactly; at the bound where that does not fit.
    pub fn nano(&self) -> i128 {
        self.rescaled(NANO)
    }

    /// Go's `Value()`: whole units, rounded up.
    pub fn value_rounded_up(&self) -> i64 {
        self.rounded_up_to(0)
    }

    /// Go's `MilliValue()`: thousandths, rounded up.
    pub fn milli_rounded_up(&self) -> i64 {
        self.rounded_up_to(-3)
    }

    /// Go's `ScaledValue(scale)`. A small amount rounds away from zero, and wraps or becomes 0 where the result
    /// overflows; a big one rounds up, with an excess of one below zero, and wraps.
    fn rounded_up_to(&self, scale: i32) -> i64 {
        let places = i64::from(scale) - i64::from(self.scale);
        match (self.big, places > 0) {
            (false, false) => match i64::try_from(self.rescaled(scale)) {
                Ok(scaled) => scaled,
                // For these powers of ten Go multiplies once and forgets that it overflowed.
                Err(_) if matches!(places, -9 | -6 | -3..=0) => {
                    low_bits(self.unscaled).wrapping_mul(low_bits(pow10(-places).unwrap_or(0)))
                }
                Err(_) => 0,
            },
            (false, true) => {
                // Beyond 10^38 the quotient of what an i128 holds is zero, as it is for the bound itself.
                let divisor = pow10(places).unwrap_or(i128::MAX);
                let away = if self.unscaled % divisor == 0 { 0 } else { self.unscaled.signum() };
                low_bits(self.unscaled / divisor + away)
            }
            // Go converts the power of ten through a float, which past 18 places gives the least integer (on amd64).
            (true, false) => {
                let factor = if places < -MAX_SHORT_DIGITS { i64::MIN } else { low_bits(pow10(-places).unwrap_or(0)) };
                low_bits(self.unscaled).wrapping_mul(factor)
            }
            // Go divides towards zero where 64 bits do, else towards the floor, and adds one to either.
            (true, true) => {
                let divisor = pow10(places).unwrap_or(i128::MAX);
                let (quotient, remainder) = if self.unscaled < i128::from(i64::MAX) && places <= MAX_SHORT_DIGITS {
                    let unscaled = i128::from(low_bits(self.unscaled));
                    (unscaled / divisor, unscaled % divisor)
                } else {
                    (self.unscaled.div_euclid(divisor), self.unscaled.rem_euclid(divisor))
                };
                low_bits(quotient).wrapping_add(i64::from(remainder != 0))
            }
        }
    }

    /// `unscaled` at a scale that is not coarser; at the bound where it does not fit.
    fn rescaled(&self, scale: i32) -> i128 {
        let factor = pow10(i64::from(self.scale) - i64::from(scale));
        match factor.and_then(|factor| self.unscaled.checked_mul(factor)) {
            Some(unscaled) => unscaled,
            None if self.unscaled == 0 => 0,
            None if self.unscaled < 0 => i128::MIN,
            None => i128::MAX,
        }
    }

    /// Go's `Add`: the exact sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        if !self.big && !other.big && (self.is_zero() || other.is_zero()) {
            return if other.is_zero() { *self } else { *other };
        }
        let scale = self.scale.min(other.scale);
        let sum = self.rescaled(scale).saturating_add(other.rescaled(scale));
        let overflows = |quantity: &Self| i64::try_from(quantity.rescaled(scale)).is_err();
        let big = self.big || other.big || overflows(self) || overflows(other) || i64::try_from(sum).is_err();
        Self { unscaled: sum, scale, big }
    }

    /// The greater of two amounts, as Go's `Cmp` leaves it: comparing with a big amount makes the other one big.
    #[must_use]
    pub fn raised_to(&self, other: &Self) -> Self {
        if other > self { Self { big: self.big || other.big, ..*other } } else { *self }
    }

    /// The short path of Go's parser, for few digits and a result that fits `i64`; none leads to the long path.
    fn short(number: &Number<'_>, suffix: &Suffix) -> Option<Self> {
        // Go counts the missing whole part of `.5` as one digit.
        let digits = i64::try_from(number.whole.len().max(1) + number.fraction.len()).ok()?;
        let (exponent, shift) = match *suffix {
            Suffix::Decimal(exponent) if digits <= MAX_SHORT_DIGITS => (exponent, 0),
            // Three decimal digits per ten binary ones.
            Suffix::Binary(shift) if number.fraction.is_empty() && digits + 3 * i64::from(shift / 10) <= 14 => {
                (0, shift)
            }
            Suffix::Decimal(_) | Suffix::Binary(_) => return None,
        };
        let scale = exponent.wrapping_sub(i32::try_from(number.fraction.len()).ok()?);
        if scale < NANO {
            return None;
        }
        let unscaled = read_digits(&[number.whole, number.fraction]) << shift;
        // A zero with trailing zeros would only bring sums near their bound.
        Some(Self { unscaled, scale: if unscaled == 0 { scale.min(0) } else { scale }, big: false })
    }

    /// The long path: any number of digits, rounded away from zero at nano; binary amounts are capped at 2^63 - 1.
    fn long(number: &Number<'_>, suffix: &Suffix) -> Self {
        let (floor, inexact) = match *suffix {
            Suffix::Decimal(exponent) => {
                // How many of all digits lie before the nano place.
                let whole = i64::try_from(number.whole.len()).unwrap_or(i64::MAX);
                let before = whole.saturating_add(i64::from(exponent) - i64::from(NANO));
                let digits = [number.whole, number.fraction].concat();
                let (kept, dropped) = digits.split_at(usize::try_from(before).unwrap_or(0).min(digits.len()));
                let missing = before.saturating_sub_unsigned(digits.len() as u64).max(0);
                let kept = Self { unscaled: read_digits(&[kept]), scale: 0, big: true };
                let scale = i32::try_from(-missing).unwrap_or(i32::MIN);
                (kept.rescaled(scale), dropped.bytes().any(|digit| digit != b'0'))
            }
            Suffix::Binary(shift) => {
                let unit = UNIT_IN_NANO << shift;
                // Digit by digit from the last: floor of 0.fraction times the unit.
                let (below, inexact) =
                    number.fraction.bytes().rev().fold((0_i128, false), |(below, inexact), digit| {
                        let sum = i128::from(digit - b'0') * unit + below;
                        (sum / 10, inexact || sum % 10 != 0)
                    });
                (read_digits(&[number.whole]).saturating_mul(unit).saturating_add(below), inexact)
            }
        };
        let rounded = floor.saturating_add(i128::from(inexact));
        if rounded == 0 {
            // Go leaves the places of a zero as they are written.
            let places = i32::try_from(number.fraction.len()).unwrap_or(i32::MAX);
            let scale = suffix.exponent().saturating_sub(places).clamp(NANO, 0);
            return Self { unscaled: 0, scale, big: true };
        }
        match *suffix {
            Suffix::Binary(_) if rounded > i128::from(i64::MAX) * UNIT_IN_NANO => {
                Self { unscaled: i128::from(i64::MAX), scale: 0, big: true }
            }
            Suffix::Binary(_) | Suffix::Decimal(_) => Self { unscaled: rounded, scale: NANO, big: true },
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseError;

    /// Go's `ParseQuantity`. As there, `.5`, `5.`, `+5` are numbers, and so is a suffix without any digit: zero.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let format = || ParseError::Format(Text::new(text));
        if text.is_empty() {
            return Err(format());
        }
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, rest) = split_digits(unsigned.trim_start_matches('0'));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let exponent = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !exponent.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(format());
        }
        let number = Number { whole, fraction };
        let suffix = Suffix::read(suffix).ok_or_else(|| ParseError::Suffix(Text::new(text)))?;
        let mut quantity = match Self::short(&number, &suffix) {
            Some(quantity) => quantity,
            // Only the long path insists on a digit.
            None if !unsigned.starts_with('0') && whole.is_empty() && fraction.is_empty() => return Err(format()),
            None => Self::long(&number, &suffix),
        };
        if negative {
            quantity.unscaled = -quantity.unscaled;
        }
        Ok(quantity)
    }
}

/// The digits of a number, without leading zeros.
struct Number<'a> {
    whole: &'a str,
    fraction: &'a str,
}

impl Suffix {
    /// The power of ten, if it is one.
    fn exponent(&self) -> i32 {
        match *self {
            Self::Decimal(exponent) => exponent,
            Self::Binary(_) => 0,
        }
    }

    fn read(suffix: &str) -> Option<Self> {
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
            _ => {
                let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
                // Go cuts an exponent to 32 bits without a look.
                #[allow(clippy::cast_possible_truncation)]
                Self::Decimal(exponent as i32)
            }
        })
    }
}

/// Zeros after the point with which a number has more digits than Go's short path takes.
const LONG_ZEROS: &str = "000000000000000000";

impl fmt::Display for Quantity {
    /// Writes a text that is read as the same amount in the same form: `1500m`, `1073741824`, `5.000000000000000000e-9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unscaled, scale, big } = *self;
        if !big {
            let suffix = match scale {
                -9 => "n",
                -6 => "u",
                -3 => "m",
                0 => "",
                3 => "k",
                6 => "M",
                9 => "G",
                _ => return write!(f, "{unscaled}e{scale}"),
            };
            return write!(f, "{unscaled}{suffix}");
        }
        if unscaled == 0 {
            return write!(f, "0.{LONG_ZEROS}e{}", i64::from(scale) + MAX_SHORT_DIGITS);
        }
        // What a binary amount is capped at.
        if scale == 0 && unscaled.unsigned_abs() == u128::from(i64::MAX.unsigned_abs()) {
            return write!(f, "{unscaled}Ki");
        }
        write!(f, "{unscaled}.{LONG_ZEROS}e{scale}")
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.unscaled) {
            // As a number has been read: a text of 19 digits takes the long path.
            Ok(units) if !self.big && self.scale == 0 && units.unsigned_abs() >= 1_000_000_000_000_000_000 => {
                serializer.serialize_i64(units)
            }
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// Reads a string or a number, as Kubernetes does; `null` is zero. A number with more than 17 significant digits has been rounded by
    /// the reader before it comes here: only a string keeps them.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity (a string or a number)")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.trim().parse().map_err(E::custom)
            }

            fn visit_i64<E>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity::from_units(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Quantity, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Quantity, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_unit<E>(self) -> Result<Quantity, E> {
                Ok(Quantity::default())
            }
        }

        deserializer.deserialize_any(Written)
    }
}

impl Ord for Quantity {
    /// Compares by amount alone: `1` and `1000m` are equal.
    fn cmp(&self, other: &Self) -> Ordering {
        // Rescaled, an amount stops at the bound only if it is greater in magnitude than anything at the other's scale
        // can be.
        let scale = self.scale.min(other.scale);
        self.rescaled(scale).cmp(&other.rescaled(scale))
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

/// The digits at the start of a text, and what follows them.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

/// The number that digits spell, at the bound where it does not fit.
fn read_digits(parts: &[&str]) -> i128 {
    let digits = parts.iter().flat_map(|part| part.bytes());
    digits.fold(0_i128, |value, digit| value.saturating_mul(10).saturating_add(i128::from(digit.saturating_sub(b'0'))))
}

/// 10^`places`; none where that does not fit or `places` is below zero.
fn pow10(places: i64) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(places).ok()?)
}

/// The low 64 bits, as Go's `big.Int.Int64` takes them.
#[allow(clippy::cast_possible_truncation)]
fn low_bits(number: i128) -> i64 {
    number as i64
}
