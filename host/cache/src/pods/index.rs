//! The pod index: all pods by UID and by namespace and name.
//!
//! It is no part of a snapshot: an index of 150,000 pods would be too large to copy on write. So it runs ahead of the newest
//! snapshot, and keeps for every pod the generation from which on snapshots count it. Start at [`PodIndex`].

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use rustc_hash::FxBuildHasher;

use crate::columns::Generation;
use crate::limits::POD_INDEX_SHARDS;
use crate::metadata::PodRecord;

/// All pods that are not terminated, pending ones included. A changed pod is replaced in one step: a reader finds the older
/// record or the newer one.
#[derive(Debug)]
pub struct PodIndex {
    /// Pods by UID, each with the generation from which on columns count this state of it.
    by_uid: DashMap<ByUid, Generation, FxBuildHasher>,
    by_name: DashMap<ByName, (), FxBuildHasher>,
    /// Pods that are on no node, so that nobody looks through all pods for them.
    pending: DashMap<ByUid, (), FxBuildHasher>,
    /// UIDs of those that are assumed.
    assumed: DashMap<Arc<str>, (), FxBuildHasher>,
    len: AtomicUsize,
    /// Bytes of the facts that pods without a node have beside their template.
    pending_bytes: AtomicUsize,
    /// Bytes of the objects that are kept of them.
    object_bytes: AtomicUsize,
    /// The generation from which on snapshots lack the pod that was removed last.
    removed_at: AtomicU64,
}

/// The records that an inserted pod replaced.
#[derive(Debug, Default)]
pub(crate) struct Displaced {
    /// The earlier state of the same pod.
    pub(crate) earlier: Option<Arc<PodRecord>>,
    /// Whether that state counted the same: see [`counts_the_same`].
    pub(crate) unchanged: bool,
    /// Another pod of the same namespace and name, which is removed.
    pub(crate) namesake: Option<Arc<PodRecord>>,
}

impl Default for PodIndex {
    fn default() -> Self {
        Self {
            by_uid: DashMap::with_hasher_and_shard_amount(FxBuildHasher, POD_INDEX_SHARDS),
            by_name: DashMap::with_hasher_and_shard_amount(FxBuildHasher, POD_INDEX_SHARDS),
            pending: DashMap::with_hasher_and_shard_amount(FxBuildHasher, POD_INDEX_SHARDS),
            assumed: DashMap::with_hasher_and_shard_amount(FxBuildHasher, POD_INDEX_SHARDS),
            len: AtomicUsize::new(0),
            pending_bytes: AtomicUsize::new(0),
            object_bytes: AtomicUsize::new(0),
            removed_at: AtomicU64::new(0),
        }
    }
}

impl PodIndex {
    /// The pod with this UID.
    pub fn by_uid(&self, uid: &str) -> Option<Arc<PodRecord>> {
        self.by_uid.get(uid).map(|found| Arc::clone(&found.key().0))
    }

    /// The pod with this UID, and the generation from which on snapshots count this state of it: the index runs ahead of
    /// the newest snapshot.
    pub(crate) fn counted(&self, uid: &str) -> Option<(Arc<PodRecord>, Generation)> {
        self.by_uid.get(uid).map(|found| (Arc::clone(&found.key().0), *found.value()))
    }

    /// The generation from which on snapshots lack every pod that has been removed from the index.
    pub(crate) fn removed_at(&self) -> Generation {
        Generation(self.removed_at.load(Ordering::Acquire))
    }

    /// Whether this very record is the newest state of its pod.
    pub(crate) fn holds(&self, pod: &Arc<PodRecord>) -> bool {
        self.by_uid.get(&*pod.uid).is_some_and(|found| Arc::ptr_eq(&found.key().0, pod))
    }

    /// Sets the generation from which on columns count a pod.
    pub(crate) fn count_from(&self, uid: &str, since: Generation) {
        if let Some(mut found) = self.by_uid.get_mut(uid) {
            *found.value_mut() = since;
        }
    }

    /// All pods that are on a node or nominated for it, whether the node is known or not. Looks through all pods.
    pub(crate) fn for_node(&self, node: &str) -> Vec<Arc<PodRecord>> {
        self.all_with(|pod| pod.bound_or_nominated_node().is_some_and(|known| **known == *node))
    }

    /// Returns all pods bound to nodes whose names `is_meant` accepts, known or not, each with the generation from which on snapshots count
    /// it, as in [`Self::counted`]. Looks through all pods.
    pub(crate) fn counted_on(&self, is_meant: impl Fn(&str) -> bool) -> Vec<(Arc<PodRecord>, Generation)> {
        self.counted_with(|pod| pod.node_name.as_deref().is_some_and(&is_meant))
    }

    /// Returns all pods for which a rule holds, each with the generation from which on snapshots count it, as in [`Self::counted`]. Looks
    /// through all pods.
    pub(crate) fn counted_with(&self, rule: impl Fn(&PodRecord) -> bool) -> Vec<(Arc<PodRecord>, Generation)> {
        let found = self.by_uid.iter().filter(|found| rule(&found.key().0));
        found.map(|found| (Arc::clone(&found.key().0), *found.value())).collect()
    }

