//! `node-devices`: what the rows of a batch see of devices, as columns, and what a guest asks about them. The contract documents
//! the types under the same names; they are not exported by name from [`wire`](super), where other interfaces have a `Taint` or a
//! `Capacity` of their own.
//!
//! Start with [`Devices`]. Columns of plain numbers cross into the guest's memory by one copy each.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

use super::claims::{Amount, NanoUnits};
use crate::limits::{QUERY_ATTRIBUTES, QUERY_EXPRESSIONS, QUERY_LISTS};

/// In [`Devices::in_use`]: one claim has the device for itself.
pub const EXCLUSIVE: u8 = 1;

/// In [`Devices::in_use`]: claims have shares of the device.
pub const SHARED: u8 = 2;

/// In [`Devices::values`]: a value of an unknown type, which cannot be compared.
pub const UNKNOWN_TYPE: u32 = u32::MAX;

/// `node-devices.query`: the selectors, attributes and names that a guest asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(record)]
pub struct Query {
    #[component(name = "selector-lists")]
    pub selector_lists: Vec<Vec<String>>,
    pub attributes: Vec<String>,
    pub names: bool,
}

/// A query asks for more than the host answers in one call. The guest's call ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a query about devices has {found} {what}, and at most {limit} are answered: ask for less at once")]
pub struct QueryTooLarge {
    what: &'static str,
    found: usize,
    limit: usize,
}

impl Query {
    /// The query, if it is within the limits on what the host evaluates for one call.
    ///
    /// # Errors
    /// It has too many lists, expressions or attributes.
    pub fn bounded(&self) -> Result<&Self, QueryTooLarge> {
        let expressions = self.selector_lists.iter().map(Vec::len).sum();
        let counts = [
            ("lists of expressions", self.selector_lists.len(), QUERY_LISTS),
            ("expressions", expressions, QUERY_EXPRESSIONS),
            ("attributes", self.attributes.len(), QUERY_ATTRIBUTES),
        ];
        match counts.into_iter().find(|(_, found, limit)| found > limit) {
            Some((what, found, limit)) => Err(QueryTooLarge { what, found, limit }),
            None => Ok(self),
        }
    }
}

/// `node-devices.situation`: the devices that a row sees, as a number of pools, or kube-scheduler's error in gathering them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum Situation {
    #[component(name = "pools")]
    Pools(u32),
    #[component(name = "error")]
    Error(Arc<str>),
}

/// `node-devices.pool-state`: whether a pool can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum PoolState {
    #[component(name = "ok")]
    Ok,
    #[component(name = "incomplete")]
    Incomplete,
    #[component(name = "invalid")]
    Invalid,
}

/// `node-devices.pool`: a pool of devices, with its numbers of devices and counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Pool {
    pub driver: u32,
    pub state: PoolState,
    pub devices: u32,
    pub counters: u32,
}

/// `node-devices.counter`: a counter of a pool, and the part of it that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Counter {
    pub total: NanoUnits,
    pub held: NanoUnits,
}

/// `node-devices.held`: the amount of a device's capacity that its shares hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Held {
    pub device: u32,
    pub capacity: u32,
    pub amount: NanoUnits,
}

/// `node-devices.answer`: yes, no, or kube-scheduler's error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum Answer {
    #[component(name = "no")]
    No,
    #[component(name = "yes")]
    Yes,
    #[component(name = "error")]
    Error(Arc<str>),
}

/// `node-devices.range`: a range of amounts that a share can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Range {
    pub min: Option<Amount>,
    pub max: Option<Amount>,
    pub step: Option<Amount>,
}

/// `node-devices.capacity`: a capacity of a device, with the amounts that a share can take of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Capacity {
    pub name: Arc<str>,
    pub value: Amount,
    pub default: Option<Amount>,
    #[component(name = "valid-values")]
    pub valid_values: Vec<Amount>,
    #[component(name = "valid-range")]
    pub valid_range: Option<Range>,
}

/// `node-devices.kind`: the properties that devices of one kind share, all but name, attributes and use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Kind {
    pub matches: Vec<Answer>,
    pub reaches: Answer,
    pub taints: u32,
    #[component(name = "multiple-allocations")]
    pub multiple_allocations: bool,
    pub capacities: Arc<[Capacity]>,
    pub consumes: Arc<[(u32, NanoUnits)]>,
}

/// `node-devices.taint`: a taint of a device, with its fields as written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Taint {
    pub key: Arc<str>,
    pub value: Arc<str>,
    pub effect: Arc<str>,
}

/// `node-devices.device-columns`: the devices of all situations, as columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Devices {
    pub codes: Vec<u32>,
    pub situations: Vec<Situation>,
    pub pools: Vec<Pool>,
    pub counters: Vec<Counter>,
    #[component(name = "device-kinds")]
    pub device_kinds: Vec<u32>,
    #[component(name = "in-use")]
    pub in_use: Vec<u8>,
    pub held: Vec<Held>,
    pub values: Vec<u32>,
    #[component(name = "pool-names")]
    pub pool_names: Vec<Arc<str>>,
    pub names: Vec<Arc<str>>,
    pub kinds: Vec<Kind>,
    pub drivers: Vec<Arc<str>>,
    pub taints: Vec<Arc<[Taint]>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_at_most_so_many_lists_expressions_and_attributes() {
        let error = |query: &Query| query.bounded().err().map(|error| error.to_string()).unwrap_or_default();
        let mut query = Query {
            selector_lists: vec![vec![String::new(); QUERY_EXPRESSIONS / QUERY_LISTS]; QUERY_LISTS],
            attributes: vec![String::new(); QUERY_ATTRIBUTES],
            names: true,
        };
        assert_eq!(query.bounded(), Ok(&query));
        query.attributes.push(String::new());
        assert!(error(&query).contains("4097 attributes, and at most 4096"), "{}", error(&query));
        query.attributes.pop();
        query.selector_lists[0].push(String::new());
        assert!(error(&query).contains("16385 expressions"), "{}", error(&query));
        query.selector_lists = vec![Vec::new(); QUERY_LISTS + 1];
        assert!(error(&query).contains("4097 lists"), "{}", error(&query));
    }
}
