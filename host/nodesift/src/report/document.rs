//! The structure of `-o json`, `-o jsonl` and `-o yaml`.
//!
//! `explain -o jsonl` is a fixed format: per pod one line for each predicate, then one for the conjunction (`"*"`). Field
//! order, sorting and omitted fields are those of the conformance files. Start at [`Document`].

use std::io::{self, Write};

use nodesift_proto::v1;
use nodesift_proto::wkt::Timestamp;
use serde::Serialize;

use super::faults::{Fault, faults};
use super::scores::Scores;

/// An answer about one pod, as a document.
pub(crate) trait Document: Clone {
    /// One element of `-o json` and `-o yaml`.
    fn document(&self) -> impl Serialize + '_;
    /// Its lines of `-o jsonl`.
    fn write_lines(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Returns the pod as `namespace/name`.
    fn pod(&self) -> &str;
    /// The answer with an empty pod name: equal for all pods with the same answer.
    fn without_pod(&self) -> Self;
}

impl Document for v1::PodAnswer {
    fn document(&self) -> impl Serialize + '_ {
        filtered(self)
    }

    fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        write_line(&filtered(self), out)
    }

    fn pod(&self) -> &str {
        &self.pod
    }

    fn without_pod(&self) -> Self {
        Self { pod: String::new(), ..self.clone() }
    }
}

impl Document for v1::PodExplanation {
    fn document(&self) -> impl Serialize + '_ {
        explained(self)
    }

    fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        let Explained { pod, predicates, feasible, message, claims_to_release: _, faults, parties, scores } =
            explained(self);
        for predicate in predicates {
            write_line(&PredicateLine { pod, predicate }, out)?;
        }
        write_line(&ConjunctionLine { pod, predicate: "*", feasible, message, faults, parties, scores }, out)
    }

    fn pod(&self) -> &str {
        &self.pod
    }

    fn without_pod(&self) -> Self {
        let conjunction = self.conjunction.as_ref().map(Document::without_pod);
        Self { pod: String::new(), conjunction, ..self.clone() }
    }
}

/// Answer of `filter` about one pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Filtered<'a> {
    pod: &'a str,
    feasible: &'a [String],
    failures: Vec<FailureCount<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    claims_to_release: &'a [String],
    faults: Vec<Fault<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Scores<'a>>,
}

/// Nodes with the same failure, counted.
#[derive(Debug, Serialize)]
struct FailureCount<'a> {
    predicate: &'a str,
    code: &'a str,
    reasons: &'a [String],
    count: u32,
}

/// Answer of `explain` about one pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained<'a> {
    pod: &'a str,
    predicates: Vec<PredicateFailures<'a>>,
    feasible: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    claims_to_release: &'a [String],
    faults: Vec<Fault<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parties: Vec<Stance<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Scores<'a>>,
}

/// Answer of an external party about some nodes.
#[derive(Debug, Serialize)]
struct Stance<'a> {
    party: &'a str,
    said: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    nodes: u32,
    /// Time of the answer, written in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

/// The failures of one predicate, evaluated on its own.
#[derive(Debug, Serialize)]
struct PredicateFailures<'a> {
    predicate: &'a str,
    failures: Vec<FailureNodes<'a>>,
}

/// Nodes with the same failure, by name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FailureNodes<'a> {
    code: &'a str,
    reasons: &'a [String],
    nodes: Vec<&'a str>,
}

/// A line of `explain -o jsonl` about one predicate.
#[derive(Debug, Serialize)]
struct PredicateLine<'a> {
    pod: &'a str,
    #[serde(flatten)]
    predicate: PredicateFailures<'a>,
}

/// The last line of a pod in `explain -o jsonl`.
#[derive(Debug, Serialize)]
struct ConjunctionLine<'a> {
    pod: &'a str,
    predicate: &'a str,
    feasible: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// Omitted if empty: the fixed format has no such field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault<'a>>,
    /// Omitted if empty: the fixed format has no such field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parties: Vec<Stance<'a>>,
    /// Omitted where none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Scores<'a>>,
}

