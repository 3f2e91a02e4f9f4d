//! Verdict reuse: a verdict is computed once and kept exact.
//!
//! A predicate is a function of what it reads, so a verdict stands for as long as all that was read for it would be read
//! again. [`recorder`] writes down what a call asks, [`question`] says how two answers are told apart, [`tree`] finds
//! verdicts by what they ask about the pod, and [`kept`] says whether one stands: a pointwise verdict but for rows that
//! have changed since, a cluster-wide one while its answers about the cluster are the same. The little that a pointwise
//! predicate can read of the cluster as a whole is in [`carried`].
//!
//! Start with [`Store::judge`]. What all predicates together say is kept too, by the verdicts that it is made of. A call
//! that fails leaves nothing behind.

mod carried;
mod kept;
mod question;
mod recorder;
mod tree;

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use self::kept::Standing;
use self::recorder::Recorder;
use self::tree::{Slot, Tree};
use super::Context;
use super::conjunction::{Outcome, Ruling};
use super::context::Batch;
use super::metrics::Metrics;
use super::size::SHARED;
use crate::limits::REUSE_PATCH_SHARE;
use crate::policy::ActivePredicate;
use nodesift_cache::Row;
use nodesift_sandbox::Interface;
use nodesift_sandbox::fault::Fault;

pub(super) use kept::Kept;

/// The verdicts that are kept of one policy.
#[derive(Debug)]
pub(super) struct Store {
    /// One per predicate of the policy.
    trees: Vec<RwLock<Tree>>,
    /// By the lines of the verdicts that they are made of.
    outcomes: RwLock<FxHashMap<Box<[u64]>, Arc<Answered>>>,
    /// Counts uses.
    clock: AtomicU64,
    /// The last line given out.
    lines: AtomicU64,
    /// An estimate that every look for room sets right; what is dropped meanwhile may take it below zero.
    bytes: AtomicIsize,
    limit_bytes: usize,
    metrics: Metrics,
}

/// The last outcome of a combination of verdicts.
#[derive(Debug)]
struct Answered {
    outcome: Mutex<Arc<Outcome>>,
    used: AtomicU64,
}

/// What was found of a verdict.
enum Found {
    Stands(Arc<Kept>),
    /// Nothing that stands; a new verdict follows the one of this line, if any.
    Nothing(Option<u64>),
}

impl Store {
    /// An empty store for a policy of so many predicates, with room for so many bytes.
    pub(super) fn new(predicates: usize, limit_bytes: usize, metrics: Metrics) -> Self {
        Self {
            trees: (0..predicates).map(|_| RwLock::default()).collect(),
            outcomes: RwLock::default(),
            clock: AtomicU64::new(0),
            lines: AtomicU64::new(0),
            bytes: AtomicIsize::new(0),
            limit_bytes,
            metrics,
        }
    }

    /// The verdict of the policy's predicate at a place, over every row of the context, which it must be about.
    pub(super) fn judge(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
    ) -> Result<Arc<Kept>, Fault> {
        match self.find(place, predicate, context) {
            Found::Stands(kept) => Ok(kept),
            Found::Nothing(line) => self.evaluate(place, predicate, context, line),
        }
    }

    /// The verdict as far as it is kept; rows that have changed since are judged again, but never all of them.
    pub(super) fn known(&self, place: usize, predicate: &ActivePredicate, context: &Arc<Context>) -> Option<Arc<Kept>> {
        match self.find(place, predicate, context) {
            Found::Stands(kept) => Some(kept),
            Found::Nothing(_) => None,
        }
    }

    /// The same, where nothing was read for the verdict that pods on nodes change by way of one of these interfaces; else
    /// nothing is judged.
    pub(super) fn known_without(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
        changed: &[Interface],
    ) -> Option<Arc<Kept>> {
        let slot = self.trees.get(place)?.read().find(context).map(Arc::clone)?;
        let newest = slot.verdicts().into_iter().flatten().next()?;
        // What is judged again has read no less.
        let known = if newest.has_read(changed) { None } else { self.known(place, predicate, context) };
        known.filter(|kept| !kept.has_read(changed))
    }

