//! Allocations of claims: `Assume` with `allocate` gives on every node the devices that kube-scheduler's allocator picks there, in its
//! order, and holds them for as long as the pod is assumed.

use std::path::Path;
use std::time::Duration;

use nodesift_object::Quantity;
use nodesift_tests::data::{self, Document, read_gzip};
use nodesift_tests::http::{get, post};
use nodesift_tests::sidecar::{Sidecar, command};
use nodesift_tests::timeout;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The data is about this predicate alone: the nodes may lack room for the pod.
const PREDICATE: &str = "DynamicResources";

/// Pods and nodes in the data, asserted so that none is lost unnoticed.
const QUESTIONS: usize = 3_815;

/// Name in kube-scheduler of the claim for extended resources that is still to be made.
const TO_BE_MADE: &str = "<extended-resources>";

#[test]
fn claims_get_what_kube_schedulers_allocator_picks() {
    let (mut questions, mut differences) = (0, Vec::new());
    for document in data::claims() {
        let pods = items(&read_gzip(&document.pods()));
        let (sidecar, _folder) = serving(&cluster_of(&document));
        for line in document.allocations().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let (key, node) = (line["pod"].as_str().unwrap(), line["node"].as_str().unwrap());
            let mut pod = pods.iter().find(|pod| key_of(pod) == key).expect("a pod of the document").clone();
            pod["spec"].as_object_mut().unwrap().remove("nodeName");
            let pod = json!({"object": pod});
            let claims = line["claims"].as_array().unwrap().iter();
            // kube-scheduler makes no claim without requests.
            let claims = claims.filter(|claim| claim["claim"] != TO_BE_MADE || claim["devices"] != json!([]));
            let expected: Value = claims.cloned().map(with_amounts).collect();
            let found = match assume(&sidecar, &json!({"pod": pod, "node": node, "allocate": true})) {
                Ok(answer) => claims_in(&answer),
                Err(error) => json!(error),
            };
            questions += 1;
            if found != expected {
                let name = &document.name;
                differences.push(format!("{name} {key} on {node}:\n  expected {expected}\n  found    {found}"));
            }
            forget(&sidecar, &pod);
        }
    }
    println!("{questions} questions, {} differences", differences.len());
    differences.iter().take(20).for_each(|difference| println!("{difference}"));
    assert!(differences.is_empty(), "{} differences", differences.len());
    assert_eq!(questions, QUESTIONS);
}

/// The claims of an answer in the form of the data, which has no times and identities.
fn claims_in(answer: &Value) -> Value {
    let claims = answer["allocations"].as_array().unwrap().iter().map(|given| {
        let parsed = |field: &str| serde_json::from_str::<Value>(given[field].as_str().unwrap()).unwrap();
        let allocation = parsed("allocation");
        let devices = allocation["devices"]["results"].as_array().unwrap().iter().map(|device| {
            let mut device = device.clone();
            if device.as_object_mut().unwrap().remove("shareID").is_some() {
                device["shared"] = json!(true);
            }
            device
        });
        let (_, name) = given["claim"].as_str().unwrap().split_once('/').unwrap_or(("", TO_BE_MADE));
        let mut claim = Map::from_iter([
            ("claim".to_owned(), json!(name)),
            ("devices".to_owned(), devices.collect::<Vec<_>>().into()),
        ]);
        let fields = [("nodeSelector", &allocation["nodeSelector"]), ("config", &allocation["devices"]["config"])];
        claim.extend(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| ((*key).to_owned(), (*value).clone())),
        );
        if given["requestMappings"] != "" {
            claim.insert("mappings".to_owned(), parsed("requestMappings"));
        }
        with_amounts(Value::Object(claim))
    });
    claims.collect()
}

/// A claim with the capacities that it consumes as numbers: kube-scheduler keeps the suffix in which somebody wrote them.
fn with_amounts(mut claim: Value) -> Value {
    for device in claim["devices"].as_array_mut().unwrap() {
        for amount in
            device.get_mut("consumedCapacity").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            let quantity: Quantity = amount.as_str().unwrap().parse().unwrap();
            *amount = json!(quantity.nano().to_string());
        }
    }
    claim
}

/// The objects of a document's cluster. Allocations in flight are shown as if they were written: devices are held all the same, and
/// no pod that gets any names one of their claims.
fn cluster_of(document: &Document) -> Vec<Value> {
    let mut objects = items(&read_gzip(&document.cluster()));
    let in_flight = document.in_flight().map(|file| items(&read_gzip(&file))).unwrap_or_default();
    for mut claim in in_flight {
        objects.retain(|object| object["kind"] != "ResourceClaim" || key_of(object) != key_of(&claim));
        if claim["metadata"]["name"] == TO_BE_MADE {
            // They have one name, and would be found as the claims of their pods.
            claim["metadata"] = json!({"namespace": claim["metadata"]["namespace"],
                "name": claim["metadata"]["uid"], "uid": claim["metadata"]["uid"]});
        }
        objects.push(claim);
    }
    objects
}

fn items(list: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(list).unwrap();
    list["items"].as_array().unwrap().clone()
}

