//! Parity with kube-scheduler about claims on devices: for every document in `tests/data/claims` the binary gives the verdicts and
//! texts of kube-scheduler 1.36.2's plugins DynamicResources and NodeResourcesFit.
//!
//! Documents about known faults of that version are compared with the same plugin with its faults corrected. What pods get on nodes
//! that they fit is in `allocations`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod allocations;

use std::collections::BTreeMap;
use std::path::Path;

use nodesift_reference::kubernetes::documented_policy;
use nodesift_tests::data::{self, Document};
use nodesift_tests::sidecar::{Output, command, run};
use nodesift_tests::timeout;
use serde_json::{Value, json};

/// Counts of the data, asserted so that no case is lost unnoticed. Verdicts are those that reject.
const CLEAN: Counts = Counts { documents: 43, pods: 1030, rejections: 8509 };
const CORRECTED: Counts = Counts { documents: 20, pods: 52, rejections: 500 };

/// The filters that read extended resources, in kube-scheduler's order.
const PREDICATES: [&str; 2] = ["NodeResourcesFit", "DynamicResources"];

/// Behind these, the words are cel-go's own.
const CEL_ERRORS: [&str; 2] = ["CEL compile error: ", "CEL runtime error: "];

/// In both texts about the limit of devices.
const DEVICE_LIMIT: &str = "exceeds the claim limit of";

/// By pod and predicate, by node: code and reasons.
type Verdicts = BTreeMap<(String, String), BTreeMap<String, (String, Vec<String>)>>;

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    documents: usize,
    pods: usize,
    rejections: usize,
}

#[test]
fn every_verdict_about_claims_is_kube_schedulers() {
    let (mut clean, mut corrected) = (Counts::default(), Counts::default());
    let mut differences = Vec::new();
    for document in data::claims() {
        let documented = document.documented();
        let counts = if documented.is_some() { &mut corrected } else { &mut clean };
        let expected = verdicts(&documented.unwrap_or_else(|| document.expected()));
        let found = verdicts(&explain(&document).stdout);
        counts.documents += 1;
        counts.pods += expected.len() / PREDICATES.len();
        for (of, expected) in &expected {
            counts.rejections += expected.len();
            let found = found.get(of);
            if found != Some(expected) {
                differences.push(format!("{} {of:?}:\n  expected {expected:?}\n  found    {found:?}", document.name));
            }
        }
    }
    println!("clean: {clean:?}\ncorrected: {corrected:?}");
    differences.iter().take(20).for_each(|difference| println!("{difference}"));
    assert!(differences.is_empty(), "{} differences", differences.len());
    assert_eq!((clean, corrected), (CLEAN, CORRECTED));
}

/// A pod that waits for a GPU: one is too small, and a claim of another pod has the other one.
#[test]
fn an_explanation_says_what_there_is_of_devices_and_who_has_them() {
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}})
    };
    let slice = |node: &str, memory: &str| {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": format!("{node}-gpus")},
            "spec": {"driver": "gpu.example.com", "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0", "capacity": {"memory": {"value": memory}}}]}})
    };
    let claim = |name: &str, selectors: Value, status: Value| {
        let exactly = json!({"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1,
            "selectors": selectors});
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}, "status": status})
    };
    let large = "device.capacity['gpu.example.com'].memory.compareTo(quantity('20Gi')) >= 0";
    let result = json!({"request": "gpu", "driver": "gpu.example.com", "pool": "gpu-1", "device": "gpu-0"});
    let items = json!([
        node("gpu-1"),
        node("gpu-2"),
        node("cpu-1"),
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.example.com"},
            "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}},
        slice("gpu-1", "40Gi"),
        slice("gpu-2", "16Gi"),
        claim("taken", json!([]), json!({"allocation": {"devices": {"results": [result]}}})),
        claim("train", json!([{"cel": {"expression": large}}]), json!({})),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0", "namespace": "default", "uid": "p"},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "train"}]}},
    ]);
    let expected = "
default/train-0  no node of 3 fits
0/3 nodes are available: 3 cannot allocate all claims.
 predicate         nodes rejected  code                          reasons
