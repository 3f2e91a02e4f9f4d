//! The evaluation of one pod: the conjunction of all verdicts and the faults, and their conversion to an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::{Code, Codes, Failure, RowVerdict, Verdict};

use super::Stop;
use super::conjunction::Conjunction;
use super::predicate_verdict::{PredicateVerdict, Scope};
use super::row_set::RowSet;
use crate::answer::{Cycle, FailureGroup, FaultEffect, FaultReport, PodAnswer, PredicateAnswer};
use crate::facts::{Batch, Context};
use crate::policy::{ActivePredicate, OnError};
use crate::query::Depth;

/// The evaluation of one pod over a batch of rows.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) conjunction: Arc<Conjunction>,
    faults: Vec<FaultReport>,
    /// The failures with nominated pods on the node, by index of the predicate and row. Empty unless the query has
    /// [`Depth::Each`].
    with_nominated: BTreeMap<(usize, Row), Failure>,
}

impl Evaluation {
    pub(crate) fn new(conjunction: Arc<Conjunction>, faults: Vec<FaultReport>) -> Self {
        Self { conjunction, faults, with_nominated: BTreeMap::new() }
    }

    /// Whether a call of the predicate has failed.
    pub(crate) fn has_fault_of(&self, predicate: &ActivePredicate) -> bool {
        self.faults.iter().any(|report| Arc::ptr_eq(&report.predicate, &predicate.name))
    }

    /// Whether a call of any predicate has failed.
    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Reports a fault. Returns the verdict of the failure policy over `rows` rows.
    ///
    /// # Errors
    ///
    /// [`Stop::Deadline`] where the request has ended.
    pub(crate) fn fail(&mut self, predicate: &ActivePredicate, fault: Fault, rows: usize) -> Result<Verdict, Stop> {
        let (verdict, effect) = verdict_on_fault(predicate, &fault, rows)?;
        self.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
        Ok(verdict)
    }

    /// Records the failure of a row with nominated pods on the node, under the predicate with this index.
    pub(crate) fn fail_with_nominated(&mut self, predicate: usize, row: Row, failure: Failure) {
        self.with_nominated.insert((predicate, row), failure);
    }

    /// Converts the evaluation to the answer for the pod with this name.
    pub(crate) fn into_answer(self, depth: Depth, pod: String, context: &Context) -> PodAnswer {
        let conjunction = &self.conjunction;
        let predicates = match depth {
            Depth::Each => {
                let verdicts = conjunction.verdicts().iter().enumerate();
                verdicts.map(|(index, verdict)| self.predicate_alone(index, verdict, context)).collect()
            }
            Depth::FirstFailure => Vec::new(),
        };
        let devices = if depth == Depth::Each { context.requested_devices() } else { Vec::new() };
        PodAnswer {
            pod,
            devices,
            account: None,
            parties: context.explained_parties(),
            nodes: conjunction.rows(),
            feasible: Arc::clone(conjunction.feasible()),
            failures: Arc::clone(conjunction.failures()),
            predicates,
            message: conjunction.message().cloned(),
            cycle: conjunction.cycle(),
            named: conjunction.named().cloned(),
            claims_to_release: self.claims_to_release(context),
            faults: self.faults,
            scores: None,
            error: None,
            next: None,
        }
    }

    /// Claims that keep the pod away where no row is feasible. kube-scheduler learns of them only on nodes where its filters run.
    fn claims_to_release(&self, context: &Context) -> Vec<String> {
        let conjunction = &self.conjunction;
        if !conjunction.feasible().is_empty() {
            return Vec::new();
        }
        match (conjunction.cycle(), conjunction.named()) {
            (Cycle::Rejected | Cycle::Aborted, _) => Vec::new(),
            (Cycle::NamedNodes, Some(named)) if context.may_have_claims() => {
                let mut rows = Vec::new();
                context.for_each_row(|_, row| rows.extend(named.binary_search(&row.0).is_ok().then_some(row)));
                context.over(Batch::Rows(rows.into())).claims_to_release()
            }
            (Cycle::EachNode | Cycle::NamedNodes, _) => context.claims_to_release(),
        }
    }

    /// One predicate alone, with equal failures merged and sorted. A row with nominated pods has the failure with them on the
    /// node, if any, else the failure without them.
    fn predicate_alone(&self, index: usize, verdict: &PredicateVerdict, context: &Context) -> PredicateAnswer {
        let mut groups: BTreeMap<&Failure, Vec<Row>> = BTreeMap::new();
        context.for_each_row(|place, row| {
            let failure = self.with_nominated.get(&(index, row)).or_else(|| verdict.failure(place, row));
            if let Some(failure) = failure {
                groups.entry(failure).or_default().push(row);
            }
        });
        let nodes = context.snapshot().node_count();
        let group = |(failure, mut rows): (&Failure, Vec<Row>)| {
            rows.sort_unstable();
            FailureGroup {
                predicate: Arc::clone(&verdict.predicate),
                code: failure.code,
                reasons: Arc::clone(&failure.reasons),
                rows: Arc::new(RowSet::new(rows, nodes)),
            }
        };
        let failures = groups.into_iter().map(group).collect();
        PredicateAnswer { predicate: Arc::clone(&verdict.predicate), failures }
    }

