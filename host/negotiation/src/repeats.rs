//! Calls that a party is told again once it has a new stream, step by step. Start at [`Repeats::take`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use crate::message::CallId;

/// Calls by party, and how far each party with a new stream has been told them again.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    calls: BTreeMap<Arc<str>, BTreeSet<CallId>>,
    begun: BTreeMap<Arc<str>, Repeat>,
}

/// How far a party has been told again.
#[derive(Debug)]
struct Repeat {
    since: Instant,
    /// The last of which it has been told.
    after: Option<CallId>,
}

impl Repeats {
    pub(crate) fn add(&mut self, party: &Arc<str>, call: CallId) {
        self.calls.entry(party.clone()).or_default().insert(call);
    }

    /// Number of calls of a party.
    pub(crate) fn by_party(&self, party: &str) -> usize {
        self.calls.get(party).map_or(0, BTreeSet::len)
    }

    pub(crate) fn remove(&mut self, party: &Arc<str>, call: CallId) {
        if let Some(calls) = self.calls.get_mut(party) {
            calls.remove(&call);
            if calls.is_empty() {
                self.calls.remove(party);
                self.begun.remove(party);
            }
        }
    }

    /// A party has a new stream, and is told all of its calls again.
    pub(crate) fn begin(&mut self, party: &Arc<str>, now: Instant) {
        if self.calls.contains_key(party) {
            self.begun.insert(party.clone(), Repeat { since: now, after: None });
        }
    }

    /// When something is due here.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.begun.values().map(|repeat| repeat.since).min()
    }

    /// The next calls that parties are told again, at most so many: those of each party in turn.
    pub(crate) fn take(&mut self, most: usize) -> Vec<(Arc<str>, CallId)> {
        let mut next = Vec::new();
        let share = most.checked_div(self.begun.len()).unwrap_or(0).max(1);
        self.begun.retain(|party, repeat| {
            let Some(calls) = self.calls.get(party) else { return false };
            let begin = repeat.after.map_or(Bound::Unbounded, Bound::Excluded);
            let before = next.len();
            for call in calls.range((begin, Bound::Unbounded)).take(share) {
                next.push((party.clone(), *call));
                repeat.after = Some(*call);
            }
            next.len() - before == share
        });
        next
    }
}
