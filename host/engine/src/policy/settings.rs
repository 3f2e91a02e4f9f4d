//! Fields of a policy's document that hold for the whole policy and need no module to be loaded. Start at [`PolicySettings`].

use std::sync::Arc;

use super::kubernetes::KubernetesVersion;
use super::{OnError, StaticPods};
use crate::party::PolicyParty;
use crate::unnamed::PolicyFact;

/// Fields of `spec` of a policy's document that evaluations read as they are. The document's reader fills it in, the active policy
/// has it, and every evaluation shares it: a new field is one here, and nobody copies it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolicySettings {
    /// `facts.annotations`: keys of the annotations that predicates may read, sorted by bytes, without duplicates. The cache may hold
    /// others too: those of a policy before.
    pub annotation_keys: Arc<[String]>,
    /// `facts.configMaps`: ConfigMaps whose entries predicates may read, as `namespace/name`, sorted, each once. The cache may hold
    /// others too.
    pub config_maps: Arc<[String]>,
    /// `parties`: external parties that say which nodes do not suit, in the order of the policy; at most
    /// [`PARTIES`](nodesift_negotiation::limits::PARTIES), each with a name of its own.
    pub parties: Arc<[PolicyParty]>,
    /// The version of Kubernetes whose verdicts it gives: `kubernetes`, `featureGates` and `quirks`, resolved.
    pub kubernetes: KubernetesVersion,
    /// `onUnsupported`: the failure policy for pods that ask for what no predicate evaluates, such as resource claims.
    pub on_unsupported: OnError,
    /// `preemption.static`: whether static pods may be victims of a preemption.
    pub static_pods: StaticPods,
    /// `rollbackOnQuarantine`: whether the policy before becomes active again once a predicate or scorer is put in quarantine that it does
    /// not have.
    pub rollback_on_quarantine: bool,
}

impl PolicySettings {
    /// Whether predicates may read a fact that has to be named.
    pub fn names(&self, fact: &PolicyFact) -> bool {
        match fact {
            PolicyFact::Annotation(key) => is_listed(&self.annotation_keys, key),
            PolicyFact::ConfigMap(name) => is_listed(&self.config_maps, name),
        }
    }

    /// Whether predicates may read an annotation.
    pub(crate) fn names_annotation(&self, key: &str) -> bool {
        is_listed(&self.annotation_keys, key)
    }

    /// Whether predicates may read a ConfigMap, given as `namespace/name`.
    pub(crate) fn names_config_map(&self, name: &str) -> bool {
        is_listed(&self.config_maps, name)
    }
}

/// Whether a sorted list has a text.
fn is_listed(list: &[String], text: &str) -> bool {
    list.binary_search_by(|known| known.as_str().cmp(text)).is_ok()
}
