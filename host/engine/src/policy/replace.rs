//! The swap of the active policy.
//!
//! A request takes the policy of its snapshot once and keeps it to its end, so no answer has parts of two. A predicate whose
//! module is the same object in both policies keeps its cached verdicts, unless it reads annotations or ConfigMaps and the policies
//! list other ones. Start at [`Engine::replace_policy`].

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::{ArcSwapOption, Guard};
use nodesift_cache::Snapshot;
use nodesift_sandbox::Interface;
use parking_lot::Mutex;

use super::running::Running;
use super::{ActivePolicy, ActivePredicate, LastReload, PastReload, Refusal, ReloadOutcome, ReloadStep};
use crate::clock::now;
use crate::limits::RETIRED_LEAST;
use crate::{Engine, Trial};

/// Policies that are not active, and decide about snapshots in which other pods are foreign than in those of the active one.
#[derive(Debug, Default)]
pub(crate) struct Handover {
    /// The next one: its first snapshot is published just before it becomes active.
    next: ArcSwapOption<Running>,
    /// Replaced policies, for requests that have taken their snapshot before. [`Retired`] holds each.
    before: Mutex<Vec<Weak<Running>>>,
}

impl Handover {
    /// The one that decides about snapshots of this ownership.
    fn find(&self, ownership: u64) -> Option<Arc<Running>> {
        let decides = |running: &Arc<Running>| running.ownership == ownership;
        let before = || self.before.lock().iter().rev().filter_map(Weak::upgrade).find(decides);
        self.next.load_full().filter(decides).or_else(before)
    }

    /// Notes both sides of a replacement.
    fn begin(&self, before: &Arc<Running>, next: &Arc<Running>) {
        let mut known = self.before.lock();
        known.retain(|running| running.strong_count() > 0);
        known.push(Arc::downgrade(before));
        self.next.store(Some(Arc::clone(next)));
    }
}

/// A policy that has been replaced, with what only it has used. Whoever holds this can drop it where that delays no request.
#[derive(Debug)]
#[must_use = "dropped here, a policy may be freed by the last request that uses it"]
pub struct Retired {
    running: Arc<Running>,
    swap: Duration,
    /// Until then, requests may begin with it whose snapshots are older.
    until: Option<Instant>,
}

impl Retired {
    /// Whether no request uses it any more.
    pub fn is_drained(&self) -> bool {
        Arc::strong_count(&self.running) == 1 && self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// Returns the generation number of the replaced policy.
    pub fn generation(&self) -> u64 {
        self.running.policy.generation
    }

    /// How long the exchange of the two policies took.
    pub fn swap(&self) -> Duration {
        self.swap
    }
}

fn reads_any(predicate: &ActivePredicate, interfaces: &[Interface]) -> bool {
    interfaces.iter().any(|interface| predicate.module.imports().contains(interface))
}

impl Engine {
    /// Makes a policy active, as the next generation, whatever its number was. Requests that have begun end with the policy
    /// before. Its schedulers must be those of the policy before.
    pub fn replace_policy(&self, policy: ActivePolicy) -> Retired {
        self.replace(policy, None)
    }

    /// Makes a policy with other schedulers active, like [`Self::replace_policy`]. `recount` decides anew which pods are foreign,
    /// once, and publishes. The policy decides about the snapshots from that publication on, and the one before about earlier ones.
    pub fn replace_policy_and_recount(&self, policy: ActivePolicy, recount: &mut dyn FnMut()) -> Retired {
        self.replace(policy, Some(recount))
    }

