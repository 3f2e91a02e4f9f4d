//! Another policy accounts otherwise, over a scripted API server: what its component reads is listed first, and drift ends the process.

use nodesift_tests::apiserver::{ApiServer, Verb};
use nodesift_tests::http::get;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, command, policy};

/// See the suite `accounting`.
const COMPONENT: &str = include_str!("../../../host/sandbox/src/accounting/tests/component.wat");

fn accounting(fields: &str) -> String {
    format!("{}  accounting: {{module: {{path: component.wasm}}, {fields}}}\n", policy(&["name: NodeResourcesFit"]))
}

fn pod(name: &str, letter: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": name, "annotations": {"k": letter}},
        "spec": {
            "schedulerName": "default-scheduler", "nodeName": "n", "overhead": {"cpu": "5m"},
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
        },
        "status": {"phase": "Running"},
    })
}

/// The node and its pods, as the state has them.
fn state(reloading: &Reloading) -> Value {
    get(&reloading.sidecar.unix(), "/v1/state").unwrap().json()
}

/// Amount of `cpu` that pods take of the node, and the node's sum `s`.
fn taken(reloading: &Reloading) -> (i64, Option<i64>) {
    let node = state(reloading)["nodes"][0].clone();
    (node["requested"]["cpu"].as_i64().unwrap_or(0), node["sums"]["s"].as_i64())
}

#[test]
fn a_policy_that_accounts_lists_what_it_reads_and_counts_by_it_at_once() {
    let server = ApiServer::start();
    server.change(|store| {
        store.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}));
        store.apply(pod("p", "c"));
        store.apply(pod("q", "a"));
    });
    let folder = Folder::new();
    folder.put("component.wasm", wat::parse_str(COMPONENT).unwrap());
    let plain = policy(&["name: NodeResourcesFit"]);
    folder.put("policy.yaml", &plain);
    let path = folder.path("policy.yaml");
    let mut command = command();
    command.env("NODESIFT_AUDIT_ABORTS", "1");
    let kubeconfig = server.kubeconfig().to_str().unwrap().to_owned();
    let reloading = Reloading::started(folder, &path, command, &["--kubeconfig", &kubeconfig, "--verify-reuse"]);
    assert_eq!(taken(&reloading), (210, None));
    let lists = || server.script(|script| script.count("Pod", Verb::List(1)));
    let before = lists();

    // Keys that are not granted: nothing changes.
    let since = std::time::Instant::now();
    reloading.put(&accounting("annotations: [other]"));
    let (failure, _) = reloading.refuses("keys", since);
    assert!(
        failure["reason"].as_str().unwrap().contains("reads the annotations k, which `annotations` does not list"),
        "{failure}"
    );
    assert_eq!((taken(&reloading), lists()), ((210, None), before));

    let next = accounting("annotations: [k]");
    reloading.put(&next);
    let status = reloading.becomes(&next);
    assert_eq!(status["accounting"]["sums"], json!(["s"]), "{status}");
    assert_eq!(taken(&reloading), (205, Some(4000 + 14)));
    assert!(lists() > before, "annotations were not listed");
    let flags = &state(&reloading)["nodes"][0]["ownPods"][0]["flags"];
    assert_eq!(*flags, json!(["m"]));
    assert_eq!(state(&reloading)["totals"]["sums"], json!({"s": 4014}));

    // One breaks: it keeps its account, and operators are told.
    server.change(|store| store.apply(pod("p", "b")));
    let ready = || get(&reloading.sidecar.unix(), "/readyz").unwrap().body;
    let told = timeout::until(|| ready().contains("the account of Pod default/p is not known: bad").then_some(()));
    told.unwrap_or_else(|| panic!("{}", ready()));
    assert_eq!(taken(&reloading), (205, Some(4014)));
    let broken = state(&reloading)["nodes"][0]["ownPods"][0].clone();
    assert_eq!((&broken["accountError"], &broken["accountIs"]), (&json!("bad"), &json!("last")), "{broken}");

    // The audit finds nothing to repair.
    let runs = || reloading.metric("nodesift_audit_runs_total");
    let before = runs();
    reloading.sidecar.signal("USR1");
    timeout::until(|| (runs() > before).then_some(())).expect("the audit runs");

    // A watermark is of a sum that there is, and a node that is above it says so with the policy.
    let since = std::time::Instant::now();
    reloading.put(&accounting("annotations: [k], watermarks: [{sum: t, of: cpu, above: 2, below: 1}]"));
    let (failure, _) = reloading.refuses("document", since);
    assert!(failure["reason"].as_str().unwrap().contains("`watermarks` lists t"), "{failure}");
    let marked = accounting("annotations: [k], watermarks: [{sum: s, of: cpu, above: 100, below: 50}]");
    reloading.put(&marked);
    let status = reloading.becomes(&marked);
    let mark = json!({"sum": "s", "of": "cpu", "above": 100, "below": 50});
    assert_eq!(status["accounting"]["watermarks"], json!([mark]), "{status}");
    let node = get(&reloading.sidecar.unix(), "/v1/nodes/n").unwrap().json();
    let crossed = node["history"].as_array().unwrap().iter().rfind(|event| event["type"] == "ABOVE");
    let crossed = crossed.unwrap_or_else(|| panic!("{node}"));
    assert_eq!((&crossed["watermark"], &crossed["whole"], &crossed["node"]), (&mark, &json!(4000), &json!("n")));
    assert_eq!(crossed["amount"].as_i64(), taken(&reloading).1, "{crossed}");

    // What no node can advertise is told, and no node crosses it.
    let odd = accounting("annotations: [k], watermarks: [{sum: s, of: cpus, above: 2, below: 1}]");
    reloading.put(&odd);
    let status = reloading.becomes(&odd);
    assert!(status["warnings"].to_string().contains("is a share of cpus, which is no sum"), "{status}");

    // Without a component pods take what the API says.
    reloading.put(&plain);
    reloading.becomes(&plain);
    assert_eq!(taken(&reloading), (210, None));
    let told = timeout::until(|| (!ready().contains("is not known")).then_some(()));
    told.unwrap_or_else(|| panic!("{}", ready()));
}
