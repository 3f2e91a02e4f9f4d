//! The ledger: which version of each object has been applied, so that nothing older is applied after it.
//!
//! Pods are not in it: the cache holds the UID and version of each already, and there are too many of them to hold twice.
//! What was deleted is remembered for a while, so that a late event cannot bring it back. Start at [`Ledger::judge`].

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::queue::{ObjectId, id_of};
use crate::change::Identity;
use crate::limits::FEED_TOMBSTONES;
use nodesift_object::Kind;
use nodesift_object::version::{self, is_newer};

/// An object as it was last applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
}

/// Whether an event may be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It is newer than what is held.
    Newer,
    /// It cannot be compared with what is held, and came later.
    Unordered,
    /// What is held is newer, or the same.
    Stale,
}

impl Judgement {
    fn of(order: Option<Ordering>, equal_is_stale: bool) -> Self {
        match order {
            Some(Ordering::Greater) => Self::Newer,
            Some(Ordering::Equal) if !equal_is_stale => Self::Newer,
            Some(_) => Self::Stale,
            None => Self::Unordered,
        }
    }
}

/// Versions of everything that has been applied, by kind and key.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    held: FxHashMap<Kind, FxHashMap<Arc<str>, Held>>,
    gone: Tombstones,
    /// Per kind the version of the newest whole list that was applied.
    listed: FxHashMap<Kind, Arc<str>>,
}

/// What is known of where an object's state comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// An event: nothing that a whole list has already shown, or has shown to be gone.
    Event,
    /// The newest whole list, or an earlier try that failed.
    List,
    /// A comparison with the truth: what is held at the same version is wrong.
    Audit,
}

impl Ledger {
    /// What is held under a key; never of a pod.
    pub(crate) fn held(&self, kind: Kind, key: &str) -> Option<&Held> {
        self.held.get(&kind)?.get(key)
    }

    /// All objects held of a kind, with their keys; never pods.
    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = (&Arc<str>, &Held)> {
        self.held.get(&kind).into_iter().flatten()
    }

    /// How many objects of a kind are held; never pods.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.held.get(&kind).map_or(0, FxHashMap::len)
    }

    /// Whether an object of this version is known to have been deleted since.
    pub(crate) fn is_gone(&self, object: &Identity) -> bool {
        self.gone.version(object).is_some_and(|deleted| !is_newer(&object.version, deleted))
    }

    /// The version of the newest whole list that was applied.
    pub(crate) fn listed(&self, kind: Kind) -> Option<Arc<str>> {
        self.listed.get(&kind).map(Arc::clone)
    }

    /// Whether a list of this version is as new as the newest that was applied, as far as one can tell.
    pub(super) fn is_newest_list(&self, kind: Kind, version: &str) -> bool {
        self.listed.get(&kind).is_none_or(|listed| !is_newer(listed, version))
    }

    pub(super) fn set_listed(&mut self, kind: Kind, version: &Arc<str>) {
        version::advance(self.listed.entry(kind).or_default(), version);
    }

    /// Whether an object may be applied over what is `held` under its key: UID and version.
    pub(super) fn judge(&self, object: &Identity, held: Option<(&str, &str)>, origin: Origin) -> Judgement {
        if let Some(deleted) = self.gone.version(object) {
            // Nothing comes back under a UID that was deleted, unless it can be shown to be newer.
            return Judgement::of(version::compare(&object.version, deleted), true);
        }
        if origin == Origin::Event && held.is_none_or(|(uid, _)| *uid != *object.uid) {
            // The newest list would have shown what is as old as that and still there, whatever else is held in its place.
            let listed = self.listed.get(&object.kind).and_then(|listed| version::compare(&object.version, listed));
            if listed.is_some_and(Ordering::is_le) {
                return Judgement::Stale;
            }
        }
        let Some((uid, held)) = held else { return Judgement::Newer };
        if object.version.is_empty() && held.is_empty() {
            return Judgement::Newer;
        }
        let equal_is_stale = *uid != *object.uid || origin != Origin::Audit;
        Judgement::of(version::compare(&object.version, held), equal_is_stale)
    }

    /// Whether an object may be removed where this is `held` under its key. What has another UID is another object.
    pub(super) fn judge_gone(&self, gone: &Identity, held: Option<(&str, &str)>) -> Judgement {
        match held {
            Some((uid, _)) if *uid != *gone.uid => Judgement::Stale,
            Some((_, held)) if is_newer(held, &gone.version) => Judgement::Stale,
            _ => Judgement::Newer,
        }
    }

    /// An object has been applied.
    pub(super) fn applied(&mut self, object: &Identity) {
        self.gone.remove(&id_of(object));
        if object.kind == Kind::Pod {
            return;
        }
        let held = Held { uid: Arc::clone(&object.uid), version: Arc::clone(&object.version) };
        self.held.entry(object.kind).or_default().insert(Arc::clone(&object.key), held);
    }

    /// An object has been removed, or has ended; `version` is the newest that is known of it.
    pub(super) fn removed(&mut self, gone: &Identity) {
        self.gone.insert(gone);
        let Some(held) = self.held.get_mut(&gone.kind) else { return };
        if held.get(&gone.key).is_some_and(|held| held.uid == gone.uid) {
            held.remove(&gone.key);
        }
    }
}

