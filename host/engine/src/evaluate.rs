//! One pod: asks the predicates in policy order, or what is kept of them, and combines their verdicts.
//!
//! Whichever predicate rejects a row first names the reason, as in a scheduling cycle; a question that wants each
//! predicate alone gets both from the same verdicts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Running;
use super::answer::{Failure, FaultEffect, FaultReport, PodAnswer, PredicateAnswer};
use super::conjunction::{Outcome, Ruling, Scope};
use super::context::{Batch, Context};
use super::judgement::{Judgement, Reason};
use super::question::{Depth, Question};
use super::reuse::Kept;
use super::rows::RowSet;
use crate::policy::{ActivePredicate, OnError};
use nodesift_cache::Row;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::wire::Status;
use nodesift_sandbox::{self as sandbox, Verdict};

/// Whether verdicts that are kept are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Yes, and what is evaluated is kept.
    Store,
    /// No, and nothing is kept.
    Fresh,
}

/// One pod evaluated.
pub(super) struct Evaluated {
    pub(super) outcome: Arc<Outcome>,
    pub(super) faults: Vec<FaultReport>,
    /// Where a predicate, by its number, rejects a row only for the pods that are nominated for it, or for another reason
    /// then; only where the question wants each predicate alone.
    pub(super) alone: BTreeMap<(usize, Row), Reason>,
}

/// Evaluates one pod over the context's batch.
pub(super) fn pod(running: &Running, question: &Question, context: &Arc<Context>, source: Source) -> Evaluated {
    let nodes = context.snapshot().node_count();
    let mut all_rows = None;
    let mut rulings = Vec::with_capacity(running.policy.predicates.len());
    let mut lines = Vec::with_capacity(running.policy.predicates.len());
    let mut faults = Vec::new();
    for (place, predicate) in asked(running, question) {
        let ruled = match source {
            Source::Fresh => fresh(predicate, context, &mut all_rows).map(|ruling| (ruling, 0)),
            Source::Store => reused(running, place, predicate, context, &mut all_rows),
        };
        let (ruling, line) = ruled.unwrap_or_else(|fault| {
            let (judgement, effect) = on_fault(predicate, &fault, context.rows() as usize);
            faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
            (ruling(predicate, judgement, Scope::Batch), 0)
        });
        rulings.push(ruling);
        lines.push(line);
    }
    let outcome = match (source, context.batch()) {
        (Source::Store, Batch::All) => running.store.outcome(&lines, rulings, nodes),
        (_, batch) => Arc::new(Outcome::new(rulings, batch, nodes)),
    };
    Evaluated { outcome, faults, alone: BTreeMap::new() }
}

