//! The objects: nodes with devices of four drivers, DeviceClasses, and pods with the ResourceClaims that they name.
//!
//! Start at [`objects`]. A driver has one kind of pools: `gpu` two models on a node, `nic` devices that claims share, `part`
//! partitions of a card, which draw on counters, and `net` devices that every node reaches. Claims ask for more than there is.
//! [`CLASSES`] says of each class which devices are its own, once in CEL and once in Rust.

use nodesift_fixtures::Rng;
use nodesift_fixtures::json::text;
use serde_json::{Value, json};

/// The namespace of all pods and claims.
pub(crate) const NAMESPACE: &str = "claims";

/// The extended resource that the class `gpu` serves.
pub(crate) const EXTENDED: &str = "example.com/gpu";

/// The attribute that two devices of one claim have in common.
pub(crate) const NUMA: &str = "gpu.example.com/numa";

/// Bandwidth of a device that claims share, in G.
pub(crate) const BANDWIDTH: i64 = 10;

/// Value of the counter `memory` of a card, from which its partitions draw.
pub(crate) const CARD_MEMORY: i64 = 4;

const NODES: usize = 60;
const GPUS_PER_NODE: usize = 6;
const NET_DEVICES: usize = 20;

/// Of how many nodes one has a card.
const CARD_EVERY: usize = 5;

/// A DeviceClass with its selector, in CEL and in Rust.
pub(crate) struct Class {
    /// Name of the DeviceClass.
    pub(crate) name: &'static str,
    /// CEL expression of the class's selector.
    expression: &'static str,
    /// Whether a driver and a device, as it is written in its slice, belong to the class: the expression in Rust.
    pub(crate) has: fn(&str, &Value) -> bool,
}

/// All DeviceClasses of the scene.
pub(crate) const CLASSES: [Class; 6] = [
    Class {
        name: "gpu",
        expression: "device.driver == 'gpu.example.com'",
        has: |driver, _| driver == "gpu.example.com",
    },
    Class {
        name: "a100",
        expression: "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'a100'",
        has: |driver, device| driver == "gpu.example.com" && text(device, "attributes.model.string") == "a100",
    },
    Class { name: "nic", expression: "device.driver.startsWith('nic.')", has: |driver, _| driver == "nic.example.com" },
    Class {
        name: "half",
        expression: "device.driver == 'part.example.com' && device.attributes['part.example.com'].units < 4",
        has: |driver, device| driver == "part.example.com" && device["attributes"]["units"]["int"] == 2,
    },
    Class {
        name: "whole",
        expression: "device.attributes['part.example.com'].?units.orValue(0) == 4",
        has: |driver, device| driver == "part.example.com" && device["attributes"]["units"]["int"] == 4,
    },
    Class {
        name: "net",
        expression: "'tier' in device.attributes['net.example.com']",
        has: |driver, _| driver == "net.example.com",
    },
];

/// Everything that there is at first.
#[derive(Debug)]
pub(crate) struct Scene {
    /// Nodes, ResourceSlices and DeviceClasses.
    pub(crate) cluster: Vec<Value>,
    /// ResourceClaims that pods name.
    pub(crate) claims: Vec<Value>,
    /// Pods, none of them bound.
    pub(crate) pods: Vec<Value>,
}

/// A scene with this number of pods.
pub(crate) fn objects(rng: &mut Rng, pods: usize) -> Scene {
    let mut cluster = Vec::new();
    for number in 0..NODES {
        let name = format!("device-node-{number:02}");
        cluster.extend(node_slices(rng, &name, number % CARD_EVERY == 0));
        let allocatable = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
        cluster.push(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable},
        }));
    }
    let devices: Vec<Value> =
        (0..NET_DEVICES).map(|number| device("net", number, &json!({"tier": {"string": "gold"}}))).collect();
    cluster.push(slice("fabric", "net", "fabric", 1, json!({"allNodes": true, "devices": devices})));
    for class in CLASSES {
        let mut spec = json!({"selectors": [{"cel": {"expression": class.expression}}]});
        if class.name == "gpu" {
            spec["extendedResourceName"] = json!(EXTENDED);
        }
        cluster.push(resource("DeviceClass", class.name, &spec));
    }
    let mut demand = Demand::default();
    let pods = (0..pods).map(|number| demand.pod(rng, number)).collect();
    Scene { cluster, claims: demand.claims, pods }
}

/// A pod that asks for an amount of the extended resource, and names claims.
pub(crate) fn pod(name: &str, extended: usize, claims: &[String]) -> Value {
    let named = claims
        .iter()
        .enumerate()
        .map(|(number, claim)| json!({"name": format!("claim-{number}"), "resourceClaimName": claim}));
    let amounts = if extended > 0 { json!({EXTENDED: extended.to_string()}) } else { json!({}) };
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "containers": [{"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}],
            "resourceClaims": named.collect::<Value>(),
        },
    })
}

/// Makes a ResourceClaim in the namespace of the run.
pub(crate) fn claim(name: &str, devices: &Value) -> Value {
    let mut claim = resource("ResourceClaim", name, &json!({"devices": devices}));
    claim["metadata"]["namespace"] = json!(NAMESPACE);
    claim
}