    /// Whether somebody could change the pod with this UID now, without waiting.
    #[cfg(test)]
    pub(crate) fn is_unlocked(&self, uid: &str) -> bool {
        !self.by_uid.try_get_mut(uid).is_locked()
    }

    fn all_with(&self, rule: impl Fn(&PodRecord) -> bool) -> Vec<Arc<PodRecord>> {
        let found = self.by_uid.iter().filter(|found| rule(&found.key().0));
        found.map(|found| Arc::clone(&found.key().0)).collect()
    }

    /// The pod with this namespace and name.
    pub fn by_name(&self, namespace: &str, name: &str) -> Option<Arc<PodRecord>> {
        let key: &dyn Named = &(namespace, name);
        self.by_name.get(key).map(|found| Arc::clone(&found.key().0))
    }

    /// How many pods there are.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there is no pod.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the facts that pods without a node have beside their template.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the objects that are kept of pods without a node.
    pub(crate) fn object_bytes(&self) -> usize {
        self.object_bytes.load(Ordering::Relaxed)
    }

    /// Returns all pods, in no order.
    pub fn all(&self) -> Vec<Arc<PodRecord>> {
        let mut all = Vec::with_capacity(self.len());
        all.extend(self.by_uid.iter().map(|found| Arc::clone(&found.key().0)));
        all
    }

    /// Pods that are bound to no node, by namespace and name. Looks through these alone.
    pub fn pending(&self) -> Vec<Arc<PodRecord>> {
        let mut pending: Vec<Arc<PodRecord>> = self.pending.iter().map(|found| Arc::clone(&found.key().0)).collect();
        pending.sort_unstable_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        pending
    }

    /// UIDs of pods that a core has placed on a node and no event shows bound, in no order.
    pub fn assumed(&self) -> Vec<Arc<str>> {
        self.assumed.iter().map(|found| Arc::clone(found.key())).collect()
    }

    /// Whether a core has placed the pod with this UID on a node and no event shows it bound.
    pub fn is_assumed(&self, uid: &str) -> bool {
        self.assumed.contains_key(uid)
    }

    /// Notes whether a pod is assumed.
    pub(crate) fn set_assumed(&self, uid: &Arc<str>, is_assumed: bool) {
        if is_assumed {
            self.assumed.insert(Arc::clone(uid), ());
        } else {
            self.assumed.remove(&**uid);
        }
    }

    /// Inserts a pod. Columns count it from generation `since` on, or since earlier where its earlier state counted the same.
    pub(crate) fn insert(&self, pod: &Arc<PodRecord>, since: Generation) -> Displaced {
        // An entry that is replaced has the new record as its key, too.
        let namesake = match self.by_name.entry(ByName(Arc::clone(pod))) {
            Entry::Occupied(entry) => Some(entry.replace_entry(()).0.0),
            Entry::Vacant(entry) => {
                entry.insert(());
                None
            }
        };
        let (earlier, unchanged) = match self.by_uid.entry(ByUid(Arc::clone(pod))) {
            Entry::Occupied(entry) => {
                let unchanged = counts_the_same(&entry.key().0, pod);
                let since = if unchanged { *entry.get() } else { since };
                (Some(entry.replace_entry(since).0.0), unchanged)
            }
            Entry::Vacant(entry) => {
                entry.insert(since);
                (None, false)
            }
        };
        if pod.node_name.is_none() {
            match self.pending.entry(ByUid(Arc::clone(pod))) {
                Entry::Occupied(entry) => drop(entry.replace_entry(())),
                Entry::Vacant(entry) => drop(entry.insert(())),
            }
        } else if earlier.as_ref().is_some_and(|earlier| earlier.node_name.is_none()) {
            self.pending.remove(&*pod.uid);
        }
        if earlier.is_none() {
            self.len.fetch_add(1, Ordering::Relaxed);
        }
        // Added first: what is subtracted has been added before.
        self.pending_bytes.fetch_add(pending_bytes(pod), Ordering::Relaxed);
        self.pending_bytes.fetch_sub(earlier.as_deref().map_or(0, pending_bytes), Ordering::Relaxed);
        self.object_bytes.fetch_add(pod.object_bytes(), Ordering::Relaxed);
        self.object_bytes.fetch_sub(earlier.as_ref().map_or(0, |earlier| earlier.object_bytes()), Ordering::Relaxed);
        // An API server never renames a pod; if one did, the older name would lead to no pod.
        if let Some(renamed) = earlier.as_deref().filter(|earlier| earlier.name() != pod.name()) {
            self.remove_name(renamed);
        }
        let namesake = namesake.filter(|namesake| namesake.uid != pod.uid);
        if let Some(namesake) = &namesake {
            self.take(&namesake.uid, since);
        }
        Displaced { earlier, unchanged, namesake }
    }

    /// Removes a pod. Columns no longer count it from generation `since` on.
    pub(crate) fn remove(&self, uid: &str, since: Generation) -> Option<Arc<PodRecord>> {
        let pod = self.take(uid, since)?;
        self.remove_name(&pod);
        Some(pod)
    }

