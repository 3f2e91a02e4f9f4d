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
use nodesift_cache::{PoolState, SeenPool};
use nodesift_object::claim::DeviceFields;
use nodesift_object::selector::DeviceSelector;
use nodesift_sandbox::wire::devices::{self as wire, EXCLUSIVE, Query, SHARED};
use rustc_hash::{FxHashMap, FxHashSet};

use super::context::Context;
use super::gathered::{Gathered, number};
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// The distinct pools by content, and for each pool that is seen the number of its content.
    pools: Vec<PoolColumns>,
    by_content: FxHashMap<PoolColumns, u32>,
    by_pool: FxHashMap<usize, u32>,
}

impl<'a> Projection<'a> {
    fn of(context: &Context, query: &'a Query, gathered: &'a Gathered) -> Self {
        Self {
            query,
            gathered,
            kinds: Kinds::of(context, query, gathered),
            values: Values::new(&query.attributes),
            drivers: Vec::new(),
            pools: Vec::new(),
            by_content: FxHashMap::default(),
            by_pool: FxHashMap::default(),
        }
    }

    fn columns(mut self) -> wire::Devices {
        let mut columns = wire::Devices::default();
        let mut known: FxHashMap<(Vec<u32>, Vec<u32>), u32> = FxHashMap::default();
        let mut errors: FxHashMap<Arc<str>, u32> = FxHashMap::default();
        let mut situations: Vec<u32> = Vec::with_capacity(self.gathered.sights.len());
        for sight in &self.gathered.sights {
            let pools = match sight {
                Ok(pools) => pools,
                Err(error) => {
                    situations.push(*errors.entry(Arc::clone(error)).or_insert_with(|| {
                        columns.situations.push(wire::Situation::Error(Arc::clone(error)));
                        number(columns.situations.len() - 1)
                    }));
                    continue;
                }
            };
            let content: Vec<u32> = pools.iter().map(|pool| self.content_of(pool)).collect();
            let values = self.values.of_situation(pools);
            let key = (content, values);
            let situation = match known.get(&key) {
                Some(situation) => *situation,
                None => {
                    self.add(&key.0, &mut columns);
                    columns.values.extend(&key.1);
                    let situation = number(columns.situations.len() - 1);
                    known.insert(key, situation);
                    situation
                }
            };
            situations.push(situation);
        }
        let seen = self.gathered.seen.iter();
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

    /// The number of the content of a pool.
    fn content_of(&mut self, pool: &'a Arc<SeenPool>) -> u32 {
        let address = Arc::as_ptr(pool) as usize;
        if let Some(known) = self.by_pool.get(&address) {
            return *known;
        }
        let content = self.pool(pool);
        let next = number(self.pools.len());
        let number = *self.by_content.entry(content.clone()).or_insert(next);
        if number == next {
            self.pools.push(content);
        }
        self.by_pool.insert(address, number);
        number
    }

    fn pool(&mut self, pool: &'a SeenPool) -> PoolColumns {
        let mut columns = PoolColumns {
            pool: wire::Pool {
                driver: self.driver(&pool.name.driver),
                name: if self.query.names { Arc::clone(&pool.name.name) } else { Arc::default() },
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
            kinds: Vec::with_capacity(pool.devices.len()),
            in_use: Vec::with_capacity(pool.devices.len()),
            held: Vec::new(),
            names: Vec::new(),
        };
        for (place, seen) in (0..).zip(&pool.devices) {
            columns.kinds.push(self.kinds.of_device(seen));
            let exclusive = if seen.exclusive { EXCLUSIVE } else { 0 };
            columns.in_use.push(exclusive | if seen.shared.is_some() { SHARED } else { 0 });
            let capacities = (0..).zip(&seen.device.traits.content.capacities);
            let amounts = seen.shared.as_deref().unwrap_or_default();
            columns.held.extend(capacities.filter_map(|(capacity, of)| {
                let at = amounts.binary_search_by(|(name, _)| name.cmp(&of.name)).ok()?;
                let amount = amounts.get(at).map(|(_, amount)| *amount).filter(|amount| *amount != 0)?;
                Some(wire::Held { device: place, capacity, amount: amount.into() })
            }));
            if self.query.names {
                columns.names.push(Arc::clone(&seen.device.name));
            }
        }
        columns
    }

    fn driver(&mut self, driver: &Arc<str>) -> u32 {
        let known = self.drivers.iter().position(|known| known == driver);
        number(known.unwrap_or_else(|| {
            self.drivers.push(Arc::clone(driver));
            self.drivers.len() - 1
        }))
    }
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
