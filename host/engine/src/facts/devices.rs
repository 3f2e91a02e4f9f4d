//! What the rows of a batch see of devices, as the contract's columns.
//!
//! Rows that see the same have one situation: the same kinds of devices in the same use, with attributes that are equal where theirs
//! are. Each pool is put into columns once, however many rows see it. Start at [`Context::devices_for`].
//!
//! ```text
//! kinds      what devices have in common, and which expressions match them
//! values     attributes as numbers
//! requested  what there is for each request, for explanations
//! ```

mod kinds;
mod requested;
mod values;

use std::sync::Arc;

use nodesift_cache::metadata::ClassRecord;
use nodesift_cache::{PoolState, SeenDevice, SeenPool};
use nodesift_object::claim::DeviceFields;
use nodesift_object::selector::DeviceSelector;
use nodesift_sandbox::wire::devices::{self as wire, EXCLUSIVE, Query, SHARED};
use rustc_hash::{FxHashMap, FxHashSet};

use super::context::Context;
use super::gathered::{Gathered, GatheredPool, number};
use kinds::Kinds;
use values::Values;

impl Context {
    /// What the rows see of devices.
    pub(crate) fn devices_for(&self, query: &Query) -> Arc<wire::Devices> {
        Arc::new(Projection::of(self, query, self.gathered()).columns())
    }

    /// Evaluates the expressions of the pod's claims on the devices that the rows see.
    pub(super) fn evaluate_claims(&self) {
        let gathered = self.gathered();
        if gathered.device_count() > 0 {
            for list in lists_of(self) {
                gathered.answers(self.selectors(), &list);
            }
        }
    }

    fn gathered(&self) -> &Gathered {
        self.gathered.get_or_init(|| {
            let mut rows = Vec::with_capacity(self.rows() as usize);
            self.for_each_row(|_, row| rows.push(row));
            Box::new(Gathered::of(self.snapshot.devices(), &rows))
        })
    }
}

/// A pool as columns.
#[derive(Debug)]
struct PoolColumns {
    pool: wire::Pool,
    counters: Vec<wire::Counter>,
    kinds: Vec<u32>,
    in_use: Vec<u8>,
    /// By the number of the device in the pool.
    held: Vec<wire::Held>,
    names: Vec<Arc<str>>,
}

/// Sights as columns, in the making.
struct Projection<'a> {
    query: &'a Query,
    gathered: &'a Gathered,
    kinds: Kinds<'a>,
    values: Values<'a>,
    drivers: Vec<Arc<str>>,
    /// Names by text, each with a number.
    names: FxHashMap<&'a str, u32>,
    /// The distinct pools by content.
    pools: Vec<PoolColumns>,
    by_content: FxHashMap<Box<[u32]>, u32>,
    /// By number of a gathered pool, that of its content.
    contents: Vec<Option<u32>>,
    /// The content of one pool, while it is looked up.
    content: Vec<u32>,
}

impl<'a> Projection<'a> {
    fn of(context: &Context, query: &'a Query, gathered: &'a Gathered) -> Self {
        Self {
            query,
            gathered,
            kinds: Kinds::of(context, query, gathered),
            values: Values::new(&query.attributes),
            drivers: Vec::new(),
            names: FxHashMap::default(),
            pools: Vec::new(),
            by_content: FxHashMap::default(),
            contents: vec![None; gathered.pools.len()],
            content: Vec::new(),
        }
    }

