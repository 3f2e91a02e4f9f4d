//! What could not be applied waits here for its next try: 100 ms, doubling to a minute. Nothing else waits for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::queue::{Merged, ObjectId, Work, merge};
use crate::change::Identity;
use crate::limits::{FEED_RETRY_FIRST, FEED_RETRY_MOST};
use nodesift_object::Kind;
use nodesift_object::version::is_newer;

#[derive(Debug)]
struct Waiting {
    work: Work,
    /// How often it failed.
    failures: u32,
    due: Instant,
}

/// Work that has failed, by object.
#[derive(Debug, Default)]
pub(super) struct Retries {
    waiting: FxHashMap<ObjectId, Waiting>,
}

impl Retries {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a change of an object of a kind waits.
    pub(super) fn waits_for(&self, kind: Kind) -> bool {
        let is_change = |work: &Work| !matches!(work, Work::Again(_));
        self.waiting.iter().any(|((of, _), waiting)| *of == kind && is_change(&waiting.work))
    }

    /// When the next try is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }

    /// Takes out what waits for an object and merges newer work into it: what to try now, and how often it has failed.
    pub(super) fn supersede(&mut self, work: Work) -> (Work, u32, Option<Merged>) {
        if self.waiting.is_empty() {
            return (work, 0, None);
        }
        let Some(Waiting { work: mut waiting, failures, .. }) = self.waiting.remove(&work.id()) else {
            return (work, 0, None);
        };
        let merged = merge(&mut waiting, work);
        (waiting, failures, Some(merged))
    }

    /// Takes out what is due, with how often it has failed.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<(Work, u32)> {
        self.waiting
            .extract_if(|_, waiting| waiting.due <= now)
            .map(|(_, waiting)| (waiting.work, waiting.failures))
            .collect()
    }

    /// A whole list stands for what waits of its kind and is not newer than the list, but for what stays: what the list says
    /// nothing of. Returns by UID what the list must make right although its version may be held.
    pub(super) fn replace(
        &mut self,
        kind: Kind,
        version: &str,
        stays: impl Fn(&Identity) -> bool,
    ) -> FxHashMap<Arc<str>, Identity> {
        let is_kept = |identity: &Identity| is_newer(&identity.version, version) || stays(identity);
        let replaced =
            self.waiting.extract_if(|(of, _), waiting| *of == kind && !waiting.work.identity().is_some_and(is_kept));
        // It may be half there, or what it was to take the place of may be there still, and nobody else knows of it.
        replaced.filter_map(|((_, uid), waiting)| Some((uid, waiting.work.identity()?.clone()))).collect()
    }

    /// Puts work back that has failed once more; returns for how long it waits.
    pub(super) fn put(&mut self, work: Work, failures: u32, now: Instant) -> Duration {
        let delay = FEED_RETRY_FIRST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        let delay = delay.min(FEED_RETRY_MOST);
        self.waiting.insert(work.id(), Waiting { work, failures, due: now + delay });
        delay
    }

    /// What is wrong, for people; none where nothing waits.
    pub(super) fn remark(&self) -> Option<String> {
        let worst = self.waiting.iter().max_by_key(|(id, waiting)| (waiting.failures, std::cmp::Reverse(*id)))?;
        let ((kind, uid), waiting) = worst;
        let key = waiting.work.identity().map_or(uid, |identity| &identity.key);
        Some(match self.waiting.len() {
            1 => format!("1 object is retried: {kind} {key}"),
            more => format!("{more} objects are retried, {kind} {key} the most often"),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_minute_and_then_stays() {
        let mut retries = Retries::default();
        let now = Instant::now();
        let waits: Vec<Duration> =
            (1..=40).map(|failures| retries.put(Work::Again((Kind::Pod, Arc::from("u"))), failures, now)).collect();
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
