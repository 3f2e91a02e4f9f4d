//! How the scorers of a policy differ from those of another one. Their order says nothing. Start at [`ScorerChanges::between`].

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use nodesift_sandbox::Module;

use super::scorer::ActiveScorer;
use crate::policy::ActivePolicy;

/// Scorers that one policy has and another has not, or has otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScorerChanges {
    /// Scorers that only the other policy has, in its order, with their weights.
    pub added: Vec<(Arc<str>, i64)>,
    /// Scorers that only the one policy has, sorted by name, with their weights.
    pub removed: Vec<(Arc<str>, i64)>,
    /// Scorers whose component is another one, in the order of the other policy.
    pub replaced: Vec<Arc<str>>,
    /// Scorers whose component is the same and has other arguments, limits or allowed imports.
    pub reconfigured: Vec<Arc<str>>,
    /// Scorers with another weight, in the order of the other policy.
    pub weights: Vec<WeightChange>,
}

/// A scorer whose weight is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightChange {
    /// Name of the scorer.
    pub scorer: Arc<str>,
    /// Weight by the one policy.
    pub before: i64,
    /// Weight by the other policy.
    pub after: i64,
}

impl ScorerChanges {
    /// How the scorers of `after` differ from those of `before`.
    pub fn between(before: &ActivePolicy, after: &ActivePolicy) -> Self {
        KnownScorers::new(before).changes(after)
    }

    /// Whether both policies score alike.
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, replaced, reconfigured, weights } = self;
        added.is_empty() && removed.is_empty() && replaced.is_empty() && reconfigured.is_empty() && weights.is_empty()
    }
}

/// Names, weights and digests of a policy's scorers, by which they are compared with those of another one. It keeps no module loaded.
#[derive(Debug)]
pub(crate) struct KnownScorers(BTreeMap<Arc<str>, Known>);

#[derive(Debug)]
struct Known {
    weight: i64,
    digest: [u8; 32],
    module: Weak<Module>,
}

impl KnownScorers {
    pub(crate) fn new(policy: &ActivePolicy) -> Self {
        let known = |scorer: &ActiveScorer| {
            let component = &scorer.component;
            let (digest, module) = (component.digest, Arc::downgrade(&component.module));
            (Arc::clone(scorer.name()), Known { weight: scorer.weight, digest, module })
        };
        Self(policy.scorers.iter().map(known).collect())
    }

    /// How the scorers of a policy differ from these.
    pub(crate) fn changes(&self, policy: &ActivePolicy) -> ScorerChanges {
        let mut changes = ScorerChanges::default();
        for scorer in &policy.scorers {
            let name = || Arc::clone(scorer.name());
            let Some(known) = self.0.get(scorer.name()) else {
                changes.added.push((name(), scorer.weight));
                continue;
            };
            // The same component with the same arguments is one module.
            if known.digest != scorer.component.digest {
                changes.replaced.push(name());
            } else if known.module.as_ptr() != Arc::as_ptr(&scorer.component.module) {
                changes.reconfigured.push(name());
            }
            if known.weight != scorer.weight {
                let (before, after) = (known.weight, scorer.weight);
                changes.weights.push(WeightChange { scorer: name(), before, after });
            }
        }
        let is_gone = |name: &Arc<str>| policy.scorers.iter().all(|scorer| scorer.name() != name);
        let gone = self.0.iter().filter(|(name, _)| is_gone(name));
        changes.removed = gone.map(|(name, known)| (Arc::clone(name), known.weight)).collect();
        changes
    }
}
