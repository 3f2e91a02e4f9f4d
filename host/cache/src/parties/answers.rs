//! Answers of parties by party and subject. [`PartyAnswers`] is what a snapshot shows, [`PartyTable`] what the writer keeps.
//!
//! They are kept by the names of nodes and not by row: a node that comes back has the answers that still stand, and an overlay or a
//! strip shows those of its nodes.

use std::sync::Arc;

use nodesift_negotiation::{Subject, Suitability};
use rustc_hash::FxHashMap;

use crate::claims::shards::Shards;
use crate::limits::{PARTY_ANSWER_BYTES, PARTY_ANSWERS_BYTES, PARTY_SHARE_BYTES};

/// Answers of one party about one subject, by the names of nodes; never [`Suitability::Unknown`].
pub type NodeAnswers = FxHashMap<Arc<str>, Suitability>;

/// Answers of all parties at one generation. A copy costs a reference count.
#[derive(Debug, Clone, Default)]
pub struct PartyAnswers {
    /// Answers by party and subject; none of them empty.
    answers: Shards<Arc<NodeAnswers>, (Arc<str>, Subject)>,
}

impl PartyAnswers {
    /// Returns the answers of a party about a subject; `None` where there are none.
    pub fn get(&self, party: &Arc<str>, subject: &Subject) -> Option<&Arc<NodeAnswers>> {
        self.answers.get(&(Arc::clone(party), subject.clone()))
    }
}

/// Answers of all parties as the writer keeps them, with their sizes.
#[derive(Debug, Default)]
pub(crate) struct PartyTable {
    shown: PartyAnswers,
    /// Size of all answers, as [`bytes_of`] counts them.
    bytes: usize,
    /// Size of the answers by party, in bytes; none of them zero.
    bytes_by_party: FxHashMap<Arc<str>, usize>,
}

impl PartyTable {
    /// Returns the answers that the next snapshot shows.
    pub(crate) fn shown(&self) -> &PartyAnswers {
        &self.shown
    }

    /// Bytes of all answers.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Replaces the answers of a party about some nodes. `changed` is called with each node of which the answer differs from the one
    /// before. False where there was no room for an answer: its node is unknown then.
    pub(crate) fn set(
        &mut self,
        party: &Arc<str>,
        subject: &Subject,
        said: &[(Arc<str>, Suitability)],
        mut changed: impl FnMut(&Arc<str>),
    ) -> bool {
        let key = (Arc::clone(party), subject.clone());
        let mut answers = self.shown.answers.remove(&key).unwrap_or_default();
        let mut own = self.bytes_by_party.remove(party).unwrap_or(0);
        let mut has_room = true;
        for (node, said) in said {
            let before = answers.get(node);
            if before == Some(said) || (before.is_none() && *said == Suitability::Unknown) {
                continue;
            }
            let freed = before.map_or(0, bytes_of);
            (self.bytes, own) = (self.bytes - freed, own - freed);
            let bytes = bytes_of(said);
            // Copied only where a snapshot has it, and only once.
            let answers = Arc::make_mut(&mut answers);
            let fits = self.bytes + bytes <= PARTY_ANSWERS_BYTES && own + bytes <= PARTY_SHARE_BYTES;
            if *said != Suitability::Unknown && fits {
                (self.bytes, own) = (self.bytes + bytes, own + bytes);
                answers.insert(Arc::clone(node), said.clone());
            } else {
                has_room &= *said == Suitability::Unknown;
                answers.remove(node);
            }
            changed(node);
        }
        if own > 0 {
            self.bytes_by_party.insert(Arc::clone(party), own);
        }
        if !answers.is_empty() {
            self.shown.answers.insert(key, answers);
        }
        has_room
    }
}

