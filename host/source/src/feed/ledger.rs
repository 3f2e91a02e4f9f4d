//! The ledger: which resourceVersion of each object is applied, so that nothing older is applied after it.
//!
//! Pods are not in it: the cache holds UID and version of each anyway, and there are too many to hold them twice. A deleted
//! object leaves a tombstone for a while, so that a late event cannot bring it back. Start at [`Ledger::check`].

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::change::{Identity, ObjectId};
use crate::limits::FEED_TOMBSTONES;
use nodesift_cache::metadata::PodRecord;
use nodesift_object::Kind;
use nodesift_object::version::{self, is_newer};

/// UID and resourceVersion of an object as it was last applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
}

/// How a change stands to what is held of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionCheck {
    /// It is newer and is applied.
    Newer,
    /// The versions cannot be compared. It arrived later, so it is applied.
    Unordered,
    /// The held version is newer or the same: the change is dropped.
    Stale,
}

impl VersionCheck {
    fn from_order(order: Option<Ordering>, equal_is_stale: bool) -> Self {
        match order {
            Some(Ordering::Greater) => Self::Newer,
            Some(Ordering::Equal) if !equal_is_stale => Self::Newer,
            Some(_) => Self::Stale,
            None => Self::Unordered,
        }
    }
}

/// The resourceVersions of everything that has been applied, by kind and key.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    held: FxHashMap<Kind, FxHashMap<Arc<str>, Held>>,
    tombstones: Tombstones,
    /// Per kind the resourceVersion of the newest list that was applied.
    listed: FxHashMap<Kind, Arc<str>>,
    /// UIDs of pods that are held as they were before the cluster was restored from a backup: their versions say nothing.
    void: FxHashSet<Arc<str>>,
}

/// Evidence for a change: where it comes from, which decides whether it is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// An event of a watch. It is stale where the newest list is as new: that list has shown the object, or its absence.
    Event,
    /// The newest list, or the retry of a change that failed.
    List,
    /// The list of a cluster that was restored from a backup: what is held is of a history that is no more.
    Restored,
    /// An audit: what is held at the same resourceVersion has drifted. Or the newest list, where that was compiled otherwise.
    Audit,
}

impl Ledger {
    /// Returns UID and version of the object that is held under a key; `None` for pods.
    pub(crate) fn held(&self, kind: Kind, key: &str) -> Option<&Held> {
        self.held.get(&kind)?.get(key)
    }

    /// The UIDs of pods that are held of a history that is no more: mostly none.
    pub(crate) fn void_pods(&self) -> FxHashSet<Arc<str>> {
        self.void.clone()
    }

