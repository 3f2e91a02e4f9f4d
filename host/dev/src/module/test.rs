//! `nodesift-dev module test`: the cases of a module, run by the built module in the sandbox.
//!
//! ```text
//! target    the argument → a file of cases, its module, the project's folder
//! compare   an answer and what a case expects → differences
//! missed    facts that the cases can read and the policy does not name
//! report    results → text or JSON
//! watch     again whenever a file changes
//! units     cases and answers of unit tests, which run without the sandbox: `module cases`
//! ```
//!
//! The format of cases is in [`cases`](super::cases). Start at [`test`](fn@test).

mod compare;
mod missed;
mod report;
mod target;
mod units;
mod watch;

use std::path::Path;

use anyhow::anyhow;

use super::accounting;
use super::call::{Asked, Modules, Outcome};
use super::cases::{Case, Cases, Given};
use super::scoring::Scoring;
use crate::args::ModuleTestArgs;
pub(super) use compare::Difference;
pub(super) use missed::Missed;
use nodesift::exit::Failure;
use nodesift::terminal;
use nodesift_engine::PolicyFact;
use nodesift_sandbox::Line;
use nodesift_sandbox::fault::Fault;
pub(super) use report::Report;
use target::Target;
pub(crate) use units::cases;

/// `nodesift-dev module test`.
///
/// # Errors
///
/// [`Failure::Data`] if cases or module cannot be used, and an error of no kind of its own if a case
/// fails. With `--watch` it ends only where nothing can be watched.
pub(crate) fn test(args: &ModuleTestArgs) -> anyhow::Result<()> {
    let target = Target { policy: args.policy.clone(), ..Target::resolve(&args.path)? };
    if args.watch {
        return watch::run(&target, args.output);
    }
    let failed = once(&target, args)?;
    match failed {
        (0, _) => Ok(()),
        (failed, all) => Err(anyhow!("{failed} of {} failed", terminal::counted(all, "case"))),
    }
}

/// Runs all cases and prints what became of them. Returns how many failed, and how many there are.
fn once(target: &Target, args: &ModuleTestArgs) -> anyhow::Result<(usize, usize)> {
    let report = run(target)?;
    terminal::print(&terminal::escaped(&report.text(args.output)?))?;
    Ok((report.failed(), report.results.len()))
}

/// Result of running one case.
#[derive(Debug)]
pub(super) struct Result {
    pub(super) name: String,
    /// Where it begins in its file.
    pub(super) line: u64,
    pub(super) module: String,
    pub(super) digest: String,
    pub(super) differences: Vec<Difference>,
    /// The lines that the module has written.
    pub(super) lines: Vec<Line>,
    /// Lines that were dropped because they were too many.
    pub(super) dropped: u64,
    pub(super) fault: Option<Fault>,
    /// Scores of its nodes, where the module scores; the names are those of all nodes.
    pub(super) scoring: Option<(Scoring, Vec<String>)>,
}

/// Result of a case, and the facts that a policy has to name for it.
type Run = (Result, Vec<PolicyFact>);

/// Runs all cases, and collects their results.
fn run(target: &Target) -> anyhow::Result<Report> {
    if let Some(cases) = accounting::Cases::read(&target.cases, target.module.as_deref())? {
        if target.policy.is_some() {
            let text = "--policy: the cases of an accounting module name what it is granted themselves";
            return Err(Failure::Usage(text.to_owned()).into());
        }
        target.note_age(&cases.module);
        return accounting::run(&target.cases, &cases);
    }
    let given = Given { module: target.module.as_deref(), policy: target.policy.as_deref() };
    let cases = Cases::read(&target.cases, given)?;
    for module in cases.modules() {
        target.note_age(module);
    }
    let mut modules = Modules::new()?;
    let run = |case: &Case| result(&mut modules, case);
    let (results, facts): (Vec<Result>, Vec<Vec<PolicyFact>>) =
        cases.cases.iter().map(run).collect::<anyhow::Result<Vec<Run>>>()?.into_iter().unzip();
    let missed = Missed::new(facts.into_iter().flatten(), &cases);
    Ok(Report { file: target.cases.display().to_string(), results, missed })
}

