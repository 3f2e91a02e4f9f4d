//! DeviceClasses whose claims nobody allocates: no party of the policy takes them, and no device is known that could be of them. Start at
//! [`untaken_classes`].

use std::collections::BTreeSet;
use std::sync::Arc;

use nodesift_cache::metadata::ClassRecord;
use nodesift_cache::{Row, Snapshot};
use nodesift_negotiation::Concern;

use super::driver::can_select;
use crate::limits::UNTAKEN_CLASSES;
use crate::party::PolicyParty;

/// These classes, in the order of names, at most [`UNTAKEN_CLASSES`]; none where no party is about claims.
pub(crate) fn untaken_classes(snapshot: &Snapshot, parties: &[PolicyParty]) -> Vec<Arc<str>> {
    if parties.iter().all(|known| known.party.concern == Concern::Pods) {
        return Vec::new();
    }
    let is_untaken = |class: &&Arc<ClassRecord>| !parties.iter().any(|known| takes(&known.party.concern, class));
    let untaken: Vec<&Arc<ClassRecord>> = snapshot.claims().classes().filter(is_untaken).collect();
    if untaken.is_empty() {
        return Vec::new();
    }
    let rows = u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX);
    let pools = (0..rows).filter_map(|row| snapshot.devices().pools_of(Row(row)).ok()).flatten();
    let drivers: BTreeSet<&str> = pools.map(|pool| &*pool.name.driver).collect();
    let has_devices = |class: &ClassRecord| drivers.iter().any(|driver| may_be_of(class, driver));
    let idle = untaken.into_iter().filter(|class| !has_devices(class));
    idle.take(UNTAKEN_CLASSES).map(|class| Arc::clone(&class.name)).collect()
}

fn takes(concern: &Concern, class: &ClassRecord) -> bool {
    match concern {
        Concern::Pods => false,
        Concern::DeviceClass(name) => **name == *class.name,
        Concern::Driver(driver) => may_be_of(class, driver),
    }
}

/// Whether a device of a driver may be of a class.
fn may_be_of(class: &ClassRecord, driver: &str) -> bool {
    class.selectors.iter().flatten().all(|expression| can_select(expression, driver))
}
