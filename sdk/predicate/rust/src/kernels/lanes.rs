//! Sixteen rows of a column at once.
//!
//! Each function is there twice. The portable one is the plain loop that says what it does; all builds but those of
//! guests with vectors use it. The other one is for these: on their target the compiler takes vectors of wide entries
//! apart to make bytes of them, where a shuffle does it for all entries at once. It works on words, eight rows in each.

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(super) use portable::{mark_equal, mark_looked_up, mark_short, mark_short_among};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) use vector::{mark_equal, mark_looked_up, mark_short, mark_short_among};

/// Rows that are taken at once: bytes of a vector register.
pub(super) const LANES: usize = 16;

/// Patterns of the rows.
type Block = [u8; LANES];

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod portable {
    use super::{Block, LANES};

    /// Sets `bit` where `amount` is more than the column has.
    #[inline]
    pub(in super::super) fn mark_short(patterns: &mut Block, column: &[i64; LANES], amount: i64, bit: u8) {
        for (pattern, has) in patterns.iter_mut().zip(column) {
            *pattern |= if amount > *has { bit } else { 0 };
        }
    }

    /// As above, in rows with one of the bits `among`.
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

    /// Sets the bits `inside` where the column holds one of the codes, `outside` elsewhere.
    #[inline]
    pub(in super::super) fn mark_equal<const CODES: usize>(
        patterns: &mut Block,
        column: &[u32; LANES],
        codes: [u32; CODES],
        inside: u8,
        outside: u8,
    ) {
        for (pattern, code) in patterns.iter_mut().zip(column) {
            // Not one after the other until one is equal, but all at once.
            let is_inside = codes.iter().fold(false, |is_inside, known| is_inside | (code == known));
            *pattern |= if is_inside { inside } else { outside };
        }
    }

    /// Sets the bits of the table's entry where the column is the index of one, `beyond` elsewhere.
    #[inline]
    pub(in super::super) fn mark_looked_up(
        patterns: &mut Block,
        column: &[u32; LANES],
        table: &[u8; LANES],
        beyond: u8,
    ) {
        for (pattern, code) in patterns.iter_mut().zip(column) {
            *pattern |= table.get(*code as usize).copied().unwrap_or(beyond);
        }
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{
        i8x16_shuffle, i16x8_shuffle, i32x4_shuffle, i64x2, i64x2_gt, i64x2_splat, u8x16_swizzle, u32x4, u32x4_eq,
        u32x4_min, u32x4_splat, u64x2, u64x2_extract_lane, v128, v128_or,
    };

    use super::{Block, LANES};

    /// A byte per row, the first one in the lowest byte.
    type Words = [u64; 2];

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
            // A byte that has any bit carries into its highest one; no byte carries into the next.
            let marked = word & repeat(among);
            let carried = ((marked & repeat(0x7f)) + repeat(0x7f)) | marked;
            let is_among = ((carried >> 7) & repeat(1)) * u64::from(u8::MAX);
            word | (short[at] & is_among & repeat(bit))
        });
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
        beyond: u8,
    ) {
        let (halves, _) = table.as_chunks();
        let [first, second] = [0, 1].map(|at: usize| u64::from_le_bytes(halves[at]) ^ repeat(beyond));
        // Only the lowest byte of a code is looked at: greater codes must stay beyond the table, where 0 is found.
        let bounded = |codes: v128| u32x4_min(codes, u32x4_splat(u32::from(u8::MAX)));
        let found = words(u8x16_swizzle(u64x2(first, second), lowest_bytes(quarters(column).map(bounded))));
        update(patterns, |word, at| word | (found[at] ^ repeat(beyond)));
    }

    /// All bits set where `amount` is more than the column has.
    fn short(column: &[i64; LANES], amount: i64) -> Words {
        let two = |at: usize| i64x2_gt(i64x2_splat(amount), i64x2(column[at], column[at + 1]));
        let four = |at: usize| i32x4_shuffle::<0, 2, 4, 6>(two(at), two(at + 2));
        words(lowest_bytes([four(0), four(4), four(8), four(12)]))
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

    fn words(bytes: v128) -> Words {
        [u64x2_extract_lane::<0>(bytes), u64x2_extract_lane::<1>(bytes)]
    }

    /// Replaces the two words of patterns by `f` of each and of its place.
    fn update(patterns: &mut Block, f: impl Fn(u64, usize) -> u64) {
        let (halves, _) = patterns.as_chunks();
        let after = [f(u64::from_le_bytes(halves[0]), 0), f(u64::from_le_bytes(halves[1]), 1)];
        patterns.copy_from_slice(after.map(u64::to_le_bytes).as_flattened());
    }

    /// The byte in all places of a word.
    const fn repeat(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; size_of::<u64>()])
    }
}
