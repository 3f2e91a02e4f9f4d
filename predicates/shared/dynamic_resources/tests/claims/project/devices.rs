//! Devices that nodes see, as facts.

use std::collections::BTreeMap;

use nodesift_dynamic_resources::facts::{
    Answer, Capacity, Counter, Devices, EXCLUSIVE, Held, Kind, NanoUnits, Pool, PoolState, Query, Range, SHARED,
    Situation, Taint, UNKNOWN_TYPE,
};
use nodesift_fixtures::json::{at, entries, flag, is_set, list, text};
use nodesift_reference::quantity::Quantity;
use serde_json::{Value, json};

use super::{Nodes, amount, nano_units};

/// A situation as a tree, to be compared with others.
type Tree = Result<Vec<PoolTree>, String>;
/// A pool with its name.
type PoolTree = (String, Pool, Vec<Counter>, Vec<DeviceTree>);

#[derive(Debug, Clone, PartialEq)]
struct DeviceTree {
    name: String,
    kind: u32,
    in_use: u8,
    held: Vec<(u32, NanoUnits)>,
    values: Vec<u32>,
}

/// The answer to a query.
pub(super) fn seen(nodes: &Nodes<'_>, query: &Query) -> Devices {
    let mut devices = Devices::default();
    let mut trees: Vec<Tree> = Vec::new();
    for pools in &nodes.seen {
        let mut numbers: Vec<BTreeMap<String, u32>> = vec![BTreeMap::new(); query.attributes.len()];
        let tree = pools.as_ref().map_err(Clone::clone).map(|pools| {
            pools.iter().map(|pool| pool_tree(nodes, query, pool, &mut numbers, &mut devices)).collect::<Vec<_>>()
        });
        devices.codes.push(number_of(&mut trees, tree));
    }
    for tree in trees {
        devices.situations.push(match &tree {
            Ok(pools) => Situation::Pools(u32::try_from(pools.len()).unwrap()),
            Err(error) => Situation::Error(error.clone()),
        });
        for (name, pool, counters, found) in tree.into_iter().flatten() {
            devices.pools.push(pool);
            devices.pool_names.extend(query.names.then_some(name));
            devices.counters.extend(counters);
            for device in found {
                let number = u32::try_from(devices.device_kinds.len()).unwrap();
                let held = device.held.into_iter();
                devices.held.extend(held.map(|(capacity, amount)| Held { device: number, capacity, amount }));
                devices.device_kinds.push(device.kind);
                devices.in_use.push(device.in_use);
                devices.values.extend(device.values);
                devices.names.extend(query.names.then_some(device.name));
            }
        }
    }
    devices
}

fn pool_tree(
    nodes: &Nodes<'_>,
    query: &Query,
    pool: &Value,
    numbers: &mut [BTreeMap<String, u32>],
    devices: &mut Devices,
) -> PoolTree {
    let driver = text(pool, "driver");
    let counters = list(pool, "counters");
    let found: Vec<DeviceTree> = list(pool, "devices")
        .iter()
        .map(|seen| {
            let device = at(seen, "device");
            let kind = kind(nodes, query, driver, counters, seen, &mut devices.taints);
            let held = kind.capacities.iter().enumerate().filter_map(|(number, capacity)| {
                let held = at(seen, "shared").get(&capacity.name)?;
                let held = nano_units(Quantity::read(held).unwrap());
                (held != NanoUnits::default()).then(|| (u32::try_from(number).unwrap(), held))
            });
            DeviceTree {
                name: if query.names { text(device, "name").to_owned() } else { String::new() },
                held: held.collect(),
                in_use: if flag(seen, "exclusive") { EXCLUSIVE } else { 0 }
                    | if is_set(seen, "shared") { SHARED } else { 0 },
                values: query
                    .attributes
                    .iter()
                    .zip(&mut *numbers)
                    .map(|(attribute, numbers)| value(device, driver, attribute, numbers))
                    .collect(),
                kind: number_of(&mut devices.kinds, kind),
            }
        })
        .collect();
    let name = if query.names { text(pool, "name").to_owned() } else { String::new() };
    let pool = Pool {
        driver: number_of(&mut devices.drivers, driver.to_owned()),
        state: match text(pool, "state") {
            "ok" => PoolState::Ok,
            "incomplete" => PoolState::Incomplete,
            _ => PoolState::Invalid,
        },
        devices: u32::try_from(found.len()).unwrap(),
        counters: u32::try_from(counters.len()).unwrap(),
    };
    let amount_of = |counter: &Value, field: &str| nano_units(Quantity::parse(text(counter, field)).unwrap());
    let counters = counters
        .iter()
        .map(|counter| Counter { total: amount_of(counter, "total"), held: amount_of(counter, "held") })
        .collect();
    (name, pool, counters, found)
}

