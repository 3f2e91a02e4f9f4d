//! The preferred affinity and anti-affinity terms of the pod, parsed as kube-scheduler parses them. Start at [`Preferred::for_pod`].
//!
//! `matchLabelKeys` and `mismatchLabelKeys` are ignored: the API server merges them into the selector when the pod is created, and
//! kube-scheduler relies on that.

use nodesift_sdk::columns::cluster_pods::PodSelector;
use nodesift_sdk::columns::{pod_affinity, pod_labels, pod_preferred_affinity};
use nodesift_sdk::label_selector::Selector;

use crate::args::Switches;

/// A preferred term, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// Points of each matching pod, negative of anti-affinity.
    pub(crate) weight: i64,
    pub(crate) topology_key: String,
    /// The other pods; none where no pod can match.
    pub(crate) pods: Option<PodSelector>,
}

/// All preferred terms of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Preferred {
    pub(crate) terms: Vec<Term>,
}

impl Preferred {
    /// Parses the terms of the pod being scored.
    ///
    /// # Errors
    ///
    /// The error text of Kubernetes for the first invalid selector of each list.
    pub(crate) fn for_pod(switches: Switches) -> Result<Self, String> {
        let lists = [
            ("preferredAffinityTerms", pod_preferred_affinity::affinity(), 1),
            ("preferredAntiAffinityTerms", pod_preferred_affinity::anti_affinity(), -1),
        ];
        let (mut terms, mut errors) = (Vec::new(), Vec::new());
        for (list, written, sign) in lists {
            let read = written.into_iter().map(|(weight, term)| read(sign * i64::from(weight), term, switches));
            match read.collect::<Result<Vec<Term>, String>>() {
                Ok(read) => terms.extend(read),
                Err(error) => errors.push(format!("{list}: {error}")),
            }
        }
        match errors.as_slice() {
            [] => Ok(Self { terms }),
            [error] => Err(error.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }
}

fn read(weight: i64, term: pod_affinity::Term, switches: Switches) -> Result<Term, String> {
    let selector = Selector::read(term.selector)?;
    let mut namespaces = term.namespaces;
    if namespaces.is_empty() && term.namespace_selector.is_none() {
        namespaces.push(pod_labels::namespace());
    }
    let mut by_labels = Selector::read(term.namespace_selector)?;
    // The filter has the same rule for the pod's required terms, with its reason.
    if switches.namespace_selector_merge && by_labels.matches(|_| None::<&str>) {
        by_labels = Selector::All(Vec::new());
    }
    Ok(Term { weight, topology_key: term.topology_key, pods: selector.pods_of(namespaces, &by_labels) })
}
