//! The natural logarithm as Go computes it on amd64, to the last bit: the platform's own differs from it for one number in a hundred,
//! and the weights of topology domains are made of it. Start at [`ln`].
//!
//! The method is that of FreeBSD's `e_log.c`: the number is split into a power of two and a factor near 1, whose logarithm is a
//! polynomial of s = f / (2 + f). Operations and their order are part of it.

/// The upper bits of the logarithm of 2, so that multiples by an exponent are exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);

/// The rest of the logarithm of 2.
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Coefficients of the odd powers of s², from the first on.
const ODD: [f64; 4] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

/// Coefficients of the even powers of s², from the first on.
const EVEN: [f64; 3] = [
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
];

/// The bits of a number that are its mantissa.
const MANTISSA: u64 = (1 << 52) - 1;

/// The bits of the exponent of numbers from one half to 1.
const HALF: u64 = 0x3fe << 52;

/// The natural logarithm of a number.
pub(crate) fn ln(number: u32) -> f64 {
    if number == 0 {
        return f64::NEG_INFINITY;
    }
    let bits = f64::from(number).to_bits();
    // A whole number is neither negative nor subnormal: its exponent is from 0 to 31.
    let mut exponent = f64::from(i32::try_from(bits >> 52).unwrap_or(0) - 0x3fe);
    let mut factor = f64::from_bits(bits & MANTISSA | HALF);
    if factor < std::f64::consts::FRAC_1_SQRT_2 {
        factor *= 2.0;
        exponent -= 1.0;
    }
    let f = factor - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s2 * (ODD[0] + s4 * (ODD[1] + s4 * (ODD[2] + s4 * ODD[3])));
    let even = s4 * (EVEN[0] + s4 * (EVEN[1] + s4 * EVEN[2]));
    let half_square = 0.5 * f * f;
    exponent * LN_2_HIGH - ((half_square - (s * (half_square + (odd + even)) + exponent * LN_2_LOW)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_go_to_the_last_bit() {
        // Made with `math.Log` and `math.Float64bits` of Go 1.26 on amd64.
        for (number, bits) in [
            (2, 0x3fe6_2e42_fefa_39ef),
            (3, 0x3ff1_93ea_7aad_030a),
            (4, 0x3ff6_2e42_fefa_39ef),
            (5, 0x3ff9_c041_f7ed_8d33),
            (6, 0x3ffc_ab0b_fa2a_2002),
            (7, 0x3fff_2272_ae32_5a57),
            (8, 0x4000_a2b2_3f3b_ab73),
            (9, 0x4001_93ea_7aad_030b),
            (10, 0x4002_6bb1_bbb5_5516),
            (11, 0x4003_2ee3_b77f_374c),
            (12, 0x4003_e116_bcd3_9e7d),
            (13, 0x4004_8504_2b31_8c51),
            (14, 0x4005_1cca_16d7_bba8),
            (15, 0x4005_aa16_394d_481f),
            (16, 0x4006_2e42_fefa_39ef),
            (17, 0x4006_aa6b_c1fa_7f7a),
            (23, 0x4009_157d_fdd1_b3f0),
            (47, 0x400e_cd1a_2f90_f0b6),
            (101, 0x4012_75e2_271b_ba31),
            (102, 0x4012_7ff8_df87_c7bd),
            (255, 0x4016_2a40_fda3_e3cc),
            (256, 0x4016_2e42_fefa_39ef),
            (257, 0x4016_3241_004e_9011),
            (302, 0x4016_d77a_2e17_4791),
            (1_002, 0x401b_a396_5d40_5f5f),
            (4_999, 0x4021_08b3_5436_f406),
            (5_002, 0x4021_0901_f6dc_84b9),
            (15_002, 0x4023_3b5c_54bb_9573),
            (100_002, 0x4027_06a0_c9b7_a3ab),
            (200_002, 0x4028_6983_aa1d_3895),
        ] {
            assert_eq!(ln(number).to_bits(), bits, "{number}");
        }
    }

    #[test]
    fn all_logarithms_up_to_200_002_have_the_checksum_that_go_computes() {
        // FNV-1a of the bits in little-endian order, by hash/fnv of Go 1.26 on amd64.
        let bytes = (2..=200_002).flat_map(|number| ln(number).to_bits().to_le_bytes());
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        assert_eq!(bytes.fold(0xcbf2_9ce4_8422_2325, hash), 0x484b_b4a7_5cef_71a5);
    }
}