    /// The verdict, where one is kept that stands as it is: nothing is judged for it. Counted by [`Self::count_kept`].
    pub(super) fn standing(&self, place: usize, predicate: &ActivePredicate, context: &Context) -> Option<Arc<Kept>> {
        let slot = self.trees.get(place)?.read().find(context).map(Arc::clone)?;
        let is_cluster_wide = predicate.module.is_cluster_wide();
        let stands = |kept: &Arc<Kept>| matches!(kept.standing(context, is_cluster_wide), Standing::Stands);
        let kept = slot.verdicts().into_iter().flatten().find(stands)?;
        slot.touch(self.now());
        Some(kept)
    }

    /// What verdicts of these lines together say over every row, where it is known of just these verdicts.
    pub(super) fn known_outcome(&self, lines: &[u64], kept: &[Arc<Kept>], nodes: usize) -> Option<Arc<Outcome>> {
        let answered = self.outcomes.read().get(lines).map(Arc::clone)?;
        let last = Arc::clone(&answered.outcome.lock());
        let same = |(ruling, kept): (&Ruling, &Arc<Kept>)| Arc::ptr_eq(&ruling.judgement, &kept.judgement);
        if last.asked != nodes || !last.rulings.iter().zip(kept).all(same) {
            return None;
        }
        answered.used.store(self.now(), Ordering::Relaxed);
        Some(last)
    }

    /// Counts verdicts that stood as they were kept.
    pub(super) fn count_kept(&self, verdicts: usize) {
        self.metrics.kept.inc_by(u64::try_from(verdicts).unwrap_or(u64::MAX));
    }

    fn find(&self, place: usize, predicate: &ActivePredicate, context: &Arc<Context>) -> Found {
        let Some(tree) = self.trees.get(place) else { return Found::Nothing(None) };
        let Some(slot) = tree.read().find(context).map(Arc::clone) else { return Found::Nothing(None) };
        slot.touch(self.now());
        let mut line = None;
        for kept in slot.verdicts().into_iter().flatten() {
            match kept.standing(context, predicate.module.is_cluster_wide()) {
                Standing::Stands => {
                    self.metrics.kept.inc();
                    return Found::Stands(kept);
                }
                Standing::StandsBut(rows) => {
                    if let Some(patched) = patch(predicate, context, &kept, rows) {
                        let patched = Arc::new(patched);
                        self.keep(&slot, &patched);
                        self.metrics.patched.inc();
                        return Found::Stands(patched);
                    }
                    line = Some(kept.line);
                }
                Standing::Fallen => line = Some(kept.line),
                Standing::Elsewhere => {}
            }
        }
        Found::Nothing(line)
    }

    fn evaluate(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
        line: Option<u64>,
    ) -> Result<Arc<Kept>, Fault> {
        let recorder = Arc::new(Recorder::new(Arc::clone(context), !predicate.module.is_cluster_wide()));
        let verdict = predicate.module.filter(Arc::clone(&recorder) as _, context.rows())?;
        self.metrics.evaluated.inc();
        let (trace, at) = (recorder.take(), context.snapshot().generation());
        let is_cut = trace.is_cut;
        let line = match line {
            _ if is_cut => 0,
            Some(line) => line,
            None => self.lines.fetch_add(1, Ordering::Relaxed) + 1,
        };
        let kept = Arc::new(Kept::new(line, verdict, context.rows() as usize, trace, at));
        if let Some(tree) = self.trees.get(place).filter(|_| !is_cut) {
            let slot = tree.write().place(kept.reads_about_pod(), context);
            slot.touch(self.now());
            self.keep(&slot, &kept);
        }
        Ok(kept)
    }

    fn keep(&self, slot: &Slot, kept: &Arc<Kept>) {
        let (before, after) = slot.keep(kept);
        self.grow(before, after);
    }

