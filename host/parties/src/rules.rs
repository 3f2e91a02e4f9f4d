//! Claims of a pod as negotiation sees them, beyond the answers of the engine. Start at [`claims`].

use std::sync::Arc;

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::{ClaimRecord, ClaimReference, PodRecord};
use nodesift_engine::ActivePolicy;
use nodesift_negotiation::{ClaimState, OnSilence};

/// A claim of a pod, by which its changes are found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimName {
    pub(super) uid: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
}

impl ClaimName {
    /// Returns the claim as `namespace/name`.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The claims that a pod names, each once, as far as they exist.
pub(super) fn claims(snapshot: &Snapshot, pod: &PodRecord) -> Vec<ClaimName> {
    let mut found: Vec<ClaimName> = Vec::new();
    for entry in pod.facts.claims.iter().flat_map(|claims| claims.named.iter()) {
        let (ClaimReference::Named(name) | ClaimReference::Made(name)) = &entry.claim else { continue };
        let Some(record) = snapshot.claims().claim(&format!("{}/{name}", pod.namespace)) else { continue };
        if found.iter().all(|known| known.uid != record.uid) {
            let [uid, namespace, name] = [&record.uid, &record.namespace, &record.name].map(Arc::clone);
            found.push(ClaimName { uid, namespace, name });
        }
    }
    found
}

/// Whether a claim has been allocated, as the API server shows it.
pub(super) fn state(record: &ClaimRecord) -> ClaimState {
    if record.deleting {
        ClaimState::Deallocating
    } else if record.allocation.is_some() {
        ClaimState::Allocated
    } else {
        ClaimState::Unallocated
    }
}

/// Whether a claim is reserved for others than a pod.
pub(super) fn is_shared(record: &ClaimRecord, pod_uid: &str) -> bool {
    record.reserved_for.iter().any(|user| **user != *pod_uid)
}

/// Whether the candidates of a negotiation are the nodes that `Filter` has: no party's silence rejects any.
pub(super) fn candidates_are_filtered(policy: &ActivePolicy) -> bool {
    policy.settings.parties.iter().all(|party| party.party.on_silence != OnSilence::Reject)
}
