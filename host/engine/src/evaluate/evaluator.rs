//! Calls the predicates of a phase in policy order, or takes their verdicts from the store, and combines them.
//!
//! The first predicate that rejects a row gives the reason, as in a scheduling cycle. The results of each predicate alone come
//! from the same verdicts. Start at [`Evaluator::evaluate`].

use std::sync::Arc;

use nodesift_sandbox::Verdict;
use nodesift_sandbox::fault::Fault;
use smallvec::SmallVec;

use super::Stop;
use super::conjunction::Conjunction;
use super::evaluation::{Evaluation, verdict_on_fault};
use super::predicate_verdict::{PredicateVerdict, Scope};
use super::unsupported::Unsupported;
use crate::answer::FaultReport;
use crate::facts::{Batch, Context};
use crate::limits::INLINE_PREDICATES;
use crate::policy::{ActivePolicy, ActivePredicate, OnError, Phase};
use crate::reuse::{CachedVerdict, Lineage, Store};

/// The predicates of one phase of a policy, and the store of their cached verdicts, if it may be used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evaluator<'a> {
    policy: &'a ActivePolicy,
    phase: Phase,
    store: Option<&'a Store>,
    /// Names of predicates that are not evaluated.
    skip: &'a [String],
}

impl<'a> Evaluator<'a> {
    /// Without a store, cached verdicts are neither used nor made.
    pub(crate) fn new(policy: &'a ActivePolicy, phase: Phase, store: Option<&'a Store>) -> Self {
        Self { policy, phase, store, skip: &[] }
    }

    /// Leaves out the predicates with these names.
    pub(crate) fn with_skip(self, skip: &'a [String]) -> Self {
        Self { skip, ..self }
    }

    /// Neither uses nor stores cached verdicts from now on.
    pub(crate) fn without_store(self) -> Self {
        Self { store: None, ..self }
    }

    /// The store of cached verdicts, if it may be used.
    pub(crate) fn store(self) -> Option<&'a Store> {
        self.store
    }

    /// The predicates of the phase in policy order, each with its index in the policy.
    pub(crate) fn predicates(self) -> impl Iterator<Item = (usize, &'a ActivePredicate)> {
        self.policy.predicates.iter().enumerate().filter(move |(_, predicate)| {
            predicate.decides(self.phase) && !self.skip.iter().any(|name| *name == *predicate.name)
        })
    }

    /// The policy, whose scorers are asked about what the predicates leave.
    pub(crate) fn policy(self) -> &'a ActivePolicy {
        self.policy
    }

    /// The failure policy for what no predicate evaluates.
    pub(crate) fn on_unsupported(self) -> OnError {
        self.policy.settings.on_unsupported
    }

    /// Evaluates one pod over the context's batch.
    ///
    /// # Errors
    ///
    /// [`Stop::Deadline`] where the request ends before every predicate has a verdict.
    pub(crate) fn evaluate(self, context: &Arc<Context>) -> Result<Evaluation, Stop> {
        let nodes = context.snapshot().node_count();
        let mut all_rows = None;
        let mut verdicts = Vec::with_capacity(self.policy.predicates.len());
        let mut lineages = Vec::with_capacity(self.policy.predicates.len());
        let mut faults = Vec::new();
        for (place, predicate) in self.predicates() {
            let evaluated = match self.store {
                None => call(predicate, context, &mut all_rows).map(|verdict| (verdict, Lineage::NONE)),
                Some(store) => reuse_or_call(store, place, predicate, context, &mut all_rows),
            };
            let (verdict, lineage) = match evaluated {
                Ok(evaluated) => evaluated,
                Err(fault) => {
                    let (verdict, effect) = verdict_on_fault(predicate, &fault, context.rows() as usize)?;
                    faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
                    (PredicateVerdict::new(predicate, verdict, Scope::Batch), Lineage::NONE)
                }
            };
            verdicts.push(verdict);
            lineages.push(lineage);
        }
        // After the predicates: a row that one of them rejects has its reason, as in a scheduling cycle.
        if let Some(unsupported) = Unsupported::find(self.policy, context) {
            verdicts.push(unsupported.verdict(self.on_unsupported(), context.rows() as usize, Scope::Batch));
            lineages.push(Lineage::NONE);
            faults.push(unsupported.report(self.on_unsupported()));
        }
        let conjunction = match (self.store, context.batch()) {
            (Some(store), Batch::All) => store.conjunction_or_combine(&lineages, verdicts, nodes),
            (_, batch) => Arc::new(Conjunction::new(verdicts, batch, nodes)),
        };
        Ok(Evaluation::new(conjunction, faults))
    }

    /// The evaluation over every row, if all verdicts and their conjunction are cached and valid; else `None`. No predicate is
    /// called. An evaluation with a fault is never cached.
    pub(crate) fn lookup(self, context: &Context) -> Option<Evaluation> {
        let store = self.store?;
        if Unsupported::find(self.policy, context).is_some() {
            return None;
        }
        // On the stack for as many predicates as the default policy has: with valid verdicts, only the answer is allocated.
        let mut verdicts: SmallVec<[_; INLINE_PREDICATES]> = SmallVec::new();
        let mut lineages: SmallVec<[_; INLINE_PREDICATES]> = SmallVec::new();
        for (place, predicate) in self.predicates() {
            let cached = store.lookup(place, predicate, context)?;
            lineages.push(cached.lineage());
            verdicts.push(cached);
        }
        let conjunction = store.lookup_conjunction(&lineages, &verdicts, context.snapshot().node_count())?;
        store.count_hits(verdicts.len());
        self.predicates().for_each(|(_, predicate)| _ = predicate.counts.kept.inc());
        Some(Evaluation::new(conjunction, Vec::new()))
    }
}

