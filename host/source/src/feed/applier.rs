//! The applier: brings what was queued into the cache, object by object, and publishes once for all of it.
//!
//! Start at [`Applier::turn`]. The clock is handed in, so that waits are tested without waiting. Whatever an object does,
//! an error or a panic, is felt by that object alone: it is tried again later, and nobody waits for it.
//!
//! The target stays locked for a whole turn. Events of one object were merged, so that the parts of a turn are no states
//! that the cluster has ever been in, and nobody else who publishes may show them. A turn is some ten objects on a busy
//! cluster; one that catches up with 10,000, at one to two microseconds each, keeps others waiting for 20 ms, or twice
//! that where every core is busy: those who answer read what was published, wait for nobody, and have the core in between.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxHashMap, FxHashSet};

use super::apply::{Apply, ApplyError};
use super::ledger::{Judgement, Ledger, Origin};
use super::metrics::Metrics;
use super::queue::{Drained, Merged, ObjectId, Step, Work};
use super::retry::Retries;
use crate::change::{Compiled, Identity, Record};
use crate::limits::{FEED_ERRORS_LOGGED, FEED_RETRY_FIRST};
use crate::stretch::Stretch;
use nodesift_object::Kind;
use nodesift_object::version::{advance, is_newer};

/// What a turn has made visible.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Objects that were applied or removed.
    pub(super) changed: Vec<ObjectId>,
    /// Kinds of whose first whole list every object has now been applied.
    pub(super) whole: Vec<Kind>,
}

/// Applies to a target, which it locks for a turn at a time.
#[derive(Debug)]
pub(super) struct Applier<A> {
    target: Arc<Mutex<A>>,
    ledger: Arc<Mutex<Ledger>>,
    retries: Retries,
    /// Per kind what is still missing of its first whole list.
    missing: FxHashMap<Kind, FxHashSet<Arc<str>>>,
    whole: FxHashSet<Kind>,
    /// Applied, and not published yet.
    done: Done,
    /// Per kind the version up to which everything has been applied but what waits for a retry.
    seen: FxHashMap<Kind, Arc<str>>,
    /// When a publication that failed is tried again.
    publish_due: Option<Instant>,
    metrics: Metrics,
    logged: usize,
    stretch: Stretch,
}

impl<A: Apply> Applier<A> {
    pub(super) fn new(target: Arc<Mutex<A>>, ledger: Arc<Mutex<Ledger>>, metrics: Metrics) -> Self {
        Self {
            target,
            ledger,
            retries: Retries::default(),
            missing: FxHashMap::default(),
            whole: FxHashSet::default(),
            done: Done::default(),
            seen: FxHashMap::default(),
            publish_due: None,
            metrics,
            logged: 0,
            stretch: Stretch::default(),
        }
    }

    /// Applies everything that was queued and every retry that is due, then publishes.
    pub(super) fn turn(&mut self, drained: Drained, now: Instant) -> Done {
        let target = Arc::clone(&self.target);
        let ledger = Arc::clone(&self.ledger);
        let mut ledger = ledger.lock();
        self.logged = 0;
        {
            let mut target = target.lock();
            self.stretch.begin();
            for step in drained.steps {
                match step {
                    Step::Object(work) => {
                        self.take(work, Origin::Event, &mut ledger, &mut target, now);
                    }
                    Step::Replaced { kind, objects, version } => {
                        self.replace(kind, objects, &version, &mut ledger, &mut target, now);
                    }
                }
            }
            for (work, failures) in self.retries.take_due(now) {
                self.attempt(work, failures, Origin::List, &mut ledger, &mut target, now);
            }
            self.observe(drained.seen, &mut target);
            self.publish(&mut target, now);
            self.measure(&ledger, &target);
            // Who waits for it comes before the next turn.
            MutexGuard::unlock_fair(target);
        }
        if self.publish_due.is_some() { Done::default() } else { std::mem::take(&mut self.done) }
    }

    #[cfg(test)]
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How often others were let have the core.
    #[cfg(test)]
    pub(super) fn gave_way(&self) -> u64 {
        self.stretch.times()
    }

