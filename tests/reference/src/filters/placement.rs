//! NodeUnschedulable, NodeName, TaintToleration and NodeAffinity: filters that depend only on the pod and the node.

use std::collections::BTreeSet;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{flag, name, text};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::outcome::Code::UnschedulableAndUnresolvable;
use crate::outcome::{Failure, Outcome};
use crate::selector::{NamedNodes, nodes_named_by, pod_selects_node};
use crate::tolerations::{tolerates_node, tolerates_unschedulable};

pub(super) fn unschedulable(cluster: &Cluster, pod: &Value) -> Outcome {
    reject(cluster, "node(s) were unschedulable", |node| {
        flag(node, "spec.unschedulable") && !tolerates_unschedulable(pod)
    })
}

pub(super) fn node_name(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    let wanted = text(pod, "spec.nodeName");
    let outcome = reject(cluster, "node(s) didn't match the requested node name", |node| {
        !wanted.is_empty() && wanted != name(node)
    });
    match !wanted.is_empty() && switches.has("NodeNameSelectsNode") {
        true => outcome.naming(existing(cluster, &[wanted.to_owned()])),
        false => outcome,
    }
}

pub(super) fn taints(cluster: &Cluster, pod: &Value) -> Outcome {
    reject(cluster, "node(s) had untolerated taint(s)", |node| !tolerates_node(pod, node))
}

pub(super) fn node_affinity(cluster: &Cluster, pod: &Value) -> Outcome {
    let named = nodes_named_by(pod);
    if named == NamedNodes::None {
        let failure = Failure::new(UnschedulableAndUnresolvable, "pod affinity terms conflict");
        return Outcome::rejected(cluster.nodes(), &failure);
    }
    let outcome =
        reject(cluster, "node(s) didn't match Pod's node affinity/selector", |node| !pod_selects_node(pod, node));
    match named {
        NamedNodes::Only(names) => outcome.naming(existing(cluster, &names)),
        _ => outcome,
    }
}

/// The names of nodes that there are.
fn existing(cluster: &Cluster, names: &[String]) -> BTreeSet<String> {
    cluster.nodes().map(|node| name(node).to_owned()).filter(|node| names.contains(node)).collect()
}

fn reject(cluster: &Cluster, reason: &str, is_rejected: impl Fn(&Value) -> bool) -> Outcome {
    Outcome::each_node(cluster.nodes(), |node| {
        is_rejected(node).then(|| Failure::new(UnschedulableAndUnresolvable, reason))
    })
}
