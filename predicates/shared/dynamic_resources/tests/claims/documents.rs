//! For every document in `tests/data/claims` the verdicts, the texts, and the devices in the order picked are those of the
//! plugin of kube-scheduler 1.36.2. Documents that have `documented` files are about known faults of that version: there the
//! answers are compared with those of the same plugin with its faults corrected.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use nodesift_dynamic_resources::limits;
use nodesift_fixtures::{Cluster, json};
use nodesift_reference::claims::{Selectors, World};
use nodesift_reference::kubernetes::Switches;
use serde_json::Value;

use crate::found::{Verdicts, ask, differences, up_to_cel};
use crate::project::Nodes;

/// Counts of the data, asserted so that no case is lost unnoticed.
const CLEAN: Counts = Counts { documents: 43, pods: 1030, verdicts: 12_532, allocations: 3_691, devices: 7_436 };
const CORRECTED: Counts = Counts { documents: 20, pods: 52, verdicts: 604, allocations: 124, devices: 228 };

/// 2026-01-01. Timeouts in the documents lie before 2021 or after 2199.
const NOW_S: i64 = 1_767_225_600;

#[derive(Debug, Default, PartialEq)]
struct Counts {
    documents: usize,
    pods: usize,
    verdicts: usize,
    allocations: usize,
    devices: usize,
}

/// Work of the searches for all pods.
#[derive(Debug, Default)]
struct Work {
    /// Per pod that was searched for, the steps on its worst node.
    steps: Vec<u32>,
    searches: u32,
    with_names: usize,
}

#[test]
fn every_verdict_and_device_is_kube_schedulers() {
    let (mut clean, mut corrected, mut work) = (Counts::default(), Counts::default(), Work::default());
    let mut found = Vec::new();
    for name in documents() {
        let is_corrected = folder().join(format!("{name}.documented.jsonl.gz")).exists();
        let counts = if is_corrected { &mut corrected } else { &mut clean };
        found.extend(compare(&name, if is_corrected { "documented" } else { "expected" }, counts, &mut work));
    }
    println!("clean: {clean:?}\ncorrected: {corrected:?}");
    work.steps.sort_unstable();
    let of_hundred = |part: usize| work.steps[(work.steps.len() - 1) * part / 100];
    println!(
        "{} pods searched, {} situations, {} pods with names; steps on a pod's worst: 50 % {}, 90 % {}, 99 % {}, most {}",
        work.steps.len(),
        work.searches,
        work.with_names,
        of_hundred(50),
        of_hundred(90),
        of_hundred(99),
        of_hundred(100),
    );
    found.iter().take(20).for_each(|difference| println!("{difference}"));
    assert!(found.is_empty(), "{} differences", found.len());
    assert_eq!((clean, corrected), (CLEAN, CORRECTED));
    assert!(of_hundred(100) < limits::SEARCH_STEPS / 5, "the limit is far from what these pods need");
}

fn compare(name: &str, kind: &str, counts: &mut Counts, work: &mut Work) -> Vec<String> {
    let read = |kind: &str| read_gzip(&folder().join(format!("{name}.{kind}.gz")));
    let items = |text: &str| json::list(&serde_json::from_str::<Value>(text).unwrap(), "items").to_vec();
    let cluster = Cluster::from_list(&serde_json::from_str(&read("cluster.json").unwrap()).unwrap());
    let in_flight = read("inflight.json").map(|text| items(&text)).unwrap_or_default();
    let lines = |kind: &str| -> Vec<Value> {
        let text = read(&format!("{kind}.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let expected = lines(kind);
    let allocations = lines(if kind == "expected" { "allocations" } else { "documented-allocations" });
    // These vectors are of 1.36.2, which checks the limit of devices by claim.
    let switches = Switches::documented().with("DeviceLimitByRequest", false);
    let world = World { cluster: &cluster, in_flight: &in_flight, now_s: NOW_S, switches: &switches };
    let selectors = Selectors::default();
    let nodes = Nodes::new(&world, &selectors);
    counts.documents += 1;
    let mut all = Vec::new();
    for pod in &items(&read("pods.json").unwrap()) {
        let key = json::key(pod);
        let found = ask(&nodes, pod);
        let is_ours =
            |line: &&Value| json::text(line, "pod") == key && json::text(line, "predicate") == "DynamicResources";
        let verdicts = verdicts_of(expected.iter().find(is_ours).unwrap());
        let allocations: BTreeMap<String, Vec<Value>> = allocations
            .iter()
            .filter(|line| json::text(line, "pod") == key)
            .map(|line| (json::text(line, "node").to_owned(), json::list(line, "claims").to_vec()))
            .collect();
        all.extend(differences(&format!("{name} {key}"), &nodes, &found, &verdicts, &allocations));
        counts.pods += 1;
        counts.verdicts += nodes.nodes.len();
        counts.allocations += found.allocations.len();
        let devices = found.allocations.values().flatten().map(|claim| json::list(claim, "devices").len());
        counts.devices += devices.sum::<usize>();
        work.searches += found.effort.searches;
        work.with_names += usize::from(found.asked_for_names);
        if found.effort.searches > 0 {
            work.steps.push(found.effort.most_steps);
        }
    }
    all
}

pub fn verdicts_of(line: &Value) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for failure in json::list(line, "failures") {
        let reasons: Vec<String> = json::texts(failure, "reasons").iter().map(|reason| up_to_cel(reason)).collect();
        for node in json::texts(failure, "nodes") {
            verdicts.insert(node, (json::text(failure, "code").to_owned(), reasons.clone()));
        }
    }
    verdicts
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/claims")
}

fn documents() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("tests/data/claims can be listed");
    let mut names: Vec<String> = files
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cluster.json.gz")?.to_owned()))
        .collect();
    names.sort();
    names
}

pub fn read_gzip(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(text)
}
