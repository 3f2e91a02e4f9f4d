//! Nominated pods: room is being made for them on a node, and whoever is not more important must leave it to them.
//!
//! A node with such pods is judged twice, as kube-scheduler judges it: with them on it, then without. It has to pass both
//! times, since nobody knows yet whether they will really come; the first time that it fails says why. They count on their
//! own node alone: for another node they are still pending. Pods of every scheduler count. Source:
//! `RunFilterPluginsWithNominatedPods` in pkg/scheduler/framework/runtime/framework.go.
//!
//! The verdicts without them are those of [`super::evaluate`], kept ones included; [`claims`] says which rows have to be
//! judged again, and [`judge`] judges them: all rows at once by predicates that look at the node alone, row by row by
//! cluster-wide ones, and never by a predicate that no pod on a node can change. Nothing of that is kept.

use std::sync::Arc;

use super::Subject;
use super::conjunction::{Rejection, first};
use super::context::{Batch, Context};
use super::evaluate::Evaluated;
use super::judgement::{Judgement, Reason};
use super::overlay::changed_by;
use super::question::Depth;
use crate::limits::NOMINATED_ROWS;
use crate::policy::ActivePredicate;
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{OverlayBuilder, Row, Snapshot};
use nodesift_sandbox::Verdict;

/// A row with the nominated pods that the pod in question must leave room for.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// Where the row is in the batch.
    place: usize,
    pub(super) row: Row,
    pods: Vec<Arc<PodRecord>>,
}

/// How many rows cluster-wide predicates may still judge for the nominated pods of one question.
#[derive(Debug, Clone)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(NOMINATED_ROWS)
    }
}

/// The budget has run out.
#[derive(Debug)]
pub(super) struct Spent;

impl Budget {
    fn spend(&mut self, rows: usize) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(rows).ok_or(Spent)?;
        Ok(())
    }
}

impl Subject {
    /// Whether a nominated pod goes first: it is at least as important, and it is not the pod itself.
    pub(super) fn yields_to(&self, nominated: &PodRecord) -> bool {
        let is_itself = match &*self.uid {
            "" => nominated.namespace == self.facts.namespace && nominated.name == self.pod,
            uid => *nominated.uid == *uid,
        };
        nominated.priority >= self.priority && !is_itself
    }

    /// The pods that are nominated for a node and go first there.
    pub(super) fn ahead_of_it(&self, snapshot: &Snapshot, node: &str) -> Vec<Arc<PodRecord>> {
        snapshot.nominated(node).iter().filter(|pod| self.yields_to(pod)).cloned().collect()
    }
}

/// The rows of a batch that have to be judged again. Where no nominated pod is important enough, that costs a comparison.
pub(super) fn claims(snapshot: &Snapshot, batch: &Batch, subject: &Subject) -> Vec<Claim> {
    if snapshot.highest_nominated().is_none_or(|highest| highest < subject.priority) {
        return Vec::new();
    }
    let claim = |place: usize, row: Row| {
        let pods = subject.ahead_of_it(snapshot, snapshot.node_name(row));
        (!pods.is_empty()).then_some(Claim { place, row, pods })
    };
    match batch {
        Batch::All => {
            let nodes = snapshot.nominated_nodes();
            let mut rows: Vec<Row> = nodes.filter_map(|(node, _)| snapshot.node_row(node)).collect();
            rows.sort_unstable();
            rows.into_iter().filter_map(|row| claim(row.index(), row)).collect()
        }
        Batch::Rows(rows) => rows.iter().enumerate().filter_map(|(place, row)| claim(place, *row)).collect(),
    }
}

/// How a predicate judges claimed rows with the nominated pods on them.
enum View {
    /// As without them: it reads nothing that a pod on a node can change, or has failed to answer already.
    Same,
    /// By its codes, one per claim.
    Together(Judgement),
    /// About the whole cluster with the pods of one claim, claim by claim.
    OneByOne,
}

