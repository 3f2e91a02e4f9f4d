//! Reference for the pools that a node sees: gathered from all slices, slow and obvious.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::devices::{PoolState, SeenPools};
use crate::metadata::NodeFacts;
use nodesift_object::claim::AllocatedDevice;
use nodesift_object::device::{Device, ResourceSlice};
use nodesift_object::selector::NodeSelector;

/// The pools that a node sees, or the error.
pub(super) type View = Result<Vec<PoolView>, String>;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PoolView {
    pub(super) driver: String,
    pub(super) name: String,
    pub(super) state: String,
    /// Total and what is held.
    pub(super) counters: Vec<(i128, i128)>,
    pub(super) devices: Vec<DeviceView>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeviceView {
    pub(super) name: String,
    pub(super) model: String,
    pub(super) memory: String,
    pub(super) reaches: Result<bool, String>,
    pub(super) exclusive: bool,
    pub(super) shared: Option<BTreeMap<String, i128>>,
    pub(super) consumes: Vec<(u32, i128)>,
}

/// Converts the pools of a row to the form of the reference.
pub(super) fn view_of(seen: &Result<SeenPools, Arc<str>>) -> View {
    let pools = seen.as_ref().map_err(ToString::to_string)?;
    let pool = |pool: &Arc<crate::SeenPool>| PoolView {
        driver: pool.name.driver.to_string(),
        name: pool.name.name.to_string(),
        state: match pool.state {
            PoolState::Ok => "ok",
            PoolState::Incomplete => "incomplete",
            PoolState::Invalid => "invalid",
        }
        .to_owned(),
        counters: pool.counters.iter().map(|counter| (counter.total, counter.held)).collect(),
        devices: pool
            .devices
            .iter()
            .map(|seen| DeviceView {
                name: seen.device.name.to_string(),
                model: format!("{:?}", seen.device.attribute(&format!("{}/model", seen.device.driver()))),
                memory: seen
                    .device
                    .traits()
                    .content
                    .capacities
                    .first()
                    .map_or_else(String::new, |it| it.text.to_string()),
                reaches: seen.reaches().clone().map_err(|error| error.to_string()),
                exclusive: seen.exclusive(),
                shared: seen.shared().map(|shared| shared.iter().map(|(k, v)| (k.to_string(), *v)).collect()),
                consumes: seen.consumes().to_vec(),
            })
            .collect(),
    };
    Ok(pools.iter().map(pool).collect())
}

/// Devices in use, by driver, pool and name.
pub(super) struct Held {
    exclusive: BTreeSet<[String; 3]>,
    shared: BTreeMap<[String; 3], BTreeMap<String, i128>>,
}

impl Held {
    pub(super) fn new(results: &[AllocatedDevice]) -> Self {
        let mut held = Self { exclusive: BTreeSet::new(), shared: BTreeMap::new() };
        for result in results.iter().filter(|result| !result.admin_access) {
            let id = [result.driver.clone(), result.pool.clone(), result.device.clone()];
            if result.share_id.is_none() {
                held.exclusive.insert(id);
                continue;
            }
            let amounts = held.shared.entry(id).or_default();
            for (name, amount) in result.consumed_capacity.iter() {
                let sum = amounts.entry(name.to_owned()).or_default();
                *sum = sum.saturating_add(amount.nano());
            }
        }
        held
    }
}

/// The pools that a node sees.
pub(super) fn gather(slices: &BTreeMap<String, ResourceSlice>, held: &Held, node: &NodeFacts) -> View {
    let mut seen: BTreeMap<(&str, &str), Vec<&ResourceSlice>> = BTreeMap::new();
    for slice in slices.values() {
        let error = |error| format!("failed to perform node selection for slice {}: {error}", slice.metadata.name);
        if is_relevant(slice, node).map_err(error)? {
            seen.entry((&slice.spec.driver, &slice.spec.pool.name)).or_default().push(slice);
        }
    }
    let mut pools = Vec::new();
    for (id, here) in seen {
        let newest = here.iter().map(|slice| slice.spec.pool.generation).max().unwrap();
        let is_newest = |slice: &&ResourceSlice| slice.spec.pool.generation == newest;
        let here: Vec<&ResourceSlice> = here.into_iter().filter(is_newest).collect();
        let wanted = here[0].spec.pool.resource_slice_count;
        let of_pool = |slice: &&ResourceSlice| (&*slice.spec.driver, &*slice.spec.pool.name) == id;
        let everywhere: Vec<&ResourceSlice> = slices.values().filter(of_pool).collect();
        let empty = |state: &str| PoolView {
            driver: id.0.to_owned(),
            name: id.1.to_owned(),
            state: state.to_owned(),
            counters: Vec::new(),
            devices: Vec::new(),
        };
        let mut all = here.clone();
        if here.len() as i64 != wanted {
            if everywhere.iter().any(|slice| slice.spec.pool.generation > newest) {
                continue;
            }
            all = everywhere.into_iter().filter(is_newest).collect();
            if all.len() as i64 != wanted {
                pools.push((false, empty("incomplete")));
                continue;
            }
        }
        let binds = |slice: &&ResourceSlice| devices(slice).iter().any(|device| device.binding_conditions.is_some());
        match complete(id, &here, &all, held, node) {
            Some(pool) => pools.push((here.iter().any(binds), PoolView { ..pool })),
            None => pools.push((false, empty("invalid"))),
        }
    }
    pools.sort_by_key(|(binds, _)| *binds);
    Ok(pools.into_iter().map(|(_, pool)| pool).collect())
}

/// The devices of a slice that has no counters.
pub(super) fn devices(slice: &ResourceSlice) -> &[Device] {
    if slice.spec.shared_counters.is_empty() { &slice.spec.devices } else { &[] }
}

/// A pool of which no slice is missing; `None` where it contradicts itself.
fn complete(
    id: (&str, &str),
    here: &[&ResourceSlice],
    all: &[&ResourceSlice],
    held: &Held,
    node: &NodeFacts,
) -> Option<PoolView> {
    let sets: Vec<_> = all.iter().flat_map(|slice| &slice.spec.shared_counters).collect();
    let mut counters: BTreeMap<(&str, &str), (i128, i128)> = BTreeMap::new();
    for (number, set) in sets.iter().enumerate() {
        if sets[..number].iter().any(|other| other.name == set.name) {
            return None;
        }
        counters.extend(set.counters.iter().map(|(name, it)| ((&*set.name, name), (it.value.nano(), 0))));
    }
    let id_of = |device: &Device| [id.0.to_owned(), id.1.to_owned(), device.name.clone()];
    for device in all.iter().flat_map(|slice| devices(slice)) {
        for draw in &device.consumes_counters {
            if !sets.iter().any(|set| set.name == draw.counter_set) {
                return None;
            }
            for (name, amount) in draw.counters.iter() {
                let counter = counters.get_mut(&(&*draw.counter_set, name))?;
                if held.exclusive.contains(&id_of(device)) || held.shared.contains_key(&id_of(device)) {
                    counter.1 = counter.1.saturating_add(amount.value.nano());
                }
            }
        }
    }
    let place = |set: &str, name: &str| counters.keys().position(|key| *key == (set, name)).unwrap() as u32;
    let mut views: Vec<DeviceView> = Vec::new();
    for slice in here {
        for device in devices(slice) {
            if views.iter().any(|other| other.name == device.name) {
                return None;
            }
            let draws = device.consumes_counters.iter().flat_map(|draw| {
                draw.counters.iter().map(|(name, it)| (place(&draw.counter_set, name), it.value.nano()))
            });
            views.push(DeviceView {
                name: device.name.clone(),
                model: format!("{:?}", device.attributes.get("model")),
                memory: device.capacity.get("memory").unwrap().value.text.clone(),
                reaches: match slice.spec.per_device_node_selection {
                    true => is_for_node(&device.node_name, device.all_nodes, &device.node_selector, node),
                    false => Ok(true),
                },
                exclusive: held.exclusive.contains(&id_of(device)),
                shared: held.shared.get(&id_of(device)).cloned(),
                consumes: draws.collect(),
            });
        }
    }
    Some(PoolView {
        driver: id.0.to_owned(),
        name: id.1.to_owned(),
        state: "ok".to_owned(),
        counters: counters.values().copied().collect(),
        devices: views,
    })
}

pub(super) fn is_relevant(slice: &ResourceSlice, node: &NodeFacts) -> Result<bool, String> {
    let spec = &slice.spec;
    let named = spec.node_name.as_ref().is_some_and(|name| !name.is_empty());
    if named || spec.all_nodes || spec.node_selector.is_some() {
        return is_for_node(&spec.node_name, spec.all_nodes, &spec.node_selector, node);
    }
    if spec.per_device_node_selection {
        for device in &spec.devices {
            if is_for_node(&device.node_name, device.all_nodes, &device.node_selector, node)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_for_node(
    named: &Option<String>,
    all_nodes: bool,
    selector: &Option<NodeSelector>,
    node: &NodeFacts,
) -> Result<bool, String> {
    if let Some(name) = named.as_ref().filter(|name| !name.is_empty()) {
        return Ok(**name == *node.name);
    }
    let Some(selector) = selector.as_ref().filter(|_| !all_nodes) else { return Ok(all_nodes) };
    // The selectors of this test have one requirement, about the zone.
    let zones = &selector.node_selector_terms[0].match_expressions[0].values;
    if zones.is_empty() {
        let place = "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null";
        let reason = "for 'in', 'notin' operators, values set can't be empty";
        return Err(format!("failed to parse node selector: {place}: {reason}"));
    }
    Ok(node.labels.iter().any(|(key, value)| &**key == "zone" && zones.iter().any(|zone| **zone == **value)))
}
