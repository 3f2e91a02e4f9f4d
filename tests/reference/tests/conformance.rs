//! The reference implementation compared with kube-scheduler: for every document in `tests/data` its lines equal, byte by byte,
//! those of kube-scheduler 1.36.2's own plugins.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use nodesift_fixtures::{Cluster, json};
use nodesift_reference::{FILTERS, Filter, explain};
use serde_json::Value;

/// Documents in `tests/data`, and pods in all of them. Both are asserted, so that no case is lost unnoticed.
const DOCUMENTS: usize = 28;
const PODS: usize = 1732;

/// Filters of which the documents say nothing. They were made before node-declared features existed; those about claims on devices are
/// compared by `claims.rs`.
const NOT_IN_DOCUMENTS: [&str; 2] = ["DynamicResources", "NodeDeclaredFeatures"];

#[test]
fn every_line_is_kube_schedulers() {
    let filters: Vec<Filter> = FILTERS.into_iter().filter(|filter| !NOT_IN_DOCUMENTS.contains(&filter.name)).collect();
    let names = documents();
    assert_eq!(names.len(), DOCUMENTS, "documents");
    let mut equal: BTreeMap<String, usize> = BTreeMap::new();
    let mut different: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in &names {
        let read = |kind: &str| read_gzip(&folder().join(format!("{name}.{kind}")));
        let cluster = Cluster::from_list(&serde_json::from_str(&read("cluster.json.gz")).unwrap());
        let pods: Value = serde_json::from_str(&read("pods.json.gz")).unwrap();
        let found = json::list(&pods, "items").iter().flat_map(|pod| explain(&cluster, pod, &filters).lines());
        let found: Vec<String> = found.collect();
        let expected = read("expected.jsonl.gz");
        let expected: Vec<&str> = expected.lines().collect();
        assert_eq!(found.len(), expected.len(), "lines of document {name}");
        for (expected, found) in expected.iter().zip(&found) {
            let predicate = serde_json::from_str::<Value>(expected).unwrap()["predicate"].as_str().unwrap().to_owned();
            if *expected == comparable(found, expected) {
                *equal.entry(predicate).or_default() += 1;
            } else {
                let difference = format!("document {name}:\n  expected {expected}\n  found    {found}");
                different.entry(predicate).or_default().push(difference);
            }
        }
    }
    for (predicate, differences) in &different {
        println!(
            "{predicate}: {} differences, among them\n{}",
            differences.len(),
            differences[..differences.len().min(5)].join("\n")
        );
    }
    println!("equal: {equal:?}");
    assert!(different.is_empty(), "lines differ");
    for predicate in filters.iter().map(|filter| filter.name).chain(["*"]) {
        assert_eq!(equal.get(predicate), Some(&PODS), "lines of {predicate}");
    }
}

/// A line as these documents have it: they give no message where PreFilter rejects the pod, or names nodes.
fn comparable(found: &str, expected: &str) -> String {
    match found.split_once(r#","message":"#) {
        Some((line, _)) if !expected.contains(r#","message":"#) => format!("{line}}}"),
        _ => found.to_owned(),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data")
}

fn documents() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("tests/data can be listed");
    let mut names: Vec<String> = files
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cluster.json.gz")?.to_owned()))
        .collect();
    names.sort();
    names
}

fn read_gzip(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}
