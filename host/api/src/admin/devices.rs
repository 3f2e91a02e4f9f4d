//! Devices in a dump: of each pool how many there are, and how many of them are held. Start at [`DeviceCounts`].
//!
//! A device counts as one whether it is shared, a partition, or what partitions are made of. Taints are not looked at, and with a
//! part of a pool's slices missing nothing is known of its devices. A pool that several nodes may see is counted once, not per
//! node.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use nodesift_cache::metadata::DeviceId;
use nodesift_cache::{PoolState, Row, SeenDevice, SeenPool, Snapshot};

/// The devices of a snapshot.
pub(super) struct DeviceCounts<'a> {
    snapshot: &'a Snapshot,
    /// Devices that an allocation has, or a share of which, that no claim's status shows yet.
    in_flight: BTreeSet<&'a DeviceId>,
}

impl<'a> DeviceCounts<'a> {
    /// Counts of the devices of a snapshot.
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, in_flight: snapshot.claims().in_flight().map(|hold| &hold.device).collect() }
    }

    /// The pools that are the node's own.
    ///
    /// # Errors
    ///
    /// Why it cannot be told which devices are for the node.
    pub(super) fn own(&self, row: Row) -> Result<Vec<PoolCounts<'_>>, Arc<str>> {
        self.seen(row, false)
    }

    /// The pools that other nodes may see as well, with what of them is for the node; none where that cannot be told.
    pub(super) fn wide_of(&self, row: Row) -> Vec<PoolCounts<'_>> {
        self.seen(row, true).unwrap_or_default()
    }

    /// All pools that several nodes may see, each with all its devices.
    pub(super) fn wide(&self) -> impl Iterator<Item = PoolCounts<'_>> {
        self.snapshot.devices().wide().map(|pool| PoolCounts { counts: self, pool: Arc::new(pool) })
    }

    fn seen(&self, row: Row, is_wide: bool) -> Result<Vec<PoolCounts<'_>>, Arc<str>> {
        let devices = self.snapshot.devices();
        let pools = devices.seen_by(row)?;
        let wanted = pools.iter().filter(|pool| devices.is_wide(&pool.name) == is_wide);
        Ok(wanted.map(|pool| PoolCounts { counts: self, pool: Arc::clone(pool) }).collect())
    }
}

/// The devices of one pool, counted when they are encoded.
pub(super) struct PoolCounts<'a> {
    counts: &'a DeviceCounts<'a>,
    pool: Arc<SeenPool>,
}

/// The form in which they are encoded.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counted<'a> {
    driver: &'a str,
    pool: &'a str,
    /// `Ok`; `Incomplete` and `Invalid` pools have no devices until their slices are right.
    state: &'static str,
    /// Number of all devices in the pool.
    devices: usize,
    /// Of them those that a claim has, or a share of which; as with pods, also where a core has only reported it.
    allocated: usize,
    /// Of `allocated` those that a core has reported, and that no claim's status shows yet.
    in_flight: usize,
    /// Devices of which nobody has anything, and for which the pool's counters have enough left.
    free: usize,
}

impl PoolCounts<'_> {
    fn counted(&self) -> Counted<'_> {
        let pool = &*self.pool;
        let state = match pool.state {
            PoolState::Ok => "Ok",
            PoolState::Incomplete => "Incomplete",
            PoolState::Invalid => "Invalid",
        };
        let mut counted = Counted { driver: &pool.name.driver, pool: &pool.name.name, state, ..Counted::default() };
        for seen in pool.devices.iter().filter(|seen| *seen.reaches() == Ok(true)) {
            counted.devices += 1;
            if seen.exclusive() || seen.shared().is_some() {
                counted.allocated += 1;
                counted.in_flight += usize::from(self.is_in_flight(seen));
            } else {
                counted.free += usize::from(has_left(pool, seen));
            }
        }
        counted
    }

    fn is_in_flight(&self, seen: &SeenDevice) -> bool {
        let (name, device) = (&self.pool.name, &seen.device.name);
        let (driver, pool, device) = (Arc::clone(&name.driver), Arc::clone(&name.name), Arc::clone(device));
        self.counts.in_flight.contains(&DeviceId { driver, pool, device })
    }
}

