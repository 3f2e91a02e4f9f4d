//! The applier: brings a batch of changes into the cache, object by object, and publishes one snapshot of all of them.
//!
//! Start at [`Applier::turn`]. The clock is an argument, so that backoff is tested without waiting. An error or a panic while
//! an object is applied concerns that object only: it is retried later, and no other object waits for it.
//!
//! The target stays locked for a whole turn. Since changes of one object were merged, a part of a batch is a state in which
//! the cluster has never been, and no other holder of the writer may publish it. A turn is about ten objects on a busy
//! cluster. A turn that catches up with 10,000 objects, at one to two microseconds each, holds the lock for 20 ms, or twice
//! that where every core is busy. Answers do not wait for it: they read published snapshots, and the applier yields the core
//! to them every [`YIELD_PERIOD`](crate::limits::YIELD_PERIOD).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ledger::{Evidence, Ledger, VersionCheck};
use super::metrics::Metrics;
use super::perform::{check, perform, unlisted};
use super::pulse::Pulse;
use super::queue::{Batch, Merged, Round, Step};
use super::retry::Retries;
use super::target::{ApplyError, Target};
use super::unaccounted::{AccountedId, Unaccounted};
use crate::change::{Compiled, Identity, ObjectChange, ObjectId, Record};
use crate::limits::{FEED_ERRORS_LOGGED, FEED_PULSE, FEED_RETRY_FIRST};
use crate::yield_budget::YieldBudget;
use nodesift_object::Kind;
use nodesift_object::version::advance;

/// Kinds whose first lists are the state at the start: which pods are on which nodes.
const START_KINDS: [Kind; 2] = [Kind::Node, Kind::Pod];

/// Objects and kinds that a turn has published.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Published {
    /// Objects that were applied or removed.
    pub(super) changed: Vec<ObjectId>,
    /// Kinds of whose first list every object has now been applied.
    pub(super) synced: Vec<Kind>,
}

/// Applies changes to a target, which it locks for a turn at a time.
#[derive(Debug)]
pub(super) struct Applier<T> {
    target: Arc<Mutex<T>>,
    ledger: Arc<Mutex<Ledger>>,
    retries: Retries,
    unaccounted: Unaccounted,
    /// Per kind the UIDs of its first list that are not applied yet.
    unsynced: FxHashMap<Kind, FxHashSet<Arc<str>>>,
    /// Kinds of whose first list every object has been applied.
    synced: FxHashSet<Kind>,
    /// Per kind the round that has begun; absent in the first.
    rounds: FxHashMap<Kind, Round>,
    /// Objects and kinds that are applied and not published yet.
    unpublished: Published,
    /// Per kind the resourceVersion up to which everything is applied, except what waits for a retry.
    versions: FxHashMap<Kind, Arc<str>>,
    /// When a publication that failed is attempted again.
    publish_due: Option<Instant>,
    metrics: Metrics,
    /// Failures logged in this turn.
    logged: usize,
    budget: YieldBudget,
    pulse: Arc<Pulse>,
}

impl<T: Target> Applier<T> {
    /// An applier that has applied nothing yet.
    pub(super) fn new(target: Arc<Mutex<T>>, ledger: Arc<Mutex<Ledger>>, metrics: Metrics) -> Self {
        Self {
            target,
            ledger,
            retries: Retries::default(),
            unaccounted: Unaccounted::default(),
            unsynced: FxHashMap::default(),
            synced: FxHashSet::default(),
            rounds: FxHashMap::default(),
            unpublished: Published::default(),
            versions: FxHashMap::default(),
            publish_due: None,
            metrics,
            logged: 0,
            budget: YieldBudget::default(),
            pulse: Arc::default(),
        }
    }

    /// Returns the applier with this heartbeat.
    pub(super) fn beating(self, pulse: Arc<Pulse>) -> Self {
        Self { pulse, ..self }
    }

