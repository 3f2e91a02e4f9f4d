//! The last reloads, for those who ask what has changed when. Start at [`Reloads::note`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use super::last_reload::{LastReload, ReloadOutcome};
use super::refusal::{Refusal, StepFailure};
use super::{ActivePolicy, ActivePredicate};
use crate::limits::{RELOAD_FAILURES_KEPT, RELOADS_KEPT};
use crate::scores::{KnownScorers, ScorerChanges};

/// A reload that has ended, and what it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastReload {
    /// Time, generation and result of the reload.
    pub reload: LastReload,
    /// Attempts after it that were refused for the same reasons; `reload` is the last of them.
    pub repeats: u32,
    /// Source of the policy that is active after it, or of the refused document.
    pub source: String,
    /// `metadata.name` of the policy that is active after it; empty where its document has none.
    pub name: String,
    /// Names of predicates that the active policy has since then and had not before, in policy order.
    pub added: Vec<Arc<str>>,
    /// Names of predicates that it had before and has no more, sorted.
    pub removed: Vec<Arc<str>>,
    /// Names of predicates whose component is another one since then, in policy order.
    pub replaced: Vec<Arc<str>>,
    /// Changes of its scorers.
    pub scorers: ScorerChanges,
    /// Why the document was refused, or the policy rolled back: the first [`RELOAD_FAILURES_KEPT`].
    pub failures: Vec<StepFailure>,
    /// Number of failures beyond those.
    pub unlisted: usize,
}

/// The last [`RELOADS_KEPT`] reloads.
#[derive(Debug)]
pub(crate) struct Reloads(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    /// Components of the active policy, by the name of the predicate.
    active: BTreeMap<Arc<str>, [u8; 32]>,
    scorers: KnownScorers,
    /// The last one at the back.
    past: VecDeque<PastReload>,
}

impl Reloads {
    /// None so far, with the first policy of the process.
    pub(crate) fn new(policy: &ActivePolicy) -> Self {
        let (active, scorers) = (components(policy), KnownScorers::new(policy));
        Self(Mutex::new(Kept { active, scorers, past: VecDeque::new() }))
    }

    /// Notes a reload, after which this policy is active. `refusal` is why it was refused or rolled back.
    pub(crate) fn note(&self, reload: LastReload, policy: &ActivePolicy, refusal: Option<&Refusal>) {
        let refusal = refusal.filter(|_| reload.outcome != ReloadOutcome::Active);
        let listed = refusal.map_or(&[][..], |refusal| refusal.failures.as_slice());
        let failures: Vec<StepFailure> = listed.iter().take(RELOAD_FAILURES_KEPT).cloned().collect();
        let unlisted = refusal.map_or(0, |refusal| refusal.unlisted) + listed.len() - failures.len();
        let mut kept = self.0.lock();
        if let Some(last) = kept.past.back_mut()
            && (last.reload.outcome, reload.outcome) == (ReloadOutcome::Refused, ReloadOutcome::Refused)
            && last.reload.generation == reload.generation
            && (&last.failures, last.unlisted) == (&failures, unlisted)
        {
            last.reload = reload;
            last.repeats = last.repeats.saturating_add(1);
            return;
        }
        let before = std::mem::replace(&mut kept.active, components(policy));
        let scorers_before = std::mem::replace(&mut kept.scorers, KnownScorers::new(policy));
        let named = |is_meant: &dyn Fn(&ActivePredicate) -> bool| {
            let predicates = policy.predicates.iter().filter(|predicate| is_meant(predicate));
            predicates.map(|predicate| Arc::clone(&predicate.name)).collect()
        };
        let past = PastReload {
            added: named(&|predicate| !before.contains_key(&predicate.name)),
            removed: before.keys().filter(|name| !kept.active.contains_key(*name)).cloned().collect(),
            replaced: named(&|predicate| before.get(&predicate.name).is_some_and(|digest| *digest != predicate.digest)),
            scorers: scorers_before.changes(policy),
            source: refusal.map_or(&policy.origin.source, |refusal| &refusal.source).clone(),
            name: policy.origin.name.clone(),
            reload,
            repeats: 0,
            failures,
            unlisted,
        };
        if kept.past.len() >= RELOADS_KEPT {
            kept.past.pop_front();
        }
        kept.past.push_back(past);
    }

    /// The last reloads, the newest first.
    pub(crate) fn list(&self) -> Vec<PastReload> {
        self.0.lock().past.iter().rev().cloned().collect()
    }
}

fn components(policy: &ActivePolicy) -> BTreeMap<Arc<str>, [u8; 32]> {
    policy.predicates.iter().map(|predicate| (Arc::clone(&predicate.name), predicate.digest)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn reload(outcome: ReloadOutcome, generation: u64) -> LastReload {
        let (at, took) = (SystemTime::UNIX_EPOCH, Duration::from_millis(3));
        LastReload { generation, at, outcome, took, steps: Vec::new(), swap: None, trial: None }
    }

    fn refusal(reasons: &[&str]) -> Refusal {
        let failure = |reason: &&str| StepFailure { step: "read", predicate: None, reason: (*reason).to_owned() };
        let failures = reasons.iter().map(failure).collect();
        Refusal { generation: 1, at: SystemTime::UNIX_EPOCH, source: "new.yaml".to_owned(), failures, unlisted: 0 }
    }

    #[test]
    fn a_reason_that_comes_again_is_counted_and_not_listed_again() {
        let policy = ActivePolicy::new(Vec::new(), Vec::new());
        let reloads = Reloads::new(&policy);
        for reasons in [&["a"][..], &["a"], &["a"], &["b"], &["a"]] {
            reloads.note(reload(ReloadOutcome::Refused, 1), &policy, Some(&refusal(reasons)));
        }
        reloads.note(reload(ReloadOutcome::Active, 2), &policy, Some(&refusal(&["a"])));
        let listed = reloads.list();
        let found: Vec<_> =
            listed.iter().map(|past| (past.reload.outcome, past.repeats, past.failures.len())).collect();
        let refused = ReloadOutcome::Refused;
        assert_eq!(found, [(ReloadOutcome::Active, 0, 0), (refused, 0, 1), (refused, 0, 1), (refused, 2, 1)]);
        assert_eq!((&*listed[1].source, &*listed[0].source), ("new.yaml", ""));
    }

    #[test]
    fn reloads_and_their_failures_are_bounded() {
        let policy = ActivePolicy::new(Vec::new(), Vec::new());
        let reloads = Reloads::new(&policy);
        for number in 0..200 {
            let text = number.to_string();
            let reasons = vec![text.as_str(); 10];
            reloads.note(reload(ReloadOutcome::Refused, 1), &policy, Some(&refusal(&reasons)));
        }
        let listed = reloads.list();
        assert_eq!(listed.len(), RELOADS_KEPT);
        assert_eq!((listed[0].failures[0].reason.as_str(), listed[0].failures.len()), ("199", RELOAD_FAILURES_KEPT));
        assert_eq!(listed[0].unlisted, 10 - RELOAD_FAILURES_KEPT);
    }
}
