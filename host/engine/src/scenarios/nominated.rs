//! Nominated pods: `status.nominatedNodeName` reserves room for them on a node, against pods of the same or lower priority.
//!
//! A nominated row is evaluated twice, as kube-scheduler does: with the nominated pods on the node, then without. Both must
//! fit, since the nominated pods may yet be bound elsewhere; the first failure is the reason. Nominated pods count on their
//! own node only, whatever their scheduler is. Source: `RunFilterPluginsWithNominatedPods` in
//! pkg/scheduler/framework/runtime/framework.go.
//!
//! The verdicts without them are those of the evaluator, cached ones included. [`nominated_rows`] finds the rows to evaluate
//! again. [`evaluate_again`] calls pointwise predicates once for all nominated rows and cluster-wide ones once per nominated
//! row; predicates that read nothing that pods on nodes change are not called. None of these verdicts is cached.

use std::sync::Arc;

use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{OverlayBuilder, Row, Snapshot};
use nodesift_sandbox::{Failure, Verdict};

use super::overlay::changed_by;
use crate::evaluate::Stop;
use crate::evaluate::conjunction::Rejection;
use crate::evaluate::evaluation::Evaluation;
use crate::evaluate::evaluator::Evaluator;
use crate::facts::{Batch, Context};
use crate::limits::NOMINATED_ROWS;
use crate::policy::ActivePredicate;
use crate::query::Depth;
use crate::subject::Subject;

/// A nominated row: a row and its nominated pods that take precedence over the pod of the query.
#[derive(Debug, Clone)]
pub(crate) struct NominatedRow {
    /// The place of the row in the batch.
    place: usize,
    pub(crate) row: Row,
    pods: Vec<Arc<PodRecord>>,
}

/// The rest of [`NOMINATED_ROWS`] in one query, in rows.
#[derive(Debug, Clone)]
pub(crate) struct RowBudget(usize);

impl Default for RowBudget {
    fn default() -> Self {
        Self(NOMINATED_ROWS)
    }
}

impl RowBudget {
    fn take(&mut self, rows: usize) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(rows).ok_or(Stop::NominatedRows)?;
        Ok(())
    }
}

impl Subject {
    /// Whether a nominated pod takes precedence: it is a different pod, and its priority is at least that of this pod.
    fn yields_to(&self, nominated: &PodRecord) -> bool {
        let is_itself = match &*self.uid {
            "" => nominated.namespace == self.facts.namespace && nominated.name == self.pod,
            uid => *nominated.uid == *uid,
        };
        nominated.priority >= self.priority && !is_itself
    }

    /// The pods that are nominated for a node and take precedence there.
    pub(crate) fn nominated_ahead(&self, snapshot: &Snapshot, node: &str) -> Vec<Arc<PodRecord>> {
        snapshot.nominated(node).iter().filter(|pod| self.yields_to(pod)).cloned().collect()
    }
}

/// The nominated rows of a batch. Costs one comparison if no nominated pod has enough priority.
pub(crate) fn nominated_rows(snapshot: &Snapshot, batch: &Batch, subject: &Subject) -> Vec<NominatedRow> {
    if snapshot.highest_nominated().is_none_or(|highest| highest < subject.priority) {
        return Vec::new();
    }
    let nominated = |place: usize, row: Row| {
        let pods = subject.nominated_ahead(snapshot, snapshot.node_name(row));
        (!pods.is_empty()).then_some(NominatedRow { place, row, pods })
    };
    match batch {
        Batch::All => {
            let nodes = snapshot.nominated_nodes();
            let mut rows: Vec<Row> = nodes.filter_map(|(node, _)| snapshot.node_row(node)).collect();
            rows.sort_unstable();
            rows.into_iter().filter_map(|row| nominated(row.index(), row)).collect()
        }
        Batch::Rows(rows) => rows.iter().enumerate().filter_map(|(place, row)| nominated(place, *row)).collect(),
    }
}

/// How a predicate is evaluated for nominated rows.
enum Method {
    /// The verdict without nominated pods is used: the predicate reads nothing that pods on nodes change, or has failed.
    Unchanged,
    /// One call for all nominated rows. The verdict has one code per nominated row.
    AllRows(Verdict),
    /// One call per nominated row, over all rows of the cluster with the nominated pods of that row.
    RowByRow,
}