impl Serialize for PoolCounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.counted().serialize(serializer)
    }
}

/// Whether a pool's counters have left what a device draws. It may draw on a counter more than once.
fn has_left(pool: &SeenPool, seen: &SeenDevice) -> bool {
    seen.consumes().iter().all(|(place, _)| {
        let draws = seen.consumes().iter().filter(|(other, _)| other == place);
        let drawn = draws.fold(0_i128, |sum, (_, amount)| sum.saturating_add(*amount));
        let counter = pool.counters.get(*place as usize);
        counter.is_some_and(|counter| drawn <= counter.total.saturating_sub(counter.held))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use nodesift_cache::metadata::{self, SliceRecord, resource_claim};
    use nodesift_cache::{Writer, new};
    use serde_json::{Value, json};

    use super::*;

    fn slice(writer: &mut Writer, name: &str, spec: Value) {
        let mut spec = spec;
        for (field, value) in [("driver", json!("gpu")), ("pool", json!({"name": name, "resourceSliceCount": 1}))] {
            spec.as_object_mut().unwrap().entry(field).or_insert(value);
        }
        let slice = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        writer.apply(SliceRecord::compile(&slice));
    }

    fn result(pool: &str, device: &str) -> Value {
        json!({"request": "r", "driver": "gpu", "pool": pool, "device": device})
    }

    fn claim(writer: &mut Writer, name: &str, results: &[Value]) {
        let claim = json!({"metadata": {"name": name, "uid": name},
                           "status": {"allocation": {"devices": {"results": results}}}});
        writer.apply(resource_claim(&serde_json::from_value(claim).unwrap()));
    }

    fn in_flight(writer: &mut Writer, uid: &str, results: &[Value]) {
        let devices: Vec<_> = results.iter().map(|result| serde_json::from_value(result.clone()).unwrap()).collect();
        writer.hold_in_flight(uid, &devices).unwrap();
    }

    fn nodes(writer: &mut Writer) {
        for (name, rack) in [("a", "1"), ("b", "2")] {
            let node = json!({"metadata": {"name": name, "labels": {"rack": rack}}});
            writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
        }
    }

    fn counted(pool: &str, state: &str, counts: [usize; 4]) -> Value {
        let [devices, allocated, in_flight, free] = counts;
        json!({"driver": "gpu", "pool": pool, "state": state, "devices": devices, "allocated": allocated,
               "inFlight": in_flight, "free": free})
    }

    fn encoded<'a>(pools: impl IntoIterator<Item = PoolCounts<'a>>) -> Value {
        pools.into_iter().map(|pool| serde_json::to_value(pool).unwrap()).collect()
    }

    #[test]
    fn devices_are_counted_whole_shared_and_as_partitions() {
        let (mut writer, reader) = new();
        nodes(&mut writer);
        let named = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Value>();
        slice(&mut writer, "a", json!({"nodeName": "a", "devices": named(&["0", "1", "2", "3"])}));
        claim(&mut writer, "one", &[result("a", "0")]);
        in_flight(&mut writer, "two", &[result("a", "1"), result("a", "gone")]);
        let mut looked_at = result("a", "3");
        looked_at["adminAccess"] = json!(true);
        claim(&mut writer, "looks", &[looked_at]);
        // A device that is shared: a share is written, and another one is on its way.
        let shared = json!([{"name": "0", "allowMultipleAllocations": true, "capacity": {"m": {"value": "8"}}},
                            {"name": "1", "allowMultipleAllocations": true}]);
        slice(&mut writer, "shared", json!({"nodeName": "b", "devices": shared}));
        let share = |id: &str| {
            let mut share = result("shared", "0");
            (share["shareID"], share["consumedCapacity"]) = (json!(id), json!({"m": "2"}));
            share
        };
        claim(&mut writer, "three", &[share("x")]);
        in_flight(&mut writer, "four", &[share("y")]);
        // The whole and its halves: with one half given away the whole cannot be, and the other half can.
        let draws = |name: &str, of: &str| {
            let counters = json!({"counterSet": "s", "counters": {"m": {"value": of}}});
            json!({"name": name, "consumesCounters": [counters]})
        };
        let parts = json!([draws("whole", "4"), draws("left", "2"), draws("right", "2")]);
        let pool = json!({"name": "parts", "resourceSliceCount": 2});
        slice(&mut writer, "parts", json!({"nodeName": "b", "pool": pool, "devices": parts}));
        let sets = json!([{"name": "s", "counters": {"m": {"value": "4"}}}]);
        slice(&mut writer, "counters", json!({"nodeName": "b", "pool": pool, "sharedCounters": sets}));
        claim(&mut writer, "five", &[result("parts", "left")]);
        writer.publish();
        let snapshot = reader.snapshot();
        let counts = DeviceCounts::new(&snapshot);
        let own = |name: &str| encoded(counts.own(snapshot.node_row(name).unwrap()).unwrap());
        assert_eq!(own("a"), json!([counted("a", "Ok", [4, 2, 1, 2])]));
        assert_eq!(own("b"), json!([counted("shared", "Ok", [2, 1, 1, 1])]));
        // Every node sees counters, by the rules of 1.36.
        assert_eq!(encoded(counts.wide()), json!([counted("parts", "Ok", [3, 1, 0, 1])]));
    }

    #[test]
    fn a_pool_of_several_nodes_is_counted_once_and_one_that_is_not_whole_has_no_devices() {
        let (mut writer, reader) = new();
        nodes(&mut writer);
        slice(&mut writer, "net", json!({"allNodes": true, "devices": [{"name": "0"}, {"name": "1"}]}));
        let selecting = |expression: Value| json!({"nodeSelectorTerms": [{"matchExpressions": [expression]}]});
        let rack = selecting(json!({"key": "rack", "operator": "In", "values": ["1"]}));
        let per_device = json!([{"name": "0", "nodeName": "a"}, {"name": "1", "allNodes": true},
                                {"name": "2", "nodeSelector": rack}]);
        slice(&mut writer, "rack", json!({"perDeviceNodeSelection": true, "devices": per_device}));
        let pool = json!({"name": "part", "resourceSliceCount": 2});
        slice(&mut writer, "part", json!({"nodeName": "a", "pool": pool, "devices": [{"name": "0"}]}));
        claim(&mut writer, "one", &[result("net", "0"), result("rack", "2")]);
        writer.publish();
        let snapshot = reader.snapshot();
        let counts = DeviceCounts::new(&snapshot);
        let (a, b) = (snapshot.node_row("a").unwrap(), snapshot.node_row("b").unwrap());
        assert_eq!(encoded(counts.own(a).unwrap()), json!([counted("part", "Incomplete", [0; 4])]));
        assert_eq!(encoded(counts.own(b).unwrap()), json!([]));
        let net = counted("net", "Ok", [2, 1, 0, 1]);
        assert_eq!(encoded(counts.wide()), json!([net, counted("rack", "Ok", [3, 1, 0, 2])]));
        assert_eq!(encoded(counts.wide_of(a)), json!([net, counted("rack", "Ok", [3, 1, 0, 2])]));
        assert_eq!(encoded(counts.wide_of(b)), json!([net, counted("rack", "Ok", [1, 0, 0, 1])]));

        let broken = selecting(json!({"key": "rack", "operator": "?"}));
        slice(&mut writer, "broken", json!({"nodeSelector": broken, "devices": []}));
        writer.publish();
        let snapshot = reader.snapshot();
        let counts = DeviceCounts::new(&snapshot);
        assert!(counts.own(a).is_err_and(|error| !error.is_empty()));
        assert!(counts.wide_of(a).is_empty());
    }
}
