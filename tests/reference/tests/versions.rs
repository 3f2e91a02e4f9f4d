//! The reference implementation compared with kube-scheduler 1.34.10, 1.35.6, 1.36.5 and 1.37.2: for every document in
//! `tests/data/versions` the verdicts of each filter, the nodes that fit, and the message, by the switches of that version.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use nodesift_fixtures::{Cluster, json};
use nodesift_reference::{Switches, explain_under, filters};
use serde_json::Value;

/// Versions that have documents.
const VERSIONS: [&str; 4] = ["1.34", "1.35", "1.36", "1.37"];

/// Documents of each version, and pods in all of them. Both are asserted, so that no case is lost unnoticed.
const DOCUMENTS: usize = 12;
const PODS: usize = 641;

/// The plugin that another test compares.
const BY_ANOTHER_TEST: &str = "DynamicResources";

/// Texts behind these words are those of cel-go, which nobody else has.
const CEL: [&str; 2] = ["CEL runtime error:", "CEL compile error:"];

#[test]
fn every_verdict_of_each_version_is_kube_schedulers() {
    let mut differences = Vec::new();
    for version in VERSIONS {
        let mut equal: BTreeMap<String, usize> = BTreeMap::new();
        let (filters, switches) = (filters::default_of(version), Switches::from_version(version));
        let mut pods = 0;
        for document in 1..=DOCUMENTS {
            let read = |kind: &str| read_gzip(&folder(version).join(format!("{document:03}.{kind}")));
            let cluster = Cluster::from_list(&serde_json::from_str(&read("cluster.json.gz")).unwrap());
            let list: Value = serde_json::from_str(&read("pods.json.gz")).unwrap();
            let mut found: BTreeMap<(String, String), Value> = BTreeMap::new();
            for pod in json::list(&list, "items") {
                pods += 1;
                for line in explain_under(&cluster, pod, &filters, &switches).lines() {
                    let line: Value = serde_json::from_str(&line).unwrap();
                    found.insert((text(&line["pod"]), text(&line["predicate"])), line);
                }
            }
            for line in read("expected.jsonl.gz").lines() {
                let expected: Value = serde_json::from_str(line).unwrap();
                let (pod, predicate) = (text(&expected["pod"]), text(&expected["predicate"]));
                if predicate == BY_ANOTHER_TEST {
                    continue;
                }
                let found = found.get(&(pod, predicate.clone())).unwrap_or(&Value::Null);
                for (part, is_equal) in compare(&expected, found) {
                    let name = format!("{predicate}{part}");
                    if is_equal {
                        *equal.entry(name).or_default() += 1;
                    } else {
                        differences.push(format!("{version}, document {document:03}, {name}\n  {line}\n  {found}"));
                    }
                }
            }
        }
        assert_eq!(pods, PODS, "pods of {version}");
        println!("{version}: {equal:?}");
    }
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences, among them\n{shown}", differences.len());
}

/// The parts of a line, each with whether it is the same. A message is compared where there is one.
fn compare(expected: &Value, found: &Value) -> Vec<(&'static str, bool)> {
    if expected.get("failures").is_some() {
        return vec![("", comparable(&expected["failures"]) == comparable(&found["failures"]))];
    }
    let mut parts = vec![(" feasible", expected["feasible"] == found["feasible"])];
    if expected.get("message").is_some() {
        parts.push((" message", expected["message"] == found["message"]));
    } else {
        parts.push((" no message", found.get("message").is_none()));
    }
    parts
}

/// Failures with texts of cel-go cut.
fn comparable(failures: &Value) -> Value {
    match failures {
        Value::String(text) => {
            let ends = CEL.iter().filter_map(|mark| Some(text.find(mark)? + mark.len()));
            Value::from(ends.min().map_or(text.as_str(), |end| &text[..end]))
        }
        Value::Array(values) => values.iter().map(comparable).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), comparable(value))).collect(),
        other => other.clone(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/versions").join(version)
}

fn read_gzip(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}