/// What was evaluated without nominated pods becomes what is true with them: `predicates` are those of the evaluation,
/// `context` is the one that it was made for.
///
/// # Errors
///
/// Where that is more work than one question may make.
pub(super) fn judge(
    mut evaluated: Evaluated,
    predicates: &[&ActivePredicate],
    claims: &[Claim],
    context: &Arc<Context>,
    depth: Depth,
    budget: &mut Budget,
) -> Result<Evaluated, Spent> {
    let pods: Vec<&PodRecord> = claims.iter().flat_map(|claim| &claim.pods).map(|pod| &**pod).collect();
    let changed = changed_by(&pods, context.pod(), context.snapshot());
    let mut together: Option<Arc<Context>> = None;
    let mut views: Vec<View> = Vec::with_capacity(predicates.len());
    for predicate in predicates {
        let is_changed = predicate.module.imports().iter().any(|read| changed.contains(read));
        views.push(if !is_changed || evaluated.has_fault_of(predicate) {
            View::Same
        } else if predicate.module.is_cluster_wide() {
            View::OneByOne
        } else {
            let context = together.get_or_insert_with(|| Arc::new(with_pods(context, claims, rows(claims))));
            match predicate.module.filter(Arc::clone(context) as _, context.rows()) {
                Ok(verdict) => View::Together(verdict.into()),
                Err(fault) => View::Together(evaluated.fail(predicate, fault, claims.len())),
            }
        });
    }
    let mut rejected: Vec<Rejection> = Vec::new();
    for (at, claim) in claims.iter().enumerate() {
        let mut around: Option<Arc<Context>> = None;
        let mut found: Option<(usize, Reason)> = None;
        for (number, predicate) in predicates.iter().enumerate() {
            let Some(view) = views.get_mut(number) else { continue };
            let reason = match view {
                View::Same => {
                    let ruling = evaluated.outcome.rulings.get(number);
                    ruling.and_then(|ruling| ruling.reason(claim.place, claim.row)).cloned()
                }
                View::Together(judgement) => judgement.reason_at(at).cloned(),
                View::OneByOne => {
                    let own = std::slice::from_ref(claim);
                    let context = around.get_or_insert_with(|| Arc::new(with_pods(context, own, Batch::All)));
                    budget.spend(context.rows() as usize)?;
                    match predicate.module.filter(Arc::clone(context) as _, context.rows()) {
                        Ok(verdict) => reason_of(verdict, claim.row.index()),
                        Err(fault) => {
                            let judgement = evaluated.fail(predicate, fault, claims.len());
                            let reason = judgement.reason_at(at).cloned();
                            // Once is enough: it would take its whole time for every row.
                            *view = View::Together(judgement);
                            reason
                        }
                    }
                }
            };
            let Some(reason) = reason else { continue };
            if depth == Depth::Each {
                evaluated.alone.insert((number, claim.row), reason.clone());
            }
            found.get_or_insert((number, reason));
            if depth == Depth::FirstFailure {
                break;
            }
        }
        let before = first(&evaluated.outcome.rulings, claim.place, claim.row);
        if let Some((predicate, reason)) = found
            && before != Some((predicate, &reason))
        {
            rejected.push(Rejection { place: claim.place, row: claim.row, predicate, reason });
        }
    }
    if !rejected.is_empty() {
        let nodes = context.snapshot().node_count();
        evaluated.outcome = Arc::new(evaluated.outcome.rejecting(&rejected, context.batch(), nodes));
    }
    Ok(evaluated)
}

fn rows(claims: &[Claim]) -> Batch {
    Batch::Rows(claims.iter().map(|claim| claim.row).collect())
}

/// The facts about a batch once the pods of some claims are on their nodes.
fn with_pods(context: &Context, claims: &[Claim], batch: Batch) -> Context {
    let mut hypothesis = OverlayBuilder::new(context.snapshot());
    for claim in claims {
        claim.pods.iter().for_each(|pod| hypothesis.add(claim.row, pod));
    }
    context.against(Arc::new(hypothesis.snapshot()), batch)
}

/// Why a place fails; none where it fits.
fn reason_of(verdict: Verdict, place: usize) -> Option<Reason> {
    match verdict {
        Verdict::FitsAll => None,
        Verdict::FitsNone(failure) => Some(failure.into()),
        Verdict::ByRow { codes, failures, .. } => {
            let number = usize::from(*codes.get(place)?).checked_sub(1)?;
            failures.into_iter().nth(number).map(Reason::from)
        }
    }
}
