//! The store of cached verdicts and scores of one policy. A verdict is found by the facts that it has read about the pod. The store is
//! bounded in bytes and evicts the least recently used entries.
//!
//! Start with [`Store::get_or_call`]. The conjunction of the verdicts of all predicates is cached too, by their lineages. A failed
//! call is not cached.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

use nodesift_cache::Row;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Facts, Interface, Verdict};
use parking_lot::{Mutex, RwLock};
use prometheus_client::metrics::counter::Counter;
use rustc_hash::{FxHashMap, FxHashSet};

use super::cached::{CachedVerdict, Lineage, Returned, Validity};
use super::kept_scores::KeptScores;
use super::recorder::{Recorder, Trace};
use super::size::{SHARED, Size as _};
use super::tree::{Slot, Tree};
use crate::evaluate::conjunction::Conjunction;
use crate::evaluate::predicate_verdict::PredicateVerdict;
use crate::facts::{Batch, Context};
use crate::limits::{REUSE_FAILURE_BYTES, REUSE_FAILURES, REUSE_PATCH_SHARE};
use crate::metrics::Metrics;
use crate::policy::ActivePredicate;

/// The cached verdicts of one policy.
#[derive(Debug)]
pub(crate) struct Store {
    /// One tree per predicate of the policy, then one per scorer. Those of unchanged ones are shared with the store of the policy before.
    trees: Vec<Arc<RwLock<Tree>>>,
    /// By the lineages of the verdicts that they combine.
    conjunctions: RwLock<FxHashMap<Box<[Lineage]>, Arc<CachedConjunction>>>,
    /// Logical time: incremented at each use of an entry. The same for all stores that share trees.
    clock: Arc<AtomicU64>,
    /// The last assigned lineage. The same for all stores that share trees, so that no two verdicts of different predicates
    /// have the same.
    lineages: Arc<AtomicU64>,
    /// Estimated bytes of all entries, corrected by each eviction. Concurrent removals may make it negative for a moment.
    bytes: AtomicIsize,
    limit_bytes: usize,
    metrics: Metrics,
}

/// The newest conjunction of a combination of lineages.
#[derive(Debug)]
struct CachedConjunction {
    conjunction: Mutex<Arc<Conjunction>>,
    used: AtomicU64,
}

/// Judgement of scores as a part of the call that has returned them.
pub(crate) type Check<'a> = &'a dyn Fn(&KeptScores) -> Result<(), Fault>;

/// The function of a component whose results are cached.
#[derive(Clone, Copy)]
enum Function<'a> {
    Filter,
    Score(Check<'a>),
}

impl Function<'_> {
    /// Calls it about a context, and records what it reads.
    fn call(self, component: &ActivePredicate, context: &Arc<Context>) -> Result<(Returned, Trace), Fault> {
        let is_pointwise = !component.module.is_cluster_wide();
        let recorder = Arc::new(Recorder::new(Arc::clone(context), is_pointwise));
        let facts: Arc<dyn Facts> = Arc::clone(&recorder) as _;
        let returned = match self {
            Self::Filter => Returned::Verdict(component.filter(facts, context)?),
            Self::Score(check) => Returned::Scores(component.score(facts, context, |scores| {
                let scores = KeptScores::from(scores);
                check(&scores).map(|()| scores)
            })?),
        };
        Ok((returned, recorder.take()))
    }
}

/// The result of a lookup.
enum Lookup {
    Valid(Arc<CachedVerdict>),
    /// There is no valid verdict. A new one continues this lineage, if any.
    Missing(Option<Lineage>),
}

impl Store {
    /// Creates an empty store for a policy of so many predicates and scorers, bounded by `limit_bytes` bytes.
    pub(crate) fn new(components: usize, limit_bytes: usize, metrics: Metrics) -> Self {
        Self {
            trees: (0..components).map(|_| Arc::default()).collect(),
            conjunctions: RwLock::default(),
            clock: Arc::default(),
            lineages: Arc::default(),
            bytes: AtomicIsize::new(0),
            limit_bytes,
            metrics,
        }
    }

