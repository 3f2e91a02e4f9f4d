//! What is compiled of nodes and pods for some policies alone: no other pays for it. Start at [`Selection`].

use std::collections::BTreeSet;
use std::sync::Arc;

/// What predicates read of nodes and pods beyond what is compiled for every policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Keys of annotations, sorted, each once.
    pub annotation_keys: Arc<[String]>,
    /// Whether what `pod-spec` alone shows is compiled.
    pub pod_spec: bool,
    /// Whether what `pod-owner` shows is compiled. With it, pods of different controllers have no facts in common.
    pub pod_owner: bool,
}

impl Selection {
    /// Annotations with these keys, which are sorted, and nothing else.
    pub fn annotations(keys: &[String]) -> Self {
        Self { annotation_keys: keys.into(), ..Self::default() }
    }

    /// Whether this has all of another one.
    pub fn covers(&self, other: &Self) -> bool {
        let has = |key: &String| self.annotation_keys.binary_search(key).is_ok();
        other.annotation_keys.iter().all(has)
            && (self.pod_spec || !other.pod_spec)
            && (self.pod_owner || !other.pod_owner)
    }

    /// All of both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let keys: BTreeSet<&String> = self.annotation_keys.iter().chain(&*other.annotation_keys).collect();
        Self {
            annotation_keys: keys.into_iter().cloned().collect(),
            pod_spec: self.pod_spec || other.pod_spec,
            pod_owner: self.pod_owner || other.pod_owner,
        }
    }

    /// The part that is compiled of nodes.
    #[must_use]
    pub fn of_nodes(&self) -> Self {
        Self { annotation_keys: Arc::clone(&self.annotation_keys), ..Self::default() }
    }
}
