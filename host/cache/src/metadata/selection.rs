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
    /// ConfigMaps that are followed, as `namespace/name`, sorted, each once.
    pub config_maps: Arc<[String]>,
}

impl Selection {
    /// Annotations with these keys, which are sorted, and nothing else.
    pub fn annotations(keys: &[String]) -> Self {
        Self { annotation_keys: keys.into(), ..Self::default() }
    }

    /// Whether this has all of another one.
    pub fn covers(&self, other: &Self) -> bool {
        has_all(&self.annotation_keys, &other.annotation_keys)
            && has_all(&self.config_maps, &other.config_maps)
            && (self.pod_spec || !other.pod_spec)
            && (self.pod_owner || !other.pod_owner)
    }

    /// All of both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            annotation_keys: merged(&self.annotation_keys, &other.annotation_keys),
            pod_spec: self.pod_spec || other.pod_spec,
            pod_owner: self.pod_owner || other.pod_owner,
            config_maps: merged(&self.config_maps, &other.config_maps),
        }
    }

    /// The part that is compiled of nodes.
    #[must_use]
    pub fn of_nodes(&self) -> Self {
        Self { annotation_keys: Arc::clone(&self.annotation_keys), ..Self::default() }
    }

    /// The part that is compiled of pods.
    #[must_use]
    pub fn of_pods(&self) -> Self {
        Self { config_maps: Arc::default(), ..self.clone() }
    }

    /// The ConfigMaps alone.
    #[must_use]
    pub fn of_config_maps(&self) -> Self {
        Self { config_maps: Arc::clone(&self.config_maps), ..Self::default() }
    }
}

fn has_all(list: &[String], of: &[String]) -> bool {
    of.iter().all(|text| list.binary_search(text).is_ok())
}

fn merged(a: &Arc<[String]>, b: &Arc<[String]>) -> Arc<[String]> {
    if has_all(a, b) {
        return Arc::clone(a);
    }
    let texts: BTreeSet<&String> = a.iter().chain(&**b).collect();
    texts.into_iter().cloned().collect()
}