    /// The first difference from another evaluation of the same pod on the same snapshot. Predicates with a fault in either
    /// evaluation are not compared.
    pub(crate) fn difference(&self, other: &Self, context: &Context) -> Option<String> {
        let is_faulty = |name: &Arc<str>| {
            self.faults.iter().chain(&other.faults).any(|report| Arc::ptr_eq(&report.predicate, name))
        };
        for (a, b) in self.conjunction.verdicts().iter().zip(other.conjunction.verdicts()) {
            if is_faulty(&a.predicate) {
                continue;
            }
            let mut found = None;
            context.for_each_row(|place, row| {
                let (a, b) = (a.failure(place, row), b.failure(place, row));
                if found.is_none() && a != b {
                    found = Some(format!("on node {}: {a:?}, fresh {b:?}", context.snapshot().node_name(row)));
                }
            });
            let named = |verdict: &PredicateVerdict| match (&*verdict.verdict, context.batch()) {
                (Verdict::ByRow(by_row), Batch::All) if verdict.rejects_some(context.batch()) => {
                    by_row.named().cloned()
                }
                _ => None,
            };
            let rejects_pod = |verdict: &PredicateVerdict| matches!(&*verdict.verdict, Verdict::FitsNone(_));
            if found.is_none() && (named(a) != named(b) || rejects_pod(a) != rejects_pod(b)) {
                found = Some(format!("{:?}, fresh {:?}", a.verdict, b.verdict));
            }
            if let Some(found) = found {
                return Some(format!("{} {found}", a.predicate));
            }
        }
        let any_fault = self.has_faults() || other.has_faults();
        let (own, other) = (self.combined(), other.combined());
        (!any_fault && own != other).then(|| format!("conjunction: {own:?}, fresh {other:?}"))
    }

    /// The parts of the conjunction that [`Self::difference`] compares.
    fn combined(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let conjunction = &self.conjunction;
        (
            conjunction.rows(),
            Arc::clone(conjunction.feasible()),
            Arc::clone(conjunction.failures()),
            conjunction.cycle(),
            conjunction.message().cloned(),
            self.with_nominated.clone(),
        )
    }
}

impl PodAnswer {
    /// The answer about a pod by verdicts of the caller over every row: one of each predicate that counts, in policy order. Benchmarks
    /// measure the cost of the sandbox by the difference from [`Engine::answer`](crate::Engine::answer).
    pub fn from_verdicts(context: &Context, verdicts: impl IntoIterator<Item = (Arc<str>, Verdict)>) -> Self {
        let over_all = |(predicate, verdict)| {
            let verdict = Arc::new(verdict);
            PredicateVerdict { predicate, verdict, scope: Scope::AllRows }
        };
        let verdicts = verdicts.into_iter().map(over_all).collect();
        let conjunction = Conjunction::new(verdicts, context.batch(), context.snapshot().node_count());
        Evaluation::new(Arc::new(conjunction), Vec::new()).into_answer(Depth::FirstFailure, context.pod_key(), context)
    }
}

/// The verdict that the failure policy gives for a failed call, over `rows` rows.
///
/// # Errors
///
/// [`Stop::Deadline`] where the call ended because the request did: the predicate has not failed, and has no verdict.
pub(crate) fn verdict_on_fault(
    predicate: &ActivePredicate,
    fault: &Fault,
    rows: usize,
) -> Result<(Verdict, FaultEffect), Stop> {
    if fault.kind == FaultKind::RequestDeadline {
        return Err(Stop::Deadline);
    }
    let verdict = match predicate.on_error {
        OnError::Ignore => Verdict::FitsAll,
        OnError::Reject => {
            rejecting(format!("predicate {:?} failed: {}", predicate.name, fault.kind.name()), vec![1; rows])
        }
    };
    Ok((verdict, effect_of(predicate.on_error)))
}

/// The effect of a failure policy.
pub(crate) fn effect_of(on_error: OnError) -> FaultEffect {
    match on_error {
        OnError::Ignore => FaultEffect::Ignored,
        OnError::Reject => FaultEffect::Rejected,
    }
}

/// The verdict that rejects the rows with code 1 because of a fault. `ByRow` and not `FitsNone`: a fault does not make
/// kube-scheduler reject the pod as a whole.
pub(crate) fn rejecting(reason: String, codes: Vec<u16>) -> Verdict {
    let failure = Failure { code: Code::Unschedulable, reasons: [reason].into() };
    Verdict::ByRow(RowVerdict::new(Codes::from(codes), [failure].into(), None))
}
