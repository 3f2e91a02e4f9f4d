//! The cluster as plain objects: which pods are on which nodes, and nothing computed before it is asked for.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_cache::Writer;
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{name, text};
use serde_json::Value;

/// Nodes, and pods with the node that they are on or nominated for.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) nodes: BTreeMap<String, Value>,
    /// By UID: those that are on a node, known or not, with its name.
    pub(super) pods: BTreeMap<String, (Value, String)>,
    /// By UID: those that are nominated for one.
    nominated: BTreeMap<String, (Value, String)>,
    /// Nodes as an overlay gives them.
    pub(super) overlaid: BTreeSet<String>,
    /// Whether there is a column of the sum to which pods and nodes add.
    pub(super) has_sum: bool,
}

impl Plain {
    /// The objects of a cluster. The writer says where pods are, since some are assumed.
    pub(super) fn new(cluster: &Cluster, writer: &mut Writer, has_sum: bool) -> Self {
        let nodes = cluster.nodes().map(|node| (name(node).to_owned(), node.clone())).collect();
        let by_uid: BTreeMap<&str, &Value> = cluster.all("Pod").map(|pod| (text(pod, "metadata.uid"), pod)).collect();
        let (mut pods, mut nominated) = (BTreeMap::new(), BTreeMap::new());
        for record in writer.state().pods {
            let object = by_uid.get(&*record.uid).unwrap_or_else(|| panic!("{} is no pod of the cluster", record.uid));
            let object = |node: &str| ((*object).clone(), node.to_owned());
            match (&record.node_name, &record.nominated_node) {
                (Some(node), _) => drop(pods.insert(record.uid.to_string(), object(node))),
                (None, Some(node)) => drop(nominated.insert(record.uid.to_string(), object(node))),
                (None, None) => {}
            }
        }
        Self { nodes, pods, nominated, overlaid: BTreeSet::new(), has_sum }
    }

    /// The pods on a node, and those nominated for it whose priority is at least that of `pod`.
    pub(super) fn pods_on(&self, node: &str, pod: &Value) -> (Vec<&Value>, Vec<&Value>) {
        let on = self.pods.values().filter(|(_, on)| on == node).map(|(pod, _)| pod).collect();
        let ahead = |other: &&Value| {
            priority(other) >= priority(pod) && text(other, "metadata.uid") != text(pod, "metadata.uid")
        };
        let nominated = self.nominated.values().filter(|(_, on)| on == node).map(|(pod, _)| pod).filter(ahead);
        (on, nominated.collect())
    }

    /// Removes a pod from its node.
    pub(super) fn remove(&mut self, uid: &str) {
        self.pods.remove(uid);
        self.nominated.remove(uid);
    }

    /// Puts a known pod on a node.
    pub(super) fn place(&mut self, uid: &str, node: &str) {
        let known = self.pods.get(uid).or_else(|| self.nominated.get(uid)).map(|(pod, _)| pod.clone());
        if let Some(pod) = known {
            self.add(&pod, node);
        }
    }

    /// Puts a pod on a node. Another one of its name goes.
    pub(super) fn add(&mut self, pod: &Value, node: &str) {
        let key = nodesift_fixtures::json::key(pod);
        self.pods.retain(|_, (known, _)| nodesift_fixtures::json::key(known) != key);
        self.nominated.retain(|_, (known, _)| nodesift_fixtures::json::key(known) != key);
        self.pods.insert(text(pod, "metadata.uid").to_owned(), (pod.clone(), node.to_owned()));
    }
}

fn priority(pod: &Value) -> i64 {
    pod["spec"]["priority"].as_i64().unwrap_or(0)
}