    /// When there is something to do although nothing new was queued.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.retries.next_due().into_iter().chain(self.publish_due).min()
    }

    /// What is wrong, for people.
    pub(super) fn remark(&self) -> Option<String> {
        let unpublished = self.publish_due.map(|_| "publishing is retried".to_owned());
        self.retries.remark().or(unpublished)
    }

    /// Tells the target what has been seen, as soon as nothing of the kind waits for a retry: a snapshot that names a
    /// version shows everything up to it.
    fn observe(&mut self, seen: Vec<(Kind, Arc<str>)>, target: &mut A) {
        for (kind, version) in seen {
            advance(self.seen.entry(kind).or_default(), &version);
        }
        self.seen.retain(|kind, version| {
            let waits = self.retries.waits_for(*kind);
            if !waits {
                target.observe(*kind, version);
            }
            waits
        });
    }

    /// A whole list: what is in it is applied, what is not and is not newer is removed.
    fn replace(
        &mut self,
        kind: Kind,
        objects: Vec<Compiled>,
        version: &Arc<str>,
        ledger: &mut Ledger,
        target: &mut A,
        now: Instant,
    ) {
        // There, but nothing is known of them that was not known before.
        let unreadable = objects.iter().filter(|object| matches!(object.record, Record::Unreadable));
        let unreadable: FxHashSet<Arc<str>> = unreadable.map(|object| Arc::clone(&object.identity.key)).collect();
        let mut failed_before =
            self.retries.replace(kind, version, |identity: &Identity| unreadable.contains(&identity.key));
        let origin = if ledger.is_newest_list(kind, version) { Origin::List } else { Origin::Event };
        let mut failed = FxHashSet::default();
        let mut without_uid: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut listed: FxHashSet<Arc<str>> = FxHashSet::default();
        listed.reserve(objects.len());
        for object in objects {
            let uid = Arc::clone(&object.identity.uid);
            listed.insert(Arc::clone(&uid));
            if matches!(object.record, Record::Unreadable) {
                // Where not even its UID can be read, it may be what is held under its name.
                if object.is_without_uid() {
                    without_uid.insert(object.identity.key);
                }
                continue;
            }
            let work = if failed_before.remove(&uid).is_some() { Work::Healed(object) } else { Work::Applied(object) };
            if !self.take(work, origin, ledger, target, now) {
                failed.insert(uid);
            }
        }
        let gone = unlisted(kind, version, &listed, ledger, target);
        // Of what failed and is not there any more a half may be left, or what it was to take the place of.
        let half = failed_before.into_values().map(|identity| Identity { version: Arc::clone(version), ..identity });
        let uids: FxHashSet<Arc<str>> = gone.iter().map(|gone| Arc::clone(&gone.uid)).collect();
        let half = half.filter(|half| !uids.contains(&half.uid) && !listed.contains(&half.uid));
        for gone in gone.iter().cloned().chain(half).filter(|gone| !without_uid.contains(&gone.key)) {
            self.attempt(Work::Gone(gone), 0, origin, ledger, target, now);
        }
        ledger.set_listed(kind, version);
        if self.whole.contains(&kind) {
            return;
        }
        if failed.is_empty() {
            self.missing.remove(&kind);
            self.whole.insert(kind);
            self.done.whole.push(kind);
        } else {
            self.missing.insert(kind, failed);
        }
    }

    /// Brings new work together with what waits for a retry, and tries it at once. False where it failed.
    fn take(&mut self, work: Work, origin: Origin, ledger: &mut Ledger, target: &mut A, now: Instant) -> bool {
        let (work, failures, merged) = self.retries.supersede(work);
        let origin = if failures > 0 { Origin::List } else { origin };
        match merged {
            Some(Merged::Earlier) => self.metrics.stale.inc(),
            Some(Merged::Later) => self.metrics.merged.inc(),
            None => 0,
        };
        self.attempt(work, failures, origin, ledger, target, now)
    }

    /// Tries once. False where it failed and waits for its next try.
    fn attempt(
        &mut self,
        work: Work,
        failures: u32,
        origin: Origin,
        ledger: &mut Ledger,
        target: &mut A,
        now: Instant,
    ) -> bool {
        self.stretch.goes_on();
        let (judgement, displaced) = judge(&work, origin, ledger, target);
        match judgement {
            Judgement::Stale => {
                self.metrics.stale.inc();
                if failures > 0 {
                    self.no_longer_missing(&work.id());
                }
                // Another object has its name by now; it does not come back all the same.
                if let Work::Gone(gone) = &work
                    && displaced.is_some()
                {
                    ledger.removed(gone);
                }
                return true;
            }
            Judgement::Unordered => {
                self.metrics.unordered.inc();
            }
            Judgement::Newer => {}
        }
        // A list may show very many pods that ended long ago and were never held; a list needs no tombstones anyway. What has
        // failed before may have been an event.
        let buries = origin == Origin::Event || failures > 0;
        let started = Instant::now();
        let tried = catch_unwind(AssertUnwindSafe(|| perform(&work, buries, displaced, ledger, target)));
        self.metrics.duration.observe(started.elapsed().as_secs_f64());
        let error = match tried {
            Ok(Ok(())) => {
                let id = work.id();
                self.metrics.applied(&work);
                self.no_longer_missing(&id);
                self.done.changed.push(id);
                return true;
            }
            Ok(Err(error)) => error,
            Err(panic) => ApplyError::Panicked { message: said(&*panic) },
        };
        let work = match (work, &error) {
            // It may have been applied by half, and its version be held: that must not be taken for the whole.
            (Work::Applied(object), ApplyError::Panicked { .. }) => Work::Healed(object),
            (work, _) => work,
        };
        self.failed(work, failures + 1, &error, now);
        false
    }

    fn failed(&mut self, work: Work, failures: u32, error: &ApplyError, now: Instant) {
        match error {
            ApplyError::Panicked { .. } => self.metrics.panics.inc(),
            ApplyError::NoNamespace { .. } => self.metrics.errors.inc(),
        };
        let (kind, uid) = work.id();
        let key = work.identity().map_or_else(|| Arc::clone(&uid), |identity| Arc::clone(&identity.key));
        let delay = self.retries.put(work, failures, now);
        self.logged += 1;
        if self.logged <= FEED_ERRORS_LOGGED {
            let retry_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            tracing::error!(%kind, %key, %uid, failures, retry_ms, %error, "object not applied");
        } else if self.logged == FEED_ERRORS_LOGGED + 1 {
            tracing::error!("more objects not applied, not logged one by one");
        }
    }

    /// An object of a first list is applied, or gone: the list may be whole now.
    fn no_longer_missing(&mut self, (kind, uid): &ObjectId) {
        if self.missing.is_empty() {
            return;
        }
        if let Some(missing) = self.missing.get_mut(kind)
            && missing.remove(uid)
            && missing.is_empty()
        {
            self.missing.remove(kind);
            self.whole.insert(*kind);
            self.done.whole.push(*kind);
        }
    }

    fn publish(&mut self, target: &mut A, now: Instant) {
        match catch_unwind(AssertUnwindSafe(|| target.publish())) {
            Ok(()) => {
                self.publish_due = None;
                self.metrics.published.inc();
            }
            Err(panic) => {
                self.metrics.panics.inc();
                tracing::error!(reason = said(&*panic), "publishing panicked");
                self.publish_due = Some(now + FEED_RETRY_FIRST);
            }
        }
    }

    fn measure(&self, ledger: &Ledger, target: &A) {
        self.metrics.retrying.set(gauge(self.retries.len()));
        for kind in Kind::ALL {
            let count = if kind == Kind::Pod { target.pod_count() } else { ledger.count(kind) };
            self.metrics.set_objects(kind, gauge(count));
        }
    }
}

