//! Claims about which pods negotiate: who allocates them, who uses them, and what is being given back.

use std::collections::{BTreeMap, BTreeSet};

use crate::request::{Claim, ClaimState, ClaimUid, NegotiationId};

/// The claims of all negotiations, and those that are being deallocated.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    entries: BTreeMap<ClaimUid, Entry>,
}

#[derive(Debug)]
struct Entry {
    state: ClaimState,
    /// Whether it is reserved for other pods.
    shared: bool,
    /// The negotiations of pods that use it.
    pods: BTreeSet<NegotiationId>,
    /// Of these, the ones that are selected.
    selected: BTreeSet<NegotiationId>,
    /// The one that allocates it.
    holder: Option<NegotiationId>,
    /// Parties that have not confirmed that they have given it back.
    undoing: usize,
}

impl Entry {
    /// A claim that nobody uses yet.
    fn new(state: ClaimState, shared: bool) -> Self {
        Self { state, shared, pods: BTreeSet::new(), selected: BTreeSet::new(), holder: None, undoing: 0 }
    }

    /// Whether it is in progress, for all but one negotiation.
    fn is_busy(&self, id: NegotiationId) -> bool {
        self.undoing > 0
            || match self.state {
                ClaimState::Unallocated => self.holder.is_some_and(|holder| holder != id),
                ClaimState::InFlight | ClaimState::Deallocating => true,
                ClaimState::Allocated => false,
            }
    }
}

impl Claims {
    /// The first of these claims that is in progress, for all but one negotiation.
    pub(crate) fn busy(&self, claims: &[Claim], id: NegotiationId) -> Option<ClaimUid> {
        claims
            .iter()
            .map(|claim| &claim.uid)
            .find(|uid| self.entries.get(*uid).is_some_and(|it| it.is_busy(id)))
            .cloned()
    }

    /// A negotiation begins. What changes have said of a claim counts before what its pod says: the snapshot of the pod may be
    /// older than the last change.
    pub(crate) fn enter(&mut self, id: NegotiationId, claims: &[Claim]) {
        for claim in claims {
            let entry = self.entries.entry(claim.uid.clone()).or_insert_with(|| Entry::new(claim.state, claim.shared));
            entry.pods.insert(id);
        }
    }

    /// A negotiation is selected, and allocates what is unallocated of these claims. Returns the others that have to wait.
    pub(crate) fn hold(&mut self, id: NegotiationId, claims: &[Claim]) -> BTreeSet<NegotiationId> {
        let mut losers = BTreeSet::new();
        for claim in claims {
            let Some(entry) = self.entries.get_mut(&claim.uid) else { continue };
            entry.selected.insert(id);
            if entry.state == ClaimState::Unallocated {
                entry.holder = Some(id);
                losers.extend(entry.pods.difference(&entry.selected));
            }
        }
        losers
    }

    /// Whether a negotiation has what it has allocated of a claim for itself.
    pub(crate) fn holds_alone(&self, id: NegotiationId, uid: &ClaimUid) -> bool {
        self.entries.get(uid).is_some_and(|entry| {
            entry.holder == Some(id) && !entry.shared && entry.selected.iter().all(|selected| *selected == id)
        })
    }

    /// A party begins to give claims back.
    pub(crate) fn begin_undo(&mut self, claims: &[ClaimUid]) {
        for uid in claims {
            // Where its pod was bound, its negotiation is over, and no other may know the claim.
            self.entries.entry(uid.clone()).or_insert_with(|| Entry::new(ClaimState::Unallocated, false)).undoing += 1;
        }
    }

    /// A party has given claims back. Returns the negotiations that may go on.
    pub(crate) fn end_undo(&mut self, claims: &[ClaimUid]) -> BTreeSet<NegotiationId> {
        let mut woken = BTreeSet::new();
        for uid in claims {
            let Some(entry) = self.entries.get_mut(uid) else { continue };
            entry.undoing = entry.undoing.saturating_sub(1);
            if entry.undoing == 0 {
                woken.extend(&entry.pods);
            }
            self.remove_unused(uid);
        }
        woken
    }

    /// A negotiation is selected no more, but goes on or ends. Returns the others, that may go on.
    pub(crate) fn let_go(&mut self, id: NegotiationId, claims: &[Claim]) -> BTreeSet<NegotiationId> {
        let mut woken = BTreeSet::new();
        for claim in claims {
            let Some(entry) = self.entries.get_mut(&claim.uid) else { continue };
            entry.selected.remove(&id);
            if entry.holder == Some(id) {
                entry.holder = None;
                woken.extend(entry.pods.iter().filter(|other| **other != id));
            }
        }
        woken
    }

    /// Removes a negotiation that ends from the users of its claims.
    pub(crate) fn leave(&mut self, id: NegotiationId, claims: &[Claim]) {
        for claim in claims {
            if let Some(entry) = self.entries.get_mut(&claim.uid) {
                entry.pods.remove(&id);
            }
            self.remove_unused(&claim.uid);
        }
    }

    /// A claim has changed. Returns the negotiations of its pods.
    pub(crate) fn change(
        &mut self,
        uid: &ClaimUid,
        state: Option<ClaimState>,
        shared: bool,
    ) -> BTreeSet<NegotiationId> {
        let Some(entry) = self.entries.get_mut(uid) else { return BTreeSet::new() };
        entry.state = state.unwrap_or(ClaimState::Deallocating);
        entry.shared = shared;
        entry.pods.clone()
    }

    /// Returns the latest state of a claim; `None` where no negotiation and no deallocation uses it.
    pub(crate) fn state(&self, uid: &ClaimUid) -> Option<ClaimState> {
        self.entries.get(uid).map(|entry| entry.state)
    }

    fn remove_unused(&mut self, uid: &ClaimUid) {
        if self.entries.get(uid).is_some_and(|entry| entry.pods.is_empty() && entry.undoing == 0) {
            self.entries.remove(uid);
        }
    }
}
