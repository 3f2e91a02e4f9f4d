//! VolumeBinding: how much of the storage the pod's unbound claims would take.
//!
//! Source: P/volumebinding/{volume_binding,scorer}.go. From 1.37 on, where StorageCapacityScoring is on.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{at, list};
use serde_json::Value;

use super::shape::{line, rounded_ratio, shape};
use super::{LARGEST, Raw, World};
use crate::filters::volume_binding::volumes_on;
use crate::quantity::Quantity;
use crate::volumes::{asked_storage, class_of_claim, class_of_volume};

/// The mean over storage classes; 0 where no class is known.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    if !world.switches.has("StorageCapacityScoring") {
        return Ok(None);
    }
    let mut points = shape(list(world.profile.arguments("VolumeBinding"), "shape"));
    if points.is_empty() {
        points = vec![(0, LARGEST), (LARGEST, 0)];
    }
    let score = |node: &&Value| {
        let classes = classes(world, pod, node);
        let score = |(requested, capacity): &(i64, i64)| match *capacity == 0 || requested > capacity {
            true => line(&points, LARGEST),
            false => line(&points, requested.wrapping_mul(LARGEST).wrapping_div(*capacity)),
        };
        let count = i64::try_from(classes.len()).unwrap_or(i64::MAX);
        Some(if count == 0 { 0 } else { rounded_ratio(classes.values().map(score).sum(), count) })
    };
    Ok(Some(feasible.iter().map(score).collect()))
}

/// By class what is asked for, and what there is: of volumes that are there already, or of storage where none of them is taken.
fn classes(world: &World<'_>, pod: &Value, node: &Value) -> BTreeMap<String, (i64, i64)> {
    let mut classes: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let volumes = volumes_on(world.cluster, pod, node);
    let asked = |claim: &Value| asked_storage(claim).map_or(0, Quantity::value);
    let size = |object: &Value, path: &str| Quantity::read(at(object, path)).map_or(0, Quantity::value);
    for (claim, volume) in &volumes.taken {
        // kube-scheduler takes the spec's name, also where the annotation of old has another one.
        let sums = classes.entry(class_of_volume(volume).to_owned()).or_default();
        sums.0 = sums.0.wrapping_add(asked(claim));
        sums.1 = sums.1.wrapping_add(size(volume, "spec.capacity.storage"));
    }
    if volumes.taken.is_empty() {
        for (claim, capacity) in volumes.provisioned {
            let Some(capacity) = capacity else { continue };
            let sums = classes.entry(class_of_claim(claim).to_owned()).or_default();
            sums.0 = sums.0.wrapping_add(asked(claim));
            sums.1 = size(capacity, "capacity");
        }
    }
    classes
}
