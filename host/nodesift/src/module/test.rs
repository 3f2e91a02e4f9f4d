//! `nodesift module test`: the cases of a module, run by the built module in the sandbox.
//!
//! ```text
//! target    the argument → a file of cases, its module, the project's folder
//! compare   an answer and what a case expects → differences
//! report    results → text or JSON
//! watch     again whenever a file changes
//! ```
//!
//! The format of cases is in [`cases`](super::cases). Start at [`test`](fn@test).

mod compare;
mod report;
mod target;
mod watch;

use std::path::Path;

use anyhow::anyhow;

use super::call::{Answer, Modules};
use super::cases::{Case, Cases};
use crate::args::ModuleTestArgs;
use crate::terminal;
use compare::Difference;
use report::Report;
use target::Target;

/// `nodesift module test`.
///
/// # Errors
///
/// [`Failure::Data`](crate::exit::Failure::Data) if cases or module cannot be used, and an error of no kind of its own if a case
/// fails. With `--watch` it ends only where nothing can be watched.
pub(crate) fn test(args: &ModuleTestArgs) -> anyhow::Result<()> {
    let target = Target::of(&args.path)?;
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

/// What became of one case.
#[derive(Debug)]
struct Result {
    name: String,
    line: u64,
    module: String,
    digest: String,
    differences: Vec<Difference>,
    answer: Answer,
}

/// Runs all cases.
fn run(target: &Target) -> anyhow::Result<Report> {
    let cases = Cases::read(&target.cases, target.module.as_deref())?;
    for module in cases.modules() {
        target.note_age(module);
    }
    let mut modules = Modules::new()?;
    let run = |case: &Case| result(&mut modules, case);
    let results = cases.cases.iter().map(run).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Report { file: target.cases.display().to_string(), results })
}

fn result(modules: &mut Modules, case: &Case) -> anyhow::Result<Result> {
    let answer = modules.ask(&case.module, &case.policy, &case.objects, &case.pod, case.now)?;
    Ok(Result {
        name: case.name.clone(),
        line: case.line,
        module: case.module.display().to_string(),
        digest: modules.digest(&case.module).unwrap_or_default(),
        differences: compare::differences(&case.expected, &answer),
        answer,
    })
}

/// How the first case of a file is answered otherwise than it expects, in words; none where all are answered so.
///
/// # Errors
///
/// If the file cannot be read, or a module not loaded.
pub(crate) fn first_difference(file: &Path) -> anyhow::Result<Option<String>> {
    let cases = Cases::read(file, None)?;
    let mut modules = Modules::new()?;
    for case in &cases.cases {
        let result = result(&mut modules, case)?;
        if let Some(difference) = result.differences.first() {
            return Ok(Some(format!("{}: {difference}", result.name)));
        }
    }
    Ok(None)
}
