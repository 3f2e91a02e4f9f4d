//! Exact amounts in whole nano-units. Nothing overflows: sums are clamped.

use crate::facts::{Amount, NanoUnits};

/// Number of nano-units in a unit.
const NANO: i128 = 1_000_000_000;

/// An exact amount in nano-units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(i128);

impl Quantity {
    /// Makes an amount of this many units.
    pub fn from_units(units: i64) -> Self {
        Self(i128::from(units) * NANO)
    }

    /// The sum, clamped to 128 bits.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Formats the amount as Kubernetes does: without a fraction and with the largest suffix. Suffixes are binary where the amount is a
    /// multiple of 1024 and not of 1000, for how it was written is not known.
    pub fn canonical(self) -> String {
        const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let units = self.0 / NANO;
        let is_binary = self.0 % NANO == 0 && units % 1024 == 0 && units % 1000 != 0;
        let (mut amount, base, suffixes) =
            if is_binary { (units, 1024, &BINARY[..]) } else { (self.0, 1000, &DECIMAL[..]) };
        if amount == 0 {
            return "0".to_owned();
        }
        let mut suffixes = suffixes.iter().peekable();
        let mut suffix = suffixes.next().copied().unwrap_or_default();
        while amount % base == 0
            && let Some(next) = suffixes.next()
        {
            (amount, suffix) = (amount / base, next);
        }
        format!("{amount}{suffix}")
    }

    /// Returns the amount in nano-units.
    pub fn nano_units(self) -> i128 {
        self.0
    }
}

impl From<NanoUnits> for Quantity {
    fn from(parts: NanoUnits) -> Self {
        Self(i128::from(parts.high) << 64 | i128::from(parts.low))
    }
}

impl From<i128> for NanoUnits {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the two halves")]
    fn from(nano_units: i128) -> Self {
        Self { high: (nano_units >> 64) as i64, low: nano_units as u64 }
    }
}

impl From<Amount> for Quantity {
    fn from(amount: Amount) -> Self {
        amount.nano_units.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_all_of_their_128_bits() {
        let edges = [0, 1, -1, i128::MAX, i128::MIN, 1 << 63, -(1 << 63), 1 << 64, -(1 << 64), u64::MAX.into()];
        for nano_units in edges {
            assert_eq!(Quantity::from(NanoUnits::from(nano_units)).nano_units(), nano_units);
        }
        assert_eq!(Quantity::from_units(-2).nano_units(), -2_000_000_000);
    }

    #[test]
    fn amounts_have_one_text() {
        let texts = [(10_i128.pow(28), "10E"), (1 << 64, "16Ei"), (1500, "1500"), (2048, "2Ki"), (-1_000_000, "-1M")];
        let text = |units: i128| Quantity(units.saturating_mul(NANO)).canonical();
        assert_eq!(text(texts[0].0 / NANO), texts[0].1);
        texts.iter().skip(1).for_each(|(units, expected)| assert_eq!(text(*units), *expected));
        assert_eq!(
            [Quantity(1).canonical(), Quantity(NANO / 2).canonical(), Quantity(0).canonical()],
            ["1n", "500m", "0"]
        );
    }

    #[test]
    fn sums_of_any_size_are_clamped() {
        let (most, least) = (Quantity(i128::MAX), Quantity(i128::MIN));
        assert_eq!((most.plus(most), least.plus(least)), (most, least));
        assert!(most > least);
    }
}