fn kind(
    nodes: &Nodes<'_>,
    query: &Query,
    driver: &str,
    counters: &[Value],
    seen: &Value,
    sets: &mut Vec<Vec<Taint>>,
) -> Kind {
    let device = at(seen, "device");
    let matches = query.selector_lists.iter().map(|list| {
        let selectors: Vec<Value> = list.iter().map(|text| json!({"cel": {"expression": text}})).collect();
        answer(nodes.selectors.match_all(nodes.world.switches, &selectors, driver, device))
    });
    let taints = list(device, "taints").iter().map(|taint| {
        let field = |name: &str| text(taint, name).to_owned();
        Taint { key: field("key"), value: field("value"), effect: field("effect") }
    });
    let consumes = list(device, "consumesCounters").iter().flat_map(|consumption| {
        let set = text(consumption, "counterSet");
        entries(consumption, "counters").into_iter().map(move |(name, value)| {
            let is_it = |counter: &Value| text(counter, "set") == set && text(counter, "name") == name;
            // A gate may hide the counters of a pool.
            let number = counters.iter().position(is_it).map_or(u32::MAX, |number| u32::try_from(number).unwrap());
            (number, amount(at(value, "value")).nano_units)
        })
    });
    Kind {
        matches: matches.map(|answer| if flag(seen, "hidden") { Answer::No } else { answer }).collect(),
        reaches: match at(seen, "reaches") {
            _ if flag(seen, "hidden") => Answer::No,
            Value::String(error) => Answer::Error(error.clone()),
            reaches => answer(Ok(reaches == &Value::Bool(true))),
        },
        taints: number_of(sets, taints.collect()),
        multiple_allocations: flag(device, "allowMultipleAllocations"),
        capacities: entries(device, "capacity").into_iter().map(|(name, value)| capacity(name, value)).collect(),
        consumes: consumes.collect(),
    }
}

fn answer(answer: Result<bool, String>) -> Answer {
    match answer {
        Ok(true) => Answer::Yes,
        Ok(false) => Answer::No,
        Err(error) => Answer::Error(error),
    }
}

fn capacity(name: &str, capacity: &Value) -> Capacity {
    let policy = at(capacity, "requestPolicy");
    let if_set = |object: &Value, field: &str| is_set(object, field).then(|| amount(at(object, field)));
    let range = at(policy, "validRange");
    Capacity {
        name: name.to_owned(),
        value: amount(at(capacity, "value")),
        default: if_set(policy, "default"),
        valid_values: list(policy, "validValues").iter().map(amount).collect(),
        valid_range: (!range.is_null()).then(|| Range {
            min: if_set(range, "min"),
            max: if_set(range, "max"),
            step: if_set(range, "step"),
        }),
    }
}

/// The number of a device's value of an attribute.
fn value(device: &Value, driver: &str, attribute: &str, numbers: &mut BTreeMap<String, u32>) -> u32 {
    let attributes = at(device, "attributes");
    let (domain, name) = attribute.split_once('/').unwrap_or(("", ""));
    let by_name = || if domain == driver && !name.is_empty() { attributes.get(name) } else { None };
    let Some(value) = attributes.get(attribute).or_else(by_name) else { return 0 };
    let known = ["string", "int", "bool", "version"].into_iter().find(|of_type| is_set(value, of_type));
    let Some(of_type) = known else { return UNKNOWN_TYPE };
    let next = u32::try_from(numbers.len() + 1).unwrap();
    *numbers.entry(format!("{of_type} {}", value[of_type])).or_insert(next)
}

/// The number of an entry, which is added if it is new.
fn number_of<T: PartialEq>(list: &mut Vec<T>, entry: T) -> u32 {
    let position = list.iter().position(|known| *known == entry).unwrap_or_else(|| {
        list.push(entry);
        list.len() - 1
    });
    u32::try_from(position).unwrap()
}
