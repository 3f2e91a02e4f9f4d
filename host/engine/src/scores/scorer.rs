//! A scorer of a policy: a loaded component with its weight. Start at [`ActiveScorer`].

use std::sync::Arc;

use crate::policy::ActivePredicate;

/// A loaded scorer, in the place of `spec.scores` that the policy gives it.
#[derive(Debug, Clone)]
pub struct ActiveScorer {
    /// Its component with name, failure policy, counts and breaker, which are its own where a predicate has the same module. Phases and
    /// mode say nothing here.
    pub component: ActivePredicate,
    /// Factor of its scores in the total of a node: from 1 to [`SCORE_WEIGHT`](crate::limits::SCORE_WEIGHT).
    pub weight: i64,
}

impl ActiveScorer {
    /// A scorer with the component of a predicate, and with this weight.
    pub fn new(component: ActivePredicate, weight: i64) -> Self {
        Self { component, weight }
    }

    /// Name of the scorer in the policy.
    pub fn name(&self) -> &Arc<str> {
        &self.component.name
    }
}
