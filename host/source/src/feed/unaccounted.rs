//! Objects of which no account is known wait here until the accountant is asked again, with the backoff of changes that failed. What is
//! held of them counts meanwhile, and nothing else waits for them. Start at [`Unaccounted::follow`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::retry::backoff;
use crate::limits::FEED_UNACCOUNTED_TURN;
use nodesift_object::Kind;

/// A pod by its UID, or a node by its name.
pub(super) type AccountedId = (Kind, Arc<str>);

/// An object of which no account is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) id: AccountedId,
    /// `namespace/name` of a pod, the name of a node.
    pub(super) key: String,
    /// Why it is not known.
    pub(super) reason: Arc<str>,
}

#[derive(Debug)]
struct Waiting {
    key: String,
    reason: Arc<str>,
    failures: u32,
    due: Instant,
}

/// Objects without a known account, each with its reason and the time of its next attempt.
#[derive(Debug, Default)]
pub(super) struct Unaccounted {
    waiting: BTreeMap<AccountedId, Waiting>,
}

impl Unaccounted {
    /// Returns the objects whose next attempt is due, at most [`FEED_UNACCOUNTED_TURN`] of them.
    pub(super) fn due(&self, now: Instant) -> Vec<AccountedId> {
        let due = self.waiting.iter().filter(|(_, waiting)| waiting.due <= now);
        due.map(|(id, _)| id.clone()).take(FEED_UNACCOUNTED_TURN).collect()
    }

    /// When the next attempt is due; `None` where nothing waits.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }

    /// Number of objects without a known account.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// After a turn: these are not known, and `attempted` are those that have been attempted in it. Returns those that are new.
    pub(super) fn follow(&mut self, unknown: Vec<Unknown>, attempted: &[AccountedId], now: Instant) -> Vec<Unknown> {
        if unknown.is_empty() {
            self.waiting.clear();
            return Vec::new();
        }
        let mut before = std::mem::take(&mut self.waiting);
        let mut new = Vec::new();
        for one in unknown {
            let known = before.remove(&one.id);
            let waiting = match known {
                Some(waiting) if attempted.contains(&one.id) => {
                    let failures = waiting.failures.saturating_add(1);
                    Waiting { reason: Arc::clone(&one.reason), failures, due: now + backoff(failures), ..waiting }
                }
                Some(waiting) => Waiting { reason: Arc::clone(&one.reason), ..waiting },
                None => {
                    let (key, reason) = (one.key.clone(), Arc::clone(&one.reason));
                    new.push(one.clone());
                    Waiting { key, reason, failures: 1, due: now + backoff(1) }
                }
            };
            self.waiting.insert(one.id, waiting);
        }
        new
    }

    /// How many wait, in words for everybody; `None` where nothing does.
    pub(super) fn counts(&self) -> Option<String> {
        match self.waiting.len() {
            0 => None,
            1 => Some("the account of 1 object is not known".to_owned()),
            more => Some(format!("the accounts of {more} objects are not known")),
        }
    }

    /// Describes which accounts are not known and why, for operators; `None` where all are known.
    pub(super) fn remark(&self) -> Option<String> {
        let ((kind, _), Waiting { key, reason, .. }) = self.waiting.first_key_value()?;
        Some(match self.waiting.len() {
            1 => format!("the account of {kind} {key} is not known: {reason}"),
            more => format!("the accounts of {more} objects are not known, as that of {kind} {key}: {reason}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::limits::{FEED_RETRY_FIRST, FEED_RETRY_MOST};

    fn unknown(name: &str) -> Unknown {
        Unknown { id: (Kind::Pod, Arc::from(name)), key: format!("ns/{name}"), reason: Arc::from("it traps") }
    }

    #[test]
    fn an_attempt_that_fails_doubles_the_wait_of_its_object_alone() {
        let mut waiting = Unaccounted::default();
        let mut now = Instant::now();
        let both = || vec![unknown("a"), unknown("b")];
        assert_eq!(waiting.follow(both(), &[], now), both());
        assert_eq!(waiting.next_due(), Some(now + FEED_RETRY_FIRST));
        let mut wait = FEED_RETRY_FIRST;
        for _ in 0..20 {
            now += wait;
            assert!(waiting.due(now).contains(&unknown("a").id));
            assert_eq!(waiting.follow(both(), &[unknown("a").id], now), []);
            wait = (wait * 2).min(FEED_RETRY_MOST);
            assert!(!waiting.due(now + wait - Duration::from_millis(1)).contains(&unknown("a").id));
            assert!(waiting.due(now).contains(&unknown("b").id));
        }
        assert_eq!(wait, FEED_RETRY_MOST);
        let remark = "the accounts of 2 objects are not known, as that of Pod ns/a: it traps";
        assert_eq!(waiting.remark().as_deref(), Some(remark));
        assert_eq!(waiting.counts().as_deref(), Some("the accounts of 2 objects are not known"));
        // What is known again waits no more, and begins anew later.
        waiting.follow(vec![unknown("b")], &[], now);
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting.follow(both(), &[], now), [unknown("a")]);
        waiting.follow(Vec::new(), &[], now);
        assert_eq!((waiting.remark(), waiting.next_due()), (None, None));
    }

    #[test]
    fn one_turn_attempts_a_bounded_number() {
        let mut waiting = Unaccounted::default();
        let now = Instant::now();
        let many = (0..3 * FEED_UNACCOUNTED_TURN).map(|number| unknown(&format!("p{number:03}"))).collect();
        waiting.follow(many, &[], now);
        assert_eq!(waiting.due(now + FEED_RETRY_FIRST).len(), FEED_UNACCOUNTED_TURN);
    }
}