    /// The store of the next policy. `kept` has, for each of its predicates and then for each of its scorers, the index of the same one
    /// among those of this one's policy, if it is there: its cached verdicts are shared, and so are the conjunctions of such verdicts alone.
    pub(crate) fn succeeded_by(&self, kept: &[Option<usize>]) -> Self {
        let tree = |place: &Option<usize>| place.and_then(|place| self.trees.get(place)).map(Arc::clone);
        let next = Self {
            trees: kept.iter().map(|place| tree(place).unwrap_or_default()).collect(),
            conjunctions: RwLock::default(),
            clock: Arc::clone(&self.clock),
            lineages: Arc::clone(&self.lineages),
            bytes: AtomicIsize::new(0),
            limit_bytes: self.limit_bytes,
            metrics: self.metrics.clone(),
        };
        let mut lineages = FxHashSet::default();
        for tree in &next.trees {
            tree.read().for_each(&mut |slot: &Slot| {
                lineages.extend(slot.verdicts().into_iter().flatten().map(|cached| cached.lineage()));
            });
        }
        let conjunctions = self.conjunctions.read();
        let is_kept = |key: &[Lineage]| key.iter().all(|lineage| lineages.contains(lineage));
        let kept = conjunctions.iter().filter(|(key, _)| is_kept(key));
        *next.conjunctions.write() = kept.map(|(key, cached)| (key.clone(), Arc::clone(cached))).collect();
        drop(conjunctions);
        next.recount();
        next
    }

    /// The verdict of the predicate with index `place` in the policy over every row of the context, cached or evaluated.
    ///
    /// # Errors
    ///
    /// The fault of the call, if the predicate was called and failed.
    pub(crate) fn get_or_call(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
    ) -> Result<Arc<CachedVerdict>, Fault> {
        self.get_or_return(Function::Filter, place, predicate, context)
    }

    /// The scores of the scorer with index `place` among predicates and scorers over every row of the context, cached or given. `check`
    /// judges scores that a call returns, not those that are cached.
    ///
    /// # Errors
    ///
    /// The fault of the call or of `check`, if the scorer was called.
    pub(crate) fn get_or_score(
        &self,
        place: usize,
        scorer: &ActivePredicate,
        context: &Arc<Context>,
        check: Check<'_>,
    ) -> Result<Arc<CachedVerdict>, Fault> {
        self.get_or_return(Function::Score(check), place, scorer, context)
    }

    /// The cached scores, if any. The scorer is called about stale rows, and never about all rows.
    pub(crate) fn lookup_or_score(
        &self,
        place: usize,
        scorer: &ActivePredicate,
        context: &Arc<Context>,
    ) -> Option<Arc<CachedVerdict>> {
        match self.find(Function::Score(&|_| Ok(())), place, scorer, context) {
            Lookup::Valid(cached) => Some(cached),
            Lookup::Missing(_) => None,
        }
    }

    fn get_or_return(
        &self,
        function: Function<'_>,
        place: usize,
        component: &ActivePredicate,
        context: &Arc<Context>,
    ) -> Result<Arc<CachedVerdict>, Fault> {
        match self.find(function, place, component, context) {
            Lookup::Valid(cached) => Ok(cached),
            Lookup::Missing(lineage) => self.call(function, place, component, context, lineage),
        }
    }

    /// The cached verdict, if any. The predicate is called about stale rows, and never about all rows.
    pub(crate) fn lookup_or_patch(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
    ) -> Option<Arc<CachedVerdict>> {
        match self.find(Function::Filter, place, predicate, context) {
            Lookup::Valid(cached) => Some(cached),
            Lookup::Missing(_) => None,
        }
    }

    /// The cached verdict, if it has read none of these interfaces. If it has, no row is evaluated.
    pub(crate) fn lookup_or_patch_without(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
        changed: &[Interface],
    ) -> Option<Arc<CachedVerdict>> {
        let slot = self.trees.get(place)?.read().find(context).map(Arc::clone)?;
        let newest = slot.verdicts().into_iter().flatten().next()?;
        // A patched verdict has read at least the same facts.
        let cached = if newest.has_read(changed) { None } else { self.lookup_or_patch(place, predicate, context) };
        cached.filter(|cached| !cached.has_read(changed))
    }

    /// The cached verdict, if it is valid for every row. No predicate is called. The caller counts it with
    /// [`Self::count_hits`].
    pub(crate) fn lookup(
        &self,
        place: usize,
        predicate: &ActivePredicate,
        context: &Context,
    ) -> Option<Arc<CachedVerdict>> {
        let slot = self.trees.get(place)?.read().find(context).map(Arc::clone)?;
        let is_cluster_wide = predicate.module.is_cluster_wide();
        let is_valid =
            |cached: &Arc<CachedVerdict>| matches!(cached.validity(context, is_cluster_wide), Validity::Valid);
        let cached = slot.verdicts().into_iter().flatten().find(is_valid)?;
        slot.touch(self.now());
        Some(cached)
    }

    /// Counts verdicts that [`Self::lookup`] has found.
    pub(crate) fn count_hits(&self, verdicts: usize) {
        self.metrics.kept.inc_by(u64::try_from(verdicts).unwrap_or(u64::MAX));
    }

