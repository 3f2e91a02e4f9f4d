//! The swap of the active policy.
//!
//! A request takes the active policy once and keeps it to its end, so no answer has parts of two. A predicate whose module is
//! the same object in both policies keeps its cached verdicts. Start at [`Engine::replace_policy`].

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::{ActivePolicy, LastReload, Refusal, ReloadOutcome};
use crate::{Engine, Running};

/// A policy that has been replaced, with what only it has used. Whoever holds this can drop it where that delays no request.
#[derive(Debug)]
#[must_use = "dropped here, a policy may be freed by the last request that uses it"]
pub struct Retired {
    running: Arc<Running>,
    swap: Duration,
}

impl Retired {
    /// Whether no request uses it any more.
    pub fn is_drained(&self) -> bool {
        Arc::strong_count(&self.running) == 1
    }

    /// Its generation.
    pub fn generation(&self) -> u64 {
        self.running.policy.generation
    }

    /// How long the exchange of the two policies took.
    pub fn swap(&self) -> Duration {
        self.swap
    }
}

/// The time that operators are told.
#[allow(clippy::disallowed_methods, reason = "shown to people and never compared")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

impl Engine {
    /// Makes a policy active, as the next generation, whatever its number was. Requests that have begun end with the policy
    /// before.
    pub fn replace_policy(&self, policy: ActivePolicy) -> Retired {
        // One at a time, so that generations only rise and no cached verdict is lost.
        let _one_at_a_time = self.replacing.lock();
        let before = self.running.load_full();
        let mut policy = policy;
        policy.generation = before.policy.generation + 1;
        policy.origin.since = now();
        let is_kept = |place: usize| {
            let predicate = policy.predicates.get(place)?;
            let is_same = |known: &crate::ActivePredicate| {
                known.name == predicate.name && Arc::ptr_eq(&known.module, &predicate.module)
            };
            before.policy.predicates.iter().position(is_same)
        };
        let kept: Vec<Option<usize>> = (0..policy.predicates.len()).map(is_kept).collect();
        let store = before.store.succeeded_by(&kept);
        let next = Arc::new(Running { policy: Arc::new(policy), store });
        let started = Instant::now();
        let running = self.running.swap(next);
        Retired { running, swap: started.elapsed() }
    }

    /// Notes that a document did not become active. Returns the time that it notes.
    pub fn note_refusal(&self, mut refusal: Refusal) -> SystemTime {
        refusal.at = now();
        let at = refusal.at;
        self.refusal.store(Some(Arc::new(refusal)));
        at
    }

    /// Notes how a reload ended that took so long.
    pub fn note_reload(&self, outcome: ReloadOutcome, took: Duration, swap: Option<Duration>) {
        let generation = self.policy().generation;
        self.last_reload.store(Some(Arc::new(LastReload { generation, at: now(), outcome, took, swap })));
    }

    /// The last reload; none since the start.
    pub fn last_reload(&self) -> Option<Arc<LastReload>> {
        self.last_reload.load_full()
    }

    /// The last refusal while this policy was active.
    pub fn refusal(&self, active: &ActivePolicy) -> Option<Arc<Refusal>> {
        self.refusal.load_full().filter(|refusal| refusal.generation == active.generation)
    }
}
