//! The list of pending pods as it was last made: each with its cause, since when it has it, and the causes before. Start at
//! [`PendingList::listed`]; what makes it is in [`pass`](super::pass).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use nodesift_cache::metadata::PodRecord;
use parking_lot::Mutex;

use super::cause::{Cause, LastAsked, Reason};
use crate::answer::PodAnswer;
use crate::limits::{LISTED_GONE, LISTED_MESSAGE_BYTES};
use crate::shadow::Alternative;

/// The list of pending pods, and the pods that have left it.
#[derive(Debug, Default)]
pub struct PendingList {
    /// Whether somebody makes it.
    is_kept: AtomicBool,
    listed: ArcSwapOption<Listed>,
    beside: Mutex<Option<Beside>>,
    /// The last one at the back.
    gone: Mutex<VecDeque<GonePod>>,
}

/// The policy that evaluates the list: the active one, with a store, counts and throttled namespaces of its own, so that the list changes no
/// count, breaker or cached verdict of what requests are answered with.
#[derive(Debug)]
struct Beside {
    /// Generation of the active policy that it is.
    generation: u64,
    /// [`Snapshot::ownership`](nodesift_cache::Snapshot::ownership) of the snapshots that it decides about.
    ownership: u64,
    policy: Arc<Alternative>,
}

/// The list of pending pods at one time.
#[derive(Debug)]
pub struct Listed {
    /// Grows with each list that differs from the one before.
    pub version: u64,
    /// Generation of the oldest snapshot of the cache that it is made of.
    pub generation: u64,
    /// Generation of the policy of that snapshot.
    pub policy_generation: u64,
    /// Wall-clock time at which it was published.
    pub at: SystemTime,
    /// How long it took to make it so far, rests included.
    pub took: Duration,
    /// Pods by namespace and name.
    pub pods: Vec<Arc<PendingPod>>,
    /// Pending pods that are not in it: those beyond [`LISTED_PODS`](crate::limits::LISTED_PODS), and those that came while it was made and
    /// have not been looked at yet.
    pub unlisted: usize,
    /// Numbers of its pods.
    pub totals: Totals,
    /// Every pod of it has been looked at since then.
    pub checked: Instant,
    /// When its pods were last all evaluated.
    pub(super) evaluated: Instant,
}

/// Numbers of pods of a list, added up once, since scrapers and pages read them again and again.
#[derive(Debug, Default)]
pub struct Totals {
    /// By cause, in the order of [`Cause::ALL`].
    pub causes: [OfCause; Cause::ALL.len()],
    /// Number of pods that fit no node, by a predicate that is the first to reject one; a pod counts for each of these.
    pub rejected: BTreeMap<Arc<str>, usize>,
}

/// Pods of a list with one cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfCause {
    /// Number of the pods.
    pub count: usize,
    /// When the oldest of them was created, in seconds since 1970-01-01T00:00:00Z; none where there is no pod.
    pub oldest: Option<i64>,
}

/// A pending pod, and why it is pending.
#[derive(Debug, Clone)]
pub struct PendingPod {
    /// Record of the pod in the cache.
    pub record: Arc<PodRecord>,
    /// Cause, and what it is about.
    pub reason: Reason,
    /// The answer about all nodes; none where it was not evaluated, or there is no answer.
    pub answered: Option<Arc<Answered>>,
    /// Wall-clock time at which it was listed for the first time.
    pub seen: SystemTime,
    /// Causes that it had, with that of now as the last; [`CAUSES_KEPT`](crate::limits::CAUSES_KEPT) at most.
    pub history: Arc<[Past]>,
    /// When it was listed for the first time.
    pub(crate) first: Instant,
}

/// A cause, and since when a pod had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    /// Cause of the pod.
    pub cause: Cause,
    /// Wall-clock time at which it was listed with this cause for the first time.
    pub since: SystemTime,
}

/// The part of an answer about all nodes that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Number of evaluated nodes.
    pub nodes: usize,
    /// Number of nodes that fit.
    pub feasible: usize,
    /// kube-scheduler's message, cut at [`LISTED_MESSAGE_BYTES`]; only where no node fits.
    pub message: Option<Arc<str>>,
    /// Predicates that are the first to reject some node, in policy order, with the number of these nodes.
    pub rejects: Vec<(Arc<str>, usize)>,
}

/// A pod that has left the list: it was bound, deleted, or has ended.
#[derive(Debug, Clone)]
pub struct GonePod {
    /// The pod as it was last listed.
    pub pod: Arc<PendingPod>,
    /// Wall-clock time of the first list without it.
    pub at: SystemTime,
}

impl PendingPod {
    /// Since when it has its cause.
    pub fn since(&self) -> SystemTime {
        self.history.last().map_or(self.seen, |past| past.since)
    }

    /// When the pod was created, or, where that is not known, listed for the first time; in seconds since 1970-01-01T00:00:00Z.
    pub fn created(&self) -> i64 {
        let seen = || {
            let since = self.seen.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        };
        self.record.pending.as_ref().and_then(|pending| pending.created).unwrap_or_else(seen)
    }

