//! Reasons of parties that are kept, or said in a negotiation: each text once for its party, and a limited number of them. Start at
//! [`Reasons::shared`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::KEPT_REASONS;
use crate::subject::Suitability;

/// Text that replaces all reasons of a party beyond [`KEPT_REASONS`].
const OTHER_REASONS: &str = "one of more reasons than are kept";

/// By party: each reason, and of how many nodes it is kept, and in how many seats it was said.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    parties: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>,
    bytes: usize,
}

impl Reasons {
    /// Bytes of all texts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How often each reason of each party is used.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> &BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>> {
        &self.parties
    }

    /// Returns an answer with the stored copy of its reason, if there is one, or with the replacement text where the party has
    /// [`KEPT_REASONS`] others.
    pub(crate) fn shared(&self, party: &Arc<str>, said: Suitability) -> Suitability {
        let Suitability::Unsuitable(reason) = &said else { return said };
        let Some(known) = self.parties.get(party) else { return said };
        if let Some((known, _)) = known.get_key_value(reason) {
            return Suitability::Unsuitable(known.clone());
        }
        if known.len() < KEPT_REASONS {
            return said;
        }
        let other = known.get_key_value(OTHER_REASONS).map(|(other, _)| other.clone());
        Suitability::Unsuitable(other.unwrap_or_else(|| OTHER_REASONS.into()))
    }

    /// A node or a seat has this answer, as [`Self::shared`] returns it.
    pub(crate) fn add(&mut self, party: &Arc<str>, said: &Suitability) {
        let Suitability::Unsuitable(reason) = said else { return };
        let count = self.parties.entry(party.clone()).or_default().entry(reason.clone()).or_default();
        if *count == 0 {
            self.bytes += reason.len();
        }
        *count += 1;
    }

    /// One of them has it no more.
    pub(crate) fn remove(&mut self, party: &Arc<str>, said: &Suitability) {
        let Suitability::Unsuitable(reason) = said else { return };
        let Some(known) = self.parties.get_mut(party) else { return };
        let Some(count) = known.get_mut(reason) else { return };
        *count -= 1;
        if *count == 0 {
            self.bytes -= reason.len();
            known.remove(reason);
        }
        if known.is_empty() {
            self.parties.remove(party);
        }
    }
}
