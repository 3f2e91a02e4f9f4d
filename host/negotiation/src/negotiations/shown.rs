//! Negotiations and parties as operators and explanations see them. Start at [`Negotiations::views`].

use std::sync::Arc;
use std::time::Instant;

use super::Negotiations;
#[cfg(test)]
use crate::desk::Desk;
use crate::negotiation::Negotiation;
use crate::request::{Class, NegotiationId};
use crate::stance::{self, Stance};
use crate::subject::Subject;
use crate::view::{PartyView, Usage, View};

impl Negotiations {
    /// Whether a negotiation has not ended.
    pub fn is_live(&self, id: NegotiationId) -> bool {
        self.live.contains_key(&id)
    }

    /// All negotiations, the oldest first.
    pub fn views(&self) -> Vec<View> {
        let mut live: Vec<&Negotiation> = self.live.values().map(|it| &**it).collect();
        live.sort_by_key(|it| it.number);
        live.into_iter().map(View::new).collect()
    }

    /// Whether the policy has a party.
    pub fn has_party(&self, party: &str) -> bool {
        self.desk.standing(party).is_some()
    }

    /// All parties of the policy, in its order.
    pub fn parties(&self, now: Instant) -> Vec<PartyView> {
        self.desk.parties.iter().map(|standing| PartyView::new(standing, now)).collect()
    }

    /// Returns the stances of a pod's parties and since when they stand: of its negotiation, where it has one; else the answers that are
    /// kept of these parties and subjects. At least one for each party.
    pub fn stances(&self, pod: &str, seats: &[(Arc<str>, Subject)], now: Instant) -> Vec<Stance> {
        // Of several, that of a local client, since it is the core beside the program.
        if let Some(it) = self.for_pod(pod).min_by_key(|it| (it.owner.class, it.number)) {
            return stance::in_negotiation(it, |party| self.desk.standing(party), now);
        }
        let stances = |key| stance::from_kept(key, self.desk.kept.all(key), self.desk.standing(&key.0), now);
        seats.iter().flat_map(stances).collect()
    }

    /// Returns the numbers of objects and bytes that are held now.
    pub fn usage(&self) -> Usage {
        let bytes = |class| self.desk.ledger.held_by_class(class).bytes + self.desk.ledger.said(class);
        Usage {
            negotiations: self.live.len(),
            held: self.desk.holdings.len(),
            deallocations: self.desk.undos.len(),
            calls: self.desk.calls.len(),
            kept_nodes: self.desk.kept.nodes(),
            kept_bytes: self.desk.kept.bytes(),
            local_bytes: bytes(Class::Local),
            remote_bytes: bytes(Class::Remote),
        }
    }

    /// Returns the negotiations and the state that they share, for tests.
    #[cfg(test)]
    pub(crate) fn parts(&self) -> (impl Iterator<Item = &Negotiation>, &Desk) {
        (self.live.values().map(|it| &**it), &self.desk)
    }
}
