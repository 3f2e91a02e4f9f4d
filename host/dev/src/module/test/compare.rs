//! An answer and what a case expects → differences. Start at [`differences`].

use std::fmt;

use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Failure, Level, Line, Verdict};
use serde::Serialize;

use super::super::call::{Answer, Outcome};
use super::super::cases::{Expected, ExpectedFault, Rejection, Wanted};

/// Difference between an answer and the expectation of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Difference {
    /// The node that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) node: Option<String>,
    pub(in super::super) expected: String,
    pub(in super::super) actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            write!(f, "node {node}: ")?;
        }
        write!(f, "expected {}, found {}", self.expected, self.actual)
    }
}

/// Every difference, in the order of rows.
pub(super) fn differences(expected: &Expected, answer: &Answer) -> Vec<Difference> {
    let one = |expected: String, actual: String| vec![Difference { node: None, expected, actual }];
    match (expected, &answer.outcome) {
        (Expected::Refusal(text), Outcome::Refused(found)) if found.contains(text) => Vec::new(),
        (Expected::Refusal(text), outcome) => one(format!("refused arguments: {text}"), told(outcome)),
        (Expected::Fault(wanted), Outcome::Faulted(found)) if is_fault(wanted, found) => Vec::new(),
        (Expected::Fault(wanted), outcome) => {
            let detail = wanted.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
            one(format!("the fault {}{detail}", wanted.kind), told(outcome))
        }
        (Expected::Verdict { nodes, log }, Outcome::Decided(verdict)) => {
            let row = |(place, name): (usize, &String)| {
                let (wanted, found) = (nodes.get(name)?, verdict.failure_at(place));
                let difference = || Difference {
                    node: Some(name.clone()),
                    expected: wanted_text(wanted),
                    actual: found_text(wanted, found),
                };
                (!is_wanted(wanted, found)).then(difference)
            };
            let mut differences: Vec<Difference> = answer.nodes.iter().enumerate().filter_map(row).collect();
            differences.extend(log.as_ref().and_then(|wanted| log_difference(wanted, &answer.lines)));
            differences
        }
        (Expected::Verdict { .. }, outcome) => one("a verdict".to_owned(), told(outcome)),
    }
}

fn is_fault(wanted: &ExpectedFault, found: &Fault) -> bool {
    wanted.kind == found.kind.name() && wanted.detail.as_ref().is_none_or(|detail| found.detail.contains(detail))
}

/// How a question has ended, in words.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Refused(text) => format!("refused arguments: {text}"),
        Outcome::Faulted(fault) => format!("the fault {fault}"),
        Outcome::Decided(Verdict::FitsAll) => "a verdict: every node fits".to_owned(),
        Outcome::Decided(Verdict::FitsNone(failure)) => format!("a verdict: every node is {}", rejected(failure, true)),
        Outcome::Decided(Verdict::ByRow(_)) => "a verdict".to_owned(),
    }
}

fn is_wanted(wanted: &Wanted, found: Option<&Failure>) -> bool {
    match (wanted, found) {
        (Wanted::Fits, None) => true,
        (Wanted::Fits, Some(_)) | (Wanted::Rejected(_), None) => false,
        (Wanted::Rejected(Rejection { reasons, code }), Some(found)) => {
            reasons.as_ref().is_none_or(|reasons| **reasons == *found.reasons)
                && code.is_none_or(|code| code == found.code)
        }
    }
}

fn wanted_text(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Fits => "fits".to_owned(),
        Wanted::Rejected(Rejection { reasons, code }) => {
            let code = code.map(|code| format!(" as {}", code.name())).unwrap_or_default();
            let reasons = reasons.as_ref().map(|reasons| format!(": {}", reasons.join("; "))).unwrap_or_default();
            format!("rejected{code}{reasons}")
        }
    }
}

fn found_text(wanted: &Wanted, found: Option<&Failure>) -> String {
    let has_code = !matches!(wanted, Wanted::Rejected(Rejection { code: None, .. }));
    found.map_or_else(|| "fits".to_owned(), |failure| rejected(failure, has_code))
}

fn rejected(failure: &Failure, has_code: bool) -> String {
    let code = if has_code { format!(" as {}", failure.code.name()) } else { String::new() };
    format!("rejected{code}: {}", failure.reasons.join("; "))
}

/// Where lines are others than expected: each expected text is a part of one, in order.
fn log_difference(wanted: &[String], lines: &[Line]) -> Option<Difference> {
    let found: Vec<String> = lines.iter().map(line_text).collect();
    let is_same =
        wanted.len() == found.len() && wanted.iter().zip(&found).all(|(wanted, found)| found.contains(wanted));
    let told = |lines: &[String]| match lines {
        [] => "no lines".to_owned(),
        lines => format!("lines: {}", lines.join(" | ")),
    };
    (!is_same).then(|| Difference { node: None, expected: told(wanted), actual: told(&found) })
}

/// A line as it is printed.
pub(super) fn line_text(Line { level, text }: &Line) -> String {
    let level = match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    format!("{level}: {text}")
}
