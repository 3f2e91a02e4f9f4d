//! DynamicResources compared with kube-scheduler: for every document in `tests/data/claims` the verdicts, the texts, and the
//! devices in the order picked are those of the plugin of kube-scheduler 1.36.2.
//!
//! Documents that have `documented` files are about known faults of that version: there the answers are compared with those of
//! the same plugin with its faults corrected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use nodesift_fixtures::{Cluster, json};
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::kubernetes::Switches;
use nodesift_reference::quantity::Quantity;
use nodesift_reference::{Outcome, filters};
use serde_json::Value;

/// Counts of the data, asserted so that no case is lost unnoticed.
const CLEAN: Counts = Counts { documents: 43, pods: 1030, verdicts: 12_532, allocations: 3_691, devices: 7_436 };
const CORRECTED: Counts = Counts { documents: 20, pods: 52, verdicts: 604, allocations: 124, devices: 228 };

/// 2026-01-01. Timeouts in the documents lie before 2021 or after 2199.
const NOW_S: i64 = 1_767_225_600;

/// Behind these, the words are cel-go's own.
const CEL_ERRORS: [&str; 2] = ["CEL compile error: ", "CEL runtime error: "];

/// By node: code and reasons.
type Verdicts = BTreeMap<String, (String, Vec<String>)>;

#[derive(Debug, Default, PartialEq)]
struct Counts {
    documents: usize,
    pods: usize,
    verdicts: usize,
    allocations: usize,
    devices: usize,
}

#[test]
fn every_verdict_and_device_is_kube_schedulers() {
    let (mut clean, mut corrected) = (Counts::default(), Counts::default());
    let mut differences = Vec::new();
    for name in documents() {
        let is_corrected = folder().join(format!("{name}.documented.jsonl.gz")).exists();
        let counts = if is_corrected { &mut corrected } else { &mut clean };
        compare(&name, if is_corrected { "documented" } else { "expected" }, counts, &mut differences);
    }
    println!("clean: {clean:?}\ncorrected: {corrected:?}");
    for difference in differences.iter().take(20) {
        println!("{difference}");
    }
    assert!(differences.is_empty(), "{} differences", differences.len());
    assert_eq!((clean, corrected), (CLEAN, CORRECTED));
}

fn compare(name: &str, kind: &str, counts: &mut Counts, differences: &mut Vec<String>) {
    let read = |kind: &str| read_gzip(&folder().join(format!("{name}.{kind}.gz")));
    let items = |text: &str| json::list(&serde_json::from_str::<Value>(text).unwrap(), "items").to_vec();
    let cluster = Cluster::from_list(&serde_json::from_str(&read("cluster.json").unwrap()).unwrap());
    let in_flight = read("inflight.json").map(|text| items(&text)).unwrap_or_default();
    let pods = items(&read("pods.json").unwrap());
    let lines = |kind: &str| -> Vec<Value> {
        read(&format!("{kind}.jsonl"))
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let expected = lines(kind);
    let allocations = lines(if kind == "expected" { "allocations" } else { "documented-allocations" });
    // These vectors are of 1.36.2, which checks the limit of devices by claim.
    let switches = Switches::documented().with("DeviceLimitByRequest", false);
    let world = World { cluster: &cluster, in_flight: &in_flight, now_s: NOW_S, switches: &switches };
    let selectors = Selectors::default();
    counts.documents += 1;
    for pod in &pods {
        let key = json::key(pod);
        let found = judge(&world, &selectors, pod);
        counts.pods += 1;
        counts.verdicts += cluster.nodes().count();
        // The other filter that reads extended resources.
        let fit = filters::named(&["NodeResourcesFit"]);
        let fit = (fit[0].judge)(&cluster, pod, &switches);
        for (predicate, outcome) in [("DynamicResources", &found.outcome), ("NodeResourcesFit", &fit)] {
            let of_both = |line: &&Value| json::text(line, "pod") == key && json::text(line, "predicate") == predicate;
            let expected = verdicts_of(expected.iter().find(of_both).unwrap());
            let outcome = verdicts_found(outcome);
            for node in cluster.nodes().map(json::name) {
                let (expected, found) = (expected.get(node), outcome.get(node));
                if expected != found {
                    let of = format!("{name} {key} {predicate} on {node}");
                    differences.push(format!("{of}:\n  expected {expected:?}\n  found    {found:?}"));
                }
            }
        }
        let expected: BTreeMap<String, Vec<Value>> = allocations
            .iter()
            .filter(|line| json::text(line, "pod") == key)
            .map(|line| (json::text(line, "node").to_owned(), json::list(line, "claims").to_vec()))
            .collect();
        for node in cluster.nodes().map(json::name) {
            let expected = expected.get(node).map(|claims| claims.iter().map(comparable).collect::<Vec<_>>());
            let found = found.allocations.get(node).map(|claims| claims.iter().map(comparable).collect::<Vec<_>>());
            if expected != found {
                let text = |claims: Option<Vec<Value>>| claims.map(|claims| Value::from(claims).to_string());
                differences.push(format!(
                    "{name} {key} allocated on {node}:\n  expected {:?}\n  found    {:?}",
                    text(expected),
                    text(found)
                ));
                continue;
            }
            counts.allocations += usize::from(expected.is_some());
            counts.devices += expected.iter().flatten().map(|claim| json::list(claim, "devices").len()).sum::<usize>();
        }
    }
}

fn verdicts_of(line: &Value) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for failure in json::list(line, "failures") {
        let reasons: Vec<String> = json::texts(failure, "reasons").iter().map(|reason| up_to_cel(reason)).collect();
        for node in json::texts(failure, "nodes") {
            verdicts.insert(node, (json::text(failure, "code").to_owned(), reasons.clone()));
        }
    }
    verdicts
}

fn verdicts_found(outcome: &Outcome) -> Verdicts {
    let failures = outcome.failures.iter().map(|(node, failure)| {
        let reasons = failure.reasons.iter().map(|reason| up_to_cel(reason)).collect();
        (node.clone(), (failure.code.name().to_owned(), reasons))
    });
    failures.collect()
}

/// A text without the words of cel-go.
fn up_to_cel(reason: &str) -> String {
    let end = CEL_ERRORS.iter().filter_map(|error| Some(reason.find(error)? + error.len())).min();
    reason.get(..end.unwrap_or(reason.len())).unwrap().to_owned()
}

/// An allocation with its amounts in one form.
fn comparable(claim: &Value) -> Value {
    let mut claim = claim.clone();
    for device in claim["devices"].as_array_mut().into_iter().flatten() {
        for amount in
            device.get_mut("consumedCapacity").and_then(Value::as_object_mut).into_iter().flatten().map(|(_, a)| a)
        {
            *amount = Quantity::read(amount).unwrap().decimal().into();
        }
    }
    claim
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/claims")
}

fn documents() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("tests/data/claims can be listed");
    let mut names: Vec<String> = files
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cluster.json.gz")?.to_owned()))
        .collect();
    names.sort();
    names
}

fn read_gzip(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(text)
}
