//! Devices and capacity that allocated claims hold: in the cluster, and decided but not yet written.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_fixtures::json::{entries, flag, is_set, list, text};
use serde_json::Value;

use super::{DeviceId, World};
use crate::quantity::Quantity;

/// Amounts of capacity by name.
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// Devices that claims hold.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Devices that one claim has for itself.
    pub(super) exclusive: BTreeSet<DeviceId>,
    /// Devices of which claims have shares, with the capacity of all shares.
    pub(super) shared: BTreeMap<DeviceId, Amounts>,
    /// Of these, those with a share that says what it consumes.
    pub(super) consumed: BTreeSet<DeviceId>,
}

impl Held {
    /// Gathers the devices of all claims. Those with admin access do not count.
    pub(super) fn gather(world: &World<'_>) -> Self {
        let mut held = Self::default();
        let claims = world.cluster.all("ResourceClaim").chain(world.in_flight);
        for result in claims.flat_map(|claim| list(claim, "status.allocation.devices.results")) {
            if flag(result, "adminAccess") {
                continue;
            }
            let device = device_of(result);
            if is_set(result, "shareID") && world.switches.has("DRAConsumableCapacity") {
                if is_set(result, "consumedCapacity") {
                    held.consumed.insert(device.clone());
                }
                add(held.shared.entry(device).or_default(), &amounts(result, "consumedCapacity"));
            } else {
                held.exclusive.insert(device);
            }
        }
        held
    }

    /// Whether anybody holds the device or a share of it.
    pub(super) fn has(&self, device: &DeviceId) -> bool {
        self.exclusive.contains(device) || self.shared.contains_key(device)
    }
}

fn device_of(result: &Value) -> DeviceId {
    DeviceId(text(result, "driver").to_owned(), text(result, "pool").to_owned(), text(result, "device").to_owned())
}

/// The quantities at a path.
pub(super) fn amounts(object: &Value, path: &str) -> Amounts {
    let read = |(name, value): (&String, &Value)| (name.clone(), Quantity::read(value).unwrap_or(Quantity::ZERO));
    entries(object, path).into_iter().map(read).collect()
}

/// Adds amounts to a sum, by name.
pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_insert(Quantity::ZERO);
        *sum = sum.plus(*amount);
    }
}
