//! What chance decides.

use fastrand::Rng;

/// A source of chance with a seed.
#[derive(Debug)]
pub(crate) struct Dice(Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    /// True in so many of 100 cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.0.usize(0..100) < percent
    }

    /// From 0 to the bound, the bound excluded.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(0..bound)
    }

    /// From the one to the other, both included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        self.0.usize(least..=most)
    }

    /// One of several.
    #[allow(clippy::indexing_slicing, reason = "the lists that are thrown for are never empty")]
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// One to `most` of several, each once, in any order.
    pub(crate) fn some_of<T: Clone>(&mut self, of: &[T], most: usize) -> Vec<T> {
        let count = self.between(1, most.min(of.len()));
        let mut all = of.to_vec();
        self.0.shuffle(&mut all);
        all.truncate(count);
        all
    }
}