fn key_of(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

fn serving(objects: &[Value]) -> (Sidecar, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    let command = command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    let policy = folder.path().join("policy.yaml");
    std::fs::copy(crate::documented(&[PREDICATE]).path(), &policy).unwrap();
    let arguments = ["--cluster", file.to_str().unwrap(), "--policy", policy.to_str().unwrap()];
    (Sidecar::start(command, &arguments), folder)
}

/// Posts until the machine has had time for the predicates.
fn call(sidecar: &Sidecar, path: &str, request: &Value) -> Result<Value, String> {
    let answer = timeout::until(|| {
        let response = post(&sidecar.unix(), path, request.to_string()).unwrap();
        let in_time = response.status != 429 && !response.body.contains("eadline");
        in_time.then_some(response)
    });
    let answer = answer.expect("an answer in time");
    let document = answer.json();
    match answer.status {
        200 => Ok(document),
        _ => Err(format!("{}: {}", document["error"]["code"], document["error"]["message"])),
    }
}

fn assume(sidecar: &Sidecar, request: &Value) -> Result<Value, String> {
    call(sidecar, "/v1/assume", request)
}

fn forget(sidecar: &Sidecar, pod: &Value) {
    call(sidecar, "/v1/forget", &json!({"pod": pod})).unwrap();
}

/// A node with one device, a node without, and pods that claim a device each. `elsewhere` has one that only a node which is gone
/// could use.
fn one_device() -> Vec<Value> {
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "8", "pods": "110"}}})
    };
    let claim = |name: &str| {
        let exactly = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "ns", "uid": format!("claim-{name}")},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}})
    };
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns", "uid": name},
            "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}})
    };
    let mut elsewhere = claim("elsewhere");
    let gone = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["gone"]}]}]});
    elsewhere["status"] = json!({"allocation": {"nodeSelector": gone}});
    let mut objects = vec![
        node("n"),
        node("none"),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n"},
            "spec": {"driver": "d", "nodeName": "n", "devices": [{"name": "g"}],
                "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}}}),
        elsewhere,
        pod("elsewhere"),
    ];
    objects.extend(["a", "b"].iter().flat_map(|name| [claim(name), pod(name)]));
    objects
}

fn request(pod: &str, node: &str) -> Value {
    json!({"pod": {"uid": pod}, "node": node, "allocate": true})
}

#[test]
fn placements_of_one_request_get_devices_one_after_the_other() {
    let (sidecar, _folder) = serving(&one_device());
    let asked = json!({"assume": [request("a", "n"), request("b", "n")], "pods": [{"uid": "b"}]});
    let answer = call(&sidecar, "/v1/filter", &asked).unwrap();
    let [first, second] = answer["assumed"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    assert_eq!(first["answer"]["allocations"][0]["claim"], "ns/a", "{first}");
    assert_eq!(second["error"]["code"], "FAILED_PRECONDITION", "{second}");
    assert_eq!(answer["pods"][0]["feasible"], json!([]), "{answer}");
    let asked = json!({"forget": [{"pod": {"uid": "a"}}], "assume": [request("b", "n")], "pods": []});
    let answer = call(&sidecar, "/v1/filter", &asked).unwrap();
    assert_eq!(answer["assumed"][0]["answer"]["allocations"][0]["uid"], "claim-b", "{answer}");
}

#[test]
fn devices_of_an_assumption_that_expires_are_free_again() {
    let (sidecar, _folder) = serving(&one_device());
    let mut short = request("a", "n");
    short["ttlMs"] = json!(u64::try_from(timeout::scaled(Duration::from_secs(1)).as_millis()).unwrap());
    assume(&sidecar, &short).unwrap();
    let refused = assume(&sidecar, &request("b", "n"));
    assert!(refused.as_ref().is_err_and(|error| error.contains("cannot allocate all claims")), "{refused:?}");
    let given = timeout::until(|| assume(&sidecar, &request("b", "n")).ok()).expect("the device is free again");
    assert_eq!(given["allocations"][0]["claim"], "ns/b", "{given}");
}

#[test]
fn devices_in_flight_are_in_the_state_until_the_assumption_ends() {
    let (sidecar, _folder) = serving(&one_device());
    let counts = || {
        let state = get(&sidecar.unix(), "/v1/state?node=n").unwrap().json();
        let pool = &state["nodes"][0]["devices"][0];
        ["devices", "allocated", "inFlight", "free"].map(|count| pool[count].as_u64())
    };
    assert_eq!(counts(), [1, 0, 0, 1].map(Some));
    assume(&sidecar, &request("a", "n")).unwrap();
    assert_eq!(counts(), [1, 1, 1, 0].map(Some));
    forget(&sidecar, &json!({"uid": "a"}));
    assert_eq!(counts(), [1, 0, 0, 1].map(Some));
}

#[test]
fn claims_that_keep_a_pod_from_every_node_are_named() {
    let (sidecar, _folder) = serving(&one_device());
    let pods = json!({"pods": [{"uid": "elsewhere"}, {"uid": "a"}]});
    let answer = call(&sidecar, "/v1/filter", &pods).unwrap();
    assert_eq!(answer["pods"][0]["claimsToRelease"], json!(["ns/elsewhere"]), "{answer}");
    assert_eq!((&answer["pods"][1]["feasible"], &answer["pods"][1]["claimsToRelease"]), (&json!(["n"]), &json!([])));
    // A pod that fits nowhere for another reason has none to release.
    assume(&sidecar, &request("a", "n")).unwrap();
    let answer = call(&sidecar, "/v1/filter", &json!({"pods": [{"uid": "b"}]})).unwrap();
    assert_eq!((&answer["pods"][0]["feasible"], &answer["pods"][0]["claimsToRelease"]), (&json!([]), &json!([])));
    let explained = call(&sidecar, "/v1/explain", &json!({"pods": [{"uid": "elsewhere"}]})).unwrap();
    assert_eq!(explained["pods"][0]["conjunction"]["claimsToRelease"], json!(["ns/elsewhere"]), "{explained}");
}
