//! How cached verdicts are found. What a predicate reads about a pod decides what it reads next. So its verdicts are the
//! leaves of a decision tree: an inner node names a fact about the pod, its branches are the values of that fact.
//!
//! A lookup reads just what the predicate itself would read. Branches are found by the hash of a value and compared by the
//! value itself. Start at [`Tree::find`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::cached::CachedVerdict;
use super::fact_read::{FactKey, FactRead};
use super::size::{SHARED, Size as _};
use crate::Context;
use crate::limits::REUSE_VARIANTS;

/// Branches whose values have the same hash; almost always one.
type SameHash = Vec<(Arc<FactRead>, Tree)>;

/// Bytes of an inner node with one branch: the node, a hash table of the least size, the list of one branch. A node of many
/// branches takes less for each.
const NODE_BYTES: usize =
    size_of::<Tree>() + 4 * (size_of::<(u64, SameHash)>() + 1) + 16 + size_of::<(Arc<FactRead>, Tree)>();

/// The cached verdicts of one predicate.
#[derive(Debug, Default)]
pub(super) enum Tree {
    #[default]
    Empty,
    /// Branches by the hash of the answer.
    Fact(FactKey, FxHashMap<u64, SameHash>),
    Leaf(Arc<Slot>),
}

impl Tree {
    /// The verdicts for pods whose facts have the same values as those of the context's pod.
    pub(super) fn find(&self, context: &Context) -> Option<&Arc<Slot>> {
        let mut tree = self;
        loop {
            match tree {
                Self::Empty => return None,
                Self::Leaf(slot) => return Some(slot),
                Self::Fact(key, branches) => {
                    let same_hash = branches.get(&key.digest(context))?;
                    tree = same_hash.iter().find(|(read, _)| read.holds(context)).map(|(_, branch)| branch)?;
                }
            }
        }
    }

    /// The leaf for a verdict with these reads about the context's pod.
    pub(super) fn place<'a>(&mut self, reads: impl Iterator<Item = &'a Arc<FactRead>>, context: &Context) -> Arc<Slot> {
        let mut tree = self;
        let mut path_bytes = 0;
        for read in reads {
            // Another key in this place can only be one that depended on the cluster as it was then.
            if !matches!(tree, Self::Fact(key, _) if *key == read.key) {
                *tree = Self::Fact(read.key.clone(), FxHashMap::default());
            }
            let Self::Fact(key, branches) = tree else { return Arc::default() };
            let same_hash = branches.entry(key.digest(context)).or_insert_with(|| Vec::with_capacity(1));
            let known = same_hash.iter().position(|(known, _)| known.holds(context));
            let at = known.unwrap_or_else(|| {
                same_hash.push((Arc::clone(read), Self::Empty));
                same_hash.len() - 1
            });
            let Some((known, branch)) = same_hash.get_mut(at) else { return Arc::default() };
            path_bytes += NODE_BYTES + key.heap() + known.bytes() + known.facts().map_or(0, |facts| facts.heap());
            tree = branch;
        }
        if let Self::Leaf(slot) = tree {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot { path_bytes, ..Slot::default() });
        *tree = Self::Leaf(Arc::clone(&slot));
        slot
    }

    /// Retains the leaves that `is_wanted`; whether any is left.
    pub(super) fn retain(&mut self, is_wanted: &impl Fn(&Slot) -> bool) -> bool {
        match self {
            Self::Empty => false,
            Self::Leaf(slot) => is_wanted(slot),
            Self::Fact(_, branches) => {
                branches.retain(|_, same_hash| {
                    same_hash.retain_mut(|(_, branch)| branch.retain(is_wanted));
                    !same_hash.is_empty()
                });
                !branches.is_empty()
            }
        }
    }

    /// Calls with every leaf.
    pub(super) fn for_each(&self, call: &mut impl FnMut(&Slot)) {
        match self {
            Self::Empty => {}
            Self::Leaf(slot) => call(slot),
            Self::Fact(_, branches) => branches.values().flatten().for_each(|(_, branch)| branch.for_each(call)),
        }
    }
}

/// The verdicts of a leaf. There is more than one only where a fact about the cluster depends on the pod.
#[derive(Debug, Default)]
pub(super) struct Slot {
    verdicts: Mutex<Vec<Arc<CachedVerdict>>>,
    /// When it was last used, by the store's clock.
    used: AtomicU64,
    /// Bytes of the inner nodes that lead here, as if they led nowhere else.
    path_bytes: usize,
}

impl Slot {
    /// The newest verdicts first.
    pub(super) fn verdicts(&self) -> [Option<Arc<CachedVerdict>>; REUSE_VARIANTS] {
        let verdicts = self.verdicts.lock();
        std::array::from_fn(|at| verdicts.get(at).map(Arc::clone))
    }

    pub(super) fn touch(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Inserts a verdict, or replaces the one of its lineage unless that is of a later snapshot. Beyond `REUSE_VARIANTS` the
    /// oldest goes. Returns the bytes of all before and after.
    pub(super) fn insert(&self, cached: &Arc<CachedVerdict>) -> (usize, usize) {
        let mut verdicts = self.verdicts.lock();
        let before = if verdicts.is_empty() { 0 } else { self.bytes_of(&verdicts) };
        match verdicts.iter_mut().find(|known| known.lineage() == cached.lineage()) {
            Some(known) if known.valid_at() > cached.valid_at() => {}
            Some(known) => *known = Arc::clone(cached),
            None => {
                verdicts.truncate(REUSE_VARIANTS - 1);
                verdicts.insert(0, Arc::clone(cached));
            }
        }
        (before, self.bytes_of(&verdicts))
    }

    /// Bytes of all verdicts, at most.
    pub(super) fn bytes(&self) -> usize {
        self.bytes_of(&self.verdicts.lock())
    }

    fn bytes_of(&self, verdicts: &Vec<Arc<CachedVerdict>>) -> usize {
        let cached = verdicts.iter().map(|cached| cached.bytes()).sum::<usize>();
        SHARED + size_of::<Self>() + self.path_bytes + verdicts.capacity() * size_of::<Arc<CachedVerdict>>() + cached
    }
}
