//! Tenants who may create pods and claims: what one of them asks for takes time and memory of the predicates, and nobody else notices.
//!
//! Every object is one that an API server accepts: below 1.5 MB, extended resources with equal limits, constraints with different keys.

use nodesift_tests::http::{ask, get};
use nodesift_tests::sidecar::{Sidecar, run};
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::command;

pub(crate) const NODES: usize = 300;

/// Questions about an ordinary pod, after as many about the tenant's.
pub(crate) const QUESTIONS: usize = 12;

fn node(number: usize) -> Value {
    let labels = json!({"kubernetes.io/hostname": format!("n{number}"), "zone": format!("z{}", number % 3)});
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{number}"), "labels": labels},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"}},
    })
}

/// A pod of a namespace with this spec beside one container.
pub(crate) fn pod(namespace: &str, name: &str, spec: &Value) -> Value {
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

/// A pod that asks for thousands of resources.
pub(crate) fn heavy_resources() -> Value {
    let resources: Value = (0..5_000).map(|number| (format!("tenant.example.com/r{number}"), json!("1"))).collect();
    json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": resources, "limits": resources}}]})
}

/// Pods that take most time or memory of one predicate each.
pub(crate) fn heavy() -> Vec<(&'static str, Value)> {
    let node_terms: Vec<Value> = (0..6_000)
        .map(|number| json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["z0", "z1", "z2", number.to_string()]}]}))
        .collect();
    let constraints: Vec<Value> = (0..5_000)
        .map(|number| {
            json!({"maxSkew": 1, "topologyKey": format!("tenant.example.com/k{number}"), "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}})
        })
        .collect();
    vec![
        ("extended resources", heavy_resources()),
        (
            "node affinity",
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": node_terms}}}}),
        ),
        ("pod anti-affinity", anti_affinity(3_000, |number| format!("tenant.example.com/k{number}"))),
        ("topology spread", json!({"topologySpreadConstraints": constraints})),
    ]
}

/// A sidecar on these nodes and objects, with the default policy or another.
pub(crate) fn serving(objects: &[Value], policy: Option<&str>) -> (Sidecar, TempDir) {
    serving_with(objects, policy, &[])
}

/// Starts a sidecar like [`serving`], with more arguments.
fn serving_with(objects: &[Value], policy: Option<&str>, more: &[&str]) -> (Sidecar, TempDir) {
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
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    (Sidecar::start(command(), &arguments), folder)
}

pub(crate) fn asked(sidecar: &Sidecar, pod: &Value) -> Value {
    ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"object": pod}]}))["pods"][0].clone()
}

pub(crate) fn feasible(answer: &Value) -> usize {
    answer["feasible"].as_array().map_or(0, Vec::len)
}

/// That a pod with nothing special, which nobody has asked about, fits every node, and no breaker is open.
pub(crate) fn ordinary_pods_fit(sidecar: &Sidecar, first: usize, of: &str) {
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
        let mut failed = None;
        // Of different templates and namespaces: their number changes nothing. Whether they fail depends on the pace of the machine; in
        // `tenants_that_fail` they do for sure.
        for turn in 0..QUESTIONS {
            let heavy = pod(&format!("tenant-{}", turn % 3), &format!("heavy-{turn}"), spec);
            let answer = asked(&sidecar, &heavy);
            if answer["faults"].as_array().is_some_and(|faults| !faults.is_empty()) {
                failed = Some(heavy);
            }
            for fault in answer["faults"].as_array().into_iter().flatten() {
                let kind = fault["fault"].as_str().unwrap();
                assert!(matches!(kind, "Deadline" | "Memory" | "OutputTooLarge" | "Quarantined"), "{of}: {answer}");
                assert_eq!(feasible(&answer), 0, "{of}: {answer}");
            }
        }
        if let Some(heavy) = failed {
            is_set_aside_or_answered(&sidecar, &heavy, of);
        }
        ordinary_pods_fit(&sidecar, number * QUESTIONS, of);
    }
}

