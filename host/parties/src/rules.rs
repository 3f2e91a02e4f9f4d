//! Claims of a pod as negotiation sees them, beyond the answers of the engine. Start at [`claims`]; who else uses them is in [`Uses`].

use std::sync::Arc;

use nodesift_cache::metadata::{ClaimRecord, ClaimReference, PodRecord};
use nodesift_cache::{PodIndex, Snapshot};
use nodesift_negotiation::{ClaimState, ClaimUid};
use rustc_hash::{FxHashMap, FxHashSet};

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
        key(&self.namespace, &self.name)
    }
}

/// The claims that a pod names, each once, as far as they exist.
pub(super) fn claims(snapshot: &Snapshot, pod: &PodRecord) -> Vec<ClaimName> {
    let mut found: Vec<ClaimName> = Vec::new();
    for name in names(pod) {
        let Some(record) = snapshot.claims().claim(&key(&pod.namespace, name)) else { continue };
        if found.iter().all(|known| known.uid != record.uid) {
            let [uid, namespace, name] = [&record.uid, &record.namespace, &record.name].map(Arc::clone);
            found.push(ClaimName { uid, namespace, name });
        }
    }
    found
}

/// The names of the claims of a pod, as far as they are known.
fn names(pod: &PodRecord) -> impl Iterator<Item = &Arc<str>> {
    let entries = pod.facts.claims.iter().flat_map(|claims| claims.named.iter());
    entries.filter_map(|entry| match &entry.claim {
        ClaimReference::Named(name) | ClaimReference::Made(name) => Some(name),
        ClaimReference::NotMade | ClaimReference::NotNeeded | ClaimReference::Unknown => None,
    })
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

/// Pods that use claims beside those which have ended, or are on their way to them.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The claims, by UID.
    records: FxHashMap<Arc<str>, Arc<ClaimRecord>>,
    /// `namespace/name` of those that pods on nodes name, bound or assumed there.
    named: FxHashSet<String>,
}

impl Uses {
    /// Uses of what pods have held that have ended by now, and are not in the cache. Looks through all claims, and through all pods for claims
    /// that others can have; each once.
    pub(super) fn find(pods: &PodIndex, snapshot: &Snapshot, ended: &[(Arc<str>, Vec<ClaimUid>)]) -> Self {
        let held: FxHashSet<&ClaimUid> = ended.iter().flat_map(|(_, claims)| claims).collect();
        if held.is_empty() {
            return Self::default();
        }
        let of_held = snapshot.claims().all().filter(|record| held.contains(&record.uid));
        let records: FxHashMap<_, _> = of_held.map(|record| (Arc::clone(&record.uid), Arc::clone(record))).collect();
        let ended: FxHashSet<&Arc<str>> = ended.iter().map(|(pod, _)| pod).collect();
        // One that was made for a pod alone goes with it.
        let may_be_named = |record: &&Arc<ClaimRecord>| {
            record.controller_uid.as_ref().is_none_or(|controller| !ended.contains(controller))
        };
        let wanted: FxHashSet<String> =
            records.values().filter(may_be_named).map(|record| key(&record.namespace, &record.name)).collect();
        let mut named = FxHashSet::default();
        if !wanted.is_empty() {
            for pod in pods.all().iter().filter(|pod| pod.node_name.is_some()) {
                named.extend(names(pod).map(|name| key(&pod.namespace, name)).filter(|key| wanted.contains(key)));
            }
        }
        Self { records, named }
    }

    /// Whether a claim is reserved for others than a pod, or one on a node names it.
    pub(super) fn is_used_by_others(&self, claim: &str, pod_uid: &str) -> bool {
        self.is_named(claim) || self.records.get(claim).is_some_and(|record| is_shared(record, pod_uid))
    }

    /// Whether a pod on a node names a claim, which may not be reserved for it yet.
    pub(super) fn is_named(&self, claim: &str) -> bool {
        let record = self.records.get(claim);
        record.is_some_and(|record| self.named.contains(&key(&record.namespace, &record.name)))
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}
