//! The node index: which node is in which row. A client that keeps it reads bitmaps over rows without names beside them.
//!
//! A state of the index is identified by the cache's [`Epoch`] and by the generation in which the index last changed.

use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::columns::{Column, DriftReport, Row};

/// Identifies a cache, one per process: rows and generations of one cache mean nothing in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(pub NonZero<u64>);

impl Epoch {
    /// A random epoch.
    pub(crate) fn random() -> Self {
        Self(NonZero::new(fastrand::u64(1..)).unwrap_or(NonZero::<u64>::MIN))
    }
}

/// The names of all nodes of a snapshot, apart from the snapshot: a response that is still being sent holds no other column.
#[derive(Debug, Clone, Default)]
pub struct NodeNames {
    names: Column<Arc<str>>,
    order: NameOrder,
}

impl NodeNames {
    /// The name of the node in a row; empty past the last row.
    pub fn get(&self, row: Row) -> &str {
        self.names.get(row).map_or("", |name| name)
    }

    /// All rows in the order of names.
    pub fn by_name(&self) -> &Arc<[Row]> {
        &self.order.rows
    }

    /// Whether no name has a quote, a backslash or a control character, so that each is its own text in JSON. Every name that an
    /// API server takes is; looking at each byte again takes longer than copying it.
    pub fn are_plain(&self) -> bool {
        self.order.is_plain
    }
}

/// What all names together determine.
#[derive(Debug, Clone, Default)]
struct NameOrder {
    /// Rows in the order of names.
    rows: Arc<[Row]>,
    is_plain: bool,
}

impl NameOrder {
    fn of(nodes: &FxHashMap<Arc<str>, Row>) -> Self {
        let mut named: Vec<(&Arc<str>, Row)> = nodes.iter().map(|(name, row)| (name, *row)).collect();
        named.sort_unstable();
        let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        let is_plain = !named.iter().any(|(name, _)| name.bytes().any(is_special));
        Self { rows: named.into_iter().map(|(_, row)| row).collect(), is_plain }
    }
}

/// Names by row, and rows by name. Rows stay dense: the last row moves into the place of a removed one.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeIndex {
    rows: Arc<FxHashMap<Arc<str>, Row>>,
    names: Column<Arc<str>>,
    /// Found on first use after nodes came or went.
    order: Arc<OnceLock<NameOrder>>,
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

    /// Names by row.
    pub(crate) fn names(&self) -> &Column<Arc<str>> {
        &self.names
    }

    /// All rows in the order of names.
    pub(crate) fn rows_by_name(&self) -> Arc<[Row]> {
        Arc::clone(&self.order().rows)
    }

    /// All names, and their order.
    pub(crate) fn node_names(&self) -> NodeNames {
        NodeNames { names: self.names.clone(), order: self.order().clone() }
    }

    fn order(&self) -> &NameOrder {
        self.order.get_or_init(|| NameOrder::of(&self.rows))
    }

    /// Appends a row.
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
