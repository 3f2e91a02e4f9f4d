//! Sets of rows as bitmaps, for counts of intersections. Start at [`Words`].

use nodesift_cache::Row;

use crate::evaluate::row_set::RowSet;

/// Rows per word of a bitmap.
const WORD: usize = u64::BITS as usize;

/// A set of rows of one snapshot: bit `row % 64` of word `row / 64`. Sets of one snapshot have the same number of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(Vec<u64>);

impl Words {
    /// No row of `rows`.
    pub(super) fn none(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(WORD)])
    }

    /// The rows of a set, out of `rows`.
    pub(super) fn from_set(set: &RowSet, rows: usize) -> Self {
        Self(set.bitmap(rows))
    }

    /// The rows for which a test holds, out of `rows`.
    pub(super) fn from_test(rows: usize, test: impl Fn(usize) -> bool) -> Self {
        let word = |first: usize| {
            (first..rows.min(first + WORD)).fold(0, |word, row| word | u64::from(test(row)) << (row % WORD))
        };
        Self((0..rows).step_by(WORD).map(word).collect())
    }

    /// Adds a row; one beyond the set is ignored.
    pub(super) fn insert(&mut self, row: Row) {
        if let Some(word) = self.0.get_mut(row.index() / WORD) {
            *word |= 1 << (row.index() % WORD);
        }
    }

    /// Whether a row is in the set.
    pub(super) fn contains(&self, row: Row) -> bool {
        self.0.get(row.index() / WORD).is_some_and(|word| word >> (row.index() % WORD) & 1 == 1)
    }

    /// Adds the rows of another set.
    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Returns the rows that are in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(word, other)| word & other).collect())
    }

    /// Returns the rows that are in this one and not in the other.
    pub(super) fn less(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(word, other)| word & !other).collect())
    }

    /// The number of rows.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The number of rows that are in both.
    pub(super) fn count_and(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).map(|(word, other)| (word & other).count_ones() as usize).sum()
    }

    /// Whether there is no row.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Whether every row is in the other set.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(word, other)| word & !other == 0)
    }

    /// Iterates over the rows, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = Row> {
        self.0.iter().zip((0_u32..).step_by(WORD)).flat_map(|(word, base)| {
            let mut word = *word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                (word != 0).then(|| {
                    word &= word - 1;
                    Row(base + bit)
                })
            })
        })
    }

    /// Rows that are in exactly one of some sets of `rows`.
    pub(super) fn in_exactly_one(sets: &[Self], rows: usize) -> Self {
        let (mut once, mut twice) = (Self::none(rows), Self::none(rows));
        for set in sets {
            twice.add(&once.and(set));
            once.add(set);
        }
        once.less(&twice)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sets_are_those_of_a_btree_set() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..200 {
            let rows = random.usize(0..300);
            let models: Vec<BTreeSet<usize>> =
                (0..4).map(|_| (0..rows).filter(|_| random.u8(0..3) == 0).collect()).collect();
            let sets: Vec<Words> =
                models.iter().map(|model| Words::from_test(rows, |row| model.contains(&row))).collect();
            let listed = |set: &Words| set.iter().map(Row::index).collect::<BTreeSet<_>>();
            let (a, b) = (&sets[0], &sets[1]);
            assert_eq!(listed(a), models[0]);
            assert_eq!(a.count(), models[0].len());
            assert_eq!(a.is_empty(), models[0].is_empty());
            assert_eq!(listed(&a.and(b)), &models[0] & &models[1]);
            assert_eq!(listed(&a.less(b)), &models[0] - &models[1]);
            assert_eq!(a.count_and(b), (&models[0] & &models[1]).len());
            assert_eq!(a.is_within(b), models[0].is_subset(&models[1]));
            assert!(a.and(b).is_within(b));
            let exactly: BTreeSet<usize> =
                (0..rows).filter(|row| models.iter().filter(|model| model.contains(row)).count() == 1).collect();
            assert_eq!(listed(&Words::in_exactly_one(&sets, rows)), exactly);
            let mut grown = Words::none(rows);
            models[2].iter().for_each(|row| grown.insert(Row(u32::try_from(*row).unwrap_or(u32::MAX))));
            assert_eq!(grown, sets[2]);
            let is_in = |row: usize| grown.contains(Row(u32::try_from(row).unwrap_or(u32::MAX)));
            assert!((0..rows + 70).all(|row| is_in(row) == models[2].contains(&row)));
        }
    }
}
