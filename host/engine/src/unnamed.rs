//! Reads of facts that a policy does not name: annotations and ConfigMaps, which then read as absent. No verdict shows that, so the reads
//! are counted.
//!
//! A guest chooses the keys, so that their number and length are bounded. Start at [`UnnamedCounts`].

use std::fmt;

use nodesift_sandbox::printable;
use parking_lot::Mutex;

use crate::limits::{UNNAMED_FACTS, UNNAMED_NAME_BYTES};

/// A fact that predicates can read only where the policy names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyFact {
    /// An annotation of pods and nodes, by its key.
    Annotation(String),
    /// A ConfigMap, as `namespace/name`.
    ConfigMap(String),
}

impl PolicyFact {
    /// An annotation, by a key of any bytes: control characters are escaped, and a long key is cut.
    pub(crate) fn annotation(key: &str) -> Self {
        Self::Annotation(printable(key, UNNAMED_NAME_BYTES))
    }

    /// A ConfigMap, by a name of any bytes, like [`Self::annotation`].
    pub(crate) fn config_map(name: &str) -> Self {
        Self::ConfigMap(printable(name, UNNAMED_NAME_BYTES))
    }

    /// The list of a policy's document in which such facts are named.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Annotation(_) => "spec.facts.annotations",
            Self::ConfigMap(_) => "spec.facts.configMaps",
        }
    }

    /// The entry of that list.
    pub fn name(&self) -> &str {
        match self {
            Self::Annotation(name) | Self::ConfigMap(name) => name,
        }
    }
}

impl fmt::Display for PolicyFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Annotation(_) => "annotation",
            Self::ConfigMap(_) => "ConfigMap",
        };
        write!(f, "the {kind} {}, which {} does not name: it reads as absent", self.name(), self.field())
    }
}

/// Facts that calls about one context have read although the policy does not name them, each once, at most [`UNNAMED_FACTS`].
#[derive(Debug, Default)]
pub(crate) struct UnnamedReads(Mutex<Vec<PolicyFact>>);

impl UnnamedReads {
    /// Notes that a call has read a fact.
    pub(crate) fn note(&self, fact: PolicyFact) {
        let mut facts = self.0.lock();
        if facts.len() < UNNAMED_FACTS && !facts.contains(&fact) {
            facts.push(fact);
        }
    }

    /// Takes the facts that were read so far, and leaves none.
    pub(crate) fn take(&self) -> Vec<PolicyFact> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Calls of one predicate that have read facts which the policy does not name, by fact; at most [`UNNAMED_FACTS`] facts, the first
/// ones.
#[derive(Debug, Default)]
pub(crate) struct UnnamedCounts(Mutex<Vec<(PolicyFact, u64)>>);

impl UnnamedCounts {
    /// Counts a call that has read a fact. Returns whether it is the first, and listed. Facts that a later policy names make room for
    /// others.
    pub(crate) fn count(&self, fact: &PolicyFact, is_named: impl Fn(&PolicyFact) -> bool) -> bool {
        let mut counts = self.0.lock();
        if let Some((_, calls)) = counts.iter_mut().find(|(known, _)| known == fact) {
            *calls += 1;
            return false;
        }
        if counts.len() >= UNNAMED_FACTS {
            counts.retain(|(known, _)| !is_named(known));
        }
        let has_room = counts.len() < UNNAMED_FACTS;
        if has_room {
            counts.push((fact.clone(), 1));
        }
        has_room
    }

    /// The facts with the number of calls that have read each, in the order of their first reads.
    pub(crate) fn list(&self) -> Vec<(PolicyFact, u64)> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(number: usize) -> PolicyFact {
        PolicyFact::annotation(&format!("example.com/{number}"))
    }

    #[test]
    fn facts_are_counted_up_to_the_limit_and_named_ones_make_room() {
        let counts = UnnamedCounts::default();
        let none = |_: &PolicyFact| false;
        for number in 0..2 * UNNAMED_FACTS {
            assert_eq!(counts.count(&annotation(number), none), number < UNNAMED_FACTS, "{number}");
            assert!(!counts.count(&annotation(number), none), "only the first read is new");
        }
        let listed = counts.list();
        assert_eq!(listed.len(), UNNAMED_FACTS);
        assert!(listed.iter().all(|(_, calls)| *calls == 2), "{listed:?}");
        let first = annotation(0);
        let other = PolicyFact::config_map("ops/teams");
        assert!(counts.count(&other, |fact| *fact == first));
        let listed: Vec<PolicyFact> = counts.list().into_iter().map(|(fact, _)| fact).collect();
        assert!(!listed.contains(&first) && listed.contains(&other), "{listed:?}");
    }

    #[test]
    fn reads_of_one_call_are_noted_once_within_the_limit_and_in_one_line() {
        let reads = UnnamedReads::default();
        for number in 0..2 * UNNAMED_FACTS {
            reads.note(annotation(number));
            reads.note(annotation(number));
        }
        assert_eq!(reads.take(), (0..UNNAMED_FACTS).map(annotation).collect::<Vec<_>>());
        assert!(reads.take().is_empty());
        let long = PolicyFact::annotation(&"\n".repeat(10_000));
        assert!(long.name().len() <= UNNAMED_NAME_BYTES && !long.name().contains('\n'), "{long}");
        assert_eq!(
            PolicyFact::config_map("ops/teams").to_string(),
            "the ConfigMap ops/teams, which spec.facts.configMaps does not name: it reads as absent"
        );
    }
}
