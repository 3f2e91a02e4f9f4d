//! A limit on feasible nodes: rows are evaluated from a start row on until enough fit, as kube-scheduler samples nodes.
//!
//! The answer is that of a query about just the evaluated rows. Verdicts that are known for every row (cached ones, and those
//! of cluster-wide predicates) are used unchanged; if all are known, the limit only cuts the conjunction. The other predicates
//! are called for successive ranges of rows, each twice as long as the one before; no row is evaluated twice. If there are
//! nominated rows, every row is evaluated first. Start at [`evaluate`].

use std::ops::Range;
use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::fault::Fault;

use super::nominated::NominatedRow;
use super::partial_verdict::PartialVerdict;
use crate::answer::FaultReport;
use crate::evaluate::Stop;
use crate::evaluate::conjunction::Conjunction;
use crate::evaluate::evaluation::{Evaluation, verdict_on_fault};
use crate::evaluate::evaluator::{Evaluator, call};
use crate::evaluate::pod_evaluation::PodEvaluation;
use crate::evaluate::predicate_verdict::{PredicateVerdict, Scope};
use crate::evaluate::row_set::RowSet;
use crate::evaluate::unsupported::Unsupported;
use crate::facts::{Batch, Context};
use crate::policy::ActivePredicate;
use crate::query::Sample;
use crate::reuse::Lineage;

/// Evaluates one pod over rows until the limit of feasible nodes is reached. `nominated` are the nominated rows;
/// `with_nominated` evaluates some of them again.
///
/// # Errors
///
/// Those of `with_nominated`, and [`Stop::Deadline`].
pub(crate) fn evaluate(
    evaluator: Evaluator<'_>,
    sample: &Sample,
    context: &Arc<Context>,
    nominated: &[NominatedRow],
    mut with_nominated: impl FnMut(Evaluation, &[NominatedRow]) -> Result<Evaluation, Stop>,
) -> Result<PodEvaluation, Stop> {
    let order = Order::new(sample, context.snapshot().node_count());
    let limit = sample.limit.get();
    if limit >= order.nodes {
        let evaluation = with_nominated(evaluator.evaluate(context)?, nominated)?;
        return Ok(PodEvaluation { evaluation, context: Arc::clone(context), next: Some(order.row(0)) });
    }
    if nominated.is_empty() {
        let (evaluation, places) = SampledRun::start(evaluator, context)?.evaluate(&order, sample)?;
        return Ok(order.evaluated(evaluation, context, places));
    }
    let (mut evaluation, mut remaining) = (evaluator.evaluate(context)?, nominated.to_vec());
    let places = loop {
        let places = order.places_until(evaluation.conjunction.feasible(), limit);
        let (reached, beyond): (Vec<NominatedRow>, Vec<NominatedRow>) =
            remaining.into_iter().partition(|nominated| order.place(nominated.row) < places);
        if reached.is_empty() {
            break places;
        }
        remaining = beyond;
        evaluation = with_nominated(evaluation, &reached)?;
    };
    if places < order.nodes {
        evaluation.conjunction = Arc::new(evaluation.conjunction.over(&order.first(places)));
    }
    Ok(order.evaluated(evaluation, context, places))
}

/// The order in which rows are evaluated: from the start row to the last one, then from the first.
#[derive(Debug)]
struct Order {
    start: usize,
    nodes: usize,
}

impl Order {
    fn new(sample: &Sample, nodes: usize) -> Self {
        Self { start: if sample.start < nodes { sample.start } else { 0 }, nodes }
    }

    /// The row at a place of the order. The place after the last one is the first row again.
    fn row(&self, place: usize) -> Row {
        let row = self.start + place;
        let row = if row >= self.nodes { row - self.nodes } else { row };
        // Row numbers are `u32`: there are never 2^32 nodes.
        Row(u32::try_from(row.min(self.nodes)).unwrap_or(u32::MAX))
    }

    /// The place of a row.
    fn place(&self, row: Row) -> usize {
        let after = row.index() + if row.index() < self.start { self.nodes } else { 0 };
        after - self.start
    }

    /// The evaluation of the rows at the first places.
    fn evaluated(&self, evaluation: Evaluation, context: &Context, places: usize) -> PodEvaluation {
        let context = Arc::new(context.over(Batch::Rows(self.first(places))));
        PodEvaluation { evaluation, context, next: Some(self.row(places)) }
    }

    /// The rows at these places, in their order.
    fn rows(&self, places: Range<usize>) -> Arc<[Row]> {
        places.map(|place| self.row(place)).collect()
    }

