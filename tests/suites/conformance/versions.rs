//! Parity with four versions of kube-scheduler as released: 1.34.10, 1.35.6, 1.36.5 and 1.37.2, on the same documents in
//! `tests/data/versions`. How many answers of each plugin are equal is printed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nodesift_tests::data::read_gzip;
use nodesift_tests::sidecar::{Output, command, run};
use nodesift_tests::timeout;
use serde_json::Value;

/// The versions, each with its number of default filters, and of answers about all plugins together: 1.34 has none in two documents with an
/// invalid pool, over which it stumbles in the order of a map of Go.
const VERSIONS: [(&str, usize, usize); 4] =
    [("1.34", 13, 602), ("1.35", 13, PODS), ("1.36", 14, PODS), ("1.37", 14, PODS)];

/// Documents of each version, and pods in all of them. Both are asserted, so that no case is lost unnoticed.
const DOCUMENTS: usize = 12;
const PODS: usize = 641;

/// Behind these words the text is that of cel-go.
const CEL: [&str; 2] = ["CEL runtime error:", "CEL compile error:"];

/// Equal answers and all answers, by plugin; of all plugins together the nodes that fit and the message.
type Counts = BTreeMap<String, (usize, usize)>;

#[test]
fn every_verdict_of_each_version_is_its_kube_schedulers() {
    let mut differences = Vec::new();
    for (version, filters, together) in VERSIONS {
        let mut counts = Counts::new();
        for document in 1..=DOCUMENTS {
            let found = lines(&explain(version, document).stdout);
            let expected = lines(&read_gzip(&file(version, document, "expected.jsonl.gz")));
            for (key, expected) in &expected {
                let found = found.get(key).unwrap_or(&Value::Null);
                for (part, is_equal) in compare(expected, found) {
                    let (equal, all) = counts.entry(format!("{}{part}", key.1)).or_default();
                    *equal += usize::from(is_equal);
                    *all += 1;
                    if !is_equal {
                        let about = format!("{version}, document {document:03}, {}{part}", key.1);
                        differences.push(format!("{about}\n  expected {expected}\n  found    {found}"));
                    }
                }
            }
        }
        println!("{version}:");
        counts.iter().for_each(|(name, (equal, all))| println!("  {name}: {equal} of {all}"));
        let plugins = counts.keys().filter(|name| !name.starts_with('*')).count();
        assert_eq!(plugins, filters, "plugins of {version}");
        let all = |name: &str| counts.get(name).map(|(_, all)| *all);
        assert_eq!((all("NodeAffinity"), all("* feasible")), (Some(PODS), Some(together)), "pods of {version}");
    }
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences, among them\n{shown}", differences.len());
}

/// Lines by pod and plugin.
fn lines(text: &str) -> BTreeMap<(String, String), Value> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        ((text("pod"), text("predicate")), line.clone())
    };
    text.lines().map(line).collect()
}

/// The parts of a line, each with whether it is the same. No message is expected where a node fits, or an error ends the cycle.
fn compare(expected: &Value, found: &Value) -> Vec<(&'static str, bool)> {
    match expected.get("failures") {
        Some(failures) => vec![("", found.get("failures").map(comparable) == Some(comparable(failures)))],
        None => {
            let message = (" message", expected.get("message") == found.get("message"));
            vec![(" feasible", expected["feasible"] == found["feasible"]), message]
        }
    }
}

/// Code and reasons by node, without the texts of cel-go: nodes that differ in these alone are in one group or in several.
fn comparable(failures: &Value) -> BTreeMap<&str, (&str, Vec<&str>)> {
    let mut by_node = BTreeMap::new();
    for failure in failures.as_array().into_iter().flatten() {
        let reasons = failure["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let what = (failure["code"].as_str().unwrap_or_default(), reasons.map(without_cel).collect::<Vec<_>>());
        for node in failure["nodes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            by_node.insert(node, what.clone());
        }
    }
    by_node
}

fn without_cel(text: &str) -> &str {
    let ends = CEL.iter().filter_map(|mark| Some(text.find(mark)? + mark.len()));
    ends.min().and_then(|end| text.get(..end)).unwrap_or(text)
}

fn file(version: &str, document: usize, kind: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/versions").join(version);
    folder.join(format!("{document:03}.{kind}"))
}

fn explain(version: &str, document: usize) -> Output {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    command.args(["explain", "-o", "jsonl", "--kubernetes", version, "--cluster"]);
    command.arg(file(version, document, "cluster.json.gz")).arg("--pods").arg(file(version, document, "pods.json.gz"));
    // As in `main`.
    let in_time = |output: &Output| !output.stdout.contains("\"Deadline\"");
    let output = timeout::until(|| Some(run(&mut command)).filter(in_time)).expect("an answer in time");
    assert_eq!(output.code, Some(0), "{version}, document {document:03}: {}", output.stderr);
    output
}
