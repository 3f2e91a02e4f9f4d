//! For every document in `tests/data/versions` and each version of Kubernetes the verdicts of DynamicResources, the texts, and the
//! devices in the order picked are those of that version's plugin, as released. The reference and the predicate are both compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nodesift_fixtures::{Cluster, json};
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::kubernetes::Switches;
use serde_json::Value;

use crate::documents::{read_gzip, verdicts_of};
use crate::found::{Found, Verdicts, ask, differences, judged};
use crate::project::Nodes;

/// Versions that have documents, and how many pods are compared, so that no case is lost unnoticed. The allocator of 1.34 answers at random
/// where a pool is invalid.
const PODS: [(&str, usize); 4] = [("1.34", 602), ("1.35", 641), ("1.36", 641), ("1.37", 641)];

/// 2026-01-01. Timeouts in the documents lie before 2021 or after 2199.
const NOW_S: i64 = 1_767_225_600;

#[test]
fn verdicts_and_devices_are_those_of_each_version() {
    let mut pods = Vec::new();
    let mut all = Vec::new();
    for (version, _) in PODS {
        let (mut compared, mut wrong, mut wrong_reference) = (0, 0, 0);
        for document in documents(version) {
            for (of_pod, of_reference) in compare(version, &document) {
                compared += 1;
                wrong += usize::from(!of_pod.is_empty());
                wrong_reference += usize::from(!of_reference.is_empty());
                // One of each pod is enough to find it.
                all.extend(of_reference.into_iter().take(1).map(|difference| format!("reference: {difference}")));
                all.extend(of_pod.into_iter().take(1));
            }
        }
        println!("{version}: {compared} pods, {wrong} with differences, {wrong_reference} of the reference");
        pods.push((version, compared));
    }
    all.iter().take(60).for_each(|difference| println!("{difference}"));
    assert!(all.is_empty(), "{} differences", all.len());
    assert_eq!(pods, PODS);
}

/// The differences of the predicate and of the reference for each pod of a document that has an answer.
fn compare(version: &str, document: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let read = |kind: &str| read_gzip(&folder(version).join(format!("{document}.{kind}.gz"))).unwrap();
    let cluster = Cluster::from_list(&serde_json::from_str(&read("cluster.json")).unwrap());
    let pods: Value = serde_json::from_str(&read("pods.json")).unwrap();
    let lines =
        |kind: &str| -> Vec<Value> { read(kind).lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let (expected, allocations) = (lines("expected.jsonl"), lines("allocations.jsonl"));
    let switches = Switches::from_version(version);
    let world = World { cluster: &cluster, in_flight: &[], now_s: NOW_S, switches: &switches };
    let selectors = Selectors::default();
    let nodes = Nodes::new(&world, &selectors);
    let mut all = Vec::new();
    for pod in json::list(&pods, "items") {
        let key = json::key(pod);
        let is_ours =
            |line: &&Value| json::text(line, "pod") == key && json::text(line, "predicate") == "DynamicResources";
        let Some(line) = expected.iter().find(is_ours) else { continue };
        let verdicts: Verdicts = verdicts_of(line);
        let allocations: BTreeMap<String, Vec<Value>> = allocations
            .iter()
            .filter(|line| json::text(line, "pod") == key)
            .map(|line| (json::text(line, "node").to_owned(), json::list(line, "claims").to_vec()))
            .filter(|(_, claims)| !claims.is_empty())
            .collect();
        let of = format!("{version} {document} {key}");
        let of_answers = |answers: Found| differences(&of, &nodes, &without_mappings(answers), &verdicts, &allocations);
        all.push((of_answers(ask(&nodes, pod)), of_answers(judged(judge(&world, &selectors, pod)))));
    }
    all
}

/// These documents do not say which request serves which extended resource.
fn without_mappings(mut answers: Found) -> Found {
    for claim in answers.allocations.values_mut().flatten().filter_map(Value::as_object_mut) {
        claim.remove("mappings");
    }
    answers
}

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/versions").join(version)
}

fn documents(version: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder(version)).expect("the folder can be listed");
    let mut names: Vec<String> = files
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".expected.jsonl.gz")?.to_owned()))
        .collect();
    names.sort();
    names
}
