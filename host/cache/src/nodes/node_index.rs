//! The node index: which node is in which row. A client that keeps it reads bitmaps over rows without names beside them.
//!
//! A state of the index is identified by the cache's [`Epoch`] and by the generation in which the index last changed.

use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::encoded_names::EncodedNames;
use crate::columns::{Column, DriftReport, Row};

/// Identifies a cache, one per process: rows and generations of one cache mean nothing in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(pub NonZero<u64>);

impl Epoch {
    /// Returns a random epoch, for a new cache.
    pub(crate) fn random() -> Self {
        Self(NonZero::new(fastrand::u64(1..)).unwrap_or(NonZero::<u64>::MIN))
    }
}

/// The names of all nodes of a snapshot, apart from the snapshot: a response that is still being sent holds no other column.
#[derive(Debug, Clone, Default)]
pub struct NodeNames(Arc<NameOrder>);

impl NodeNames {
    /// The name of the node in a row; empty past the last row.
    pub fn get(&self, row: Row) -> &str {
        self.0.names.get(row).map_or("", |name| name)
    }

    /// All rows in the order of names.
    pub fn by_name(&self) -> &Arc<[Row]> {
        &self.0.rows
    }

    /// The place of a row in the order of names; 0 past the last row.
    pub fn rank(&self, row: Row) -> usize {
        self.0.ranks.get(row.index()).map_or(0, |rank| *rank as usize)
    }

    /// The names in the order of names, as elements of an array in JSON.
    pub fn json(&self) -> &EncodedNames {
        self.0.json.get_or_init(|| EncodedNames::json(self.0.names()))
    }

    /// The names in the order of names, as elements of a repeated field in protobuf.
    pub fn protobuf(&self) -> &EncodedNames {
        self.0.protobuf.get_or_init(|| EncodedNames::protobuf(self.0.names()))
    }
}

/// Order of the names of all nodes, and encodings that depend on all names.
#[derive(Debug, Default)]
struct NameOrder {
    names: Column<Arc<str>>,
    /// Rows in the order of names.
    rows: Arc<[Row]>,
    /// Place in `rows` of each row.
    ranks: Vec<u32>,
    /// Found on first use, as its neighbour.
    json: OnceLock<EncodedNames>,
    protobuf: OnceLock<EncodedNames>,
}

impl NameOrder {
    fn new(nodes: &FxHashMap<Arc<str>, Row>, names: &Column<Arc<str>>) -> Self {
        let mut named: Vec<(&Arc<str>, Row)> = nodes.iter().map(|(name, row)| (name, *row)).collect();
        named.sort_unstable();
        let mut ranks = vec![0; names.len()];
        for ((_, row), rank) in named.iter().zip(0..) {
            if let Some(place) = ranks.get_mut(row.index()) {
                *place = rank;
            }
        }
        let rows = named.into_iter().map(|(_, row)| row).collect();
        Self { names: names.clone(), rows, ranks, ..Self::default() }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| self.names.get(*row).map_or("", |name| name))
    }
}

/// Names by row, and rows by name. Rows stay dense: the last row moves into the place of a removed one.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeIndex {
    rows: Arc<FxHashMap<Arc<str>, Row>>,
    names: Column<Arc<str>>,
    /// Found on first use after nodes came or went.
    order: Arc<OnceLock<NodeNames>>,
}

impl NodeIndex {
    /// `len` rows that all hold the node of this name; its row is the first one.
    pub(crate) fn repeated(name: &Arc<str>, len: usize) -> Self {
        let rows = Arc::new(FxHashMap::from_iter([(Arc::clone(name), Row(0))]));
        Self { rows, names: Column::filled(len, name), order: Arc::default() }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The row of a node.
    pub(crate) fn row(&self, name: &str) -> Option<Row> {
        self.rows.get(name).copied()
    }

    /// The name of the node in a row; `None` past the last row.
    pub(crate) fn name(&self, row: Row) -> Option<&Arc<str>> {
        self.names.get(row)
    }

    /// Names of the nodes, by row.
    pub(crate) fn names(&self) -> &Column<Arc<str>> {
        &self.names
    }

    /// All rows in the order of names.
    pub(crate) fn rows_by_name(&self) -> Arc<[Row]> {
        Arc::clone(self.node_names().by_name())
    }

    /// All names, in their order.
    pub(crate) fn node_names(&self) -> &NodeNames {
        self.order.get_or_init(|| NodeNames(Arc::new(NameOrder::new(&self.rows, &self.names))))
    }

    /// Appends a row for a node of this name, and returns it.
    pub(crate) fn push(&mut self, name: &Arc<str>) -> Row {
        // A cluster never comes near 2^32 nodes; a row past that would shadow the last one.
        let row = Row(u32::try_from(self.len()).unwrap_or(u32::MAX));
        Arc::make_mut(&mut self.rows).insert(Arc::clone(name), row);
        self.order = Arc::default();
        self.names.push(Arc::clone(name));
        row
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        let rows = Arc::make_mut(&mut self.rows);
        if let Some(name) = self.names.get(row) {
            rows.remove(name);
        }
        self.order = Arc::default();
        self.names.swap_remove(row);
        if let Some(moved) = self.names.get(row) {
            rows.insert(Arc::clone(moved), row);
        }
    }

    /// Repairs the row under the name of the node in it.
    pub(crate) fn repair(&mut self, row: Row, report: &mut DriftReport) {
        let held = self.row(report.node());
        if report.differs(|| "row".to_owned(), &held, &Some(row)) {
            Arc::make_mut(&mut self.rows).insert(Arc::clone(report.node()), row);
            self.order = Arc::default();
        }
    }
}