/// That a pod that a predicate has failed for is not called about for a while, unless a call that had more time or memory has answered, or
/// its namespace is throttled meanwhile. On a machine on which a question takes longer than the while, the next one is longer.
fn is_set_aside_or_answered(sidecar: &Sidecar, pod: &Value, of: &str) {
    let seen = timeout::until(|| {
        let answer = asked(sidecar, pod);
        let faults: Vec<&Value> = answer["faults"].as_array().into_iter().flatten().collect();
        let is_throttled = |fault: &Value| {
            fault["detail"].as_str().is_some_and(|detail| detail.contains("the time of an ordinary pod only"))
        };
        let is_called_no_more = |fault: &Value| fault["fault"] == "Quarantined" || is_throttled(fault);
        (faults.is_empty() || faults.into_iter().any(is_called_no_more)).then_some(())
    });
    assert!(seen.is_some(), "{of}: it is called about again and again");
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
    // With so little memory the pod fails for sure.
    let document = |limits: &str| {
        format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {{name: test}}\nspec:\n  \
             schedulerNames: [default-scheduler]\n  predicates:\n  - {{name: NodeResourcesFit{limits}}}\n"
        )
    };
    let heavy = pod("tenant", "heavy", &heavy()[0].1);
    let (sidecar, folder) = serving(&[heavy, pod("honest", "p", &json!({}))], Some(document("").as_str()));
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, document(", limits: {memory: 2Mi}")).unwrap();
    let is_over = || {
        let status = get(&sidecar.unix(), "/v1/policy").unwrap().json();
        Some(status).filter(|status| status["lastReload"].is_object())
    };
    let status = timeout::until(is_over).expect("a reload");
    assert_eq!((&status["lastReload"]["result"], &status["generation"]), (&json!("active"), &json!("2")), "{status}");
    let remark = &status["lastReload"]["remarks"][0];
    assert_eq!(
        (&remark["predicate"], &remark["pod"]),
        (&json!("NodeResourcesFit"), &json!("tenant/heavy")),
        "{status}"
    );
    // A check says the same without a sidecar.
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
    // NodeResourcesFit has so little memory that it fails for sure for a pod that asks for thousands of resources.
    let policy = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  \
                  schedulerNames: [default-scheduler]\n  predicates:\n  - {name: InterPodAffinity, onError: Ignore}\n  \
                  - {name: NodeResourcesFit, onError: Ignore, limits: {memory: 2Mi}}\n";
    let mut guard = pod("honest", "guard", &json!({}));
    guard["spec"]["nodeName"] = json!("n0");
    let (sidecar, _folder) = serving(&[guard], Some(policy));
    // Away from every pod: on no node, since all have one zone of three, and one term each forbids it.
    let forbidden = anti_affinity(1, |_| "zone".to_owned());
    let before = feasible(&asked(&sidecar, &pod("honest", "picky", &forbidden)));
    assert_eq!(before, NODES - NODES / 3);
    // More than any node has.
    let requests = json!({"cpu": "17"});
    let huge =
        json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}]});
    for turn in 0..QUESTIONS {
        // Whether this one fails depends on the pace of the machine, and the next one does for sure.
        let heavy = anti_affinity(3_000, |number| format!("tenant.example.com/k{number}"));
        asked(&sidecar, &pod(&format!("tenant-{}", turn % 3), &format!("heavy-{turn}"), &heavy));
        let answer =
            asked(&sidecar, &pod(&format!("tenant-{}", turn % 3), &format!("wide-{turn}"), &heavy_resources()));
        let fault = &answer["faults"][0];
        assert_eq!(
            (&fault["predicate"], &fault["effect"]),
            (&json!("NodeResourcesFit"), &json!("Ignored")),
            "{answer}"
        );
        assert_eq!(feasible(&answer), NODES, "{answer}");
        let answer = asked(&sidecar, &pod("honest", &format!("huge-{turn}"), &huge));
        assert_eq!((answer["faults"].as_array().map_or(0, Vec::len), feasible(&answer)), (0, 0), "{answer}");
        let answer = asked(&sidecar, &pod("honest", &format!("picky-{turn}"), &forbidden));
        assert_eq!(feasible(&answer), before, "{answer}");
    }
}