    fn replace(&self, policy: ActivePolicy, recount: Option<&mut dyn FnMut()>) -> Retired {
        // One at a time, so that generations only rise and no cached verdict is lost.
        let _one_at_a_time = self.replacing.lock();
        let before = self.running.load_full();
        let mut policy = policy;
        policy.generation = before.policy.generation + 1;
        policy.origin.since = now();
        policy.throttle = Arc::clone(&before.policy.throttle);
        // Nothing changes in the cache where a key or ConfigMap is no longer listed, so that a cached verdict could not notice it.
        let same_annotations = before.policy.settings.annotation_keys == policy.settings.annotation_keys;
        let same_config_maps = before.policy.settings.config_maps == policy.settings.config_maps;
        let shows_the_same = |predicate: &&ActivePredicate| {
            (same_annotations || !reads_any(predicate, &[Interface::PodAnnotations, Interface::NodeAnnotations]))
                && (same_config_maps || !reads_any(predicate, &[Interface::ConfigMaps]))
        };
        let of_scorer = |known: &ActivePolicy, place: usize| place >= known.predicates.len();
        let is_kept = |(place, component): (usize, &ActivePredicate)| {
            let component = Some(component).filter(shows_the_same)?;
            let is_same = |(at, known): (usize, &ActivePredicate)| {
                of_scorer(&before.policy, at) == of_scorer(&policy, place)
                    && known.name == component.name
                    && Arc::ptr_eq(&known.module, &component.module)
            };
            before.policy.components().enumerate().position(is_same)
        };
        let kept: Vec<Option<usize>> = policy.components().enumerate().map(is_kept).collect();
        let store = before.store.succeeded_by(&kept);
        let from = self.snapshot().generation();
        let ownership = before.ownership + u64::from(recount.is_some());
        let next = Arc::new(Running { policy: Arc::new(policy), store, ownership, from });
        let until = recount.map(|recount| {
            self.handover.begin(&before, &next);
            recount();
            Instant::now() + RETIRED_LEAST
        });
        drop(before);
        let started = Instant::now();
        let running = self.running.swap(next);
        let swap = started.elapsed();
        self.handover.next.store(None);
        Retired { running, swap, until }
    }

    /// The policy that decides about a snapshot: the active one, except while pods change sides.
    pub(crate) fn running_on(&self, snapshot: &Snapshot) -> Guard<Arc<Running>> {
        loop {
            let active = self.running.load();
            if active.ownership == snapshot.ownership() {
                return active;
            }
            if let Some(other) = self.handover.find(snapshot.ownership()) {
                return Guard::from_inner(other);
            }
            // Replaced in between, or the snapshot is older than any policy that is left.
            if self.running.load().ownership == active.ownership {
                return active;
            }
        }
    }

    /// Notes that a document did not become active. Returns the time that it notes.
    pub fn note_refusal(&self, mut refusal: Refusal) -> SystemTime {
        refusal.at = now();
        let at = refusal.at;
        self.refusal.store(Some(Arc::new(refusal)));
        at
    }

    /// Notes warnings about the cluster that were found for a policy, of [`ActivePolicy::cluster_warnings`].
    pub fn note_cluster_warnings(&self, policy: &ActivePolicy, found: Vec<String>) {
        self.of_cluster.store(Some(Arc::new((policy.generation, found))));
    }

    /// The warnings about the cluster that were noted last for this policy; none where nobody has looked yet.
    pub fn cluster_warnings(&self, active: &ActivePolicy) -> Vec<String> {
        let noted = self.of_cluster.load_full().filter(|noted| noted.0 == active.generation);
        noted.map(|noted| noted.1.clone()).unwrap_or_default()
    }

    /// Notes how a reload ended that took so long, as a whole and in its steps, and the trial of its policy if that is active now.
    pub fn note_reload(
        &self,
        outcome: ReloadOutcome,
        took: Duration,
        steps: Vec<ReloadStep>,
        swap: Option<Duration>,
        trial: Option<Trial>,
    ) {
        let policy = self.policy();
        let reload = LastReload { generation: policy.generation, at: now(), outcome, took, steps, swap, trial };
        self.reloads.note(reload.clone(), &policy, self.refusal.load().as_deref());
        self.last_reload.store(Some(Arc::new(reload)));
    }

    /// The last reload; none since the start.
    pub fn last_reload(&self) -> Option<Arc<LastReload>> {
        self.last_reload.load_full()
    }

    /// The last reloads of the process, the newest first.
    pub fn reloads(&self) -> Vec<PastReload> {
        self.reloads.list()
    }

    /// The last refusal while this policy was active.
    pub fn refusal(&self, active: &ActivePolicy) -> Option<Arc<Refusal>> {
        self.refusal.load_full().filter(|refusal| refusal.generation == active.generation)
    }
}

#[cfg(test)]
mod tests;