/// Adds the rejections with nominated pods to an evaluation without them. `context` is that of the evaluation.
///
/// # Errors
///
/// [`Stop::NominatedRows`] where cluster-wide predicates would be evaluated over more rows than the budget has,
/// [`Stop::Deadline`] where the request ends first.
pub(crate) fn evaluate_again(
    mut evaluation: Evaluation,
    evaluator: Evaluator<'_>,
    nominated: &[NominatedRow],
    context: &Arc<Context>,
    depth: Depth,
    budget: &mut RowBudget,
) -> Result<Evaluation, Stop> {
    if nominated.is_empty() {
        return Ok(evaluation);
    }
    let predicates: Vec<&ActivePredicate> = evaluator.predicates().map(|(_, predicate)| predicate).collect();
    let mut methods = methods(&mut evaluation, &predicates, nominated, context)?;
    let mut rejections: Vec<Rejection> = Vec::new();
    for (at, nominated_row) in nominated.iter().enumerate() {
        let mut cluster: Option<Arc<Context>> = None;
        let mut found: Option<(usize, Failure)> = None;
        for (index, predicate) in predicates.iter().enumerate() {
            let Some(method) = methods.get_mut(index) else { continue };
            let failure = match method {
                Method::Unchanged => {
                    let verdict = evaluation.conjunction.verdicts().get(index);
                    verdict.and_then(|verdict| verdict.failure(nominated_row.place, nominated_row.row)).cloned()
                }
                Method::AllRows(verdict) => verdict.failure_at(at).cloned(),
                Method::RowByRow => {
                    let own = std::slice::from_ref(nominated_row);
                    let context = cluster.get_or_insert_with(|| Arc::new(with_pods(context, own, Batch::All)));
                    budget.take(context.rows() as usize)?;
                    match predicate.filter(Arc::clone(context) as _, context) {
                        Ok(verdict) => verdict.failure_at(nominated_row.row.index()).cloned(),
                        Err(fault) => {
                            let verdict = evaluation.fail(predicate, fault, nominated.len())?;
                            let failure = verdict.failure_at(at).cloned();
                            // Not called for the other rows: each of these calls could take the whole deadline.
                            *method = Method::AllRows(verdict);
                            failure
                        }
                    }
                }
            };
            let Some(failure) = failure else { continue };
            if depth == Depth::Each {
                evaluation.fail_with_nominated(index, nominated_row.row, failure.clone());
            }
            found.get_or_insert((index, failure));
            if depth == Depth::FirstFailure {
                break;
            }
        }
        let before = evaluation.conjunction.first_failure(nominated_row.place, nominated_row.row);
        if let Some((predicate, failure)) = found
            && before != Some((predicate, &failure))
        {
            rejections.push(Rejection { place: nominated_row.place, row: nominated_row.row, predicate, failure });
        }
    }
    if !rejections.is_empty() {
        let nodes = context.snapshot().node_count();
        evaluation.conjunction = Arc::new(evaluation.conjunction.with_rejections(&rejections, context.batch(), nodes));
    }
    Ok(evaluation)
}

/// Selects the method for each predicate. The predicates with one call for all nominated rows are called here.
fn methods(
    evaluation: &mut Evaluation,
    predicates: &[&ActivePredicate],
    nominated: &[NominatedRow],
    context: &Arc<Context>,
) -> Result<Vec<Method>, Stop> {
    let pods: Vec<&PodRecord> = nominated.iter().flat_map(|row| &row.pods).map(|pod| &**pod).collect();
    let changed = changed_by(&pods, context.pod(), context.snapshot());
    let mut together: Option<Arc<Context>> = None;
    let mut method = |predicate: &&ActivePredicate| -> Result<Method, Stop> {
        let is_changed = predicate.module.imports().iter().any(|import| changed.contains(import));
        if !is_changed || evaluation.has_fault_of(predicate) {
            return Ok(Method::Unchanged);
        }
        if predicate.module.is_cluster_wide() {
            return Ok(Method::RowByRow);
        }
        let rows = || Batch::Rows(nominated.iter().map(|nominated| nominated.row).collect());
        let context = together.get_or_insert_with(|| Arc::new(with_pods(context, nominated, rows())));
        Ok(Method::AllRows(match predicate.filter(Arc::clone(context) as _, context) {
            Ok(verdict) => verdict,
            Err(fault) => evaluation.fail(predicate, fault, nominated.len())?,
        }))
    };
    predicates.iter().map(&mut method).collect()
}

/// The facts about a batch, with the nominated pods of these rows on their nodes.
fn with_pods(context: &Context, nominated: &[NominatedRow], batch: Batch) -> Context {
    let mut overlay = OverlayBuilder::new(context.snapshot());
    for row in nominated {
        row.pods.iter().for_each(|pod| overlay.add(row.row, pod));
    }
    context.against(Arc::new(overlay.snapshot()), batch)
}
