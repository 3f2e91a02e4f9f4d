//! Decodes answers with bitmaps: the table that maps rows to node names. Start at [`RowNames`].

use std::sync::Arc;

use crate::v1::{Bitmaps, RowTable};

/// The node name of each row, from an answer or from the stream `NodeIndex`. Copies are cheap.
///
/// An answer holds the difference from the table that its request named. A client with several concurrent requests must
/// keep for each of them the table that it named.
///
/// ```
/// use nodesift_proto::RowNames;
/// use nodesift_proto::v1::{RowName, RowTable};
///
/// let none = RowNames::default();
/// let changes = vec![RowName { row: 0, node: "n1".into() }, RowName { row: 1, node: "n2".into() }];
/// let change = RowTable { epoch: 7, generation: 3, count: 2, whole: true, changes };
/// let rows = none.with(&change);
/// assert_eq!(rows.decode(&[0b10]).collect::<Vec<_>>(), ["n2"]);
/// assert_eq!(rows.known().generation, 3);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNames {
    known: Bitmaps,
    names: Arc<Vec<Arc<str>>>,
}

impl RowNames {
    /// The value of `bitmaps` in a request whose answer should be relative to this table.
    pub fn known(&self) -> Bitmaps {
        self.known
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The table after a difference from this one, or the whole table where the message holds one.
    #[must_use]
    pub fn with(&self, change: &RowTable) -> Self {
        let mut names = if change.whole { Arc::default() } else { Arc::clone(&self.names) };
        let count = usize::try_from(change.count).unwrap_or(usize::MAX);
        if names.len() != count || !change.changes.is_empty() {
            let names = Arc::make_mut(&mut names);
            names.resize(count, Arc::default());
            for row in &change.changes {
                let index = usize::try_from(row.row).ok();
                if let Some(name) = index.and_then(|index| names.get_mut(index)) {
                    *name = Arc::from(row.node.as_str());
                }
            }
        }
        Self { known: Bitmaps { epoch: change.epoch, generation: change.generation }, names }
    }

    /// The names of the nodes whose bit is set, in the order of rows. Row `r` is bit `r % 8`, from the lowest, of byte
    /// `r / 8`.
    pub fn decode<'a>(&'a self, bitmap: &'a [u8]) -> impl Iterator<Item = &'a str> {
        let is_set = |row: usize| bitmap.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        self.names.iter().enumerate().filter(move |(row, _)| is_set(*row)).map(|(_, name)| &**name)
    }
}
