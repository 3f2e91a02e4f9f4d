//! Loops over columns. All of them go in blocks of constant length: the compiler makes vector instructions of a
//! block, and the host's check for a spent time budget, paid at every turn of a loop, is paid once per block.
//!
//! Fast predicates keep a *pattern* per row, a byte whose bits say in which ways the row fails. The `mark_` functions
//! set bits of patterns; [`Verdict::by_pattern`](crate::Verdict::by_pattern) makes the verdict.

/// Rows per turn of a loop. 32 rows of a byte are two vector registers; more would only lengthen the code.
pub const BLOCK: usize = 32;

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

/// The patterns other than 0 that occur, of all that can be made of `bits`, in the order in which they first do.
pub(crate) fn occurring(patterns: &[u8], bits: u8) -> Vec<u8> {
    let mut found: Vec<(usize, u8)> = (1..=bits)
        .filter(|pattern| pattern & bits == *pattern)
        .filter_map(|pattern| Some((first_row(patterns, pattern)?, pattern)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, pattern)| pattern).collect()
}

/// The first row with a pattern.
fn first_row(patterns: &[u8], pattern: u8) -> Option<usize> {
    let (blocks, _) = patterns.as_chunks::<BLOCK>();
    // All rows of a block at once, and not one after the other until one is equal.
    let has = |block: &[u8; BLOCK]| block.iter().fold(false, |has, known| has | (*known == pattern));
    let first = blocks.iter().position(has).unwrap_or(blocks.len()) * BLOCK;
    patterns.get(first..)?.iter().position(|known| *known == pattern).map(|at| first + at)
}

/// Sets the code of rows with a pattern; they have none yet.
pub(crate) fn number(codes: &mut [u16], patterns: &[u8], pattern: u8, code: u16) {
    update(codes, patterns, |before, known| before | if known == pattern { code } else { 0 });
}

/// Sets `bit` where `amount` is more than `column` has.
pub fn mark_short(patterns: &mut [u8], column: &[i64], amount: i64, bit: u8) {
    update(patterns, column, |pattern, has| pattern | if amount > has { bit } else { 0 });
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
    let mut codes = [0; FEW];
    let mut differing = (0..).zip(table).filter(|(_, bits)| **bits != beyond);
    let Some((first, bits)) = differing.next() else {
        return update(patterns, column, |pattern, _| pattern | beyond);
    };
    codes.fill(first);
    let are_few = codes[1..].iter_mut().all(|code| match differing.next() {
        Some((other, others)) if others == bits => {
            *code = other;
            true
        }
        Some(_) => false,
        None => true,
    });
    if are_few && differing.next().is_none() {
        mark_by_few(patterns, column, codes, *bits, beyond);
    } else {
        mark_by_lookup(patterns, column, table, beyond);
    }
}

/// Sets the bits `inside` where `column` holds one of the codes, which may repeat the first one, and `outside`
/// elsewhere.
fn mark_by_few(patterns: &mut [u8], column: &[u32], codes: [u32; FEW], inside: u8, outside: u8) {
    let bits = |is_inside: bool| if is_inside { inside } else { outside };
    let [first, rest @ ..] = codes;
    if rest.iter().all(|code| *code == first) {
        update(patterns, column, |pattern, code| pattern | bits(code == first));
    } else {
        // Not one after the other until one is equal, but all at once.
        update(patterns, column, |pattern, code| {
            pattern | bits(codes.iter().fold(false, |is_inside, known| is_inside | (code == *known)))
        });
    }
}

/// Looks each code up: any table, at the speed of one load per row.
fn mark_by_lookup(patterns: &mut [u8], column: &[u32], table: &[u8], beyond: u8) {
    update(patterns, column, |pattern, code| pattern | table.get(code as usize).copied().unwrap_or(beyond));
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
    fn inside_and_outside_are_opposite_and_right() {
        on_random_columns(|random, rows, seed| {
            let column: Vec<u32> = (0..rows).map(|_| random.u32(..12)).collect();
            let codes: Vec<u32> = (0..random.usize(..9)).map(|_| random.u32(1..12)).collect();
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
    fn patterns_are_found_in_the_order_of_their_first_rows() {
        on_random_columns(|random, rows, seed| {
            let bits = random.u8(1..);
            let column: Vec<u8> =
                (0..rows).map(|_| if random.u8(..20) == 0 { random.u8(..) & bits } else { 0 }).collect();
            let mut expected = Vec::new();
            for pattern in column.iter().filter(|pattern| **pattern != 0) {
                if !expected.contains(pattern) {
                    expected.push(*pattern);
                }
            }
            assert_eq!(occurring(&column, bits), expected, "{seed}, bits {bits}");
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
            let column: Vec<u32> = (0..rows).map(|_| random.u32(..12)).collect();
            let beyond = random.u8(..3) << 4;
            // From a table of which nothing differs to one of which everything may.
            let differing = random.u8(..4);
            let table: Vec<u8> = (0..random.usize(..14))
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