/// The predicates that a question asks, in policy order, each with its place there.
pub(super) fn asked<'a>(
    running: &'a Running,
    question: &Question,
) -> impl Iterator<Item = (usize, &'a ActivePredicate)> + use<'a> {
    let phase = question.phase;
    running.policy.predicates.iter().enumerate().filter(move |(_, predicate)| predicate.phases.contains(phase))
}

/// What is kept about one pod over every row; none where anything would have to be judged or put together.
pub(super) fn kept(running: &Running, question: &Question, context: &Context) -> Option<Evaluated> {
    let (mut verdicts, mut lines) = (Vec::new(), Vec::new());
    for (place, predicate) in asked(running, question) {
        let kept = running.store.standing(place, predicate, context)?;
        lines.push(kept.line);
        verdicts.push(kept);
    }
    let outcome = running.store.known_outcome(&lines, &verdicts, context.snapshot().node_count())?;
    running.store.count_kept(verdicts.len());
    Some(Evaluated { outcome, faults: Vec::new(), alone: BTreeMap::new() })
}

/// Judges in the place of the policy's predicates: the predicate of this name, over the rows of a context.
pub type Judge<'a> = dyn Fn(&str, &Arc<Context>) -> Result<Verdict, Fault> + 'a;

/// Evaluates one pod over the context's batch, every row, afresh, with somebody else judging in the place of the predicates.
pub(super) fn pod_by(judge: &Judge<'_>, running: &Running, question: &Question, context: &Arc<Context>) -> Evaluated {
    let mut faults = Vec::new();
    let ruled = asked(running, question).map(|(_, predicate)| {
        let judgement = judge(&predicate.name, context).map(Judgement::from).unwrap_or_else(|fault| {
            let (judgement, effect) = on_fault(predicate, &fault, context.rows() as usize);
            faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
            judgement
        });
        ruling(predicate, judgement, Scope::AllRows)
    });
    let rulings = ruled.collect();
    let outcome = Arc::new(Outcome::new(rulings, context.batch(), context.snapshot().node_count()));
    Evaluated { outcome, faults, alone: BTreeMap::new() }
}

impl Evaluated {
    /// Whether a predicate has failed to answer before.
    pub(super) fn has_fault_of(&self, predicate: &ActivePredicate) -> bool {
        self.faults.iter().any(|report| Arc::ptr_eq(&report.predicate, &predicate.name))
    }

    /// What stands in for the verdict over so many rows of a predicate that failed to answer.
    pub(super) fn fail(&mut self, predicate: &ActivePredicate, fault: Fault, rows: usize) -> Judgement {
        let (judgement, effect) = on_fault(predicate, &fault, rows);
        self.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
        judgement
    }

    /// The answer, saying as much as asked.
    pub(super) fn answer(self, question: &Question, name: String, context: &Context) -> PodAnswer {
        let outcome = &self.outcome;
        let predicates = match question.depth {
            Depth::Each => {
                let rulings = outcome.rulings.iter().enumerate();
                rulings.map(|(number, ruling)| alone(number, ruling, &self.alone, context)).collect()
            }
            Depth::FirstFailure => Vec::new(),
        };
        PodAnswer {
            pod: name,
            nodes: outcome.asked,
            feasible: Arc::clone(&outcome.feasible),
            failures: Arc::clone(&outcome.failures),
            predicates,
            message: outcome.message.clone(),
            cycle: outcome.cycle,
            faults: self.faults,
            next: None,
        }
    }

    /// The first difference from another evaluation of the same pod on the same snapshot; predicates that failed to
    /// answer in either are left out.
    pub(super) fn difference(&self, other: &Self, context: &Context) -> Option<String> {
        let faulty = |name: &Arc<str>| {
            self.faults.iter().chain(&other.faults).any(|report| Arc::ptr_eq(&report.predicate, name))
        };
        for (a, b) in self.outcome.rulings.iter().zip(&other.outcome.rulings) {
            if faulty(&a.predicate) {
                continue;
            }
            let mut found = None;
            context.for_each_row(|place, row| {
                let (a, b) = (a.reason(place, row), b.reason(place, row));
                if found.is_none() && a != b {
                    found = Some(format!("on node {}: {a:?}, fresh {b:?}", context.snapshot().node_name(row)));
                }
            });
            let named = |ruling: &Ruling| match (&*ruling.judgement, context.batch()) {
                (Judgement::ByRow(by_row), Batch::All) if ruling.rejects(context.batch()) => by_row.named.clone(),
                _ => None,
            };
            let whole = |ruling: &Ruling| matches!(&*ruling.judgement, Judgement::FitsNone(_));
            if found.is_none() && (named(a) != named(b) || whole(a) != whole(b)) {
                found = Some(format!("{:?}, fresh {:?}", a.judgement, b.judgement));
            }
            if let Some(found) = found {
                return Some(format!("{} {found}", a.predicate));
            }
        }
        let said = |evaluated: &Self| {
            let outcome = &evaluated.outcome;
            let failures: Vec<_> = outcome
                .failures
                .iter()
                .map(|failure| (failure.clone(), failure.rows.iter().collect::<Vec<Row>>()))
                .collect();
            let alone = evaluated.alone.clone();
            (outcome.asked, Arc::clone(&outcome.feasible), failures, outcome.cycle, outcome.message.clone(), alone)
        };
        let any_fault = !self.faults.is_empty() || !other.faults.is_empty();
        (!any_fault && said(self) != said(other))
            .then(|| format!("together: {:?}, fresh {:?}", said(self), said(other)))
    }
}

pub(super) fn ruling(predicate: &ActivePredicate, judgement: Judgement, scope: Scope) -> Ruling {
    Ruling { predicate: Arc::clone(&predicate.name), judgement: Arc::new(judgement), scope }
}

/// What a kept verdict says.
pub(super) fn ruling_of(predicate: &ActivePredicate, kept: &Kept) -> Ruling {
    let judgement = Arc::clone(&kept.judgement);
    Ruling { predicate: Arc::clone(&predicate.name), judgement, scope: Scope::AllRows }
}

/// The verdict that is kept, or one that is evaluated and kept; and the line of verdicts that it belongs to.
fn reused(
    running: &Running,
    place: usize,
    predicate: &ActivePredicate,
    context: &Arc<Context>,
    all_rows: &mut Option<Arc<Context>>,
) -> Result<(Ruling, u64), Fault> {
    let of = |kept: &Kept| (ruling_of(predicate, kept), kept.line);
    if matches!(context.batch(), Batch::All) {
        return running.store.judge(place, predicate, context).map(|kept| of(&kept));
    }
    let whole = Arc::clone(over_all_rows(context, all_rows));
    if predicate.module.is_cluster_wide() {
        return running.store.judge(place, predicate, &whole).map(|kept| of(&kept));
    }
    // A few rows are cheaper to judge than all; what is kept is cheaper still.
    match running.store.known(place, predicate, &whole) {
        Some(kept) => Ok(of(&kept)),
        None => fresh(predicate, context, all_rows).map(|ruling| (ruling, 0)),
    }
}

/// Asks one predicate. A cluster-wide one is always asked about every row.
pub(super) fn fresh(
    predicate: &ActivePredicate,
    context: &Arc<Context>,
    all_rows: &mut Option<Arc<Context>>,
) -> Result<Ruling, Fault> {
    let call = |context: &Arc<Context>| predicate.module.filter(Arc::clone(context) as _, context.rows());
    let Batch::Rows(rows) = context.batch() else {
        return Ok(ruling(predicate, call(context)?.into(), Scope::AllRows));
    };
    if predicate.module.is_cluster_wide() {
        let verdict = call(over_all_rows(context, all_rows))?;
        return Ok(ruling(predicate, verdict.into(), Scope::AllRows));
    }
    let mut verdict = call(context)?;
    // Rows that a verdict names are rows of the snapshot from here on.
    if let Verdict::ByRow { named: Some(named), .. } = &mut verdict {
        let row = |place: &u32| rows.get(*place as usize).map(|row| row.0);
        *named = named.iter().filter_map(row).collect();
        named.sort_unstable();
    }
    Ok(ruling(predicate, verdict.into(), Scope::Batch))
}

/// The facts about every row, made when the first predicate needs them.
fn over_all_rows<'a>(context: &Context, all_rows: &'a mut Option<Arc<Context>>) -> &'a Arc<Context> {
    all_rows.get_or_insert_with(|| Arc::new(context.over(Batch::All)))
}

