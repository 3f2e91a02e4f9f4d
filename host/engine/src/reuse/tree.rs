//! How kept verdicts are found: what a predicate asks about a pod decides what it asks next, so its verdicts are the
//! leaves of a tree whose inner nodes are questions and whose branches are answers.
//!
//! Looking a verdict up asks just what the predicate itself would ask. Branches are found by the hash of an answer and
//! told apart by the answer itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::kept::Kept;
use super::question::{Question, Read};
use crate::Context;
use crate::limits::REUSE_VARIANTS;
use crate::size::{SHARED, Size as _};

/// Branches whose answers have one hash, of which there is hardly ever more than one.
type SameHash = Vec<(Arc<Read>, Tree)>;

/// Bytes of an inner node with one branch: the node, a hash table of the least size, the list of one branch. A node of many
/// branches takes less for each.
const NODE_BYTES: usize =
    size_of::<Tree>() + 4 * (size_of::<(u64, SameHash)>() + 1) + 16 + size_of::<(Arc<Read>, Tree)>();

/// The kept verdicts of one predicate.
#[derive(Debug, Default)]
pub(super) enum Tree {
    #[default]
    Empty,
    /// Branches by the hash of the answer.
    Ask(Question, FxHashMap<u64, SameHash>),
    Leaf(Arc<Slot>),
}

impl Tree {
    /// The verdicts for pods that answer as the context's pod does.
    pub(super) fn find(&self, context: &Context) -> Option<&Arc<Slot>> {
        let mut tree = self;
        loop {
            match tree {
                Self::Empty => return None,
                Self::Leaf(slot) => return Some(slot),
                Self::Ask(question, branches) => {
                    let same_hash = branches.get(&question.digest(context))?;
                    tree = same_hash.iter().find(|(read, _)| read.holds(context)).map(|(_, branch)| branch)?;
                }
            }
        }
    }

    /// The place for the verdict that was made with these reads about the context's pod.
    pub(super) fn place<'a>(&mut self, reads: impl Iterator<Item = &'a Arc<Read>>, context: &Context) -> Arc<Slot> {
        let mut tree = self;
        let mut path_bytes = 0;
        for read in reads {
            // Another question in this place can only be one that depended on the cluster as it was then.
            if !matches!(tree, Self::Ask(question, _) if *question == read.question) {
                *tree = Self::Ask(read.question.clone(), FxHashMap::default());
            }
            let Self::Ask(question, branches) = tree else { return Arc::default() };
            let same_hash = branches.entry(question.digest(context)).or_insert_with(|| Vec::with_capacity(1));
            let known = same_hash.iter().position(|(known, _)| known.holds(context));
            let at = known.unwrap_or_else(|| {
                same_hash.push((Arc::clone(read), Self::Empty));
                same_hash.len() - 1
            });
            let Some((known, branch)) = same_hash.get_mut(at) else { return Arc::default() };
            path_bytes += NODE_BYTES + question.heap() + known.bytes() + known.facts().map_or(0, |facts| facts.heap());
            tree = branch;
        }
        if let Self::Leaf(slot) = tree {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot { path_bytes, ..Slot::default() });
        *tree = Self::Leaf(Arc::clone(&slot));
        slot
    }

    /// Keeps the leaves that are wanted; whether there are any.
    pub(super) fn retain(&mut self, is_wanted: &impl Fn(&Slot) -> bool) -> bool {
        match self {
            Self::Empty => false,
            Self::Leaf(slot) => is_wanted(slot),
            Self::Ask(_, branches) => {
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
            Self::Ask(_, branches) => branches.values().flatten().for_each(|(_, branch)| branch.for_each(call)),
        }
    }
}

/// The verdicts of a leaf. There is more than one only where an answer about the cluster depends on the pod.
#[derive(Debug, Default)]
pub(super) struct Slot {
    verdicts: Mutex<Vec<Arc<Kept>>>,
    /// When it was last used, by the store's clock.
    used: AtomicU64,
    /// Bytes of the inner nodes that lead here, as if they led nowhere else.
    path_bytes: usize,
}

impl Slot {
    /// The newest verdicts first.
    pub(super) fn verdicts(&self) -> [Option<Arc<Kept>>; REUSE_VARIANTS] {
        let verdicts = self.verdicts.lock();
        std::array::from_fn(|at| verdicts.get(at).map(Arc::clone))
    }

    pub(super) fn touch(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Keeps a verdict in the place of the one that it follows, unless that is of a later snapshot. The one used longest
    /// ago makes room. The bytes of all before and after.
    pub(super) fn keep(&self, kept: &Arc<Kept>) -> (usize, usize) {
        let mut verdicts = self.verdicts.lock();
        let before = if verdicts.is_empty() { 0 } else { self.bytes_of(&verdicts) };
        match verdicts.iter_mut().find(|known| known.line == kept.line) {
            Some(known) if known.stands_at() > kept.stands_at() => {}
            Some(known) => *known = Arc::clone(kept),
            None => {
                verdicts.truncate(REUSE_VARIANTS - 1);
                verdicts.insert(0, Arc::clone(kept));
            }
        }
        (before, self.bytes_of(&verdicts))
    }

    /// Bytes of all verdicts, at most.
    pub(super) fn bytes(&self) -> usize {
        self.bytes_of(&self.verdicts.lock())
    }

    fn bytes_of(&self, verdicts: &Vec<Arc<Kept>>) -> usize {
        let kept = verdicts.iter().map(|kept| kept.bytes()).sum::<usize>();
        SHARED + size_of::<Self>() + self.path_bytes + verdicts.capacity() * size_of::<Arc<Kept>>() + kept
    }
}
