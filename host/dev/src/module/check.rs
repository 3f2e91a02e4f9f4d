//! `nodesift-dev module check`: whether a module does what a sidecar needs of it, before a policy names it.
//!
//! ```text
//! verdicts   the same question asked again, of other instances and about other batches
//! grown      a call over the largest cluster, within the limits of a call
//! report     checks → table and JSON
//! ```
//!
//! Which questions are asked is in [`subject`](super::subject). Start at [`check`](fn@check).

mod grown;
pub(super) mod report;
mod verdicts;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use nodesift_policy::limits::GUEST_MEMORY_BYTES_MAX;
use nodesift_sandbox::accounting::inspect_accounting;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::limits::{COMPONENT_BYTES, FILTER_TIME_MIN, FILTER_TIME_PER_10_000_ROWS};
use nodesift_sandbox::wire::scoring::Normalization;
use nodesift_sandbox::{Grants, Inspection, Lifetime, LoadError, Module};

use super::accounting;
use super::call::{COMPILING, Modules, read};
use super::growth::Growth;
use super::scoring::{Scoring, bounds, scored};
use super::subject::{Question, Subject, grants};
use super::world::World;
use crate::args::ModuleCheckArgs;
use crate::limits::CHECK_NODES;
use grown::Call;
use nodesift::cluster;
use nodesift::exit;
use nodesift::progress::during;
use nodesift::terminal::{self, counted};
use report::{Check, Report, compiled};
use verdicts::{Rows, failures_of, first_difference, fitting, rows_of, scores_of};

/// `nodesift-dev module check`.
///
/// # Errors
///
/// [`Failure`](exit::Failure) if the module or its policy cannot be read, and an error of no kind of its own if a check fails.
pub(crate) fn check(args: &ModuleCheckArgs) -> anyhow::Result<()> {
    let file = read(&args.file)?;
    if inspect_accounting(&file.bytes).is_some() {
        return accounting::check(args, &file);
    }
    let subject = Subject::open(&args.file, args.args.as_deref(), args.policy.as_deref())?;
    let report = report_of(&subject)?;
    if report.distinguishes_nodes == Some(false) {
        terminal::note(
            "it never distinguishes two nodes: whatever was asked, all have the same score. Write a case with different scores into \
             cases.yaml beside the module, or give arguments with --args",
        );
    }
    terminal::print(&terminal::escaped(&report.text(args.output)?))?;
    match report.failed() {
        0 => Ok(()),
        failed => Err(anyhow!("{failed} of {} failed", counted(report.checks.len(), "check"))),
    }
}

/// Runs the checks. Those that need a check before them that has failed are left out.
fn report_of(subject: &Subject) -> anyhow::Result<Report> {
    let mut report = Report::new(subject);
    let bytes = subject.file.bytes.len();
    report.add(Check::passed("size", format!("{bytes} bytes of at most {}", COMPONENT_BYTES)));
    let runtime = cluster::runtime()?;
    let inspected = during(COMPILING, || runtime.inspect(&subject.file.bytes, GUEST_MEMORY_BYTES_MAX));
    let inspection = match inspected {
        Ok(inspection) => inspection,
        Err(error) => {
            let (name, advice) = unloaded(&error);
            report.add(Check::failed(name, error.to_string(), advice));
            return Ok(report);
        }
    };
    let compiled_in = runtime.compilation_time();
    report.add(Check::passed("compiles", compiled(compiled_in)));
    report.inspected(&inspection, compiled_in);
    let granted = grants(&subject.policy);
    report.add(memory(&inspection, &granted));
    let mut modules = Modules::with(runtime, &subject.path, subject.file.clone());
    match modules.load(&subject.path, &granted) {
        Ok(Ok(module)) => {
            report.normalization = module.normalization().map(Normalization::name);
            let budget = granted.time_per_call.unwrap_or(FILTER_TIME_MIN);
            report.add(Check::passed("starts", format!("with its arguments, within the {budget:?} of a call")));
            modules.keep(&subject.path, module);
        }
        Ok(Err(fault)) => {
            let advice = "give the arguments that it needs with --args, or a policy with --policy";
            report.add(Check::failed("starts", format!("configure: {fault}"), advice));
            return Ok(report);
        }
        Err(error) => {
            report.add(Check::failed(
                "starts",
                exit::text(&error),
                "grant what it needs in a policy, with `limits` or `allow`",
            ));
            return Ok(report);
        }
    }
    let questions = subject.questions()?;
    let mut asker = Asker { modules, path: &subject.path };
    report.add(asker.answers(&questions)?);
    if report.failed() == 0 {
        report.add(asker.is_deterministic(&questions)?);
        report.add(asker.keeps_nothing(&questions)?);
        if !inspection.imports.iter().any(|interface| interface.is_cluster_wide()) {
            report.add(asker.is_pointwise(&questions)?);
        }
        if inspection.scores {
            let (check, distinguishes) = asker.scores(&questions)?;
            report.distinguishes_nodes = distinguishes;
            report.add(check);
        }
    }
    let typical = subject.typical()?;
    report.add(asker.is_fast(&typical, Call::Filter)?);
    if inspection.scores {
        report.add(asker.is_fast(&typical, Call::Score)?);
    }
    Ok(report)
}

