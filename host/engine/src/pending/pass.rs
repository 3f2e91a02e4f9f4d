//! One pass over the pending pods, which makes the next [`Listed`]: pods that may have another answer are evaluated, one after the
//! other and with rests in between, by the newest snapshot and beside all requests. Pods of one template follow each other, so that all
//! but the first find its verdicts in the list's own store. Start at [`Engine::list_pending`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use nodesift_cache::metadata::PodRecord;
use rustc_hash::{FxHashMap, FxHashSet};

use super::cause::{Cause, Reason};
use super::list::{Answered, Listed, Past, PendingPod, Totals};
use super::shares::keep_shares;
use crate::answer::PodAnswer;
use crate::clock::now;
use crate::limits::{CAUSES_KEPT, LISTED_AGAIN, LISTED_POD_TIME, LISTED_PODS, LISTED_SHARE, LISTED_WORK};
use crate::policy::{ActivePolicy, ActivePredicate, OnError, Phase};
use crate::query::{PodRef, Query, Unknown};
use crate::{Engine, Error};

/// Rests so long, and says how to go on.
pub type Rest<'a> = dyn FnMut(Duration) -> AfterRest + 'a;

/// How to go on with a list after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRest {
    /// Go on with the next pod.
    GoOn,
    /// Publish what is found, with the entries that other pods had before, and go on.
    Publish,
    /// Stop: what was published last stays.
    Stop,
}

/// The next list while it is made.
struct Pass<'a> {
    started: Instant,
    /// The last list before it, and its pods by UID.
    before: Option<&'a Listed>,
    known: FxHashMap<&'a str, &'a Arc<PendingPod>>,
    /// Whether pods are evaluated again although they are the same.
    is_due: bool,
    /// Pods beyond the room of the list.
    unlisted: usize,
    /// Versions of the oldest answer in the list.
    oldest: Versions,
    /// Pods that have been looked at.
    entries: Vec<Arc<PendingPod>>,
}

/// A pod's cause before it is compared with the one that it had.
#[derive(Clone)]
struct Found {
    record: Arc<PodRecord>,
    reason: Reason,
    answered: Option<Arc<Answered>>,
}

impl Found {
    /// Shares the cause and the answer with those of the pod before where they are equal: pods of one template mostly have the same.
    fn sharing_with(mut self, last: Option<&Self>) -> Self {
        let Some(last) = last else { return self };
        if last.reason == self.reason {
            self.reason = last.reason.clone();
        }
        if last.answered == self.answered {
            self.answered.clone_from(&last.answered);
        }
        self
    }
}

/// The result of asking about a pod.
enum Listing {
    /// A predicate in quarantine rejects every node.
    NotCalled(Reason, Versions),
    /// The answer, and the cause if the pod fits no node.
    Answered(Box<PodAnswer>, Option<Reason>, Versions),
}

/// The snapshot and the policy of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Versions {
    generation: u64,
    policy_generation: u64,
}

impl Engine {
    /// Makes the next list of pending pods, by evaluating those that may have another answer than in the last one. The processor time is
    /// one part in [`LISTED_SHARE`] of that which passes: `rest` is given the time to sleep, from time to time, and says how to go on.
    pub fn list_pending(&self, rest: &mut Rest<'_>) {
        let (started, mut pace) = (Instant::now(), Pace::start());
        let before = self.pending.listed();
        let newest = self.versions();
        self.pending.keep_beside(newest.policy_generation);
        let is_due = before.as_ref().is_none_or(|before| {
            before.versions() != (newest.generation, newest.policy_generation)
                || before.evaluated.elapsed() >= LISTED_AGAIN
        });
        let known: FxHashMap<&str, &Arc<PendingPod>> =
            before.iter().flat_map(|before| &before.pods).map(|pod| (&*pod.record.uid, pod)).collect();
        let (pods, unlisted) = self.pods_to_list(&known);
        let entries = Vec::with_capacity(pods.len());
        let before = before.as_deref();
        let mut pass = Pass { started, before, known, is_due, unlisted, oldest: newest, entries };
        let mut last: Option<Found> = None;
        let mut pods = pods.into_iter();
        while let Some(record) = pods.next() {
            self.asked.advance();
            let known = pass.known.get(&*record.uid).copied();
            let found = match known.filter(|known| !is_due && Arc::ptr_eq(&known.record, &record)) {
                Some(known) => self.look_again(known),
                None => {
                    let (found, versions) = self.look_at(record, known);
                    pass.oldest = versions.map_or(pass.oldest, |versions| pass.oldest.min(versions));
                    found.sharing_with(last.as_ref())
                }
            };
            last = Some(found.clone());
            pass.entries.push(entry(found, known));
            match pace.rest(rest) {
                AfterRest::GoOn => {}
                AfterRest::Publish => self.publish_pending(&pass, pods.as_slice()),
                AfterRest::Stop => return,
            }
        }
        self.publish_pending(&pass, &[]);
        pace.end(rest);
    }

