//! NodeDeclaredFeatures: kubelet features that a pod requires, as far as its spec shows.
//!
//! Source: component-helpers `nodedeclaredfeatures/features`.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{at, flag, list, text, texts};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::outcome::{Code, Failure, Outcome};

pub(super) fn judge(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    let mut needed = Vec::new();
    let containers = [list(pod, "spec.containers"), list(pod, "spec.initContainers")].concat();
    let restarts_all = |rule: &Value| text(rule, "action") == "RestartAllContainers";
    if containers.iter().any(|container| list(container, "restartPolicyRules").iter().any(restarts_all)) {
        needed.push("RestartAllContainersOnContainerExits".to_owned());
    }
    if flag(pod, "spec.hostNetwork") && at(pod, "spec.hostUsers").as_bool() == Some(false) {
        needed.push("UserNamespacesHostNetworkSupport".to_owned());
    }
    let mounts = containers.iter().flat_map(|container| list(container, "volumeMounts"));
    let has_options = mounts.into_iter().any(|mount| !list(mount, "bindMountOptions").is_empty());
    if has_options && switches.has("BindMountOptionsFeature") {
        needed.push("VolumeBindMountOptions".to_owned());
    }
    Outcome::each_node(cluster.nodes(), |node| {
        let declared = texts(node, "status.declaredFeatures");
        let lacks = needed.iter().any(|feature| !declared.contains(feature));
        lacks.then(|| Failure::new(Code::UnschedulableAndUnresolvable, "node(s) didn't match Pod's required features"))
    })
}
