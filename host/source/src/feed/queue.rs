//! The queue: changes that were delivered and not taken by the applier yet.
//!
//! It holds at most one change per object and one list per kind, so it is never larger than the cluster, whatever the rate of
//! events: sources never have to wait for it. A later change of an object merges into the waiting one and keeps its place, so
//! that objects that change often do not delay others. The applier takes everything at once with [`Queue::drain`].

use std::iter::Sum;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::change::{Change, Compiled, ObjectChange, ObjectId, Record};
use nodesift_object::Kind;
use nodesift_object::version::{self, is_newer};

/// How often following a kind has begun anew: with another compiler, or after the kind was dropped. What has been found out in
/// one round, such as that the kind is synced, says nothing about the next.
pub(super) type Round = u64;

/// One step for the applier.
#[derive(Debug)]
pub(super) enum Step {
    /// A change of one object.
    Object(ObjectChange),
    /// A list that replaces all of its kind. The first of a round also replaces what is held at the same version.
    Replaced {
        kind: Kind,
        objects: Vec<Compiled>,
        version: Arc<str>,
        round: Round,
        /// Whether it also replaces what is held at a later version: the cluster was restored from a backup.
        is_restored: bool,
    },
    /// Everything of a kind goes, in the round that begins with this.
    Dropped { kind: Kind, round: Round },
}

/// Which of two changes of one object stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merged {
    /// The later one replaces the earlier one.
    Later,
    /// The earlier one stays: the later one is not newer.
    Earlier,
}

/// Merges a later change of an object into an earlier one: the newer of the two stays.
pub(super) fn merge(earlier: &mut ObjectChange, later: ObjectChange) -> Merged {
    let order = version::compare(later.version(), earlier.version());
    let stays = match (&*earlier, &later) {
        // The object is about to be looked at anyway.
        (_, ObjectChange::Requeued(_)) => true,
        (ObjectChange::Requeued(_), _) => false,
        // A repair replaces an event of the same version, but not a newer one.
        (ObjectChange::Applied(_), ObjectChange::Repaired(_)) => order.is_some_and(std::cmp::Ordering::is_lt),
        // Some servers send a deletion with the version at which the object was last modified.
        (ObjectChange::Applied(_) | ObjectChange::Repaired(_) | ObjectChange::Deleted(_), ObjectChange::Deleted(_)) => {
            order.is_some_and(std::cmp::Ordering::is_lt)
        }
        _ => order.is_some_and(std::cmp::Ordering::is_le),
    };
    if stays {
        return Merged::Earlier;
    }
    *earlier = later;
    Merged::Later
}

/// All changes that wait to be applied.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// In the order of first arrival; `None` where a list has replaced a step.
    steps: Vec<Option<Step>>,
    /// The index in `steps` of each object's change.
    objects: FxHashMap<ObjectId, usize>,
    /// The index in `steps` of each kind's list.
    lists: FxHashMap<Kind, usize>,
    /// Per kind the newest resourceVersion up to which everything has been delivered.
    versions: FxHashMap<Kind, Arc<str>>,
    /// When the oldest change that waits was queued.
    since: Option<Instant>,
    /// Per kind the round of what is queued from now on; absent in the first.
    rounds: FxHashMap<Kind, Round>,
    /// Kinds that are not followed any more: what still arrives of them came too late.
    dropped: FxHashSet<Kind>,
}

/// Changes that the applier takes out of the queue for one turn.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// In the order in which they are applied.
    pub(super) steps: Vec<Step>,
    /// Per kind the resourceVersion that is reached once all steps have been applied.
    pub(super) versions: Vec<(Kind, Arc<str>)>,
}

/// How many changes a push absorbed instead of queueing them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Absorbed {
    /// Changes replaced by a later change of the object, or by a list.
    pub(super) merged: u64,
    /// Changes dropped because the same or a newer version waits already.
    pub(super) stale: u64,
}

impl Sum for Absorbed {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |sum, one| Self { merged: sum.merged + one.merged, stale: sum.stale + one.stale })
    }
}

impl Queue {
    /// Queues a change that a source delivers. Its version counts as seen once all that was delivered before is applied.
    pub(super) fn push(&mut self, change: Change, now: Instant) -> Absorbed {
        match change {
            Change::Object(ObjectChange::Applied(object)) if matches!(object.record, Record::Unreadable) => {
                Absorbed::default()
            }
            Change::Object(change) if self.dropped.contains(&change.id().0) => Absorbed { merged: 0, stale: 1 },
            Change::Bookmark { kind, .. } if self.dropped.contains(&kind) => Absorbed::default(),
            Change::Object(change) => {
                if let ObjectChange::Applied(Compiled { identity, .. }) | ObjectChange::Deleted(identity) = &change {
                    self.advance(identity.kind, &identity.version);
                }
                self.push_object(change, now)
            }
            Change::Replaced { kind, objects, version } => self.replace(kind, objects, version, now),
            Change::Recompiled { kind, objects, version } => {
                self.begin_round(kind);
                self.replace(kind, objects, version, now)
            }
            Change::Restored { kind, objects, version } => {
                let waited = self.take_out(kind);
                // Whoever waits for objects that are compiled otherwise waits for this list.
                self.begin_round(kind);
                let absorbed = self.replace(kind, objects, version, now);
                if let Some(Step::Replaced { is_restored, .. }) = self.steps.last_mut().and_then(Option::as_mut) {
                    *is_restored = true;
                }
                Absorbed { merged: absorbed.merged + waited, ..absorbed }
            }
            Change::Dropped { kind } => self.drop_kind(kind, now),
            Change::Bookmark { kind, version } => {
                self.since.get_or_insert(now);
                self.advance(kind, &version);
                Absorbed::default()
            }
        }
    }

