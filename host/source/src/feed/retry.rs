//! Retries: changes that failed wait here for their next attempt, with exponential backoff from [`FEED_RETRY_FIRST`] to
//! [`FEED_RETRY_MOST`]. No other object waits for them. Start at [`Retries`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::queue::{Merged, merge};
use crate::change::{Identity, ObjectChange, ObjectId};
use crate::limits::{FEED_RETRY_FIRST, FEED_RETRY_MOST};
use nodesift_object::Kind;
use nodesift_object::version::is_newer;

/// A change that failed.
#[derive(Debug)]
struct Waiting {
    change: ObjectChange,
    /// Number of attempts that have failed.
    failures: u32,
    due: Instant,
}

/// Changes that failed, by object.
#[derive(Debug, Default)]
pub(super) struct Retries {
    waiting: FxHashMap<ObjectId, Waiting>,
}

impl Retries {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a retry of a kind waits that would change what is held: a recount would not.
    pub(super) fn waits_for(&self, kind: Kind) -> bool {
        let is_change = |change: &ObjectChange| !matches!(change, ObjectChange::Requeued(_));
        self.waiting.iter().any(|((of, _), waiting)| *of == kind && is_change(&waiting.change))
    }

    /// When the next attempt is due; `None` where nothing waits.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }

    /// Takes out what waits for the object of a change and merges the two. Returns what to attempt now, how often it has
    /// failed, and how it was merged.
    pub(super) fn supersede(&mut self, change: ObjectChange) -> (ObjectChange, u32, Option<Merged>) {
        if self.waiting.is_empty() {
            return (change, 0, None);
        }
        let Some(Waiting { change: mut waiting, failures, .. }) = self.waiting.remove(&change.id()) else {
            return (change, 0, None);
        };
        let merged = merge(&mut waiting, change);
        (waiting, failures, Some(merged))
    }

    /// Takes out what is due, each with how often it has failed.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<(ObjectChange, u32)> {
        self.waiting
            .extract_if(|_, waiting| waiting.due <= now)
            .map(|(_, waiting)| (waiting.change, waiting.failures))
            .collect()
    }

    /// Takes out what a list replaces: all that waits of its kind, except what is newer than the list and what `stays`, of
    /// which the list shows nothing readable. Returns it by UID: these objects may be half applied, so the list must repair
    /// them even where their version is held.
    pub(super) fn replace(
        &mut self,
        kind: Kind,
        version: &str,
        stays: impl Fn(&Identity) -> bool,
    ) -> FxHashMap<Arc<str>, Identity> {
        let is_kept = |identity: &Identity| is_newer(&identity.version, version) || stays(identity);
        let replaced =
            self.waiting.extract_if(|(of, _), waiting| *of == kind && !waiting.change.identity().is_some_and(is_kept));
        replaced.filter_map(|((_, uid), waiting)| Some((uid, waiting.change.identity()?.clone()))).collect()
    }

    /// Adds a change that has failed, for the `failures`th time; returns the backoff until its next attempt.
    pub(super) fn put(&mut self, change: ObjectChange, failures: u32, now: Instant) -> Duration {
        let delay = backoff(failures);
        self.waiting.insert(change.id(), Waiting { change, failures, due: now + delay });
        delay
    }

    /// Describes how many objects wait for a retry; `None` where none does.
    pub(super) fn counts(&self) -> Option<String> {
        match self.waiting.len() {
            0 => None,
            1 => Some("1 object is retried".to_owned()),
            more => Some(format!("{more} objects are retried")),
        }
    }

    /// Describes what waits as [`Self::counts`] does, with the object that has failed most often.
    pub(super) fn remark(&self) -> Option<String> {
        let worst = self.waiting.iter().max_by_key(|(id, waiting)| (waiting.failures, std::cmp::Reverse(*id)))?;
        let ((kind, uid), waiting) = worst;
        let key = waiting.change.identity().map_or(uid, |identity| &identity.key);
        Some(match self.waiting.len() {
            1 => format!("1 object is retried: {kind} {key}"),
            more => format!("{more} objects are retried, {kind} {key} most often"),
        })
    }
}

/// The wait after so many failures.
pub(super) fn backoff(failures: u32) -> Duration {
    let delay = FEED_RETRY_FIRST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    delay.min(FEED_RETRY_MOST)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_a_minute_and_then_stays() {
        let mut retries = Retries::default();
        let now = Instant::now();
        let waits: Vec<Duration> = (1..=40)
            .map(|failures| retries.put(ObjectChange::Requeued((Kind::Pod, Arc::from("u"))), failures, now))
            .collect();
        assert_eq!(waits.first(), Some(&Duration::from_millis(100)));
        assert!(
            waits
                .windows(2)
                .all(|pair| pair.last().unwrap() == &(pair.first().unwrap().saturating_mul(2)).min(FEED_RETRY_MOST))
        );
        assert_eq!(waits.last(), Some(&Duration::from_secs(60)));
        assert_eq!(retries.next_due(), Some(now + Duration::from_secs(60)));
        assert!(retries.take_due(now + Duration::from_secs(59)).is_empty());
        assert_eq!(retries.take_due(now + Duration::from_secs(60)).len(), 1);
        assert_eq!(retries.remark(), None);
    }
}
