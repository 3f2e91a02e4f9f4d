//! Which pods of the fixture selectors and anti-affinity terms match.

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

    /// The topology keys of the anti-affinity terms of a pod on a node that match the pod being filtered, with
    /// duplicates. As in kube-scheduler, none of the pod's terms counts where one of them is invalid.
    pub(super) fn matching_term_keys<'a>(&self, owner: &'a Pod) -> Vec<&'a str> {
        let read = |selector: &Option<LabelSelector>| Selector::read(selector.clone());
        let matches = |term: &pod_affinity::Term| {
            let mut namespaces = term.namespaces.clone();
            if namespaces.is_empty() && term.namespace_selector.is_none() {
                namespaces.push(owner.namespace.clone());
            }
            let selector = read(&term.selector)?.pods_of(namespaces, &read(&term.namespace_selector)?);
            // In this direction kube-scheduler treats a namespace without an object as one without labels.
            let no_labels = BTreeMap::new();
            let namespace = self.namespaces.get(&self.pod.namespace).unwrap_or(&no_labels);
            Ok(selector.is_some_and(|selector| self.selects(&selector, &self.pod, Some(namespace))))
        };
        let matched: Result<Vec<bool>, String> = owner.anti_affinity.iter().map(matches).collect();
        let terms = owner.anti_affinity.iter().zip(matched.unwrap_or_default()).filter(|(_, matches)| *matches);
        terms.map(|(term, _)| term.topology_key.as_str()).collect()
    }
}

/// Whether labels meet all requirements.
fn meets(requirements: &[Requirement], labels: &BTreeMap<String, String>) -> bool {
    Selector::All(requirements.to_vec()).matches(|key| labels.get(key))
}