    fn columns(mut self) -> wire::Devices {
        let gathered = self.gathered;
        let mut columns = wire::Devices::default();
        let mut known: FxHashMap<Box<[u32]>, u32> = FxHashMap::default();
        let mut errors: FxHashMap<&Arc<str>, u32> = FxHashMap::default();
        let mut situations: Vec<u32> = Vec::with_capacity(gathered.sights.len());
        // Contents of a sight's pools, their count first, and values.
        let mut key = Vec::new();
        for sight in &gathered.sights {
            let sight = match sight {
                Ok(sight) => sight,
                Err(error) => {
                    situations.push(*errors.entry(error).or_insert_with(|| {
                        columns.situations.push(wire::Situation::Error(Arc::clone(error)));
                        number(columns.situations.len() - 1)
                    }));
                    continue;
                }
            };
            let numbers = gathered.numbers_of(sight);
            key.clear();
            key.push(number(numbers.len()));
            key.extend(numbers.iter().map(|pool| self.content_of(*pool)));
            let pools = gathered.pools_of(sight).map(|pool| &*pool.pool);
            self.values.of_situation(pools, &mut key);
            let situation = match known.get(key.as_slice()) {
                Some(situation) => *situation,
                None => {
                    let (content, values) = key.get(1..).unwrap_or_default().split_at(numbers.len());
                    self.add(content, &mut columns);
                    columns.values.extend(values);
                    let situation = number(columns.situations.len() - 1);
                    known.insert(key.as_slice().into(), situation);
                    situation
                }
            };
            situations.push(situation);
        }
        let seen = gathered.seen.iter();
        columns.codes = seen.map(|sight| situations.get(*sight as usize).copied().unwrap_or(0)).collect();
        columns.drivers = self.drivers;
        (columns.kinds, columns.taints) = self.kinds.into_columns();
        columns
    }

    /// Adds a situation of these pools.
    fn add(&self, content: &[u32], columns: &mut wire::Devices) {
        columns.situations.push(wire::Situation::Pools(number(content.len())));
        for pool in content.iter().filter_map(|pool| self.pools.get(*pool as usize)) {
            let first = number(columns.device_kinds.len());
            columns.pools.push(pool.pool.clone());
            columns.counters.extend(&pool.counters);
            columns.device_kinds.extend(&pool.kinds);
            columns.in_use.extend(&pool.in_use);
            columns.held.extend(pool.held.iter().map(|held| wire::Held { device: first + held.device, ..*held }));
            columns.names.extend(pool.names.iter().cloned());
        }
    }

    /// The number of the content of a gathered pool.
    fn content_of(&mut self, pool: u32) -> u32 {
        let place = pool as usize;
        if let Some(known) = self.contents.get(place).copied().flatten() {
            return known;
        }
        let Some(pool) = self.gathered.pools.get(place) else { return 0 };
        let mut content = std::mem::take(&mut self.content);
        content.clear();
        self.write(pool, &mut content);
        let number = match self.by_content.get(content.as_slice()) {
            Some(known) => *known,
            None => {
                let columns = self.pool(pool);
                self.pools.push(columns);
                let number = number(self.pools.len() - 1);
                self.by_content.insert(content.as_slice().into(), number);
                number
            }
        };
        self.content = content;
        if let Some(known) = self.contents.get_mut(place) {
            *known = Some(number);
        }
        number
    }

    /// Writes what [`Self::pool`] makes of a pool as numbers: equal where that is.
    fn write(&mut self, gathered: &'a GatheredPool, content: &mut Vec<u32>) {
        let pool = &*gathered.pool;
        let counts = [number(pool.devices.len()), number(pool.counters.len())];
        content.extend([self.driver(&pool.name.driver), pool.state as u32]);
        content.extend(counts);
        for counter in &pool.counters {
            content.extend(numbers(counter.total));
            content.extend(numbers(counter.held));
        }
        for (place, seen) in gathered.devices() {
            content.extend([self.kinds.of_device(place, seen), u32::from(in_use(seen))]);
        }
        for held in held(pool) {
            content.extend([held.device, held.capacity]);
            content.extend(numbers(held.amount.into()));
        }
        if self.query.names {
            for name in std::iter::once(&*pool.name.name).chain(pool.devices.iter().map(|seen| &*seen.device.name)) {
                let next = number(self.names.len());
                content.push(*self.names.entry(name).or_insert(next));
            }
        }
    }

