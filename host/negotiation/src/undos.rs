//! Deallocations that their parties have not confirmed: until when each is waited for, and what a party that attends again is told again.
//! Start at [`Undos`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use crate::message::{CallId, Deallocate};
use crate::request::{ClaimUid, Owner};

/// A deallocation that its party has not confirmed.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) party: Arc<str>,
    pub(crate) claims: Vec<ClaimUid>,
    pub(crate) until: Instant,
    /// Who opened the negotiation.
    pub(crate) owner: Owner,
}

/// Deallocations that are not confirmed, by call, by deadline and by party.
#[derive(Debug, Default)]
pub(crate) struct Undos {
    all: BTreeMap<CallId, Undo>,
    ends: BTreeSet<(Instant, CallId)>,
    by_party: BTreeMap<Arc<str>, BTreeSet<CallId>>,
    /// Parties that are told theirs again.
    repeats: BTreeMap<Arc<str>, Repeat>,
}

/// How far a party has been told again.
#[derive(Debug)]
struct Repeat {
    since: Instant,
    /// The last of which it has been told.
    after: Option<CallId>,
}

impl Undos {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, id: CallId) -> Option<&Undo> {
        self.all.get(&id)
    }

    pub(crate) fn add(&mut self, id: CallId, undo: Undo) {
        self.ends.insert((undo.until, id));
        self.by_party.entry(undo.party.clone()).or_default().insert(id);
        self.all.insert(id, undo);
    }

    pub(crate) fn remove(&mut self, id: CallId) -> Option<Undo> {
        let undo = self.all.remove(&id)?;
        self.ends.remove(&(undo.until, id));
        if let Some(ids) = self.by_party.get_mut(&undo.party) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_party.remove(&undo.party);
                self.repeats.remove(&undo.party);
            }
        }
        Some(undo)
    }

    /// One that is not waited for any more.
    pub(crate) fn due(&self, now: Instant) -> Option<CallId> {
        self.ends.first().filter(|(until, _)| *until <= now).map(|(_, id)| *id)
    }

    /// When something is due here.
    pub(crate) fn next(&self) -> Option<Instant> {
        let end = self.ends.first().map(|(until, _)| *until);
        self.repeats.values().map(|repeat| repeat.since).chain(end).min()
    }

    /// A party has a new stream, and is told all of its deallocations again.
    pub(crate) fn repeat(&mut self, party: &Arc<str>, now: Instant) {
        if self.by_party.contains_key(party) {
            self.repeats.insert(party.clone(), Repeat { since: now, after: None });
        }
    }

    /// The next that parties are told again, at most so many: those of each party in turn.
    pub(crate) fn next_repeated(&mut self, most: usize) -> Vec<(Arc<str>, Deallocate)> {
        let mut next = Vec::new();
        let share = most.checked_div(self.repeats.len()).unwrap_or(0).max(1);
        self.repeats.retain(|party, repeat| {
            let Some(ids) = self.by_party.get(party) else { return false };
            let begin = repeat.after.map_or(Bound::Unbounded, Bound::Excluded);
            let before = next.len();
            for id in ids.range((begin, Bound::Unbounded)).take(share) {
                let claims = self.all.get(id).map(|undo| undo.claims.clone()).unwrap_or_default();
                next.push((party.clone(), Deallocate { id: *id, claims }));
                repeat.after = Some(*id);
            }
            next.len() - before == share
        });
        next
    }
}
