//! Fields of a policy's document that hold for the whole policy and need no module to be loaded. Start at [`PolicySettings`].

use std::sync::Arc;

use super::OnError;
use crate::party::PolicyParty;

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
    /// `onUnsupported`: the failure policy for pods that ask for what no predicate evaluates, such as resource claims.
    pub on_unsupported: OnError,
    /// `rollbackOnQuarantine`: whether the policy before becomes active again once a predicate is put in quarantine that it does not
    /// have.
    pub rollback_on_quarantine: bool,
}
