//! The rows of a set in the order of node names, a run of neighbours after the other: responses are encoded while they are
//! sent, so the order of a large set is never a list of its own.
//!
//! Start at [`RowsByName::new`].

use std::ops::Range;
use std::sync::Arc;

use super::row_set::{RowSet, WORD};
use nodesift_cache::{NodeNames, Row};

/// If fewer than one node in `SORT_BELOW` is in the set, sorting its rows is cheaper than filtering all nodes.
const SORT_BELOW: usize = 16;

/// An iterator over the rows of a set, by node name. It also gives their ranks, the places in the order of all names.
#[derive(Debug)]
pub struct RowsByName {
    names: NodeNames,
    order: Order,
    /// Ranks that follow each other, found and not taken yet.
    run: Range<usize>,
}

#[derive(Debug)]
enum Order {
    /// The ranks of a small set in descending order.
    Few(Vec<usize>),
    /// Of the ranks from `base` on, one a bit: those that the set contains and that were not found yet. The next ones follow.
    Many { set: Arc<RowSet>, word: u64, base: usize },
}

impl RowsByName {
    /// The rows of `set`, which belongs to the snapshot of `names`.
    pub fn new(set: &Arc<RowSet>, names: &NodeNames) -> Self {
        let order = if set.len() * SORT_BELOW < names.by_name().len() {
            let mut ranks: Vec<usize> = set.iter().map(|row| names.rank(row)).collect();
            ranks.sort_unstable_by(|a, b| b.cmp(a));
            Order::Few(ranks)
        } else {
            Order::Many { set: Arc::clone(set), word: word(names, set, 0), base: 0 }
        };
        Self { names: names.clone(), order, run: 0..0 }
    }

    /// The ranks of the next rows, as far as they follow each other; empty at the end. They stay the next ones until they are
    /// taken.
    pub fn run(&mut self) -> Range<usize> {
        if self.run.is_empty() {
            self.run = self.order.find(&self.names);
        }
        self.run.clone()
    }

    /// Takes so many ranks of the last run.
    pub fn take_ranks(&mut self, count: usize) {
        self.run.start = self.run.end.min(self.run.start + count);
    }
}

impl Order {
    fn find(&mut self, names: &NodeNames) -> Range<usize> {
        match self {
            Self::Few(ranks) => {
                let Some(first) = ranks.pop() else { return 0..0 };
                let mut end = first + 1;
                while ranks.pop_if(|rank| *rank == end).is_some() {
                    end += 1;
                }
                first..end
            }
            Self::Many { set, word: bits, base } => {
                while *bits == 0 {
                    *base += WORD;
                    if *base >= names.by_name().len() {
                        return 0..0;
                    }
                    *bits = word(names, set, *base);
                }
                let first = bits.trailing_zeros();
                let end = first + (*bits >> first).trailing_ones();
                // All bits below `end` are found.
                *bits &= u64::MAX.checked_shl(end).unwrap_or(0);
                *base + first as usize..*base + end as usize
            }
        }
    }
}

/// Of the [`WORD`] ranks from `base` on, one a bit: those that the set contains.
fn word(names: &NodeNames, set: &RowSet, base: usize) -> u64 {
    let rows = names.by_name().get(base..).unwrap_or_default().iter().take(WORD);
    rows.zip(0..).fold(0, |word, (row, bit)| word | u64::from(set.contains(*row)) << bit)
}

impl Iterator for RowsByName {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let rank = self.run().next()?;
        self.take_ranks(1);
        self.names.by_name().get(rank).copied()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use nodesift_cache::{self as cache, metadata};

    #[test]
    fn runs_of_random_sets_are_their_rows_sorted_by_name() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for nodes in [1, 63, 64, 65, 300, 2_000] {
            let (mut writer, reader) = cache::new();
            for _ in 0..nodes {
                let node = serde_json::json!({"metadata": {"name": format!("{}", random.u64(..))}});
                writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
            }
            writer.publish();
            let snapshot = reader.snapshot();
            let names = snapshot.node_names();
            for _ in 0..50 {
                let one_in = [1, 2, 10, 100][random.usize(..4)];
                let rows = 0..u32::try_from(nodes).unwrap();
                let set: Arc<RowSet> = Arc::new(rows.filter(|_| random.u32(..one_in) == 0).map(Row).collect());
                let mut expected: Vec<Row> = set.iter().collect();
                expected.sort_unstable_by_key(|row| snapshot.node_name(*row));
                assert_eq!(RowsByName::new(&set, &names).collect::<Vec<_>>(), expected);
                let (mut by_run, mut rows) = (Vec::new(), RowsByName::new(&set, &names));
                loop {
                    let run = rows.run();
                    if run.is_empty() {
                        break;
                    }
                    let taken = random.usize(1..=run.len());
                    by_run.extend_from_slice(&names.by_name()[run.start..run.start + taken]);
                    rows.take_ranks(taken);
                }
                assert_eq!(by_run, expected);
            }
        }
    }
}