/// One pod of `filter`.
fn filtered(answer: &v1::PodAnswer) -> Filtered<'_> {
    Filtered {
        pod: &answer.pod,
        feasible: &answer.feasible,
        failures: answer
            .failures
            .iter()
            .map(|failure| FailureCount {
                predicate: &failure.predicate,
                code: &failure.code,
                reasons: &failure.reasons,
                count: failure.count,
            })
            .collect(),
        message: answer.message.as_deref(),
        claims_to_release: &answer.claims_to_release,
        faults: faults(&answer.faults),
        scores: answer.scores.as_ref().map(Scores::from),
    }
}

/// One pod of `explain`.
fn explained(answer: &v1::PodExplanation) -> Explained<'_> {
    let conjunction = answer.conjunction.as_ref();
    Explained {
        pod: &answer.pod,
        predicates: answer.predicates.iter().map(predicate_failures).collect(),
        feasible: conjunction.map_or(&[], |conjunction| &conjunction.feasible),
        // An error ends kube-scheduler's cycle without an event about nodes.
        message: conjunction
            .filter(|conjunction| conjunction.cycle() != v1::Cycle::Aborted)
            .and_then(|conjunction| conjunction.message.as_deref()),
        claims_to_release: conjunction.map_or(&[], |conjunction| &conjunction.claims_to_release),
        faults: conjunction.map_or_else(Vec::new, |conjunction| faults(&conjunction.faults)),
        parties: answer.parties.iter().map(stance).collect(),
        scores: conjunction.and_then(|conjunction| conjunction.scores.as_ref()).map(Scores::from),
    }
}

fn stance(stance: &v1::PartyStance) -> Stance<'_> {
    let v1::PartyStance { party, said, reason, nodes, since } = stance;
    Stance { party, said, reason, nodes: *nodes, since: *since }
}

fn predicate_failures(answer: &v1::PredicateAnswer) -> PredicateFailures<'_> {
    let groups = answer.failures.iter().map(|failure| {
        let mut nodes: Vec<&str> = failure.nodes.iter().map(String::as_str).collect();
        nodes.sort_unstable();
        FailureNodes { code: &failure.code, reasons: &failure.reasons, nodes }
    });
    let mut failures: Vec<FailureNodes<'_>> = groups.collect();
    failures.sort_unstable();
    PredicateFailures { predicate: &answer.predicate, failures }
}