    /// Its cause in one sentence, the same as long as the cause is; see [`Reason::headline`].
    pub fn headline(&self) -> String {
        let (nodes, feasible) = self.answered.as_ref().map_or((0, 0), |answered| (answered.nodes, answered.feasible));
        self.reason.headline(nodes, feasible, LastAsked::Unknown)
    }
}

impl Answered {
    pub(super) fn new(answer: &PodAnswer) -> Self {
        let mut rejects: Vec<(Arc<str>, usize)> = Vec::new();
        for group in &*answer.failures {
            match rejects.last_mut() {
                // Groups of one predicate follow each other.
                Some((predicate, nodes)) if *predicate == group.predicate => *nodes += group.rows.len(),
                _ => rejects.push((Arc::clone(&group.predicate), group.rows.len())),
            }
        }
        let message = answer.message.as_ref().map(|message| {
            let end = message.floor_char_boundary(LISTED_MESSAGE_BYTES);
            match message.get(..end) {
                Some(head) if head.len() < message.len() => Arc::from([head, "…"].concat()),
                _ => Arc::clone(message),
            }
        });
        Self { nodes: answer.nodes, feasible: answer.feasible.len(), message, rejects }
    }

    /// Whether the pod fits no node, and this predicate is the first to reject one.
    pub fn is_rejected_by(&self, predicate: &str) -> bool {
        self.feasible == 0 && self.rejects.iter().any(|(rejecting, _)| **rejecting == *predicate)
    }
}

impl Totals {
    /// Adds up the numbers of pods.
    pub(super) fn new(pods: &[Arc<PendingPod>]) -> Self {
        let mut totals = Self::default();
        for pod in pods {
            let created = pod.created();
            if let Some(of_cause) = totals.causes.get_mut(pod.reason.cause as usize) {
                of_cause.count += 1;
                of_cause.oldest = Some(of_cause.oldest.map_or(created, |oldest| oldest.min(created)));
            }
            for (predicate, _) in
                pod.answered.iter().filter(|answered| answered.feasible == 0).flat_map(|it| &it.rejects)
            {
                *totals.rejected.entry(Arc::clone(predicate)).or_default() += 1;
            }
        }
        totals
    }
}

impl Listed {
    /// How long ago the pod was looked at that has waited longest for that.
    pub fn age(&self) -> Duration {
        self.checked.elapsed()
    }

    /// Generation of the oldest snapshot, and of its policy.
    pub(super) fn versions(&self) -> (u64, u64) {
        (self.generation, self.policy_generation)
    }

    /// Pods with each cause, in the order of [`Cause::ALL`].
    pub fn causes(&self) -> impl Iterator<Item = (Cause, OfCause)> {
        Cause::ALL.into_iter().zip(self.totals.causes)
    }

    /// The pod of this namespace and name.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Arc<PendingPod>> {
        let found =
            self.pods.binary_search_by(|pod| (&*pod.record.namespace, &*pod.record.name).cmp(&(namespace, name)));
        self.pods.get(found.ok()?)
    }
}

impl PendingList {
    /// Says that the list is made from now on; see [`Engine::list_pending`](crate::Engine::list_pending).
    pub fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Whether the list is made.
    pub fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Lets go of the policy that evaluates the list beside any active one but that of this generation: it holds modules.
    pub(super) fn keep_beside(&self, generation: u64) {
        let mut kept = self.beside.lock();
        if kept.as_ref().is_some_and(|beside| beside.generation != generation) {
            *kept = None;
        }
    }

    /// The policy that evaluates the list beside an active one of this generation and ownership; made where that is another than before.
    pub(super) fn beside(
        &self,
        generation: u64,
        ownership: u64,
        make: impl FnOnce() -> Alternative,
    ) -> Arc<Alternative> {
        let mut kept = self.beside.lock();
        match &*kept {
            Some(beside) if (beside.generation, beside.ownership) == (generation, ownership) => {
                Arc::clone(&beside.policy)
            }
            _ => {
                let policy = Arc::new(make());
                *kept = Some(Beside { generation, ownership, policy: Arc::clone(&policy) });
                policy
            }
        }
    }

    /// The last list; `None` where there has been none.
    pub fn listed(&self) -> Option<Arc<Listed>> {
        self.listed.load_full()
    }

    /// The pod of this namespace and name that left the list last.
    pub fn gone(&self, namespace: &str, name: &str) -> Option<GonePod> {
        let is_meant = |gone: &&GonePod| *gone.pod.record.namespace == *namespace && *gone.pod.record.name == *name;
        self.gone.lock().iter().rev().find(is_meant).cloned()
    }

    /// Publishes the next list, and keeps what has left.
    pub(super) fn publish(&self, listed: Listed, left: impl IntoIterator<Item = Arc<PendingPod>>) {
        let at = listed.at;
        self.listed.store(Some(Arc::new(listed)));
        let mut gone = self.gone.lock();
        for pod in left {
            if gone.len() >= LISTED_GONE {
                gone.pop_front();
            }
            gone.push_back(GonePod { pod, at });
        }
    }
}
