//! Answers that are kept for others than who asked: the column of unsuitable nodes, per party and subject.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::effect::Effect;
use crate::limits::{KEPT_BYTES, KEPT_NODE_BYTES, KEPT_SUBJECT_BYTES};
use crate::reasons::Reasons;
use crate::request::{ClaimUid, Node};
use crate::subject::{Subject, Suitability};

/// A party and a subject.
pub(crate) type Key = (Arc<str>, Subject);

/// All answers that are kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    answers: BTreeMap<Key, Answers>,
    /// When something of each key expires.
    expiry: BTreeSet<(Instant, Key)>,
    /// Nodes over all keys.
    nodes: usize,
    /// Texts of the reasons, in kept answers and in those of negotiations.
    pub(crate) reasons: Reasons,
    /// Bytes of all keys.
    key_bytes: usize,
}

#[derive(Debug)]
struct Answers {
    nodes: BTreeMap<Node, Said>,
    /// The first to expire.
    next: Instant,
}

/// Kept answer about one node.
#[derive(Debug)]
struct Said {
    until: Instant,
    /// When it was said first.
    since: Instant,
    said: Suitability,
}

impl Kept {
    /// Nodes over all parties and subjects.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Bytes that all of it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes * KEPT_NODE_BYTES + self.key_bytes + self.reasons.bytes()
    }

    /// When the next answer expires.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.expiry.first().map(|(at, _)| *at)
    }

    /// Returns the kept answers about some nodes and the time since which each stands, in the order of the nodes. Nodes without one are
    /// omitted.
    pub(crate) fn answers<'a>(
        &self,
        key: &Key,
        nodes: impl Iterator<Item = &'a Node>,
    ) -> impl Iterator<Item = (&'a Node, &Suitability, Instant)> {
        let answers = self.answers.get(key);
        nodes.filter_map(move |node| {
            let Said { said, since, .. } = answers?.nodes.get(node)?;
            Some((node, said, *since))
        })
    }

    /// All answers, with their party.
    #[cfg(test)]
    pub(crate) fn said(&self) -> impl Iterator<Item = (&Arc<str>, &Suitability)> {
        self.answers.iter().flat_map(|(key, answers)| answers.nodes.values().map(move |said| (&key.0, &said.said)))
    }

    /// All that is kept of a party and a subject.
    pub(crate) fn all(&self, key: &Key) -> impl Iterator<Item = (&Suitability, Instant)> {
        let answers = self.answers.get(key).into_iter().flat_map(|answers| answers.nodes.values());
        answers.map(|Said { said, since, .. }| (said, *since))
    }

    /// Keeps answers until they expire. Where they are as before, they stand since then.
    pub(crate) fn keep(
        &mut self,
        key: &Key,
        said: Vec<(Node, Suitability)>,
        now: Instant,
        until: Instant,
        out: &mut Vec<Effect>,
    ) {
        if said.is_empty() {
            return;
        }
        let answers = self.answers.entry(key.clone()).or_insert_with(|| {
            self.key_bytes += bytes_of(key);
            Answers { nodes: BTreeMap::new(), next: until }
        });
        self.expiry.remove(&(answers.next, key.clone()));
        answers.next = answers.next.min(until);
        self.expiry.insert((answers.next, key.clone()));
        let mut changes = Vec::new();
        for (node, said) in said {
            let said = self.reasons.shared(&key.0, said);
            match answers.nodes.get_mut(&node) {
                Some(before) if before.said == said => before.until = until,
                _ => {
                    self.reasons.add(&key.0, &said);
                    let before = answers.nodes.insert(node.clone(), Said { until, since: now, said: said.clone() });
                    match before {
                        Some(before) => self.reasons.remove(&key.0, &before.said),
                        None => self.nodes += 1,
                    }
                    changes.push((node, said));
                }
            }
        }
        note(key, changes, out);
        while self.bytes() > KEPT_BYTES
            && let Some((_, first)) = self.expiry.first().cloned()
        {
            self.forget(&first, out);
        }
    }

    /// Drops what is kept of some nodes: something newer has been said that is not to be kept.
    pub(crate) fn drop_nodes<'a>(&mut self, key: &Key, nodes: impl Iterator<Item = &'a Node>, out: &mut Vec<Effect>) {
        let Some(answers) = self.answers.get_mut(key) else { return };
        let mut changes = Vec::new();
        for node in nodes {
            if let Some(Said { said, .. }) = answers.nodes.remove(node) {
                self.reasons.remove(&key.0, &said);
                changes.push((node.clone(), Suitability::Unknown));
            }
        }
        self.nodes -= changes.len();
        if answers.nodes.is_empty() {
            self.expiry.remove(&(answers.next, key.clone()));
            self.answers.remove(key);
            self.key_bytes -= bytes_of(key);
        }
        note(key, changes, out);
    }

    /// Drops what has expired.
    pub(crate) fn expire(&mut self, now: Instant, out: &mut Vec<Effect>) {
        while let Some((at, key)) = self.expiry.first().cloned()
            && at <= now
        {
            self.expiry.remove(&(at, key.clone()));
            let Some(answers) = self.answers.get_mut(&key) else { continue };
            let mut changes = Vec::new();
            answers.nodes.retain(|node, said| {
                let is_valid = said.until > now;
                if !is_valid {
                    self.reasons.remove(&key.0, &said.said);
                    changes.push((node.clone(), Suitability::Unknown));
                }
                is_valid
            });
            self.nodes -= changes.len();
            match answers.nodes.values().map(|said| said.until).min() {
                Some(next) => {
                    answers.next = next;
                    self.expiry.insert((next, key.clone()));
                }
                None => {
                    self.answers.remove(&key);
                    self.key_bytes -= bytes_of(&key);
                }
            }
            note(&key, changes, out);
        }
    }

    /// Drops what is kept of a party: about one subject, or all.
    pub(crate) fn invalidate(&mut self, party: &Arc<str>, subject: Option<&Subject>, out: &mut Vec<Effect>) {
        if let Some(subject) = subject {
            return self.forget(&(party.clone(), subject.clone()), out);
        }
        // The first subject of all.
        let first = (party.clone(), Subject::Pod(Arc::from("")));
        let keys = self.answers.range(first..).take_while(|(key, _)| key.0 == *party).map(|(key, _)| key.clone());
        for key in keys.collect::<Vec<_>>() {
            self.forget(&key, out);
        }
    }

    fn forget(&mut self, key: &Key, out: &mut Vec<Effect>) {
        let Some(answers) = self.answers.remove(key) else { return };
        self.expiry.remove(&(answers.next, key.clone()));
        self.nodes -= answers.nodes.len();
        self.key_bytes -= bytes_of(key);
        answers.nodes.values().for_each(|said| self.reasons.remove(&key.0, &said.said));
        note(key, answers.nodes.into_keys().map(|node| (node, Suitability::Unknown)).collect(), out);
    }
}

/// Bytes of a key, wherever it is.
fn bytes_of((_, subject): &Key) -> usize {
    let text = match subject {
        Subject::Pod(text) | Subject::Template(text) => text.len(),
        Subject::Claims(claims) => claims.iter().map(|claim| size_of::<ClaimUid>() + claim.len()).sum(),
    };
    KEPT_SUBJECT_BYTES + text
}

fn note(key: &Key, changes: Vec<(Node, Suitability)>, out: &mut Vec<Effect>) {
    if !changes.is_empty() {
        out.push(Effect::Rows { party: key.0.clone(), subject: key.1.clone(), changes });
    }
}
