//! The expected state of every node and pod, computed from the API server's lists, with the reference implementation of
//! requests. One line per fact, so that a difference names the fact.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_fixtures::cluster::is_over;
use nodesift_fixtures::json::{at, entries, flag, is_set, list, name, namespace, text};
use nodesift_reference::requests::{self, Rounded};
use serde_json::Value;

/// Facts, one per line.
pub(crate) type Facts = BTreeSet<String>;

/// The schedulers whose pods are the sidecar's own; pods of all others are foreign.
const OWN_SCHEDULERS: [&str; 1] = ["default-scheduler"];

/// A node, with the fields of both sides.
#[derive(Debug, Default)]
pub(crate) struct NodeFacts {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) is_schedulable: bool,
    pub(crate) given: Rounded,
    /// Requested by all of its pods.
    pub(crate) taken: Rounded,
    /// Requested by its foreign pods.
    pub(crate) foreign: Rounded,
    pub(crate) pods: u64,
    pub(crate) foreign_pods: u64,
}

impl NodeFacts {
    /// Adds the lines about the node to the facts.
    pub(crate) fn write(&self, facts: &mut Facts) {
        let Self { name, labels, is_schedulable, given, taken, foreign, pods, foreign_pods } = self;
        facts.insert(format!("node {name} has labels {labels:?}"));
        facts.insert(format!("node {name} is schedulable: {is_schedulable}"));
        facts.insert(format!("node {name} gives {}", amounts(given)));
        facts.insert(format!("node {name} has {pods} pods that take {}", amounts(taken)));
        facts.insert(format!("node {name} has {foreign_pods} foreign pods that take {}", amounts(foreign)));
    }
}

/// A pod, with the fields of both sides.
#[derive(Debug)]
pub(crate) struct PodFacts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) priority: i64,
    pub(crate) amounts: Rounded,
}

impl PodFacts {
    fn new(pod: &Value, amounts: Rounded) -> Self {
        Self {
            namespace: namespace(pod).to_owned(),
            name: name(pod).to_owned(),
            uid: text(pod, "metadata.uid").to_owned(),
            priority: at(pod, "spec.priority").as_i64().unwrap_or(0),
            amounts,
        }
    }

    /// The line of a pod and its place.
    pub(crate) fn line(&self, place: &str) -> String {
        let Self { namespace, name, uid, priority, .. } = self;
        format!("pod {namespace}/{name} ({uid}) of priority {priority}: {place}, {}", amounts(&self.amounts))
    }
}

/// The place of a pod that has a node, existing or not.
pub(crate) fn place(node: &str, is_there: bool, whose: &str, is_terminating: bool) -> String {
    let node = if is_there { format!("on {node}") } else { format!("on {node}, which is not there") };
    let leaving = if is_terminating { ", leaving" } else { "" };
    format!("{node}, {whose}{leaving}")
}

/// The place of a pending pod.
pub(crate) fn waiting(nominated: &str) -> String {
    if nominated.is_empty() { "waits".to_owned() } else { format!("waits for room on {nominated}") }
}

/// The facts about all nodes and pods of two lists.
pub(crate) fn facts(nodes: &[Value], pods: &[Value]) -> Facts {
    let mut facts = Facts::new();
    let alive: Vec<&Value> = pods.iter().filter(|pod| !is_over(pod)).collect();
    for node in nodes {
        let mut known = NodeFacts {
            name: name(node).to_owned(),
            labels: entries(node, "metadata.labels")
                .into_iter()
                .map(|(key, value)| (key.clone(), written(value)))
                .collect(),
            is_schedulable: !flag(node, "spec.unschedulable"),
            given: requests::given_by(node),
            ..NodeFacts::default()
        };
        for pod in alive.iter().filter(|pod| text(pod, "spec.nodeName") == name(node)) {
            let taken = requests::taken_by(pod);
            known.pods += 1;
            add(&mut known.taken, &taken);
            if whose(pod) != "own" {
                known.foreign_pods += 1;
                add(&mut known.foreign, &taken);
            }
        }
        known.write(&mut facts);
    }
    for pod in &alive {
        let node = text(pod, "spec.nodeName");
        facts.insert(if node.is_empty() {
            let nominated = text(pod, "status.nominatedNodeName");
            PodFacts::new(pod, requests::asked_by(pod)).line(&waiting(nominated))
        } else {
            let is_there = nodes.iter().any(|known| name(known) == node);
            let place = place(node, is_there, whose(pod), is_set(pod, "metadata.deletionTimestamp"));
            PodFacts::new(pod, requests::taken_by(pod)).line(&place)
        });
    }
    facts
}

fn add(sum: &mut Rounded, more: &Rounded) {
    for (resource, amount) in more {
        *sum.entry(resource.clone()).or_default() += amount;
    }
}

fn written(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Own, foreign, or foreign and static: a pod of the node's kubelet.
fn whose(pod: &Value) -> &'static str {
    let is_static = list(pod, "metadata.ownerReferences").iter().any(|owner| text(owner, "kind") == "Node");
    match OWN_SCHEDULERS.contains(&text(pod, "spec.schedulerName")) {
        _ if is_static => "static",
        true => "own",
        false => "foreign",
    }
}

/// Amounts by name, without zeros.
fn amounts(amounts: &Rounded) -> String {
    let written = amounts.iter().filter(|(_, amount)| **amount != 0);
    let written: Vec<String> = written.map(|(resource, amount)| format!("{resource}={amount}")).collect();
    if written.is_empty() { "nothing".to_owned() } else { written.join(" ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_has_given_what_its_pods_take_and_orphans_are_named() {
        let node = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "status": {"allocatable": {"cpu": "2", "pods": "9"}}});
        let pod = |name: &str, node: &str, phase: &str, scheduler: &str| {
            json!({
                "metadata": {"name": name, "namespace": "x", "uid": name}, "status": {"phase": phase},
                "spec": {
                    "nodeName": node, "schedulerName": scheduler,
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": "150m"}}}],
                },
            })
        };
        let pods = [
            pod("p1", "a", "Running", "default-scheduler"),
            pod("p2", "a", "Pending", "volcano"),
            pod("p3", "a", "Succeeded", "volcano"),
            pod("p4", "b", "Running", "default-scheduler"),
            pod("p5", "", "Pending", "default-scheduler"),
        ];
        let expected = [
            "node a gives cpu=2000 pods=9",
            "node a has 1 foreign pods that take cpu=150",
            "node a has 2 pods that take cpu=300",
            "node a has labels {\"x\": \"y\"}",
            "node a is schedulable: true",
            "pod x/p1 (p1) of priority 0: on a, own, cpu=150",
            "pod x/p2 (p2) of priority 0: on a, foreign, cpu=150",
            "pod x/p4 (p4) of priority 0: on b, which is not there, own, cpu=150",
            "pod x/p5 (p5) of priority 0: waits, cpu=150",
        ];
        assert_eq!(facts(&[node], &pods).into_iter().collect::<Vec<_>>(), expected);
    }
}
