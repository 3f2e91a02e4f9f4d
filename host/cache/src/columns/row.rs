//! Row numbers and generations: what everything in the cache is addressed by.

/// Dense index of a node in the node table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u32);

impl Row {
    /// The row as an index into columns.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Counts effective changes of the cache; only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

impl Generation {
    /// Returns the generation after this one.
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
