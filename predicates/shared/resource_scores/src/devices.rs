//! Devices that serve an extended resource, counted per row. Start at [`counted`].
//!
//! Equivalent to `calculateDRAResourceTotals` in resource_allocation.go of Kubernetes 1.36, but for pools from which nothing can be
//! allocated, such as those of which ResourceSlices are missing. kube-scheduler counts the devices of every ResourceSlice, also of such a
//! pool, and those of an old generation beside those of the new one; here they are not shown, so that they count neither as there nor as
//! in use.

use nodesift_sdk::columns::node_devices::{self, Answer, DeviceColumns, Kind, Query, Situation};
use nodesift_sdk::columns::pod_claims::{self, Class};
use nodesift_sdk::columns::pod_resources;

use crate::name::may_be_served;

/// Devices of a class that a row sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Number of devices of the class.
    pub(crate) devices: i64,
    /// Number of these devices that claims have, or have shares of.
    pub(crate) in_use: i64,
}

/// Per row the devices of the class that serves a resource which the pod asks for; none where no class does. A row has 0 where a selector
/// of the class fails on one of its devices, as kube-scheduler leaves the resource out then.
pub(crate) fn counted(resource: &str) -> Option<Vec<Counted>> {
    // One without selectors has every device.
    let lists = class_of(resource)?.selectors.filter(|list| !list.is_empty()).into_iter().collect();
    let devices = node_devices::devices(&Query { selector_lists: lists, attributes: Vec::new(), names: false });
    let by_situation = by_situation(&devices);
    let row = |situation: &u32| by_situation.get(*situation as usize).copied().unwrap_or_default();
    Some(devices.codes.iter().map(row).collect())
}

/// The class that serves a resource. `pod-claims` lists what the spec of the pod asks for without names, in the order of `pod-resources`,
/// which the host's tests of its claims assert. An accounting component can name other resources there: where that changes their number,
/// no class is told; one that gives an extended resource another name, and no other number of them, has the class of the one in its place.
fn class_of(resource: &str) -> Option<Class> {
    if !may_be_served(resource) {
        return None;
    }
    let extended = pod_claims::extended()?.resources;
    let requests = pod_resources::requests();
    let asked: Vec<&str> = requests
        .iter()
        .filter(|request| request.amount != 0 && may_be_served(&request.resource))
        .map(|request| &*request.resource)
        .collect();
    if asked.len() != extended.len() {
        return None;
    }
    asked.iter().zip(extended).find(|(name, _)| **name == resource)?.1.class
}

fn by_situation(devices: &DeviceColumns) -> Vec<Counted> {
    let mut pools = devices.pools.iter();
    let mut of_pools = devices.device_kinds.iter().zip(&devices.in_use);
    let mut counted = Vec::with_capacity(devices.situations.len());
    for situation in &devices.situations {
        let number = if let Situation::Pools(number) = situation { *number } else { 0 };
        let mut count = Counted::default();
        let mut has_failed = false;
        for pool in pools.by_ref().take(number as usize) {
            for (kind, in_use) in of_pools.by_ref().take(pool.devices as usize) {
                match devices.kinds.get(*kind as usize).map_or(Some(false), counts) {
                    Some(true) => {
                        count.devices += 1;
                        count.in_use += i64::from(*in_use != 0);
                    }
                    Some(false) => {}
                    None => has_failed = true,
                }
            }
        }
        counted.push(if has_failed { Counted::default() } else { count });
    }
    counted
}

/// Whether devices of a kind are for the row and of the class; none where that cannot be said.
fn counts(kind: &Kind) -> Option<bool> {
    for answer in std::iter::once(&kind.reaches).chain(&kind.matches) {
        match answer {
            Answer::Yes => {}
            Answer::No => return Some(false),
            Answer::Error(_) => return None,
        }
    }
    Some(true)
}