    /// The cached conjunction of exactly these verdicts over `nodes` rows.
    pub(crate) fn lookup_conjunction(
        &self,
        lineages: &[Lineage],
        verdicts: &[Arc<CachedVerdict>],
        nodes: usize,
    ) -> Option<Arc<Conjunction>> {
        let cached = self.conjunctions.read().get(lineages).map(Arc::clone)?;
        let newest = Arc::clone(&cached.conjunction.lock());
        let verdicts = verdicts.iter().map(|verdict| verdict.verdict());
        if !newest.is_of(nodes, verdicts) {
            return None;
        }
        cached.used.store(self.now(), Ordering::Relaxed);
        Some(newest)
    }

    /// The conjunction of the verdicts of these lineages over `nodes` rows: cached, patched, or new.
    pub(crate) fn conjunction_or_combine(
        &self,
        lineages: &[Lineage],
        verdicts: Vec<PredicateVerdict>,
        nodes: usize,
    ) -> Arc<Conjunction> {
        if lineages.contains(&Lineage::NONE) {
            return Arc::new(Conjunction::new(verdicts, &Batch::All, nodes));
        }
        let cached = self.conjunctions.read().get(lineages).map(Arc::clone);
        if let Some(cached) = cached {
            cached.used.store(self.now(), Ordering::Relaxed);
            let newest = Arc::clone(&cached.conjunction.lock());
            if newest.is_of(nodes, verdicts.iter().map(|verdict| &verdict.verdict)) {
                return newest;
            }
            let conjunction = newest.patched(&verdicts, nodes);
            let conjunction = Arc::new(conjunction.unwrap_or_else(|| Conjunction::new(verdicts, &Batch::All, nodes)));
            let replaced = std::mem::replace(&mut *cached.conjunction.lock(), Arc::clone(&conjunction));
            self.resize(replaced.bytes(), conjunction.bytes());
            return conjunction;
        }
        let conjunction = Arc::new(Conjunction::new(verdicts, &Batch::All, nodes));
        let cached =
            CachedConjunction { conjunction: Mutex::new(Arc::clone(&conjunction)), used: AtomicU64::new(self.now()) };
        let cached = Arc::new(cached);
        let replaced = self.conjunctions.write().insert(lineages.into(), Arc::clone(&cached));
        self.resize(replaced.map_or(0, |replaced| replaced.bytes()), cached.bytes());
        conjunction
    }

    fn find(
        &self,
        function: Function<'_>,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
    ) -> Lookup {
        let Some(tree) = self.trees.get(place) else { return Lookup::Missing(None) };
        let Some(slot) = tree.read().find(context).map(Arc::clone) else { return Lookup::Missing(None) };
        slot.touch(self.now());
        let mut lineage = None;
        for cached in slot.verdicts().into_iter().flatten() {
            match cached.validity(context, predicate.module.is_cluster_wide()) {
                Validity::Valid => {
                    self.count(function, &self.metrics.kept, &predicate.counts.kept);
                    return Lookup::Valid(cached);
                }
                Validity::StaleRows(rows) => {
                    if let Some(patched) = patch(function, predicate, context, &cached, rows) {
                        let patched = Arc::new(patched);
                        self.insert(&slot, &patched);
                        self.count(function, &self.metrics.patched, &predicate.counts.patched);
                        return Lookup::Valid(patched);
                    }
                    lineage = Some(cached.lineage());
                }
                Validity::Invalid => lineage = Some(cached.lineage()),
                Validity::OtherPod => {}
            }
        }
        Lookup::Missing(lineage)
    }

    /// Calls a predicate and records what it reads, without caching its verdict.
    ///
    /// # Errors
    ///
    /// The fault of the call.
    pub(crate) fn call_uncached(predicate: &ActivePredicate, context: &Arc<Context>) -> Result<CachedVerdict, Fault> {
        let (verdict, trace) = Function::Filter.call(predicate, context)?;
        let lineage = if trace.is_cut { Lineage::NONE } else { Lineage::UNSHARED };
        Ok(CachedVerdict::new(lineage, verdict, context.rows() as usize, trace, context.snapshot().generation()))
    }

    /// Counts a verdict by its source. Scores are counted for the scorer alone.
    fn count(&self, function: Function<'_>, all: &Counter, own: &Counter) {
        if matches!(function, Function::Filter) {
            all.inc();
        }
        own.inc();
    }

