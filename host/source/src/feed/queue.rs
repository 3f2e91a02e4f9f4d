//! The queue: what sources have seen and the applier has not taken yet, at most one entry per object.
//!
//! Events of one object merge while they wait and keep the place of the first, so that nobody is overtaken for ever by a
//! busy neighbour. The bound is the number of objects there are, not of events, and one whole list per kind: the queue
//! can never hold more than the cluster it is about. The applier takes everything at once with [`Queue::drain`].

use std::iter::Sum;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::change::{Change, Compiled, Identity, Record};
use nodesift_object::Kind;
use nodesift_object::version::{self, is_newer};

/// What an object is known by while it lives: its kind and UID.
pub(super) type ObjectId = (Kind, Arc<str>);

/// What is to be done with one object.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// It appeared or changed.
    Applied(Compiled),
    /// It is gone.
    Gone(Identity),
    /// As [`Work::Applied`], also where the same version is held: what is held of it was found to be wrong, or an earlier
    /// try failed.
    Healed(Compiled),
    /// Somebody asked for it to be looked at once more.
    Again(ObjectId),
}

impl Work {
    pub(super) fn id(&self) -> ObjectId {
        match self {
            Self::Applied(object) | Self::Healed(object) => id_of(&object.identity),
            Self::Gone(gone) => id_of(gone),
            Self::Again(id) => (id.0, Arc::clone(&id.1)),
        }
    }

    pub(super) fn identity(&self) -> Option<&Identity> {
        match self {
            Self::Applied(object) | Self::Healed(object) => Some(&object.identity),
            Self::Gone(gone) => Some(gone),
            Self::Again(_) => None,
        }
    }

    fn version(&self) -> &str {
        self.identity().map_or("", |identity| &identity.version)
    }
}

pub(super) fn id_of(identity: &Identity) -> ObjectId {
    (identity.kind, Arc::clone(&identity.uid))
}

/// One step of what the applier does next.
#[derive(Debug)]
pub(super) enum Step {
    /// Something about one object.
    Object(Work),
    /// A whole list of one kind.
    Replaced { kind: Kind, objects: Vec<Compiled>, version: Arc<str> },
}

/// What became of two events of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merged {
    /// The later event stands for both.
    Later,
    /// The later event is of an older state, or of the same: the earlier one stays.
    Earlier,
}

/// Puts a later event of an object in the place of an earlier one, unless it is of an older state.
pub(super) fn merge(earlier: &mut Work, later: Work) -> Merged {
    let order = version::compare(later.version(), earlier.version());
    let stays = match (&*earlier, &later) {
        // Looking again at an object that is about to be looked at changes nothing.
        (_, Work::Again(_)) => true,
        (Work::Again(_), _) => false,
        // The truth that an audit found gives way to what was seen later, and replaces what it is as new as.
        (Work::Applied(_), Work::Healed(_)) => order.is_some_and(std::cmp::Ordering::is_lt),
        // Deleted at the version at which it was last seen: some servers say so.
        (Work::Applied(_) | Work::Healed(_) | Work::Gone(_), Work::Gone(_)) => {
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

/// All that waits to be applied.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// In the order of first arrival; none where a whole list has made a step needless.
    steps: Vec<Option<Step>>,
    objects: FxHashMap<ObjectId, usize>,
    lists: FxHashMap<Kind, usize>,
    /// Per kind the newest version up to which everything has been delivered.
    seen: FxHashMap<Kind, Arc<str>>,
    /// When the oldest of it arrived.
    since: Option<Instant>,
}

/// What the applier took out of the queue.
#[derive(Debug, Default)]
pub(super) struct Drained {
    /// In the order in which they are to be applied.
    pub(super) steps: Vec<Step>,
    /// What holds once all steps have been applied.
    pub(super) seen: Vec<(Kind, Arc<str>)>,
}

/// What a change did to the queue.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    /// Events that need no step of their own: another event of the object, or a whole list, stands for them.
    pub(super) merged: u64,
    /// Events of a state older than one that waits, or of the same.
    pub(super) stale: u64,
}

impl Sum for Taken {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |sum, one| Self { merged: sum.merged + one.merged, stale: sum.stale + one.stale })
    }
}

impl Queue {
    pub(super) fn push(&mut self, change: Change, now: Instant) -> Taken {
        match change {
            Change::Applied(object) if matches!(object.record, Record::Unreadable) => Taken::default(),
            Change::Applied(object) => {
                self.see(object.identity.kind, &object.identity.version);
                self.push_work(Work::Applied(object), now)
            }
            Change::Gone(identity) => {
                self.see(identity.kind, &identity.version);
                self.push_work(Work::Gone(identity), now)
            }
            Change::Replaced { kind, objects, version } => self.replace(kind, objects, version, now),
            Change::Seen { kind, version } => {
                self.since.get_or_insert(now);
                self.see(kind, &version);
                Taken::default()
            }
        }
    }

    /// What comes is told in the order of versions: everything up to this one waits here, or has been applied.
    fn see(&mut self, kind: Kind, version: &Arc<str>) {
        version::advance(self.seen.entry(kind).or_default(), version);
    }

    pub(super) fn push_work(&mut self, work: Work, now: Instant) -> Taken {
        self.since.get_or_insert(now);
        let id = work.id();
        let place = self.objects.get(&id).and_then(|place| self.steps.get_mut(*place));
        if let Some(Some(Step::Object(waiting))) = place {
            let is_event = !matches!(work, Work::Again(_));
            return match merge(waiting, work) {
                Merged::Earlier if is_event => Taken { merged: 0, stale: 1 },
                Merged::Earlier | Merged::Later => Taken { merged: 1, stale: 0 },
            };
        }
        self.objects.insert(id, self.steps.len());
        self.steps.push(Some(Step::Object(work)));
        Taken::default()
    }

    /// A whole list stands for everything of its kind that is not newer than the list.
    fn replace(&mut self, kind: Kind, objects: Vec<Compiled>, version: Arc<str>, now: Instant) -> Taken {
        self.since.get_or_insert(now);
        let mut taken = Taken::default();
        let steps = &mut self.steps;
        self.objects.retain(|(of, _), place| {
            let Some(step) = steps.get_mut(*place).filter(|_| *of == kind) else { return true };
            let is_newer = matches!(step, Some(Step::Object(work)) if is_newer(work.version(), &version));
            if !is_newer {
                taken.merged += 1;
                *step = None;
            }
            is_newer
        });
        if let Some(step) = self.lists.get(&kind).and_then(|place| steps.get_mut(*place))
            && let Some(Step::Replaced { version: waiting, .. }) = step
        {
            if is_newer(waiting, &version) {
                return Taken { merged: taken.merged, stale: 1 };
            }
            taken.merged += 1;
            *step = None;
        }
        self.lists.insert(kind, steps.len());
        self.see(kind, &version);
        self.steps.push(Some(Step::Replaced { kind, objects, version }));
        taken
    }

    /// Takes everything out.
    pub(super) fn drain(&mut self) -> Drained {
        self.objects.clear();
        self.lists.clear();
        self.since = None;
        let steps = std::mem::take(&mut self.steps).into_iter().flatten().collect();
        Drained { steps, seen: self.seen.drain().collect() }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.since.is_none()
    }

    /// How many objects wait, those of whole lists included.
    pub(super) fn depth(&self) -> usize {
        let listed = |place: &usize| match self.steps.get(*place) {
            Some(Some(Step::Replaced { objects, .. })) => objects.len(),
            _ => 0,
        };
        self.objects.len() + self.lists.values().map(listed).sum::<usize>()
    }

    /// When the oldest of it arrived; none where nothing waits.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }
}
