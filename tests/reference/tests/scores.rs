//! The reference's scores compared with kube-scheduler: for every document in `tests/data/scores` the nodes that fit, the raw and the
//! normalized score of each plugin on each of them, and the totals are those of kube-scheduler 1.36.2's own plugins.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use nodesift_fixtures::{Cluster, json};
use nodesift_reference::scores::{self, PluginScores, Profile, World};
use nodesift_reference::{Switches, filters};
use serde_json::Value;

/// Counts of the data, asserted so that no case is lost unnoticed.
const DATA: Counts = Counts { documents: 16, pods: 480, errors: 4, pairs: 23_573, skips: 587, scores: 156_650 };

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    documents: usize,
    pods: usize,
    /// Pods whose cycle an error ends.
    errors: usize,
    /// Pods and nodes on which they fit.
    pairs: usize,
    /// Plugins that skip a pod, and raw scores.
    skips: usize,
    scores: usize,
}

#[test]
fn every_score_is_kube_schedulers() {
    let mut counts = Counts::default();
    let mut differences = Vec::new();
    for name in documents() {
        compare(&name, &mut counts, &mut differences);
    }
    println!("{counts:?}, {} differences", differences.len());
    differences.iter().take(20).for_each(|difference| println!("{difference}"));
    assert!(differences.is_empty(), "{} differences", differences.len());
    assert_eq!(counts, DATA);
}

fn compare(name: &str, counts: &mut Counts, differences: &mut Vec<String>) {
    let file = |kind: &str| folder().join(format!("{name}.{kind}.gz"));
    let read = |kind: &str| -> Value { serde_json::from_str(&read_gzip(&file(kind))).unwrap() };
    let list = read("cluster.json");
    let cluster = Cluster::from_list(&list);
    let nodes = json::list(&list, "items").iter().filter(|object| json::text(object, "kind") == "Node");
    let order: Vec<String> = nodes.map(|node| json::name(node).to_owned()).collect();
    let profile = Profile::default_of("1.36");
    let profile = match file("profile.json").exists() {
        true => profile.configured(&read("profile.json")),
        false => profile,
    };
    let switches = Switches::documented();
    let world = World { cluster: &cluster, order: &order, switches: &switches, profile: &profile };
    let filters = filters::default_of("1.36");
    counts.documents += 1;
    let pods = read("pods.json");
    let expected = read_gzip(&file("expected.jsonl"));
    assert_eq!(json::list(&pods, "items").len(), expected.lines().count(), "pods of document {name}");
    for (pod, line) in json::list(&pods, "items").iter().zip(expected.lines()) {
        let expected: Value = serde_json::from_str(line).unwrap();
        let about = format!("document {name}, {}", json::key(pod));
        assert_eq!(json::key(pod), json::text(&expected, "pod"), "{about}");
        let fitting = scores::feasible(&world, pod, &filters);
        if json::texts(&expected, "feasible") != fitting {
            differences.push(format!("{about}: expected {} feasible, found {fitting:?}", expected["feasible"]));
            continue;
        }
        counts.pods += 1;
        counts.pairs += fitting.len();
        let found = scores::score(&world, pod, &fitting);
        let found = match (found, json::is_set(&expected, "error")) {
            (Ok(found), false) => found,
            (Err(_), true) => {
                counts.errors += 1;
                continue;
            }
            // Nothing is scored where no node is feasible.
            (Err(_), false) if fitting.is_empty() => continue,
            (found, _) => {
                differences.push(format!("{about}: expected error {}, found {found:?}", expected["error"]));
                continue;
            }
        };
        if fitting.is_empty() {
            assert_eq!(expected["plugins"], serde_json::json!({}), "{about}");
            continue;
        }
        let plugins = expected["plugins"].as_object().unwrap();
        for (plugin, expected) in plugins {
            let found = found.plugins.iter().find(|found| found.name == plugin);
            let expected = expected.to_string();
            // A plugin that the reference does not have skips every pod.
            let found = found.map_or_else(|| without_scores(1), |found| written(found, counts));
            if serde_json::from_str::<Value>(&expected).unwrap() != found {
                differences.push(format!("{about}, {plugin}:\n  expected {expected}\n  found    {found}"));
            }
        }
        let unexpected = found.plugins.iter().find(|found| !plugins.contains_key(found.name));
        differences.extend(unexpected.map(|found| format!("{about}: {} scores", found.name)));
        if expected["total"] != Value::from(found.totals.clone()) {
            differences.push(format!("{about}:\n  expected {}\n  found    {:?}", expected["total"], found.totals));
        }
    }
}

/// The scores of a plugin as the documents write them.
fn written(found: &PluginScores, counts: &mut Counts) -> Value {
    let Some(column) = &found.column else {
        counts.skips += 1;
        return without_scores(found.weight);
    };
    counts.scores += column.raw.len();
    let raw: Vec<i64> = column.raw.iter().map(|raw| raw.unwrap_or(0)).collect();
    serde_json::json!({"weight": found.weight, "skipped": false, "raw": raw, "normalized": column.normalized})
}

fn without_scores(weight: i64) -> Value {
    serde_json::json!({"weight": weight, "skipped": true})
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/scores")
}

fn documents() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("tests/data/scores can be listed");
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