    fn take(&self, uid: &str, since: Generation) -> Option<Arc<PodRecord>> {
        let note = |_: &ByUid, _: &Generation| {
            // Under the lock: a reader that does not find the pod any more sees this generation.
            self.removed_at.fetch_max(since.0, Ordering::Release);
            true
        };
        let (ByUid(pod), _) = self.by_uid.remove_if(uid, note)?;
        if pod.node_name.is_none() {
            self.pending.remove(uid);
        }
        self.len.fetch_sub(1, Ordering::Relaxed);
        self.pending_bytes.fetch_sub(pending_bytes(&pod), Ordering::Relaxed);
        self.object_bytes.fetch_sub(pod.object_bytes(), Ordering::Relaxed);
        Some(pod)
    }

    /// Removes a pod's name unless another pod has it by now.
    fn remove_name(&self, pod: &PodRecord) {
        let key: &dyn Named = pod;
        self.by_name.remove_if(key, |found, ()| found.0.uid == pod.uid);
    }
}

fn pending_bytes(pod: &PodRecord) -> usize {
    pod.pending.as_ref().map_or(0, |pending| pending.bytes())
}

/// Whether two states of a pod are the same to columns: usage, labels, node, and what else is counted.
fn counts_the_same(earlier: &PodRecord, pod: &PodRecord) -> bool {
    earlier.facts == pod.facts
        && earlier.takes_the_same(pod)
        && earlier.node_name == pod.node_name
        && earlier.ownership == pod.ownership
        && earlier.terminating == pod.terminating
        && earlier.priority == pod.priority
        && earlier.nominated_node == pod.nominated_node
        && earlier.namespace == pod.namespace
}

/// A pod by its UID: the record itself is the key, so that no copy of the UID is kept.
#[derive(Debug)]
struct ByUid(Arc<PodRecord>);

impl Borrow<str> for ByUid {
    fn borrow(&self) -> &str {
        &self.0.uid
    }
}

impl Hash for ByUid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.uid.hash(state);
    }
}

impl PartialEq for ByUid {
    fn eq(&self, other: &Self) -> bool {
        self.0.uid == other.0.uid
    }
}

impl Eq for ByUid {}

/// A pod by its namespace and name.
#[derive(Debug)]
struct ByName(Arc<PodRecord>);

/// A namespace and a name, owned by a record or borrowed.
trait Named {
    fn name(&self) -> (&str, &str);
}

impl Named for PodRecord {
    fn name(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }
}

impl Named for (&str, &str) {
    fn name(&self) -> (&str, &str) {
        *self
    }
}

impl Hash for dyn Named + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Named + '_ {}

impl<'a> Borrow<dyn Named + 'a> for ByName {
    fn borrow(&self) -> &(dyn Named + 'a) {
        &*self.0
    }
}

impl Hash for ByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for ByName {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn pod(uid: &str, name: &str, node: &str) -> Arc<PodRecord> {
        let metadata = format!(r#"{{"name":"{name}","namespace":"ns","uid":"{uid}"}}"#);
        let json = format!(r#"{{"metadata":{metadata},"spec":{{"nodeName":"{node}"}}}}"#);
        Arc::new(crate::metadata::pod_record(&serde_json::from_str(&json).unwrap(), &[]))
    }

    #[test]
    fn pods_are_found_by_uid_and_by_name_as_in_a_list() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let index = PodIndex::default();
        // By UID; names are unique.
        let mut model: BTreeMap<String, Arc<PodRecord>> = BTreeMap::new();
        for event in 0..20_000 {
            let (uid, name) = (format!("u{}", random.u8(0..40)), format!("n{}", random.u8(0..20)));
            if random.u8(0..3) > 0 {
                let pod = pod(&uid, &name, random.choice(["", "n"]).unwrap());
                let displaced = index.insert(&pod, Generation(event));
                let namesakes: Vec<String> = model
                    .values()
                    .filter(|known| *known.name == *name && *known.uid != *uid)
                    .map(|known| known.uid.to_string())
                    .collect();
                let namesake = namesakes.first().and_then(|uid| model.remove(uid));
                let earlier = model.insert(uid, pod);
                assert_eq!((displaced.earlier, displaced.namesake), (earlier, namesake));
            } else {
                assert_eq!(index.remove(&uid, Generation(event)), model.remove(&uid));
            }
            assert_eq!(index.len(), model.len());
            let (uid, name) = (format!("u{}", random.u8(0..40)), format!("n{}", random.u8(0..20)));
            assert_eq!(index.by_uid(&uid).as_ref(), model.get(&uid));
            assert_eq!(index.by_name("ns", &name).as_ref(), model.values().find(|pod| *pod.name == *name));
            assert_eq!(index.by_name("other", &name), None);
            let mut pending: Vec<&Arc<PodRecord>> = model.values().filter(|pod| pod.node_name.is_none()).collect();
            pending.sort_unstable_by_key(|pod| &pod.name);
            let found = index.pending();
            assert_eq!(found.len(), pending.len());
            assert!(found.iter().zip(pending).all(|(found, pod)| Arc::ptr_eq(found, pod)), "seed {seed}");
        }
    }
}
