//! A set of rows of a batch, as bits. Start at [`Rows::from_column`].

/// Rows per word of a bit set.
const WORD: usize = u64::BITS as usize;

/// Rows whose flags are packed at once.
const BYTE: usize = u8::BITS as usize;

/// A set of rows of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    len: usize,
    /// Bit `row % 64` of word `row / 64`; bits of rows that there are not are 0.
    words: Box<[u64]>,
}

impl Rows {
    /// No row of a batch of `len` rows.
    pub fn none(len: usize) -> Self {
        Self { len, words: vec![0; len.div_ceil(WORD)].into() }
    }

    /// Every row of a batch of `len` rows.
    pub fn all(len: usize) -> Self {
        Self { len, words: (0..len.div_ceil(WORD)).map(|at| bits_of(len, at)).collect() }
    }

    /// The rows for whose entries in a column the test holds.
    pub fn from_column<T: Copy>(column: &[T], test: impl Fn(T) -> bool) -> Self {
        // In two steps, because only the first is a loop that compilers vectorise.
        let word = |entries: &[T]| {
            let mut flags = [0_u8; WORD];
            flags.iter_mut().zip(entries).for_each(|(flag, entry)| *flag = u8::from(test(*entry)));
            packed(&flags)
        };
        Self { len: column.len(), words: column.chunks(WORD).map(word).collect() }
    }

    /// How many rows the batch has.
    pub(crate) fn batch(&self) -> usize {
        self.len
    }

    /// Size of the words on the heap, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// How many rows are in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The rows that are in both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The rows that are in at least one.
    pub(crate) fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// The rows that are in this one and not in the other.
    pub(crate) fn less(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// The rows of the batch that are not in the set.
    pub(crate) fn not(&self) -> Self {
        Self::all(self.len).less(self)
    }

    /// Both are sets of one batch.
    fn zip(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| of(*a, *b)).collect();
        Self { len: self.len, words }
    }

    /// Calls with each row of the set, in order.
    pub fn for_each(&self, mut call: impl FnMut(usize)) {
        for (word, base) in self.words.iter().zip((0..).step_by(WORD)) {
            let mut left = *word;
            while left != 0 {
                call(base + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// The bits of the rows that there are in a word.
fn bits_of(len: usize, word: usize) -> u64 {
    match len.saturating_sub(word * WORD) {
        rows if rows >= WORD => u64::MAX,
        rows => (1 << rows) - 1,
    }
}

/// Flags of 0 and 1 as bits.
fn packed(flags: &[u8; WORD]) -> u64 {
    let (bytes, _) = flags.as_chunks::<BYTE>();
    // Moves the lowest bit of byte i to bit i of the highest byte; no two products meet.
    let byte = |flags: &[u8; BYTE]| u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080) >> (WORD - BYTE);
    bytes.iter().rev().fold(0, |word, flags| word << BYTE | byte(flags))
}

#[cfg(test)]
#[allow(clippy::print_stdout, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn listed(rows: &Rows) -> Vec<usize> {
        let mut listed = Vec::new();
        rows.for_each(|row| listed.push(row));
        listed
    }

    #[test]
    fn sets_agree_with_lists_of_flags() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for len in (0..200).chain([1_000, 1_024, 5_001]) {
            let column: [Vec<u32>; 2] = [0, 1].map(|_| (0..len).map(|_| random.u32(0..4)).collect());
            let [a, b] = column.each_ref().map(|column| Rows::from_column(column, |entry| entry == 1));
            let expected = |test: &dyn Fn(bool, bool) -> bool| {
                let holds = |row: &usize| test(column[0][*row] == 1, column[1][*row] == 1);
                (0..len).filter(holds).collect::<Vec<usize>>()
            };
            for (set, test) in [
                (a.clone(), &(|a, _| a) as &dyn Fn(bool, bool) -> bool),
                (a.and(&b), &|a, b| a && b),
                (a.or(&b), &|a, b| a || b),
                (a.less(&b), &|a, b| a && !b),
                (a.not(), &|a, _| !a),
                (Rows::all(len), &|_, _| true),
                (Rows::none(len), &|_, _| false),
            ] {
                assert_eq!(listed(&set), expected(test), "{len} rows");
                assert_eq!(set.count() as usize, listed(&set).len());
            }
            assert_eq!(a.not().not(), a);
        }
    }
}
