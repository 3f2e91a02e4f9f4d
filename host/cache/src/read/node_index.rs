//! Differences between node indexes: which rows hold another node than in an index that a client has.
//!
//! Start with [`Snapshot::node_index_difference`].

use super::Snapshot;
use crate::columns::change_log::NodeInterface;
use crate::columns::{Generation, Row};
use crate::nodes::Epoch;

impl Snapshot {
    /// The epoch of the cache.
    pub fn epoch(&self) -> Epoch {
        self.published().epoch
    }

    /// The generation in which the node index last changed. It is the same in snapshots with the same index; nodes that an
    /// overlay adds are not in the index.
    pub fn node_index_generation(&self) -> Generation {
        self.last_change(NodeInterface::Identity)
    }

    /// Rows of this snapshot that may hold another node than in the node index of a generation of the cache, older or
    /// newer; sorted. `None` where that generation is too old for the change log.
    pub fn node_index_difference(&self, known: Generation) -> Option<Vec<Row>> {
        let index = self.node_index_generation();
        let (since, until) = (known.min(index), known.max(index));
        if since == until {
            return Some(Vec::new());
        }
        let mut rows = self.logged_rows(NodeInterface::Identity, since, until)?;
        rows.retain(|row| row.index() < self.node_count());
        Some(rows)
    }

    /// Whether an overlay adds nodes, whose rows are in no node index.
    pub fn has_overlay_nodes(&self) -> bool {
        self.below().is_some_and(|below| below.node_count() < self.node_count())
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
    use crate::{self as cache, Identity, Writer};

    fn add(writer: &mut Writer, name: &str, zone: u8) {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}}}}}}"#);
        writer.apply(metadata::node(&serde_json::from_str(&json).unwrap()));
    }

    fn names(snapshot: &Snapshot) -> Vec<Arc<str>> {
        snapshot.names().iter().cloned().collect()
    }

    #[test]
    fn any_node_index_of_a_random_history_is_made_of_any_other() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20 {
            let (mut writer, reader) = cache::new();
            let mut history: Vec<Arc<Snapshot>> = vec![reader.snapshot()];
            for _ in 0..60 {
                for _ in 0..random.usize(0..4) {
                    let name = format!("n{}", random.u8(0..16));
                    if random.u8(0..3) == 0 {
                        writer.remove(&Identity::node(&name));
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
                    assert!(same || known.node_index_generation() != wanted.node_index_generation());
                    let changed = wanted.node_index_difference(known.node_index_generation()).unwrap();
                    assert!(changed.is_sorted());
                    let mut index = names(known);
                    index.resize(wanted.node_count(), Arc::from("unknown"));
                    for row in changed {
                        *index.get_mut(row.index()).unwrap() = Arc::from(wanted.node_name(row));
                    }
                    assert_eq!(index, names(wanted), "{known:?} to {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn what_changes_no_name_changes_no_node_index() {
        let (mut writer, reader) = cache::new();
        add(&mut writer, "a", 0);
        writer.publish();
        let before = reader.snapshot();
        add(&mut writer, "a", 1);
        writer.publish();
        let after = reader.snapshot();
        assert!(after.generation() > before.generation());
        assert_eq!(after.node_index_generation(), before.node_index_generation());
        assert_eq!(
            after.node_index_difference(before.generation()),
            Some(Vec::new()),
            "any generation identifies its node index"
        );
    }

    #[test]
    fn a_node_index_of_long_ago_is_not_known_any_more() {
        let (mut writer, reader) = cache::new();
        add(&mut writer, "a", 0);
        writer.publish();
        let before = reader.snapshot();
        for _ in 0..CHANGE_LOG_ENTRIES / 2 {
            add(&mut writer, "b", 0);
            writer.remove(&Identity::node("b"));
        }
        writer.publish();
        assert_eq!(reader.snapshot().node_index_difference(before.node_index_generation()), None);
        assert_eq!(before.node_index_difference(reader.snapshot().node_index_generation()), None, "neither way");
    }

    #[test]
    fn every_cache_has_an_epoch_of_its_own() {
        let epochs: BTreeSet<u64> = (0..100).map(|_| cache::new().1.snapshot().epoch().0.get()).collect();
        assert_eq!(epochs.len(), 100);
    }
}
