//! Loops over columns, most of them in blocks of constant length: the compiler makes vector instructions of a block,
//! and the host's check for a spent time budget, paid at every turn of a loop, is paid once per block.
//!
//! Fast predicates keep a *pattern* per row, a byte whose bits say in which ways the row fails. The `mark_` functions
//! set bits of patterns; [`Verdict::by_pattern`](crate::Verdict::by_pattern) makes the verdict. Where a column's entries are
//! wider than a pattern, `lanes` brings them to a byte each.

mod lanes;

use lanes::LANES;

/// Rows per turn of a loop. 32 rows of a byte are two vector registers; more would only lengthen the code.
pub const BLOCK: usize = 32;

/// Blocks of sixteen rows that a turn takes: guests pay for each turn, native code is only made longer by more.
const AT_A_TURN: usize = if cfg!(target_arch = "wasm32") { 2 } else { 1 };

/// The most codes that each row is compared with. Beyond that a look-up in a table is faster.
const FEW: usize = 4;

/// Replaces every entry of `into` by `f(entry, entry of column)`. Where one is shorter the rest of the other is left
/// alone.
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

/// The bits that are set in any entry.
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
    // Many rows at once, and not one after the other until one is marked.
    let blocks = patterns.as_chunks().0;
    let clear = blocks.iter().take_while(|block| u128::from_ne_bytes(**block) == 0).count() * size_of::<u128>();
    patterns.get(clear..)?.iter().position(|pattern| *pattern != 0).map(|at| from + clear + at)
}

/// Gives rows with a pattern a code, and clears their pattern; they have no code yet.
pub(crate) fn number(codes: &mut [u16], patterns: &mut [u8], pattern: u8, code: u16) {
    update(codes, patterns, |before, known| before | if known == pattern { code } else { 0 });
    for known in patterns {
        *known = if *known == pattern { 0 } else { *known };
    }
}

/// Sets `bit` where `amount` is more than `column` has.
pub fn mark_short(patterns: &mut [u8], column: &[i64], amount: i64, bit: u8) {
    mark_blocks(patterns, column, |patterns, column| lanes::mark_short(patterns, column, amount, bit));
}

/// Sets `bit` where the pattern has one of the bits `among` and `amount` is more than `column` has.
pub fn mark_short_among(patterns: &mut [u8], among: u8, column: &[i64], amount: i64, bit: u8) {
    mark_blocks(patterns, column, |patterns, column| lanes::mark_short_among(patterns, among, column, amount, bit));
}

/// Sets `bit` where `column` holds none of `codes`.
pub fn mark_outside(patterns: &mut [u8], column: &[u32], codes: &[u32], bit: u8) {
    match few(codes) {
        Some(few) => mark_by_few(patterns, column, few, 0, bit),
        None => mark_by_lookup(patterns, column, &table(codes, bit, 0), bit),
    }
}

/// Sets `bit` where `column` holds one of `codes`.
pub fn mark_inside(patterns: &mut [u8], column: &[u32], codes: &[u32], bit: u8) {
    match few(codes) {
        Some(few) => mark_by_few(patterns, column, few, bit, 0),
        None => mark_by_lookup(patterns, column, &table(codes, 0, bit), 0),
    }
}

/// Sets the bits `table[code]`, where `column` says the code; a code beyond the table stands for `beyond`.
pub fn mark_by_table(patterns: &mut [u8], column: &[u32], table: &[u8], beyond: u8) {
    // Of most tables a few entries differ from the rest: what nodes are tainted with, what few nodes have.
    let differing = (0..).zip(table).filter(|(_, bits)| **bits != beyond);
    let (codes, bits): (Vec<u32>, Vec<u8>) = differing.take(FEW + 1).unzip();
    match (few(&codes), bits.as_slice()) {
        (_, []) => update(patterns, column, |pattern, _| pattern | beyond),
        (Some(codes), [inside, rest @ ..]) if rest.iter().all(|bits| bits == inside) => {
            mark_by_few(patterns, column, codes, *inside, beyond);
        }
        _ => mark_by_lookup(patterns, column, table, beyond),
    }
}

/// Sets the bits `inside` where `column` holds one of the codes, which may repeat the first one, and `outside`
/// elsewhere.
fn mark_by_few(patterns: &mut [u8], column: &[u32], codes: [u32; FEW], inside: u8, outside: u8) {
    let [first, rest @ ..] = codes;
    if rest.iter().all(|code| *code == first) {
        mark_blocks(patterns, column, |patterns, column| lanes::mark_equal(patterns, column, [first], inside, outside));
    } else {
        mark_blocks(patterns, column, |patterns, column| lanes::mark_equal(patterns, column, codes, inside, outside));
    }
}

