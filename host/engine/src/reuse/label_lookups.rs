//! The label values that a pointwise predicate has looked up, each with whether some node has it. `node-labels.code` returns
//! no code for a value that no node of the cluster has, so its result depends on all nodes, not only on the batch. A verdict
//! is valid only while its lookups have the same results. Start at [`LabelLookups`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::size::{SHARED, Size as _};
use nodesift_cache::Snapshot;

/// The values that one call has looked up so far, by label key.
#[derive(Debug, Default)]
pub(super) struct LabelLookups(FxHashMap<Arc<str>, FxHashMap<Arc<str>, bool>>);

impl LabelLookups {
    /// Whether the lookup is recorded.
    pub(super) fn contains(&self, key: &str, value: &str) -> bool {
        self.0.get(key).is_some_and(|values| values.contains_key(value))
    }

    /// Bytes that recording this lookup takes.
    pub(super) fn bytes_of(&self, key: &str, value: &str) -> usize {
        let key = if self.0.contains_key(key) { 0 } else { key.len() + SHARED };
        size_of::<LabelLookup>() + key + value.len() + SHARED
    }

    pub(super) fn insert(&mut self, key: &str, value: &str, exists: bool) {
        let values = match self.0.get_mut(key) {
            Some(values) => values,
            None => self.0.entry(Arc::from(key)).or_default(),
        };
        values.insert(Arc::from(value), exists);
    }
}

/// One looked up value of one label key, and whether some node has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LabelLookup {
    key: Arc<str>,
    value: Arc<str>,
    exists: bool,
}

impl LabelLookup {
    fn name(&self) -> (&str, &str) {
        (&self.key, &self.value)
    }
}

/// All lookups of a verdict, sorted by key and value.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedLookups(Arc<[LabelLookup]>);

impl From<LabelLookups> for RecordedLookups {
    fn from(lookups: LabelLookups) -> Self {
        let of_key = |(key, values): (Arc<str>, FxHashMap<Arc<str>, bool>)| {
            let value = move |(value, exists)| LabelLookup { key: Arc::clone(&key), value, exists };
            values.into_iter().map(value)
        };
        let mut values: Vec<LabelLookup> = lookups.0.into_iter().flat_map(of_key).collect();
        values.sort_unstable();
        Self(values.into())
    }
}

impl RecordedLookups {
    /// Whether all lookups have the same result in a snapshot.
    pub(super) fn hold(&self, snapshot: &Snapshot) -> bool {
        self.0.chunk_by(|a, b| a.key == b.key).all(|values| {
            let column = values.first().and_then(|first| snapshot.label_column(&first.key));
            let exists = |value: &str| column.as_ref().is_some_and(|column| column.dictionary().code(value).is_some());
            values.iter().all(|known| known.exists == exists(&known.value))
        })
    }

    /// The union with lookups made in the same snapshot.
    pub(super) fn with(&self, others: &Self) -> Self {
        let is_new = |other: &&LabelLookup| self.0.binary_search_by(|known| known.name().cmp(&other.name())).is_err();
        let new: Vec<&LabelLookup> = others.0.iter().filter(is_new).collect();
        if new.is_empty() {
            return self.clone();
        }
        let mut values: Vec<LabelLookup> = self.0.iter().chain(new).cloned().collect();
        values.sort_unstable();
        Self(values.into())
    }

    /// Whether both share one list.
    pub(super) fn is_same_list(&self, others: &Self) -> bool {
        Arc::ptr_eq(&self.0, &others.0)
    }

    /// Bytes of all lookups.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.0.chunk_by(|a, b| a.key == b.key).filter_map(<[LabelLookup]>::first);
        size_of_val(&*self.0)
            + SHARED
            + keys.map(|first| first.key.heap()).sum::<usize>()
            + self.0.iter().map(|known| known.value.heap()).sum::<usize>()
    }
}