/// The check that a module fails which is not loaded, and advice.
fn unloaded(error: &LoadError) -> (&'static str, &'static str) {
    match error {
        LoadError::CompileTime(_) if cfg!(debug_assertions) => (
            "compiles",
            "to compile it has taken too much processor time, of all threads together. This program is a development build, whose compiler \
             is slow: check with a release build. If that takes too much too, make the module smaller: fewer libraries, built for size",
        ),
        LoadError::CompileTime(_) | LoadError::CompileMemory { .. } => (
            "compiles",
            "a sidecar has the same limit, and refuses it: make the module smaller, with fewer libraries and built for size",
        ),
        LoadError::CompileWait(_) => (
            "compiles",
            "the limit is by the clock, and other programs count: check again where the machine is less busy, or make the module smaller",
        ),
        LoadError::Size { .. } | LoadError::Declarations { .. } => {
            ("loads", "make the module smaller: fewer libraries, without debug information, built for size")
        }
        _ => ("loads", "build it again, with an SDK of the version that is served"),
    }
}

fn memory(inspection: &Inspection, granted: &Grants) -> Check {
    let (has, may) = (inspection.memory_bytes >> 10, granted.memory_bytes >> 10);
    let detail = format!("{has} KiB of {may} KiB after describe");
    match inspection.memory_bytes <= granted.memory_bytes {
        true => Check::passed("memory", detail),
        false => {
            Check::failed("memory", detail, "grant more with limits.memory in a policy beside it, or with --policy")
        }
    }
}

/// Asks questions of the module.
struct Asker<'s> {
    modules: Modules,
    path: &'s Path,
}

