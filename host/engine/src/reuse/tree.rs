//! The index of cached verdicts: a decision tree. The value that a predicate reads about a pod determines what it reads next.
//! So an inner node is a fact about the pod, its branches are the values of that fact, and the leaves hold verdicts.
//!
//! A lookup reads the same facts about the pod that the predicate would read. Branches are found by the hash of the value and
//! then compared by the value. Start at [`Tree::find`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::cached::CachedVerdict;
use super::fact_read::{FactKey, FactRead};
use super::size::{SHARED, Size as _};
use crate::Context;
use crate::limits::REUSE_VARIANTS;

/// Branches whose values have the same hash; usually one.
type SameHash = Vec<(Arc<FactRead>, Tree)>;

/// Bytes of an inner node with one branch: the node, the smallest hash table, the list of one branch. A node with many branches
/// takes less per branch.
const NODE_BYTES: usize =
    size_of::<Tree>() + 4 * (size_of::<(u64, SameHash)>() + 1) + 16 + size_of::<(Arc<FactRead>, Tree)>();

/// The cached verdicts of one predicate.
#[derive(Debug, Default)]
pub(super) enum Tree {
    #[default]
    Empty,
    /// A fact about the pod, and the branches by the hash of its value.
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

    /// The leaf for a verdict with these reads about the context's pod; inserted if it is missing.
    pub(super) fn place<'a>(&mut self, reads: impl Iterator<Item = &'a Arc<FactRead>>, context: &Context) -> Arc<Slot> {
        let mut tree = self;
        let mut path_bytes = 0;
        for read in reads {
            // A different key here comes from a read that depended on an older state of the cluster: its branch is replaced.
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

    /// Retains the leaves for which `is_wanted` is true. Returns whether any is left.
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

    /// Calls `call` with every leaf.
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
    /// Time of last use, in ticks of the store's logical clock.
    used: AtomicU64,
    /// Bytes of the inner nodes on the path to this leaf. Shared inner nodes count in full at each leaf.
    path_bytes: usize,
}

impl Slot {
    /// The verdicts, newest first.
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

    /// Inserts a verdict, or replaces the one of its lineage unless that is valid at a later generation. Beyond
    /// `REUSE_VARIANTS` the oldest is dropped. Returns the bytes of the leaf before and after.
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

    /// Upper bound of the bytes of the leaf and its path.
    pub(super) fn bytes(&self) -> usize {
        self.bytes_of(&self.verdicts.lock())
    }

    fn bytes_of(&self, verdicts: &Vec<Arc<CachedVerdict>>) -> usize {
        let cached = verdicts.iter().map(|cached| cached.bytes()).sum::<usize>();
        SHARED + size_of::<Self>() + self.path_bytes + verdicts.capacity() * size_of::<Arc<CachedVerdict>>() + cached
    }
}
