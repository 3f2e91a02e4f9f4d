//! Another policy over the engine's cluster, with a store of cached verdicts of its own. Start at [`Engine::alternative`].

use std::sync::Arc;
use std::time::Instant;

use super::difference::{Answered, PodDifference};
use super::{Asked, Shadow};
use crate::evaluate::query_run::QueryRun;
use crate::facts::Batch;
use crate::limits::{SHADOW_REUSE_BYTES, SHADOW_TIME};
use crate::metrics::Metrics;
use crate::policy::running::Running;
use crate::policy::{ActivePolicy, Mode};
use crate::{Engine, Query, ScoreRequest};

/// A policy that could be active. Its calls are not counted, and none of its predicates is quarantined.
#[derive(Debug)]
pub struct Alternative(Running);

impl Alternative {
    /// Returns the alternative policy.
    pub fn policy(&self) -> &ActivePolicy {
        &self.0.policy
    }

    /// The policy with its own cached verdicts.
    pub(crate) fn running(&self) -> &Running {
        &self.0
    }
}

impl ActivePolicy {
    /// Returns a copy of the policy with every predicate enforced; `None` where all are.
    pub fn with_shadows_enforced(&self) -> Option<Self> {
        if self.predicates.iter().all(|predicate| predicate.mode == Mode::Enforce) {
            return None;
        }
        let mut policy = self.clone();
        policy.predicates.iter_mut().for_each(|predicate| predicate.mode = Mode::Enforce);
        Some(policy)
    }
}

impl Engine {
    /// A policy as an alternative. Its predicates and scorers may share modules with the active policy, and nothing else: no count, breaker or
    /// cached verdict of that changes.
    pub fn alternative(&self, mut policy: ActivePolicy) -> Alternative {
        for component in policy.components_mut() {
            // What is reused is counted by predicate too.
            (component.counts, component.is_beside) = (Arc::default(), true);
        }
        let ownership = self.snapshot().ownership();
        Alternative(Running::new(Arc::new(policy), SHADOW_REUSE_BYTES, Metrics::default(), ownership))
    }

    /// Evaluates all alternatives about an answer, and records how each would change it.
    pub fn compare(&self, shadow: &Shadow, asked: &Asked) {
        for comparison in &shadow.comparisons {
            let query = Query::new([]).with_phase(asked.phase).with_deadline(Instant::now() + SHADOW_TIME);
            let scores = asked.scored.as_ref().map(|_| ScoreRequest { top: 1, ..ScoreRequest::default() });
            let query = query.with_scores(scores).with_totals(true);
            let running = comparison.alternative.running();
            // Verdicts are cached over all rows; scores are those among the rows that were asked about.
            let batch = asked.scored.clone().unwrap_or(Batch::All);
            let mut run = QueryRun::new(self, running, &query, &asked.snapshot, batch);
            match run.answer(asked.subject.clone(), query.deadline) {
                Ok(after) => {
                    let name = asked.subject.name.clone();
                    let difference = PodDifference::new(name, &asked.before, &Answered::new(&after));
                    let of_scorers = after.scores.as_ref().map_or(0, |scores| scores.faults.len());
                    comparison.add(&difference, after.faults.len() + of_scorers, &asked.snapshot);
                }
                Err(_) => comparison.fail(),
            }
        }
    }
}