    /// What verdicts of these lines together say over every row.
    pub(super) fn outcome(&self, lines: &[u64], rulings: Vec<Ruling>, nodes: usize) -> Arc<Outcome> {
        if lines.contains(&0) {
            return Arc::new(Outcome::new(rulings, &Batch::All, nodes));
        }
        let known = self.outcomes.read().get(lines).map(Arc::clone);
        if let Some(answered) = known {
            answered.used.store(self.now(), Ordering::Relaxed);
            let last = Arc::clone(&answered.outcome.lock());
            let same = |(a, b): (&Ruling, &Ruling)| Arc::ptr_eq(&a.judgement, &b.judgement);
            if last.asked == nodes && last.rulings.iter().zip(&rulings).all(same) {
                return last;
            }
            let outcome = last.patched(&rulings, nodes);
            let outcome = Arc::new(outcome.unwrap_or_else(|| Outcome::new(rulings, &Batch::All, nodes)));
            let replaced = std::mem::replace(&mut *answered.outcome.lock(), Arc::clone(&outcome));
            self.grow(replaced.bytes(), outcome.bytes());
            return outcome;
        }
        let outcome = Arc::new(Outcome::new(rulings, &Batch::All, nodes));
        let answered = Answered { outcome: Mutex::new(Arc::clone(&outcome)), used: AtomicU64::new(self.now()) };
        let answered = Arc::new(answered);
        let replaced = self.outcomes.write().insert(lines.into(), Arc::clone(&answered));
        self.grow(replaced.map_or(0, |replaced| replaced.bytes()), answered.bytes());
        outcome
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Something that is kept has become larger or smaller.
    fn grow(&self, before: usize, after: usize) {
        let change = after.cast_signed() - before.cast_signed();
        let bytes = usize::try_from(self.bytes.fetch_add(change, Ordering::Relaxed) + change).unwrap_or(0);
        self.metrics.kept_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        if bytes > self.limit_bytes {
            self.make_room();
        }
    }

    /// Drops what was used longest ago, so that a quarter of the room is free: to look for it takes longer than to drop it.
    fn make_room(&self) {
        let mut uses = self.uses();
        uses.sort_unstable_by(|a, b| b.cmp(a));
        let room = self.limit_bytes / 4 * 3;
        let mut bytes = 0;
        let mut oldest = 0;
        for (used, size) in &uses {
            if bytes + size > room {
                oldest = used + 1;
                break;
            }
            bytes += size;
        }
        let dropped = uses.iter().filter(|(used, _)| *used < oldest).count();
        self.metrics.evicted.inc_by(u64::try_from(dropped).unwrap_or(u64::MAX));
        for tree in &self.trees {
            let mut tree = tree.write();
            if !tree.retain(&|slot: &Slot| slot.used() >= oldest) {
                *tree = Tree::Empty;
            }
        }
        self.outcomes.write().retain(|_, answered| answered.used.load(Ordering::Relaxed) >= oldest);
        let bytes: usize = self.uses().iter().map(|(_, size)| size).sum();
        self.bytes.store(bytes.cast_signed(), Ordering::Relaxed);
        self.metrics.kept_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// When each verdict and each answer was last used, and the bytes that it takes.
    fn uses(&self) -> Vec<(u64, usize)> {
        let mut uses: Vec<(u64, usize)> = Vec::new();
        for tree in &self.trees {
            tree.read().for_each(&mut |slot: &Slot| uses.push((slot.used(), slot.bytes())));
        }
        let outcomes = self.outcomes.read();
        uses.extend(outcomes.values().map(|answered| (answered.used.load(Ordering::Relaxed), answered.bytes())));
        uses
    }
}

impl Answered {
    /// Bytes of the outcome and of its place in the store: a key of one line per predicate, an entry of a hash table, which
    /// is half empty at times.
    fn bytes(&self) -> usize {
        let outcome = self.outcome.lock();
        let entry = 2 * size_of::<(u64, Box<[u64]>, Arc<Self>)>() + outcome.rulings.len() * size_of::<u64>();
        entry + 2 * SHARED + size_of::<Self>() + outcome.bytes()
    }
}

/// The verdict with some rows judged again; none where that is no less work than to judge them all, or where what comes
/// out does not fit what is known. So it is with a call that fails: that a predicate cannot judge these rows does not say
/// that it cannot judge all of them.
fn patch(predicate: &ActivePredicate, context: &Arc<Context>, kept: &Kept, mut rows: Vec<Row>) -> Option<Kept> {
    let (node_count, at) = (context.snapshot().node_count(), context.snapshot().generation());
    rows.retain(|row| row.index() < node_count);
    if rows.is_empty() {
        return kept.patched(None, &rows, node_count, at);
    }
    if rows.len() * REUSE_PATCH_SHARE > node_count {
        return None;
    }
    let rows: Arc<[Row]> = rows.into();
    let again = Arc::new(context.over(Batch::Rows(Arc::clone(&rows))));
    let recorder = Arc::new(Recorder::new(Arc::clone(&again), true));
    let verdict = predicate.module.filter(Arc::clone(&recorder) as _, again.rows()).ok()?;
    kept.patched(Some((verdict, recorder.take())), &rows, node_count, at)
}
