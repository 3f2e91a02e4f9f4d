//! Node selectors: `spec.nodeSelector`, required node affinity, and the node affinity of volumes.
//!
//! [`NodeSelector`] parses terms as Kubernetes does. [`Matcher`] compares them with columns: it sets a bit in the
//! pattern of every row that does not match. [`RequiredAffinity`] combines the node selector and the required terms of
//! a pod.

mod matcher;
mod term;

pub use matcher::Matcher;
pub use term::{NAME_FIELD, NodeSelector};

use crate::columns::pod_placement::{self, Term};

/// The entries of a pod's node selector and the terms of its required node affinity. A node must match all entries and
/// at least one term. `GetRequiredNodeAffinity` in k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredAffinity {
    labels: Vec<(String, String)>,
    terms: Option<NodeSelector>,
}

impl RequiredAffinity {
    /// From the entries of a node selector, and the terms as written; none where there is no required affinity.
    #[must_use]
    pub fn new(labels: Vec<(String, String)>, terms: Option<Vec<Term>>) -> Self {
        Self { labels, terms: terms.map(NodeSelector::lenient) }
    }

    /// The requirements of the pod being filtered.
    #[must_use]
    pub fn for_pod() -> Self {
        Self::new(pod_placement::node_selector(), pod_placement::required_terms())
    }

    /// Whether it matches every node because there are no requirements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.terms.is_none()
    }
}
