//! Which nodes a selector selects: `spec.nodeSelector`, required node affinity, the node affinity of volumes.
//!
//! [`NodeSelector`] reads terms as Kubernetes does. [`Matcher`] compares them with columns: it sets a bit in the
//! pattern of every row that does not match. [`RequiredAffinity`] is all that a pod asks of nodes in this way.

mod matcher;
mod term;

pub use matcher::Matcher;
pub use term::{NAME_FIELD, NodeSelector};

use crate::columns::pod_placement::{self, Term};

/// What a pod asks of its node: the entries of its node selector, and one of the terms of its required node affinity.
/// `GetRequiredNodeAffinity` in k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredAffinity {
    labels: Vec<(String, String)>,
    terms: Option<NodeSelector>,
}

impl RequiredAffinity {
    /// From the entries of a node selector, and the terms as written; none is no required affinity.
    #[must_use]
    pub fn new(labels: Vec<(String, String)>, terms: Option<Vec<Term>>) -> Self {
        Self { labels, terms: terms.map(NodeSelector::lenient) }
    }

    /// Of the pod being filtered.
    #[must_use]
    pub fn of_pod() -> Self {
        Self::new(pod_placement::node_selector(), pod_placement::required_terms())
    }

    /// Whether every node will do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.terms.is_none()
    }
}