fn write_line(line: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn failure(code: &str, reasons: &[&str], nodes: &[&str]) -> v1::Failure {
        v1::Failure {
            predicate: "NodeResourcesFit".into(),
            code: code.into(),
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            count: u32::try_from(nodes.len()).unwrap(),
            nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
            ..v1::Failure::default()
        }
    }

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn explain_lines_are_those_of_the_conformance_files() {
        let explanation = v1::PodExplanation {
            pod: "dev/i0".into(),
            predicates: vec![
                v1::PredicateAnswer { predicate: "NodeName".into(), failures: vec![] },
                v1::PredicateAnswer {
                    predicate: "NodeResourcesFit".into(),
                    failures: vec![
                        failure("UnschedulableAndUnresolvable", &["Insufficient memory"], &["n15"]),
                        failure("Unschedulable", &["Insufficient cpu", "Too many pods"], &["n5", "n10"]),
                        failure("Unschedulable", &["Insufficient cpu"], &["n0", "n1"]),
                    ],
                },
            ],
            conjunction: Some(v1::PodAnswer {
                message: Some("0/5 nodes <are> available.".into()),
                ..Default::default()
            }),
            ..Default::default()
        };
        let expected = concat!(
            r#"{"pod":"dev/i0","predicate":"NodeName","failures":[]}"#,
            "\n",
            r#"{"pod":"dev/i0","predicate":"NodeResourcesFit","failures":["#,
            r#"{"code":"Unschedulable","reasons":["Insufficient cpu"],"nodes":["n0","n1"]},"#,
            r#"{"code":"Unschedulable","reasons":["Insufficient cpu","Too many pods"],"nodes":["n10","n5"]},"#,
            r#"{"code":"UnschedulableAndUnresolvable","reasons":["Insufficient memory"],"nodes":["n15"]}]}"#,
            "\n",
            r#"{"pod":"dev/i0","predicate":"*","feasible":[],"message":"0/5 nodes <are> available."}"#,
            "\n",
        );
        assert_eq!(text(|out| explanation.write_lines(out)), expected);
    }

    #[test]
    fn a_placeable_pod_has_no_message() {
        let conjunction = v1::PodAnswer { feasible: vec!["n0".into(), "n3".into()], ..Default::default() };
        let explanation =
            v1::PodExplanation { pod: "a/b".into(), conjunction: Some(conjunction), ..Default::default() };
        let line = r#"{"pod":"a/b","predicate":"*","feasible":["n0","n3"]}"#;
        assert_eq!(text(|out| explanation.write_lines(out)).trim_end(), line);
    }

    #[test]
    fn faults_are_in_every_format() {
        let fault = v1::Fault {
            predicate: "Slow".into(),
            fault: "Deadline".into(),
            detail: "5 ms".into(),
            effect: "Ignored".into(),
        };
        let conjunction = v1::PodAnswer { pod: "a/b".into(), faults: vec![fault], ..Default::default() };
        let expected = r#""faults":[{"predicate":"Slow","fault":"Deadline","detail":"5 ms","effect":"Ignored"}]}"#;
        assert!(text(|out| conjunction.write_lines(out)).trim_end().ends_with(expected));
        let explanation =
            v1::PodExplanation { pod: "a/b".into(), conjunction: Some(conjunction), ..Default::default() };
        assert!(text(|out| explanation.write_lines(out)).trim_end().ends_with(expected));
    }

    #[test]
    fn what_parties_have_said_is_in_every_format_with_the_time_in_rfc_3339() {
        let since = Some(Timestamp { seconds: 1_790_000_000, nanos: 250_000_000 });
        let (party, said, reason) = ("licences".to_owned(), "Refused".to_owned(), "no free licence".to_owned());
        let refused = v1::PartyStance { party, said, reason, nodes: 3, since };
        let silent = v1::PartyStance { said: "NotAsked".into(), reason: String::new(), since: None, ..refused.clone() };
        let explanation =
            v1::PodExplanation { pod: "a/b".into(), parties: vec![refused, silent], ..Default::default() };
        let expected = concat!(
            r#""parties":[{"party":"licences","said":"Refused","reason":"no free licence","nodes":3,"#,
            r#""since":"2026-09-21T14:13:20.250Z"},{"party":"licences","said":"NotAsked","nodes":3}]}"#,
        );
        assert!(text(|out| explanation.write_lines(out)).trim_end().ends_with(expected));
        assert!(serde_json::to_string(&explanation.document()).unwrap().ends_with(expected));
    }

    #[test]
    fn a_filter_line_counts_nodes() {
        let answer = v1::PodAnswer {
            pod: "a/b".into(),
            failures: vec![failure("Unschedulable", &["Insufficient cpu"], &["n0", "n1"])],
            message: Some("0/2 nodes are available: 2 Insufficient cpu.".into()),
            nodes: 2,
            ..Default::default()
        };
        let expected = concat!(
            r#"{"pod":"a/b","feasible":[],"failures":[{"predicate":"NodeResourcesFit","code":"Unschedulable","#,
            r#""reasons":["Insufficient cpu"],"count":2}],"message":"0/2 nodes are available: 2 Insufficient cpu.","faults":[]}"#,
        );
        assert_eq!(text(|out| answer.write_lines(out)).trim_end(), expected);
    }
}
