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
use crate::engine::Context;
use crate::limits::REUSE_VARIANTS;

/// The kept verdicts of one predicate.
#[derive(Debug, Default)]
pub(super) enum Tree {
    #[default]
    Empty,
    /// Branches by the hash of the answer.
    Ask(Question, FxHashMap<u64, Vec<(Arc<Read>, Tree)>>),
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
        for read in reads {
            // Another question in this place can only be one that depended on the cluster as it was then.
            if !matches!(tree, Self::Ask(question, _) if *question == read.question) {
                *tree = Self::Ask(read.question.clone(), FxHashMap::default());
            }
            let Self::Ask(question, branches) = tree else { return Arc::default() };
            let same_hash = branches.entry(question.digest(context)).or_default();
            let known = same_hash.iter().position(|(known, _)| known.holds(context));
            let at = known.unwrap_or_else(|| {
                same_hash.push((Arc::clone(read), Self::Empty));
                same_hash.len() - 1
            });
            let Some((_, branch)) = same_hash.get_mut(at) else { return Arc::default() };
            tree = branch;
        }
        if let Self::Leaf(slot) = tree {
            return Arc::clone(slot);
        }
        let slot = Arc::<Slot>::default();
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
    /// ago makes room.
    pub(super) fn keep(&self, kept: &Arc<Kept>) {
        let mut verdicts = self.verdicts.lock();
        match verdicts.iter_mut().find(|known| known.line == kept.line) {
            Some(known) if known.stands_at() > kept.stands_at() => {}
            Some(known) => *known = Arc::clone(kept),
            None => {
                verdicts.truncate(REUSE_VARIANTS - 1);
                verdicts.insert(0, Arc::clone(kept));
            }
        }
    }

    /// Bytes of all verdicts, at most.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.verdicts.lock().iter().map(|kept| kept.bytes()).sum::<usize>()
    }
}
