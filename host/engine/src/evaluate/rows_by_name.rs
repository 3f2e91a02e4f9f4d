//! The rows of a set in the order of node names, one after the other: responses are encoded while they are sent, so the order
//! of a large set is never a list of its own.
//!
//! Start at [`RowsByName::new`].

use std::sync::Arc;

use super::row_set::RowSet;
use nodesift_cache::{NodeNames, Row};

/// If fewer than one node in `SORT_BELOW` is in the set, sorting its rows by name is cheaper than filtering all names.
const SORT_BELOW: usize = 16;

/// An iterator over the rows of a set, by node name.
#[derive(Debug)]
pub struct RowsByName {
    order: Order,
    at: usize,
}

#[derive(Debug)]
enum Order {
    /// The rows of a small set, sorted.
    Sorted(Vec<Row>),
    /// Those of all rows, by name, that the set contains.
    Among(Arc<[Row]>, Arc<RowSet>),
}

impl RowsByName {
    /// The rows of `set`, which belongs to the snapshot of `names`.
    pub fn new(set: &Arc<RowSet>, names: &NodeNames) -> Self {
        let order = if set.len() * SORT_BELOW < names.by_name().len() {
            let mut rows: Vec<Row> = set.iter().collect();
            rows.sort_unstable_by(|a, b| names.get(*a).cmp(names.get(*b)));
            Order::Sorted(rows)
        } else {
            Order::Among(Arc::clone(names.by_name()), Arc::clone(set))
        };
        Self { order, at: 0 }
    }
}

impl Iterator for RowsByName {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        match &self.order {
            Order::Sorted(rows) => {
                let row = *rows.get(self.at)?;
                self.at += 1;
                Some(row)
            }
            Order::Among(all, set) => loop {
                let row = *all.get(self.at)?;
                self.at += 1;
                if set.contains(row) {
                    return Some(row);
                }
            },
        }
    }
}