/// What is held of a kind, is not in a whole list, and is not newer than the list.
fn unlisted<A: Apply>(
    kind: Kind,
    version: &Arc<str>,
    listed: &FxHashSet<Arc<str>>,
    ledger: &Ledger,
    target: &A,
) -> Vec<Identity> {
    let gone = |key: &str, uid: &Arc<str>, held: &str| {
        (!listed.contains(uid) && !is_newer(held, version)).then(|| Identity {
            kind,
            key: Arc::from(key),
            uid: Arc::clone(uid),
            version: Arc::clone(version),
        })
    };
    if kind != Kind::Pod {
        return ledger.all(kind).filter_map(|(key, held)| gone(key, &held.uid, &held.version)).collect();
    }
    let pods = target.pods();
    let key = |pod: &nodesift_cache::metadata::PodRecord| format!("{}/{}", pod.namespace, pod.name);
    pods.iter().filter_map(|pod| gone(&key(pod), &pod.uid, &pod.resource_version)).collect()
}

/// The version guard; also the UID of another object that is held under the same key.
fn judge<A: Apply>(work: &Work, origin: Origin, ledger: &Ledger, target: &A) -> (Judgement, Option<Arc<str>>) {
    let Some(identity) = work.identity() else { return (Judgement::Newer, None) };
    let pod = if identity.kind == Kind::Pod { target.pod(&identity.uid, &identity.key) } else { None };
    let held = match &pod {
        Some(pod) => Some((&pod.uid, &*pod.resource_version)),
        None => ledger.held(identity.kind, &identity.key).map(|held| (&held.uid, &*held.version)),
    };
    let displaced = held.map(|(uid, _)| uid).filter(|uid| **uid != identity.uid).map(Arc::clone);
    let held = held.map(|(uid, version)| (&**uid, version));
    let judgement = match work {
        Work::Applied(_) => ledger.judge(identity, held, origin),
        Work::Healed(_) => ledger.judge(identity, held, Origin::Audit),
        Work::Gone(_) => ledger.judge_gone(identity, held),
        Work::Again(_) => Judgement::Newer,
    };
    (judgement, displaced)
}

fn perform<A: Apply>(
    work: &Work,
    buries: bool,
    displaced: Option<Arc<str>>,
    ledger: &mut Ledger,
    target: &mut A,
) -> Result<(), ApplyError> {
    match work {
        Work::Applied(object) | Work::Healed(object) => {
            let identity = &object.identity;
            let ended = matches!(object.record, Record::EndedPod);
            let buried = ended && (buries || target.pod(&identity.uid, "").is_some());
            // Before it is applied: should that break off, the next try finds nothing displaced any more.
            if let Some(uid) = displaced.filter(|_| !ended) {
                ledger.removed(&Identity { uid, ..identity.clone() });
            }
            target.apply(object)?;
            if buried {
                ledger.removed(identity);
            } else if !ended {
                ledger.applied(identity);
            }
        }
        Work::Gone(gone) => {
            target.remove(gone)?;
            ledger.removed(gone);
        }
        Work::Again((kind, uid)) => target.again(*kind, uid)?,
    }
    Ok(())
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
