//! A pending pod that a new predicate fails for: the policy becomes active, and whoever operates it is told which pod that is.

use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{sidecar, timeout};
use serde_json::{Value, json};

use crate::quarantine::{TRAP, failing};
use crate::running::{Folder, Reloading, command, policy};

const NODES: usize = 300;

/// A pod with this many extended resources.
fn pod(namespace: &str, name: &str, resources: usize) -> Value {
    let amounts: Value = (0..resources).map(|number| (format!("tenant.example.com/r{number}"), json!("1"))).collect();
    let container = json!({"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")},
        "spec": {"schedulerName": "default-scheduler", "containers": [container]}, "status": {"phase": "Pending"},
    })
}

#[test]
fn a_pending_pod_that_fails_in_the_trial_is_named_in_log_and_status_and_keeps_the_policy_from_nothing() {
    let _beside = beside_others();
    let node = |number: usize| {
        let allocatable = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}")}, "status": {"allocatable": allocatable}})
    };
    // In files, names may be anything.
    let pods = [pod("tenant", "heavy\nERROR forged", 5_000), pod("honest", "p", 0)];
    let items: Vec<Value> = (0..NODES).map(node).chain(pods).collect();
    let folder = Folder::new();
    folder.put("cluster.json", json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    folder.put("policy.yaml", policy(&["name: NodeResourcesFit"]));
    let (path, cluster) = (folder.path("policy.yaml"), folder.path("cluster.json"));
    let reloading = Reloading::started(folder, &path, command(), &["--cluster", cluster.to_str().unwrap()]);
    assert_eq!(reloading.status()["lastReload"], Value::Null);
    // With so little memory the pod fails at any pace.
    reloading.put(&policy(&["{name: NodeResourcesFit, limits: {memory: 2Mi}}"]));
    let is_active = |status: &Value| status["lastReload"]["result"] == "active";
    let status = reloading.when("the policy becomes active", is_active);
    let reload = &status["lastReload"];
    assert_eq!((&reload["trialCut"], reload["remarks"].as_array().map(Vec::len)), (&json!(false), Some(1)), "{status}");
    let remark = &reload["remarks"][0];
    assert_eq!(
        (&remark["predicate"], &remark["pod"]),
        (&json!("NodeResourcesFit"), &json!(r"tenant/heavy\nERROR forged"))
    );
    assert!(remark["fault"].as_str().unwrap().starts_with("Memory: "), "{remark}");
    let seen = || {
        let output = reloading.sidecar.output();
        let is_named = |line: &str| {
            let named = ["WARN", "NodeResourcesFit", r"tenant/heavy\nERROR forged", "Memory: "];
            line.contains("this pod fails in the new policy's trial and is set aside alone")
                && named.iter().all(|part| line.contains(part))
        };
        output.lines().any(is_named).then_some(output)
    };
    let output = timeout::until(seen).unwrap_or_else(|| panic!("{}", reloading.sidecar.output()));
    assert!(!output.lines().any(|line| line.starts_with("ERROR")), "{output}");
    // Names are for those who operate it alone.
    for path in ["/readyz", "/metrics"] {
        assert!(!get(&reloading.sidecar.unix(), path).unwrap().body.contains("heavy"), "{path}");
    }
    let server = format!("unix:{}", reloading.sidecar.socket.display());
    let printed = sidecar::run(command().args(["policy", "status", "--server", &server]));
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let expected = r"NodeResourcesFit failed for pod tenant/heavy\nERROR forged, set aside alone: Memory: ";
    assert!(printed.stdout.contains(expected), "{}", printed.stdout);
}

/// Why a policy is refused names a pod: that is for those who operate it.
#[test]
fn the_listener_for_probes_says_that_a_policy_is_refused_and_not_for_which_pod() {
    let _beside = beside_others();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}});
    let pods = ["one", "two", "three"].map(|namespace| {
        let mut pod = pod(namespace, "of-somebody", 0);
        pod["metadata"]["labels"] = json!({"bad": "yes"});
        pod
    });
    let items: Vec<Value> = [node].into_iter().chain(pods).collect();
    let folder = Folder::new();
    folder.put("cluster.json", json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    folder.put("policy.yaml", policy(&["name: NodeName"]));
    folder.put("own.wasm", failing(TRAP).component());
    let (path, cluster) = (folder.path("policy.yaml"), folder.path("cluster.json"));
    let arguments = ["--cluster", cluster.to_str().unwrap(), "--probe-listen", "127.0.0.1:0"];
    let reloading = Reloading::started(folder, &path, command(), &arguments);
    let since = std::time::Instant::now();
    reloading.put(&policy(&["name: NodeName", "{name: Own, module: {path: own.wasm}}"]));
    let (failure, _) = reloading.refuses("a predicate that fails for every pod", since);
    assert_eq!(failure["step"], "trial", "{failure}");
    assert!(failure["reason"].as_str().unwrap().contains("of-somebody"), "{failure}");
    let output = reloading.sidecar.output();
    let line = output.lines().find(|line| line.ends_with("for probes and metrics alone")).expect("its address is said");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    for endpoint in [Endpoint::Tcp(address.parse().unwrap()), reloading.sidecar.unix()] {
        let ready = get(&endpoint, "/readyz").unwrap();
        assert!(
            ready.body.contains("policy refused at step trial of Own: generation 1 stays active"),
            "{}",
            ready.body
        );
        assert!(!ready.body.contains("of-somebody"), "{}", ready.body);
    }
}
