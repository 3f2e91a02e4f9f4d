//! A core's side of bitmap answers: the table that says which node is in which row.

use std::sync::Arc;

use crate::v1::{Bitmaps, RowTable};

/// Which node is in which row, as one answer or the stream `NodeIndex` told it. Copies are cheap.
///
/// What an answer tells is the difference from the table that its request named. A core that has several requests under
/// way keeps, with each of them, the table that it named.
///
/// ```
/// use nodesift_proto::RowNames;
/// use nodesift_proto::v1::{RowName, RowTable};
///
/// let none = RowNames::default();
/// let changes = vec![RowName { row: 0, node: "n1".into() }, RowName { row: 1, node: "n2".into() }];
/// let told = RowTable { epoch: 7, generation: 3, count: 2, whole: true, changes };
/// let rows = none.with(&told);
/// assert_eq!(rows.decode(&[0b10]).collect::<Vec<_>>(), ["n2"]);
/// assert_eq!(rows.known().generation, 3);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNames {
    known: Bitmaps,
    names: Arc<Vec<Arc<str>>>,
}

impl RowNames {
    /// What a request says to have its answer as bitmaps, and as the difference from this table.
    pub fn known(&self) -> Bitmaps {
        self.known
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The table that is told as the difference from this one.
    #[must_use]
    pub fn with(&self, told: &RowTable) -> Self {
        let mut names = if told.whole { Arc::default() } else { Arc::clone(&self.names) };
        let count = usize::try_from(told.count).unwrap_or(usize::MAX);
        if names.len() != count || !told.changes.is_empty() {
            let names = Arc::make_mut(&mut names);
            names.resize(count, Arc::default());
            for change in &told.changes {
                let row = usize::try_from(change.row).ok();
                if let Some(name) = row.and_then(|row| names.get_mut(row)) {
                    *name = Arc::from(change.node.as_str());
                }
            }
        }
        Self { known: Bitmaps { epoch: told.epoch, generation: told.generation }, names }
    }

    /// The nodes of a bitmap, by row.
    pub fn decode<'a>(&'a self, bitmap: &'a [u8]) -> impl Iterator<Item = &'a str> {
        let is_set = |row: usize| bitmap.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        self.names.iter().enumerate().filter(move |(row, _)| is_set(*row)).map(|(_, name)| &**name)
    }
}