    /// Applies a batch and every retry that is due, then publishes. Where publishing fails, what was applied is reported by
    /// the turn that publishes it.
    pub(super) fn turn(&mut self, batch: Batch, now: Instant) -> Published {
        let target = Arc::clone(&self.target);
        let ledger = Arc::clone(&self.ledger);
        let mut ledger = ledger.lock();
        self.logged = 0;
        let again = self.account_anew(&batch, &ledger, now);
        {
            // Another holder may need it for long: this thread is alive all the same, but publishes nothing.
            let mut target = loop {
                match target.try_lock_for(FEED_PULSE) {
                    Some(target) => break target,
                    None => self.pulse.beat(false),
                }
            };
            self.budget.begin();
            for step in batch.steps {
                match step {
                    Step::Object(change) => {
                        self.merge_and_attempt(change, Evidence::Event, &mut ledger, &mut target, now);
                    }
                    Step::Replaced { kind, objects, version, round, is_restored } => {
                        let is_recompiled = self.begin(kind, round);
                        if is_restored {
                            self.versions.remove(&kind);
                            ledger.forget_versions(kind, &target.pods());
                            target.forget_version(kind);
                        }
                        let how = match (is_restored, ledger.is_newest_list(kind, &version)) {
                            (true, _) => Evidence::Restored,
                            (false, true) if is_recompiled => Evidence::Audit,
                            (false, true) => Evidence::List,
                            (false, false) => Evidence::Event,
                        };
                        self.replace((kind, how), objects, &version, &mut ledger, &mut target, now);
                    }
                    Step::Dropped { kind, round } => {
                        self.begin(kind, round);
                        self.drop_kind(kind, &mut ledger, &mut target, now);
                    }
                }
            }
            for (change, failures) in self.retries.take_due(now) {
                self.attempt(change, failures, Evidence::List, &mut ledger, &mut target, now);
            }
            again.iter().for_each(|id| target.account_again(id));
            self.follow_unaccounted(&target, &again, now);
            self.observe(batch.versions, &mut target);
            self.publish(&mut target, now);
            self.measure(&ledger, &target);
            // Calls that wait for the writer get it before the next turn.
            MutexGuard::unlock_fair(target);
        }
        if self.publish_due.is_some() { Published::default() } else { std::mem::take(&mut self.unpublished) }
    }

    /// Metrics of the feed.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How often the core was yielded.
    #[cfg(test)]
    pub(super) fn yields(&self) -> u64 {
        self.budget.yields()
    }

