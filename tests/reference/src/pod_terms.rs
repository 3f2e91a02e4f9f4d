//! Terms of pod affinity and anti-affinity, and which pods they match.
//!
//! Source: kube-scheduler `framework/types.go`. With the switch `NamespaceSelectorMerge` the namespace selector of a term of the
//! incoming pod stays beside the names of the namespaces that it matches, and is matched against no labels: then it matches every
//! namespace. A namespace without an object has no labels for the terms of existing pods; the selector of an incoming pod is only
//! matched against existing objects, unless it selects everything.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{at, is_set, labels, list, name, namespace, text, texts};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::selector::Selector;

/// A term of pod affinity or anti-affinity.
pub(crate) struct Term {
    namespaces: Vec<String>,
    namespace_selector: Selector,
    selector: Selector,
    pub(crate) topology_key: String,
    /// The weight of a preferred term; 0 for a required one.
    pub(crate) weight: i64,
}

impl Term {
    /// Whether the term of one pod matches another pod.
    pub(crate) fn matches(&self, cluster: &Cluster, pod: &Value) -> bool {
        let in_namespace = self.namespaces.iter().any(|name| name == namespace(pod))
            || self.namespace_selector.matches(namespace_labels(cluster, namespace(pod)));
        in_namespace && self.selector.matches(labels(pod))
    }
}

/// The labels of a namespace; `Null` where there is no such object.
fn namespace_labels<'a>(cluster: &'a Cluster, name: &str) -> &'a Value {
    cluster.get("Namespace", name).map_or(&Value::Null, labels)
}

/// The terms of a list, or the error of the first invalid one; `inner` is the field of an entry that has the term.
pub(crate) fn terms(pod: &Value, written: &[Value], inner: &str) -> Result<Vec<Term>, String> {
    let term = |entry: &Value| {
        let written = if inner.is_empty() { entry } else { at(entry, inner) };
        let selector = Selector::parse(at(written, "labelSelector"))?;
        let mut namespaces = texts(written, "namespaces");
        if namespaces.is_empty() && !is_set(written, "namespaceSelector") {
            namespaces.push(namespace(pod).to_owned());
        }
        let namespace_selector = Selector::parse(at(written, "namespaceSelector"))?;
        let weight = at(entry, "weight").as_i64().unwrap_or(0);
        let topology_key = text(written, "topologyKey").to_owned();
        Ok(Term { namespaces, namespace_selector, selector, topology_key, weight })
    };
    written.iter().map(term).collect()
}

/// Field of an entry of the preferred lists that has its term.
pub(crate) const PREFERRED_TERM: &str = "podAffinityTerm";

pub(crate) const AFFINITY: &str = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution";
pub(crate) const ANTI_AFFINITY: &str = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution";
pub(crate) const PREFERRED_AFFINITY: &str = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution";
pub(crate) const PREFERRED_ANTI_AFFINITY: &str =
    "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution";

/// The terms of an incoming pod, with namespace selectors replaced by the names of the matching namespaces.
pub(crate) fn incoming_terms(
    cluster: &Cluster,
    pod: &Value,
    path: &str,
    inner: &str,
    switches: &Switches,
) -> Vec<Term> {
    let mut terms = terms(pod, list(pod, path), inner).unwrap_or_default();
    for term in terms.iter_mut().filter(|term| !term.namespace_selector.is_everything()) {
        let selected = cluster.all("Namespace").filter(|namespace| term.namespace_selector.matches(labels(namespace)));
        term.namespaces.extend(selected.map(|namespace| name(namespace).to_owned()));
        let stays = switches.has("NamespaceSelectorMerge") && term.namespace_selector.matches(&Value::Null);
        term.namespace_selector = if stays { Selector::All(Vec::new()) } else { Selector::Nothing };
    }
    terms
}
