//! The record of decisions: what outlives the processes. Start at [`Store`].

use std::collections::BTreeMap;

use super::super::super::*;
use super::super::world::*;

/// A decision as the record has it.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) version: u64,
    pub(super) holder: usize,
    pub(super) decision: Decision,
}

/// The record: decisions of all processes, with their versions.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) stored: BTreeMap<Arc<str>, Stored>,
    versions: u64,
    /// Whether it writes without comparing.
    is_blind: bool,
}

impl Store {
    pub(super) fn new(is_blind: bool) -> Self {
        Self { stored: BTreeMap::new(), versions: 0, is_blind }
    }

    /// Writes a decision, or removes one that holds nothing, where the version that stands is the one that its writer has seen. Returns
    /// its version, none where nothing stands; `Err` where another was first.
    pub(super) fn write(&mut self, holder: usize, seen: Option<u64>, decision: &Decision) -> Result<Option<u64>, ()> {
        let known = self.stored.get(&decision.pod);
        let stands = known.map(|known| known.version);
        let is_removed = decision.held.is_empty();
        if is_removed && (seen.is_none() || stands.is_none()) {
            return Ok(None);
        }
        // A try of which its writer has not heard is its own.
        let is_own = known.is_some_and(|known| {
            known.decision == *decision && !is_removed || known.holder == holder && seen.is_none()
        });
        if stands != seen && !is_own && !self.is_blind {
            return Err(());
        }
        if is_removed {
            self.stored.remove(&decision.pod);
            return Ok(None);
        }
        self.versions += 1;
        let stored = Stored { version: self.versions, holder, decision: decision.clone() };
        self.stored.insert(decision.pod.clone(), stored);
        Ok(Some(self.versions))
    }
}

/// A write that the record has not taken.
pub(super) enum Write {
    /// Of a negotiation that wants to be the first. It hears what comes of it.
    Claim(NegotiationId, Decision),
    Decide(Decision),
}

impl Write {
    pub(super) fn decision(&self) -> &Decision {
        match self {
            Self::Claim(_, decision) | Self::Decide(decision) => decision,
        }
    }
}
