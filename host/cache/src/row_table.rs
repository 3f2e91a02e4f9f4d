//! The table of rows: which node is in which row. Whoever keeps one reads bitmaps over rows without being told names.
//!
//! A table is named by an epoch, which is the cache's own, and by the generation in which it last changed. Start with
//! [`Snapshot::rows_unlike`], which says how to make one table of another.

use std::num::NonZero;
use std::sync::PoisonError;

use super::changes::NodeInterface;
use super::{Generation, Row, Snapshot};

/// Tells the caches of two processes apart: rows and generations of one mean nothing in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(pub NonZero<u64>);

impl Epoch {
    /// One that no other cache has, as far as chance goes.
    pub(super) fn random() -> Self {
        Self(NonZero::new(fastrand::u64(1..)).unwrap_or(NonZero::<u64>::MIN))
    }
}

impl Snapshot {
    /// The epoch of the cache.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The generation in which the table of rows last changed. It is the same in snapshots with the same table; nodes that
    /// an overlay adds are not of the table.
    pub fn table_generation(&self) -> Generation {
        self.last_change(NodeInterface::Identity)
    }

    /// Rows of this snapshot that may hold another node than in the table of a generation of the cache, be that older or
    /// newer; in order. None where that is too long ago to know.
    pub fn rows_unlike(&self, known: Generation) -> Option<Vec<Row>> {
        let table = self.table_generation();
        let (since, until) = (known.min(table), known.max(table));
        if since == until {
            return Some(Vec::new());
        }
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        let mut rows = changes.changed(NodeInterface::Identity, since, until)?;
        rows.retain(|row| row.index() < self.node_count());
        Some(rows)
    }

    /// Whether an overlay adds nodes, which have rows that no table knows.
    pub fn has_supposed_rows(&self) -> bool {
        self.below.as_ref().is_some_and(|below| below.node_count() < self.node_count())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::limits::CHANGE_LOG_ENTRIES;
    use crate::metadata;
    use crate::{self as cache, Writer};

    fn add(writer: &mut Writer, name: &str, zone: u8) {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}}}}}}"#);
        writer.apply_node(&metadata::node(&serde_json::from_str(&json).unwrap()));
    }

    fn names(snapshot: &Snapshot) -> Vec<Arc<str>> {
        snapshot.names().iter().cloned().collect()
    }

    #[test]
    fn any_table_of_a_random_history_is_made_of_any_other() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20 {
            let (mut writer, reader) = cache::new();
            let mut history: Vec<Arc<Snapshot>> = vec![reader.snapshot()];
            for _ in 0..60 {
                for _ in 0..random.usize(0..4) {
                    let name = format!("n{}", random.u8(0..16));
                    if random.u8(0..3) == 0 {
                        writer.remove_node(&name);
                    } else {
                        add(&mut writer, &name, random.u8(0..3));
                    }
                }
                writer.publish();
                history.push(reader.snapshot());
            }
            for known in &history {
                for wanted in &history {
                    let same = names(known) == names(wanted);
                    assert!(same || known.table_generation() != wanted.table_generation());
                    let changed = wanted.rows_unlike(known.table_generation()).unwrap();
                    assert!(changed.is_sorted());
                    let mut table = names(known);
                    table.resize(wanted.node_count(), Arc::from("nobody"));
                    for row in changed {
                        *table.get_mut(row.index()).unwrap() = Arc::from(wanted.node_name(row));
                    }
                    assert_eq!(table, names(wanted), "{known:?} to {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn what_changes_no_name_changes_no_table() {
        let (mut writer, reader) = cache::new();
        add(&mut writer, "a", 0);
        writer.publish();
        let before = reader.snapshot();
        add(&mut writer, "a", 1);
        writer.publish();
        let after = reader.snapshot();
        assert!(after.generation() > before.generation());
        assert_eq!(after.table_generation(), before.table_generation());
        assert_eq!(after.rows_unlike(before.generation()), Some(Vec::new()), "any generation names its table");
    }

    #[test]
    fn a_table_of_long_ago_is_not_known_any_more() {
        let (mut writer, reader) = cache::new();
        add(&mut writer, "a", 0);
        writer.publish();
        let before = reader.snapshot();
        for _ in 0..CHANGE_LOG_ENTRIES / 2 {
            add(&mut writer, "b", 0);
            writer.remove_node("b");
        }
        writer.publish();
        assert_eq!(reader.snapshot().rows_unlike(before.table_generation()), None);
        assert_eq!(before.rows_unlike(reader.snapshot().table_generation()), None, "neither way");
    }

    #[test]
    fn every_cache_has_an_epoch_of_its_own() {
        let epochs: BTreeSet<u64> = (0..100).map(|_| cache::new().1.snapshot().epoch().0.get()).collect();
        assert_eq!(epochs.len(), 100);
    }
}