    /// When a retry is due; `None` where none waits.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.retries.next_due().into_iter().chain(self.unaccounted.next_due()).chain(self.publish_due).min()
    }

    /// Beats while nothing is to be done. Publication needs the writer, which nobody holds for as long as this waits for it.
    pub(super) fn rest(&self) {
        let publishes = self.publish_due.is_none() && self.target.try_lock_for(FEED_PULSE).is_some();
        self.pulse.beat(publishes);
    }

    /// Describes what is wrong at the moment, for operators: retries, a publication that failed, accounts that are not known. `None` where
    /// nothing is.
    pub(super) fn remark(&self) -> Option<String> {
        self.joined(self.retries.remark(), self.unaccounted.remark())
    }

    /// Describes what is wrong as [`Self::remark`] does, without the names of objects.
    pub(super) fn counts(&self) -> Option<String> {
        self.joined(self.retries.counts(), self.unaccounted.counts())
    }

    fn joined(&self, retried: Option<String>, unaccounted: Option<String>) -> Option<String> {
        let unpublished = self.publish_due.map(|_| "publishing is retried".to_owned());
        let remarks: Vec<String> = retried.or(unpublished).into_iter().chain(unaccounted).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    /// Has the accountant account anew for objects that are to be looked at again, and for those whose retry is due, without the
    /// target's lock. Returns them.
    fn account_anew(&self, batch: &Batch, ledger: &Ledger, now: Instant) -> Vec<AccountedId> {
        let mut again = self.unaccounted.due(now);
        again.extend(batch.steps.iter().filter_map(|step| match step {
            Step::Object(ObjectChange::Requeued((Kind::Pod, uid))) => Some((Kind::Pod, Arc::clone(uid))),
            Step::Object(ObjectChange::Requeued((Kind::Node, uid))) => {
                let mut nodes = ledger.all(Kind::Node);
                nodes.find(|(_, held)| held.uid == *uid).map(|(name, _)| (Kind::Node, Arc::clone(name)))
            }
            _ => None,
        }));
        for id in &again {
            let work = self.target.lock().forgetting(id);
            self.pulse.beat(self.publish_due.is_none());
            // What the accountant does wrong is its own fault; a panic would be a defect of this program, and must not end the feed.
            if work.is_some_and(|work| catch_unwind(AssertUnwindSafe(work)).is_err()) {
                self.metrics.panics.inc();
            }
        }
        again
    }

    /// Follows which accounts are not known after a turn in which these were attempted.
    fn follow_unaccounted(&mut self, target: &T, attempted: &[AccountedId], now: Instant) {
        let new = self.unaccounted.follow(target.unaccounted(), attempted, now);
        for unknown in new.iter().take(FEED_ERRORS_LOGGED) {
            let ((kind, _), key, reason) = (&unknown.id, &unknown.key, &unknown.reason);
            tracing::warn!(%kind, %key, %reason, "account not known");
        }
        if new.len() > FEED_ERRORS_LOGGED {
            tracing::warn!(objects = new.len(), "more accounts not known; not logged one by one in this turn");
        }
        self.metrics.unaccounted.set(gauge(self.unaccounted.len()));
    }

    /// Has the target note the versions that are reached, for kinds of which nothing waits for a retry: a snapshot that names
    /// a resourceVersion shows everything up to it.
    fn observe(&mut self, versions: Vec<(Kind, Arc<str>)>, target: &mut T) {
        for (kind, version) in versions {
            advance(self.versions.entry(kind).or_default(), &version);
        }
        self.versions.retain(|kind, version| {
            let waits = self.retries.waits_for(*kind);
            if !waits {
                target.observe(*kind, version);
            }
            waits
        });
    }

    /// The round of a kind that has begun.
    pub(super) fn round(&self, kind: Kind) -> Round {
        self.rounds.get(&kind).copied().unwrap_or_default()
    }

    /// Begins a round of a kind: it is not synced any more. Returns false where this round has begun already.
    fn begin(&mut self, kind: Kind, round: Round) -> bool {
        if self.round(kind) == round {
            return false;
        }
        self.rounds.insert(kind, round);
        self.unsynced.remove(&kind);
        self.synced.remove(&kind);
        self.unpublished.synced.retain(|synced| *synced != kind);
        true
    }

    /// Removes everything of a kind, and forgets its versions.
    fn drop_kind(&mut self, kind: Kind, ledger: &mut Ledger, target: &mut T, now: Instant) {
        self.versions.remove(&kind);
        // Without a version they leave no tombstones.
        let (version, listed): (Arc<str>, FxHashSet<Arc<str>>) = (Arc::default(), FxHashSet::default());
        // Of what waits for a retry a half may be held.
        let half_applied = self.retries.replace(kind, &version, |_| false).into_values();
        let half_applied: Vec<Identity> =
            half_applied.map(|identity| Identity { version: Arc::clone(&version), ..identity }).collect();
        let held = unlisted(kind, &version, &listed, ledger, target, &|| self.pulse.beat(self.publish_due.is_none()));
        for identity in held.into_iter().chain(half_applied) {
            self.attempt(ObjectChange::Deleted(identity), 0, Evidence::List, ledger, target, now);
        }
        ledger.forget(kind);
        // What could not be removed is still there, at a version that says nothing.
        ledger.forget_versions(kind, &target.pods());
    }

    /// Applies a list: its objects are applied, and what is held, not listed and not newer than the list is removed.
    fn replace(
        &mut self,
        (kind, evidence): (Kind, Evidence),
        objects: Vec<Compiled>,
        version: &Arc<str>,
        ledger: &mut Ledger,
        target: &mut T,
        now: Instant,
    ) {
        let is_restored = evidence == Evidence::Restored;
        // Up to which version what is held, or waits for a retry, is replaced; whatever it is, where that is empty.
        let up_to: &Arc<str> = if is_restored { &Arc::default() } else { version };
        // They exist, so what is held of them and what waits for a retry stays; unless it is of a history that is no more.
        let is_unreadable = |object: &&Compiled| matches!(object.record, Record::Unreadable) && !is_restored;
        let unreadable = objects.iter().filter(is_unreadable);
        let unreadable: FxHashSet<Arc<str>> = unreadable.map(|object| Arc::clone(&object.identity.key)).collect();
        let mut failed_before =
            self.retries.replace(kind, up_to, |identity: &Identity| unreadable.contains(&identity.key));
        let mut failed = FxHashSet::default();
        let mut without_uid: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut listed: FxHashSet<Arc<str>> = FxHashSet::default();
        listed.reserve(objects.len());
        for object in objects {
            if is_restored && matches!(object.record, Record::Unreadable) {
                continue;
            }
            let uid = Arc::clone(&object.identity.uid);
            listed.insert(Arc::clone(&uid));
            if matches!(object.record, Record::Unreadable) {
                // Without a UID it may be any object that is held under its key.
                if object.is_without_uid() {
                    without_uid.insert(object.identity.key);
                }
                continue;
            }
            if matches!(evidence, Evidence::List | Evidence::Audit) {
                let identity = &object.identity;
                let pod = (kind == Kind::Pod).then(|| target.pod(&identity.uid, &identity.key)).flatten();
                ledger.void_where_contradicted(identity, pod.as_deref(), version);
            }
            let change = match failed_before.remove(&uid) {
                Some(_) => ObjectChange::Repaired(object),
                None => ObjectChange::Applied(object),
            };
            if !self.merge_and_attempt(change, evidence, ledger, target, now) {
                failed.insert(uid);
            }
        }
        let deleted = unlisted(kind, up_to, &listed, ledger, target, &|| self.pulse.beat(self.publish_due.is_none()));
        // Of an object that failed and is not listed a half may be held, or the object that it was to replace.
        let half_applied =
            failed_before.into_values().map(|identity| Identity { version: Arc::clone(up_to), ..identity });
        let uids: FxHashSet<Arc<str>> = deleted.iter().map(|deleted| Arc::clone(&deleted.uid)).collect();
        let half_applied = half_applied.filter(|half| !uids.contains(&half.uid) && !listed.contains(&half.uid));
        let deleted = deleted.iter().cloned().chain(half_applied);
        for deleted in deleted.filter(|deleted| !without_uid.contains(&deleted.key)) {
            self.attempt(ObjectChange::Deleted(deleted), 0, evidence, ledger, target, now);
        }
        ledger.set_listed(kind, version);
        if self.synced.contains(&kind) {
            return;
        }
        if failed.is_empty() {
            self.unsynced.remove(&kind);
            self.synced.insert(kind);
            self.unpublished.synced.push(kind);
        } else {
            self.unsynced.insert(kind, failed);
        }
    }

    /// Merges a change with a retry of its object that waits, and attempts the result at once. False where that failed.
    fn merge_and_attempt(
        &mut self,
        change: ObjectChange,
        evidence: Evidence,
        ledger: &mut Ledger,
        target: &mut T,
        now: Instant,
    ) -> bool {
        let (change, failures, merged) = self.retries.supersede(change);
        let evidence = if failures > 0 { Evidence::List } else { evidence };
        match merged {
            Some(Merged::Earlier) => self.metrics.stale.inc(),
            Some(Merged::Later) => self.metrics.merged.inc(),
            None => 0,
        };
        self.attempt(change, failures, evidence, ledger, target, now)
    }

    /// Attempts a change once. False where that failed and a retry waits.
    fn attempt(
        &mut self,
        change: ObjectChange,
        failures: u32,
        evidence: Evidence,
        ledger: &mut Ledger,
        target: &mut T,
        now: Instant,
    ) -> bool {
        self.budget.tick();
        self.pulse.beat(self.publish_due.is_none());
        let (check, displaced) = check(&change, evidence, ledger, target);
        match check {
            VersionCheck::Stale => {
                self.metrics.stale.inc();
                if failures > 0 {
                    self.mark_synced(&change.id());
                }
                // Another object has the name by now, but this one needs its tombstone.
                if let ObjectChange::Deleted(deleted) = &change
                    && displaced.is_some()
                {
                    ledger.removed(deleted);
                }
                return true;
            }
            VersionCheck::Unordered => {
                self.metrics.unordered.inc();
            }
            VersionCheck::Newer => {}
        }
        // Ended pods get a tombstone where an event shows them, or where a retry may stem from an event. A list can show very
        // many pods that ended long ago and were never held, and protects itself by its version.
        let leaves_tombstone = evidence == Evidence::Event || failures > 0;
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| perform(&change, leaves_tombstone, displaced, ledger, target)));
        self.metrics.duration.observe(started.elapsed().as_secs_f64());
        let error = match outcome {
            Ok(Ok(())) => {
                let id = change.id();
                self.metrics.applied(&change);
                self.mark_synced(&id);
                self.unpublished.changed.push(id);
                return true;
            }
            Ok(Err(error)) => error,
            Err(panic) => ApplyError::Panicked { message: message_of(&*panic) },
        };
        let change = match (change, &error) {
            // It may be half applied with its version held already, so the retry must replace the same version.
            (ObjectChange::Applied(object), ApplyError::Panicked { .. }) => ObjectChange::Repaired(object),
            (change, _) => change,
        };
        self.failed(change, failures + 1, &error, now);
        false
    }

    /// Counts, logs and queues a retry.
    fn failed(&mut self, change: ObjectChange, failures: u32, error: &ApplyError, now: Instant) {
        match error {
            ApplyError::Panicked { .. } => self.metrics.panics.inc(),
            ApplyError::NoNamespace { .. } => self.metrics.errors.inc(),
        };
        let (kind, uid) = change.id();
        let key = change.identity().map_or_else(|| Arc::clone(&uid), |identity| Arc::clone(&identity.key));
        let delay = self.retries.put(change, failures, now);
        self.logged += 1;
        if self.logged <= FEED_ERRORS_LOGGED {
            let retry_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            tracing::error!(%kind, %key, %uid, failures, retry_ms, %error, "object not applied");
        } else if self.logged == FEED_ERRORS_LOGGED + 1 {
            tracing::error!("more objects not applied; not logged one by one in this turn");
        }
    }

    /// An object is applied or deleted: if it was the last of its kind's first list, the kind is synced.
    fn mark_synced(&mut self, (kind, uid): &ObjectId) {
        if self.unsynced.is_empty() {
            return;
        }
        if let Some(unsynced) = self.unsynced.get_mut(kind)
            && unsynced.remove(uid)
            && unsynced.is_empty()
        {
            self.unsynced.remove(kind);
            self.synced.insert(*kind);
            self.unpublished.synced.push(*kind);
        }
    }

    fn publish(&mut self, target: &mut T, now: Instant) {
        let is_complete = START_KINDS.iter().all(|kind| self.synced.contains(kind));
        let publish = || {
            target.publish();
            if is_complete {
                target.complete_start();
            }
        };
        match catch_unwind(AssertUnwindSafe(publish)) {
            Ok(()) => {
                self.publish_due = None;
                self.metrics.published.inc();
            }
            Err(panic) => {
                self.metrics.panics.inc();
                tracing::error!(reason = message_of(&*panic), "publishing panicked");
                self.publish_due = Some(now + FEED_RETRY_FIRST);
            }
        }
    }

    /// Sets the gauges of waiting retries and of held objects per kind.
    fn measure(&self, ledger: &Ledger, target: &T) {
        self.metrics.retrying.set(gauge(self.retries.len()));
        for kind in Kind::ALL {
            let count = if kind == Kind::Pod { target.pod_count() } else { ledger.count(kind) };
            self.metrics.set_objects(kind, gauge(count));
        }
    }
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