#[test]
fn pods_whose_claims_ask_more_than_one_query_may_open_no_breaker() {
    const CLAIMS: usize = 17;
    let device_class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "acc", "uid": "acc"}, "spec": {}});
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n0", "uid": "n0"},
        "spec": {"driver": "d.example.com", "nodeName": "n0", "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
                 "devices": [{"name": "d0"}, {"name": "d1"}]},
    });
    let mut objects = vec![device_class, slice];
    for (namespace, claim) in (0..2).flat_map(|namespace| (0..CLAIMS + 4).map(move |claim| (namespace, claim))) {
        let alternatives = |request: usize| -> Vec<Value> {
            let selector = |number: usize| json!([{"cel": {"expression": format!("device.driver != 'x' || {claim}+{request}+{number} < 0")}}]);
            (0..8)
                .map(|number| json!({"name": format!("a{number}"), "deviceClassName": "acc", "allocationMode": "ExactCount", "count": 1, "selectors": selector(number)}))
                .collect()
        };
        let requests: Vec<Value> = (0..32)
            .map(|number| json!({"name": format!("r{number}"), "firstAvailable": alternatives(number)}))
            .collect();
        objects.push(json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": format!("c{claim}"), "namespace": format!("tenant-{namespace}"), "uid": format!("{namespace}-{claim}")},
            "spec": {"devices": {"requests": requests}},
        }));
    }
    let (sidecar, _folder) = serving(&objects, None);
    for turn in 0..8 {
        let claims = (0..CLAIMS).map(|claim| json!({"name": format!("c{claim}"), "resourceClaimName": format!("c{}", (turn / 2 + claim) % (CLAIMS + 4))}));
        // They make the pod large, so that it has time for all of its claims.
        let tolerations: Vec<Value> =
            (0..11_000).map(|number| json!({"key": format!("k{turn}-{number}"), "operator": "Equal", "value": "v".repeat(20), "effect": "NoSchedule"})).collect();
        let spec = json!({"resourceClaims": claims.collect::<Vec<_>>(), "tolerations": tolerations});
        let answer = asked(&sidecar, &pod(&format!("tenant-{}", turn % 2), &format!("p{turn}"), &spec));
        assert_eq!(feasible(&answer), 0, "{answer}");
    }
    ordinary_pods_fit(&sidecar, 0, "claims");
}

#[test]
fn in_a_cluster_with_local_volumes_pods_with_claims_are_answered() {
    const VOLUMES: usize = 5 * NODES;
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
    let volume = |number: usize| {
        let hostname =
            json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": [format!("n{}", number % NODES)]}]);
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("v{number}")},
            "spec": {"local": {"path": "/d"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "capacity": {"storage": "10Gi"},
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": hostname}]}}},
            "status": {"phase": "Available"}})
    };
    let claim = |number: usize| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": format!("c{number}"), "namespace": "honest", "uid": format!("c{number}")},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}})
    };
    let objects: Vec<Value> = [class].into_iter().chain((0..VOLUMES).map(volume)).chain((0..6).map(claim)).collect();
    let (sidecar, _folder) = serving(&objects, None);
    // Five volumes of a node serve five claims and no sixth.
    for claims in 1..=6 {
        let volumes: Vec<Value> = (0..claims).map(|number| json!({"name": format!("v{number}"), "persistentVolumeClaim": {"claimName": format!("c{number}")}})).collect();
        let answer = asked(&sidecar, &pod("honest", &format!("with-{claims}"), &json!({"volumes": volumes})));
        assert_eq!(answer["faults"].as_array().map_or(0, Vec::len), 0, "{claims}: {answer}");
        assert_eq!(feasible(&answer), if claims <= 5 { NODES } else { 0 }, "{claims}: {answer}");
    }
}

