//! Tenants who may create pods and claims: what one of them asks for takes time and memory of the predicates, and nobody else notices.
//!
//! Every object is one that an API server accepts: below 1.5 MB, extended resources with equal limits, constraints with different keys.

use nodesift_tests::http::{ask, get};
use nodesift_tests::sidecar::{Sidecar, run};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::command;

const NODES: usize = 300;

/// Questions about an ordinary pod, after as many about the tenant's.
const QUESTIONS: usize = 12;

fn node(number: usize) -> Value {
    let labels = json!({"kubernetes.io/hostname": format!("n{number}"), "zone": format!("z{}", number % 3)});
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}"), "labels": labels},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"}},
    })
}

/// A pod of a namespace with this spec beside one container.
fn pod(namespace: &str, name: &str, spec: &Value) -> Value {
    let mut whole = json!({"containers": [{"name": "c", "image": "i"}]});
    for (key, value) in spec.as_object().unwrap() {
        whole[key] = value.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}"), "labels": {"app": name}},
        "spec": whole, "status": {"phase": "Pending"},
    })
}

/// `count` required terms of pod anti-affinity, each with a topology key of its own, for all pods of all namespaces.
fn anti_affinity(count: usize, key: impl Fn(usize) -> String) -> Value {
    let term = |number| json!({"labelSelector": {}, "namespaceSelector": {}, "topologyKey": key(number)});
    let terms: Vec<Value> = (0..count).map(term).collect();
    json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
}

/// Pods that take most time or memory of one predicate each.
fn heavy() -> Vec<(&'static str, Value)> {
    let resources: Value = (0..5_000).map(|number| (format!("tenant.example.com/r{number}"), json!("1"))).collect();
    let node_terms: Vec<Value> = (0..6_000)
        .map(|number| json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["z0", "z1", "z2", number.to_string()]}]}))
        .collect();
    let constraints: Vec<Value> = (0..5_000)
        .map(|number| {
            json!({"maxSkew": 1, "topologyKey": format!("tenant.example.com/k{number}"), "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}})
        })
        .collect();
    vec![
        (
            "extended resources",
            json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": resources, "limits": resources}}]}),
        ),
        (
            "node affinity",
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": node_terms}}}}),
        ),
        ("pod anti-affinity", anti_affinity(3_000, |number| format!("tenant.example.com/k{number}"))),
        ("topology spread", json!({"topologySpreadConstraints": constraints})),
    ]
}

/// A sidecar on these nodes and objects, with the default policy or another.
fn serving(objects: &[Value], policy: Option<&str>) -> (Sidecar, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let nodes = (0..NODES).map(node);
    let items: Vec<Value> = nodes.chain(objects.iter().cloned()).collect();
    let cluster = folder.path().join("cluster.json");
    std::fs::write(&cluster, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    let mut arguments = vec!["--cluster".to_owned(), cluster.to_str().unwrap().to_owned()];
    if let Some(policy) = policy {
        let path = folder.path().join("policy.yaml");
        std::fs::write(&path, policy).unwrap();
        arguments.extend(["--policy".to_owned(), path.to_str().unwrap().to_owned()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    (Sidecar::start(command(), &arguments), folder)
}

fn asked(sidecar: &Sidecar, pod: &Value) -> Value {
    ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"object": pod}]}))["pods"][0].clone()
}

fn feasible(answer: &Value) -> usize {
    answer["feasible"].as_array().map_or(0, Vec::len)
}

/// That a pod with nothing special, which nobody has asked about, fits every node, and no breaker is open.
fn ordinary_pods_fit(sidecar: &Sidecar, first: usize, of: &str) {
    for number in first..first + QUESTIONS {
        let answer = asked(sidecar, &pod("honest", &format!("p{number}"), &json!({})));
        assert_eq!(answer["faults"].as_array().map_or(0, Vec::len), 0, "{of}: {answer}");
        assert_eq!(feasible(&answer), NODES, "{of}: {answer}");
    }
    let policy = get(&sidecar.unix(), "/v1/policy").unwrap().json();
    for predicate in policy["predicates"].as_array().unwrap() {
        assert_eq!(predicate["breaker"]["opened"], 0, "{of}: {predicate}");
    }
}

#[test]
fn a_pending_pod_that_takes_all_time_or_memory_of_a_predicate_is_set_aside_alone() {
    let (sidecar, _folder) = serving(&[], None);
    for (number, (of, spec)) in heavy().iter().enumerate() {
        // Of different templates and namespaces: their number changes nothing.
        for turn in 0..QUESTIONS {
            let answer = asked(&sidecar, &pod(&format!("tenant-{}", turn % 3), &format!("heavy-{turn}"), spec));
            for fault in answer["faults"].as_array().into_iter().flatten() {
                let kind = fault["fault"].as_str().unwrap();
                assert!(matches!(kind, "Deadline" | "Memory" | "OutputTooLarge" | "Quarantined"), "{of}: {answer}");
                assert_eq!(feasible(&answer), 0, "{of}: {answer}");
            }
        }
        ordinary_pods_fit(&sidecar, number * QUESTIONS, of);
    }
}

