//! Values that many rows share, one code each: most nodes share a few taint sets, a few sets of used host ports.
//!
//! [`Sets`] is the writer's dictionary and counts the uses of a value. [`CodedColumn`] is what a snapshot shows: a code per
//! row, and the values behind the codes. Code 0 is the empty value and is never given back.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::column::Column;
use super::row::Row;

/// The writer's dictionary of values, with how often each is used.
#[derive(Debug)]
pub(crate) struct Sets<T> {
    values: Column<Arc<T>>,
    codes: FxHashMap<Arc<T>, u32>,
    users: Vec<u32>,
    free: Vec<u32>,
}

impl<T: Default + Eq + Hash> Sets<T> {
    pub(crate) fn new() -> Self {
        let empty = Arc::new(T::default());
        let codes = FxHashMap::from_iter([(Arc::clone(&empty), 0)]);
        Self { values: Column::filled(1, &empty), codes, users: vec![1], free: Vec::new() }
    }

    /// The values behind the codes. A value without uses is replaced by the empty one.
    pub(crate) fn values(&self) -> Column<Arc<T>> {
        self.values.clone()
    }

    /// The value behind a code.
    pub(crate) fn value(&self, code: u32) -> Option<&Arc<T>> {
        self.values.get(Row(code))
    }

    /// The code of a value that is in use.
    pub(crate) fn code(&self, value: &T) -> Option<u32> {
        self.codes.get(value).copied()
    }

    /// The code of a value, counted as one more use of it.
    pub(crate) fn acquire(&mut self, value: T) -> u32 {
        self.acquire_new(value).0
    }

    /// Returns the code of a value like [`Self::acquire`], and copies the value only where it is new.
    pub(crate) fn acquire_clone(&mut self, value: &T) -> u32
    where
        T: Clone,
    {
        match self.codes.get(value).copied() {
            Some(code) => {
                if let Some(users) = self.users.get_mut(code as usize) {
                    *users += 1;
                }
                code
            }
            None => self.acquire(value.clone()),
        }
    }

    /// Returns the code of a value, counted as one more use like [`Self::acquire`], and whether the value is new to the dictionary.
    pub(crate) fn acquire_new(&mut self, value: T) -> (u32, bool) {
        if let Some(code) = self.codes.get(&value) {
            if let Some(users) = self.users.get_mut(*code as usize) {
                *users += 1;
            }
            return (*code, false);
        }
        let value = Arc::new(value);
        let code = match self.free.pop() {
            Some(code) => {
                self.values.set(Row(code), Arc::clone(&value));
                if let Some(users) = self.users.get_mut(code as usize) {
                    *users = 1;
                }
                code
            }
            None => {
                self.values.push(Arc::clone(&value));
                self.users.push(1);
                // There are never more values than pods, and a cluster never comes near 2^32 of these.
                u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.codes.insert(value, code);
        (code, true)
    }

    /// Gives back one use of a code.
    pub(crate) fn release(&mut self, code: u32) {
        let Some(users) = self.users.get_mut(code as usize).filter(|_| code != 0) else { return };
        *users = users.saturating_sub(1);
        if *users > 0 {
            return;
        }
        if let (Some(empty), Some(value)) = (self.value(0).map(Arc::clone), self.value(code).map(Arc::clone)) {
            self.values.set(Row(code), empty);
            self.codes.remove(&value);
            self.free.push(code);
        }
    }
}

/// A code per row, and the values behind the codes.
#[derive(Debug, Clone)]
pub(crate) struct CodedColumn<T> {
    codes: Column<u32>,
    /// Values by code, as of the last [`CodedColumn::share_values`].
    values: Column<Arc<T>>,
}

impl<T> Default for CodedColumn<T> {
    fn default() -> Self {
        Self { codes: Column::default(), values: Column::default() }
    }
}

impl<T: Default + Eq + Hash> CodedColumn<T> {
    /// A column of these codes of these values.
    pub(crate) fn new(codes: Vec<u32>, values: Vec<Arc<T>>) -> Self {
        Self { codes: Column::from(codes), values: Column::from(values) }
    }

    /// The code per row.
    pub(crate) fn codes(&self) -> &Column<u32> {
        &self.codes
    }

    /// The values by code.
    pub(crate) fn values(&self) -> &Column<Arc<T>> {
        &self.values
    }

    /// The code of a row; that of the empty value past the last row.
    pub(crate) fn code(&self, row: Row) -> u32 {
        self.codes.get(row).copied().unwrap_or(0)
    }

    /// The value of a row; `None` past the last row.
    pub(crate) fn value(&self, row: Row) -> Option<&Arc<T>> {
        self.codes.get(row).and_then(|code| self.values.get(Row(*code)))
    }

    /// Appends a row with the empty value.
    pub(crate) fn push(&mut self) {
        self.codes.push(0);
    }

    /// Takes a row out; the last row moves into its place. The row's use of its value is still counted.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.codes.swap_remove(row);
    }

    /// Gives a row a value of the writer's dictionary; true where that differs from the one it had.
    pub(crate) fn set(&mut self, row: Row, value: T, sets: &mut Sets<T>) -> bool {
        let old = self.code(row);
        let new = sets.acquire(value);
        sets.release(old);
        if old != new {
            self.codes.set(row, new);
        }
        old != new
    }

    /// Takes over the values of the writer's dictionary, for the next snapshot.
    pub(crate) fn share_values(&mut self, sets: &Sets<T>) {
        self.values = sets.values();
    }

    /// Gives a row a value without the writer's dictionary, as an overlay does: a new value makes the values its own.
    pub(crate) fn set_overlaid(&mut self, row: Row, value: T) {
        let known = self.values.iter().position(|known| **known == value);
        let place = known.unwrap_or_else(|| {
            self.values.push(Arc::new(value));
            self.values.len() - 1
        });
        // There are never more values than pods, and a cluster never comes near 2^32 of these.
        self.codes.set(row, u32::try_from(place).unwrap_or(u32::MAX));
    }

    /// `len` rows that all have the value of one row.
    pub(crate) fn repeated(&self, row: Row, len: usize) -> Self {
        Self { codes: Column::filled(len, &self.code(row)), values: self.values.clone() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn codes_name_their_values_and_unused_codes_come_back() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sets = Sets::<Vec<u8>>::new();
        let mut held: Vec<(u32, Vec<u8>)> = Vec::new();
        for _ in 0..5_000 {
            if random.bool() || held.is_empty() {
                let value = vec![random.u8(0..6); random.usize(0..3)];
                held.push((sets.acquire(value.clone()), value));
            } else {
                let (code, _) = held.swap_remove(random.usize(0..held.len()));
                sets.release(code);
            }
            for (code, value) in &held {
                assert_eq!(**sets.value(*code).unwrap(), *value);
            }
        }
        assert!(sets.values().len() <= 1 + 6 * 2, "unused codes are given out again");
        assert_eq!(sets.acquire(Vec::new()), 0);
    }
}
