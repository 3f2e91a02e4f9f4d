//! ResourceSlices to the pools that a node sees.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_fixtures::json::{at, entries, flag, is_set, labels, list, name, text};
use serde_json::{Map, Value, json};

use super::state::Held;
use super::{DeviceId, World};
use crate::quantity::Quantity;
use crate::selector::{node_selector_errors, node_selector_matches};

/// A pool of devices as a node sees it.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub(super) driver: &'a str,
    pub(super) name: &'a str,
    /// Slices are missing: nothing is allocated from it.
    pub(super) is_incomplete: bool,
    /// It contradicts itself: nothing is allocated from it.
    pub(super) is_invalid: bool,
    /// The devices that the node may reach, in order: slice and device. Of an incomplete pool those that can be picked nevertheless, of
    /// an invalid one those that show why.
    pub(super) devices: Vec<(&'a Value, &'a Value)>,
    /// A device name that it has twice.
    pub(super) duplicate: Option<&'a str>,
    /// Counters of the pool, by set and name; more can be held than there is.
    pub(super) counters: BTreeMap<(String, String), Left>,
}

/// A counter: what there is, and what devices that are held consume of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) total: Quantity,
    pub(super) held: Quantity,
}

impl Pool<'_> {
    pub(super) fn device_id(&self, device: &Value) -> DeviceId {
        DeviceId(self.driver.to_owned(), self.name.to_owned(), text(device, "name").to_owned())
    }

    /// The pool as a value, for those who keep pools in another way.
    pub(super) fn seen(&self, world: &World<'_>, held: &Held, node: &Value) -> Value {
        let state = match (self.is_incomplete, self.is_invalid) {
            (true, _) => "incomplete",
            (_, true) => "invalid",
            _ => "ok",
        };
        let counters = self.counters.iter().map(|((set, name), left)| {
            json!({"set": set, "name": name, "total": left.total.decimal(), "held": left.held.decimal()})
        });
        let devices = self.devices.iter().map(|(slice, device)| {
            let id = self.device_id(device);
            let shared = held.shared.get(&id).map(|amounts| {
                amounts.iter().map(|(name, amount)| (name.clone(), json!(amount.decimal()))).collect::<Map<_, _>>()
            });
            let reaches = match flag(slice, "spec.perDeviceNodeSelection") {
                true => is_for_node(device, node),
                false => Ok(true),
            };
            let mut device = (*device).clone();
            device["taints"] = taints_of(world, self, &device).into();
            json!({
                "slice": name(slice),
                "device": device,
                "hidden": is_hidden(world, &device),
                "reaches": reaches.map_or_else(Value::from, Value::from),
                "exclusive": held.exclusive.contains(&id),
                "shared": shared,
            })
        });
        json!({
            "driver": self.driver,
            "name": self.name,
            "state": state,
            "counters": counters.collect::<Vec<_>>(),
            "devices": devices.collect::<Vec<_>>(),
        })
    }

    fn binds(&self) -> bool {
        self.devices.iter().any(|(_, device)| is_set(device, "bindingConditions"))
    }
}

/// The taints of a device: its own, then those of rules.
pub(super) fn taints_of(world: &World<'_>, pool: &Pool<'_>, device: &Value) -> Vec<Value> {
    let mut taints = list(device, "taints").to_vec();
    if !world.switches.has("DRADeviceTaintRules") {
        return taints;
    }
    for rule in world.cluster.all("DeviceTaintRule") {
        let selector = at(rule, "spec.deviceSelector");
        let is_any_or = |field: &str, value: &str| !is_set(selector, field) || text(selector, field) == value;
        let matches = is_any_or("driver", pool.driver)
            && is_any_or("pool", pool.name)
            && is_any_or("device", text(device, "name"));
        let selects = !selector.is_null() || world.switches.has("TaintRuleWithoutSelectorTaintsAll");
        if selects && matches {
            taints.push(at(rule, "spec.taint").clone());
        }
    }
    taints
}

/// Whether a gate keeps a device from every request.
pub(super) fn is_hidden(world: &World<'_>, device: &Value) -> bool {
    !world.switches.has("DRADeviceBindingConditions") && !list(device, "bindingConditions").is_empty()
}

