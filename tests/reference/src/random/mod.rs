//! Clusters made up at random, and histories of them: small vocabularies, so that everything meets everything, and odd
//! values wherever Kubernetes lets them through. The same seed makes the same history.
//!
//! Start with [`History`]. [`nodes`], [`pods`], [`affinity`] and [`storage`] make objects of their kinds up; [`dice`] is
//! what they throw.

mod affinity;
mod amounts;
mod dice;
mod nodes;
mod pods;
mod storage;

use serde_json::{Value, json};

use crate::cluster::{Cluster, is_over};
use crate::json::{at, key, name, text};
use dice::Dice;

/// A change of the cluster.
#[derive(Debug, Clone)]
pub enum Event {
    /// The object is there, or is now like this.
    Apply(Box<Value>),
    /// The object is gone.
    Remove(Box<Value>),
}

/// A cluster that goes on changing.
#[derive(Debug)]
pub struct History {
    dice: Dice,
    shape: Shape,
    /// As [`Shape::refused`], for new pods that are only judged: what is in the cluster has passed an API server.
    refused: usize,
    /// What is there after all events so far.
    pub cluster: Cluster,
    next_pod: usize,
    /// Nodes that were removed, to be added again.
    gone: Vec<Value>,
    /// Whether a pod on a node has an ephemeral claim of somebody else. One is enough: of several, any may be reported.
    has_stolen_claim: bool,
}

/// What a cluster is like.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Names of nodes, existing or not.
    nodes: Vec<String>,
    /// How many zones and racks there are.
    domains: usize,
    /// Percentages: how often an object has a part of this sort.
    volumes: usize,
    pod_affinity: usize,
    spread: usize,
    node_affinity: usize,
    taints: usize,
    nominated: usize,
    /// How often a pod asks for something that an API server would refuse.
    refused: usize,
}

