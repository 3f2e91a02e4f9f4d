//! Loops over columns. Most run in blocks of constant length: the compiler vectorises a block, and the host's deadline
//! check, which costs time in every loop iteration, runs once per block.
//!
//! A *pattern* is one byte per row, whose bits say which checks the row fails. The `mark_` functions set bits of
//! patterns; [`Verdict::by_pattern`](crate::Verdict::by_pattern) turns patterns into a verdict. `lanes` narrows columns
//! with entries of four or eight bytes to one byte per row.

mod lanes;

use lanes::LANES;

/// Rows per loop iteration. 32 rows of one byte fill two vector registers; a longer block only makes the code larger.
pub const BLOCK: usize = 32;

/// Blocks of sixteen rows per loop iteration. In a guest every iteration costs a deadline check; in native code more
/// blocks only make the code larger.
const BLOCKS_PER_ITERATION: usize = if cfg!(target_arch = "wasm32") { 2 } else { 1 };

/// The maximum number of codes that each row is compared with. With more codes a table lookup is faster.
const MAX_COMPARED: usize = 4;

/// Replaces every entry of `into` by `f(entry, entry of column)`. Where the lengths differ, the surplus entries of the
/// longer one are not read or changed.
#[inline]
pub fn update<T: Copy, S: Copy>(into: &mut [T], column: &[S], mut f: impl FnMut(T, S) -> T) {
    let rows = into.len().min(column.len());
    let (into_blocks, into_rest) = into[..rows].as_chunks_mut::<BLOCK>();
    let (column_blocks, column_rest) = column[..rows].as_chunks::<BLOCK>();
    for (into, column) in into_blocks.iter_mut().zip(column_blocks) {
        for (into, column) in into.iter_mut().zip(column) {
            *into = f(*into, *column);
        }
    }
    for (into, column) in into_rest.iter_mut().zip(column_rest) {
        *into = f(*into, *column);
    }
}

/// The bitwise OR of all entries.
#[must_use]
pub fn union(column: &[u8]) -> u8 {
    let (blocks, rest) = column.as_chunks::<BLOCK>();
    let mut bits = [0; BLOCK];
    for block in blocks {
        for (bits, entry) in bits.iter_mut().zip(block) {
            *bits |= entry;
        }
    }
    bits.iter().chain(rest).fold(0, |bits, entry| bits | entry)
}

/// The first row from `from` on with a pattern other than 0.
pub(crate) fn first_marked(patterns: &[u8], from: usize) -> Option<usize> {
    let patterns = patterns.get(from..)?;
    // Sixteen rows per step; only the block with the first marked row is searched row by row.
    let blocks = patterns.as_chunks().0;
    let clear = blocks.iter().take_while(|block| u128::from_ne_bytes(**block) == 0).count() * size_of::<u128>();
    patterns.get(clear..)?.iter().position(|pattern| *pattern != 0).map(|at| from + clear + at)
}

/// Code 1 in the rows with any bit, 0 in the others.
pub(crate) fn codes_of_marked(patterns: &[u8]) -> Vec<u16> {
    let mut codes = vec![0; patterns.len()];
    // In blocks: collected row by row, entries are widened one by one.
    update(&mut codes, patterns, |_, pattern| u16::from(pattern != 0));
    codes
}

/// Sets `code` in the rows with this pattern and clears the pattern. These rows must have code 0 before.
pub(crate) fn assign_code(codes: &mut [u16], patterns: &mut [u8], pattern: u8, code: u16) {
    update(codes, patterns, |before, known| before | if known == pattern { code } else { 0 });
    for known in patterns {
        *known = if *known == pattern { 0 } else { *known };
    }
}

/// Sets `bit` in the rows where `amount` is greater than the entry of `column`.
pub fn mark_short(patterns: &mut [u8], column: &[i64], amount: i64, bit: u8) {
    mark_blocks(patterns, column, |patterns, column| lanes::mark_short(patterns, column, amount, bit));
}

/// Sets `bit` in the rows whose pattern has a bit of `among` and where `amount` is greater than the entry of `column`.
pub fn mark_short_among(patterns: &mut [u8], among: u8, column: &[i64], amount: i64, bit: u8) {
    mark_blocks(patterns, column, |patterns, column| lanes::mark_short_among(patterns, among, column, amount, bit));
}