fn bytes_of(said: &Suitability) -> usize {
    PARTY_ANSWER_BYTES
        + match said {
            Suitability::Unsuitable(reason) => reason.len(),
            Suitability::Unknown | Suitability::Suitable => 0,
        }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn text(text: &str) -> Arc<str> {
        Arc::from(text)
    }

    fn no(reason: &str) -> Suitability {
        Suitability::Unsuitable(text(reason))
    }

    /// Sets answers of the party `p`; returns whether all had room, and the nodes that have changed.
    fn set(table: &mut PartyTable, subject: &Subject, said: &[(&str, Suitability)]) -> (bool, Vec<String>) {
        set_by("p", table, subject, said)
    }

    fn set_by(
        party: &str,
        table: &mut PartyTable,
        subject: &Subject,
        said: &[(&str, Suitability)],
    ) -> (bool, Vec<String>) {
        let said: Vec<_> = said.iter().map(|(node, said)| (text(node), said.clone())).collect();
        let mut changed = Vec::new();
        let has_room = table.set(&text(party), subject, &said, |node| changed.push(node.to_string()));
        (has_room, changed)
    }

    #[test]
    fn answers_stand_until_others_are_given_and_nothing_is_left_of_what_is_forgotten() {
        let mut table = PartyTable::default();
        let (pod, other) = (Subject::Pod(text("u")), Subject::Pod(text("v")));
        let said = [("a", no("full")), ("b", Suitability::Suitable), ("c", Suitability::Unknown)];
        assert_eq!(set(&mut table, &pod, &said), (true, vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(set(&mut table, &pod, &said), (true, Vec::new()), "said again");
        let shown = table.shown().clone();
        let answers = shown.get(&text("p"), &pod).unwrap();
        assert_eq!(answers.get("a"), Some(&no("full")));
        assert_eq!(answers.len(), 2);
        assert!(shown.get(&text("p"), &other).is_none() && shown.get(&text("q"), &pod).is_none());

        assert_eq!(set(&mut table, &pod, &[("a", no("broken"))]).1, ["a"]);
        assert_eq!(table.shown().get(&text("p"), &pod).unwrap().get("a"), Some(&no("broken")));
        assert_eq!(answers.get("a"), Some(&no("full")), "an old snapshot never changes");

        let forgotten = [("a", Suitability::Unknown), ("b", Suitability::Unknown)];
        assert_eq!(set(&mut table, &pod, &forgotten), (true, vec!["a".to_owned(), "b".to_owned()]));
        assert!(table.shown().get(&text("p"), &pod).is_none());
        assert_eq!(table.bytes(), 0);
    }

    #[test]
    fn what_has_no_room_is_unknown_and_room_comes_back() {
        let mut table = PartyTable::default();
        let pod = Subject::Pod(text("u"));
        let reason = "x".repeat(PARTY_SHARE_BYTES / 2 - PARTY_ANSWER_BYTES);
        assert!(set(&mut table, &pod, &[("a", no(&reason)), ("b", no(&reason))]).0);
        assert_eq!(table.bytes(), PARTY_SHARE_BYTES);
        assert_eq!(set(&mut table, &pod, &[("c", Suitability::Suitable)]), (false, vec!["c".to_owned()]));
        // What was said before does not stand either, since it has been taken back.
        assert_eq!(set(&mut table, &pod, &[("a", no(&format!("{reason}x")))]), (false, vec!["a".to_owned()]));
        assert!(!table.shown().get(&text("p"), &pod).unwrap().contains_key("a"));
        assert!(set(&mut table, &pod, &[("c", Suitability::Suitable)]).0);
        assert_eq!(table.bytes(), PARTY_SHARE_BYTES / 2 + PARTY_ANSWER_BYTES);
    }

    #[test]
    fn a_party_that_fills_its_share_leaves_the_others_theirs() {
        let mut table = PartyTable::default();
        let reason = "x".repeat(PARTY_SHARE_BYTES / 8);
        let said = |party: &str, table: &mut PartyTable| {
            let fits =
                |pod: &usize| set_by(party, table, &Subject::Pod(text(&pod.to_string())), &[("a", no(&reason))]).0;
            (0..20).filter(fits).count()
        };
        for party in ["p", "q", "r"] {
            assert_eq!(said(party, &mut table), 7, "{party}");
        }
        // All of them have no more than there is.
        while said(&table.bytes().to_string(), &mut table) > 0 {}
        assert!(table.bytes() <= PARTY_ANSWERS_BYTES && table.bytes() > PARTY_ANSWERS_BYTES - PARTY_SHARE_BYTES);
        assert_eq!(table.bytes(), table.bytes_by_party.values().sum::<usize>());
        // Room comes back to its party.
        for pod in 0..20 {
            set_by("p", &mut table, &Subject::Pod(text(&pod.to_string())), &[("a", Suitability::Unknown)]);
        }
        assert!(!table.bytes_by_party.contains_key("p"));
        assert_eq!(said("p", &mut table), 7);
    }
}
