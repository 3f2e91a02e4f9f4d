//! Reference for the pools that a node sees: gathered from all slices, slow and obvious.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::DeviceRules;
use crate::devices::{PoolState, SeenPools};
use crate::metadata::NodeFacts;
use nodesift_object::claim::AllocatedDevice;
use nodesift_object::device::{Device, DeviceTaintRule, ResourceSlice};
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
    /// Keys of the taints of a device, in their order.
    pub(super) taints: Vec<String>,
}

/// Nodes that a pool can be seen from.
#[derive(Clone, Copy)]
pub(super) struct Offers<'a> {
    pub(super) slices: &'a BTreeMap<String, ResourceSlice>,
    pub(super) taint_rules: &'a BTreeMap<String, DeviceTaintRule>,
    pub(super) rules: DeviceRules,
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
                taints: {
                    let traits = &seen.device.traits().content;
                    traits.taints.iter().chain(&traits.rule_taints).map(|taint| taint.key.clone()).collect()
                },
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
pub(super) fn gather(offers: Offers<'_>, held: &Held, node: &NodeFacts) -> View {
    let Offers { slices, rules, .. } = offers;
    let mut seen: BTreeMap<(&str, &str), Vec<&ResourceSlice>> = BTreeMap::new();
    for slice in slices.values() {
        let error = |error| format!("failed to perform node selection for slice {}: {error}", slice.metadata.name);
        if is_relevant(slice, node, rules).map_err(error)? {
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
        let is_incomplete = here.len() as i64 != wanted;
        if is_incomplete && !rules.shows_all_pools {
            if everywhere.iter().any(|slice| slice.spec.pool.generation > newest) {
                continue;
            }
            let has_groups = |slice: &&ResourceSlice| rules.leaves_out_groups && has_groups(slice);
            all = everywhere.into_iter().filter(is_newest).filter(|slice| !has_groups(slice)).collect();
            if all.len() as i64 != wanted {
                pools.push((false, empty("incomplete")));
                continue;
            }
        }
        let binds = |slice: &&ResourceSlice| {
            let devices = devices(slice, rules).iter();
            devices.filter(|device| !is_hidden(device, rules)).any(|device| device.binding_conditions.is_some())
        };
        let mut pool = complete(id, &here, &all, held, node, offers);
        if rules.shows_all_pools && pool.is_none() {
            let devices = here.iter().flat_map(|slice| devices(slice, rules));
            let devices = devices.map(|device| DeviceView {
                reaches: Ok(true),
                exclusive: false,
                shared: None,
                consumes: Vec::new(),
                ..view(id, device, offers)
            });
            let binds =
                here.iter().flat_map(|slice| self::devices(slice, rules)).any(|it| it.binding_conditions.is_some());
            let devices = devices.collect();
            pools.push((binds, PoolView { devices, ..empty("invalid") }));
            continue;
        }
        if let Some(pool) = pool.as_mut().filter(|_| is_incomplete && rules.shows_all_pools) {
            pool.state = "incomplete".to_owned();
        }
        match pool {
            Some(pool) => pools.push((here.iter().any(binds), pool)),
            None => pools.push((false, empty("invalid"))),
        }
    }
    pools.sort_by_key(|(binds, _)| *binds);
    Ok(pools.into_iter().map(|(_, pool)| pool).collect())
}

/// The devices of a slice that has no counters, or of any where counters are not known.
pub(super) fn devices(slice: &ResourceSlice, rules: DeviceRules) -> &[Device] {
    if slice.spec.shared_counters.is_empty() || !rules.partitionable { &slice.spec.devices } else { &[] }
}

fn is_hidden(device: &Device, rules: DeviceRules) -> bool {
    !rules.binding_conditions && device.binding_conditions.as_ref().is_some_and(|conditions| !conditions.is_empty())
}

fn has_groups(slice: &ResourceSlice) -> bool {
    let mut draws = slice.spec.devices.iter().flat_map(|device| &device.consumes_counters);
    draws.any(|draw| !draw.compatibility_groups.is_empty())
}

/// A device as it is written, with the taints of rules.
fn view(id: (&str, &str), device: &Device, offers: Offers<'_>) -> DeviceView {
    let is_any_or = |selected: &Option<String>, name: &str| selected.as_ref().is_none_or(|it| it == name);
    let applies = |rule: &&DeviceTaintRule| {
        offers.rules.taint_rules
            && rule.spec.device_selector.as_ref().map_or(offers.rules.bare_taint_rules, |selector| {
                is_any_or(&selector.driver, id.0)
                    && is_any_or(&selector.pool, id.1)
                    && is_any_or(&selector.device, &device.name)
            })
    };
    let ruled = offers.taint_rules.values().filter(applies).map(|rule| &rule.spec.taint);
    DeviceView {
        name: device.name.clone(),
        model: format!("{:?}", device.attributes.get("model")),
        memory: device.capacity.get("memory").unwrap().value.text.clone(),
        reaches: Ok(true),
        exclusive: false,
        shared: None,
        consumes: Vec::new(),
        taints: device.taints.iter().chain(ruled).map(|taint| taint.key.clone()).collect(),
    }
}

/// A pool of which no slice is missing; `None` where it contradicts itself.
fn complete(
    id: (&str, &str),
    here: &[&ResourceSlice],
    all: &[&ResourceSlice],
    held: &Held,
    node: &NodeFacts,
    offers: Offers<'_>,
) -> Option<PoolView> {
    let rules = offers.rules;
    let with_counters = all.iter().filter(|_| rules.partitionable);
    let sets: Vec<_> = with_counters.flat_map(|slice| &slice.spec.shared_counters).collect();
    let mut counters: BTreeMap<(&str, &str), (i128, i128)> = BTreeMap::new();
    for (number, set) in sets.iter().enumerate() {
        if sets[..number].iter().any(|other| other.name == set.name) {
            return None;
        }
        counters.extend(set.counters.iter().map(|(name, it)| ((&*set.name, name), (it.value.nano(), 0))));
    }
    let id_of = |device: &Device| [id.0.to_owned(), id.1.to_owned(), device.name.clone()];
    for device in all.iter().flat_map(|slice| devices(slice, rules)) {
        for draw in device.consumes_counters.iter().filter(|_| rules.partitionable) {
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
    let mut names = BTreeSet::new();
    for slice in here {
        for device in devices(slice, rules) {
            if !names.insert(&device.name) {
                return None;
            }
            if is_hidden(device, rules) {
                continue;
            }
            let draws = device.consumes_counters.iter().flat_map(|draw| {
                let known = draw.counters.iter().filter(|_| rules.partitionable);
                let known = known.map(|(name, it)| (place(&draw.counter_set, name), it.value.nano()));
                known.chain((!rules.partitionable).then_some((u32::MAX, 0)))
            });
            views.push(DeviceView {
                reaches: match slice.spec.per_device_node_selection {
                    true => is_for_node(&device.node_name, device.all_nodes, &device.node_selector, node),
                    false => Ok(true),
                },
                exclusive: held.exclusive.contains(&id_of(device)),
                shared: held.shared.get(&id_of(device)).cloned(),
                consumes: draws.collect(),
                ..view(id, device, offers)
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

pub(super) fn is_relevant(slice: &ResourceSlice, node: &NodeFacts, rules: DeviceRules) -> Result<bool, String> {
    let spec = &slice.spec;
    let has_counters = !spec.shared_counters.is_empty() && !rules.shows_all_pools;
    let is_partitionable = has_counters || spec.per_device_node_selection;
    if (is_partitionable && !rules.partitionable) || (rules.leaves_out_groups && has_groups(slice)) {
        return Ok(false);
    }
    if has_counters && rules.counters_everywhere {
        return Ok(true);
    }
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
