//! Sets of rows: a sorted list, or a bitmap where that takes fewer bytes.

use nodesift_cache::Row;

/// A set of rows of one snapshot.
#[derive(Debug, Clone, Default)]
pub struct RowSet {
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Sorted list of rows.
    Few(Vec<Row>),
    /// Bit `row % 64` of word `row / 64`, and the number of bits that are set.
    Many(Vec<u64>, usize),
}

impl Default for Form {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

/// Rows per word of a bitmap.
pub(super) const WORD: usize = u64::BITS as usize;

/// A bitmap whose first `bits` bits are set.
pub(super) fn all_bits(bits: usize) -> Vec<u64> {
    let mut words = vec![u64::MAX; bits / WORD];
    if !bits.is_multiple_of(WORD) {
        words.push((1 << (bits % WORD)) - 1);
    }
    words
}

impl RowSet {
    /// The first `rows` rows.
    pub fn all(rows: usize) -> Self {
        Self { form: Form::Many(all_bits(rows), rows) }
    }

    /// The rows of a sorted list, out of `all` rows.
    pub(crate) fn new(rows: Vec<Row>, all: usize) -> Self {
        let mut set = Self { form: Form::Few(rows) };
        set.widen(all);
        set
    }

    /// The rows of a bitmap.
    pub(super) fn from_words(words: Vec<u64>) -> Self {
        let len = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { form: Form::Many(words, len) }
    }

    /// The rows of a bitmap out of `all` rows. Missing words at its end count as zero.
    pub(super) fn from_bits(mut words: Vec<u64>, all: usize) -> Self {
        let len: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        let size = all.div_ceil(WORD);
        if len * size_of::<Row>() <= size * size_of::<u64>() {
            let mut rows = Vec::with_capacity(len);
            for (word, base) in words.iter().zip((0_u32..).step_by(WORD)) {
                rows.extend(Bits { word: *word, base });
            }
            return Self { form: Form::Few(rows) };
        }
        words.resize(size, 0);
        Self { form: Form::Many(words, len) }
    }

    /// Converts a list to a bitmap over `all` rows where that takes fewer bytes.
    fn widen(&mut self, all: usize) {
        if let Form::Few(rows) = &self.form
            && size_of_val(rows.as_slice()) > all.div_ceil(WORD) * size_of::<u64>()
        {
            let mut words = vec![0; all.div_ceil(WORD)];
            rows.iter().for_each(|row| set_bit(&mut words, *row));
            self.form = Form::Many(words, rows.len());
        }
    }

    /// The number of rows in the set.
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Few(rows) => rows.len(),
            Form::Many(_, len) => *len,
        }
    }

    /// Whether the set has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a row is in the set.
    pub fn contains(&self, row: Row) -> bool {
        match &self.form {
            Form::Few(rows) => rows.binary_search(&row).is_ok(),
            Form::Many(words, _) => {
                words.get(row.index() / WORD).is_some_and(|word| word >> (row.index() % WORD) & 1 == 1)
            }
        }
    }

    /// All rows, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Row> {
        self.iter_from(Row(0))
    }

    /// The rows from `first` on, in ascending order.
    pub(crate) fn iter_from(&self, first: Row) -> impl Iterator<Item = Row> {
        let (few, many): (&[Row], &[u64]) = match &self.form {
            Form::Few(rows) => (rows, &[]),
            Form::Many(words, _) => (&[], words),
        };
        let few = few.get(few.partition_point(|row| *row < first)..).unwrap_or_default();
        let bases = (0_u32..).step_by(WORD).skip(first.index() / WORD);
        let words = many.iter().skip(first.index() / WORD).zip(bases).map(move |(word, base)| {
            let before = first.0.saturating_sub(base);
            Bits { word: if before == 0 { *word } else { word >> before << before }, base }
        });
        few.iter().copied().chain(words.flatten())
    }

    /// The intersection with another set, out of `all` rows.
    pub(super) fn among(&self, others: &Self, all: usize) -> Self {
        match &self.form {
            Form::Few(rows) => {
                let rows = rows.iter().copied().filter(|row| others.contains(*row));
                Self { form: Form::Few(rows.collect()) }
            }
            Form::Many(words, _) => {
                let others = others.bitmap(all);
                Self::from_words(words.iter().zip(&others).map(|(word, other)| word & other).collect())
            }
        }
    }

    /// A bitmap over `rows` rows: bit `row % 64` of word `row / 64`.
    pub fn bitmap(&self, rows: usize) -> Vec<u64> {
        let mut words = match &self.form {
            Form::Few(_) => Vec::new(),
            Form::Many(words, _) => words.clone(),
        };
        words.resize(rows.div_ceil(WORD), 0);
        if let Form::Few(rows) = &self.form {
            rows.iter().for_each(|row| set_bit(&mut words, *row));
        }
        words
    }

    /// A bitmap in bytes: bit `row % 8`, from the lowest, of byte `row / 8`. Zero bytes at the end are omitted.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = match &self.form {
            Form::Few(rows) => {
                let mut bytes = vec![0_u8; rows.last().map_or(0, |last| last.index() / 8 + 1)];
                for row in rows {
                    if let Some(byte) = bytes.get_mut(row.index() / 8) {
                        *byte |= 1 << (row.index() % 8);
                    }
                }
                bytes
            }
            Form::Many(words, _) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        bytes
    }

    /// Heap bytes of the set.
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::Few(rows) => rows.capacity() * size_of::<Row>(),
            Form::Many(words, _) => words.capacity() * size_of::<u64>(),
        }
    }

    /// Adds a row, out of `all` rows.
    pub(super) fn insert(&mut self, row: Row, all: usize) {
        match &mut self.form {
            Form::Few(rows) => {
                if let Err(at) = rows.binary_search(&row) {
                    rows.insert(at, row);
                }
            }
            Form::Many(words, len) => {
                words.resize(words.len().max(row.index() / WORD + 1), 0);
                if let Some(word) = words.get_mut(row.index() / WORD) {
                    let bit = 1 << (row.index() % WORD);
                    *len += usize::from(*word & bit == 0);
                    *word |= bit;
                }
            }
        }
        self.widen(all);
    }

    /// Removes a row, if the set has it.
    pub(super) fn remove(&mut self, row: Row) {
        match &mut self.form {
            Form::Few(rows) => {
                if let Ok(at) = rows.binary_search(&row) {
                    rows.remove(at);
                }
            }
            Form::Many(words, len) => {
                if let Some(word) = words.get_mut(row.index() / WORD) {
                    let bit = 1 << (row.index() % WORD);
                    *len -= usize::from(*word & bit != 0);
                    *word &= !bit;
                }
            }
        }
    }
}

