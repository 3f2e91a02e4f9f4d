//! NodeUnschedulable, NodeName, TaintToleration and NodeAffinity: filters that depend only on the pod and the node.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{flag, name, text};
use serde_json::Value;

use crate::outcome::Code::UnschedulableAndUnresolvable;
use crate::outcome::{Cycle, Failure, Outcome};
use crate::selector::{NamedNodes, nodes_named_by, pod_selects_node};
use crate::tolerations::{tolerates_node, tolerates_unschedulable};

pub(super) fn unschedulable(cluster: &Cluster, pod: &Value) -> Outcome {
    reject(cluster, "node(s) were unschedulable", |node| {
        flag(node, "spec.unschedulable") && !tolerates_unschedulable(pod)
    })
}

pub(super) fn node_name(cluster: &Cluster, pod: &Value) -> Outcome {
    reject(cluster, "node(s) didn't match the requested node name", |node| {
        !text(pod, "spec.nodeName").is_empty() && text(pod, "spec.nodeName") != name(node)
    })
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
        NamedNodes::Only(_) => Outcome { cycle: Cycle::NamedNodes, ..outcome },
        _ => outcome,
    }
}

fn reject(cluster: &Cluster, reason: &str, is_rejected: impl Fn(&Value) -> bool) -> Outcome {
    Outcome::each_node(cluster.nodes(), |node| {
        is_rejected(node).then(|| Failure::new(UnschedulableAndUnresolvable, reason))
    })
}
