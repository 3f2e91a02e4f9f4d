//! The values of labels, annotations and info that a pointwise predicate has looked up, each with whether some node has it.
//! `node-labels.code`, `node-annotations.code` and `node-info.code` have no code for a value that no node of the cluster has. So a lookup is a
//! fact about all nodes, whatever the batch is: a predicate may decide by it, and its verdict is valid only while the lookups
//! have the same result. Start at [`Lookups`].

use std::sync::Arc;

use nodesift_cache::{Generation, LabelColumn, NodeInterface};
use rustc_hash::FxHashMap;

use super::size::{SHARED, Size as _};
use crate::Context;

/// The columns of which values are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum LookupColumn {
    Labels,
    Annotations,
    Info,
}

impl LookupColumn {
    fn interface(self) -> NodeInterface {
        match self {
            Self::Labels => NodeInterface::Labels,
            Self::Annotations => NodeInterface::Annotations,
            Self::Info => NodeInterface::Info,
        }
    }

    fn column(self, context: &Context, key: &str) -> Option<Arc<LabelColumn>> {
        match self {
            Self::Labels => context.snapshot().label_column(key),
            Self::Annotations => context.annotations_of_nodes(key),
            Self::Info => context.snapshot().info_column(key),
        }
    }
}

/// Values that one call has looked up so far, by key.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    labels: FxHashMap<Arc<str>, FxHashMap<Arc<str>, bool>>,
    annotations: FxHashMap<Arc<str>, FxHashMap<Arc<str>, bool>>,
    info: FxHashMap<Arc<str>, FxHashMap<Arc<str>, bool>>,
}

impl Lookups {
    fn keys(&self, column: LookupColumn) -> &FxHashMap<Arc<str>, FxHashMap<Arc<str>, bool>> {
        match column {
            LookupColumn::Labels => &self.labels,
            LookupColumn::Annotations => &self.annotations,
            LookupColumn::Info => &self.info,
        }
    }

    /// Whether the lookup is recorded.
    pub(super) fn contains(&self, column: LookupColumn, key: &str, value: &str) -> bool {
        self.keys(column).get(key).is_some_and(|values| values.contains_key(value))
    }

    /// Bytes that one more takes.
    pub(super) fn bytes_of(&self, column: LookupColumn, key: &str, value: &str) -> usize {
        let key = if self.keys(column).contains_key(key) { 0 } else { key.len() + SHARED };
        size_of::<Lookup>() + key + value.len() + SHARED
    }

    pub(super) fn insert(&mut self, column: LookupColumn, key: &str, value: &str, exists: bool) {
        let keys = match column {
            LookupColumn::Labels => &mut self.labels,
            LookupColumn::Annotations => &mut self.annotations,
            LookupColumn::Info => &mut self.info,
        };
        let values = match keys.get_mut(key) {
            Some(values) => values,
            None => keys.entry(Arc::from(key)).or_default(),
        };
        values.insert(Arc::from(value), exists);
    }
}

/// One value of one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lookup {
    column: LookupColumn,
    key: Arc<str>,
    value: Arc<str>,
    exists: bool,
}

impl Lookup {
    fn name(&self) -> (LookupColumn, &str, &str) {
        (self.column, &self.key, &self.value)
    }

    fn is_same_key(&self, other: &Self) -> bool {
        self.column == other.column && self.key == other.key
    }
}

/// All lookups of a verdict, sorted by column, key and value.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedLookups(Arc<[Lookup]>);

impl From<Lookups> for RecordedLookups {
    fn from(lookups: Lookups) -> Self {
        let columns = [
            (LookupColumn::Labels, lookups.labels),
            (LookupColumn::Annotations, lookups.annotations),
            (LookupColumn::Info, lookups.info),
        ];
        let mut recorded = Vec::new();
        for (column, keys) in columns {
            for (key, values) in keys {
                let lookup = |(value, exists)| Lookup { column, key: Arc::clone(&key), value, exists };
                recorded.extend(values.into_iter().map(lookup));
            }
        }
        recorded.sort_unstable();
        Self(recorded.into())
    }
}

impl RecordedLookups {
    /// Whether all have the same result in a context. They had it at the generation `known`.
    pub(super) fn hold(&self, context: &Context, known: Generation) -> bool {
        self.0.chunk_by(Lookup::is_same_key).all(|lookups| {
            let Some(first) = lookups.first() else { return true };
            if context.snapshot().last_change(first.column.interface()) <= known {
                return true;
            }
            let column = first.column.column(context, &first.key);
            let exists = |value: &str| column.as_ref().is_some_and(|column| column.dictionary().code(value).is_some());
            lookups.iter().all(|known| known.exists == exists(&known.value))
        })
    }

    /// These and others made in the same snapshot.
    pub(super) fn with(&self, others: &Self) -> Self {
        let is_new = |other: &&Lookup| self.0.binary_search_by(|known| known.name().cmp(&other.name())).is_err();
        let new: Vec<&Lookup> = others.0.iter().filter(is_new).collect();
        if new.is_empty() {
            return self.clone();
        }
        let mut lookups: Vec<Lookup> = self.0.iter().chain(new).cloned().collect();
        lookups.sort_unstable();
        Self(lookups.into())
    }

    /// Whether both share one list.
    pub(super) fn is_same_list(&self, others: &Self) -> bool {
        Arc::ptr_eq(&self.0, &others.0)
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.0.chunk_by(Lookup::is_same_key).filter_map(<[Lookup]>::first);
        size_of_val(&*self.0)
            + SHARED
            + keys.map(|first| first.key.heap()).sum::<usize>()
            + self.0.iter().map(|known| known.value.heap()).sum::<usize>()
    }
}
