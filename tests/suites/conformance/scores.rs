//! Parity with kube-scheduler in scores: for every document in `tests/data/scores` the binary gives each pod the raw and normalized scores,
//! the totals and the errors of kube-scheduler 1.36.2's own plugins, by a policy that is imported from the document's own
//! KubeSchedulerConfiguration.

use std::collections::BTreeMap;
use std::path::Path;

use nodesift_policy::{ImportFlags, import};
use nodesift_reference::kubernetes::documented_policy;
use nodesift_tests::data::{self, Document};
use nodesift_tests::sidecar::{command, run};
use nodesift_tests::timeout;
use serde::Deserialize;

/// Counts of the data, asserted so that no case is lost unnoticed.
const DATA: Counts = Counts { documents: 16, pods: 480, errors: 4, pairs: 23_573, scores: 156_650 };

/// Nodes that are asked for: more than any document has.
const ALL: &str = "1000";

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    documents: usize,
    pods: usize,
    errors: usize,
    /// Pods and nodes on which they fit.
    pairs: usize,
    /// Raw scores of a plugin on a node.
    scores: usize,
}

/// A line of the real plugins.
#[derive(Debug, Deserialize)]
struct Expected {
    pod: String,
    feasible: Vec<String>,
    plugins: BTreeMap<String, ExpectedPlugin>,
    total: Vec<i64>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ExpectedPlugin {
    weight: i64,
    skipped: bool,
    #[serde(default)]
    raw: Vec<i64>,
    #[serde(default)]
    normalized: Vec<i64>,
}

/// The line of all predicates of a pod.
#[derive(Debug, Deserialize)]
struct Found {
    pod: String,
    predicate: String,
    #[serde(default)]
    feasible: Vec<String>,
    scores: Option<Scores>,
}

#[derive(Debug, Deserialize)]
struct Scores {
    best: Vec<Node>,
    ties: usize,
    scorers: Vec<Scorer>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    faults: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Node {
    node: String,
    total: i64,
    #[serde(default)]
    each: Vec<Score>,
}

#[derive(Debug, Deserialize)]
struct Score {
    /// None for a node that the scorer leaves out, which the real plugin scores 0.
    raw: Option<i64>,
    normalized: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct Scorer {
    scorer: String,
    weight: i64,
    outcome: String,
}

#[test]
fn every_score_is_kube_schedulers() {
    let mut counts = Counts::default();
    let mut differences = Vec::new();
    for document in &data::score_documents() {
        counts.documents += 1;
        let found = explain(document);
        let lines = document.expected();
        assert_eq!(found.len(), lines.lines().count(), "pods of document {}", document.name);
        for (line, found) in lines.lines().zip(&found) {
            let expected: Expected = serde_json::from_str(line).unwrap();
            let about = format!("document {}, {}", document.name, expected.pod);
            assert_eq!(expected.pod, found.pod, "{about}");
            let of_pod = compare(&expected, found, &mut counts);
            differences.extend(of_pod.into_iter().map(|difference| format!("{about}: {difference}")));
        }
    }
    println!("{counts:?}, {} differences", differences.len());
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences, among them\n{shown}", differences.len());
    assert_eq!(counts, DATA);
}

/// The differences in the answer about one pod.
fn compare(expected: &Expected, found: &Found, counts: &mut Counts) -> Vec<String> {
    if expected.feasible != found.feasible {
        return vec![format!("feasible: expected {:?}\n  found {:?}", expected.feasible, found.feasible)];
    }
    let scores = found.scores.as_ref().expect("scores were asked for");
    counts.pods += 1;
    counts.pairs += expected.feasible.len();
    let mut differences: Vec<String> = scores.faults.iter().map(|fault| format!("fault {fault}")).collect();
    if expected.error.is_some() == scores.error.is_empty() {
        differences.push(format!("error: expected {:?}, found {:?}", expected.error, scores.error));
        return differences;
    }
    if expected.error.is_some() {
        counts.errors += 1;
        return differences;
    }
    let by_name: BTreeMap<&str, &Node> = scores.best.iter().map(|node| (node.node.as_str(), node)).collect();
    let found_totals: Vec<Option<i64>> =
        expected.feasible.iter().map(|node| Some(by_name.get(node.as_str())?.total)).collect();
    if found_totals != expected.total.iter().copied().map(Some).collect::<Vec<_>>() || scores.ties != 0 {
        differences.push(format!("totals: expected {:?}\n  found {found_totals:?}", expected.total));
    }
    for (name, plugin) in &expected.plugins {
        let place = scores.scorers.iter().position(|scorer| scorer.scorer == *name);
        let Some((place, scorer)) = place.and_then(|place| Some((place, scores.scorers.get(place)?))) else {
            // A plugin that never scores in this version.
            if !plugin.skipped {
                differences.push(format!("{name} is missing"));
            }
            continue;
        };
        let outcome = if plugin.skipped { "Skipped" } else { "Scored" };
        if scorer.outcome != outcome || scorer.weight != plugin.weight {
            differences.push(format!("{name}: expected {outcome} by {}, found {scorer:?}", plugin.weight));
            continue;
        }
        let each = expected.feasible.iter().map(|node| by_name.get(node.as_str())?.each.get(place));
        let found: Vec<(i64, Option<i64>)> =
            each.flatten().map(|score| (score.raw.unwrap_or(0), score.normalized)).collect();
        let wanted: Vec<(i64, Option<i64>)> =
            plugin.raw.iter().copied().zip(plugin.normalized.iter().copied().map(Some)).collect();
        if plugin.skipped {
            continue;
        }
        counts.scores += wanted.len();
        if found != wanted {
            differences.push(format!("{name}: expected {wanted:?}\n  found {found:?}"));
        }
    }
    differences
}

/// The line of all predicates of each pod of a document, in the order of the pods.
fn explain(document: &Document) -> Vec<Found> {
    let policy = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    std::fs::write(policy.path(), policy_of(document)).unwrap();
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    command.args(["explain", "-o", "jsonl", "--scores", ALL, "--cluster"]).arg(document.cluster());
    command.arg("--pods").arg(document.pods()).arg("--policy").arg(policy.path());
    // On a busy machine a component may exceed its deadline; an answer with a fault does not count.
    let in_time = |output: &nodesift_tests::sidecar::Output| !output.stdout.contains("\"Deadline\"");
    let output = timeout::until(|| Some(run(&mut command)).filter(in_time)).expect("an answer in time");
    assert_eq!(output.code, Some(0), "document {}: {}", document.name, output.stderr);
    let found = output.stdout.lines().map(|line| {
        serde_json::from_str::<Found>(line)
            .unwrap_or_else(|error| panic!("document {}: {error}: {line}", document.name))
    });
    found.filter(|found| found.predicate == "*").collect()
}

/// The default policy of 1.36 with every known bug mended, or the document's own configuration under the same.
fn policy_of(document: &Document) -> String {
    let Some(configuration) = document.configuration() else { return documented_policy() };
    let version = "1.36".parse().expect("a version");
    let flags = ImportFlags { version: Some(version), ..ImportFlags::default() };
    let imported = import(&configuration, &flags).unwrap_or_else(|problems| panic!("{}: {problems:?}", document.name));
    let documented = documented_policy();
    let (_, quirks) = documented.split_once("  quirks:\n").expect("the default policy mends quirks");
    imported.document.replacen("spec:\n", &format!("spec:\n  quirks:\n{quirks}"), 1)
}
