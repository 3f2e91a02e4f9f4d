//! A cluster that changes: the scripted API server, and random changes of its nodes and pods. Everything else stays as it is,
//! because answers name the versions of nodes and pods only. Start at [`Living`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nodesift_fixtures::json::{at, key, name, text};
use nodesift_fixtures::live::{self, nodes, pods, storage};
use nodesift_fixtures::{Cluster, Rng};
use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::apiserver::resource::RESOURCES;
use nodesift_tests::apiserver::store::Version;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Time between two changes.
const PAUSE: Duration = Duration::from_millis(60);

/// Changes after which old versions are forgotten, and the versions that are kept: those that answers name, and those from which
/// a watch goes on after a fault. What a server with the whole history does takes longer from minute to minute, on the processors
/// that the sidecar runs on.
const FORGET_EVERY: usize = 250;
const VERSIONS_KEPT: Version = 4000;

/// Initial pods that are bound, in percent.
const BOUND_AT_FIRST: usize = 85;

/// Pods that the server never has: they are asked about as whole objects.
const WHOLE_PODS: usize = 64;

/// Versions of nodes and pods, as answers name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Versions {
    pub(crate) nodes: Version,
    pub(crate) pods: Version,
}

/// The scripted API server with a cluster that changes.
pub(crate) struct Living {
    /// API server that has the objects.
    pub(crate) server: ApiServer,
    /// Pods that exist only in requests.
    pub(crate) whole: Vec<Value>,
    /// Pods that are bound to no node: UID and object.
    pending: Mutex<BTreeMap<String, Value>>,
    /// Names of the nodes.
    nodes: Mutex<BTreeSet<String>>,
    next_pod: Mutex<usize>,
}

impl Living {
    /// A cluster of some nodes and pods.
    pub(crate) fn start(seed: u64, node_count: usize, pod_count: usize) -> Self {
        let mut rng = Rng::with_seed(seed);
        let server = ApiServer::start();
        server.bookmark_every(Duration::from_secs(2));
        let served: Vec<&str> = RESOURCES.iter().map(|resource| resource.kind).collect();
        let is_served = |object: &Value| served.contains(&text(object, "kind"));
        let mut objects = live::foundation(&mut rng);
        objects.extend(storage::objects(&mut rng, node_count / 2));
        for object in objects.into_iter().filter(is_served) {
            server.apply(object);
        }
        let living = Self {
            server,
            whole: (0..WHOLE_PODS).map(|number| whole(&mut rng, number)).collect(),
            pending: Mutex::default(),
            nodes: Mutex::default(),
            next_pod: Mutex::new(0),
        };
        (0..node_count).for_each(|number| living.apply(node(&mut rng, &nodes::name(number))));
        for _ in 0..pod_count {
            let pod = living.pod(&mut rng, BOUND_AT_FIRST);
            living.apply(pod);
        }
        living
    }

    fn pod(&self, rng: &mut Rng, bound_percent: usize) -> Value {
        let number = {
            let mut next = self.next_pod.lock();
            *next += 1;
            *next
        };
        let mut pod = pods::pending(rng, number);
        pod["metadata"]["uid"] = json!(format!("uid-{number}"));
        pod["status"] = json!({"phase": "Pending"});
        if rng.chance(bound_percent) {
            self.bind(rng, &mut pod);
        }
        pod
    }

    fn bind(&self, rng: &mut Rng, pod: &mut Value) {
        let nodes: Vec<String> = self.nodes.lock().iter().cloned().collect();
        if let Some(node) = rng.choose(&nodes) {
            pod["spec"]["nodeName"] = json!(node);
            pod["status"]["phase"] = json!("Running");
        }
    }

    fn apply(&self, object: Value) {
        match text(&object, "kind") {
            "Node" => drop(self.nodes.lock().insert(name(&object).to_owned())),
            "Pod" => {
                let uid = text(&object, "metadata.uid").to_owned();
                let is_own = text(&object, "spec.schedulerName") == "default-scheduler";
                let mut pending = self.pending.lock();
                if is_own && text(&object, "spec.nodeName").is_empty() {
                    pending.insert(uid, object.clone());
                } else {
                    pending.remove(&uid);
                }
            }
            _ => {}
        }
        self.server.apply(object);
    }

    /// Some pending pod: its UID and object.
    pub(crate) fn some_pending(&self, random: &mut fastrand::Rng) -> Option<(String, Value)> {
        let pending = self.pending.lock();
        let at = random.usize(..pending.len().max(1));
        pending.iter().nth(at).map(|(uid, pod)| (uid.clone(), pod.clone()))
    }

    /// Names of the nodes.
    pub(crate) fn node_names(&self) -> Vec<String> {
        self.nodes.lock().iter().cloned().collect()
    }

