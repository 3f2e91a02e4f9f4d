//! Which pods of the fixture selectors and affinity terms match.

use std::collections::BTreeMap;

use super::cluster::Cluster;
use super::pod::Pod;
use crate::columns::cluster_pods::PodSelector;
use crate::columns::pod_affinity;
use crate::columns::selectors::{LabelSelector, Requirement};
use crate::label_selector::Selector;

impl Cluster {
    /// Whether a pod on a node matches all selectors. One that is being deleted does only where `terminating` is true.
    pub(super) fn counts(&self, pod: &Pod, selectors: &[PodSelector], terminating: bool) -> bool {
        let namespace = self.namespaces.get(&pod.namespace);
        (terminating || !pod.terminating) && selectors.iter().all(|selector| self.selects(selector, pod, namespace))
    }

    /// Whether a pod matches a selector, by its namespace and its labels. `namespace` holds the labels of the Namespace
    /// object; none where there is no object.
    pub(super) fn selects(
        &self,
        selector: &PodSelector,
        pod: &Pod,
        namespace: Option<&BTreeMap<String, String>>,
    ) -> bool {
        let by_labels = selector
            .namespace_requirements
            .as_ref()
            .is_some_and(|all| all.is_empty() || namespace.is_some_and(|namespace| meets(all, namespace)));
        (selector.namespaces.contains(&pod.namespace) || by_labels) && meets(&selector.requirements, &pod.labels)
    }

    /// The topology keys of those of the terms of a pod on a node that match the pod being filtered, with duplicates. As in
    /// kube-scheduler, none of the terms counts where one of them is invalid.
    pub(super) fn matching_keys<'a>(&self, owner: &Pod, terms: &'a [pod_affinity::Term]) -> Vec<&'a str> {
        let matched: Result<Vec<bool>, String> = terms.iter().map(|term| self.term_matches(owner, term)).collect();
        let terms = terms.iter().zip(matched.unwrap_or_default()).filter(|(_, matches)| *matches);
        terms.map(|(term, _)| term.topology_key.as_str()).collect()
    }

    /// The weights and topology keys of the preferred terms of a pod on a node that match the pod being filtered, those of
    /// anti-affinity with negative weights.
    pub(super) fn matching_preferred<'a>(&self, owner: &'a Pod) -> Vec<(i64, &'a str)> {
        let matching = |terms: &'a [(i32, pod_affinity::Term)], sign: i64| {
            let matched: Result<Vec<bool>, String> =
                terms.iter().map(|(_, term)| self.term_matches(owner, term)).collect();
            let terms = terms.iter().zip(matched.unwrap_or_default()).filter(|(_, matches)| *matches);
            terms.map(move |((weight, term), _)| (sign * i64::from(*weight), term.topology_key.as_str()))
        };
        matching(&owner.preferred_affinity, 1).chain(matching(&owner.preferred_anti_affinity, -1)).collect()
    }

    /// Whether a term of a pod on a node matches the pod being filtered.
    fn term_matches(&self, owner: &Pod, term: &pod_affinity::Term) -> Result<bool, String> {
        let read = |selector: &Option<LabelSelector>| Selector::read(selector.clone());
        let mut namespaces = term.namespaces.clone();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.push(owner.namespace.clone());
        }
        let selector = read(&term.selector)?.pods_of(namespaces, &read(&term.namespace_selector)?);
        // In this direction kube-scheduler treats a namespace without an object as one without labels.
        let no_labels = BTreeMap::new();
        let namespace = self.namespaces.get(&self.pod.namespace).unwrap_or(&no_labels);
        Ok(selector.is_some_and(|selector| self.selects(&selector, &self.pod, Some(namespace))))
    }
}

/// Whether labels meet all requirements.
fn meets(requirements: &[Requirement], labels: &BTreeMap<String, String>) -> bool {
    Selector::All(requirements.to_vec()).matches(|key| labels.get(key))
}
