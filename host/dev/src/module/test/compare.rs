//! An answer and what a case expects → differences. Start at [`differences`].

use std::fmt;

use nodesift_engine::NodeScore;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::wire::scoring::NO_SCORE;
use nodesift_sandbox::{Failure, Level, Line, Verdict};
use serde::Serialize;

use super::super::call::{Answer, Outcome};
use super::super::cases::{Expected, ExpectedFault, Rejection, Wanted, WantedScore, WantedScores};
use super::super::scoring::Scoring;

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
        (Expected::Fault(wanted), outcome) => {
            let found = match (outcome, &answer.scoring) {
                (Outcome::Faulted(found), _) | (_, Some(Err(found))) => Some(found),
                _ => None,
            };
            if found.is_some_and(|found| is_fault(wanted, found)) {
                return Vec::new();
            }
            let detail = wanted.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
            one(format!("the fault {}{detail}", wanted.kind), found.map_or_else(|| told(outcome), fault_text))
        }
        (Expected::Verdict { nodes, scores, log }, Outcome::Decided(verdict)) => {
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
            differences.extend(score_differences(scores.as_ref(), answer));
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
        Outcome::Faulted(fault) => fault_text(fault),
        Outcome::Decided(Verdict::FitsAll) => "a verdict: every node fits".to_owned(),
        Outcome::Decided(Verdict::FitsNone(failure)) => format!("a verdict: every node is {}", rejected(failure, true)),
        Outcome::Decided(Verdict::ByRow(_)) => "a verdict".to_owned(),
    }
}

fn fault_text(fault: &Fault) -> String {
    format!("the fault {fault}")
}

/// Where the answer of a scorer is another one than expected. A call of `score` that fails is always told: whoever names the module under
/// `spec.scores` gets it.
fn score_differences(wanted: Option<&WantedScores>, answer: &Answer) -> Vec<Difference> {
    let one = |expected: &str, actual: String| vec![Difference { node: None, expected: expected.to_owned(), actual }];
    let Some(wanted) = wanted else {
        let fault = answer.scoring.as_ref().and_then(|scoring| scoring.as_ref().err());
        return fault.map(|fault| one("no fault of score", fault_text(fault))).unwrap_or_default();
    };
    match (wanted, &answer.scoring) {
        (WantedScores::Skipped, Some(Ok(Scoring::Skipped))) => Vec::new(),
        (WantedScores::Error(text), Some(Ok(Scoring::Failed(found)))) if found.contains(text) => Vec::new(),
        (WantedScores::Nodes(nodes), Some(Ok(Scoring::Scored(scores)))) => {
            let row = |(name, found): (&String, &Option<NodeScore>)| {
                let (wanted, node) = (nodes.get(name)?, Some(name.clone()));
                let difference = || Difference { node, expected: wanted_score(*wanted), actual: found_score(*found) };
                (!is_score(*wanted, *found)).then(difference)
            };
            answer.nodes.iter().zip(scores).filter_map(row).collect()
        }
        (wanted, found) => {
            let expected = match wanted {
                WantedScores::Nodes(_) => "scores".to_owned(),
                WantedScores::Skipped => "that it skips the pod".to_owned(),
                WantedScores::Error(text) => format!("that the pod cannot be scored: {text}"),
            };
            one(&expected, scoring_text(found.as_ref()))
        }
    }
}

fn scoring_text(found: Option<&Result<Scoring, Fault>>) -> String {
    match found {
        None => "no scores: the module exports no `scorer`, or the pod fits no node".to_owned(),
        Some(Err(fault)) => fault_text(fault),
        Some(Ok(Scoring::Skipped)) => "it skips the pod".to_owned(),
        Some(Ok(Scoring::Failed(text))) => format!("the pod cannot be scored: {text}"),
        Some(Ok(Scoring::Scored(_))) => "scores".to_owned(),
    }
}

fn is_score(WantedScore { raw, normalized }: WantedScore, found: Option<NodeScore>) -> bool {
    let Some(found) = found else { return false };
    raw.is_none_or(|raw| raw == found.raw.unwrap_or(NO_SCORE))
        && normalized.is_none_or(|normalized| normalized == found.normalized)
}

fn wanted_score(WantedScore { raw, normalized }: WantedScore) -> String {
    let score = normalized.map(|score| format!("score {score}"));
    let raw = raw.map(|raw| raw_text(Some(raw).filter(|raw| *raw != NO_SCORE)));
    score.into_iter().chain(raw).collect::<Vec<_>>().join(", ")
}

fn found_score(found: Option<NodeScore>) -> String {
    let Some(NodeScore { raw, normalized }) = found else {
        return "no score: the pod does not fit it".to_owned();
    };
    format!("score {normalized}, {}", raw_text(raw))
}

fn raw_text(raw: Option<i64>) -> String {
    raw.map_or_else(|| "raw none".to_owned(), |raw| format!("raw {raw}"))
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
