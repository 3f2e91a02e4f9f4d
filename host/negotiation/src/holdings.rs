//! Allocations of pods that are bound, until these end. Start at [`Holdings`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::message::{Bound, CallId};
use crate::repeats::Repeats;
use crate::request::ClaimUid;

/// An allocation that one party holds for a bound pod.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    /// Id of the call to allocate.
    pub(crate) call: CallId,
    pub(crate) party: Arc<str>,
    pub(crate) claims: Vec<ClaimUid>,
}

/// All that is held, by pod and by party.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    by_pod: BTreeMap<Arc<str>, Vec<Holding>>,
    /// The pod of each call, for parties that are told again.
    pods: BTreeMap<CallId, Arc<str>>,
    repeats: Repeats,
}

impl Holdings {
    /// Number of calls whose allocations are held.
    pub(crate) fn len(&self) -> usize {
        self.pods.len()
    }

    /// Number of those that a party holds.
    pub(crate) fn by_party(&self, party: &str) -> usize {
        self.repeats.by_party(party)
    }

    /// Whether this call's allocation is held.
    pub(crate) fn has(&self, call: CallId) -> bool {
        self.pods.contains_key(&call)
    }

    /// Returns what is held for a pod.
    pub(crate) fn for_pod(&self, pod: &str) -> &[Holding] {
        self.by_pod.get(pod).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn add(&mut self, pod: &Arc<str>, holding: Holding) {
        self.repeats.add(&holding.party, holding.call);
        self.pods.insert(holding.call, pod.clone());
        // Most pods have one, and a list that grows has four places.
        let held = self.by_pod.entry(pod.clone()).or_default();
        held.reserve_exact(1);
        held.push(holding);
    }

    /// Removes what is held for a pod of claims that are over, and what is held for the pod itself.
    pub(crate) fn take(&mut self, pod: &Arc<str>, is_over: impl Fn(&[ClaimUid]) -> bool) -> Vec<Holding> {
        let Some(held) = self.by_pod.get_mut(pod) else { return Vec::new() };
        let taken: Vec<Holding> = held.extract_if(.., |holding| is_over(&holding.claims)).collect();
        if held.is_empty() {
            self.by_pod.remove(pod);
        }
        for holding in &taken {
            self.pods.remove(&holding.call);
            self.repeats.remove(&holding.party, holding.call);
        }
        taken
    }

    /// When something is due here.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.repeats.next()
    }

    /// A party has a new stream, and is told again what it holds.
    pub(crate) fn repeat(&mut self, party: &Arc<str>, now: Instant) {
        self.repeats.begin(party, now);
    }

    /// The next that parties are told again, at most so many: those of each party in turn.
    pub(crate) fn next_repeated(&mut self, most: usize) -> Vec<(Arc<str>, Bound)> {
        let bound = |(party, id): (Arc<str>, CallId)| {
            let pod = self.pods.get(&id)?;
            let held = self.by_pod.get(pod)?.iter().find(|holding| holding.call == id)?;
            Some((party, Bound { id, pod: pod.clone(), claims: held.claims.clone() }))
        };
        self.repeats.take(most).into_iter().filter_map(bound).collect()
    }
}