/// Sets the bit of a row; rows beyond the bitmap are ignored.
pub(super) fn set_bit(words: &mut [u64], row: Row) {
    if let Some(word) = words.get_mut(row.index() / WORD) {
        *word |= 1 << (row.index() % WORD);
    }
}

/// The rows of one word of a bitmap.
pub(super) struct Bits {
    pub(super) word: u64,
    /// The row of its lowest bit.
    pub(super) base: u32,
}

impl Iterator for Bits {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let bit = self.word.trailing_zeros();
        (self.word != 0).then(|| {
            self.word &= self.word - 1;
            Row(self.base + bit)
        })
    }
}

impl PartialEq for RowSet {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for RowSet {}

impl FromIterator<Row> for RowSet {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        let mut rows: Vec<Row> = rows.into_iter().collect();
        rows.sort_unstable();
        rows.dedup();
        Self { form: Form::Few(rows) }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn random_changes_agree_with_a_btree_set_in_both_forms() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..200 {
            let all = random.usize(1..400);
            let (mut set, mut model) = match random.u8(0..3) {
                0 => (RowSet::default(), BTreeSet::new()),
                1 => (RowSet::all(all), (0..all).map(|row| Row(row as u32)).collect()),
                _ => {
                    let model: BTreeSet<Row> = (0..all).filter(|_| random.bool()).map(|row| Row(row as u32)).collect();
                    (RowSet::new(model.iter().copied().collect(), all), model)
                }
            };
            for _ in 0..random.usize(0..300) {
                let row = Row(random.usize(0..all) as u32);
                if random.bool() {
                    set.insert(row, all);
                    model.insert(row);
                } else {
                    set.remove(row);
                    model.remove(&row);
                }
                assert_eq!(set.contains(row), model.contains(&row));
            }
            assert!(set.iter().eq(model.iter().copied()), "{set:?} and {model:?}");
            assert_eq!(set.len(), model.len());
            assert_eq!(set, model.iter().copied().collect());
            assert_eq!(RowSet::from_words(set.bitmap(all)), set);
            let mut words = set.bitmap(all);
            words.truncate(words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1));
            assert_eq!(RowSet::from_bits(words, all), set);
            let first = Row(random.usize(0..all + 70) as u32);
            assert!(set.iter_from(first).eq(model.range(first..).copied()), "from {first:?}");
            let other: BTreeSet<Row> = (0..all).filter(|_| random.bool()).map(|row| Row(row as u32)).collect();
            for other_set in [other.iter().copied().collect(), RowSet::new(other.iter().copied().collect(), all)] {
                assert!(set.among(&other_set, all).iter().eq(model.intersection(&other).copied()));
            }
            let bytes = set.to_bytes();
            let is_set = |row: usize| bytes.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
            assert!((0..all.max(bytes.len() * 8)).all(|row| is_set(row) == model.contains(&Row(row as u32))));
            assert_ne!(bytes.last(), Some(&0), "a zero byte at the end");
            // A list may have room for as many again as it holds, and for four at least.
            assert!(set.bytes() <= 2 * (all.div_ceil(WORD) * size_of::<u64>()).max(4 * size_of::<Row>()));
        }
    }
}