───────────────────────────────────────────────────────────────────────────────────────────
 DynamicResources               3  UnschedulableAndUnresolvable  cannot allocate all claims
 claim          request  class            wanted  of class  selected  tolerated  free  nodes with enough  held by
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 default/train  gpu      gpu.example.com       1         2         1          1     0                  0  default/taken
";
    let table = explained(&items);
    assert!(table.ends_with(expected), "{table}");
}

/// Enough devices are free, but not on one NUMA node.
#[test]
fn an_explanation_says_what_devices_must_have_in_common() {
    let devices: Vec<Value> =
        (0..4).map(|at| json!({"name": format!("gpu-{at}"), "attributes": {"numa": {"int": at / 2}}})).collect();
    let exactly = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 3});
    let items = json!([
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "gpus"},
            "spec": {"driver": "gpu.example.com", "nodeName": "gpu-1", "devices": devices,
                "pool": {"name": "gpu-1", "generation": 1, "resourceSliceCount": 1}}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": "train", "namespace": "default", "uid": "train"},
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}],
                "constraints": [{"requests": ["gpu"], "matchAttribute": "gpu.example.com/numa"}]}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0", "namespace": "default", "uid": "p"},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "train"}]}},
    ]);
    let expected = "
 claim          request  class  wanted  of class  selected  tolerated  free  nodes with enough  held by
───────────────────────────────────────────────────────────────────────────────────────────────────────
 default/train  gpu      gpu         3         4         4          4     4                  0
default/train: all devices of gpu must have the same gpu.example.com/numa
";
    let table = explained(&items);
    assert!(table.ends_with(expected), "{table}");
}

/// The table that explains the pending pods of a cluster.
fn explained(items: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let cluster = folder.path().join("cluster.json");
    std::fs::write(&cluster, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    command.args(["explain", "-o", "table", "--predicates", "DynamicResources", "--cluster"]).arg(&cluster);
    let in_time = |output: &Output| !output.stdout.contains("Deadline");
    timeout::until(|| Some(run(&mut command)).filter(in_time)).expect("an answer in time").stdout
}

/// The policy of the reference, with some of its predicates.
fn documented(predicates: &[&str]) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let named: String = predicates.iter().map(|name| format!("  - name: {name}\n")).collect();
    std::fs::write(file.path(), format!("{}  predicates:\n{named}", documented_policy())).unwrap();
    file
}

fn explain(document: &Document) -> Output {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    let policy = documented(&PREDICATES);
    command.args(["explain", "-o", "jsonl", "--policy"]).arg(policy.path()).arg("--cluster");
    command.arg(document.cluster()).arg("--pods").arg(document.pods());
    if let Some(in_flight) = document.in_flight() {
        command.arg("--inflight").arg(in_flight);
    }
    // On a busy machine a predicate may exceed its deadline; an answer with a fault does not count.
    let in_time = |output: &Output| !output.stdout.contains("\"Deadline\"");
    let output = timeout::until(|| Some(run(&mut command)).filter(in_time)).expect("an answer in time");
    assert_eq!(output.code, Some(0), "document {}: {}", document.name, output.stderr);
    output
}

fn verdicts(lines: &str) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let predicate = text(&line["predicate"]);
        if !PREDICATES.contains(&predicate.as_str()) {
            continue;
        }
        let of_pod = verdicts.entry((text(&line["pod"]), predicate)).or_default();
        for failure in line["failures"].as_array().unwrap() {
            let reasons: Vec<String> =
                failure["reasons"].as_array().unwrap().iter().map(|reason| up_to_cel(&text(reason))).collect();
            for node in failure["nodes"].as_array().unwrap() {
                of_pod.insert(text(node), (text(&failure["code"]), reasons.clone()));
            }
        }
    }
    verdicts
}

/// A text without the words of cel-go, and without those about the limit of devices: they are other ones since 1.36.5.
fn up_to_cel(reason: &str) -> String {
    if reason.contains(DEVICE_LIMIT) {
        return DEVICE_LIMIT.to_owned();
    }
    let end = CEL_ERRORS.iter().filter_map(|error| Some(reason.find(error)? + error.len())).min();
    reason[..end.unwrap_or(reason.len())].to_owned()
}
