//! Changes that concern all negotiations of a party, until each of them has been looked at: a number for each change, which seats compare
//! with the one that they have seen. However often a party takes back what it said, attends or leaves, a step costs the same. Start at
//! [`Sweep`].

use std::collections::BTreeMap;
use std::time::Instant;

use crate::limits::SWEPT_SUBJECTS;
use crate::request::NegotiationId;
use crate::subject::Subject;

/// Change of a party that its negotiations have to handle.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// It may be asked again.
    Rested,
    /// It has taken back what it said: of a subject, or all.
    TakenBack(Option<&'a Subject>),
    /// Its stream has ended, or another has begun: with it all that it has said, and its questions.
    Stream,
}

/// Greatest of the changes that a seat has not seen yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    Nothing,
    Rested,
    TakenBack,
    Stream,
}

/// The changes of a party.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Since when negotiations have to be looked at.
    pub(crate) since: Instant,
    /// The one that has been looked at last.
    pub(crate) after: Option<NegotiationId>,
    /// How many have not been looked at since the last change.
    pub(crate) left: usize,
    /// The number of the last time that it could be asked again.
    rested: u64,
    /// The number of the last time that its stream was another.
    stream: u64,
    /// The number of the last time that it took everything back.
    all: u64,
    subjects: BTreeMap<Subject, u64>,
}

impl Sweep {
    pub(crate) fn new(since: Instant) -> Self {
        Self { since, after: None, left: 0, rested: 0, stream: 0, all: 0, subjects: BTreeMap::new() }
    }

    /// Something changes. `number` is greater than any before.
    pub(crate) fn note(&mut self, change: Change<'_>, number: u64) {
        match change {
            Change::Rested => self.rested = number,
            Change::Stream => self.stream = number,
            Change::TakenBack(Some(subject))
                if self.subjects.len() < SWEPT_SUBJECTS || self.subjects.contains_key(subject) =>
            {
                self.subjects.insert(subject.clone(), number);
            }
            Change::TakenBack(_) => {
                self.all = number;
                self.subjects.clear();
            }
        }
    }

    /// Returns the greatest change for a seat since the number that it has seen.
    pub(crate) fn missed(&self, subject: &Subject, seen: u64) -> Missed {
        let is_after = |number: u64| number > seen;
        if is_after(self.stream) {
            Missed::Stream
        } else if is_after(self.all) || self.subjects.get(subject).copied().is_some_and(is_after) {
            Missed::TakenBack
        } else if is_after(self.rested) {
            Missed::Rested
        } else {
            Missed::Nothing
        }
    }
}
