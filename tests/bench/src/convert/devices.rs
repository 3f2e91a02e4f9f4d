//! `node-devices`: the host's own types as the SDK's, and the other way for what is asked.

use nodesift_sandbox::wire::devices as host;
use nodesift_sdk::columns::node_devices;

use super::claims::{amount, nano_units};
use super::{text, texts};

pub(crate) fn host_query(query: &node_devices::Query) -> host::Query {
    host::Query {
        selector_lists: query.selector_lists.clone(),
        attributes: query.attributes.clone(),
        names: query.names,
    }
}

pub(crate) fn devices(devices: &host::Devices) -> node_devices::DeviceColumns {
    let situation = |situation: &host::Situation| match situation {
        host::Situation::Pools(pools) => node_devices::Situation::Pools(*pools),
        host::Situation::Error(error) => node_devices::Situation::Error(text(error)),
    };
    let counter = |counter: &host::Counter| node_devices::Counter {
        total: nano_units(counter.total),
        held: nano_units(counter.held),
    };
    let held = |held: &host::Held| node_devices::Held {
        device: held.device,
        capacity: held.capacity,
        amount: nano_units(held.amount),
    };
    let taint = |taint: &host::Taint| node_devices::Taint {
        key: text(&taint.key),
        value: text(&taint.value),
        effect: text(&taint.effect),
    };
    node_devices::DeviceColumns {
        codes: devices.codes.clone(),
        situations: devices.situations.iter().map(situation).collect(),
        pools: devices.pools.iter().map(pool).collect(),
        counters: devices.counters.iter().map(counter).collect(),
        device_kinds: devices.device_kinds.clone(),
        in_use: devices.in_use.clone(),
        held: devices.held.iter().map(held).collect(),
        values: devices.values.clone(),
        pool_names: texts(&devices.pool_names),
        names: texts(&devices.names),
        kinds: devices.kinds.iter().map(kind).collect(),
        drivers: texts(&devices.drivers),
        taints: devices.taints.iter().map(|taints| taints.iter().map(taint).collect()).collect(),
    }
}

fn pool(pool: &host::Pool) -> node_devices::Pool {
    node_devices::Pool {
        driver: pool.driver,
        state: match pool.state {
            host::PoolState::Ok => node_devices::PoolState::Ok,
            host::PoolState::Incomplete => node_devices::PoolState::Incomplete,
            host::PoolState::Invalid => node_devices::PoolState::Invalid,
        },
        devices: pool.devices,
        counters: pool.counters,
    }
}

fn answer(answer: &host::Answer) -> node_devices::Answer {
    match answer {
        host::Answer::No => node_devices::Answer::No,
        host::Answer::Yes => node_devices::Answer::Yes,
        host::Answer::Error(error) => node_devices::Answer::Error(text(error)),
    }
}

fn kind(kind: &host::Kind) -> node_devices::Kind {
    node_devices::Kind {
        matches: kind.matches.iter().map(answer).collect(),
        reaches: answer(&kind.reaches),
        taints: kind.taints,
        multiple_allocations: kind.multiple_allocations,
        capacities: kind.capacities.iter().map(capacity).collect(),
        consumes: kind.consumes.iter().map(|(counter, drawn)| (*counter, nano_units(*drawn))).collect(),
    }
}

fn capacity(capacity: &host::Capacity) -> node_devices::Capacity {
    let range = |range: host::Range| node_devices::Range {
        min: range.min.map(amount),
        max: range.max.map(amount),
        step: range.step.map(amount),
    };
    node_devices::Capacity {
        name: text(&capacity.name),
        value: amount(capacity.value),
        default: capacity.default.map(amount),
        valid_values: capacity.valid_values.iter().copied().map(amount).collect(),
        valid_range: capacity.valid_range.map(range),
    }
}