/// Sets `bit` in the rows where the entry of `column` is greater than `most`.
pub fn mark_above(patterns: &mut [u8], column: &[u32], most: u32, bit: u8) {
    mark_blocks(patterns, column, |patterns, column| lanes::mark_above(patterns, column, most, bit));
}

/// Sets `bit` in the rows whose entry of `column` is none of `codes`.
pub fn mark_outside(patterns: &mut [u8], column: &[u32], codes: &[u32], bit: u8) {
    match padded(codes) {
        Some(codes) => mark_by_comparison(patterns, column, codes, 0, bit),
        None => mark_by_lookup(patterns, column, &table(codes, bit, 0), bit),
    }
}

/// Sets `bit` in the rows whose entry of `column` is one of `codes`.
pub fn mark_inside(patterns: &mut [u8], column: &[u32], codes: &[u32], bit: u8) {
    match padded(codes) {
        Some(codes) => mark_by_comparison(patterns, column, codes, bit, 0),
        None => mark_by_lookup(patterns, column, &table(codes, 0, bit), 0),
    }
}

/// Sets in every row the bits `table[code]`, where `code` is the entry of `column`; the bits `default` for codes past
/// the end of the table.
pub fn mark_by_table(patterns: &mut [u8], column: &[u32], table: &[u8], default: u8) {
    // In most tables only a few entries differ from the default.
    let differing = (0..).zip(table).filter(|(_, bits)| **bits != default);
    let (codes, bits): (Vec<u32>, Vec<u8>) = differing.take(MAX_COMPARED + 1).unzip();
    match (padded(&codes), bits.as_slice()) {
        (_, []) => update(patterns, column, |pattern, _| pattern | default),
        (Some(codes), [inside, rest @ ..]) if rest.iter().all(|bits| bits == inside) => {
            mark_by_comparison(patterns, column, codes, *inside, default);
        }
        _ => mark_by_lookup(patterns, column, table, default),
    }
}

/// Sets the bits `inside` in the rows whose entry of `column` is one of the codes, and `outside` in the others. The
/// codes can contain duplicates of the first one.
fn mark_by_comparison(patterns: &mut [u8], column: &[u32], codes: [u32; MAX_COMPARED], inside: u8, outside: u8) {
    let [first, rest @ ..] = codes;
    if rest.iter().all(|code| *code == first) {
        mark_blocks(patterns, column, |patterns, column| lanes::mark_equal(patterns, column, [first], inside, outside));
    } else {
        mark_blocks(patterns, column, |patterns, column| lanes::mark_equal(patterns, column, codes, inside, outside));
    }
}

/// Looks every code up in the table: a table of at most sixteen entries in one vector register, a larger one with one
/// load per row, or one per sixteen rows whose codes ascend one by one.
fn mark_by_lookup(patterns: &mut [u8], column: &[u32], table: &[u8], default: u8) {
    let mut small = [default; LANES];
    if let Some(entries) = small.get_mut(..table.len()) {
        entries.copy_from_slice(table);
        return mark_blocks(patterns, column, |patterns, column| {
            lanes::mark_looked_up(patterns, column, &small, default);
        });
    }
    mark_blocks(patterns, column, |patterns, column| match entries_of_run(column, table) {
        Some(entries) => patterns.iter_mut().zip(entries).for_each(|(pattern, bits)| *pattern |= bits),
        None => {
            for lane in 0..LANES {
                patterns[lane] |= table.get(column[lane] as usize).copied().unwrap_or(default);
            }
        }
    });
}

/// The entries of a table for codes that ascend one by one, as those of host names do over most rows: they are side by side. None for
/// other codes, and where the table ends before the last.
#[inline]
fn entries_of_run<'a>(codes: &[u32; LANES], table: &'a [u8]) -> Option<&'a [u8; LANES]> {
    if lanes::is_run(codes) { table.get(codes[0] as usize..)?.first_chunk() } else { None }
}

/// Calls `mark` with sixteen patterns and their sixteen entries of `column` at a time. The last call is padded with
/// zeros. Where the lengths differ, the surplus entries of the longer one are not read or changed.
#[inline]
fn mark_blocks<T: Copy + Default>(patterns: &mut [u8], column: &[T], mark: impl Fn(&mut [u8; LANES], &[T; LANES])) {
    mark_unrolled::<T, BLOCKS_PER_ITERATION>(patterns, column, mark);
}

