//! ConfigMaps that policies list, with their entries. Start at [`ConfigMaps`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::metadata::{Labels, value_of};

/// Entries by `namespace/name`. A clone costs a reference count.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigMaps {
    by_key: Arc<BTreeMap<Arc<str>, Labels>>,
}

impl ConfigMaps {
    /// The value of an entry.
    pub(crate) fn entry(&self, config_map: &str, key: &str) -> Option<&Arc<str>> {
        self.by_key.get(config_map).and_then(|entries| value_of(entries, key))
    }

    /// Whether a ConfigMap is held with just these entries.
    pub(crate) fn holds(&self, config_map: &str, entries: &Labels) -> bool {
        self.by_key.get(config_map) == Some(entries)
    }

    /// Adds a ConfigMap, or replaces its entries; true where that changes something.
    pub(crate) fn insert(&mut self, config_map: &str, entries: &Labels) -> bool {
        let changes = !self.holds(config_map, entries);
        if changes {
            Arc::make_mut(&mut self.by_key).insert(Arc::from(config_map), Arc::clone(entries));
        }
        changes
    }

    /// Removes a ConfigMap; true where there was one.
    pub(crate) fn remove(&mut self, config_map: &str) -> bool {
        self.by_key.contains_key(config_map) && Arc::make_mut(&mut self.by_key).remove(config_map).is_some()
    }
}