    /// Publishes the pods that a pass has looked at, and the entries that others had before. Whatever was bound or deleted meanwhile is not
    /// among them, and what was assumed is there as that.
    fn publish_pending(&self, pass: &Pass<'_>, not_yet: &[Arc<PodRecord>]) {
        let kept: Vec<&Arc<PendingPod>> = not_yet.iter().filter_map(|pod| pass.known.get(&*pod.uid).copied()).collect();
        let unlisted = pass.unlisted + not_yet.len() - kept.len();
        let before = pass.before.filter(|_| !kept.is_empty());
        let checked = before.map_or(pass.started, |before| before.checked);
        let versions = (pass.oldest.generation, pass.oldest.policy_generation);
        let versions = before.map_or(versions, |before| before.versions().min(versions));
        let evaluated = match pass.before {
            Some(before) if !pass.is_due || !not_yet.is_empty() => before.evaluated,
            _ => pass.started,
        };
        let pods = pass.entries.iter().chain(kept).filter_map(|pod| self.still_pending(pod));
        let mut pods: Vec<Arc<PendingPod>> = pods.collect();
        pods.sort_unstable_by(|a, b| (&a.record.namespace, &a.record.name).cmp(&(&b.record.namespace, &b.record.name)));
        let shown = self.pending.listed();
        let is_same = |shown: &&Arc<Listed>| {
            shown.versions() == versions
                && shown.unlisted == unlisted
                && shown.pods.len() == pods.len()
                && shown.pods.iter().zip(&pods).all(|(shown, pod)| Arc::ptr_eq(shown, pod))
        };
        let version = shown.as_ref().map_or(1, |it| it.version + u64::from(!is_same(&it)));
        let listed: FxHashSet<&str> = pods.iter().map(|pod| &*pod.record.uid).collect();
        // A pod that only lost its room in the list is pending still.
        let has_left = |pod: &&Arc<PendingPod>| !listed.contains(&*pod.record.uid) && self.still_pending(pod).is_none();
        let left = shown.iter().flat_map(|shown| &shown.pods).filter(has_left);
        let left: Vec<Arc<PendingPod>> = left.cloned().collect();
        let (generation, policy_generation) = versions;
        let (at, took, totals) = (now(), pass.started.elapsed(), Totals::new(&pods));
        let next =
            Listed { version, generation, policy_generation, at, took, pods, unlisted, totals, checked, evaluated };
        self.pending.publish(next, left);
    }

    /// The entry of a pod by what the cache has of it now; `None` where it is bound, deleted, or has ended.
    fn still_pending(&self, pod: &Arc<PendingPod>) -> Option<Arc<PendingPod>> {
        let record = self.cache.pods().by_uid(&pod.record.uid)?;
        let Some(node) = &record.node_name else { return Some(Arc::clone(pod)) };
        let reason = Reason::assumed_on(node);
        let is_assumed = self.cache.pods().is_assumed(&record.uid);
        is_assumed.then(|| entry(Found { record, reason, answered: None }, Some(pod)))
    }

    /// The newest snapshot, and the policy that decides about it.
    fn versions(&self) -> Versions {
        let snapshot = self.snapshot();
        let policy_generation = self.running_on(&snapshot).policy.generation;
        Versions { generation: snapshot.generation().0, policy_generation }
    }

    /// Pods that are listed, those of one template together, and the number of those that are not.
    fn pods_to_list(&self, known: &FxHashMap<&str, &Arc<PendingPod>>) -> (Vec<Arc<PodRecord>>, usize) {
        let index = self.cache.pods();
        let mut pods = index.pending();
        let assumed = index.assumed();
        pods.extend(assumed.iter().filter_map(|uid| index.by_uid(uid)).filter(|pod| pod.node_name.is_some()));
        // A pod may have been assumed in between.
        let mut met = FxHashSet::default();
        pods.retain(|pod| met.insert(Arc::clone(&pod.uid)));
        let unlisted = keep_shares(&mut pods, LISTED_PODS, |pod| known.contains_key(&*pod.uid));
        pods.sort_by_key(|pod| Arc::as_ptr(&pod.facts).addr());
        (pods, unlisted)
    }

    /// The cause of a pod whose answer stays: only the time may change it.
    fn look_again(&self, known: &Arc<PendingPod>) -> Found {
        let record = Arc::clone(&known.record);
        let reason = match known.reason.cause {
            Cause::NotAsked | Cause::Fits => self.of_fitting(&record, known.first.elapsed()),
            _ => known.reason.clone(),
        };
        Found { record, reason, answered: known.answered.clone() }
    }

    /// The cause of a pod by what it is and by a new answer.
    fn look_at(&self, record: Arc<PodRecord>, known: Option<&Arc<PendingPod>>) -> (Found, Option<Versions>) {
        let unevaluated = match &record.node_name {
            Some(node) => Some(Reason::assumed_on(node)),
            None => Reason::before_evaluation(&record),
        };
        if let Some(reason) = unevaluated {
            return (Found { record, reason, answered: None }, None);
        }
        let pending_for = known.map_or(Duration::ZERO, |known| known.first.elapsed());
        match (self.answer_for_list(&record), known) {
            (Ok(Listing::NotCalled(reason, versions)), _) => (Found { record, reason, answered: None }, Some(versions)),
            (Ok(Listing::Answered(answer, because, versions)), _) => {
                let reason = because.unwrap_or_else(|| self.of_fitting(&record, pending_for));
                let answered = answer.error.is_none().then(|| Arc::new(Answered::new(&answer)));
                (Found { record, reason, answered }, Some(versions))
            }
            // The policy was replaced twice meanwhile: the next list is soon.
            (Err(Error::OlderThanPolicy), Some(known)) => (self.look_again(known), None),
            (Err(error), _) => (Found { record, reason: Reason::from_error(&error), answered: None }, None),
        }
    }

