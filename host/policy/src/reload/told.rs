//! Reports about the states of a policy's object: the outcome of each, which predicates are in quarantine since, and which miss facts.
//! Start at [`Told`].

use std::time::{Instant, SystemTime};

use super::object::{Attempt, AttemptOutcome, ObjectId, Quarantined};
use super::source::Source;
use crate::limits::QUARANTINE_SHOWN;
use nodesift_engine::ActivePolicy;

/// Last report about the object.
#[derive(Debug, Default)]
pub(super) struct Told {
    attempt: Option<Attempt>,
    /// Since when a predicate that was told to be in quarantine is not.
    mended: Option<Instant>,
}

impl Told {
    /// Whether anything was told.
    pub(super) fn is_any(&self) -> bool {
        self.attempt.is_some()
    }

    /// Whether it was about this state.
    pub(super) fn is_about(&self, object: Option<&ObjectId>) -> bool {
        self.attempt.as_ref().map(|told| &told.object) == object
    }

    /// Tells what became of a state of the object, if there is one. This policy is active now, with these warnings about the cluster.
    pub(super) fn tell(
        &mut self,
        (source, object): (&Source, Option<&ObjectId>),
        (policy, of_cluster): (&ActivePolicy, &[String]),
        outcome: AttemptOutcome,
        at: SystemTime,
    ) {
        let (Source::Object(followed), Some(object)) = (source, object) else { return };
        let (object, quarantined) = (object.clone(), Quarantined::from_policy(policy));
        let (kubernetes, warnings) = (policy.settings.kubernetes.describe(), all_warnings(policy, of_cluster));
        let policy_generation = policy.generation;
        let attempt = Attempt { object, policy_generation, kubernetes, outcome, at, quarantined, warnings };
        followed.tell(attempt.clone());
        *self = Self { attempt: Some(attempt), mended: None };
    }

    /// Tells which predicates of the active policy are in quarantine, where that is due, and which miss other facts than was told.
    pub(super) fn look(&mut self, source: &Source, policy: &ActivePolicy, of_cluster: &[String], now: Instant) {
        let (Source::Object(followed), Some(told)) = (source, &mut self.attempt) else { return };
        let found = Quarantined::from_policy(policy);
        let warnings = all_warnings(policy, of_cluster);
        if is_due(&told.quarantined, &found, &mut self.mended, now) || told.warnings != warnings {
            (told.quarantined, told.warnings) = (found, warnings);
            followed.tell(told.clone());
        }
    }
}

/// Warnings about the policy, and after them those about the cluster.
fn all_warnings(policy: &ActivePolicy, of_cluster: &[String]) -> Vec<String> {
    policy.warnings().into_iter().chain(of_cluster.iter().cloned()).collect()
}

/// Whether other predicates are to be told than those that were: another one at once, and the end of a quarantine after a while.
fn is_due(told: &[Quarantined], found: &[Quarantined], mended: &mut Option<Instant>, now: Instant) -> bool {
    let lacks = |some: &[Quarantined], others: &[Quarantined]| {
        some.iter().any(|one| others.iter().all(|other| other.predicate != one.predicate))
    };
    let is_due = match (lacks(found, told), lacks(told, found)) {
        (true, _) => true,
        (false, true) => {
            let since = *mended.get_or_insert(now);
            now.duration_since(since) >= QUARANTINE_SHOWN
        }
        (false, false) => {
            *mended = None;
            false
        }
    };
    if is_due {
        *mended = None;
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn those(names: &[&str]) -> Vec<Quarantined> {
        let one = |name: &&str| Quarantined { predicate: (*name).to_owned(), last_fault: String::new() };
        names.iter().map(one).collect()
    }

    #[test]
    fn another_quarantine_is_told_at_once_and_the_end_of_one_after_a_while() {
        let (start, mut mended) = (Instant::now(), None);
        let mut after =
            |told: &[&str], found: &[&str], time| is_due(&those(told), &those(found), &mut mended, start + time);
        let (now, long) = (QUARANTINE_SHOWN / 10, QUARANTINE_SHOWN);
        assert!(!after(&[], &[], now));
        assert!(after(&[], &["a"], now));
        assert!(!after(&["a"], &["a"], now));
        assert!(after(&["a"], &["a", "b"], now));
        assert!(!after(&["a", "b"], &["b"], now));
        assert!(!after(&["a", "b"], &["b"], now + long / 2));
        assert!(after(&["a", "b"], &["b"], now + long));
        // It comes back before its end was told.
        assert!(!after(&["b"], &[], 2 * long));
        assert!(!after(&["b"], &["b"], 2 * long + now));
        assert!(!after(&["b"], &[], 3 * long));
        assert!(after(&["b"], &[], 4 * long));
        // One for another.
        assert!(after(&["b"], &["c"], 4 * long));
    }
}
