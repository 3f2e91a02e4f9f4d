//! Another policy over the engine's cluster, with a store of cached verdicts of its own. Start at [`Engine::alternative`].

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::Snapshot;

use super::difference::{Nodes, PodDifference};
use super::{Asked, Shadow};
use crate::evaluate::evaluator::Evaluator;
use crate::facts::Batch;
use crate::limits::{SHADOW_REUSE_BYTES, SHADOW_TIME};
use crate::metrics::Metrics;
use crate::policy::{ActivePolicy, Mode};
use crate::query::{self, Depth, Query};
use crate::scenarios::nominated::RowBudget;
use crate::{Answer, Engine, Error, Reuse, Running, Unknown};

/// A policy that could be active. Its calls are not counted, and none of its predicates is quarantined.
#[derive(Debug)]
pub struct Alternative(Running);

impl Alternative {
    /// Returns the alternative policy.
    pub fn policy(&self) -> &ActivePolicy {
        &self.0.policy
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
    /// A policy as an alternative. Its predicates may share modules with the active policy, and nothing else: no count, breaker or
    /// cached verdict of that changes.
    pub fn alternative(&self, mut policy: ActivePolicy) -> Alternative {
        for predicate in &mut policy.predicates {
            // What is reused is counted by predicate too.
            (predicate.counts, predicate.is_beside) = (Arc::default(), true);
        }
        let ownership = self.snapshot().ownership();
        Alternative(Running::new(Arc::new(policy), SHADOW_REUSE_BYTES, Metrics::default(), ownership))
    }

    /// Answers from a given snapshot like [`Self::answer_on`], by an alternative in place of the active policy.
    ///
    /// # Errors
    ///
    /// As for [`Self::answer_on`].
    pub fn answer_by(
        &self,
        alternative: &Alternative,
        snapshot: &Arc<Snapshot>,
        query: &Query,
    ) -> Result<Answer, Error> {
        self.answer_running(&alternative.0, None, Unknown::Fails, snapshot, query)
    }

    /// Evaluates all alternatives about an answer, and records how each would change it.
    pub fn compare(&self, shadow: &Shadow, asked: &Asked) {
        for comparison in &shadow.comparisons {
            let query = Query {
                pods: Vec::new(),
                nodes: query::Nodes::All,
                phase: asked.phase,
                depth: Depth::FirstFailure,
                deadline: Some(Instant::now() + SHADOW_TIME),
                skip: Vec::new(),
            };
            let running = &comparison.alternative.0;
            let may_reuse = self.reuse != Reuse::Off;
            let evaluator = Evaluator::new(&running.policy, query.phase, may_reuse.then_some(&running.store));
            let (subject, budget) = (asked.subject.clone(), &mut RowBudget::default());
            match self.answer_pod(evaluator, &query, query.deadline, subject, &asked.snapshot, &Batch::All, budget) {
                Ok(after) => {
                    let name = asked.subject.name.clone();
                    let difference = PodDifference::of(name, &asked.before, &Nodes::of(&after));
                    comparison.add(&difference, after.faults.len(), &asked.snapshot);
                }
                Err(_) => comparison.fail(),
            }
        }
    }
}