    fn pool(&mut self, gathered: &'a GatheredPool) -> PoolColumns {
        let pool = &*gathered.pool;
        let names = self.query.names;
        PoolColumns {
            pool: wire::Pool {
                driver: self.driver(&pool.name.driver),
                name: if names { Arc::clone(&pool.name.name) } else { Arc::default() },
                state: match pool.state {
                    PoolState::Ok => wire::PoolState::Ok,
                    PoolState::Incomplete => wire::PoolState::Incomplete,
                    PoolState::Invalid => wire::PoolState::Invalid,
                },
                devices: number(pool.devices.len()),
                counters: number(pool.counters.len()),
            },
            counters: pool
                .counters
                .iter()
                .map(|counter| wire::Counter { total: counter.total.into(), held: counter.held.into() })
                .collect(),
            kinds: gathered.devices().map(|(place, seen)| self.kinds.of_device(place, seen)).collect(),
            in_use: pool.devices.iter().map(in_use).collect(),
            held: held(pool).collect(),
            names: pool.devices.iter().filter(|_| names).map(|seen| Arc::clone(&seen.device.name)).collect(),
        }
    }

    fn driver(&mut self, driver: &Arc<str>) -> u32 {
        let known = self.drivers.iter().position(|known| known == driver);
        number(known.unwrap_or_else(|| {
            self.drivers.push(Arc::clone(driver));
            self.drivers.len() - 1
        }))
    }
}

/// How a device is in use.
fn in_use(seen: &SeenDevice) -> u8 {
    let exclusive = if seen.exclusive { EXCLUSIVE } else { 0 };
    exclusive | if seen.shared().is_some() { SHARED } else { 0 }
}

/// What shares hold of the capacities of a pool's devices, by the number of the device in the pool.
fn held(pool: &SeenPool) -> impl Iterator<Item = wire::Held> {
    let shared = (0..).zip(&pool.devices).filter_map(|(device, seen)| Some((device, seen, seen.shared()?)));
    shared.flat_map(|(device, seen, amounts)| {
        let capacities = (0..).zip(&seen.device.traits().content.capacities);
        capacities.filter_map(move |(capacity, of)| {
            let at = amounts.binary_search_by(|(name, _)| name.cmp(&of.name)).ok()?;
            let amount = amounts.get(at).map(|(_, amount)| *amount).filter(|amount| *amount != 0)?;
            Some(wire::Held { device, capacity, amount: amount.into() })
        })
    })
}

/// An amount as numbers.
fn numbers(amount: i128) -> [u32; 4] {
    let bytes = amount.to_le_bytes();
    std::array::from_fn(|at| {
        let part = bytes.get(at * 4..at * 4 + 4).and_then(|part| part.try_into().ok());
        part.map_or(0, u32::from_le_bytes)
    })
}

/// The lists of expressions of the pod's claims and their classes, each once.
fn lists_of(context: &Context) -> FxHashSet<Vec<String>> {
    let mut lists = FxHashSet::default();
    let Ok(Some(resolved)) = context.resolved_claims() else { return lists };
    let claims = context.snapshot().claims();
    let of_class = |class: &Arc<ClassRecord>| class.selectors.iter().map(|it| it.clone().unwrap_or_default()).collect();
    let asked = |requests: &[nodesift_object::claim::DeviceRequest]| -> Vec<DeviceFields> {
        requests.iter().flat_map(|request| request.exactly.iter().chain(&request.first_available)).cloned().collect()
    };
    let unallocated = resolved.named.iter().filter(|claim| claim.allocation.is_none());
    let asked: Vec<DeviceFields> =
        unallocated.flat_map(|claim| asked(claim.spec.requests.as_deref().unwrap_or_default())).collect();
    lists.extend(asked.iter().filter_map(|fields| claims.class(&fields.device_class_name)).map(of_class));
    if resolved.extended.is_some()
        && let Some(pod) = &context.pod().claims
    {
        let serving = pod.resources.iter().filter_map(|resource| claims.class_serving(resource));
        lists.extend(serving.map(of_class));
    }
    let expression = |selector: &DeviceSelector| Some(selector.cel.as_ref()?.expression.clone());
    lists.extend(asked.iter().map(|fields| fields.selectors.iter().filter_map(expression).collect::<Vec<_>>()));
    lists.retain(|list| !list.is_empty());
    lists
}

#[cfg(test)]
mod tests;
