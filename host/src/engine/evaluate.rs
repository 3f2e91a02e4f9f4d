//! One pod: runs the predicates in policy order and combines their verdicts.
//!
//! Whichever predicate rejects a row first names the reason, as in a scheduling cycle; a question that wants each
//! predicate alone gets both from the same verdicts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{Code, Cycle, Failure, FaultEffect, FaultReport, PodAnswer, PredicateAnswer};
use super::context::{Batch, Context};
use super::question::{Depth, Question};
use crate::cache::Row;
use crate::fault::Fault;
use crate::policy::{ActivePolicy, ActivePredicate, OnError};
use crate::sandbox::wire::Status;
use crate::sandbox::{self, Verdict};

/// What kube-scheduler says where there is no node at all.
const NO_NODES: &str = "no nodes available to schedule pods";

/// Evaluates one pod over the context's batch.
pub(super) fn pod(policy: &ActivePolicy, question: &Question, name: String, context: &Arc<Context>) -> PodAnswer {
    let rows = context.rows();
    let mut answer = PodAnswer { pod: name, nodes: rows as usize, ..PodAnswer::default() };
    let mut conjunction = Conjunction::new(rows as usize);
    let mut all_rows = None;
    for predicate in policy.predicates.iter().filter(|predicate| predicate.phases.contains(question.phase)) {
        let verdict = match ask(predicate, context, &mut all_rows) {
            Ok(verdict) => verdict,
            Err(fault) => {
                let (verdict, effect) = on_fault(predicate, &fault, rows as usize);
                answer.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
                verdict
            }
        };
        if question.depth == Depth::Each {
            answer.predicates.push(alone(predicate, &verdict, context));
        }
        conjunction.add(predicate, verdict);
    }
    conjunction.finish(context, &mut answer);
    answer
}

/// Asks one predicate; rows that its verdict names are rows of the snapshot from here on. A cluster-wide one is always asked about every row; of its verdict the batch's rows are kept.
/// `all_rows` are the facts about every row, made when the first such predicate needs them.
fn ask(
    predicate: &ActivePredicate,
    context: &Arc<Context>,
    all_rows: &mut Option<Arc<Context>>,
) -> Result<Verdict, Fault> {
    let call = |context: &Arc<Context>| predicate.module.filter(Arc::clone(context) as _, context.rows());
    let Batch::Rows(rows) = context.batch() else { return call(context) };
    if !predicate.module.is_cluster_wide() {
        let mut verdict = call(context)?;
        if let Verdict::ByRow { named: Some(named), .. } = &mut verdict {
            let row = |place: &u32| rows.get(*place as usize).map(|row| row.0);
            *named = named.iter().filter_map(row).collect();
            named.sort_unstable();
        }
        return Ok(verdict);
    }
    let verdict = call(all_rows.get_or_insert_with(|| Arc::new(context.over_all_rows())))?;
    Ok(match verdict {
        Verdict::ByRow { codes, failures, named } => {
            let code = |row: &Row| codes.get(row.index()).copied().unwrap_or(0);
            Verdict::ByRow { codes: rows.iter().map(code).collect(), failures, named }
        }
        same_for_all => same_for_all,
    })
}

/// What stands in for the verdict of a predicate that failed to answer.
fn on_fault(predicate: &ActivePredicate, fault: &Fault, rows: usize) -> (Verdict, FaultEffect) {
    match predicate.on_error {
        OnError::Ignore => (Verdict::FitsAll, FaultEffect::Ignored),
        OnError::Reject => {
            let reason = format!("predicate {:?} failed: {}", predicate.name, fault.kind.name());
            let failure = sandbox::Failure { status: Status::Unschedulable, reasons: vec![reason] };
            // Row by row: kube-scheduler would not have rejected the pod as a whole.
            (Verdict::ByRow { codes: vec![1; rows], failures: vec![failure], named: None }, FaultEffect::Rejected)
        }
    }
}