    fn call(
        &self,
        function: Function<'_>,
        place: usize,
        predicate: &ActivePredicate,
        context: &Arc<Context>,
        lineage: Option<Lineage>,
    ) -> Result<Arc<CachedVerdict>, Fault> {
        let (returned, trace) = function.call(predicate, context)?;
        self.count(function, &self.metrics.evaluated, &predicate.counts.evaluated);
        let at = context.snapshot().generation();
        let is_cut = trace.is_cut || may_be_cut(&returned);
        let lineage = match lineage {
            _ if is_cut => Lineage::NONE,
            Some(lineage) => lineage,
            None => Lineage(self.lineages.fetch_add(1, Ordering::Relaxed) + 1),
        };
        let cached = Arc::new(CachedVerdict::new(lineage, returned, context.rows() as usize, trace, at));
        if let Some(tree) = self.trees.get(place).filter(|_| !is_cut) {
            let slot = tree.write().place(cached.reads_about_pod(), context);
            slot.touch(self.now());
            self.insert(&slot, &cached);
        }
        Ok(cached)
    }

    fn insert(&self, slot: &Slot, cached: &Arc<CachedVerdict>) {
        let (before, after) = slot.insert(cached);
        self.resize(before, after);
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Accounts for a changed entry of `before` and `after` bytes, and evicts if the store is full.
    fn resize(&self, before: usize, after: usize) {
        let change = after.cast_signed() - before.cast_signed();
        let bytes = usize::try_from(self.bytes.fetch_add(change, Ordering::Relaxed) + change).unwrap_or(0);
        self.metrics.kept_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        if bytes > self.limit_bytes {
            self.evict();
        }
    }

    /// Evicts the least recently used entries until a quarter of the store is free. Finding them takes a scan of the whole
    /// store, so many are evicted at once.
    fn evict(&self) {
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
        let evicted = uses.iter().filter(|(used, _)| *used < oldest).count();
        self.metrics.evicted.inc_by(u64::try_from(evicted).unwrap_or(u64::MAX));
        for tree in &self.trees {
            let mut tree = tree.write();
            if !tree.retain(&|slot: &Slot| slot.used() >= oldest) {
                *tree = Tree::Empty;
            }
        }
        self.conjunctions.write().retain(|_, cached| cached.used.load(Ordering::Relaxed) >= oldest);
        self.recount();
    }

    /// Sums up the bytes of all entries.
    fn recount(&self) {
        let bytes: usize = self.uses().iter().map(|(_, size)| size).sum();
        self.bytes.store(bytes.cast_signed(), Ordering::Relaxed);
        self.metrics.kept_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// The time of last use and the bytes of each entry.
    fn uses(&self) -> Vec<(u64, usize)> {
        let mut uses: Vec<(u64, usize)> = Vec::new();
        for tree in &self.trees {
            tree.read().for_each(&mut |slot: &Slot| uses.push((slot.used(), slot.bytes())));
        }
        let conjunctions = self.conjunctions.read();
        uses.extend(conjunctions.values().map(|cached| (cached.used.load(Ordering::Relaxed), cached.bytes())));
        uses
    }
}

impl CachedConjunction {
    /// Bytes of the conjunction and of its entry: a key with one lineage per predicate, in a hash table that may be half empty.
    fn bytes(&self) -> usize {
        let conjunction = self.conjunction.lock();
        let entry =
            2 * size_of::<(u64, Box<[Lineage]>, Arc<Self>)>() + conjunction.verdicts().len() * size_of::<Lineage>();
        entry + 2 * SHARED + size_of::<Self>() + conjunction.bytes()
    }
}

/// Whether a verdict has so many failures, or such long ones, that predicate or sandbox may have cut some for the sake of the
/// others. A row's failure then depends on the other rows of its batch, so that such a verdict cannot be patched.
fn may_be_cut(returned: &Returned) -> bool {
    let Returned::Verdict(Verdict::ByRow(by_row)) = returned else { return false };
    by_row.failures().len() > REUSE_FAILURES || by_row.failures().heap() > REUSE_FAILURE_BYTES
}

/// The verdict with its stale rows evaluated again. `None` where evaluating all rows is no more work, where the results do not
/// combine, or where the call fails: a call for all rows may still succeed.
fn patch(
    function: Function<'_>,
    predicate: &ActivePredicate,
    context: &Arc<Context>,
    cached: &CachedVerdict,
    mut rows: Vec<Row>,
) -> Option<CachedVerdict> {
    let (node_count, at) = (context.snapshot().node_count(), context.snapshot().generation());
    rows.retain(|row| row.index() < node_count);
    if rows.is_empty() {
        return cached.patched(None::<(Returned, Trace)>, &rows, node_count, at);
    }
    if rows.len() * REUSE_PATCH_SHARE > node_count {
        return None;
    }
    let rows: Arc<[Row]> = rows.into();
    let again = Arc::new(context.over(Batch::Rows(Arc::clone(&rows))));
    // Some rows alone are not judged: scores are normalized over all of them.
    let function = match function {
        Function::Filter => Function::Filter,
        Function::Score(_) => Function::Score(&|_| Ok(())),
    };
    cached.patched(Some(function.call(predicate, &again).ok()?), &rows, node_count, at)
}