    /// The resourceVersion of a pod that is held; empty where that says nothing.
    pub(super) fn version_of<'a>(&self, pod: &'a PodRecord) -> &'a str {
        if !self.void.is_empty() && self.void.contains(&pod.uid) { "" } else { &pod.resource_version }
    }

    /// Forgets the version at which an object is held, or was deleted, where a list at version `listed` shows the object at an older
    /// one although that version is not newer than the list: in one history no list does that. So the cluster was restored from a
    /// backup and has gone on beyond what had been seen before. `pod` is the pod that is held with the object's UID or name. Returns
    /// whether that is so.
    pub(crate) fn void_where_contradicted(&mut self, object: &Identity, pod: Option<&PodRecord>, listed: &str) -> bool {
        let is_void = |known: &str| contradicts(known, object, listed);
        let is_dead_void = self.tombstones.version(object).is_some_and(is_void);
        if is_dead_void {
            self.tombstones.remove(&object.id());
        }
        let is_held_void = match pod {
            Some(pod) => is_void(self.version_of(pod)) && self.void.insert(Arc::clone(&pod.uid)),
            None => {
                let held = self.held.get_mut(&object.kind).and_then(|held| held.get_mut(&object.key));
                let held = held.filter(|held| is_void(&held.version));
                held.map(|held| held.version = Arc::default()).is_some()
            }
        };
        is_dead_void || is_held_void
    }

    /// A pod with this UID is held no more, or as the restored cluster has it.
    pub(super) fn renewed(&mut self, uid: &str) {
        self.void.remove(uid);
    }

    /// All objects held of a kind, with their keys; none for pods.
    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = (&Arc<str>, &Held)> {
        self.held.get(&kind).into_iter().flatten()
    }

    /// How many objects of a kind are held; 0 for pods.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.held.get(&kind).map_or(0, FxHashMap::len)
    }

    /// Whether a tombstone shows that this object of a list at version `listed` was deleted at this version or later; not where the
    /// list contradicts it, as in [`Self::void_where_contradicted`].
    pub(crate) fn is_deleted(&self, object: &Identity, listed: &str) -> bool {
        let Some(deleted) = self.tombstones.version(object) else { return false };
        !is_newer(&object.version, deleted) && !contradicts(deleted, object, listed)
    }

    /// The resourceVersion of the newest list that was applied.
    pub(crate) fn listed(&self, kind: Kind) -> Option<Arc<str>> {
        self.listed.get(&kind).map(Arc::clone)
    }

    /// Whether a list of this version is not known to be older than the newest that was applied.
    pub(super) fn is_newest_list(&self, kind: Kind, version: &str) -> bool {
        self.listed.get(&kind).is_none_or(|listed| !is_newer(listed, version))
    }

    pub(super) fn set_listed(&mut self, kind: Kind, version: &Arc<str>) {
        version::advance(self.listed.entry(kind).or_default(), version);
    }

    /// Forgets the versions of a kind, not which objects are held: the cluster was restored from a backup, and versions begin anew.
    /// `pods` are all that are held.
    pub(crate) fn forget_versions(&mut self, kind: Kind, pods: &[Arc<PodRecord>]) {
        if kind == Kind::Pod {
            self.void.extend(pods.iter().map(|pod| Arc::clone(&pod.uid)));
        }
        self.listed.remove(&kind);
        self.tombstones.forget(kind);
        self.held.get_mut(&kind).into_iter().flatten().for_each(|(_, held)| held.version = Arc::default());
    }

    /// Forgets a kind: it may be followed again, from any version.
    pub(super) fn forget(&mut self, kind: Kind) {
        self.held.remove(&kind);
        self.listed.remove(&kind);
        self.tombstones.forget(kind);
    }

    /// Checks an object against what is `held` under its key: UID and resourceVersion.
    pub(super) fn check(&self, object: &Identity, held: Option<(&str, &str)>, evidence: Evidence) -> VersionCheck {
        if evidence == Evidence::Restored {
            return VersionCheck::Newer;
        }
        let deleted = self.tombstones.version(object);
        let since_deleted =
            deleted.map(|deleted| VersionCheck::from_order(version::compare(&object.version, deleted), true));
        if since_deleted == Some(VersionCheck::Stale) {
            return VersionCheck::Stale;
        }
        if evidence == Evidence::Event && held.is_none_or(|(uid, _)| *uid != *object.uid) {
            // The newest list would show an object that is as old as the list and still exists, even where another object
            // is held under its key.
            let listed = self.listed.get(&object.kind).and_then(|listed| version::compare(&object.version, listed));
            if listed.is_some_and(Ordering::is_le) {
                return VersionCheck::Stale;
            }
        }
        // Only a version that is known to be newer brings a deleted UID back.
        let Some((uid, held)) = held else { return since_deleted.unwrap_or(VersionCheck::Newer) };
        if object.version.is_empty() && held.is_empty() {
            return VersionCheck::Newer;
        }
        let equal_is_stale = *uid != *object.uid || evidence != Evidence::Audit;
        VersionCheck::from_order(version::compare(&object.version, held), equal_is_stale)
    }

    /// Checks a deletion against what is `held` under its key. Another UID is another object, and stays.
    pub(super) fn check_deletion(&self, deleted: &Identity, held: Option<(&str, &str)>) -> VersionCheck {
        match held {
            Some((uid, _)) if *uid != *deleted.uid => VersionCheck::Stale,
            Some((_, held)) if is_newer(held, &deleted.version) => VersionCheck::Stale,
            _ => VersionCheck::Newer,
        }
    }

    /// Notes that an object has been applied.
    pub(super) fn applied(&mut self, object: &Identity) {
        self.tombstones.remove(&object.id());
        if object.kind == Kind::Pod {
            return;
        }
        let held = Held { uid: Arc::clone(&object.uid), version: Arc::clone(&object.version) };
        self.held.entry(object.kind).or_default().insert(Arc::clone(&object.key), held);
    }

    /// Notes that an object has been removed, or that a pod has ended. The version is the newest that is known of it.
    pub(super) fn removed(&mut self, deleted: &Identity) {
        self.tombstones.insert(deleted);
        let Some(held) = self.held.get_mut(&deleted.kind) else { return };
        if held.get(&deleted.key).is_some_and(|held| held.uid == deleted.uid) {
            held.remove(&deleted.key);
        }
    }
}

/// Whether a list at version `listed` shows an object as it was before the version at which it is known, although that is not newer
/// than the list.
fn contradicts(known: &str, object: &Identity, listed: &str) -> bool {
    is_newer(known, &object.version) && version::compare(known, listed).is_some_and(Ordering::is_le)
}

/// The last [`FEED_TOMBSTONES`] deleted objects, each with the resourceVersion of its deletion.
#[derive(Debug, Default)]
struct Tombstones {
    versions: FxHashMap<ObjectId, Arc<str>>,
    /// In the order of deletion; may name objects that have come back since.
    order: VecDeque<ObjectId>,
}