/// The objects that were deleted last, each with the version of its deletion.
#[derive(Debug, Default)]
struct Tombstones {
    versions: FxHashMap<ObjectId, Arc<str>>,
    /// In the order of deletion; some may have come back since.
    order: VecDeque<ObjectId>,
}

impl Tombstones {
    fn version(&self, object: &Identity) -> Option<&str> {
        if self.versions.is_empty() {
            return None;
        }
        self.versions.get(&id_of(object)).map(AsRef::as_ref)
    }

    fn insert(&mut self, gone: &Identity) {
        // Without versions nothing that comes back could be told from what was deleted.
        if gone.version.is_empty() {
            return;
        }
        let id = id_of(gone);
        match self.versions.get_mut(&id) {
            Some(known) => version::advance(known, &gone.version),
            None => {
                self.versions.insert((id.0, Arc::clone(&id.1)), Arc::clone(&gone.version));
                self.order.push_back(id);
            }
        }
        while self.order.len() > FEED_TOMBSTONES
            && let Some(oldest) = self.order.pop_front()
        {
            self.versions.remove(&oldest);
        }
    }

    fn remove(&mut self, id: &ObjectId) {
        if !self.versions.is_empty() {
            self.versions.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uid: &str, version: &str) -> Identity {
        Identity { kind: Kind::Node, key: Arc::from("n"), uid: Arc::from(uid), version: Arc::from(version) }
    }

    fn judge(ledger: &Ledger, object: &Identity) -> Judgement {
        let held = ledger.held(Kind::Node, "n");
        ledger.judge(object, held.map(|held| (&*held.uid, &*held.version)), Origin::Event)
    }

    #[test]
    fn only_what_is_newer_than_what_is_held_may_be_applied() {
        let mut ledger = Ledger::default();
        assert_eq!(judge(&ledger, &identity("a", "9")), Judgement::Newer);
        ledger.applied(&identity("a", "9"));
        assert_eq!(judge(&ledger, &identity("a", "10")), Judgement::Newer);
        assert_eq!(judge(&ledger, &identity("a", "9")), Judgement::Stale);
        assert_eq!(judge(&ledger, &identity("a", "8")), Judgement::Stale);
        assert_eq!(judge(&ledger, &identity("a", "x")), Judgement::Unordered);
    }

    #[test]
    fn an_older_object_of_the_same_name_never_takes_the_place_of_a_newer_one() {
        let mut ledger = Ledger::default();
        ledger.applied(&identity("new", "20"));
        assert_eq!(judge(&ledger, &identity("old", "19")), Judgement::Stale);
        assert_eq!(judge(&ledger, &identity("newer", "21")), Judgement::Newer);
        let held = Some(("new", "20"));
        assert_eq!(ledger.judge_gone(&identity("old", "30"), held), Judgement::Stale);
        assert_eq!(ledger.judge_gone(&identity("new", "20"), held), Judgement::Newer);
        assert_eq!(ledger.judge_gone(&identity("new", "19"), held), Judgement::Stale);
    }

    #[test]
    fn what_was_deleted_does_not_come_back_unless_it_is_newer() {
        let mut ledger = Ledger::default();
        ledger.applied(&identity("a", "9"));
        ledger.removed(&identity("a", "12"));
        assert_eq!(ledger.held(Kind::Node, "n"), None);
        assert_eq!(judge(&ledger, &identity("a", "10")), Judgement::Stale);
        assert_eq!(judge(&ledger, &identity("a", "12")), Judgement::Stale);
        assert_eq!(judge(&ledger, &identity("a", "13")), Judgement::Newer);
        assert_eq!(judge(&ledger, &identity("b", "11")), Judgement::Newer, "another object");
    }

    #[test]
    fn what_the_newest_list_does_not_show_is_not_brought_back_by_an_older_event() {
        let mut ledger = Ledger::default();
        ledger.set_listed(Kind::Node, &Arc::from("100"));
        assert_eq!(judge(&ledger, &identity("a", "99")), Judgement::Stale);
        assert_eq!(judge(&ledger, &identity("a", "101")), Judgement::Newer);
        assert_eq!(ledger.judge(&identity("a", "99"), None, Origin::List), Judgement::Newer);
        let not_yet_removed = Some(("b", "90"));
        assert_eq!(ledger.judge(&identity("a", "99"), not_yet_removed, Origin::Event), Judgement::Stale);
        assert_eq!(ledger.judge(&identity("b", "99"), not_yet_removed, Origin::Event), Judgement::Newer);
        assert_eq!(ledger.judge(&identity("a", "101"), not_yet_removed, Origin::Event), Judgement::Newer);
        assert!(ledger.is_newest_list(Kind::Node, "100") && !ledger.is_newest_list(Kind::Node, "99"));
    }

    #[test]
    fn deletions_are_remembered_up_to_a_number() {
        let mut ledger = Ledger::default();
        for uid in 0..2 * FEED_TOMBSTONES {
            ledger.removed(&identity(&format!("u{uid}"), "5"));
        }
        assert_eq!(ledger.gone.versions.len(), FEED_TOMBSTONES);
        assert_eq!(ledger.gone.order.len(), FEED_TOMBSTONES);
    }
}