/// The cached verdict and its lineage. If there is none, the predicate is called and its verdict is cached.
fn reuse_or_call(
    store: &Store,
    place: usize,
    predicate: &ActivePredicate,
    context: &Arc<Context>,
    all_rows: &mut Option<Arc<Context>>,
) -> Result<(PredicateVerdict, Lineage), Fault> {
    let found = |cached: &CachedVerdict| (PredicateVerdict::from_cached(predicate, cached), cached.lineage());
    if matches!(context.batch(), Batch::All) {
        return store.get_or_call(place, predicate, context).map(|cached| found(&cached));
    }
    let whole = Arc::clone(over_all_rows(context, all_rows));
    if predicate.module.is_cluster_wide() {
        return store.get_or_call(place, predicate, &whole).map(|cached| found(&cached));
    }
    // For a subset of rows a cached verdict over all rows is used, but none is made: calling for a few rows is cheaper.
    match store.lookup_or_patch(place, predicate, &whole) {
        Some(cached) => Ok(found(&cached)),
        None => call(predicate, context, all_rows).map(|verdict| (verdict, Lineage::NONE)),
    }
}

/// Calls one predicate. A cluster-wide one is always evaluated over every row.
///
/// # Errors
///
/// The fault of the call.
pub(crate) fn call(
    predicate: &ActivePredicate,
    context: &Arc<Context>,
    all_rows: &mut Option<Arc<Context>>,
) -> Result<PredicateVerdict, Fault> {
    let filter = |context: &Arc<Context>| predicate.filter(Arc::clone(context) as _, context);
    let Batch::Rows(rows) = context.batch() else {
        return Ok(PredicateVerdict::new(predicate, filter(context)?, Scope::AllRows));
    };
    if predicate.module.is_cluster_wide() {
        let verdict = filter(over_all_rows(context, all_rows))?;
        return Ok(PredicateVerdict::new(predicate, verdict, Scope::AllRows));
    }
    let verdict = match filter(context)? {
        // The guest names places of the batch. The host uses rows of the snapshot.
        Verdict::ByRow(by_row) if by_row.named().is_some() => {
            let row = |place: &u32| rows.get(*place as usize).map(|row| row.0);
            let mut named: Vec<u32> =
                by_row.named().into_iter().flat_map(|named| named.iter()).filter_map(row).collect();
            named.sort_unstable();
            Verdict::ByRow(by_row.naming(Some(named.into())))
        }
        verdict => verdict,
    };
    Ok(PredicateVerdict::new(predicate, verdict, Scope::Batch))
}

/// The facts about every row, built when the first predicate needs them.
fn over_all_rows<'a>(context: &Context, all_rows: &'a mut Option<Arc<Context>>) -> &'a Arc<Context> {
    all_rows.get_or_insert_with(|| Arc::new(context.over(Batch::All)))
}
