//! kube-scheduler's filters, one function each, in the order of its default profile.

mod features;
mod placement;
mod pod_affinity;
mod resources;
mod spread;
pub(crate) mod volume_binding;
mod volume_limits;
mod volume_restrictions;
mod volume_zone;

use nodesift_fixtures::Cluster;
use serde_json::Value;

use crate::claims::{self, Selectors, World};
use crate::kubernetes::Switches;
use crate::outcome::Outcome;

/// A filter: its name in kube-scheduler, and its function.
#[derive(Debug, Clone, Copy)]
pub struct Filter {
    /// Name of kube-scheduler's plugin.
    pub name: &'static str,
    /// Evaluates a pod on every node, by the switches of a version of Kubernetes.
    pub judge: fn(&Cluster, &Value, &Switches) -> Outcome,
}

/// All filters, in kube-scheduler's order up to 1.36.
pub const FILTERS: [Filter; 14] = [
    Filter { name: "NodeUnschedulable", judge: |cluster, pod, _| placement::unschedulable(cluster, pod) },
    Filter { name: "NodeName", judge: placement::node_name },
    Filter { name: "TaintToleration", judge: |cluster, pod, _| placement::taints(cluster, pod) },
    Filter { name: "NodeAffinity", judge: |cluster, pod, _| placement::node_affinity(cluster, pod) },
    Filter { name: "NodePorts", judge: |cluster, pod, _| resources::ports(cluster, pod) },
    Filter { name: "NodeResourcesFit", judge: resources::fit },
    Filter { name: "VolumeRestrictions", judge: |cluster, pod, _| volume_restrictions::judge(cluster, pod) },
    Filter { name: "NodeVolumeLimits", judge: volume_limits::judge },
    Filter { name: "VolumeBinding", judge: |cluster, pod, _| volume_binding::judge(cluster, pod) },
    Filter { name: "VolumeZone", judge: |cluster, pod, _| volume_zone::judge(cluster, pod) },
    Filter { name: "PodTopologySpread", judge: |cluster, pod, _| spread::judge(cluster, pod) },
    Filter { name: "InterPodAffinity", judge: pod_affinity::judge },
    Filter { name: "DynamicResources", judge: dynamic_resources },
    Filter { name: "NodeDeclaredFeatures", judge: features::judge },
];

/// The filters with these names, in kube-scheduler's order.
pub fn named(names: &[&str]) -> Vec<Filter> {
    FILTERS.into_iter().filter(|filter| names.contains(&filter.name)).collect()
}

/// The default filters of a version of Kubernetes, in its order.
pub fn default_of(version: &str) -> Vec<Filter> {
    let mut filters = FILTERS.to_vec();
    match version {
        "1.34" | "1.35" => filters.retain(|filter| filter.name != "NodeDeclaredFeatures"),
        "1.36" => {}
        _ => filters.swap(0, 1),
    }
    filters
}

/// [`claims::judge`] with nothing in flight, at a time at which no binding of devices has taken too long.
fn dynamic_resources(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    claims::judge(&World { cluster, in_flight: &[], now_s: 0, switches }, &Selectors::default(), pod).outcome
}