fn result(modules: &mut Modules, case: &Case) -> anyhow::Result<Run> {
    let Case { module, policy, objects, sums, pod, candidates, now, .. } = case;
    let (cluster, candidates) = ((objects.as_slice(), sums), candidates.as_ref());
    let answer = modules.ask(Asked { path: module, policy, cluster, pod, candidates, now: *now })?;
    let differences = compare::differences(&case.expected, &answer);
    let (fault, scoring) = match (answer.outcome, answer.scoring) {
        (Outcome::Faulted(fault), _) | (_, Some(Err(fault))) => (Some(fault), None),
        (_, scoring) => (None, scoring.and_then(std::result::Result::ok).map(|scoring| (scoring, answer.nodes))),
    };
    let result = Result {
        name: case.name.clone(),
        line: case.line,
        module: case.module.display().to_string(),
        digest: modules.digest(&case.module).unwrap_or_default(),
        differences,
        lines: answer.lines,
        dropped: answer.dropped,
        fault,
        scoring,
    };
    Ok((result, answer.facts))
}

/// How the first case of a file is answered otherwise than it expects, in words; none where all are answered so.
///
/// # Errors
///
/// If the file cannot be read, or a module not loaded.
pub(crate) fn first_difference(file: &Path) -> anyhow::Result<Option<String>> {
    let cases = Cases::read(file, Given::default())?;
    let mut modules = Modules::new()?;
    for case in &cases.cases {
        let (result, _) = result(&mut modules, case)?;
        if let Some(difference) = result.differences.first() {
            return Ok(Some(format!("{}: {difference}", result.name)));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::cases::{CASES_FILE, Expected, Wanted};
    use super::*;

    #[test]
    fn every_committed_file_of_cases_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (mut of_predicates, mut of_scorers, mut of_accounting) = (0, 0, 0);
        for folder in ["predicates/examples", "sdk/predicate/module/templates"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let entry_path = entry.unwrap().path();
                let file = entry_path.join(CASES_FILE);
                if !file.is_file() {
                    continue;
                }
                let text = |error| nodesift::exit::text(&error);
                if accounting::Cases::read(&file, None).map_err(text).unwrap().is_some() {
                    of_accounting += 1;
                    continue;
                }
                of_predicates += 1;
                let cases = Cases::read(&file, Given::default()).map_err(text).unwrap();
                let scores = |expected: &Expected| matches!(expected, Expected::Verdict { scores: Some(_), .. });
                let is_of_scorer = cases.cases.iter().any(|case| scores(&case.expected));
                if is_of_scorer || entry_path.to_string_lossy().ends_with("-score") {
                    of_scorers += 1;
                    assert!(
                        cases.cases.iter().any(|case| case.expected.tells_nodes_apart()),
                        "every node has the same score: {}",
                        file.display()
                    );
                    continue;
                }
                // A predicate that rejects nothing, or everything, passes no file that has a case of both.
                let has = |wanted: fn(&Wanted) -> bool| {
                    let mut verdicts = cases.cases.iter().map(|case| &case.expected);
                    verdicts.any(|case| matches!(case, Expected::Verdict { nodes, .. } if nodes.values().any(wanted)))
                };
                assert!(has(|wanted| matches!(wanted, Wanted::Rejected(_))), "nothing is rejected: {}", file.display());
                assert!(has(|wanted| matches!(wanted, Wanted::Fits)), "nothing fits: {}", file.display());
            }
        }
        assert!(of_predicates >= 5, "{of_predicates}");
        assert!(of_scorers >= 2, "{of_scorers}");
        assert!(of_accounting >= 3, "{of_accounting}");
    }
}
