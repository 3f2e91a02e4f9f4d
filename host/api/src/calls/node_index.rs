//! The node index: which node is in which row, as the difference from the index that a core knows.
//!
//! A core keeps the index beside bitmaps over rows. It names the index it knows by epoch and generation; the difference
//! brings it to the index of a snapshot. On the wire it is a `RowTable`. Not here: the stream of differences, which is in
//! [`node_index_stream`](super::node_index_stream). Start at [`node_index`].

use std::num::NonZero;

use nodesift_proto::v1;

use nodesift_cache::{Epoch, Generation, Row, Snapshot};

/// The version of a node index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexVersion {
    epoch: Epoch,
    generation: Generation,
}

impl IndexVersion {
    /// The index that a request names; none where the core knows none.
    pub(super) fn known(known: &v1::Bitmaps) -> Option<Self> {
        let epoch = Epoch(NonZero::new(known.epoch)?);
        Some(Self { epoch, generation: Generation(known.generation) })
    }

    /// The index of a snapshot.
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self { epoch: snapshot.epoch(), generation: snapshot.node_index_generation() }
    }
}

/// The difference between two node indexes.
#[derive(Debug)]
pub(super) struct Difference {
    /// Rows whose node is another one.
    pub(super) rows: Vec<Row>,
    /// Whether these are all rows, and replace what was known.
    pub(super) whole: bool,
}

impl Difference {
    /// From a known index to that of a snapshot; whole where none is known, or where the change log does not reach back.
    pub(super) fn between(known: Option<IndexVersion>, snapshot: &Snapshot) -> Self {
        let same_epoch = known.filter(|known| known.epoch == snapshot.epoch());
        match same_epoch.and_then(|known| snapshot.node_index_difference(known.generation)) {
            Some(rows) => Self { rows, whole: false },
            None => Self { rows: (0..count(snapshot)).map(Row).collect(), whole: true },
        }
    }
}

/// The node index that a response's bitmaps refer to, as the difference from the one that the core knows.
pub(super) fn node_index(snapshot: &Snapshot, known: &v1::Bitmaps) -> v1::RowTable {
    let difference = Difference::between(IndexVersion::known(known), snapshot);
    message(snapshot, &difference.rows, difference.whole)
}

/// Some rows of a snapshot's node index; `whole` makes the core forget all others.
pub(super) fn message(snapshot: &Snapshot, rows: &[Row], whole: bool) -> v1::RowTable {
    let version = IndexVersion::new(snapshot);
    let change = |row: &Row| v1::RowName { row: row.0, node: snapshot.node_name(*row).to_owned() };
    v1::RowTable {
        epoch: version.epoch.0.get(),
        generation: version.generation.0,
        count: count(snapshot),
        whole,
        changes: rows.iter().map(change).collect(),
    }
}

/// The number of rows, which are u32.
fn count(snapshot: &Snapshot) -> u32 {
    u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use nodesift_cache::{self as cache, metadata};

    #[test]
    fn an_index_of_another_epoch_is_replaced_and_the_same_index_has_no_difference() {
        let (mut writer, reader) = cache::new();
        writer.apply(metadata::node(&serde_json::from_str(r#"{"metadata":{"name":"a"}}"#).unwrap()));
        writer.publish();
        let snapshot = reader.snapshot();
        let index = node_index(&snapshot, &v1::Bitmaps::default());
        assert!(index.epoch != 0 && index.whole && index.count == 1 && index.changes.len() == 1, "{index:?}");
        let known = v1::Bitmaps { epoch: index.epoch, generation: index.generation };
        let again = node_index(&snapshot, &known);
        assert!(!again.whole && again.changes.is_empty() && again.generation == index.generation, "{again:?}");
        let other = v1::Bitmaps { epoch: index.epoch ^ 1, ..known };
        assert_eq!(node_index(&snapshot, &other), index);
    }
}