    /// The objects as they were at these versions.
    pub(crate) fn cluster_at(&self, versions: Versions) -> Cluster {
        let objects = self.server.look(|store| {
            let others = RESOURCES.iter().filter(|resource| !matches!(resource.kind, "Node" | "Pod"));
            let newest = store.version();
            let mut objects: Vec<Value> = others.flat_map(|resource| store.objects_at(resource.kind, newest)).collect();
            objects.extend(store.objects_at("Node", versions.nodes));
            objects.extend(store.objects_at("Pod", versions.pods));
            objects
        });
        let mut cluster = Cluster::default();
        objects.into_iter().for_each(|object| cluster.apply(object));
        cluster
    }

    /// Changes nodes and pods at random until it is told to stop. Returns the number of changes.
    pub(crate) fn change_until(self: &Arc<Self>, seed: u64, stop: &Arc<AtomicBool>) -> JoinHandle<usize> {
        let (living, stop) = (Arc::clone(self), Arc::clone(stop));
        std::thread::spawn(move || {
            let mut rng = Rng::with_seed(seed ^ 2);
            let mut changes = 0;
            while !stop.load(Ordering::Relaxed) {
                living.change(&mut rng);
                changes += 1;
                if changes % FORGET_EVERY == 0 {
                    living.server.change(|store| store.truncate(store.version().saturating_sub(VERSIONS_KEPT)));
                }
                std::thread::park_timeout(PAUSE);
            }
            changes
        })
    }

    fn change(&self, rng: &mut Rng) {
        let mut random = fastrand::Rng::with_seed(rng.number());
        match rng.below(12) {
            // As many come as go, so that the cluster neither grows nor shrinks.
            0..=3 => {
                let pod = self.pod(rng, 50);
                self.apply(pod);
                self.remove_a_pod(rng);
            }
            4..=6 => {
                if let Some((_, mut pod)) = self.some_pending(&mut random) {
                    self.bind(rng, &mut pod);
                    self.apply(pod);
                    let next = self.pod(rng, 0);
                    self.apply(next);
                    self.remove_a_pod(rng);
                }
            }
            7 | 8 => {
                self.change_a_node(rng, |rng, node| node["metadata"]["labels"] = merged(node, &nodes::labels(rng)))
            }
            9 => self.change_a_node(rng, |rng, node| node["spec"]["taints"] = nodes::taints(rng)),
            10 => self.change_a_node(rng, |_, node| {
                let is_cordoned = at(node, "spec.unschedulable").as_bool().unwrap_or(false);
                node["spec"]["unschedulable"] = json!(!is_cordoned);
            }),
            // A node goes and comes back.
            _ => {
                let names = self.node_names();
                if let Some(gone) = rng.choose(&names).cloned() {
                    self.server.delete("Node", &gone);
                    self.apply(node(rng, &gone));
                }
            }
        }
    }

    fn remove_a_pod(&self, rng: &mut Rng) {
        let pods: Vec<String> = self.server.look(|store| store.now("Pod").keys().cloned().collect());
        let Some(gone) = rng.choose(&pods) else { return };
        self.server.delete("Pod", gone);
        self.pending.lock().retain(|_, pod| key(pod) != *gone);
    }

    fn change_a_node(&self, rng: &mut Rng, change: impl FnOnce(&mut Rng, &mut Value)) {
        let names = self.node_names();
        let Some(name) = rng.choose(&names) else { return };
        let now = self.server.look(|store| store.objects_at("Node", store.version()));
        let Some(mut node) = now.into_iter().find(|node| nodesift_fixtures::json::name(node) == *name) else { return };
        change(rng, &mut node);
        self.apply(node);
    }
}

/// The labels of a node after a patch, in which `null` removes a label.
fn merged(node: &Value, patch: &Value) -> Value {
    let mut labels = node["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    for (label, value) in patch.as_object().into_iter().flatten() {
        if value.is_null() {
            labels.remove(label);
        } else {
            labels.insert(label.clone(), value.clone());
        }
    }
    Value::Object(labels)
}

/// A node with its status.
fn node(rng: &mut Rng, name: &str) -> Value {
    let mut node = nodes::node(rng, name);
    node["status"] = nodes::status(rng)["status"].clone();
    // In a patch, `null` removes a resource.
    for amounts in ["capacity", "allocatable"] {
        if let Some(amounts) = node["status"][amounts].as_object_mut() {
            amounts.retain(|_, amount| !amount.is_null());
        }
    }
    node
}

/// A pod that exists only in requests.
fn whole(rng: &mut Rng, number: usize) -> Value {
    let mut pod = pods::pending(rng, number);
    pod["metadata"]["name"] = json!(format!("whole-{number}"));
    pod["metadata"]["uid"] = json!(format!("whole-{number}"));
    pod["spec"]["schedulerName"] = json!("default-scheduler");
    pod
}