/// One predicate by itself: equal failures together, sorted.
fn alone(predicate: &ActivePredicate, verdict: &Verdict, context: &Context) -> PredicateAnswer {
    let mut groups: BTreeMap<(Code, &[String]), Vec<Row>> = BTreeMap::new();
    context.for_each_row_by_name(|at, row| {
        if let Some(failure) = failure_at(verdict, at) {
            groups.entry((code(failure.status), &failure.reasons)).or_default().push(row);
        }
    });
    let failure = |((code, reasons), rows): ((Code, &[String]), Vec<Row>)| Failure {
        predicate: Arc::clone(&predicate.name),
        code,
        reasons: reasons.to_vec(),
        rows,
    };
    PredicateAnswer { predicate: Arc::clone(&predicate.name), failures: groups.into_iter().map(failure).collect() }
}

/// Why the row at a place of the batch fails; none where it fits.
fn failure_at(verdict: &Verdict, at: usize) -> Option<&sandbox::Failure> {
    match verdict {
        Verdict::FitsAll => None,
        Verdict::FitsNone(failure) => Some(failure),
        Verdict::ByRow { codes, failures, .. } => {
            let code = codes.get(at).copied().unwrap_or(0);
            failures.get(usize::from(code).checked_sub(1)?)
        }
    }
}

fn code(status: Status) -> Code {
    match status {
        Status::Unschedulable => Code::Unschedulable,
        Status::UnschedulableAndUnresolvable => Code::UnschedulableAndUnresolvable,
        Status::Error => Code::Error,
    }
}

/// The AND over predicates: per row of the batch the first failure.
struct Conjunction {
    /// Per row 0 while it fits, k where it fails with `groups[k - 1]`.
    first: Vec<u32>,
    cycle: Cycle,
    /// Reasons for which the pod as a whole is rejected, by the first predicate that does so.
    rejection: Option<Vec<String>>,
    /// Predicates by which the pod names nodes, and the rows that all of these name.
    naming: Option<(Vec<Arc<str>>, Vec<u32>)>,
    groups: Vec<(Arc<str>, sandbox::Failure)>,
}

impl Conjunction {
    fn new(rows: usize) -> Self {
        let (cycle, rejection, naming) = (Cycle::EachNode, None, None);
        Self { first: vec![0; rows], cycle, rejection, naming, groups: Vec::new() }
    }

    fn add(&mut self, predicate: &ActivePredicate, verdict: Verdict) {
        let base = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        match verdict {
            Verdict::FitsAll => {}
            Verdict::FitsNone(failure) => {
                let cycle = if failure.status == Status::Error { Cycle::Aborted } else { Cycle::Rejected };
                self.cycle = self.cycle.max(cycle);
                self.rejection.get_or_insert_with(|| failure.reasons.clone());
                self.first.iter_mut().filter(|first| **first == 0).for_each(|first| *first = base + 1);
                self.groups.push((Arc::clone(&predicate.name), failure));
            }
            Verdict::ByRow { codes, failures, named } => {
                let is_error = |code: &u16| {
                    let failure = usize::from(*code).checked_sub(1).and_then(|at| failures.get(at));
                    failure.is_some_and(|failure| failure.status == Status::Error)
                };
                // Verdicts with errors are rare: look row by row only where there is one to be found.
                let errors = failures.iter().any(|failure| failure.status == Status::Error);
                if errors && codes.iter().any(is_error) {
                    self.cycle = self.cycle.max(Cycle::Aborted);
                }
                if let Some(named) = named {
                    self.name(predicate, &named);
                }
                for (first, code) in self.first.iter_mut().zip(&codes) {
                    if *first == 0 && *code != 0 {
                        *first = base + u32::from(*code);
                    }
                }
                self.groups.extend(failures.into_iter().map(|failure| (Arc::clone(&predicate.name), failure)));
            }
        }
    }