impl Asker<'_> {
    /// The module, as granted by a question, with instances of this lifetime.
    fn module(&mut self, question: &Question, lifetime: Lifetime) -> anyhow::Result<Arc<Module>> {
        let grants = Grants { lifetime, ..question.grants() };
        self.modules.load(self.path, &grants)?.map_err(|fault| anyhow!("{}: configure: {fault}", question.name))
    }

    /// No question ends with a fault, over all of its nodes, one of them, or none.
    fn answers(&mut self, questions: &[Question]) -> anyhow::Result<Check> {
        let mut calls = 0;
        for question in questions {
            let module = self.module(question, Lifetime::PerCall)?;
            let world = World::new(&question.policy, &module, &question.objects, &question.sums);
            let rows = world.rows();
            let none = World::new(&question.policy, &module, question.objects.iter().take(0), &question.sums);
            for (world, rows, what) in [
                (&world, rows.clone(), "all nodes"),
                (&world, rows.iter().take(1).copied().collect(), "one node"),
                (&none, Vec::new(), "no nodes"),
            ] {
                calls += 1;
                // A cluster-wide predicate is always called with every row.
                let rows = if module.is_cluster_wide() { world.rows() } else { rows };
                if let Err(fault) = rows_of(&module, world, &question.pod, &rows) {
                    let advice = "run it with `nodesift-dev module test`, which shows what it logs; a module has an answer for every pod and node";
                    return Ok(Check::failed("hostile rows", format!("{}, {what}: {fault}", question.name), advice));
                }
            }
            self.modules.keep(self.path, module);
        }
        Ok(Check::passed("hostile rows", format!("{calls} calls with absent, extreme and no facts, none with a fault")))
    }

    /// Checks that two fresh instances give the same verdict for the same question.
    fn is_deterministic(&mut self, questions: &[Question]) -> anyhow::Result<Check> {
        for question in questions {
            let module = self.module(question, Lifetime::PerCall)?;
            let world = World::new(&question.policy, &module, &question.objects, &question.sums);
            let (one, two) = (whole(&module, &world, question), whole(&module, &world, question));
            if let Some(difference) = first_difference(&world, &one, &two) {
                let advice = "a verdict and a score may depend on facts and arguments alone: look for the order of a hash map, or for addresses";
                return Ok(Check::failed("deterministic", format!("{}: {difference}", question.name), advice));
            }
        }
        Ok(Check::passed(
            "deterministic",
            format!("{} asked twice, of fresh instances", counted(questions.len(), "question")),
        ))
    }

    /// An instance that has answered every other question has the verdicts of a fresh one.
    fn keeps_nothing(&mut self, questions: &[Question]) -> anyhow::Result<Check> {
        // Questions with the same grants share an instance.
        let mut used: Vec<(Grants, Arc<Module>)> = Vec::new();
        for round in 0..2 {
            for question in questions {
                let fresh = self.module(question, Lifetime::PerCall)?;
                let world = World::new(&question.policy, &fresh, &question.objects, &question.sums);
                let grants = question.grants();
                if !used.iter().any(|(known, _)| *known == grants) {
                    used.push((grants.clone(), self.module(question, Lifetime::Reused)?));
                }
                let Some((_, module)) = used.iter().find(|(known, _)| *known == grants) else { continue };
                let (one, two) = (whole(&fresh, &world, question), whole(module, &world, question));
                if let Some(difference) = first_difference(&world, &one, &two) {
                    let advice = "it keeps something from one pod to the next: begin each call with empty state";
                    let detail = format!("{}, round {round}, a used instance: {difference}", question.name);
                    return Ok(Check::failed("keeps nothing", detail, advice));
                }
            }
        }
        let detail = format!("{} of used instances as of fresh ones", counted(questions.len(), "question"));
        Ok(Check::passed("keeps nothing", detail))
    }

    /// The verdict for a node is the same without the other nodes.
    fn is_pointwise(&mut self, questions: &[Question]) -> anyhow::Result<Check> {
        const NAME: &str = "row by row";
        for question in questions {
            let module = self.module(question, Lifetime::PerCall)?;
            let world = World::new(&question.policy, &module, &question.objects, &question.sums);
            let all = world.rows();
            let whole = whole(&module, &world, question);
            let (first, second) = all.split_at(all.len() / 2);
            let halves = [first, second].map(|rows| rows_of(&module, &world, &question.pod, rows));
            let alone: Vec<Result<Rows, _>> =
                all.iter().map(|row| rows_of(&module, &world, &question.pod, &[*row])).collect();
            for (what, parts) in [("in halves", halves.to_vec()), ("alone", alone)] {
                let joined = parts.into_iter().collect::<Result<Vec<Rows>, _>>().map(|parts| parts.concat());
                if let Some(difference) = first_difference(&world, &whole, &joined) {
                    let detail = format!("{}, nodes {what}: {difference}", question.name);
                    let advice = "without a `cluster-*` import, a node must be decided by its own facts: its place, the number of nodes and the other \
                                  nodes change with every batch";
                    return Ok(Check::failed(NAME, detail, advice));
                }
            }
        }
        Ok(Check::passed(NAME, format!("{} over all nodes, in halves and alone", counted(questions.len(), "question"))))
    }

    /// Every score is from 0 to 100 once it is normalized; where that holds, whether any two nodes have had different ones.
    fn scores(&mut self, questions: &[Question]) -> anyhow::Result<(Check, Option<bool>)> {
        const NAME: &str = "scores";
        let (mut found, mut distinguishes, mut normalization): (Option<(i64, i64)>, _, _) = (None, false, "");
        for question in questions {
            let module = self.module(question, Lifetime::PerCall)?;
            normalization = module.normalization().map_or("", Normalization::name);
            let world = World::new(&question.policy, &module, &question.objects, &question.sums);
            let scoring = || {
                let feasible = fitting(&failures_of(&module, &world, &question.pod, &world.rows())?);
                if !feasible.contains(&true) {
                    return Ok(Scoring::Skipped);
                }
                scored(&module, &world, scores_of(&module, &world, &question.pod, &world.rows(), &feasible)?, &feasible)
            };
            match scoring() {
                Ok(Scoring::Scored(scores)) => {
                    let Some((lowest, highest)) = bounds(&scores) else { continue };
                    distinguishes |= lowest < highest;
                    found = Some(found.map_or((lowest, highest), |(low, high)| (low.min(lowest), high.max(highest))));
                }
                Ok(Scoring::Skipped | Scoring::Failed(_)) => {}
                Err(fault) => {
                    let check = Check::failed(NAME, format!("{}: {fault}", question.name), OUTSIDE);
                    return Ok((check, None));
                }
            }
        }
        let detail = match found {
            None => format!("{}, of which none has scores", counted(questions.len(), "question")),
            Some((lowest, highest)) => {
                let of = counted(questions.len(), "question");
                let never = if distinguishes { "" } else { "; it never distinguishes two nodes" };
                format!("from {lowest} to {highest} in {of}, normalization {normalization}{never}")
            }
        };
        Ok((Check::passed(NAME, detail), Some(distinguishes)))
    }

    /// The largest cluster, which is grown from that of the question, is answered within the limits of a call.
    fn is_fast(&mut self, question: &Question, call: Call) -> anyhow::Result<Check> {
        let module = self.module(question, Lifetime::PerCall)?;
        let growth = Growth::chosen(question, &module);
        let by_rows = FILTER_TIME_PER_10_000_ROWS * CHECK_NODES.div_ceil(10_000);
        let budget: Duration = question.grants().time_per_call.unwrap_or_else(|| by_rows.max(FILTER_TIME_MIN));
        Ok(grown::check(&module, question, &growth, call, budget))
    }
}

/// Advice where a score is not from 0 to 100.
const OUTSIDE: &str = "return raw scores from 0 to 100, or name the normalization that makes such scores of them: by-largest of counts, \
                       by-largest-reversed of costs, by-range of numbers that can be negative, by-distance of distances";

/// The verdict of a question over all of its nodes.
fn whole(module: &Module, world: &World, question: &Question) -> Result<Rows, Fault> {
    rows_of(module, world, &question.pod, &world.rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_is_too_large_to_compile_is_not_told_to_take_another_sdk() {
        let time = Duration::from_secs(30);
        let memory = LoadError::CompileMemory { limit: 1 << 30 };
        for error in [LoadError::CompileTime(time), LoadError::CompileWait(time), memory] {
            let (check, advice) = unloaded(&error);
            assert_eq!(check, "compiles", "{error}");
            assert!(advice.contains("smaller") && !advice.contains("SDK"), "{error}: {advice}");
        }
        let (check, advice) = unloaded(&LoadError::Contract("no export".to_owned()));
        assert!(check == "loads" && advice.contains("SDK"), "{advice}");
    }
}
