//! The shapes of `-o json`, `-o jsonl` and `-o yaml`.
//!
//! `explain -o jsonl` is a fixed format: per pod one line for each predicate alone, then one for all (`"*"`), with the
//! field order, the sorting and the omissions that the conformance files have. Everything else follows it in spirit.

use std::io::{self, Write};

use nodesift_proto::v1;
use serde::Serialize;

/// `filter`: one pod.
#[derive(Debug, Serialize)]
pub(super) struct Filtered<'a> {
    pod: &'a str,
    feasible: &'a [String],
    failures: Vec<Counted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    faults: Vec<Fault<'a>>,
}

/// A group of nodes that fail in one way, without their names.
#[derive(Debug, Serialize)]
struct Counted<'a> {
    predicate: &'a str,
    code: &'a str,
    reasons: &'a [String],
    count: u32,
}

/// A predicate that failed to answer.
#[derive(Debug, Serialize)]
struct Fault<'a> {
    predicate: &'a str,
    fault: &'a str,
    detail: &'a str,
    effect: &'a str,
}

/// `explain`: one pod.
#[derive(Debug, Serialize)]
pub(super) struct Explained<'a> {
    pod: &'a str,
    predicates: Vec<Alone<'a>>,
    feasible: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    faults: Vec<Fault<'a>>,
}

/// One predicate alone.
#[derive(Debug, Serialize)]
struct Alone<'a> {
    predicate: &'a str,
    failures: Vec<Named<'a>>,
}

/// A group of nodes that fail in one way, by name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Named<'a> {
    code: &'a str,
    reasons: &'a [String],
    nodes: Vec<&'a str>,
}

/// A line of `explain -o jsonl` about one predicate.
#[derive(Debug, Serialize)]
struct AloneLine<'a> {
    pod: &'a str,
    #[serde(flatten)]
    alone: Alone<'a>,
}

/// The last line of a pod in `explain -o jsonl`.
#[derive(Debug, Serialize)]
struct TogetherLine<'a> {
    pod: &'a str,
    predicate: &'a str,
    feasible: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// Left out where there is none: then the line is the fixed format's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault<'a>>,
}

/// One pod of `filter`.
pub(super) fn filtered(answer: &v1::PodAnswer) -> Filtered<'_> {
    Filtered {
        pod: &answer.pod,
        feasible: &answer.feasible,
        failures: answer
            .failures
            .iter()
            .map(|failure| Counted {
                predicate: &failure.predicate,
                code: &failure.code,
                reasons: &failure.reasons,
                count: failure.count,
            })
            .collect(),
        message: answer.message.as_deref(),
        faults: faults(&answer.faults),
    }
}

/// One pod of `explain`.
pub(super) fn explained(answer: &v1::PodExplanation) -> Explained<'_> {
    let together = answer.conjunction.as_ref();
    Explained {
        pod: &answer.pod,
        predicates: answer.predicates.iter().map(alone).collect(),
        feasible: together.map_or(&[], |together| &together.feasible),
        // Where kube-scheduler's cycle ends before its filters have looked at each node, lines give no message: it would
        // be about other nodes than the lines before it.
        message: together
            .filter(|together| matches!(together.cycle(), v1::Cycle::EachNode | v1::Cycle::Unspecified))
            .and_then(|together| together.message.as_deref()),
        faults: together.map_or_else(Vec::new, |together| faults(&together.faults)),
    }
}

/// One line of `filter`.
pub(super) fn write_filtered(answer: &v1::PodAnswer, out: &mut dyn Write) -> io::Result<()> {
    write_line(&filtered(answer), out)
}

/// The lines of `explain` about one pod.
pub(super) fn write_explained(answer: &v1::PodExplanation, out: &mut dyn Write) -> io::Result<()> {
    let Explained { pod, predicates, feasible, message, faults } = explained(answer);
    for alone in predicates {
        write_line(&AloneLine { pod, alone }, out)?;
    }
    write_line(&TogetherLine { pod, predicate: "*", feasible, message, faults }, out)
}

fn alone(answer: &v1::PredicateAnswer) -> Alone<'_> {
    let groups = answer.failures.iter().map(|failure| {
        let mut nodes: Vec<&str> = failure.nodes.iter().map(String::as_str).collect();
        nodes.sort_unstable();
        Named { code: &failure.code, reasons: &failure.reasons, nodes }
    });
    let mut failures: Vec<Named<'_>> = groups.collect();
    failures.sort_unstable();
    Alone { predicate: &answer.predicate, failures }
}

fn faults(faults: &[v1::Fault]) -> Vec<Fault<'_>> {
    faults
        .iter()
        .map(|fault| Fault {
            predicate: &fault.predicate,
            fault: &fault.fault,
            detail: &fault.detail,
            effect: &fault.effect,
        })
        .collect()
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
            node_rows: None,
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
        assert_eq!(text(|out| write_explained(&explanation, out)), expected);
    }

    #[test]
    fn a_placeable_pod_has_no_message() {
        let together = v1::PodAnswer { feasible: vec!["n0".into(), "n3".into()], ..Default::default() };
        let explanation = v1::PodExplanation { pod: "a/b".into(), predicates: vec![], conjunction: Some(together) };
        let line = r#"{"pod":"a/b","predicate":"*","feasible":["n0","n3"]}"#;
        assert_eq!(text(|out| write_explained(&explanation, out)).trim_end(), line);
    }

    #[test]
    fn faults_are_in_every_form() {
        let fault = v1::Fault {
            predicate: "Slow".into(),
            fault: "Deadline".into(),
            detail: "5 ms".into(),
            effect: "Ignored".into(),
        };
        let together = v1::PodAnswer { pod: "a/b".into(), faults: vec![fault], ..Default::default() };
        let expected = r#""faults":[{"predicate":"Slow","fault":"Deadline","detail":"5 ms","effect":"Ignored"}]}"#;
        assert!(text(|out| write_filtered(&together, out)).trim_end().ends_with(expected));
        let explanation = v1::PodExplanation { pod: "a/b".into(), predicates: vec![], conjunction: Some(together) };
        assert!(text(|out| write_explained(&explanation, out)).trim_end().ends_with(expected));
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
        assert_eq!(text(|out| write_filtered(&answer, out)).trim_end(), expected);
    }
}