    fn name(&mut self, predicate: &ActivePredicate, named: &[u32]) {
        self.cycle = self.cycle.max(Cycle::NamedNodes);
        let (predicates, rows) = self.naming.get_or_insert_with(|| (Vec::new(), named.to_vec()));
        predicates.push(Arc::clone(&predicate.name));
        rows.retain(|row| named.binary_search(row).is_ok());
    }

    fn finish(self, context: &Context, answer: &mut PodAnswer) {
        let mut rows_of: Vec<Vec<Row>> = vec![Vec::new(); self.groups.len()];
        context.for_each_row_by_name(|at, row| {
            match self.first.get(at).map_or(0, |first| *first as usize).checked_sub(1) {
                None => answer.feasible.push(row),
                Some(group) => {
                    if let Some(rows) = rows_of.get_mut(group) {
                        rows.push(row);
                    }
                }
            }
        });
        for ((predicate, failure), rows) in self.groups.into_iter().zip(rows_of) {
            if rows.is_empty() {
                continue;
            }
            let code = code(failure.status);
            // A verdict may list equal failures twice; an answer does not.
            let known = answer.failures.iter_mut().find(|known: &&mut Failure| {
                known.predicate == predicate && known.code == code && known.reasons == failure.reasons
            });
            match known {
                Some(known) => {
                    known.rows.extend(rows);
                    known.rows.sort_unstable_by_key(|row| context.snapshot().node_name(*row));
                }
                None => answer.failures.push(Failure { predicate, code, reasons: failure.reasons, rows }),
            }
        }
        // A verdict lists failures as it meets them, row by row, and which row a node has is an accident of its history.
        for of_one in answer.failures.chunk_by_mut(|one, next| one.predicate == next.predicate) {
            of_one.sort_by(|a, b| (a.code, &a.reasons).cmp(&(b.code, &b.reasons)));
        }
        answer.cycle = self.cycle;
        if answer.feasible.is_empty() {
            answer.message = Some(message(answer, self.rejection.as_deref(), self.naming.as_ref()));
        }
    }
}

/// kube-scheduler's message for a pod that fits nowhere: what rejects the pod as a whole; else how many nodes each
/// reason applies to, each node counted under all reasons of the first predicate that rejects it. Nodes that the pod
/// does not name are not looked at, and counted under one reason. Source: `FitError.Error` in pkg/scheduler/framework,
/// `findNodesThatFitPod` in pkg/scheduler/schedule_one.go.
fn message(answer: &PodAnswer, rejection: Option<&[String]>, naming: Option<&(Vec<Arc<str>>, Vec<u32>)>) -> String {
    if answer.nodes == 0 {
        return NO_NODES.to_owned();
    }
    if let Some(reasons) = rejection {
        return format!("0/{} nodes are available: {}.", answer.nodes, reasons.join(", "));
    }
    let is_named = |row: &Row| naming.is_none_or(|(_, rows)| rows.binary_search(&row.0).is_ok());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for failure in &answer.failures {
        let named = failure.rows.iter().filter(|row| is_named(row)).count();
        for reason in failure.reasons.iter().filter(|_| named > 0) {
            *counts.entry(reason.clone()).or_default() += named;
        }
    }
    if let Some((predicates, _)) = naming {
        let others = answer.failures.iter().flat_map(|failure| &failure.rows).filter(|row| !is_named(row)).count();
        if others > 0 {
            *counts.entry(format!("node(s) didn't satisfy plugin(s) [{}]", predicates.join(" "))).or_default() +=
                others;
        }
    }
    let mut parts: Vec<String> = counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort_unstable();
    format!("0/{} nodes are available: {}.", answer.nodes, parts.join(", "))
}

impl Context {
    /// Calls with place in the batch and row, in the order of node names.
    fn for_each_row_by_name(&self, mut call: impl FnMut(usize, Row)) {
        match self.batch() {
            Batch::All => self.snapshot().rows_by_name().iter().for_each(|row| call(row.index(), *row)),
            // The rows of a question's subset are already in the order of names.
            Batch::Rows(rows) => rows.iter().enumerate().for_each(|(at, row)| call(at, *row)),
        }
    }
}