    fn first(&self, places: usize) -> Arc<[Row]> {
        self.rows(0..places)
    }

    /// The number of places up to and including the one that is the `limit`-th of `rows`.
    fn places_until(&self, rows: &RowSet, limit: usize) -> usize {
        let start = self.row(0);
        let found =
            rows.iter_from(start).chain(rows.iter().take_while(|row| *row < start)).nth(limit.saturating_sub(1));
        match found {
            None => self.nodes,
            Some(row) if row >= start => row.index() - start.index() + 1,
            Some(row) => self.nodes - start.index() + row.index() + 1,
        }
    }
}

/// The known part of one predicate's verdict.
enum Progress {
    /// The verdict over every row, with its lineage.
    AllRows(PredicateVerdict, Lineage),
    /// The verdict over the places evaluated so far.
    Partial(PartialVerdict),
}

/// The evaluation of one pod range by range.
struct SampledRun<'a> {
    evaluator: Evaluator<'a>,
    /// The facts about every row.
    context: Arc<Context>,
    /// The predicates of the phase in policy order, each with its index in the policy.
    predicates: Vec<(usize, &'a ActivePredicate)>,
    /// One entry per predicate.
    progress: Vec<Progress>,
    /// Verdict for requests of the pod that no predicate evaluates, over every row.
    unsupported: Option<PredicateVerdict>,
    faults: Vec<FaultReport>,
}

impl<'a> SampledRun<'a> {
    /// Collects the verdicts that are known for every row.
    fn start(evaluator: Evaluator<'a>, context: &Arc<Context>) -> Result<Self, Stop> {
        let predicates: Vec<_> = evaluator.predicates().collect();
        let progress = Vec::with_capacity(predicates.len());
        let (unsupported, on_unsupported) =
            (Unsupported::find(evaluator.policy(), context), evaluator.on_unsupported());
        let faults = unsupported.iter().map(|unsupported| unsupported.report(on_unsupported)).collect();
        let rows = context.rows() as usize;
        let unsupported = unsupported.map(|unsupported| unsupported.verdict(on_unsupported, rows, Scope::AllRows));
        let mut run = Self { evaluator, context: Arc::clone(context), predicates, progress, unsupported, faults };
        for at in 0..run.predicates.len() {
            let progress = run.known(at)?;
            run.progress.push(progress);
        }
        Ok(run)
    }

    /// Evaluates until enough rows fit. Returns the evaluation and its number of places.
    fn evaluate(mut self, order: &Order, sample: &Sample) -> Result<(Evaluation, usize), Stop> {
        let (places, conjunction) = match self.full_conjunction(order.nodes) {
            Some(full) => {
                let places = order.places_until(full.feasible(), sample.limit.get());
                (places, if places == order.nodes { full } else { Arc::new(full.over(&order.first(places))) })
            }
            None => {
                let places = self.evaluate_ranges(order, sample)?;
                let rows = Batch::Rows(order.first(places));
                (places, Arc::new(Conjunction::new(self.take_verdicts(places), &rows, order.nodes)))
            }
        };
        Ok((Evaluation::new(conjunction, self.faults), places))
    }

    fn known(&mut self, at: usize) -> Result<Progress, Stop> {
        let unknown = || Progress::Partial(PartialVerdict::default());
        let Some((place, predicate)) = self.predicates.get(at).copied() else { return Ok(unknown()) };
        if predicate.module.is_cluster_wide() {
            return self.over_all_rows(place, predicate);
        }
        let cached = self.evaluator.store().and_then(|store| store.lookup_or_patch(place, predicate, &self.context));
        Ok(cached.map_or_else(unknown, |cached| {
            Progress::AllRows(PredicateVerdict::from_cached(predicate, &cached), cached.lineage())
        }))
    }

    /// Evaluates a predicate over every row.
    fn over_all_rows(&mut self, place: usize, predicate: &ActivePredicate) -> Result<Progress, Stop> {
        let evaluated = match self.evaluator.store() {
            Some(store) => {
                let cached = store.get_or_call(place, predicate, &self.context);
                cached.map(|cached| (PredicateVerdict::from_cached(predicate, &cached), cached.lineage()))
            }
            None => call(predicate, &self.context, &mut None).map(|verdict| (verdict, Lineage::NONE)),
        };
        match evaluated {
            Ok((verdict, lineage)) => Ok(Progress::AllRows(verdict, lineage)),
            Err(fault) => self.failed(predicate, fault),
        }
    }