impl Tombstones {
    fn version(&self, object: &Identity) -> Option<&str> {
        if self.versions.is_empty() {
            return None;
        }
        self.versions.get(&object.id()).map(AsRef::as_ref)
    }

    fn insert(&mut self, deleted: &Identity) {
        // Without a version a tombstone could not be compared with anything that comes back.
        if deleted.version.is_empty() {
            return;
        }
        let id = deleted.id();
        match self.versions.get_mut(&id) {
            Some(known) => version::advance(known, &deleted.version),
            None => {
                self.versions.insert((id.0, Arc::clone(&id.1)), Arc::clone(&deleted.version));
                self.order.push_back(id);
            }
        }
        while self.order.len() > FEED_TOMBSTONES
            && let Some(oldest) = self.order.pop_front()
        {
            self.versions.remove(&oldest);
        }
    }

    fn forget(&mut self, kind: Kind) {
        self.versions.retain(|(of, _), _| *of != kind);
        self.order.retain(|(of, _)| *of != kind);
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

    fn check(ledger: &Ledger, object: &Identity) -> VersionCheck {
        let held = ledger.held(Kind::Node, "n");
        ledger.check(object, held.map(|held| (&*held.uid, &*held.version)), Evidence::Event)
    }

    #[test]
    fn only_a_newer_version_than_the_one_held_is_applied() {
        let mut ledger = Ledger::default();
        assert_eq!(check(&ledger, &identity("a", "9")), VersionCheck::Newer);
        ledger.applied(&identity("a", "9"));
        assert_eq!(check(&ledger, &identity("a", "10")), VersionCheck::Newer);
        assert_eq!(check(&ledger, &identity("a", "9")), VersionCheck::Stale);
        assert_eq!(check(&ledger, &identity("a", "8")), VersionCheck::Stale);
        assert_eq!(check(&ledger, &identity("a", "x")), VersionCheck::Unordered);
    }

    #[test]
    fn an_older_object_of_the_same_name_never_replaces_a_newer_one() {
        let mut ledger = Ledger::default();
        ledger.applied(&identity("new", "20"));
        assert_eq!(check(&ledger, &identity("old", "19")), VersionCheck::Stale);
        assert_eq!(check(&ledger, &identity("newer", "21")), VersionCheck::Newer);
        let held = Some(("new", "20"));
        assert_eq!(ledger.check_deletion(&identity("old", "30"), held), VersionCheck::Stale);
        assert_eq!(ledger.check_deletion(&identity("new", "20"), held), VersionCheck::Newer);
        assert_eq!(ledger.check_deletion(&identity("new", "19"), held), VersionCheck::Stale);
    }

    #[test]
    fn a_tombstone_keeps_a_deleted_object_away_unless_it_is_newer() {
        let mut ledger = Ledger::default();
        ledger.applied(&identity("a", "9"));
        ledger.removed(&identity("a", "12"));
        assert_eq!(ledger.held(Kind::Node, "n"), None);
        assert_eq!(check(&ledger, &identity("a", "10")), VersionCheck::Stale);
        assert_eq!(check(&ledger, &identity("a", "12")), VersionCheck::Stale);
        assert_eq!(check(&ledger, &identity("a", "13")), VersionCheck::Newer);
        assert_eq!(check(&ledger, &identity("b", "11")), VersionCheck::Newer, "another object");
    }

    #[test]
    fn an_event_older_than_the_newest_list_does_not_bring_back_what_the_list_lacks() {
        let mut ledger = Ledger::default();
        ledger.set_listed(Kind::Node, &Arc::from("100"));
        assert_eq!(check(&ledger, &identity("a", "99")), VersionCheck::Stale);
        assert_eq!(check(&ledger, &identity("a", "101")), VersionCheck::Newer);
        assert_eq!(ledger.check(&identity("a", "99"), None, Evidence::List), VersionCheck::Newer);
        let not_yet_removed = Some(("b", "90"));
        assert_eq!(ledger.check(&identity("a", "99"), not_yet_removed, Evidence::Event), VersionCheck::Stale);
        assert_eq!(ledger.check(&identity("b", "99"), not_yet_removed, Evidence::Event), VersionCheck::Newer);
        assert_eq!(ledger.check(&identity("a", "101"), not_yet_removed, Evidence::Event), VersionCheck::Newer);
        assert!(ledger.is_newest_list(Kind::Node, "100") && !ledger.is_newest_list(Kind::Node, "99"));
    }

    #[test]
    fn tombstones_are_limited_in_number() {
        let mut ledger = Ledger::default();
        for uid in 0..2 * FEED_TOMBSTONES {
            ledger.removed(&identity(&format!("u{uid}"), "5"));
        }
        assert_eq!(ledger.tombstones.versions.len(), FEED_TOMBSTONES);
        assert_eq!(ledger.tombstones.order.len(), FEED_TOMBSTONES);
    }
}
