//! Deallocations that their parties have not confirmed: until when each keeps its claims in progress, and what a party that attends again is
//! told again, however long it was away. Start at [`Undos`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::message::{CallId, Deallocate};
use crate::repeats::Repeats;
use crate::request::{ClaimUid, Owner};

/// A deallocation that its party has not confirmed.
#[derive(Debug)]
pub(crate) struct Undo {
    /// UID of the pod for which it was allocated.
    pub(crate) pod: Arc<str>,
    pub(crate) party: Arc<str>,
    pub(crate) claims: Vec<ClaimUid>,
    /// Until when its claims are in progress, and it counts for its owner.
    pub(crate) until: Instant,
    /// Who gave up what was selected, for whom it counts as a negotiation. Nobody where a pod has ended, or an earlier process has left it:
    /// whoever negotiates is not to wait for that.
    pub(crate) owner: Option<Owner>,
}

/// Deallocations that are not confirmed, by call, by deadline, by pod and by party.
#[derive(Debug, Default)]
pub(crate) struct Undos {
    all: BTreeMap<CallId, Undo>,
    ends: BTreeSet<(Instant, CallId)>,
    by_pod: BTreeMap<Arc<str>, BTreeSet<CallId>>,
    repeats: Repeats,
}

impl Undos {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Number of those that a party has not confirmed.
    pub(crate) fn by_party(&self, party: &str) -> usize {
        self.repeats.by_party(party)
    }

    pub(crate) fn get(&self, id: CallId) -> Option<&Undo> {
        self.all.get(&id)
    }

    /// Deallocations for a pod.
    pub(crate) fn for_pod(&self, pod: &str) -> impl Iterator<Item = (CallId, &Undo)> {
        let ids = self.by_pod.get(pod).into_iter().flatten();
        ids.filter_map(|id| Some((*id, self.all.get(id)?)))
    }

    pub(crate) fn add(&mut self, id: CallId, undo: Undo) {
        self.ends.insert((undo.until, id));
        self.by_pod.entry(undo.pod.clone()).or_default().insert(id);
        self.repeats.add(&undo.party, id);
        self.all.insert(id, undo);
    }

    /// Removes one that is confirmed. The flag says whether it had kept its claims in progress until now.
    pub(crate) fn remove(&mut self, id: CallId) -> Option<(Undo, bool)> {
        let undo = self.all.remove(&id)?;
        let was_in_progress = self.ends.remove(&(undo.until, id));
        self.repeats.remove(&undo.party, id);
        if let Some(ids) = self.by_pod.get_mut(&undo.pod) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_pod.remove(&undo.pod);
            }
        }
        Some((undo, was_in_progress))
    }

    /// One whose claims are in progress no longer, with its owner and its claims. It is still told again until its party confirms it: what
    /// the party holds for a pod that is gone, nobody else gives back.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<(Option<Owner>, Vec<ClaimUid>)> {
        let (until, id) = self.ends.first().filter(|(until, _)| *until <= now).copied()?;
        self.ends.remove(&(until, id));
        self.all.get(&id).map(|undo| (undo.owner.clone(), undo.claims.clone()))
    }

    /// When something is due here.
    pub(crate) fn next(&self) -> Option<Instant> {
        let end = self.ends.first().map(|(until, _)| *until);
        self.repeats.next().into_iter().chain(end).min()
    }

    /// A party has a new stream, and is told all of its deallocations again.
    pub(crate) fn repeat(&mut self, party: &Arc<str>, now: Instant) {
        self.repeats.begin(party, now);
    }

    /// The next that parties are told again, at most so many: those of each party in turn.
    pub(crate) fn next_repeated(&mut self, most: usize) -> Vec<(Arc<str>, Deallocate)> {
        let deallocate =
            |id| Deallocate { id, claims: self.all.get(&id).map(|it| it.claims.clone()).unwrap_or_default() };
        self.repeats.take(most).into_iter().map(|(party, id)| (party, deallocate(id))).collect()
    }
}
