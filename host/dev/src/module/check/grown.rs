//! A call over the largest cluster, which is grown from that of a question. Start at [`check`].

use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::{Failure, Module};

use super::super::growth::Growth;
use super::super::scoring::{Scoring, bounds, scored};
use super::super::subject::Question;
use super::super::world::World;
use super::OUTSIDE;
use super::report::Check;
use super::verdicts::{failures_of, fitting, scores_of};
use crate::limits::{CHECK_NODES, GROWTH_SUSPECTS};

/// The function of a module that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Filter,
    Score,
}

/// Whether a call ends within its limits, of which `budget` is its processor time.
pub(super) fn check(module: &Arc<Module>, question: &Question, growth: &Growth, call: Call, budget: Duration) -> Check {
    let name = match call {
        Call::Filter => "100,000 nodes",
        Call::Score => "100,000 scores",
    };
    let (outcome, took) = over_grown(module, question, growth, CHECK_NODES, call);
    match outcome {
        Ok(said) => {
            let took = took.as_secs_f64() * 1e3;
            let detail = format!("{took:.1} ms of processor time for {}, of {budget:?}; {said}", question.name);
            Check::passed(name, detail)
        }
        Err(fault) => {
            let cause = if is_by_size(&fault) { cause(module, question, growth, call) } else { String::new() };
            let advice = match (call, fault.kind) {
                (Call::Score, FaultKind::MalformedVerdict) => OUTSIDE,
                (Call::Score, _) => {
                    "read columns instead of nodes, or grant more with limits.timePerCall and limits.memory; until then it adds \
                     nothing to any node of such a cluster"
                }
                (Call::Filter, _) => {
                    "read columns or row sets instead of nodes, or grant more with limits.timePerCall and limits.memory; until then \
                     it rejects every node of such a cluster"
                }
            };
            Check::failed(name, format!("{}: {fault}{cause}", question.name), advice)
        }
    }
}

/// The answer over a grown cluster, in words, and the processor time of the call.
fn over_grown(
    module: &Arc<Module>,
    question: &Question,
    growth: &Growth,
    nodes: u32,
    call: Call,
) -> (Result<String, Fault>, Duration) {
    let objects = growth.objects(&question.objects, nodes);
    let world = World::new(&question.policy, module, objects, &growth.sums(question, nodes));
    let rows = world.rows();
    let verdict = || failures_of(module, &world, &question.pod, &rows);
    match call {
        Call::Filter => {
            let (outcome, took) = second_of(verdict);
            (outcome.map(|failures| rejections(&failures, growth)), took)
        }
        Call::Score => {
            // Where that fails, the check of `filter` says so.
            let feasible = verdict().map_or_else(|_| vec![true; rows.len()], |failures| fitting(&failures));
            let (outcome, took) = second_of(|| scores_of(module, &world, &question.pod, &rows, &feasible));
            (outcome.and_then(|scores| scored(module, &world, scores, &feasible)).map(|scoring| told(&scoring)), took)
        }
    }
}

/// The second of two calls, and its processor time, which is what the limit counts: a call is made on one thread. Columns are built once
/// for all calls on a snapshot: the second call is what a pod costs.
fn second_of<T>(call: impl Fn() -> Result<T, Fault>) -> (Result<T, Fault>, Duration) {
    let _warm_up = call();
    let started = ThreadTime::now();
    let outcome = call();
    (outcome, started.elapsed())
}

/// Whether a call over fewer facts might not have ended in this fault.
fn is_by_size(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Deadline | FaultKind::Memory | FaultKind::OutputTooLarge)
}

/// Names the part of a large cluster without which a call is within its limits, else whether fewer nodes are.
fn cause(module: &Arc<Module>, question: &Question, growth: &Growth, call: Call) -> String {
    let is_within = |growth: &Growth, nodes: u32| {
        let (outcome, _) = over_grown(module, question, growth, nodes, call);
        !outcome.is_err_and(|fault| is_by_size(&fault))
    };
    let few = CHECK_NODES / 10;
    let found = growth.parts().take(GROWTH_SUSPECTS).find(|part| is_within(&growth.without(part), CHECK_NODES));
    match found {
        Some(part) => format!(
            "; it grows with the number of {}: with those of the case alone it is within its limits",
            part.text()
        ),
        None if is_within(growth, few) => format!("; it grows with the number of nodes: {few} are within its limits"),
        None => format!("; {few} nodes take too much as well"),
    }
}

/// How many nodes are rejected, and whether that are all although some of the case fit.
fn rejections(failures: &[Option<Failure>], growth: &Growth) -> String {
    let rejected = failures.iter().filter(|failure| failure.is_some()).count();
    match growth.of_case {
        Some((fitting @ 1.., all)) if rejected == failures.len() => {
            format!("it rejects every node of that cluster, where {fitting} of {all} fit in the case")
        }
        _ => format!("{rejected} are rejected"),
    }
}

/// Scores of that cluster, in words.
fn told(scoring: &Scoring) -> String {
    match scoring {
        Scoring::Skipped => "it skips the pod".to_owned(),
        Scoring::Failed(text) => format!("the pod cannot be scored: {text}"),
        Scoring::Scored(scores) => match bounds(scores) {
            None => "no node fits".to_owned(),
            Some((lowest, highest)) if lowest == highest => format!("every node has the score {lowest}"),
            Some((lowest, highest)) => format!("scores from {lowest} to {highest}"),
        },
    }
}