/// Implements [`mark_blocks`] with `BLOCKS` calls of `mark` per loop iteration.
#[inline]
fn mark_unrolled<T: Copy + Default, const BLOCKS: usize>(
    patterns: &mut [u8],
    column: &[T],
    mark: impl Fn(&mut [u8; LANES], &[T; LANES]),
) {
    let rows = patterns.len().min(column.len());
    let (blocks, rest) = patterns[..rows].as_chunks_mut();
    let (column_blocks, column_rest) = column[..rows].as_chunks();
    let (iterations, single) = blocks.as_chunks_mut::<BLOCKS>();
    let (column_iterations, column_single) = column_blocks.as_chunks::<BLOCKS>();
    for (blocks, columns) in iterations.iter_mut().zip(column_iterations) {
        for at in 0..BLOCKS {
            mark(&mut blocks[at], &columns[at]);
        }
    }
    for (block, column) in single.iter_mut().zip(column_single) {
        mark(block, column);
    }
    let (mut last, mut last_column) = ([0; LANES], [T::default(); LANES]);
    last[..rest.len()].copy_from_slice(rest);
    last_column[..rest.len()].copy_from_slice(column_rest);
    mark(&mut last, &last_column);
    rest.copy_from_slice(&last[..rest.len()]);
}

/// The codes as an array, padded with the first one. None where there is no code or more than [`MAX_COMPARED`].
fn padded(codes: &[u32]) -> Option<[u32; MAX_COMPARED]> {
    let mut padded = [*codes.first()?; MAX_COMPARED];
    padded.get_mut(..codes.len())?.copy_from_slice(codes);
    Some(padded)
}

