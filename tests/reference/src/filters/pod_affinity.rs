//! InterPodAffinity.
//!
//! Source: P/interpodaffinity/filtering.go, kube-scheduler `framework/types.go`. With the switch `NamespaceSelectorMerge` the
//! namespace selector of a term of the incoming pod stays beside the names of the namespaces that it matches, and is matched against no
//! labels: then it matches every namespace. A namespace without an object has no labels for the terms of existing pods;
//! the selector of an incoming pod is only matched against existing objects, unless it selects everything.

use std::collections::BTreeSet;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{at, is_set, label, labels, list, name, namespace, text, texts};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::outcome::{Code, Failure, Outcome};
use crate::selector::{Selector, aggregate};

/// Topology domains: label key and value.
type Domains = BTreeSet<(String, String)>;

/// A term of pod affinity or anti-affinity.
struct Term {
    namespaces: Vec<String>,
    namespace_selector: Selector,
    selector: Selector,
    topology_key: String,
}

impl Term {
    fn matches(&self, cluster: &Cluster, pod: &Value) -> bool {
        let in_namespace = self.namespaces.iter().any(|name| name == namespace(pod))
            || self.namespace_selector.matches(namespace_labels(cluster, namespace(pod)));
        in_namespace && self.selector.matches(labels(pod))
    }
}

/// The labels of a namespace; `Null` where there is no such object.
fn namespace_labels<'a>(cluster: &'a Cluster, name: &str) -> &'a Value {
    cluster.get("Namespace", name).map_or(&Value::Null, labels)
}

/// The terms of a list, or the error of the first invalid one.
fn terms(pod: &Value, written: &[Value], inner: &str) -> Result<Vec<Term>, String> {
    let term = |written: &Value| {
        let written = if inner.is_empty() { written } else { at(written, inner) };
        let selector = Selector::parse(at(written, "labelSelector"))?;
        let mut namespaces = texts(written, "namespaces");
        if namespaces.is_empty() && !is_set(written, "namespaceSelector") {
            namespaces.push(namespace(pod).to_owned());
        }
        let namespace_selector = Selector::parse(at(written, "namespaceSelector"))?;
        Ok(Term { namespaces, namespace_selector, selector, topology_key: text(written, "topologyKey").to_owned() })
    };
    written.iter().map(term).collect()
}

const AFFINITY: &str = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution";
const ANTI_AFFINITY: &str = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED_AFFINITY: &str = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution";
const PREFERRED_ANTI_AFFINITY: &str = "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution";

/// The terms of an incoming pod, with namespace selectors replaced by the names of the matching namespaces.
fn incoming_terms(cluster: &Cluster, pod: &Value, path: &str, switches: &Switches) -> Vec<Term> {
    let mut terms = terms(pod, list(pod, path), "").unwrap_or_default();
    for term in terms.iter_mut().filter(|term| !term.namespace_selector.is_everything()) {
        let selected = cluster.all("Namespace").filter(|namespace| term.namespace_selector.matches(labels(namespace)));
        term.namespaces.extend(selected.map(|namespace| name(namespace).to_owned()));
        let stays = switches.has("NamespaceSelectorMerge") && term.namespace_selector.matches(&Value::Null);
        term.namespace_selector = if stays { Selector::All(Vec::new()) } else { Selector::Nothing };
    }
    terms
}

/// The errors of all invalid terms of a pod as one text, preferred terms included.
fn parse_error(pod: &Value) -> Option<String> {
    let lists = [
        ("requiredAffinityTerms", AFFINITY, ""),
        ("requiredAntiAffinityTerms", ANTI_AFFINITY, ""),
        ("preferredAffinityTerms", PREFERRED_AFFINITY, "podAffinityTerm"),
        ("preferredAntiAffinityTerms", PREFERRED_ANTI_AFFINITY, "podAffinityTerm"),
    ];
    let errors: Vec<String> = lists
        .iter()
        .filter_map(|(name, path, inner)| Some(format!("{name}: {}", terms(pod, list(pod, path), inner).err()?)))
        .collect();
    (!errors.is_empty()).then(|| format!("parsing pod: {}", aggregate(&errors)))
}

pub(super) fn judge(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    if let Some(error) = parse_error(pod) {
        return Outcome::rejected(cluster.nodes(), &Failure::new(Code::UnschedulableAndUnresolvable, error));
    }
    let affinity = incoming_terms(cluster, pod, AFFINITY, switches);
    let anti_affinity = incoming_terms(cluster, pod, ANTI_AFFINITY, switches);
    let placed = cluster.placed_pods();

    // Those with at least one relevant pod.
    let mut with_affinity = Domains::new();
    let mut with_anti_affinity = Domains::new();
    let mut kept_by_existing = Domains::new();
    for (node, other) in &placed {
        let domain = |term: &Term| Some((term.topology_key.clone(), label(node, &term.topology_key)?.to_owned()));
        if !affinity.is_empty() && affinity.iter().all(|term| term.matches(cluster, other)) {
            with_affinity.extend(affinity.iter().filter_map(domain));
        }
        let repelled = anti_affinity.iter().filter(|term| term.matches(cluster, other));
        with_anti_affinity.extend(repelled.filter_map(domain));
        // An existing pod with an invalid term has no terms at all.
        let existing = terms(other, list(other, ANTI_AFFINITY), "").unwrap_or_default();
        kept_by_existing.extend(existing.iter().filter(|term| term.matches(cluster, pod)).filter_map(domain));
    }
    let is_first = with_affinity.is_empty() && affinity.iter().all(|term| term.matches(cluster, pod));

    Outcome::each_node(cluster.nodes(), |node| {
        let in_domain = |term: &Term, domains: &Domains| {
            let here = label(node, &term.topology_key);
            here.is_some_and(|here| domains.contains(&(term.topology_key.clone(), here.to_owned())))
        };
        let has_keys = affinity.iter().all(|term| label(node, &term.topology_key).is_some());
        let all_near = affinity.iter().all(|term| in_domain(term, &with_affinity));
        if !has_keys || !(all_near || is_first) {
            let reason = "node(s) didn't match pod affinity rules";
            return Some(Failure::new(Code::UnschedulableAndUnresolvable, reason));
        }
        if anti_affinity.iter().any(|term| in_domain(term, &with_anti_affinity)) {
            return Some(Failure::new(Code::Unschedulable, "node(s) didn't match pod anti-affinity rules"));
        }
        let kept = kept_by_existing.iter().any(|(key, value)| label(node, key) == Some(value));
        kept.then(|| Failure::new(Code::Unschedulable, "node(s) didn't satisfy existing pods anti-affinity rules"))
    })
}