/// Whether slices like this are left out by gates.
fn is_left_out(world: &World<'_>, slice: &Value) -> bool {
    let has_counters = !list(slice, "spec.sharedCounters").is_empty() && !world.switches.has("ExperimentalAllocator");
    let is_partitionable = has_counters || is_set(slice, "spec.perDeviceNodeSelection");
    (is_partitionable && !world.switches.has("DRAPartitionableDevices")) || has_groups(world, slice)
}

/// Whether a slice has devices that only some others may be combined with, which no allocator here can do.
fn has_groups(world: &World<'_>, slice: &Value) -> bool {
    let consumptions = list(slice, "spec.devices").iter().flat_map(|device| list(device, "consumesCounters"));
    let mut groups = consumptions.flat_map(|consumption| list(consumption, "compatibilityGroups"));
    world.switches.has("CompatibilityGroups") && groups.next().is_some()
}

/// Whether a slice or device of these fields is for the node, or what is wrong with its selector.
pub(super) fn is_for_node(fields: &Value, node: &Value) -> Result<bool, String> {
    if !text(fields, "nodeName").is_empty() {
        return Ok(text(fields, "nodeName") == name(node));
    }
    let selector = at(fields, "nodeSelector");
    if flag(fields, "allNodes") || selector.is_null() {
        return Ok(flag(fields, "allNodes"));
    }
    match node_selector_errors(selector) {
        Some(errors) => Err(format!("failed to parse node selector: {errors}")),
        None => Ok(node_selector_matches(selector, labels(node), name(node))),
    }
}

