//! The recount notices what is wrong: an allocation that is right in every way, and the same with one thing changed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use nodesift_fixtures::Rng;
use serde_json::json;

use super::*;
use crate::claims::scene;

/// Nodes with their devices, and pods each with a claim on the node `device-node-00`.
struct Case {
    cluster: Cluster,
    pods: usize,
}

impl Case {
    fn new() -> Self {
        let mut cluster = Cluster::default();
        scene::objects(&mut Rng::with_seed(1), 0).cluster.into_iter().for_each(|object| cluster.apply(object));
        Self { cluster, pods: 0 }
    }

    /// Adds a bound pod and its claim, which has these devices for its only request.
    fn with(&mut self, request: &Value, devices: &[(&str, &str)]) -> String {
        self.pods += 1;
        let name = format!("pod-{}", self.pods);
        let mut pod = scene::pod(&name, 0, std::slice::from_ref(&name));
        pod["metadata"]["uid"] = json!(name);
        pod["spec"]["nodeName"] = json!("device-node-00");
        self.cluster.apply(pod);
        let results = devices.iter().map(|(of, device)| {
            let pool = if *of == "net" { "fabric" } else { "device-node-00" };
            json!({"request": "r", "driver": format!("{of}.example.com"), "pool": pool, "device": device})
        });
        let mut claim = scene::claim(&name, &json!({"requests": [{"name": "r", "exactly": request}]}));
        claim["status"] = json!({
            "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
            "allocation": {"devices": {"results": results.collect::<Value>()}},
        });
        if devices.iter().any(|(of, _)| *of != "net") {
            let field = json!({"key": "metadata.name", "operator": "In", "values": ["device-node-00"]});
            claim["status"]["allocation"]["nodeSelector"] = json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
        }
        self.cluster.apply(claim);
        format!("{NAMESPACE}/{name}")
    }

    fn change(&mut self, kind: &str, key: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.cluster.remove(kind, key).expect("it was added");
        change(&mut object);
        self.cluster.apply(object);
    }

    #[track_caller]
    fn fails(&self, with: &str) {
        let error = format!("{:#}", check(&self.cluster).expect_err("the recount notices nothing"));
        assert!(error.contains(with), "{error}");
    }
}

fn exactly(class: &str, count: usize) -> Value {
    json!({"deviceClassName": class, "count": count})
}

/// The first GPU of a model.
fn gpu(cluster: &Cluster, model: &str) -> String {
    let slice = cluster.get("ResourceSlice", "gpu-device-node-00").unwrap();
    let of_model = |device: &&Value| text(device, "attributes.model.string") == model;
    text(list(slice, "spec.devices").iter().find(of_model).unwrap(), "name").to_owned()
}

#[test]
fn what_is_right_is_counted() {
    let mut case = Case::new();
    case.with(&exactly("gpu", 2), &[("gpu", "gpu-0"), ("gpu", "gpu-1")]);
    case.with(&exactly("net", 1), &[("net", "net-3")]);
    let share = case.with(&exactly("nic", 1), &[("nic", "nic-1")]);
    case.change("ResourceClaim", &share, |claim| {
        claim["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"] = json!({"bandwidth": "10G"});
    });
    let count = check(&case.cluster).unwrap();
    assert_eq!((count.bound, count.claims, count.exclusive.0, count.shared), (3, 3, 3, 1));
}

#[test]
fn a_device_of_two_claims_is_noticed() {
    let mut case = Case::new();
    case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.fails("all have");
}

#[test]
fn a_shared_device_of_which_too_much_is_given_away_is_noticed() {
    let mut case = Case::new();
    for bandwidth in ["6G", "5G"] {
        let share = case.with(&exactly("nic", 1), &[("nic", "nic-1")]);
        case.change("ResourceClaim", &share, |claim| {
            claim["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"] =
                json!({"bandwidth": bandwidth});
        });
    }
    case.fails("have 11000000000 of");
}

#[test]
fn overlapping_partitions_are_noticed() {
    let mut case = Case::new();
    case.with(&exactly("whole", 1), &[("part", "part-0")]);
    case.with(&exactly("half", 1), &[("part", "part-1")]);
    case.fails("cards have given away");
}

#[test]
fn a_device_that_is_not_what_is_asked_for_is_noticed() {
    let mut case = Case::new();
    let other = gpu(&case.cluster, "h100");
    case.with(&exactly("a100", 1), &[("gpu", &other)]);
    case.fails("is none of a100");

    let mut case = Case::new();
    case.with(&exactly("gpu", 2), &[("gpu", "gpu-0")]);
    case.fails("r asks for 2 devices");

    let mut case = Case::new();
    let pair = case.with(&exactly("gpu", 2), &[("gpu", "gpu-0"), ("gpu", "gpu-1")]);
    case.change("ResourceClaim", &pair, |claim| {
        claim["spec"]["devices"]["constraints"] = json!([{"matchAttribute": NUMA}])
    });
    case.fails("differ in");
}

#[test]
fn a_device_that_is_somewhere_else_is_noticed() {
    let mut case = Case::new();
    case.with(&exactly("gpu", 1), &[("gpu", "gpu-9")]);
    case.fails("which there is not");

    let mut case = Case::new();
    let moved = case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.change("Pod", &moved, |pod| pod["spec"]["nodeName"] = json!("device-node-01"));
    case.fails("of device-node-00, and its pods are on [\"device-node-01\"]");

    let mut case = Case::new();
    let elsewhere = case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.change("ResourceClaim", &elsewhere, |claim| {
        claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] =
            json!(["x"]);
    });
    case.fails("the selector is");
}

#[test]
fn a_claim_that_is_nobodys_is_noticed() {
    let mut case = Case::new();
    let left = case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.change("ResourceClaim", &left, |claim| claim["status"]["reservedFor"] = json!([]));
    case.fails("reserved for nobody");

    let mut case = Case::new();
    let ended = case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.change("Pod", &ended, |pod| pod["status"] = json!({"phase": "Succeeded"}));
    case.fails("which has no node");

    let mut case = Case::new();
    let without = case.with(&exactly("gpu", 1), &[("gpu", "gpu-0")]);
    case.change("ResourceClaim", &without, |claim| claim["status"] = json!({}));
    case.fails("is not allocated, or not for the pod");
}
