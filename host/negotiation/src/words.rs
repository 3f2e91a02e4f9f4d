//! Answers of a party in one negotiation and since when each stands, for explanations: each answer once, however many nodes it is about.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use crate::limits::EXPLAINED_REASONS;
use crate::subject::Suitability;

/// Replacement for all reasons beyond [`EXPLAINED_REASONS`].
static OTHER_REASONS: LazyLock<Suitability> = LazyLock::new(|| Suitability::Unsuitable(Arc::from("other reasons")));

/// Index of a seat's answer about a candidate in its [`Words`], from 1; the default, 0, is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word(u8);

/// The answers of a seat, each with the time since when it stands for some candidate. The place of an answer never changes.
#[derive(Debug, Default)]
pub(crate) struct Words(Vec<(Suitability, Instant)>);

impl Word {
    /// A number below [`EXPLAINED_REASONS`] and three: nothing, that a node suits, reasons, all further reasons.
    pub(crate) fn place(self) -> usize {
        usize::from(self.0)
    }
}

impl Words {
    /// The word for an answer that stands since a time. `is_used`: whether some candidate has a word; the time of one that none has is
    /// over.
    pub(crate) fn word(&mut self, said: &Suitability, since: Instant, mut is_used: impl FnMut(Word) -> bool) -> Word {
        let said = if self.is_further(said) { &*OTHER_REASONS } else { said };
        let at = self.0.iter().position(|(known, _)| known == said).unwrap_or(self.0.len());
        let word = Word(u8::try_from(at + 1).unwrap_or(u8::MAX));
        match self.0.get_mut(at) {
            Some((_, known)) if is_used(word) => *known = since.min(*known),
            Some((_, known)) => *known = since,
            None => self.0.push((said.clone(), since)),
        }
        word
    }

    /// Whether an answer is a reason for which there is no room any more. There always is for the answer that a node suits, and for all
    /// further reasons together.
    fn is_further(&self, said: &Suitability) -> bool {
        let reasons = || self.0.iter().filter(|(known, _)| *known != Suitability::Suitable).count();
        *said != Suitability::Suitable
            && self.0.len() >= EXPLAINED_REASONS
            && self.0.iter().all(|(known, _)| known != said)
            && reasons() >= EXPLAINED_REASONS
    }

    /// How many answers there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The answers from a place on that have a text of their party.
    pub(crate) fn texts(&self, from: usize) -> impl Iterator<Item = &Suitability> {
        self.0.iter().skip(from).map(|(said, _)| said).filter(|said| **said != *OTHER_REASONS)
    }

    /// All answers, with their words.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Word, &Suitability, Instant)> {
        self.0.iter().zip(1..).map(|((said, since), at)| (Word(at), said, *since))
    }
}
