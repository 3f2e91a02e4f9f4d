//! `node-devices` in the library's form. Columns of numbers and texts are moved as they are.

use nodesift_dynamic_resources::facts::{
    Answer, Capacity, Counter, Devices, Held, Kind, Pool, PoolState, Query, Range, Situation, Taint,
};
use nodesift_sdk::columns::node_devices;

use crate::convert::IntoFact;

/// Converts the library's query into that of the contract.
pub(crate) fn query(query: &Query) -> node_devices::Query {
    node_devices::Query {
        selector_lists: query.selector_lists.clone(),
        attributes: query.attributes.clone(),
        names: query.names,
    }
}

impl IntoFact for node_devices::DeviceColumns {
    type Fact = Devices;

    fn into_fact(self) -> Devices {
        Devices {
            codes: self.codes,
            situations: self.situations.into_fact(),
            pools: self.pools.into_fact(),
            counters: self.counters.into_fact(),
            device_kinds: self.device_kinds,
            in_use: self.in_use,
            held: self.held.into_fact(),
            values: self.values,
            pool_names: self.pool_names,
            names: self.names,
            kinds: self.kinds.into_fact(),
            drivers: self.drivers,
            taints: self.taints.into_fact(),
        }
    }
}

impl IntoFact for node_devices::Situation {
    type Fact = Situation;

    fn into_fact(self) -> Situation {
        match self {
            Self::Pools(pools) => Situation::Pools(pools),
            Self::Error(error) => Situation::Error(error),
        }
    }
}

impl IntoFact for node_devices::Pool {
    type Fact = Pool;

    fn into_fact(self) -> Pool {
        let state = match self.state {
            node_devices::PoolState::Ok => PoolState::Ok,
            node_devices::PoolState::Incomplete => PoolState::Incomplete,
            node_devices::PoolState::Invalid => PoolState::Invalid,
        };
        Pool { driver: self.driver, state, devices: self.devices, counters: self.counters }
    }
}

impl IntoFact for node_devices::Counter {
    type Fact = Counter;

    fn into_fact(self) -> Counter {
        Counter { total: self.total.into_fact(), held: self.held.into_fact() }
    }
}

impl IntoFact for node_devices::Held {
    type Fact = Held;

    fn into_fact(self) -> Held {
        Held { device: self.device, capacity: self.capacity, amount: self.amount.into_fact() }
    }
}

impl IntoFact for node_devices::Answer {
    type Fact = Answer;

    fn into_fact(self) -> Answer {
        match self {
            Self::No => Answer::No,
            Self::Yes => Answer::Yes,
            Self::Error(error) => Answer::Error(error),
        }
    }
}

impl IntoFact for node_devices::Kind {
    type Fact = Kind;

    fn into_fact(self) -> Kind {
        Kind {
            matches: self.matches.into_fact(),
            reaches: self.reaches.into_fact(),
            taints: self.taints,
            multiple_allocations: self.multiple_allocations,
            capacities: self.capacities.into_fact(),
            consumes: self.consumes.into_fact(),
        }
    }
}

impl IntoFact for node_devices::Capacity {
    type Fact = Capacity;

    fn into_fact(self) -> Capacity {
        Capacity {
            name: self.name,
            value: self.value.into_fact(),
            default: self.default.into_fact(),
            valid_values: self.valid_values.into_fact(),
            valid_range: self.valid_range.into_fact(),
        }
    }
}

impl IntoFact for node_devices::Range {
    type Fact = Range;

    fn into_fact(self) -> Range {
        Range { min: self.min.into_fact(), max: self.max.into_fact(), step: self.step.into_fact() }
    }
}

impl IntoFact for node_devices::Taint {
    type Fact = Taint;

    fn into_fact(self) -> Taint {
        Taint { key: self.key, value: self.value, effect: self.effect }
    }
}
