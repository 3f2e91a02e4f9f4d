//! What a party has taken back, until each negotiation that it sits in has been looked at: a number for each subject, which seats compare
//! with the one that they have seen. However often a party takes back, a step costs the same. Start at [`Sweep`].

use std::collections::BTreeMap;
use std::time::Instant;

use crate::limits::SWEPT_SUBJECTS;
use crate::request::NegotiationId;
use crate::subject::Subject;

/// What a party has taken back.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Since when negotiations have to be looked at.
    pub(crate) since: Instant,
    /// The one that has been looked at last.
    pub(crate) after: Option<NegotiationId>,
    /// How many have not been looked at since the last time that it took something back.
    pub(crate) left: usize,
    /// The number of the last time that it took everything back.
    all: u64,
    subjects: BTreeMap<Subject, u64>,
}

impl Sweep {
    pub(crate) fn new(since: Instant) -> Self {
        Self { since, after: None, left: 0, all: 0, subjects: BTreeMap::new() }
    }

    /// Something is taken back: one subject, or all. `number` is greater than any before.
    pub(crate) fn note(&mut self, subject: Option<&Subject>, number: u64) {
        match subject {
            Some(subject) if self.subjects.len() < SWEPT_SUBJECTS || self.subjects.contains_key(subject) => {
                self.subjects.insert(subject.clone(), number);
            }
            _ => {
                self.all = number;
                self.subjects.clear();
            }
        }
    }

    /// Whether something that a seat has said is taken back since it has seen a number.
    pub(crate) fn is_after(&self, subject: &Subject, seen: u64) -> bool {
        self.all > seen || self.subjects.get(subject).is_some_and(|number| *number > seen)
    }
}
