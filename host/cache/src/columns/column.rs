//! A column: one value per row, chunked and copy-on-write.
//!
//! Cloning a column costs one reference count whatever its length; the first write after that copies the table of
//! chunks and one chunk. [`Column::flat`] joins the chunks once per state, so that a column crosses into a guest by a
//! single copy.

use std::sync::{Arc, OnceLock};

use super::row::Row;
use crate::limits::CHUNK_ROWS;

/// One value per row.
#[derive(Debug, Clone)]
pub struct Column<T> {
    state: Arc<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
    flat: OnceLock<Arc<[T]>>,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        // A copy is made only to be written to, which would drop the joined form at once.
        Self { chunks: self.chunks.clone(), len: self.len, flat: OnceLock::new() }
    }
}

impl<T: Clone> Column<T> {
    /// A column of `len` rows that all hold `value`; equal chunks are shared.
    pub fn filled(len: usize, value: &T) -> Self {
        let full = Arc::new(vec![value.clone(); CHUNK_ROWS.min(len)]);
        let mut chunks = vec![full; len / CHUNK_ROWS];
        let rest = len % CHUNK_ROWS;
        if rest > 0 {
            chunks.push(Arc::new(vec![value.clone(); rest]));
        }
        Self { state: Arc::new(State { chunks, len, flat: OnceLock::new() }) }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.state.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.state.len == 0
    }

    /// The last row; none where there is no row.
    pub(crate) fn last_row(&self) -> Option<Row> {
        self.len().checked_sub(1).and_then(|last| u32::try_from(last).ok()).map(Row)
    }

    /// The value of a row; none past the end.
    pub fn get(&self, row: Row) -> Option<&T> {
        self.state.chunks.get(row.index() / CHUNK_ROWS)?.get(row.index() % CHUNK_ROWS)
    }

    /// All values, in the order of rows.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.state.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// All values in one piece; joined on the first call after a write, shared afterwards.
    pub fn flat(&self) -> Arc<[T]> {
        let join = || self.iter().cloned().collect::<Vec<T>>().into();
        Arc::clone(self.state.flat.get_or_init(join))
    }

    /// The values of some rows; rows past the end are left out.
    pub fn gather(&self, rows: &[Row]) -> Arc<[T]> {
        rows.iter().filter_map(|row| self.get(*row).cloned()).collect()
    }

    pub(crate) fn push(&mut self, value: T) {
        let state = Arc::make_mut(&mut self.state);
        state.flat.take();
        state.len += 1;
        match state.chunks.last_mut() {
            Some(last) if last.len() < CHUNK_ROWS => {
                let last = Arc::make_mut(last);
                if last.len() == last.capacity() {
                    // A vector left to itself doubles, well past the chunk where a copy left it at an odd length.
                    last.reserve_exact(last.len().clamp(1, CHUNK_ROWS - last.len()));
                }
                last.push(value);
            }
            _ => state.chunks.push(Arc::new(vec![value])),
        }
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        if row.index() >= self.len() {
            return;
        }
        let state = Arc::make_mut(&mut self.state);
        state.flat.take();
        state.len -= 1;
        let Some(chunk) = state.chunks.last_mut() else { return };
        let Some(last) = Arc::make_mut(chunk).pop() else { return };
        if chunk.is_empty() {
            state.chunks.pop();
        }
        if row.index() < state.len {
            self.set(row, last);
        }
    }

    pub(crate) fn set(&mut self, row: Row, value: T) {
        self.update(row, |slot| *slot = value);
    }

    pub(crate) fn update(&mut self, row: Row, change: impl FnOnce(&mut T)) {
        let state = Arc::make_mut(&mut self.state);
        state.flat.take();
        let slot = state
            .chunks
            .get_mut(row.index() / CHUNK_ROWS)
            .and_then(|chunk| Arc::make_mut(chunk).get_mut(row.index() % CHUNK_ROWS));
        if let Some(slot) = slot {
            change(slot);
        }
    }
}

impl<T: Clone> From<Vec<T>> for Column<T> {
    fn from(mut values: Vec<T>) -> Self {
        let len = values.len();
        let mut chunks = Vec::with_capacity(len.div_ceil(CHUNK_ROWS));
        while values.len() > CHUNK_ROWS {
            let rest = values.split_off(CHUNK_ROWS);
            chunks.push(Arc::new(std::mem::replace(&mut values, rest)));
        }
        if !values.is_empty() {
            chunks.push(Arc::new(values));
        }
        Self { state: Arc::new(State { chunks, len, flat: OnceLock::new() }) }
    }
}

impl<T: PartialEq> PartialEq for Column<T> {
    /// Chunks that both share cost one comparison.
    fn eq(&self, other: &Self) -> bool {
        let same_chunk = |(a, b): (&Arc<Vec<T>>, &Arc<Vec<T>>)| Arc::ptr_eq(a, b) || a == b;
        Arc::ptr_eq(&self.state, &other.state)
            || self.state.len == other.state.len && self.state.chunks.iter().zip(&other.state.chunks).all(same_chunk)
    }
}

impl<T: Clone> Default for Column<T> {
    fn default() -> Self {
        Self { state: Arc::new(State { chunks: Vec::new(), len: 0, flat: OnceLock::new() }) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    #[test]
    fn random_writes_agree_with_a_vector_and_never_reach_an_older_clone() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut column = Column::<u64>::default();
        let mut model: Vec<u64> = Vec::new();
        let mut kept: Vec<(Column<u64>, Vec<u64>)> = Vec::new();
        for step in 0..20_000_u64 {
            match random.u8(0..12) {
                9..12 if !model.is_empty() => {
                    let row = random.usize(0..model.len());
                    column.swap_remove(Row(row as u32));
                    model.swap_remove(row);
                }
                0..4 => {
                    column.push(step);
                    model.push(step);
                }
                4..9 if !model.is_empty() => {
                    let row = random.usize(0..model.len());
                    column.set(Row(row as u32), step);
                    model[row] = step;
                }
                _ if step % 97 == 0 => {
                    assert_eq!(column.flat()[..], model[..]);
                    kept.push((column.clone(), model.clone()));
                }
                _ => {}
            }
        }
        kept.push((column, model));
        for (column, model) in kept {
            assert_eq!(column.len(), model.len());
            assert_eq!(column.flat()[..], model[..]);
            assert!(column.iter().eq(&model));
            let rows: Vec<Row> = (0..model.len()).step_by(7).map(|row| Row(row as u32)).collect();
            let gathered: Vec<u64> = rows.iter().map(|row| model[row.index()]).collect();
            assert_eq!(column.gather(&rows)[..], gathered[..]);
        }
    }

    #[test]
    fn a_filled_column_equals_pushing_one_by_one() {
        for len in [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 3 * CHUNK_ROWS] {
            let mut filled = Column::filled(len, &7_i64);
            filled.push(8);
            let mut pushed = Column::default();
            (0..len).for_each(|_| pushed.push(7));
            pushed.push(8);
            assert_eq!(filled.flat(), pushed.flat(), "{len} rows");
            let mut made = Column::from(vec![7; len]);
            made.push(8);
            assert_eq!(made.flat(), pushed.flat(), "{len} rows");
        }
    }
}
