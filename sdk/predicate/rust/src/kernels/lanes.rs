//! Sixteen rows of a column per call.
//!
//! Each function exists twice. `portable` holds the plain loops; they are the specification and run in native builds
//! and in guests without vector instructions. `vector` is for guests with `simd128`: there the compiler narrows wide
//! entries to bytes one by one, and an explicit shuffle narrows all of them at once. It handles patterns as words of
//! eight rows.

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(super) use portable::{is_run, mark_above, mark_equal, mark_looked_up, mark_short, mark_short_among};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) use vector::{is_run, mark_above, mark_equal, mark_looked_up, mark_short, mark_short_among};

/// Rows per call: the number of bytes in a vector register.
pub(super) const LANES: usize = 16;

/// The patterns of sixteen rows.
type Block = [u8; LANES];

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod portable {
    use super::{Block, LANES};

    /// Whether the codes ascend one by one.
    #[inline]
    pub(in super::super) fn is_run(codes: &[u32; LANES]) -> bool {
        let [first, ..] = *codes;
        // Looks at every code, without an early exit, so that the loop vectorises.
        (0..).zip(codes).fold(0, |differing, (lane, code)| differing | (code.wrapping_sub(first) ^ lane)) == 0
    }

    /// Sets `bit` in the rows where `amount` is greater than the entry of the column.
    #[inline]
    pub(in super::super) fn mark_short(patterns: &mut Block, column: &[i64; LANES], amount: i64, bit: u8) {
        for (pattern, has) in patterns.iter_mut().zip(column) {
            *pattern |= if amount > *has { bit } else { 0 };
        }
    }

    /// Sets `bit` in the rows whose pattern has a bit of `among` and where `amount` is greater than the entry of the column.
    #[inline]
    pub(in super::super) fn mark_short_among(
        patterns: &mut Block,
        among: u8,
        column: &[i64; LANES],
        amount: i64,
        bit: u8,
    ) {
        for (pattern, has) in patterns.iter_mut().zip(column) {
            *pattern |= if *pattern & among != 0 && amount > *has { bit } else { 0 };
        }
    }

    /// Sets `bit` in the rows where the entry of the column is greater than `most`.
    #[inline]
    pub(in super::super) fn mark_above(patterns: &mut Block, column: &[u32; LANES], most: u32, bit: u8) {
        for (pattern, has) in patterns.iter_mut().zip(column) {
            *pattern |= if *has > most { bit } else { 0 };
        }
    }

    /// Sets the bits `inside` in the rows whose entry is one of the codes, `outside` in the others.
    #[inline]
    pub(in super::super) fn mark_equal<const CODES: usize>(
        patterns: &mut Block,
        column: &[u32; LANES],
        codes: [u32; CODES],
        inside: u8,
        outside: u8,
    ) {
        for (pattern, code) in patterns.iter_mut().zip(column) {
            // Compares with every code, without an early exit, so that the loop vectorises.
            let is_inside = codes.iter().fold(false, |is_inside, known| is_inside | (code == known));
            *pattern |= if is_inside { inside } else { outside };
        }
    }

    /// Sets the bits of the table entry that the column indexes; `default` for an index past the end of the table.
    #[inline]
    pub(in super::super) fn mark_looked_up(
        patterns: &mut Block,
        column: &[u32; LANES],
        table: &[u8; LANES],
        default: u8,
    ) {
        for (pattern, code) in patterns.iter_mut().zip(column) {
            *pattern |= table.get(*code as usize).copied().unwrap_or(default);
        }
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{
        i8x16_shuffle, i16x8_shuffle, i32x4_shuffle, i64x2, i64x2_gt, i64x2_splat, u8x16_swizzle, u32x4, u32x4_add,
        u32x4_eq, u32x4_gt, u32x4_min, u32x4_splat, u64x2, u64x2_extract_lane, v128, v128_any_true, v128_or, v128_xor,
    };

    use super::{Block, LANES};

    /// One byte per row; the first row is the lowest byte of the first word.
    type Words = [u64; 2];

    pub(in super::super) fn is_run(codes: &[u32; LANES]) -> bool {
        let first = u32x4_add(u32x4_splat(codes[0]), u32x4(0, 1, 2, 3));
        let [a, b, c, d] = quarters(codes);
        let differing = |codes, from| v128_xor(codes, u32x4_add(first, u32x4_splat(from)));
        let (ab, cd) = (v128_or(differing(a, 0), differing(b, 4)), v128_or(differing(c, 8), differing(d, 12)));
        !v128_any_true(v128_or(ab, cd))
    }

    pub(in super::super) fn mark_short(patterns: &mut Block, column: &[i64; LANES], amount: i64, bit: u8) {
        let short = short(column, amount);
        update(patterns, |word, at| word | (short[at] & repeat(bit)));
    }

    pub(in super::super) fn mark_short_among(
        patterns: &mut Block,
        among: u8,
        column: &[i64; LANES],
        amount: i64,
        bit: u8,
    ) {
        let short = short(column, amount);
        update(patterns, |word, at| {
            // The addition sets the highest bit of every byte that has any bit, and never carries into the next byte.
            let marked = word & repeat(among);
            let carried = ((marked & repeat(0x7f)) + repeat(0x7f)) | marked;
            let is_among = ((carried >> 7) & repeat(1)) * u64::from(u8::MAX);
            word | (short[at] & is_among & repeat(bit))
        });
    }

    pub(in super::super) fn mark_above(patterns: &mut Block, column: &[u32; LANES], most: u32, bit: u8) {
        let is_above = |column: v128| u32x4_gt(column, u32x4_splat(most));
        let is_above = words(lowest_bytes(quarters(column).map(is_above)));
        update(patterns, |word, at| word | (is_above[at] & repeat(bit)));
    }

    pub(in super::super) fn mark_equal<const CODES: usize>(
        patterns: &mut Block,
        column: &[u32; LANES],
        codes: [u32; CODES],
        inside: u8,
        outside: u8,
    ) {
        let is_inside = |column: v128| {
            let is_equal = codes.map(|code| u32x4_eq(column, u32x4_splat(code)));
            is_equal.into_iter().fold(u32x4_splat(0), |is_inside, is_equal| v128_or(is_inside, is_equal))
        };
        let is_inside = words(lowest_bytes(quarters(column).map(is_inside)));
        let differing = repeat(inside ^ outside);
        update(patterns, |word, at| word | ((is_inside[at] & differing) ^ repeat(outside)));
    }

    pub(in super::super) fn mark_looked_up(
        patterns: &mut Block,
        column: &[u32; LANES],
        table: &[u8; LANES],
        default: u8,
    ) {
        let (halves, _) = table.as_chunks();
        let [first, second] = [0, 1].map(|at: usize| u64::from_le_bytes(halves[at]) ^ repeat(default));
        // The swizzle uses the lowest byte of a code only. Codes above 255 must stay out of range, where it yields 0.
        let bounded = |codes: v128| u32x4_min(codes, u32x4_splat(u32::from(u8::MAX)));
        let found = words(u8x16_swizzle(u64x2(first, second), lowest_bytes(quarters(column).map(bounded))));
        update(patterns, |word, at| word | (found[at] ^ repeat(default)));
    }

    /// All bits set in the bytes of the rows where `amount` is greater than the entry of the column.
    fn short(column: &[i64; LANES], amount: i64) -> Words {
        let two = |at: usize| i64x2_gt(i64x2_splat(amount), i64x2(column[at], column[at + 1]));
        let four = |at: usize| i32x4_shuffle::<0, 2, 4, 6>(two(at), two(at + 2));
        words(lowest_bytes([four(0), four(4), four(8), four(12)]))
    }

    fn quarters(column: &[u32; LANES]) -> [v128; 4] {
        [0, 4, 8, 12].map(|at: usize| u32x4(column[at], column[at + 1], column[at + 2], column[at + 3]))
    }

    /// The lowest byte of each of the sixteen entries.
    fn lowest_bytes([first, second, third, fourth]: [v128; 4]) -> v128 {
        let first = i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(first, second);
        let second = i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(third, fourth);
        i8x16_shuffle::<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(first, second)
    }

    fn words(bytes: v128) -> Words {
        [u64x2_extract_lane::<0>(bytes), u64x2_extract_lane::<1>(bytes)]
    }

    /// Replaces each of the two words of patterns by `f(word, index of the word)`.
    fn update(patterns: &mut Block, f: impl Fn(u64, usize) -> u64) {
        let (halves, _) = patterns.as_chunks();
        let after = [f(u64::from_le_bytes(halves[0]), 0), f(u64::from_le_bytes(halves[1]), 1)];
        patterns.copy_from_slice(after.map(u64::to_le_bytes).as_flattened());
    }

    /// A word with `byte` in all eight positions.
    const fn repeat(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; size_of::<u64>()])
    }
}