#[test]
fn claims_whose_expressions_take_seconds_together_are_set_aside_with_their_pod() {
    let costly = |number: usize| {
        let list: Vec<String> = (0..90).map(|item| item.to_string()).collect();
        let list = list.join(",");
        format!("[{list}].all(a, [{list}].all(b, [{list}].all(c, a + b + c >= {number} - {number})))")
    };
    let device_class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "acc", "uid": "acc"}, "spec": {}});
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n0", "uid": "n0"},
        "spec": {"driver": "d.example.com", "nodeName": "n0", "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "d0"}]},
    });
    let claim = |claim: usize| {
        let exactly = |number: usize| json!({"deviceClassName": "acc", "allocationMode": "ExactCount", "count": 1, "selectors": [{"cel": {"expression": costly(32 * claim + number)}}]});
        let requests: Vec<Value> =
            (0..32).map(|number| json!({"name": format!("r{number}"), "exactly": exactly(number)})).collect();
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": format!("c{claim}"), "namespace": "tenant", "uid": format!("c{claim}")}, "spec": {"devices": {"requests": requests}}})
    };
    let objects: Vec<Value> = [device_class, slice].into_iter().chain((0..16).map(claim)).collect();
    let (sidecar, _folder) = serving(&objects, None);
    let claims: Vec<Value> =
        (0..16).map(|claim| json!({"name": format!("c{claim}"), "resourceClaimName": format!("c{claim}")})).collect();
    let heavy = pod("tenant", "heavy", &json!({"resourceClaims": claims}));
    let (mut kinds, mut turn) = (Vec::new(), 0);
    // A question may end before its call does. What was found is kept, so that the claims are answered in the end.
    while kinds.iter().all(|kind| *kind != "Quarantined") && turn < 60 {
        let request = json!({"pods": [{"object": heavy}]});
        let answer = nodesift_tests::http::post(&sidecar.unix(), "/v1/filter", request.to_string()).unwrap().json();
        let fault = answer["pods"][0]["faults"][0]["fault"].as_str().unwrap_or("none").to_owned();
        kinds.push(fault);
        turn += 1;
    }
    println!("{kinds:?}");
    assert!(kinds.iter().any(|kind| kind == "Quarantined"), "{kinds:?}");
    ordinary_pods_fit(&sidecar, 0, "expressions");
}

/// An object of dynamic resources in the namespace `tenant`.
fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": kind, "spec": spec,
        "metadata": {"name": name, "namespace": "tenant", "uid": format!("{kind}-{name}")}})
}

