//! `nodesift-dev module cases`: cases as JSON for the unit tests of an SDK, which evaluate them without the sandbox, and their answers
//! compared with what the cases expect, as `module test` compares those of the built module.
//!
//! `cluster` writes the cases. Start at [`cases`].

mod cluster;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use nodesift_object::{Kind, Object};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::{Code, Codes, Failure as Rejected, Level, Line, RowVerdict, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::accounting;
use super::super::call::{Answer, Outcome};
use super::super::cases::{Case, Cases, Given, text_of};
use super::compare;
use super::report::failed_text;
use super::target::Target;
use crate::args::ModuleCasesArgs;
use cluster::shown;
use nodesift::exit::Failure;
use nodesift::terminal::{self, Paint};

/// Value of `--answers` that stands for standard input.
const STDIN: &str = "-";

/// `nodesift-dev module cases`.
///
/// # Errors
///
/// [`Failure::Data`] if the cases cannot be read or are about an accounting module, or the answers are not about them.
pub(crate) fn cases(args: &ModuleCasesArgs) -> anyhow::Result<()> {
    let target = Target::resolve(&args.path)?;
    let file = target.cases.display().to_string();
    if accounting::Cases::read(&target.cases, target.module.as_deref())?.is_some() {
        let text = format!("{file}: cases of an accounting module, which has no facts: `module test` runs them");
        return Err(Failure::Data(anyhow!(text)).into());
    }
    let given = Given { module: target.module.as_deref(), policy: None };
    let cases = Cases::read(&target.cases, given)?.cases;
    let document = match &args.answers {
        None => json!({"file": file, "cases": cases.iter().map(shown).collect::<Vec<Value>>()}),
        Some(path) => compared(&file, &cases, &answers(path)?)?,
    };
    terminal::print(&format!("{document}\n"))
}

/// Finding of a unit test for one case. With neither a refusal nor a fault, it is a verdict.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Found {
    /// The name of the case.
    name: String,
    /// The text with which the arguments are refused.
    refused: Option<String>,
    /// Text with which the call has failed.
    fault: Option<String>,
    /// Nodes that are rejected, by name.
    #[serde(default)]
    rejected: BTreeMap<String, FoundRejection>,
    /// Lines that were written, in their order.
    #[serde(default)]
    log: Vec<FoundLine>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FoundRejection {
    /// kube-scheduler's name of the status code.
    code: String,
    reasons: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FoundLine {
    level: String,
    text: String,
}

fn answers(path: &Path) -> anyhow::Result<Vec<Found>> {
    let name = path.display().to_string();
    let text = if path == Path::new(STDIN) {
        std::io::read_to_string(std::io::stdin().lock()).context("it cannot be read")
    } else {
        text_of(path)
    };
    let text = text.map_err(|error| Failure::Data(error.context(name.clone())))?;
    let found = serde_json::from_str(&text);
    Ok(found.map_err(|error| Failure::Data(anyhow::Error::new(error).context(name)))?)
}

/// Per answer the text of `module test` about a case that fails; null for one that passes.
fn compared(file: &str, cases: &[Case], answers: &[Found]) -> anyhow::Result<Value> {
    let mut results = Vec::new();
    for found in answers {
        let refuse = |text: String| Failure::Data(anyhow!("{file}: {text}"));
        let case = cases.iter().find(|case| case.name == found.name);
        let case = case.ok_or_else(|| refuse(format!("no case has the name {:?}", found.name)))?;
        let answer = answer(case, found).map_err(refuse)?;
        let differences = compare::differences(&case.expected, &answer);
        let failure = (!differences.is_empty()).then(|| {
            failed_text(Paint::PLAIN, &case.name, &format!("{file}:{}", case.line), &differences, &answer.lines)
        });
        results.push(json!({"name": case.name, "line": case.line, "failure": failure}));
    }
    Ok(json!({"file": file, "cases": results}))
}

/// Makes an answer, as a module would give it, of a unit test's finding.
fn answer(case: &Case, found: &Found) -> Result<Answer, String> {
    let lines = found.log.iter().map(line).collect::<Result<Vec<Line>, String>>()?;
    let nodes: Vec<String> =
        case.objects.iter().filter(|object| object.kind() == Kind::Node).map(Object::key).collect();
    if let Some(name) = found.rejected.keys().find(|name| !nodes.contains(name)) {
        return Err(format!("{name:?} is no node of the case {:?}", case.name));
    }
    let outcome = match (&found.refused, &found.fault) {
        (Some(text), _) => Outcome::Refused(text.clone()),
        (None, Some(text)) => Outcome::Faulted(Fault::new(FaultKind::Trap, text)),
        (None, None) => Outcome::Decided(verdict(&nodes, &found.rejected)?),
    };
    Ok(Answer { outcome, scoring: None, lines, dropped: 0, nodes, facts: Vec::new() })
}

/// A verdict with a failure of its own for each rejected node.
fn verdict(nodes: &[String], rejected: &BTreeMap<String, FoundRejection>) -> Result<Verdict, String> {
    let (mut codes, mut failures) = (Vec::new(), Vec::new());
    for name in nodes {
        let Some(FoundRejection { code, reasons }) = rejected.get(name) else {
            codes.push(0);
            continue;
        };
        let known = Code::ALL.into_iter().find(|known| known.name() == code);
        let code = known.ok_or_else(|| format!("{code:?} is no status code"))?;
        let mut reasons = reasons.clone();
        reasons.sort_unstable();
        failures.push(Rejected { code, reasons: reasons.into() });
        codes.push(u16::try_from(failures.len()).map_err(|_| "more rejected nodes than a verdict has".to_owned())?);
    }
    Ok(Verdict::ByRow(RowVerdict::new(Codes::from(codes), failures.into(), None)))
}

fn line(FoundLine { level, text }: &FoundLine) -> Result<Line, String> {
    let known = match level.as_str() {
        "debug" => Level::Debug,
        "info" => Level::Info,
        "warn" => Level::Warn,
        "error" => Level::Error,
        other => return Err(format!("{other:?} is no level of the log")),
    };
    Ok(Line { level: known, text: text.clone() })
}
