//! Services and controllers by namespace, with their pod selectors. Start at [`Workloads`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_object::selector::LabelSelector;
use nodesift_object::{Kind, Workload};

/// Selectors by kind and name, of one namespace.
type Selectors = BTreeMap<(Kind, String), LabelSelector>;

/// All services and controllers. Cloning it costs a reference count.
#[derive(Debug, Clone, Default)]
pub struct Workloads {
    by_namespace: Arc<BTreeMap<String, Arc<Selectors>>>,
}

impl Workloads {
    /// Adds one, or replaces it; true where that changes something.
    pub(crate) fn apply(&mut self, workload: &Workload) -> bool {
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
    pub(crate) fn holds(&self, workload: &Workload) -> bool {
        let metadata = &workload.metadata;
        let selectors = self.by_namespace.get(&metadata.namespace);
        selectors.and_then(|selectors| selectors.get(&(workload.kind, metadata.name.clone())))
            == Some(&workload.selector)
    }

    /// Removes one; true where there was one.
    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) -> bool {
        let key = (kind, name.to_owned());
        // Looked up first: mutable access would copy what snapshots share.
        let Some(selectors) = self.by_namespace.get(namespace).filter(|selectors| selectors.contains_key(&key)) else {
            return false;
        };
        let is_last = selectors.len() == 1;
        let by_namespace = Arc::make_mut(&mut self.by_namespace);
        if is_last {
            by_namespace.remove(namespace);
        } else if let Some(selectors) = by_namespace.get_mut(namespace) {
            Arc::make_mut(selectors).remove(&key);
        }
        true
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

#[cfg(test)]
mod tests {
    use super::*;
    use nodesift_object::pod::Metadata;

    fn service(namespace: &str, name: &str) -> Workload {
        let metadata = Metadata { namespace: namespace.to_owned(), name: name.to_owned(), ..Metadata::default() };
        Workload { kind: Kind::Service, metadata, selector: LabelSelector::default() }
    }

    #[test]
    fn a_namespace_whose_last_workload_is_gone_leaves_nothing_behind() {
        let mut workloads = Workloads::default();
        for round in 0..100 {
            let namespace = format!("ns-{round}");
            assert!(workloads.apply(&service(&namespace, "a")) && workloads.apply(&service(&namespace, "b")));
            assert!(workloads.remove(Kind::Service, &namespace, "a"));
            assert!(workloads.holds(&service(&namespace, "b")) && !workloads.holds(&service(&namespace, "a")));
            assert!(workloads.remove(Kind::Service, &namespace, "b"));
        }
        assert_eq!(workloads.by_namespace.len(), 0);
    }

    #[test]
    fn to_remove_what_is_not_there_copies_nothing() {
        let mut workloads = Workloads::default();
        workloads.apply(&service("ns", "a"));
        let snapshot = workloads.clone();
        assert!(!workloads.remove(Kind::Service, "ns", "b") && !workloads.remove(Kind::Service, "other", "a"));
        assert!(!workloads.remove(Kind::StatefulSet, "ns", "a"));
        assert!(Arc::ptr_eq(&snapshot.by_namespace, &workloads.by_namespace));
    }
}