/// Spec of a ResourceSlice with one device on the first node.
fn slice() -> Value {
    json!({"driver": "d.example.com", "nodeName": "n0",
        "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "d0"}]})
}

#[test]
fn an_expression_that_takes_most_steps_that_cel_allows_is_answered_as_cel_says() {
    // Three loops in each other: with 42 numbers within CEL's million steps, with 50 beyond it.
    let costly = |numbers: usize, least: usize| {
        let list: Vec<String> = (0..numbers).map(|number| number.to_string()).collect();
        let list = list.join(",");
        format!("[{list}].all(a, [{list}].all(b, [{list}].all(c, a + b + c >= {least})))")
    };
    let claim = |expressions: &[String]| {
        let selectors: Vec<Value> = expressions.iter().map(|text| json!({"cel": {"expression": text}})).collect();
        let exactly =
            json!({"deviceClassName": "acc", "allocationMode": "ExactCount", "count": 1, "selectors": selectors});
        json!({"devices": {"requests": [{"name": "r", "exactly": exactly}]}})
    };
    let objects = [
        object("DeviceClass", "acc", &json!({})),
        object("ResourceSlice", "n0", &slice()),
        object("ResourceClaim", "all", &claim(&[costly(42, 0)])),
        object("ResourceClaim", "none", &claim(&[costly(42, 1)])),
        object("ResourceClaim", "beyond", &claim(&[costly(50, 0)])),
    ];
    let (sidecar, _folder) = serving(&objects, None);
    let with_claim =
        |claim: &str| pod("tenant", claim, &json!({"resourceClaims": [{"name": "c", "resourceClaimName": claim}]}));
    for (claim, fitting, said) in [("all", 1, ""), ("none", 0, ""), ("beyond", 0, "actual cost limit exceeded")] {
        let answer = asked(&sidecar, &with_claim(claim));
        assert_eq!(answer["faults"].as_array().map_or(0, Vec::len), 0, "{claim}: {answer}");
        assert_eq!(feasible(&answer), fitting, "{claim}: {answer}");
        assert!(answer.to_string().contains(said), "{claim}: {answer}");
    }
}

#[test]
fn a_namespace_whose_pods_take_all_time_again_and_again_keeps_nobody_waiting_but_them() {
    const HEAVY: usize = 16;
    let costly = |number: usize| {
        let list: Vec<String> = (0..90).map(|item| item.to_string()).collect();
        let list = list.join(",");
        format!("[{list}].all(a, [{list}].all(b, [{list}].all(c, a + b + c >= {number} - {number})))")
    };
    let request = |number: usize, expression: &str| {
        let exactly = json!({"deviceClassName": "acc", "allocationMode": "ExactCount", "count": 1,
            "selectors": [{"cel": {"expression": expression}}]});
        json!({"name": format!("r{number}"), "exactly": exactly})
    };
    let heavy = |claim: usize| {
        let requests: Vec<Value> = (0..32).map(|number| request(number, &costly(32 * claim + number))).collect();
        object("ResourceClaim", &format!("c{claim}"), &json!({"devices": {"requests": requests}}))
    };
    let plain =
        object("ResourceClaim", "plain", &json!({"devices": {"requests": [request(0, "device.driver != 'x'")]}}));
    let head = [object("DeviceClass", "acc", &json!({})), object("ResourceSlice", "n0", &slice()), plain];
    let objects: Vec<Value> = head.into_iter().chain((0..HEAVY).map(heavy)).collect();
    // However busy the machine is, a call ends before its request does.
    let (sidecar, _folder) = serving_with(&objects, None, &["--request-timeout", "60s"]);
    let with_claim = |name: &str, claim: &str| {
        pod("tenant", name, &json!({"resourceClaims": [{"name": "c", "resourceClaimName": claim}]}))
    };
    let plain_is_answered = |name: &str| {
        let answer = asked(&sidecar, &with_claim(name, "plain"));
        assert_eq!((answer["faults"].as_array().map_or(0, Vec::len), feasible(&answer)), (0, 1), "{answer}");
    };
    plain_is_answered("before");
    // Each is of a template of its own, so none of them was set aside before.
    let mut details = Vec::new();
    for claim in 0..HEAVY {
        let answer = asked(&sidecar, &with_claim(&format!("heavy-{claim}"), &format!("c{claim}")));
        assert_eq!(feasible(&answer), 0, "{answer}");
        details.extend(answer["faults"].as_array().into_iter().flatten().map(|fault| fault["detail"].to_string()));
    }
    // On a machine on which the sidecar hardly gets a processor, the namespace pays while it is asked about.
    let throttled = details.iter().filter(|detail| detail.contains("the time of an ordinary pod only")).count();
    println!("{throttled} of {HEAVY} throttled: {details:#?}");
    assert_eq!(details.len(), HEAVY, "each has a fault of its own");
    // So how many of them were is not certain, but whatever an answer says is in the log, too.
    let is_logged = || sidecar.output().contains("namespace throttled").then_some(());
    assert!(throttled == 0 || timeout::until(is_logged).is_some(), "{}", sidecar.output());
    // Who is throttled is named to those who may read; probes get a number. On such a machine it may have paid by now.
    let state = get(&sidecar.unix(), "/v1/state").unwrap().json();
    let listed = state["throttled"].as_array().unwrap();
    println!("listed: {listed:?}");
    assert!(listed.len() <= 1, "{listed:?}");
    assert!(listed.iter().all(|one| one["namespace"] == "tenant" && one["debtMs"].as_u64() > Some(0)), "{listed:?}");
    assert!(listed.is_empty() || timeout::until(is_logged).is_some(), "{}", sidecar.output());
    let metrics = get(&sidecar.unix(), "/metrics").unwrap().body;
    assert!(
        ["0", "1"].iter().any(|count| metrics.contains(&format!("nodesift_throttled_namespaces {count}\n"))),
        "{metrics}"
    );
    // Its ordinary pods are answered, with claims and without.
    plain_is_answered("after");
    let answer = asked(&sidecar, &pod("tenant", "ordinary", &json!({})));
    assert_eq!((answer["faults"].as_array().map_or(0, Vec::len), feasible(&answer)), (0, NODES), "{answer}");
    ordinary_pods_fit(&sidecar, 0, "throttled");
}
