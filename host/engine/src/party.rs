//! The parties of a policy. Start at [`PolicyParty`]. Which parties decide about a pod is in `facts/parties`.

use std::sync::Arc;

use nodesift_cache::metadata::{self, Labels, PodSelector};
use nodesift_negotiation::{Party, Subject};
use nodesift_object as object;
use nodesift_object::selector::LabelSelector;

/// A party of the policy: what negotiations know of it, and whom and what it is about in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyParty {
    /// Its name, whom it decides about, what its answers are about, what its silence means.
    pub party: Party,
    /// The pods that it decides about, where [`Party::concern`] is [`Pods`](nodesift_negotiation::Concern::Pods).
    pub pods: PodSelector,
    /// `nodeSelector`: labels, sorted by key, that nodes have for which it decides; the others do not suit it. Empty: every node.
    pub nodes: Labels,
}

impl PolicyParty {
    /// A party, the pods that it decides about, of any namespace, and labels of the nodes for which it does. `None` where the selector has
    /// an operator that label selectors do not have.
    pub fn new(party: Party, pods: &LabelSelector, nodes: &object::Labels) -> Option<Self> {
        Some(Self { party, pods: PodSelector::everywhere(pods)?, nodes: metadata::labels(nodes) })
    }

    /// Whether its node selector matches a node with these labels.
    pub fn reaches(&self, labels: &Labels) -> bool {
        has_all(labels, &self.nodes)
    }
}

/// A party that decides about a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartySeat {
    /// Name of the party in the policy.
    pub party: Arc<str>,
    /// The object that the party's answers are about: the pod, its template or its claims.
    pub subject: Subject,
    /// Labels that nodes must have for the party to decide, as in [`PolicyParty::nodes`].
    pub(crate) nodes: Labels,
    /// Whether a node fits of which it says nothing.
    pub(crate) unknown_fits: bool,
}

impl PartySeat {
    /// Whether labels of nodes decide which nodes suit it.
    pub(crate) fn reads_labels(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Whether the party decides about a node with these labels.
    pub(crate) fn reaches(&self, labels: &Labels) -> bool {
        has_all(labels, &self.nodes)
    }
}

/// Whether labels have all of those wanted; both are sorted by key.
fn has_all(labels: &Labels, wanted: &Labels) -> bool {
    wanted.iter().all(|(key, value)| {
        let at = labels.binary_search_by(|(known, _)| known.cmp(key)).ok();
        at.and_then(|at| labels.get(at)).is_some_and(|(_, known)| known == value)
    })
}