impl History {
    /// A cluster of 5 to 60 nodes without a history yet.
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let count = if dice.chance(12) { dice.between(20, 60) } else { dice.between(5, 16) };
        let level = |dice: &mut Dice| *dice.pick(&[0, 5, 20, 60]);
        let shape = Shape {
            nodes: (0..count).map(nodes::node_name).collect(),
            domains: dice.between(1, 5),
            volumes: level(&mut dice),
            pod_affinity: level(&mut dice),
            spread: level(&mut dice),
            node_affinity: level(&mut dice),
            taints: level(&mut dice),
            nominated: *dice.pick(&[0, 0, 30, 60]),
            refused: 0,
        };
        let refused = *dice.pick(&[0, 0, 0, 3]);
        let mut history = Self {
            dice,
            shape,
            refused,
            cluster: Cluster::default(),
            next_pod: 0,
            gone: Vec::new(),
            has_stolen_claim: false,
        };
        history.fill();
        history
    }

    fn fill(&mut self) {
        for namespace in pods::NAMESPACES.iter().filter(|name| **name != pods::NAMESPACE_WITHOUT_OBJECT) {
            let object = pods::namespace(&mut self.dice, namespace);
            self.cluster.apply(object);
        }
        storage::objects(&mut self.dice, &self.shape).into_iter().for_each(|object| self.cluster.apply(object));
        for node in self.shape.nodes.clone() {
            if self.dice.chance(95) {
                let node = nodes::node(&mut self.dice, &self.shape, &node);
                self.cluster.apply(node);
            }
        }
        let pods = self.shape.nodes.len() * self.dice.between(0, 5) + self.dice.between(0, 5);
        for _ in 0..pods {
            let pod = self.placed_pod();
            self.cluster.apply(pod);
        }
        for _ in 0..self.dice.between(0, 4) {
            let pod = self.pending_pod();
            self.cluster.apply(pod);
        }
        if self.dice.chance(15) {
            self.cluster.apply(device_class());
        }
    }

    /// Some events, already applied to [`Self::cluster`].
    pub fn advance(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..self.dice.between(1, 6) {
            for event in self.happen() {
                match &event {
                    Event::Apply(object) => self.cluster.apply((**object).clone()),
                    Event::Remove(object) => {
                        self.cluster.remove(text(object, "kind"), &key(object));
                    }
                }
                events.push(event);
            }
        }
        events
    }

    /// A new pod to be judged, which is not in the cluster. It may name a node.
    pub fn asked_pod(&mut self) -> Value {
        self.shape.refused = self.refused;
        let pod = self.unbound_pod();
        self.shape.refused = 0;
        pod
    }

    fn unbound_pod(&mut self) -> Value {
        let number = self.next_pod;
        self.next_pod += 1;
        pods::pending(&mut self.dice, &self.shape, number)
    }

    fn pending_pod(&mut self) -> Value {
        let pod = self.unbound_pod();
        self.perhaps_nominated(pod)
    }

    /// Room is being made for the pod on a node, existing or not; or no longer.
    fn perhaps_nominated(&mut self, mut pod: Value) -> Value {
        if !self.dice.chance(self.shape.nominated) {
            pod["status"]["nominatedNodeName"] = json!("");
            return pod;
        }
        pod["status"]["nominatedNodeName"] = json!(self.dice.pick(&self.shape.nodes));
        // It may come to count as a pod on a node.
        self.with_own_claims(pod)
    }

    fn placed_pod(&mut self) -> Value {
        let number = self.next_pod;
        self.next_pod += 1;
        let pod = pods::placed(&mut self.dice, &self.shape, number);
        self.with_own_claims(pod)
    }

    /// All ephemeral claims of pods on nodes are their own, but for one pod at most.
    fn with_own_claims(&mut self, mut pod: Value) -> Value {
        if self.has_stolen_claim || !self.dice.chance(10) {
            if let Some(volumes) = pod.pointer_mut("/spec/volumes").and_then(Value::as_array_mut) {
                volumes.retain(|volume| at(volume, "ephemeral").is_null());
            }
        } else {
            let volumes = crate::json::list(&pod, "spec.volumes");
            self.has_stolen_claim |= volumes.iter().any(|volume| !at(volume, "ephemeral").is_null());
        }
        pod
    }

    fn happen(&mut self) -> Vec<Event> {
        let apply = |object: Value| vec![Event::Apply(Box::new(object))];
        match self.dice.below(20) {
            0..=3 => {
                let pod = if self.dice.chance(70) { self.placed_pod() } else { self.pending_pod() };
                apply(pod)
            }
            4..=5 => self.some("Pod").map_or_else(Vec::new, |pod| self.bind(pod)),
            6..=7 => {
                let Some(mut pod) = self.some("Pod") else { return Vec::new() };
                pods::change(&mut self.dice, &mut pod);
                let is_pending = text(&pod, "spec.nodeName").is_empty() && !is_over(&pod);
                apply(if is_pending && self.dice.chance(40) { self.perhaps_nominated(pod) } else { pod })
            }
            8..=10 => self.some("Pod").map_or_else(Vec::new, |pod| vec![Event::Remove(Box::new(pod))]),
            11 => self.some("Pod").map_or_else(Vec::new, |pod| self.replace(pod)),
            12..=13 => {
                let Some(mut node) = self.some("Node") else { return Vec::new() };
                nodes::change(&mut self.dice, &self.shape, &mut node);
                apply(node)
            }
            14 => {
                let Some(node) = self.some("Node") else { return Vec::new() };
                self.gone.push(node.clone());
                vec![Event::Remove(Box::new(node))]
            }
            15..=16 => self.node_again().map_or_else(Vec::new, apply),
            17 => self.namespace_event(),
            18 if self.dice.chance(20) => match self.some("DeviceClass") {
                Some(class) => vec![Event::Remove(Box::new(class))],
                None => apply(device_class()),
            },
            _ => self.storage_event(),
        }
    }

    fn some(&mut self, kind: &str) -> Option<Value> {
        let objects: Vec<&Value> = self.cluster.all(kind).collect();
        objects.get(self.dice.below(objects.len().max(1))).map(|object| (*object).clone())
    }

    /// A pending pod gets its node, existing or not.
    fn bind(&mut self, mut pod: Value) -> Vec<Event> {
        if !text(&pod, "spec.nodeName").is_empty() || is_over(&pod) {
            return Vec::new();
        }
        pod = self.with_own_claims(pod);
        pod["spec"]["nodeName"] = json!(self.dice.pick(&self.shape.nodes));
        pod["status"]["phase"] = json!("Running");
        vec![Event::Apply(Box::new(pod))]
    }

    /// Another pod of the same name: the old one has to go first.
    fn replace(&mut self, pod: Value) -> Vec<Event> {
        let mut new = self.placed_pod();
        new["metadata"]["name"] = pod["metadata"]["name"].clone();
        new["metadata"]["namespace"] = pod["metadata"]["namespace"].clone();
        vec![Event::Remove(Box::new(pod)), Event::Apply(Box::new(new))]
    }

    /// A node that was there before, as it was or as another; or one that never was.
    fn node_again(&mut self) -> Option<Value> {
        let as_before = self.gone.pop();
        let missing = || self.shape.nodes.iter().find(|node| self.cluster.get("Node", node).is_none()).cloned();
        let name = as_before.as_ref().map(|node| name(node).to_owned()).or_else(missing)?;
        match as_before {
            Some(node) if self.dice.chance(50) => Some(node),
            _ => Some(nodes::node(&mut self.dice, &self.shape, &name)),
        }
    }

    fn namespace_event(&mut self) -> Vec<Event> {
        let namespace = *self.dice.pick(&pods::NAMESPACES);
        let object = pods::namespace(&mut self.dice, namespace);
        match self.dice.chance(25) && self.cluster.get("Namespace", namespace).is_some() {
            true => vec![Event::Remove(Box::new(object))],
            false => vec![Event::Apply(Box::new(object))],
        }
    }

    fn storage_event(&mut self) -> Vec<Event> {
        let kind = *self.dice.pick(&storage::KINDS);
        match self.some(kind) {
            Some(object) if self.dice.chance(40) => vec![Event::Remove(Box::new(object))],
            Some(mut object) if self.dice.chance(50) => {
                storage::change(&mut self.dice, &mut object);
                vec![Event::Apply(Box::new(object))]
            }
            _ => {
                let made = storage::object(&mut self.dice, &self.shape, kind);
                vec![Event::Apply(Box::new(made))]
            }
        }
    }
}

fn device_class() -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpus"},
        "spec": {"extendedResourceName": "example.com/gpu"},
    })
}