/// Claims of the pods that are made so far.
#[derive(Debug, Default)]
struct Demand {
    claims: Vec<Value>,
    /// A claim for two pods that only one names so far.
    half_shared: Option<String>,
}

impl Demand {
    fn pod(&mut self, rng: &mut Rng, number: usize) -> Value {
        let name = format!("pod-{number:03}");
        let asked = match rng.below(100) {
            0..25 => vec![one("gpu")],
            25..37 => vec![one("a100")],
            37..51 => vec![json!({
                "requests": [{"name": "r", "exactly": exactly("gpu", 2)}], "constraints": [{"matchAttribute": NUMA}],
            })],
            51..63 => {
                let claim = self.half_shared.take().unwrap_or_else(|| {
                    let made = self.claim(&name, 0, &one("gpu"));
                    self.half_shared = Some(made.clone());
                    made
                });
                return pod(&name, 0, &[claim]);
            }
            63..73 => {
                let choices = [("two", exactly("a100", 2)), ("one", exactly("gpu", 1))].map(|(name, mut choice)| {
                    choice["name"] = json!(name);
                    choice
                });
                vec![json!({"requests": [{"name": "r", "firstAvailable": choices}]})]
            }
            73..83 => return pod(&name, rng.between(1, 2), &[]),
            83..91 => {
                let mut request = exactly("nic", 1);
                request["capacity"] = json!({"requests": {"bandwidth": "3G"}});
                vec![json!({"requests": [{"name": "r", "exactly": request}]})]
            }
            91..96 => vec![one(rng.word(&["half", "half", "whole"]))],
            _ => vec![one("net"), one("gpu")],
        };
        let claims: Vec<String> =
            asked.into_iter().enumerate().map(|(position, devices)| self.claim(&name, position, &devices)).collect();
        pod(&name, 0, &claims)
    }

    fn claim(&mut self, pod: &str, position: usize, devices: &Value) -> String {
        let name = format!("{pod}-claim-{position}");
        self.claims.push(claim(&name, devices));
        name
    }
}

fn exactly(class: &str, count: usize) -> Value {
    json!({"deviceClassName": class, "allocationMode": "ExactCount", "count": count})
}

fn one(class: &str) -> Value {
    json!({"requests": [{"name": "r", "exactly": exactly(class, 1)}]})
}

/// The slices of a node.
fn node_slices(rng: &mut Rng, node: &str, has_card: bool) -> Vec<Value> {
    let gpus: Vec<Value> = (0..GPUS_PER_NODE)
        .map(|number| {
            let model = json!({"string": rng.word(&["a100", "h100"])});
            device("gpu", number, &json!({"model": model, "numa": {"int": number % 2}}))
        })
        .collect();
    let nics: Vec<Value> = [false, true]
        .iter()
        .enumerate()
        .map(|(number, is_shared)| {
            let mut nic = device("nic", number, &json!({}));
            nic["capacity"] = json!({"bandwidth": {"value": format!("{BANDWIDTH}G")}});
            if *is_shared {
                nic["allowMultipleAllocations"] = json!(true);
                nic["capacity"]["bandwidth"]["requestPolicy"] =
                    json!({"default": "1G", "validRange": {"min": "1G", "step": "1G"}});
            }
            nic
        })
        .collect();
    let mut slices = vec![
        slice(&format!("gpu-{node}"), "gpu", node, 1, json!({"nodeName": node, "devices": gpus})),
        slice(&format!("nic-{node}"), "nic", node, 1, json!({"nodeName": node, "devices": nics})),
    ];
    if has_card {
        let parts: Vec<Value> = [CARD_MEMORY, CARD_MEMORY / 2, CARD_MEMORY / 2]
            .iter()
            .enumerate()
            .map(|(number, units)| {
                let mut part = device("part", number, &json!({"units": {"int": units}}));
                let counters = json!({"memory": {"value": units.to_string()}});
                part["consumesCounters"] = json!([{"counterSet": "card", "counters": counters}]);
                part
            })
            .collect();
        let counters = json!([{"name": "card", "counters": {"memory": {"value": CARD_MEMORY.to_string()}}}]);
        let of_counters = json!({"nodeName": node, "sharedCounters": counters});
        slices.push(slice(&format!("card-{node}"), "part", node, 2, of_counters));
        slices.push(slice(&format!("part-{node}"), "part", node, 2, json!({"nodeName": node, "devices": parts})));
    }
    slices
}

fn device(of: &str, number: usize, attributes: &Value) -> Value {
    json!({"name": format!("{of}-{number}"), "attributes": attributes})
}

/// A slice of a pool; the fields say which nodes it is for.
fn slice(name: &str, of: &str, pool: &str, count: usize, fields: Value) -> Value {
    let mut spec = fields;
    spec["driver"] = json!(format!("{of}.example.com"));
    spec["pool"] = json!({"name": pool, "generation": 1, "resourceSliceCount": count});
    resource("ResourceSlice", name, &spec)
}

fn resource(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}