    /// Applies the failure policy to every row: a predicate whose call fails for some rows has failed for the pod.
    fn failed(&mut self, predicate: &ActivePredicate, fault: Fault) -> Result<Progress, Stop> {
        let (verdict, effect) = verdict_on_fault(predicate, &fault, self.context.rows() as usize)?;
        self.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
        Ok(Progress::AllRows(PredicateVerdict::new(predicate, verdict, Scope::AllRows), Lineage::NONE))
    }

    /// The conjunction over every row; `None` where a verdict is not known for every row.
    fn full_conjunction(&self, nodes: usize) -> Option<Arc<Conjunction>> {
        let full = |progress: &Progress| match progress {
            Progress::AllRows(verdict, lineage) => Some((verdict.clone(), *lineage)),
            Progress::Partial(_) => None,
        };
        let (mut verdicts, mut lineages): (Vec<PredicateVerdict>, Vec<Lineage>) =
            self.progress.iter().map(full).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        if let Some(unsupported) = &self.unsupported {
            verdicts.push(unsupported.clone());
            lineages.push(Lineage::NONE);
        }
        Some(match self.evaluator.store() {
            Some(store) => store.conjunction_or_combine(&lineages, verdicts, nodes),
            None => Arc::new(Conjunction::new(verdicts, &Batch::All, nodes)),
        })
    }

    /// Evaluates ranges until enough rows fit. Returns the number of places up to the row that reaches the limit.
    fn evaluate_ranges(&mut self, order: &Order, sample: &Sample) -> Result<usize, Stop> {
        let limit = sample.limit.get();
        let mut step = sample.step.max(limit);
        let (mut evaluated, mut counted, mut fitting) = (0, 0, 0);
        while evaluated < order.nodes {
            // A range does not wrap around, so its rows are sorted.
            let to_last = order.nodes - order.row(evaluated).index();
            let end = (evaluated + step.min(to_last)).min(order.nodes);
            if self.evaluate_range(order.rows(evaluated..end))? {
                // Rows that fitted before may be rejected now: count again.
                (counted, fitting) = (0, 0);
            }
            evaluated = end;
            for place in counted..evaluated {
                fitting += usize::from(self.fits(place, order.row(place)));
                if fitting == limit {
                    return Ok(place + 1);
                }
            }
            counted = evaluated;
            step *= 2;
        }
        Ok(order.nodes)
    }

    /// Evaluates the next rows. Returns whether the verdict over earlier rows has changed.
    fn evaluate_range(&mut self, rows: Arc<[Row]>) -> Result<bool, Stop> {
        let range = Arc::new(self.context.over(Batch::Rows(rows)));
        let mut has_changed = false;
        for at in 0..self.predicates.len() {
            let Some((place, predicate)) = self.predicates.get(at).copied() else { continue };
            let Some(Progress::Partial(partial)) = self.progress.get_mut(at) else { continue };
            let replacement = match call(predicate, &range, &mut None) {
                Ok(verdict) if partial.append(&verdict.verdict, range.rows() as usize) => continue,
                // The verdicts over the two ranges do not combine.
                Ok(_) => self.over_all_rows(place, predicate)?,
                Err(fault) => self.failed(predicate, fault)?,
            };
            has_changed = true;
            if let Some(progress) = self.progress.get_mut(at) {
                *progress = replacement;
            }
        }
        Ok(has_changed)
    }

    /// Whether no predicate rejects the row at a place.
    fn fits(&self, place: usize, row: Row) -> bool {
        let fits_row = |verdict: &PredicateVerdict| verdict.verdict.failure_at(row.index()).is_none();
        let fits = self.progress.iter().all(|progress| match progress {
            Progress::AllRows(verdict, _) => fits_row(verdict),
            Progress::Partial(partial) => partial.fits(place),
        });
        fits && self.unsupported.as_ref().is_none_or(fits_row)
    }

    /// The verdicts over the first places.
    fn take_verdicts(&mut self, places: usize) -> Vec<PredicateVerdict> {
        let progress = std::mem::take(&mut self.progress).into_iter();
        let verdict = |(progress, (_, predicate)): (Progress, &(usize, &ActivePredicate))| match progress {
            Progress::AllRows(verdict, _) => verdict,
            Progress::Partial(partial) => PredicateVerdict::new(predicate, partial.into_verdict(places), Scope::Batch),
        };
        progress.zip(&self.predicates).map(verdict).chain(self.unsupported.take()).collect()
    }
}
