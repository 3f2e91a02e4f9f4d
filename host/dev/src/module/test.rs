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
use super::call::{Modules, Outcome};
use super::cases::{Case, Cases, Given};
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
    let answer = modules.ask(&case.module, &case.policy, (&case.objects, &case.sums), &case.pod, case.now)?;
    let result = Result {
        name: case.name.clone(),
        line: case.line,
        module: case.module.display().to_string(),
        digest: modules.digest(&case.module).unwrap_or_default(),
        differences: compare::differences(&case.expected, &answer),
        lines: answer.lines,
        dropped: answer.dropped,
        fault: if let Outcome::Faulted(fault) = answer.outcome { Some(fault) } else { None },
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
        let (mut of_predicates, mut of_accounting) = (0, 0);
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
                // A predicate that rejects nothing, or everything, passes no file that has a case of both.
                let has = |wanted: fn(&Wanted) -> bool| {
                    let mut verdicts = cases.cases.iter().map(|case| &case.expected);
                    verdicts.any(|case| matches!(case, Expected::Verdict { nodes, .. } if nodes.values().any(wanted)))
                };
                // What only scores rejects nothing.
                let source = std::fs::read_to_string(entry_path.join("src/lib.rs")).unwrap_or_default();
                if !source.contains(", scorer)") {
                    assert!(
                        has(|wanted| matches!(wanted, Wanted::Rejected(_))),
                        "nothing is rejected: {}",
                        file.display()
                    );
                }
                assert!(has(|wanted| matches!(wanted, Wanted::Fits)), "nothing fits: {}", file.display());
            }
        }
        assert!(of_predicates >= 5, "{of_predicates}");
        assert!(of_accounting >= 3, "{of_accounting}");
    }
}