#[test]
fn whoever_is_set_aside_is_named_with_the_fault_and_the_time_of_the_next_call() {
    // A policy whose only predicate has little time: so it fails for sure.
    let policy = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                  schedulerNames: [default-scheduler]\n  predicates:\n  \
                  - {name: NodeResourcesFit, limits: {memory: 2Mi}}\n";
    let (sidecar, _folder) = serving(&[], Some(policy));
    let spec = &heavy()[0].1;
    let first = asked(&sidecar, &pod("tenant", "heavy", spec));
    assert_eq!(first["faults"][0]["fault"], "Memory", "{first}");
    // The second is not called.
    let second = asked(&sidecar, &pod("tenant", "heavy", spec));
    assert_eq!(second["faults"][0]["fault"], "Quarantined", "{second}");
    let detail = second["faults"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("tenant/heavy") && detail.contains("Memory"), "{detail}");
    let policy = get(&sidecar.unix(), "/v1/policy").unwrap().json();
    let aside = &policy["predicates"][0]["breaker"]["setAside"][0];
    assert_eq!(aside["pod"], "tenant/heavy", "{policy}");
    assert!(aside["retryInMs"].as_u64().unwrap() <= 60_000, "{policy}");
    let state = get(&sidecar.unix(), "/v1/state").unwrap().json();
    let aside = &state["setAside"][0];
    assert_eq!((&aside["predicate"], &aside["pod"]), (&json!("NodeResourcesFit"), &json!("tenant/heavy")), "{state}");
    assert!(aside["lastFault"].as_str().unwrap().contains("Memory") && aside["retryInMs"].is_u64(), "{aside}");
    assert!(aside["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{aside}");
    let metrics = get(&sidecar.unix(), "/metrics").unwrap().body;
    assert!(metrics.contains("nodesift_predicate_set_aside{predicate=\"NodeResourcesFit\"} 1"), "{metrics}");
    assert!(!metrics.contains("tenant"), "names in metrics");
    ordinary_pods_fit(&sidecar, 0, "set aside");
}

#[test]
fn a_pending_pod_keeps_no_policy_from_becoming_active_and_is_named_as_a_remark() {
    let heavy = pod("tenant", "heavy", &heavy()[0].1);
    let (_sidecar, folder) = serving(&[heavy, pod("honest", "p", &json!({}))], None);
    let policy = folder.path().join("policy.yaml");
    // With so little memory the pod fails for sure, also under a policy of a custom module.
    let document = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                    schedulerNames: [default-scheduler]\n  predicates:\n  - {name: NodeResourcesFit, limits: {memory: 2Mi}}\n";
    std::fs::write(&policy, document).unwrap();
    let mut check = command();
    check.args(["policy", "check"]).arg(&policy).arg("--cluster").arg(folder.path().join("cluster.json"));
    let output = run(&mut check);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("but predicate NodeResourcesFit: pod tenant/heavy: Memory"), "{}", output.stdout);
}

#[test]
fn a_running_pod_with_thousands_of_anti_affinity_terms_changes_what_it_matches_and_nothing_else() {
    for count in [1_000, 3_000] {
        let mut running =
            pod("tenant", "heavy", &anti_affinity(count, |number| format!("tenant.example.com/k{number}")));
        running["spec"]["nodeName"] = json!("n0");
        running["status"]["phase"] = json!("Running");
        let (sidecar, _folder) = serving(&[running.clone()], None);
        ordinary_pods_fit(&sidecar, 0, "keys that no node has");
        drop(sidecar);
        // One key that nodes have: all nodes of its domain are out, as kube-scheduler has it.
        let terms = running["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            .as_array_mut();
        terms.unwrap()[count / 2]["topologyKey"] = json!("zone");
        let (sidecar, _folder) = serving(&[running], None);
        for number in 0..QUESTIONS {
            let answer = asked(&sidecar, &pod("honest", &format!("p{number}"), &json!({})));
            assert_eq!(answer["faults"].as_array().map_or(0, Vec::len), 0, "{answer}");
            assert_eq!(feasible(&answer), NODES - NODES / 3, "{answer}");
        }
    }
}

#[test]
fn where_faults_are_ignored_a_tenant_cannot_switch_a_predicate_off_for_others() {
    let policy = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                  schedulerNames: [default-scheduler]\n  predicates:\n  - {name: InterPodAffinity, onError: Ignore}\n";
    let mut guard = pod("honest", "guard", &json!({}));
    guard["spec"]["nodeName"] = json!("n0");
    let (sidecar, _folder) = serving(&[guard], Some(policy));
    // Away from every pod: on no node, since all have one zone of three, and one term each forbids it.
    let forbidden = anti_affinity(1, |_| "zone".to_owned());
    let before = feasible(&asked(&sidecar, &pod("honest", "picky", &forbidden)));
    assert_eq!(before, NODES - NODES / 3);
    for turn in 0..QUESTIONS {
        let heavy = anti_affinity(3_000, |number| format!("tenant.example.com/k{number}"));
        asked(&sidecar, &pod(&format!("tenant-{}", turn % 3), &format!("heavy-{turn}"), &heavy));
        let answer = asked(&sidecar, &pod("honest", &format!("picky-{turn}"), &forbidden));
        assert_eq!(feasible(&answer), before, "{answer}");
    }
}
