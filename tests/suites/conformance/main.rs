//! Parity with kube-scheduler: for every document in `tests/data` the binary prints, line by line and byte by byte, what
//! kube-scheduler 1.36.2's own plugins gave, with its known bugs mended. `versions` compares four versions as released,
//! `scores` the scores of its Score plugins.
//!
//! These documents say nothing of DynamicResources and NodeDeclaredFeatures, and give no message where PreFilter rejects a pod or names
//! nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod scores;
mod versions;

use std::collections::BTreeMap;
use std::path::Path;

use nodesift_reference::kubernetes::documented_policy;
use nodesift_tests::data::{self, Document};
use nodesift_tests::sidecar::{Output, command, run};
use nodesift_tests::timeout;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Documents in `tests/data`, and pods in all of them. Both are asserted, so that no case is lost unnoticed.
const DOCUMENTS: usize = 28;
const PODS: usize = 1732;

/// Kube-scheduler's filters that have expected lines.
const FILTERS: usize = 12;

/// The filter that has none: nothing in these documents claims devices, which have documents of their own.
const WITHOUT_LINES: [&str; 1] = ["DynamicResources"];

/// The line of all predicates together.
const TOGETHER: &str = "*";

#[derive(Debug, Deserialize)]
struct Line {
    predicate: String,
    #[serde(default)]
    failures: Vec<IgnoredAny>,
}

#[test]
fn every_verdict_is_kube_schedulers() {
    let policy = policy();
    let documents = data::documents();
    assert_eq!(documents.len(), DOCUMENTS, "documents");

    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for document in &documents {
        let expected = document.expected();
        let explained = explain(document, policy.path());
        let (others, found): (Vec<&str>, Vec<&str>) =
            explained.stdout.lines().partition(|line| WITHOUT_LINES.contains(&parse(line).predicate.as_str()));
        let lines_per_pod = found.len() / (FILTERS + 1);
        assert_eq!(others.len(), WITHOUT_LINES.len() * lines_per_pod, "document {}", document.name);
        assert!(others.iter().all(|line| parse(line).failures.is_empty()), "document {}", document.name);
        for (at, line) in expected.lines().enumerate() {
            *counts.entry(parse(line).predicate).or_default() += 1;
            let found = found.get(at).map_or_else(|| "nothing".to_owned(), |found| comparable(found, line));
            if found != line {
                differences.push(format!("document {}:\n  expected {line}\n  found    {found}", document.name));
            }
        }
        let expected = expected.lines().count();
        if found.len() != expected {
            differences.push(format!("document {}: {} lines, expected {expected}", document.name, found.len()));
        }
    }

    let shown = differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences, among them\n{shown}", differences.len());
    assert_eq!(counts.len(), FILTERS + 1, "{counts:?}");
    for (name, count) in &counts {
        println!("{name}: {count} lines equal");
        assert_eq!(*count, PODS, "lines of {name}");
    }
    println!("{} lines of {} documents equal", counts.values().sum::<usize>(), documents.len());
}

/// A line as these documents have it: without a message where they give none.
fn comparable(found: &str, expected: &str) -> String {
    match found.split_once(r#","message":"#) {
        Some((line, _)) if parse(found).predicate == TOGETHER && !expected.contains(r#","message":"#) => {
            format!("{line}}}")
        }
        _ => found.to_owned(),
    }
}

/// The default policy of 1.36 with every known bug mended.
fn policy() -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    // The verdicts were recorded without NodeDeclaredFeatures, a default of 1.36 that its predecessors have not.
    let predicates =
        nodesift_bundle::default_predicates().fold(String::new(), |lines, name| lines + "  - name: " + name + "\n");
    std::fs::write(file.path(), format!("{}  predicates:\n{predicates}", documented_policy())).unwrap();
    file
}

fn explain(document: &Document, policy: &Path) -> Output {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    command.args(["explain", "-o", "jsonl", "--cluster"]).arg(document.cluster()).arg("--pods").arg(document.pods());
    command.arg("--policy").arg(policy);
    // On a busy machine a predicate may exceed its deadline; an answer with a fault does not count.
    let in_time = |output: &Output| !output.stdout.contains("\"Deadline\"");
    let output = timeout::until(|| Some(run(&mut command)).filter(in_time)).expect("an answer in time");
    assert_eq!(output.code, Some(0), "document {}: {}", document.name, output.stderr);
    output
}

fn parse(line: &str) -> Line {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}
