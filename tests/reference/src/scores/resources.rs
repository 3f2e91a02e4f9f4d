//! Amounts of a resource on a node as both resource plugins see them.
//!
//! Source: P/noderesources/resource_allocation.go.

use nodesift_fixtures::json::{at, list, text};
use serde_json::Value;

use super::World;
use crate::claims;
use crate::requests::{Rounded, given_by, is_scalar};

/// A resource of the arguments.
pub(super) struct Listed {
    pub(super) name: String,
    /// Factor of its score in the mean, at least 1.
    pub(super) weight: i64,
}

/// Amounts of one resource on one node. Sums wrap as Go's do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts {
    pub(super) allocatable: i64,
    /// Of the pods on the node.
    pub(super) allocated: i64,
    /// With the pod that is scored.
    pub(super) requested: i64,
}

/// The resources of a list of arguments; cpu and memory where there is none.
pub(super) fn listed(arguments: &Value, path: &str) -> Vec<Listed> {
    let written = list(arguments, path);
    if written.is_empty() {
        return ["cpu", "memory"].map(|name| Listed { name: name.to_owned(), weight: 1 }).into();
    }
    let resource = |entry: &Value| {
        let weight = at(entry, "weight").as_i64().filter(|weight| *weight != 0).unwrap_or(1);
        Listed { name: text(entry, "name").to_owned(), weight }
    };
    written.iter().map(resource).collect()
}

/// The amounts of a resource, by what the pod asks of it and what each pod on the node takes; `None` where it does not count.
pub(super) fn amounts(
    world: &World<'_>,
    node: &Value,
    resource: &str,
    asked: &Rounded,
    taken: impl Fn(&Value) -> Rounded,
) -> Option<Amounts> {
    let asked = asked.get(resource).copied().unwrap_or(0);
    if asked == 0 && is_scalar(resource) {
        return None;
    }
    if !matches!(resource, "cpu" | "memory" | "ephemeral-storage") && !is_scalar(resource) {
        return None;
    }
    let allocatable = given_by(node).get(resource).copied().unwrap_or(0);
    let (allocatable, allocated) = match allocatable {
        0 if is_scalar(resource) => devices(world, node, resource)?,
        _ => {
            let pods = world.cluster.pods_on(node);
            let amounts = pods.map(|pod| taken(pod).get(resource).copied().unwrap_or(0));
            (allocatable, amounts.fold(0_i64, i64::wrapping_add))
        }
    };
    let amounts = Amounts { allocatable, allocated, requested: allocated.wrapping_add(asked) };
    Some(amounts).filter(|amounts| amounts.allocatable != 0)
}

/// The devices that serve an extended resource on a node, all and allocated ones; `None` where there are none.
fn devices(world: &World<'_>, node: &Value, resource: &str) -> Option<(i64, i64)> {
    if !world.switches.has("DRAExtendedResource") {
        return None;
    }
    let claims = claims::World { cluster: world.cluster, in_flight: &[], now_s: 0, switches: world.switches };
    claims::devices_for(&claims, &claims::Selectors::default(), resource, node).filter(|(all, _)| *all > 0)
}
