//! Requests whose alternatives ask for all devices, which kube-scheduler mixes up until 1.35. The devices of 1.35 are those that
//! `k8s.io/dynamic-resource-allocation` 0.35.6 has picked for the same objects; those of the others follow from the sources of 0.34.10,
//! 0.36.5 and 0.37.2.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{list, text};
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::kubernetes::Switches;
use serde_json::{Value, json};

use crate::found::{Found, ask, judged};
use crate::project::Nodes;

/// Versions with the fault and without it.
const MIXING: [&str; 2] = ["1.34", "1.35"];
const MENDED: [&str; 2] = ["1.36", "1.37"];

/// An alternative for so many devices of a model; 0 for all of them.
type Alternative = (i64, &'static str);

#[test]
fn an_alternative_for_all_devices_goes_on_with_the_first_alternative() {
    let wanting_one: [Alternative; 2] = [(1, "large"), (0, "small")];
    compare(&["small", "small", "small"], &[&wanting_one], "r0/a1=d0", "r0/a1=d0 r0/a1=d1 r0/a1=d2");
    let wanting_two: [Alternative; 2] = [(2, "large"), (0, "small")];
    compare(&["small", "small", "large"], &[&wanting_two], "r0/a1=d0 r0/a0=d2", "r0/a1=d0 r0/a1=d1");
    compare(&["small", "small"], &[&wanting_two], "", "r0/a1=d0 r0/a1=d1");
    let last: [Alternative; 3] = [(1, "large"), (1, "huge"), (0, "small")];
    compare(&["small", "small"], &[&last], "r0/a2=d0", "r0/a2=d0 r0/a2=d1");
}

#[test]
fn a_second_alternative_for_all_devices_selects_as_the_first() {
    let both: [Alternative; 2] = [(0, "large"), (0, "small")];
    compare(&["small", "small"], &[&both], "", "r0/a1=d0 r0/a1=d1");
    let only_neighbours: [Alternative; 3] = [(0, "large"), (3, "small"), (0, "small")];
    compare(&["small", "small"], &[&only_neighbours], "", "r0/a2=d0 r0/a2=d1");
}

#[test]
fn requests_after_a_mixed_one_get_what_is_left() {
    let mixed: [Alternative; 2] = [(3, "large"), (0, "small")];
    let plain: [Alternative; 1] = [(1, "large")];
    compare(&["small", "small", "large", "large"], &[&mixed, &plain], "", "r0/a1=d0 r0/a1=d1 r1/a0=d2");
    let models = ["small", "small", "large", "large", "large"];
    let fewer: [Alternative; 2] = [(4, "large"), (0, "small")];
    compare(&models, &[&fewer], "r0/a1=d0 r0/a0=d2 r0/a0=d3 r0/a0=d4", "r0/a1=d0 r0/a1=d1");
}

/// Compares the devices that the claim gets in each version, by the predicate and by the reference; empty where it gets none.
fn compare(models: &[&str], requests: &[&[Alternative]], mixed: &str, mended: &str) {
    let (cluster, pod) = (cluster(models, requests), pod());
    let of = MIXING.map(|version| (version, mixed)).into_iter().chain(MENDED.map(|version| (version, mended)));
    for (version, expected) in of {
        let switches = Switches::from_version(version);
        assert_eq!(picked(&cluster, &pod, &switches), [expected, expected], "{version}, {requests:?}");
        assert_eq!(picked(&cluster, &pod, &switches.mended()), [mended, mended], "{version} mended, {requests:?}");
    }
}

/// The devices by the predicate and by the reference, each as `request=device`, in the order picked.
fn picked(cluster: &Cluster, pod: &Value, switches: &Switches) -> [String; 2] {
    let world = World { cluster, in_flight: &[], now_s: 0, switches };
    let selectors = Selectors::default();
    let nodes = Nodes::new(&world, &selectors);
    [ask(&nodes, pod), judged(judge(&world, &selectors, pod))].map(|found: Found| {
        let claims = found.allocations.get("n").map_or(&[][..], Vec::as_slice);
        let devices = claims.iter().flat_map(|claim| list(claim, "devices"));
        devices
            .map(|device| format!("{}={}", text(device, "request"), text(device, "device")))
            .collect::<Vec<_>>()
            .join(" ")
    })
}

/// A node with one slice of devices of these models, and the claim of the pod.
fn cluster(models: &[&str], requests: &[&[Alternative]]) -> Cluster {
    let device = |(number, model): (usize, &&str)| json!({"name": format!("d{number}"), "attributes": {"model": {"string": model}}});
    let devices: Vec<Value> = models.iter().enumerate().map(device).collect();
    let request = |(number, alternatives): (usize, &&[Alternative])| {
        let alternatives: Vec<Value> = alternatives.iter().enumerate().map(alternative).collect();
        json!({"name": format!("r{number}"), "firstAvailable": alternatives})
    };
    let requests: Vec<Value> = requests.iter().enumerate().map(request).collect();
    let resource = "resource.k8s.io/v1";
    let slice = json!({
        "driver": "gpu.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": devices,
    });
    Cluster::from_list(&json!({"kind": "List", "apiVersion": "v1", "items": [
        {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}},
        {"kind": "DeviceClass", "apiVersion": resource, "metadata": {"name": "gpu"}, "spec": {}},
        {"kind": "ResourceSlice", "apiVersion": resource, "metadata": {"name": "s"}, "spec": slice},
        {
            "kind": "ResourceClaim",
            "apiVersion": resource,
            "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "spec": {"devices": {"requests": requests}},
        },
    ]}))
}

fn alternative((number, (count, model)): (usize, &Alternative)) -> Value {
    let expression = format!("device.attributes['gpu.example.com'].model == '{model}'");
    let mut fields = json!({
        "name": format!("a{number}"),
        "deviceClassName": "gpu",
        "allocationMode": "All",
        "selectors": [{"cel": {"expression": expression}}],
    });
    if *count > 0 {
        (fields["allocationMode"], fields["count"]) = (json!("ExactCount"), json!(count));
    }
    fields
}

fn pod() -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {
            "containers": [{"name": "m"}],
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        },
    })
}
