//! Files that are no plain list of what a server has given: lists inside a list, a claim that nobody has completed, devices of an earlier
//! version, what a server answers where it refuses, a workload. Each is in `tests/data/inputs`.

use nodesift_tests::workshop::lines;
use serde_json::{Value, json};

use crate::new_workshop;

const LISTS: &str = include_str!("../../data/inputs/list-inside-list.json");
const CLAIM: &str = include_str!("../../data/inputs/claim-without-mode.json");
const DEVICES: &str = include_str!("../../data/inputs/devices-v1beta1.json");
const STATUS: &str = include_str!("../../data/inputs/status.json");
const DEPLOYMENT: &str = include_str!("../../data/inputs/deployment.yaml");

const DATA: i32 = 65;

fn parsed(list: &str) -> Value {
    serde_json::from_str(list).unwrap()
}

/// The ResourceClaim of a list.
fn claim(list: &mut Value) -> &mut Value {
    list["items"].as_array_mut().unwrap().iter_mut().find(|item| item["kind"] == "ResourceClaim").unwrap()
}

/// The lines of `explain` about the pending pod of a cluster, and what it notes on stderr.
fn explained(cluster: &str) -> (Vec<Value>, String) {
    let workshop = new_workshop();
    workshop.write("cluster.json", cluster);
    let output = workshop.run(&["explain", "-o", "jsonl", "--cluster", "cluster.json"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    (lines(&output.stdout), output.stderr)
}

/// Returns the failures of DynamicResources.
fn rejected_for_devices(lines: &[Value]) -> &Value {
    &lines.iter().find(|line| line["predicate"] == "DynamicResources").unwrap()["failures"]
}

/// The nodes that fit.
fn feasible(lines: &[Value]) -> &Value {
    &lines.last().unwrap()["feasible"]
}

#[test]
fn lists_inside_a_list_are_one_cluster() {
    let nested = parsed(LISTS);
    let [namespace, nodes, pods] = nested["items"].as_array().unwrap().as_slice() else { panic!("three items") };
    let [node, running, pending] = [&nodes["items"][0], &pods["items"][0], &pods["items"][1]];
    let workshop = new_workshop();
    workshop.write("nested.json", LISTS);
    workshop.write("slurped.json", json!([namespace, nodes, pods]).to_string());
    workshop.write("flat.json", json!([namespace, node, running, pending]).to_string());
    // What the running pod leaves is too little for this one.
    let mut large = pending.clone();
    large["metadata"] = json!({"namespace": "default", "name": "large"});
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("3");
    workshop.write("large.json", large.to_string());

    let explain = |cluster| workshop.answer(&["explain", "-o", "jsonl", "--cluster", cluster]);
    let expected = explain("flat.json");
    assert_eq!(lines(&expected).last().unwrap(), &json!({"pod": "default/new", "predicate": "*", "feasible": ["n1"]}));
    for cluster in ["nested.json", "slurped.json"] {
        assert_eq!(explain(cluster), expected, "{cluster}");
        let answer = workshop.answer(&["filter", "-o", "jsonl", "--cluster", cluster, "--pods", "large.json"]);
        let reasons = json!(["Insufficient cpu"]);
        assert_eq!(lines(&answer).first().unwrap()["failures"][0]["reasons"], reasons, "{cluster}: {answer}");
    }
}

#[test]
fn a_claim_that_does_not_say_how_many_devices_it_wants_is_completed_or_noted() {
    // It has a UID: what has made it, and whether that has completed it, is not known.
    let (answer, notes) = explained(CLAIM);
    let note = "taken as they are, though no API server leaves them so: 1 ResourceClaim (one device per request)";
    assert!(notes.contains(note), "{notes}");
    let reason = rejected_for_devices(&answer)[0]["reasons"][0].as_str().unwrap();
    assert!(reason.ends_with("claim default/c, request r: unsupported count mode "), "{reason}");

    // Without a UID it is its author's alone.
    let mut written = parsed(CLAIM);
    claim(&mut written)["metadata"].as_object_mut().unwrap().remove("uid");
    let (answer, notes) = explained(&written.to_string());
    let note = "filled in as the API server fills it in: 1 ResourceClaim (one device per request)";
    assert!(notes.contains(note), "{notes}");
    assert_eq!((rejected_for_devices(&answer), feasible(&answer)), (&json!([]), &json!(["n1"])));
}

#[test]
fn classes_slices_and_claims_of_v1beta1_are_read() {
    let (answer, notes) = explained(DEVICES);
    assert!(!notes.contains("skipped"), "{notes}");
    let of_n2 = json!([
        {"code": "UnschedulableAndUnresolvable", "reasons": ["cannot allocate all claims"], "nodes": ["n2"]}
    ]);
    assert_eq!((rejected_for_devices(&answer), feasible(&answer)), (&of_n2, &json!(["n1"])));
    // The attributes of the device, and the selectors of the request, are where this version has them.
    for (model, nodes) in [("a", json!(["n1"])), ("b", json!([]))] {
        let mut cluster = parsed(DEVICES);
        let expression = format!(r#"device.attributes["dra.example.com"].model == "{model}""#);
        claim(&mut cluster)["spec"]["devices"]["requests"][0]["selectors"] =
            json!([{"cel": {"expression": expression}}]);
        let (answer, _) = explained(&cluster.to_string());
        assert_eq!(feasible(&answer), &nodes, "{model}");
    }
}

#[test]
fn a_status_in_the_place_of_objects_is_an_error_with_its_message() {
    let workshop = new_workshop().with_cluster();
    workshop.write("status.json", STATUS);
    let text = "nodesift: status.json: document 1: a Status and no object: what wrote it has failed: Unauthorized\n";
    for arguments in [
        ["explain", "--cluster", "status.json"].as_slice(),
        &["explain", "--cluster", "cluster.json", "status.json"],
        &["filter", "--cluster", "cluster.json", "--pods", "status.json"],
        &["explain", "--cluster", "cluster.json", "--inflight", "status.json"],
        &["serve", "--cluster", "status.json", "--no-tcp", "--socket", "nodesift.sock"],
    ] {
        assert_eq!(workshop.failure(DATA, arguments), text, "{arguments:?}");
    }
}

#[test]
fn a_workload_in_the_place_of_pods_is_refused_by_its_kind() {
    let workshop = new_workshop().with_cluster();
    workshop.write("deployment.yaml", DEPLOYMENT);
    let cluster = "holds only Deployment: a cluster consists of nodes and pods, as `kubectl get nodes,pods -A -o json` \
         writes them; pods of a template are there once it is applied";
    let pods = "holds no pod, only Deployment: pods of a template are there once it is applied";
    for (arguments, text) in [
        (["explain", "--cluster", "deployment.yaml"].as_slice(), cluster),
        (&["explain", "--cluster", "cluster.json", "deployment.yaml"], cluster),
        (&["serve", "--cluster", "deployment.yaml", "--no-tcp", "--socket", "nodesift.sock"], cluster),
        (&["explain", "--cluster", "cluster.json", "--pods", "deployment.yaml"], pods),
        (&["filter", "--cluster", "cluster.json", "--pods", "deployment.yaml"], pods),
        (
            &["explain", "--cluster", "cluster.json", "--inflight", "deployment.yaml"],
            "holds no ResourceClaim of a version that is read, only Deployment",
        ),
    ] {
        let said = workshop.failure(DATA, arguments);
        assert_eq!(said, format!("nodesift: deployment.yaml: {text}\n"), "{arguments:?}");
    }
}
