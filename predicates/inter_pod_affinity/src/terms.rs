//! The required affinity and anti-affinity terms of the pod, parsed as kube-scheduler parses them. Preferred terms reject no
//! node, but an invalid one makes kube-scheduler reject the pod.
//!
//! `matchLabelKeys` and `mismatchLabelKeys` are ignored: the API server merges them into the selector when the pod is
//! created, and kube-scheduler relies on that.

use nodesift_sdk::columns::cluster_pods::PodSelector;
use nodesift_sdk::columns::{pod_affinity, pod_labels};
use nodesift_sdk::label_selector::Selector;

use crate::args::Switches;

/// A required affinity or anti-affinity term, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) topology_key: String,
    /// The other pods; none where no pod can match.
    pub(crate) pods: Option<PodSelector>,
}

/// All required terms of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) affinity: Vec<Term>,
    pub(crate) anti_affinity: Vec<Term>,
}

impl Terms {
    /// Parses the terms of the pod being filtered.
    ///
    /// # Errors
    ///
    /// The error text of Kubernetes for the first invalid selector of each list.
    pub(crate) fn for_pod(switches: Switches) -> Result<Self, String> {
        let mut errors = Vec::new();
        let mut parse =
            |list: &str, terms| read(list, terms, switches).map_err(|error| errors.push(error)).unwrap_or_default();
        let (preferred, preferred_anti) = pod_affinity::invalid_preferred();
        let affinity = parse("requiredAffinityTerms", pod_affinity::affinity());
        let anti_affinity = parse("requiredAntiAffinityTerms", pod_affinity::anti_affinity());
        parse("preferredAffinityTerms", preferred);
        parse("preferredAntiAffinityTerms", preferred_anti);
        match errors.as_slice() {
            [] => Ok(Self { affinity, anti_affinity }),
            [error] => Err(error.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }
}

/// Parses a list of terms. An error begins with the name of the list.
fn read(list: &str, terms: Vec<pod_affinity::Term>, switches: Switches) -> Result<Vec<Term>, String> {
    let terms = terms.into_iter().map(|term| read_term(term, switches));
    terms.collect::<Result<_, _>>().map_err(|error| format!("{list}: {error}"))
}

fn read_term(term: pod_affinity::Term, switches: Switches) -> Result<Term, String> {
    let selector = Selector::read(term.selector)?;
    let mut namespaces = term.namespaces;
    if namespaces.is_empty() && term.namespace_selector.is_none() {
        namespaces.push(pod_labels::namespace());
    }
    let mut by_labels = Selector::read(term.namespace_selector)?;
    // The namespaces are listed in a set that the term shares, but the selector that should give way to it stays, and is compared
    // with no labels.
    if switches.namespace_selector_merge && by_labels.matches(|_| None::<&str>) {
        by_labels = Selector::All(Vec::new());
    }
    Ok(Term { topology_key: term.topology_key, pods: selector.pods_of(namespaces, &by_labels) })
}
