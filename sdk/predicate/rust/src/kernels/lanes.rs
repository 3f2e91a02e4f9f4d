//! Sixteen rows of a column at once: a byte for each of them, eight to a word, the first row in the lowest byte.
//!
//! Each function is there twice. The portable one says what it does, and is what tests and native builds use. The other
//! one is for guests: on their target the compiler takes vectors of wide entries apart to make bytes of them, where a
//! shuffle does it for all entries at once.

/// Rows that are taken at once: bytes of a vector register.
pub(super) const LANES: usize = 16;

/// Codes that each row is compared with at once.
pub(super) const FEW: usize = 4;

/// A byte per row.
pub(super) type Rows = [u64; 2];

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(super) use portable::{equal, look_up, short};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) use vector::{equal, look_up, short};

/// The byte in all places of a word.
pub(super) const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; size_of::<u64>()])
}

#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
mod portable {
    use super::{FEW, LANES, Rows};

    /// All bits set where `amount` is more than the column has.
    pub(in super::super) fn short(column: &[i64; LANES], amount: i64) -> Rows {
        rows(column.map(|has| mask(amount > has)))
    }

    /// All bits set where the column holds one of the codes.
    pub(in super::super) fn equal(column: &[u32; LANES], codes: [u32; FEW]) -> Rows {
        // Not one after the other until one is equal, but all at once.
        let is_equal = |code: u32| codes.iter().fold(false, |is_equal, known| is_equal | (code == *known));
        rows(column.map(|code| mask(is_equal(code))))
    }

    /// The entry of the table where the column is an index of one, else 0.
    pub(in super::super) fn look_up(column: &[u32; LANES], table: [u8; LANES]) -> Rows {
        rows(column.map(|code| table.get(code as usize).copied().unwrap_or(0)))
    }

    fn rows(bytes: [u8; LANES]) -> Rows {
        let (first, second) = bytes.split_at(LANES / 2);
        [first, second].map(|half| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    fn mask(is_set: bool) -> u8 {
        if is_set { u8::MAX } else { 0 }
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{
        i8x16_shuffle, i16x8_shuffle, i32x4_shuffle, i64x2, i64x2_gt, i64x2_splat, u8x16_swizzle, u32x4, u32x4_eq,
        u32x4_min, u32x4_splat, u64x2, u64x2_extract_lane, v128, v128_or,
    };

    use super::{FEW, LANES, Rows};

    pub(in super::super) fn short(column: &[i64; LANES], amount: i64) -> Rows {
        let two = |at: usize| i64x2_gt(i64x2_splat(amount), i64x2(column[at], column[at + 1]));
        let four = |at: usize| i32x4_shuffle::<0, 2, 4, 6>(two(at), two(at + 2));
        rows(lowest_bytes([four(0), four(4), four(8), four(12)]))
    }

    pub(in super::super) fn equal(column: &[u32; LANES], codes: [u32; FEW]) -> Rows {
        let [first, second, third, fourth] = codes.map(|code| u32x4_splat(code));
        let is_equal = |codes: v128| {
            let is_either = v128_or(u32x4_eq(codes, first), u32x4_eq(codes, second));
            v128_or(is_either, v128_or(u32x4_eq(codes, third), u32x4_eq(codes, fourth)))
        };
        rows(lowest_bytes(quarters(column).map(is_equal)))
    }

    pub(in super::super) fn look_up(column: &[u32; LANES], table: [u8; LANES]) -> Rows {
        let (halves, _) = table.as_chunks();
        let table = u64x2(u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1]));
        // Of a code beyond the table no byte but the lowest is looked at.
        let bounded = |codes: v128| u32x4_min(codes, u32x4_splat(u32::from(u8::MAX)));
        rows(u8x16_swizzle(table, lowest_bytes(quarters(column).map(bounded))))
    }

    fn quarters(column: &[u32; LANES]) -> [v128; 4] {
        [0, 4, 8, 12].map(|at: usize| u32x4(column[at], column[at + 1], column[at + 2], column[at + 3]))
    }

    /// The lowest byte of each entry.
    fn lowest_bytes([first, second, third, fourth]: [v128; 4]) -> v128 {
        let first = i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(first, second);
        let second = i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(third, fourth);
        i8x16_shuffle::<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(first, second)
    }

    fn rows(bytes: v128) -> Rows {
        [u64x2_extract_lane::<0>(bytes), u64x2_extract_lane::<1>(bytes)]
    }
}