    /// The answer about one pod and all nodes, which is offered to no shadow and noted for no core; and the cause that follows from it,
    /// if the pod fits no node.
    ///
    /// The predicates are those of the active policy, but called beside it: what is asked here puts none of them in quarantine, and none
    /// of the verdicts that requests find is pushed out. One that is in quarantine has the verdict of its failure policy here too.
    fn answer_for_list(&self, record: &Arc<PodRecord>) -> Result<Listing, Error> {
        let answer = || {
            let snapshot = self.snapshot();
            let running = self.running_on(&snapshot);
            if running.is_after(&snapshot) {
                return Err(Error::OlderThanPolicy);
            }
            let policy = &running.policy;
            let versions = Versions { generation: snapshot.generation().0, policy_generation: policy.generation };
            let is_quarantined = |predicate: &&ActivePredicate| {
                predicate.decides(Phase::Allocate) && predicate.breaker.quarantine().is_some()
            };
            let (rejecting, ignored): (Vec<&ActivePredicate>, Vec<&ActivePredicate>) = policy
                .predicates
                .iter()
                .filter(is_quarantined)
                .partition(|predicate| predicate.on_error == OnError::Reject);
            if !rejecting.is_empty() {
                let names = rejecting.iter().map(|predicate| &*predicate.name);
                return Ok(Listing::NotCalled(Reason::not_answered(names), versions));
            }
            let ignored = ignored.iter().map(|predicate| predicate.name.to_string()).collect();
            let query = Query::new([PodRef::Known(Arc::clone(record))]).with_skip(ignored);
            let query = query.with_deadline(Instant::now() + LISTED_POD_TIME);
            let beside = self.pending.beside(policy.generation, snapshot.ownership(), || {
                self.alternative(ActivePolicy { throttle: Arc::default(), ..(**policy).clone() })
            });
            let mut answer = self.answer_by(beside.running(), None, &query, &snapshot, Unknown::AreNamed)?;
            let pod = answer.pods.pop().ok_or_else(|| Error::UnknownPod { pod: key(record) })?;
            let because = Reason::from_answer(&pod, policy, record.nominated_node.as_ref());
            Ok(Listing::Answered(Box::new(pod), because, versions))
        };
        match answer() {
            Err(Error::OlderThanPolicy) => answer(),
            answer => answer,
        }
    }

    /// The cause of a pod that fits some node and has been pending for so long.
    fn of_fitting(&self, record: &PodRecord, pending_for: Duration) -> Reason {
        let asked = self.asked.last_asked(&key(record), pending_for);
        Reason::of_fitting(record.nominated_node.as_ref(), asked)
    }
}

fn key(record: &PodRecord) -> String {
    [&*record.namespace, "/", &record.name].concat()
}

/// The entry of a pod after the one that it had; the same where nothing has changed.
fn entry(found: Found, known: Option<&Arc<PendingPod>>) -> Arc<PendingPod> {
    let Found { record, reason, answered } = found;
    let Some(known) = known else {
        let (seen, first) = (now(), Instant::now());
        let history = [Past { cause: reason.cause, since: seen }].into();
        return Arc::new(PendingPod { record, reason, answered, seen, history, first });
    };
    if Arc::ptr_eq(&known.record, &record) && known.reason == reason && known.answered == answered {
        return Arc::clone(known);
    }
    let history = if known.reason.cause == reason.cause {
        Arc::clone(&known.history)
    } else {
        let skipped = (known.history.len() + 1).saturating_sub(CAUSES_KEPT);
        let next = Past { cause: reason.cause, since: now() };
        known.history.iter().skip(skipped).copied().chain([next]).collect()
    };
    Arc::new(PendingPod { record, reason, answered, seen: known.seen, history, first: known.first })
}

/// Processor time since the last rest.
struct Pace(ThreadTime);

impl Pace {
    fn start() -> Self {
        Self(ThreadTime::now())
    }

    /// Rests where it has worked for long enough. Returns how to go on.
    fn rest(&mut self, rest: &mut Rest<'_>) -> AfterRest {
        let worked = self.0.elapsed();
        if worked < LISTED_WORK {
            return AfterRest::GoOn;
        }
        let after = rest(rest_after(worked));
        self.0 = ThreadTime::now();
        after
    }

    /// Rests for what is left.
    fn end(self, rest: &mut Rest<'_>) {
        rest(rest_after(self.0.elapsed()));
    }
}

/// How long to rest after work that has taken so much processor time, so that the work is one part in [`LISTED_SHARE`].
fn rest_after(work: Duration) -> Duration {
    work * (LISTED_SHARE - 1)
}
