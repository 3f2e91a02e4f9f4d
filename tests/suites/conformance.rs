//! Parity with kube-scheduler: for every document in `tests/data` the binary prints, line by line and byte by byte, what
//! kube-scheduler 1.36.2's own plugins gave.
//!
//! Lines of predicates that the default policy does not name yet are left out. The line about all predicates together is
//! compared with kube-scheduler's once the policy names all of them; until then with a slow model that derives it from
//! kube-scheduler's lines about each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nodesift_tests::data::{self, Document};
use nodesift_tests::sidecar::{Output, command, run};
use nodesift_tests::timeout;
use serde::Deserialize;

/// Documents in `tests/data`, and pods in all of them. Both are asserted, so that no case is lost unnoticed.
const DOCUMENTS: usize = 28;
const PODS: usize = 1732;

/// Kube-scheduler's filters that have expected lines.
const FILTERS: usize = 12;

/// The filter that has none: nothing in these documents claims devices, and it has documents of its own.
const WITHOUT_LINES: &str = "DynamicResources";

/// The line of all predicates together.
const TOGETHER: &str = "*";

#[derive(Debug, Deserialize)]
struct Line {
    pod: String,
    predicate: String,
    #[serde(default)]
    failures: Vec<Failure>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    reasons: Vec<String>,
    nodes: Vec<String>,
}

#[test]
fn every_verdict_is_kube_schedulers() {
    let names = policy();
    let documents = data::documents();
    assert_eq!(documents.len(), DOCUMENTS, "documents");

    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for document in &documents {
        let expected = expected_lines(document, &names);
        let explained = explain(document);
        let (others, found): (Vec<&str>, Vec<&str>) =
            explained.stdout.lines().partition(|line| parse(line).predicate == WITHOUT_LINES);
        assert_eq!(others.len() * (FILTERS + 1), found.len(), "document {}", document.name);
        assert!(others.iter().all(|line| parse(line).failures.is_empty()), "document {}", document.name);
        for (at, line) in expected.iter().enumerate() {
            *counts.entry(parse(line).predicate).or_default() += 1;
            if found.get(at).copied() != Some(line.as_str()) {
                let found = found.get(at).copied().unwrap_or("nothing");
                differences.push(format!("document {}:\n  expected {line}\n  found    {found}", document.name));
            }
        }
        if found.len() != expected.len() {
            differences.push(format!("document {}: {} lines, expected {}", document.name, found.len(), expected.len()));
        }
    }

    let shown = differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences, among them\n{shown}", differences.len());
    for name in names.iter().map(String::as_str).chain([TOGETHER]) {
        println!("{name}: {} lines equal", counts.get(name).copied().unwrap_or(0));
        assert_eq!(counts.get(name), Some(&PODS), "lines of {name}");
    }
    println!("{} lines of {} documents equal", counts.values().sum::<usize>(), documents.len());
}

/// The predicates of the default policy that have expected lines, in its order.
fn policy() -> Vec<String> {
    let lines = nodesift_bundle::DEFAULT_POLICY.lines();
    let names: Vec<String> = lines
        .filter_map(|line| line.trim().strip_prefix("- name:"))
        .map(|name| name.trim().to_owned())
        .filter(|name| name != WITHOUT_LINES)
        .collect();
    assert!(names.len() >= 6, "the default policy names {names:?}");
    names
}

fn explain(document: &Document) -> Output {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    command.args(["explain", "-o", "jsonl", "--cluster"]).arg(document.cluster()).arg("--pods").arg(document.pods());
    // On a busy machine a predicate may exceed its deadline; an answer with a fault does not count.
    let in_time = |output: &Output| !output.stdout.contains("\"Deadline\"");
    let output = timeout::until(|| Some(run(&mut command)).filter(in_time)).expect("an answer in time");
    assert_eq!(output.code, Some(0), "document {}: {}", document.name, output.stderr);
    output
}

fn parse(line: &str) -> Line {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The expected lines: kube-scheduler's own, for the predicates of the policy.
fn expected_lines(document: &Document, names: &[String]) -> Vec<String> {
    let nodes = nodes(document);
    let mut expected = Vec::new();
    let mut alone: BTreeMap<String, Line> = BTreeMap::new();
    for text in document.expected().lines() {
        let line = parse(text);
        if line.predicate == TOGETHER {
            let whole = names.len() == FILTERS;
            expected.push(if whole { text.to_owned() } else { together(&line.pod, names, &alone, &nodes) });
            alone.clear();
        } else if names.contains(&line.predicate) {
            expected.push(text.to_owned());
            alone.insert(line.predicate.clone(), line);
        }
    }
    expected
}

/// The names of the cluster's nodes.
fn nodes(document: &Document) -> BTreeSet<String> {
    let cluster: serde_json::Value = serde_json::from_str(&data::read_gzip(&document.cluster())).unwrap();
    let nodes = cluster["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "Node");
    nodes.map(|node| node["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The slow model of the conjunction: per node, the reasons of the first predicate that rejects it.
fn together(pod: &str, names: &[String], alone: &BTreeMap<String, Line>, nodes: &BTreeSet<String>) -> String {
    let reasons_of = |node: &String| {
        let failures = names.iter().flat_map(|name| &alone.get(name).unwrap().failures);
        failures.into_iter().find(|failure| failure.nodes.contains(node)).map(|failure| &failure.reasons)
    };
    let feasible: Vec<&String> = nodes.iter().filter(|node| reasons_of(node).is_none()).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in nodes.iter().filter_map(reasons_of).flatten() {
        *counts.entry(reason).or_default() += 1;
    }
    let mut line = format!(
        r#"{{"pod":{},"predicate":"*","feasible":{}"#,
        serde_json::to_string(pod).unwrap(),
        serde_json::to_string(&feasible).unwrap()
    );
    if feasible.is_empty() {
        let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        parts.sort();
        let message = match nodes.len() {
            0 => "no nodes available to schedule pods".to_owned(),
            all => format!("0/{all} nodes are available: {}.", parts.join(", ")),
        };
        line += &format!(r#","message":{}"#, serde_json::to_string(&message).unwrap());
    }
    line + "}"
}
