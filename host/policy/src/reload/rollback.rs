//! Back to the policy before, once the active one has brought a predicate or scorer that is put in quarantine. Start at
//! [`Predecessor::rollback`].

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use crate::limits::ROLLBACK_PROOF;
use nodesift_engine::{ActivePolicy, ActivePredicate, Quarantine, Refusal, StepFailure};

/// The policy before the active one, which may be rolled back to it. Its modules stay loaded meanwhile, and what they read stays
/// followed.
#[derive(Debug)]
pub(super) struct Predecessor<T> {
    before: Arc<ActivePolicy>,
    held: Arc<T>,
    /// The generation of its successor, and since when that is active.
    successor: u64,
    since: Instant,
}

/// A policy to go back to, and why.
#[derive(Debug)]
pub(super) struct Rollback<T> {
    pub(super) policy: ActivePolicy,
    pub(super) held: Arc<T>,
    pub(super) refusal: Refusal,
}

impl<T> Predecessor<T> {
    /// The policy before, if the active one wants to be rolled back. `known` is that of the policy before: it is kept where that
    /// was active for too short a time to show whether its predicates fail.
    pub(super) fn new(
        known: Option<Self>,
        (before, held): (Arc<ActivePolicy>, Arc<T>),
        active: &ActivePolicy,
    ) -> Option<Self> {
        if !active.settings.rollback_on_quarantine {
            return None;
        }
        let unproven =
            known.filter(|known| known.successor == before.generation && known.since.elapsed() < ROLLBACK_PROOF);
        if unproven.is_none() && is_same_but_for_version(&before, active) {
            return None;
        }
        let (before, held) = unproven.map_or((before, held), |known| (known.before, known.held));
        Some(Self { before, held, successor: active.generation, since: Instant::now() })
    }

    /// Whether this is the policy to go back to.
    pub(super) fn is(&self, policy: &Arc<ActivePolicy>) -> bool {
        Arc::ptr_eq(&self.before, policy)
    }

    /// Returns the policy to go back to, if a predicate or scorer of the active policy is in quarantine that the policy before does not have.
    /// One that both have would be no better there.
    pub(super) fn rollback(&self, active: &ActivePolicy) -> Option<Rollback<T>> {
        if active.generation != self.successor {
            return None;
        }
        let predicates = active.predicates.iter();
        let predicates = predicates.filter(|predicate| is_new(predicate, self.before.predicates.iter()));
        let scorers = active.scorers.iter().map(|scorer| &scorer.component);
        let scorers = scorers.filter(|scorer| is_new(scorer, self.before.scorers.iter().map(|known| &known.component)));
        let components = predicates.map(|predicate| ("predicate", predicate));
        let components = components.chain(scorers.map(|scorer| ("scorer", scorer)));
        let mut quarantined = components.filter_map(|(role, component)| {
            let Quarantine { last_fault, .. } = component.breaker.quarantine()?;
            let reason = format!(
                "generation {} was rolled back: {role} {} failed too often; its last fault: {last_fault}",
                active.generation, component.name
            );
            Some(StepFailure { step: "quarantine", predicate: Some(component.name.to_string()), reason })
        });
        let failures = vec![quarantined.next()?];
        let source = active.origin.source.clone();
        let refusal =
            Refusal { generation: 0, at: SystemTime::UNIX_EPOCH, source, failures, unlisted: quarantined.count() };
        Some(Rollback { policy: (*self.before).clone(), held: Arc::clone(&self.held), refusal })
    }
}

/// Whether none of the known components has the same module.
fn is_new<'a>(component: &ActivePredicate, mut known: impl Iterator<Item = &'a ActivePredicate>) -> bool {
    known.all(|known| !Arc::ptr_eq(&known.module, &component.module))
}

/// Whether two policies are one document under two versions of Kubernetes. Going back would only leave the version of the server.
fn is_same_but_for_version(before: &ActivePolicy, active: &ActivePolicy) -> bool {
    before.origin.document == active.origin.document && before.settings.kubernetes != active.settings.kubernetes
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodesift_engine::{KubernetesVersion, PolicySettings};

    fn policy(generation: u64, document: &str, version: &str) -> Arc<ActivePolicy> {
        let mut policy = ActivePolicy::new(Vec::new(), Vec::new());
        let kubernetes = KubernetesVersion { version: version.into(), ..KubernetesVersion::default() };
        policy.settings =
            Arc::new(PolicySettings { rollback_on_quarantine: true, kubernetes, ..PolicySettings::default() });
        (policy.generation, policy.origin.document) = (generation, document.into());
        Arc::new(policy)
    }

    #[test]
    fn a_version_is_not_gone_back_from_and_keeps_the_way_back_to_another_document() {
        let policies = [policy(1, "a", "1.36"), policy(2, "a", "1.37"), policy(3, "b", "1.37"), policy(4, "b", "1.36")];
        let [first, other_version, other_document, both] = &policies;
        let to = |known, before: &Arc<ActivePolicy>, active| {
            Predecessor::new(known, (Arc::clone(before), Arc::new(())), active)
        };
        assert!(to(None, first, other_version).is_none());
        let known = to(None, other_version, other_document);
        assert!(known.as_ref().is_some_and(|known| known.is(other_version)));
        assert!(to(known, other_document, both).is_some_and(|known| known.is(other_version)));
        assert!(to(None, other_document, both).is_none());
    }
}