    /// Sources deliver in the order of versions: everything up to this one is queued or applied.
    fn advance(&mut self, kind: Kind, version: &Arc<str>) {
        version::advance(self.versions.entry(kind).or_default(), version);
    }

    /// Queues a change of one object without its version counting as seen.
    pub(super) fn push_object(&mut self, change: ObjectChange, now: Instant) -> Absorbed {
        let id = change.id();
        if self.dropped.contains(&id.0) {
            return Absorbed { merged: 0, stale: 1 };
        }
        self.since.get_or_insert(now);
        let place = self.objects.get(&id).and_then(|place| self.steps.get_mut(*place));
        if let Some(Some(Step::Object(waiting))) = place {
            let is_event = !matches!(change, ObjectChange::Requeued(_));
            return match merge(waiting, change) {
                Merged::Earlier if is_event => Absorbed { merged: 0, stale: 1 },
                Merged::Earlier | Merged::Later => Absorbed { merged: 1, stale: 0 },
            };
        }
        self.objects.insert(id, self.steps.len());
        self.steps.push(Some(Step::Object(change)));
        Absorbed::default()
    }

    /// Queues a list, which replaces every waiting change of its kind that is not newer than the list.
    fn replace(&mut self, kind: Kind, objects: Vec<Compiled>, version: Arc<str>, now: Instant) -> Absorbed {
        self.since.get_or_insert(now);
        self.dropped.remove(&kind);
        let mut absorbed = Absorbed::default();
        let steps = &mut self.steps;
        self.objects.retain(|(of, _), place| {
            let Some(step) = steps.get_mut(*place).filter(|_| *of == kind) else { return true };
            let is_newer = matches!(step, Some(Step::Object(change)) if is_newer(change.version(), &version));
            if !is_newer {
                absorbed.merged += 1;
                *step = None;
            }
            is_newer
        });
        let mut restores = false;
        if let Some(step) = self.lists.get(&kind).and_then(|place| steps.get_mut(*place))
            && let Some(Step::Replaced { version: waiting, is_restored, .. }) = step
        {
            if is_newer(waiting, &version) {
                return Absorbed { merged: absorbed.merged, stale: 1 };
            }
            restores = *is_restored;
            absorbed.merged += 1;
            *step = None;
        }
        self.lists.insert(kind, steps.len());
        self.advance(kind, &version);
        let round = self.round(kind);
        self.steps.push(Some(Step::Replaced { kind, objects, version, round, is_restored: restores }));
        absorbed
    }

    /// Queues the removal of everything of a kind, in place of all that waits of it.
    fn drop_kind(&mut self, kind: Kind, now: Instant) -> Absorbed {
        self.since.get_or_insert(now);
        let merged = self.take_out(kind);
        self.dropped.insert(kind);
        let round = self.begin_round(kind);
        self.steps.push(Some(Step::Dropped { kind, round }));
        Absorbed { merged, stale: 0 }
    }

    /// Takes out all that waits of a kind, and forgets its version. Returns how many steps that were.
    fn take_out(&mut self, kind: Kind) -> u64 {
        let steps = &mut self.steps;
        let mut taken = 0;
        let mut take_out = |place: usize| {
            if steps.get_mut(place).and_then(Option::take).is_some() {
                taken += 1;
            }
        };
        self.objects.extract_if(|(of, _), _| *of == kind).for_each(|(_, place)| take_out(place));
        self.lists.remove(&kind).into_iter().for_each(take_out);
        self.versions.remove(&kind);
        taken
    }

    fn begin_round(&mut self, kind: Kind) -> Round {
        let round = self.rounds.entry(kind).or_default();
        *round += 1;
        *round
    }

    /// The round of what is queued of a kind from now on.
    pub(super) fn round(&self, kind: Kind) -> Round {
        self.rounds.get(&kind).copied().unwrap_or_default()
    }

    /// Takes everything out, and leaves the queue empty.
    pub(super) fn drain(&mut self) -> Batch {
        self.objects.clear();
        self.lists.clear();
        self.since = None;
        let steps = std::mem::take(&mut self.steps).into_iter().flatten().collect();
        Batch { steps, versions: self.versions.drain().collect() }
    }

    /// Whether neither a change nor a bookmark waits.
    pub(super) fn is_empty(&self) -> bool {
        self.since.is_none()
    }

    /// How many objects wait, those of lists included.
    pub(super) fn depth(&self) -> usize {
        let listed = |place: &usize| match self.steps.get(*place) {
            Some(Some(Step::Replaced { objects, .. })) => objects.len(),
            _ => 0,
        };
        self.objects.len() + self.lists.values().map(listed).sum::<usize>()
    }

    /// When the oldest change that waits was queued; `None` where none waits.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }
}