/// What stands in for the verdict of a predicate that failed to answer.
pub(super) fn on_fault(predicate: &ActivePredicate, fault: &Fault, rows: usize) -> (Judgement, FaultEffect) {
    match predicate.on_error {
        OnError::Ignore => (Judgement::FitsAll, FaultEffect::Ignored),
        OnError::Reject => {
            let reason = format!("predicate {:?} failed: {}", predicate.name, fault.kind.name());
            let failure = sandbox::Failure { status: Status::Unschedulable, reasons: vec![reason] };
            // Row by row: kube-scheduler would not have rejected the pod as a whole.
            let verdict = Verdict::ByRow { codes: vec![1; rows], failures: vec![failure], named: None };
            (verdict.into(), FaultEffect::Rejected)
        }
    }
}

/// One predicate by itself: equal failures together, sorted. A row with nominated pods fails where the predicate rejects it
/// with them on it, or else without.
fn alone(
    number: usize,
    ruling: &Ruling,
    with_nominated: &BTreeMap<(usize, Row), Reason>,
    context: &Context,
) -> PredicateAnswer {
    let mut groups: BTreeMap<&Reason, Vec<Row>> = BTreeMap::new();
    context.for_each_row(|place, row| {
        if let Some(reason) = with_nominated.get(&(number, row)).or_else(|| ruling.reason(place, row)) {
            groups.entry(reason).or_default().push(row);
        }
    });
    let nodes = context.snapshot().node_count();
    let failure = |(reason, mut rows): (&Reason, Vec<Row>)| {
        rows.sort_unstable();
        Failure {
            predicate: Arc::clone(&ruling.predicate),
            code: reason.code,
            reasons: Arc::clone(&reason.texts),
            rows: Arc::new(RowSet::of(rows, nodes)),
        }
    };
    PredicateAnswer { predicate: Arc::clone(&ruling.predicate), failures: groups.into_iter().map(failure).collect() }
}

impl Context {
    /// Calls with place in the batch and row.
    fn for_each_row(&self, mut call: impl FnMut(usize, Row)) {
        match self.batch() {
            Batch::All => (0..self.rows()).for_each(|row| call(row as usize, Row(row))),
            Batch::Rows(rows) => rows.iter().enumerate().for_each(|(place, row)| call(place, *row)),
        }
    }
}
