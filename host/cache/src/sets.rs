//! Distinct values with one code each: most nodes share a few taint sets, a few sets of used host ports.
//!
//! [`Sets`] is the writer's side and counts who uses a value; readers hold the values behind the codes, a column with a row
//! per code that a snapshot shares. Code 0 is the empty value and is never given back.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Column, Row};

/// The writer's side of a dictionary of whole values.
#[derive(Debug)]
pub(super) struct Sets<T> {
    values: Column<Arc<T>>,
    codes: FxHashMap<Arc<T>, u32>,
    users: Vec<u32>,
    free: Vec<u32>,
}

impl<T: Default + Eq + Hash> Sets<T> {
    pub(super) fn new() -> Self {
        let empty = Arc::new(T::default());
        let codes = FxHashMap::from_iter([(Arc::clone(&empty), 0)]);
        Self { values: Column::filled(1, &empty), codes, users: vec![1], free: Vec::new() }
    }

    /// The values behind the codes. A value nobody uses any more is replaced by the empty one.
    pub(super) fn values(&self) -> Column<Arc<T>> {
        self.values.clone()
    }

    /// The value behind a code.
    pub(super) fn value(&self, code: u32) -> Option<&Arc<T>> {
        self.values.get(Row(code))
    }

    /// The code of a value that is in use.
    pub(super) fn code(&self, value: &T) -> Option<u32> {
        self.codes.get(value).copied()
    }

    /// The code of a value, counted as one more use of it.
    pub(super) fn acquire(&mut self, value: T) -> u32 {
        self.acquire_new(value).0
    }

    /// The same, and whether the code stands for this value only from now on.
    pub(super) fn acquire_new(&mut self, value: T) -> (u32, bool) {
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
    pub(super) fn release(&mut self, code: u32) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn codes_name_their_values_and_unused_codes_come_back() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
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
