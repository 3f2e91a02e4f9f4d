//! Labels and amounts as the cache keeps them: lists of texts with values, sorted by text.

use std::sync::Arc;

use crate::limits::CONFIG_ENTRY_BYTES;
use nodesift_object as object;

/// Keys and values of labels or of a node selector, sorted by key.
pub type Labels = Arc<[(Arc<str>, Arc<str>)]>;

/// Amounts by resource name, sorted by name: `cpu` in millicores, everything else in whole units (bytes, devices).
pub type Amounts = Vec<(Arc<str>, i64)>;

/// Labels as the cache keeps them.
pub fn labels(labels: &object::Labels) -> Labels {
    labels.iter().map(|(key, value)| (Arc::from(key), Arc::from(value.as_str()))).collect()
}

/// The entries of a ConfigMap as the cache keeps them, without those that are too long.
pub fn config_entries(data: &object::Labels) -> Labels {
    let kept = data.iter().filter(|(_, value)| value.len() <= CONFIG_ENTRY_BYTES);
    kept.map(|(key, value)| (Arc::from(key), Arc::from(value.as_str()))).collect()
}

/// The annotations with these keys, which are sorted.
pub(super) fn selected(annotations: &object::Labels, keys: &[String]) -> Labels {
    if keys.is_empty() || annotations.is_empty() {
        return Labels::default();
    }
    let is_selected = |key: &str| keys.binary_search_by(|known| known.as_str().cmp(key)).is_ok();
    let selected = annotations.iter().filter(|(key, _)| is_selected(key));
    selected.map(|(key, value)| (Arc::from(key), Arc::from(value.as_str()))).collect()
}

/// The value of a key.
pub(crate) fn value_of<'a>(labels: &'a Labels, key: &str) -> Option<&'a Arc<str>> {
    let at = labels.binary_search_by(|(known, _)| known.as_ref().cmp(key)).ok()?;
    labels.get(at).map(|(_, value)| value)
}

/// The amount of a resource; 0 where it is not listed.
pub(crate) fn amount_of(amounts: &Amounts, resource: &str) -> i64 {
    let at = amounts.binary_search_by(|(known, _)| known.as_ref().cmp(resource));
    at.ok().and_then(|at| amounts.get(at)).map_or(0, |(_, amount)| *amount)
}
