//! The natural logarithm as Go computes it on amd64, bit by bit: the libraries of other platforms differ in the last one, already for 3.
//!
//! Argument reduction to x = 2^k · (1 + f) with 1 + f from √½ to √2, then the series of log(1 + f) in s = f / (2 + f) with the seven
//! coefficients of FreeBSD's e_log.c.

#![allow(clippy::excessive_precision, reason = "constants are written as the source of the method has them")]

use std::f64::consts::FRAC_1_SQRT_2;

/// The logarithm of 2 in two parts: the first has few enough digits that its multiples are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238_164_90e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_700_02e-10;

/// Coefficients of s², s⁴ and so on.
const COEFFICIENTS: [f64; 7] = [
    6.666_666_666_666_735_130e-1,
    3.999_999_999_940_941_908e-1,
    2.857_142_874_366_239_149e-1,
    2.222_219_843_214_978_396e-1,
    1.818_357_216_161_805_012e-1,
    1.531_383_769_920_937_332e-1,
    1.479_819_860_511_658_591e-1,
];

/// The logarithm of a whole number of at least 1.
pub(super) fn natural_logarithm(x: f64) -> f64 {
    let (mut fraction, mut exponent) = (x, 0.0);
    while fraction >= 1.0 {
        fraction /= 2.0;
        exponent += 1.0;
    }
    if fraction < FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1.0;
    }
    let f = fraction - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let [l1, l2, l3, l4, l5, l6, l7] = COEFFICIENTS;
    let odd = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7)));
    let even = s4 * (l2 + s4 * (l4 + s4 * l6));
    let series = odd + even;
    let half_square = 0.5 * f * f;
    exponent * LN2_HIGH - ((half_square - (s * (half_square + series) + exponent * LN2_LOW)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_go() {
        // Printed by Go 1.26 on amd64.
        for (x, bits) in [
            (2.0, 0x3fe6_2e42_fefa_39ef_u64),
            (3.0, 0x3ff1_93ea_7aad_030a),
            (4.0, 0x3ff6_2e42_fefa_39ef),
            (5.0, 0x3ff9_c041_f7ed_8d33),
            (7.0, 0x3fff_2272_ae32_5a57),
            (14.0, 0x4005_1cca_16d7_bba8),
            (102.0, 0x4012_7ff8_df87_c7bd),
            (5002.0, 0x4021_0901_f6dc_84b9),
        ] {
            assert_eq!(natural_logarithm(x).to_bits(), bits, "{x}");
        }
    }

    #[test]
    fn two_hundred_thousand_logarithms_are_those_of_go() {
        // A checksum that Go 1.26 printed on amd64 of the bits of all of them.
        let add = |sum: u64, x: u32| sum.wrapping_mul(1_099_511_628_211) ^ natural_logarithm(f64::from(x)).to_bits();
        assert_eq!((2..=200_002_u32).fold(0, add), 0x4c2e_3cac_6cf2_5881);
    }
}