/// Looks each code up: at once in a table of no more entries than rows are taken, else at the speed of one load per row.
fn mark_by_lookup(patterns: &mut [u8], column: &[u32], table: &[u8], beyond: u8) {
    let mut small = [beyond; LANES];
    if let Some(entries) = small.get_mut(..table.len()) {
        entries.copy_from_slice(table);
        return mark_blocks(patterns, column, |patterns, column| {
            lanes::mark_looked_up(patterns, column, &small, beyond);
        });
    }
    mark_blocks(patterns, column, |patterns, column| {
        for lane in 0..LANES {
            patterns[lane] |= table.get(column[lane] as usize).copied().unwrap_or(beyond);
        }
    });
}

/// Calls `mark` with sixteen patterns after the other, and what `column` has for them; the last ones are filled up. Where
/// one is shorter the rest of the other is left alone.
#[inline]
fn mark_blocks<T: Copy + Default>(patterns: &mut [u8], column: &[T], mark: impl Fn(&mut [u8; LANES], &[T; LANES])) {
    mark_turns::<T, AT_A_TURN>(patterns, column, mark);
}

/// As above, with so many blocks at a turn.
#[inline]
fn mark_turns<T: Copy + Default, const BLOCKS: usize>(
    patterns: &mut [u8],
    column: &[T],
    mark: impl Fn(&mut [u8; LANES], &[T; LANES]),
) {
    let rows = patterns.len().min(column.len());
    let (blocks, rest) = patterns[..rows].as_chunks_mut();
    let (column_blocks, column_rest) = column[..rows].as_chunks();
    let (turns, single) = blocks.as_chunks_mut::<BLOCKS>();
    let (column_turns, column_single) = column_blocks.as_chunks::<BLOCKS>();
    for (blocks, columns) in turns.iter_mut().zip(column_turns) {
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

/// The codes in a row of constant length, the first one repeated, if they are few.
fn few(codes: &[u32]) -> Option<[u32; FEW]> {
    let mut few = [*codes.first()?; FEW];
    few.get_mut(..codes.len())?.copy_from_slice(codes);
    Some(few)
}

/// A table up to the greatest of `codes`: `inside` for these, `outside` for all others.
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

    /// Runs `check` on random columns of all lengths around a block's, with their seed for the messages.
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
    fn short_rows_are_those_that_have_less() {
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
    fn every_row_is_marked_once_however_many_blocks_a_turn_takes() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<u8> = (0..rows).map(|_| random.u8(..)).collect();
            let before: Vec<u8> = (0..rows + random.usize(..3)).map(|_| random.u8(..)).collect();
            let add = |patterns: &mut [u8; LANES], column: &[u8; LANES]| {
                update(patterns, column, u8::wrapping_add);
            };
            let mut expected = before.clone();
            update(&mut expected, &column, u8::wrapping_add);
            let (mut one, mut two) = (before.clone(), before);
            mark_turns::<_, 1>(&mut one, &column, add);
            mark_turns::<_, 2>(&mut two, &column, add);
            assert_eq!(one, expected, "{seed}");
            assert_eq!(two, expected, "{seed}");
        });
    }

    #[test]
    fn inside_and_outside_are_opposite_and_right() {
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
    fn short_rows_among_some_are_those_that_have_less() {
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
    fn a_union_misses_no_row() {
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
            let column: Vec<u32> = (0..rows).map(|_| random.u32(..values)).collect();
            let beyond = random.u8(..3) << 4;
            // From a table of which nothing differs to one of which everything may.
            let differing = random.u8(..4);
            let table: Vec<u8> = (0..random.usize(..40))
                .map(|_| if random.u8(..8) < 2 * differing { random.u8(..=differing) << 4 } else { beyond })
                .collect();
            let before = patterns(random, rows);
            let mut after = before.clone();
            mark_by_table(&mut after, &column, &table, beyond);
            for row in 0..rows {
                let expected = before[row] | table.get(column[row] as usize).unwrap_or(&beyond);
                assert_eq!(after[row], expected, "{seed}, {table:?}, beyond {beyond}, row {row}");
            }
        });
    }

    #[test]
    fn a_code_beyond_the_table_has_bits_of_its_own() {
        let mut patterns = [0; 3];
        mark_by_table(&mut patterns, &[0, 1, 2], &[1, 2], 4);
        assert_eq!(patterns, [1, 2, 4]);
    }

    #[test]
    fn columns_of_another_length_do_no_harm() {
        let mut short = [0; 2];
        update(&mut short, &[1; 70], |_, entry| entry);
        assert_eq!(short, [1, 1]);
        let mut long = [0; 70];
        update(&mut long, &[1; 33], |_, entry| entry);
        assert_eq!(long.iter().sum::<i32>(), 33);
        assert_eq!(long[..33], [1; 33]);
    }
}
