//! Services and controllers by namespace: which selectors claim a pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::object::selector::LabelSelector;
use crate::object::{Kind, Workload};

/// Selectors by kind and name, of one namespace.
type Selectors = BTreeMap<(Kind, String), LabelSelector>;

/// All services and controllers. Cloning it costs a reference count.
#[derive(Debug, Clone, Default)]
pub struct Workloads {
    by_namespace: Arc<BTreeMap<String, Arc<Selectors>>>,
}

impl Workloads {
    /// Adds one, or replaces it; whether that changes anything.
    pub(super) fn apply(&mut self, workload: &Workload) -> bool {
        let key = (workload.kind, workload.metadata.name.clone());
        let namespace = &workload.metadata.namespace;
        let known = self.by_namespace.get(namespace).and_then(|selectors| selectors.get(&key));
        if known == Some(&workload.selector) {
            return false;
        }
        let selectors = Arc::make_mut(&mut self.by_namespace).entry(namespace.clone()).or_default();
        Arc::make_mut(selectors).insert(key, workload.selector.clone());
        true
    }

    /// Whether this is what is held under its kind and name.
    pub(super) fn holds(&self, workload: &Workload) -> bool {
        let metadata = &workload.metadata;
        let selectors = self.by_namespace.get(&metadata.namespace);
        selectors.and_then(|selectors| selectors.get(&(workload.kind, metadata.name.clone())))
            == Some(&workload.selector)
    }

    /// Removes one; whether it was there.
    pub(super) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) -> bool {
        let by_namespace = Arc::make_mut(&mut self.by_namespace);
        let Some(selectors) = by_namespace.get_mut(namespace) else { return false };
        Arc::make_mut(selectors).remove(&(kind, name.to_owned())).is_some()
    }

    /// The services of a namespace, by name, and their selectors.
    pub fn services(&self, namespace: &str) -> impl Iterator<Item = &LabelSelector> {
        let selectors = self.by_namespace.get(namespace).into_iter().flat_map(|selectors| selectors.iter());
        selectors.filter(|((kind, _), _)| *kind == Kind::Service).map(|(_, selector)| selector)
    }

    /// The selector of one controller.
    pub fn controller(&self, kind: Kind, namespace: &str, name: &str) -> Option<&LabelSelector> {
        self.by_namespace.get(namespace)?.get(&(kind, name.to_owned()))
    }
}
