//! kube-scheduler's filters, one function each, in the order of its default profile.

mod features;
mod placement;
mod pod_affinity;
mod resources;
mod spread;
mod volume_binding;
mod volume_limits;
mod volume_restrictions;
mod volume_zone;

use nodesift_fixtures::Cluster;
use serde_json::Value;

use crate::claims::{self, Selectors, World};
use crate::outcome::Outcome;

/// A filter: its name in kube-scheduler, and its function.
#[derive(Debug, Clone, Copy)]
pub struct Filter {
    /// Name of kube-scheduler's plugin.
    pub name: &'static str,
    /// Evaluates a pod on every node.
    pub judge: fn(&Cluster, &Value) -> Outcome,
}

/// All filters, in kube-scheduler's order.
pub const FILTERS: [Filter; 14] = [
    Filter { name: "NodeUnschedulable", judge: placement::unschedulable },
    Filter { name: "NodeName", judge: placement::node_name },
    Filter { name: "TaintToleration", judge: placement::taints },
    Filter { name: "NodeAffinity", judge: placement::node_affinity },
    Filter { name: "NodePorts", judge: resources::ports },
    Filter { name: "NodeResourcesFit", judge: resources::fit },
    Filter { name: "VolumeRestrictions", judge: volume_restrictions::judge },
    Filter { name: "NodeVolumeLimits", judge: volume_limits::judge },
    Filter { name: "VolumeBinding", judge: volume_binding::judge },
    Filter { name: "VolumeZone", judge: volume_zone::judge },
    Filter { name: "PodTopologySpread", judge: spread::judge },
    Filter { name: "InterPodAffinity", judge: pod_affinity::judge },
    Filter { name: "DynamicResources", judge: dynamic_resources },
    Filter { name: "NodeDeclaredFeatures", judge: features::judge },
];

/// The filters with these names, in kube-scheduler's order.
pub fn named(names: &[&str]) -> Vec<Filter> {
    FILTERS.into_iter().filter(|filter| names.contains(&filter.name)).collect()
}

/// [`claims::judge`] with nothing in flight, at a time at which no binding of devices has taken too long.
fn dynamic_resources(cluster: &Cluster, pod: &Value) -> Outcome {
    claims::judge(&World { cluster, in_flight: &[], now_s: 0 }, &Selectors::default(), pod).outcome
}