fn is_relevant(world: &World<'_>, slice: &Value, node: &Value) -> Result<bool, String> {
    let spec = at(slice, "spec");
    if is_left_out(world, slice) {
        return Ok(false);
    }
    if world.switches.has("SharedCountersOnEveryNode")
        && !world.switches.has("ExperimentalAllocator")
        && !list(spec, "sharedCounters").is_empty()
    {
        return Ok(true);
    }
    if !text(spec, "nodeName").is_empty() || flag(spec, "allNodes") || is_set(spec, "nodeSelector") {
        return is_for_node(spec, node)
            .map_err(|error| format!("failed to perform node selection for slice {}: {error}", name(slice)));
    }
    if !flag(spec, "perDeviceNodeSelection") {
        return Ok(false);
    }
    for device in list(spec, "devices") {
        let relevant = is_for_node(device, node);
        if relevant.map_err(|error| format!("failed to perform node selection for slice {}: {error}", name(slice)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn generation(slice: &Value) -> i64 {
    at(slice, "spec.pool.generation").as_i64().unwrap_or(0)
}

fn pool_of(slice: &Value) -> (&str, &str) {
    (text(slice, "spec.driver"), text(slice, "spec.pool.name"))
}

/// The pools of a node: by driver and name, those with binding conditions last.
pub(super) fn gather<'a>(world: &World<'a>, held: &Held, node: &Value) -> Result<Vec<Pool<'a>>, String> {
    let cluster = world.cluster;
    let mut seen: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
    for slice in cluster.all("ResourceSlice") {
        if is_relevant(world, slice, node)? {
            seen.entry(pool_of(slice)).or_default().push(slice);
        }
    }
    let mut pools = Vec::new();
    for (id, mut here) in seen {
        // Only the newest generation that the node sees counts.
        let newest = here.iter().map(|slice| generation(slice)).max().unwrap_or(0);
        here.retain(|slice| generation(slice) == newest);
        let count = |slices: &[&Value]| i64::try_from(slices.len()).unwrap_or(i64::MAX);
        let wanted = at(here[0], "spec.pool.resourceSliceCount").as_i64().unwrap_or(0);
        let mut elsewhere: Vec<&Value> = Vec::new();
        let is_incomplete = count(&here) != wanted;
        if is_incomplete && !world.switches.has("ExperimentalAllocator") {
            let all: Vec<&Value> = cluster.all("ResourceSlice").filter(|slice| pool_of(slice) == id).collect();
            if all.iter().any(|slice| generation(slice) > newest) {
                // The node's devices are gone with the new generation.
                continue;
            }
            let is_newest = |slice: &&Value| generation(slice) == newest && !has_groups(world, slice);
            let all: Vec<&Value> = all.into_iter().filter(is_newest).collect();
            if count(&all) != wanted {
                pools.push(Pool { is_incomplete: true, ..empty(id) });
                continue;
            }
            elsewhere = all.into_iter().filter(|slice| here.iter().all(|known| name(known) != name(slice))).collect();
        }
        here.sort_by_key(|slice| name(slice));
        let built = build(world, id, &here, &elsewhere, held);
        let mut pool = built.unwrap_or_else(|duplicate| Pool { is_invalid: true, duplicate, ..empty(id) });
        if pool.is_invalid && world.switches.has("ExperimentalAllocator") {
            let devices = |slice: &'a Value| list(slice, "spec.devices").iter().map(move |device| (slice, device));
            pool.devices = here.iter().flat_map(|slice| devices(slice)).collect();
        }
        pool.is_incomplete = is_incomplete && !pool.is_invalid && world.switches.has("ExperimentalAllocator");
        pools.push(pool);
    }
    let (binding, mut pools): (Vec<Pool<'_>>, Vec<Pool<'_>>) = pools.into_iter().partition(Pool::binds);
    pools.extend(binding);
    Ok(pools)
}

fn empty<'a>((driver, name): (&'a str, &'a str)) -> Pool<'a> {
    Pool {
        driver,
        name,
        is_incomplete: false,
        is_invalid: false,
        devices: Vec::new(),
        duplicate: None,
        counters: BTreeMap::new(),
    }
}

/// A pool; an error where it is invalid, with the name of a device that it has twice.
fn build<'a>(
    world: &World<'_>,
    id: (&'a str, &'a str),
    here: &[&'a Value],
    elsewhere: &[&'a Value],
    held: &Held,
) -> Result<Pool<'a>, Option<&'a str>> {
    let has_gate = world.switches.has("DRAPartitionableDevices");
    let has_counters = |slice: &&&'a Value| has_gate && !list(slice, "spec.sharedCounters").is_empty();
    let mut pool = empty(id);
    let mut names = BTreeSet::new();
    for slice in here.iter().filter(|slice| !has_counters(slice)) {
        for device in list(slice, "spec.devices") {
            if !names.insert(text(device, "name")) {
                return Err(Some(text(device, "name")));
            }
            pool.devices.push((slice, device));
        }
    }
    if !has_gate {
        return Ok(pool);
    }
    let mut sets = BTreeSet::new();
    for set in here.iter().chain(elsewhere).flat_map(|slice| list(slice, "spec.sharedCounters")) {
        if !sets.insert(text(set, "name")) {
            return Err(None);
        }
        for (counter, value) in entries(set, "counters") {
            let total = Quantity::read(at(value, "value")).unwrap_or(Quantity::ZERO);
            let key = (text(set, "name").to_owned(), counter.clone());
            pool.counters.insert(key, Left { total, held: Quantity::ZERO });
        }
    }
    let all = here.iter().chain(elsewhere).filter(|slice| !has_counters(slice));
    for device in all.flat_map(|slice| list(slice, "spec.devices")) {
        let is_held = held.has(&pool.device_id(device));
        for consumption in list(device, "consumesCounters") {
            if !sets.contains(text(consumption, "counterSet")) {
                return Err(None);
            }
        }
        for (key, amount) in consumed_counters(device) {
            let left = pool.counters.get_mut(&key).ok_or(None)?;
            if is_held {
                left.held = left.held.plus(amount);
            }
        }
    }
    Ok(pool)
}

/// Returns the amounts that a device consumes, each with set and name of its counter.
pub(super) fn consumed_counters(device: &Value) -> Vec<((String, String), Quantity)> {
    let mut consumed = Vec::new();
    for consumption in list(device, "consumesCounters") {
        let set = text(consumption, "counterSet");
        for (counter, value) in entries(consumption, "counters") {
            let amount = Quantity::read(at(value, "value")).unwrap_or(Quantity::ZERO);
            consumed.push(((set.to_owned(), counter.clone()), amount));
        }
    }
    consumed
}
