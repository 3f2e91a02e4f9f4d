//! The parties of a policy. Start at [`PolicyParty`]. Which parties decide about a pod is in `facts/parties`.

use std::sync::Arc;
use std::time::Duration;

use nodesift_cache::metadata::{self, Labels, PodSelector};
use nodesift_negotiation::{OnSilence, Party, Subject};
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
    /// Meaning of a node of which it has said nothing: `onUnknown` of the policy.
    pub on_unknown: OnUnknown,
    /// Time that it may take to allocate; `None` where the core says so.
    pub deadline: Option<Duration>,
}

/// Meaning of a node of which a party has said nothing, or nothing any more, for cores that do not negotiate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnknown {
    /// The node is rejected, and the pod waits for the party.
    #[default]
    Wait,
    /// A node fits of which the party has said nothing.
    Fit,
}

impl PolicyParty {
    /// A party, the pods that it decides about, of any namespace, and labels of the nodes for which it does. `None` where the selector has
    /// an operator that label selectors do not have.
    pub fn new(party: Party, pods: &LabelSelector, nodes: &object::Labels) -> Option<Self> {
        let (pods, nodes) = (PodSelector::everywhere(pods)?, metadata::labels(nodes));
        Some(Self { party, pods, nodes, on_unknown: OnUnknown::default(), deadline: None })
    }

    /// Sets the time that it may take to allocate; by default the core says so.
    #[must_use]
    pub fn with_deadline(self, deadline: Option<Duration>) -> Self {
        Self { deadline, ..self }
    }

    /// Sets the meaning of a node of which it has said nothing; by default the pod waits.
    #[must_use]
    pub fn with_on_unknown(self, on_unknown: OnUnknown) -> Self {
        Self { on_unknown, ..self }
    }

    /// Whether a node fits of which it has said nothing, where nobody negotiates. One that a negotiation ignores keeps nobody waiting.
    pub(crate) fn unknown_fits(&self) -> bool {
        self.on_unknown == OnUnknown::Fit || self.party.on_silence == OnSilence::Ignore
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