/// A table with an entry per code up to the greatest of `codes`: `inside` for these, `outside` for the others.
fn table(codes: &[u32], outside: u8, inside: u8) -> Vec<u8> {
    let mut table = vec![outside; codes.iter().max().map_or(0, |code| *code as usize + 1)];
    for code in codes {
        if let Some(entry) = table.get_mut(*code as usize) {
            *entry = inside;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `check` with random lengths from 0 to three blocks, and the seed for messages.
    fn on_random_columns(check: impl Fn(&mut fastrand::Rng, usize, &str)) {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..2_000 {
            let rows = random.usize(..3 * BLOCK + 2);
            check(&mut random, rows, &format!("seed {seed}, {rows} rows"));
        }
    }

    fn patterns(random: &mut fastrand::Rng, rows: usize) -> Vec<u8> {
        (0..rows).map(|_| random.u8(..8)).collect()
    }

    #[test]
    fn rows_with_less_than_the_amount_are_marked() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<i64> = (0..rows).map(|_| random.i64(-3..3)).collect();
            let (before, amount) = (patterns(random, rows), random.i64(-3..3));
            let mut after = before.clone();
            mark_short(&mut after, &column, amount, 16);
            for row in 0..rows {
                let expected = if amount > column[row] { before[row] | 16 } else { before[row] };
                assert_eq!(after[row], expected, "{seed}, row {row}");
            }
        });
    }

    #[test]
    fn every_row_is_marked_once_for_any_number_of_blocks_per_iteration() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<u8> = (0..rows).map(|_| random.u8(..)).collect();
            let before: Vec<u8> = (0..rows + random.usize(..3)).map(|_| random.u8(..)).collect();
            let add = |patterns: &mut [u8; LANES], column: &[u8; LANES]| {
                update(patterns, column, u8::wrapping_add);
            };
            let mut expected = before.clone();
            update(&mut expected, &column, u8::wrapping_add);
            let (mut one, mut two) = (before.clone(), before);
            mark_unrolled::<_, 1>(&mut one, &column, add);
            mark_unrolled::<_, 2>(&mut two, &column, add);
            assert_eq!(one, expected, "{seed}");
            assert_eq!(two, expected, "{seed}");
        });
    }

    #[test]
    fn rows_above_the_greatest_allowed_entry_are_marked() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<u32> =
                (0..rows).map(|_| random.choice([0, 1, 2, i32::MAX as u32, u32::MAX]).unwrap_or(3)).collect();
            let most = random.choice([0, 1, i32::MAX as u32, u32::MAX - 1, u32::MAX]).unwrap_or(2);
            let before = patterns(random, rows);
            let mut after = before.clone();
            mark_above(&mut after, &column, most, 16);
            for row in 0..rows {
                let expected = if column[row] > most { before[row] | 16 } else { before[row] };
                assert_eq!(after[row], expected, "{seed}, most {most}, row {row}");
            }
        });
    }

    #[test]
    fn inside_and_outside_are_opposites() {
        on_random_columns(|random, rows, seed| {
            let values = [12, 40][random.usize(..2)];
            let column: Vec<u32> = (0..rows).map(|_| random.u32(..values)).collect();
            let codes: Vec<u32> = (0..random.usize(..9)).map(|_| random.u32(1..values)).collect();
            let before = patterns(random, rows);
            let (mut inside, mut outside) = (before.clone(), before.clone());
            mark_inside(&mut inside, &column, &codes, 16);
            mark_outside(&mut outside, &column, &codes, 16);
            for row in 0..rows {
                let is_inside = codes.contains(&column[row]);
                assert_eq!(inside[row], before[row] | if is_inside { 16 } else { 0 }, "{seed}, {codes:?}, row {row}");
                assert_eq!(outside[row], before[row] | if is_inside { 0 } else { 16 }, "{seed}, {codes:?}, row {row}");
            }
        });
    }

    #[test]
    fn the_first_marked_row_is_found() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<u8> = (0..rows).map(|_| u8::from(random.u8(..20) == 0) << random.u8(..8)).collect();
            let from = random.usize(..=rows + 1);
            let expected = (from..rows).find(|row| column[*row] != 0);
            assert_eq!(first_marked(&column, from), expected, "{seed}, from {from}");
        });
    }

    #[test]
    fn only_rows_with_a_given_bit_and_less_than_the_amount_are_marked() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<i64> =
                (0..rows).map(|_| random.choice([i64::MIN, -2, 0, 1, i64::MAX]).unwrap_or(3)).collect();
            let (before, amount, among) = (patterns(random, rows), random.i64(-3..3), random.u8(..8));
            let mut after = before.clone();
            mark_short_among(&mut after, among, &column, amount, 16);
            for row in 0..rows {
                let is_marked = before[row] & among != 0 && amount > column[row];
                let expected = if is_marked { before[row] | 16 } else { before[row] };
                assert_eq!(after[row], expected, "{seed}, row {row}");
            }
        });
    }

    #[test]
    fn a_union_includes_every_row() {
        on_random_columns(|random, rows, seed| {
            let mut column = vec![0; rows];
            if let Some(row) = random.choice(0..rows) {
                column[row] = 64;
            }
            assert_eq!(union(&column), if rows == 0 { 0 } else { 64 }, "{seed}");
        });
    }

    #[test]
    fn every_row_has_the_bits_of_its_code_in_the_table() {
        on_random_columns(|random, rows, seed| {
            let values = [12, 300][random.usize(..2)];
            let mut column: Vec<u32> = (0..rows).map(|_| random.u32(..values)).collect();
            if random.bool() {
                // Codes that ascend one by one, from the end of most tables on as well, and some that do not.
                let first = random.choice([0, 1, 20, u32::MAX - 200]).unwrap_or(3);
                let others = random.usize(..3);
                (first..).zip(&mut column).for_each(|(code, entry)| *entry = code);
                (0..others).filter_map(|_| random.choice(0..rows)).for_each(|row| column[row] = 7);
            }
            let default = random.u8(..3) << 4;
            // From a table of equal entries to one of mostly different entries.
            let differing = random.u8(..4);
            let table: Vec<u8> = (0..random.usize(..80))
                .map(|_| if random.u8(..8) < 2 * differing { random.u8(..=differing) << 4 } else { default })
                .collect();
            let before = patterns(random, rows);
            let mut after = before.clone();
            mark_by_table(&mut after, &column, &table, default);
            for row in 0..rows {
                let expected = before[row] | table.get(column[row] as usize).unwrap_or(&default);
                assert_eq!(after[row], expected, "{seed}, {table:?}, default {default}, row {row}");
            }
        });
    }

    #[test]
    fn a_code_past_the_end_of_the_table_gets_the_default_bits() {
        let mut patterns = [0; 3];
        mark_by_table(&mut patterns, &[0, 1, 2], &[1, 2], 4);
        assert_eq!(patterns, [1, 2, 4]);
    }

    #[test]
    fn surplus_entries_of_a_longer_column_are_ignored() {
        let mut short = [0; 2];
        update(&mut short, &[1; 70], |_, entry| entry);
        assert_eq!(short, [1, 1]);
        let mut long = [0; 70];
        update(&mut long, &[1; 33], |_, entry| entry);
        assert_eq!(long.iter().sum::<i32>(), 33);
        assert_eq!(long[..33], [1; 33]);
    }
}
