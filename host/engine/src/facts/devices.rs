//! Devices that the rows of a batch see, as the contract's columns.
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
use std::time::Duration;

use nodesift_cache::metadata::ClassRecord;
use nodesift_cache::{PoolState, SeenCounter, SeenDevice, SeenPool};
use nodesift_object::claim::DeviceRequest;
use nodesift_object::selector::DeviceSelector;
use nodesift_sandbox::NoValue;
use nodesift_sandbox::wire::devices::{self as wire, EXCLUSIVE, Query, SHARED};
use rustc_hash::FxHashMap;

use super::context::Context;
use super::gathered::{Gathered, GatheredPool};
use super::lists::{Lists, number};
use crate::limits::SELECTORS_TIME;
use kinds::Kinds;
use values::Values;

impl Context {
    /// Columns of the devices that the rows see.
    pub(crate) fn devices_for(&self, query: &Query) -> Arc<wire::Devices> {
        Arc::new(Projection::new(self, query, self.gathered()).columns())
    }

    /// Columns of the devices that the rows see, with all expressions evaluated.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] where expressions were left out: what would be said of devices depends on how fast the machine is, and no
    /// verdict may be made of it.
    pub(super) fn devices_in_time(&self, query: &Query) -> Result<Arc<wire::Devices>, NoValue> {
        let devices = self.devices_for(query);
        self.gathered().in_time().map(|()| devices)
    }

    /// Evaluates the expressions of the pod's claims on the devices that the rows see.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] where that takes too long. What was found until then is kept, so that the next question has less to do.
    pub(super) fn evaluate_claims(&self) -> Result<(), NoValue> {
        let gathered = self.gathered();
        if gathered.device_count() > 0 {
            for list in lists_of(self) {
                gathered.answers(self.selectors(), &list);
                gathered.in_time()?;
            }
        }
        Ok(())
    }

    fn gathered(&self) -> &Gathered {
        self.gathered.get_or_init(|| {
            let mut rows = Vec::with_capacity(self.rows() as usize);
            self.for_each_row(|_, row| rows.push(row));
            // A throttled namespace has what is known.
            let time = if self.is_throttled() { Duration::ZERO } else { SELECTORS_TIME };
            Box::new(Gathered::new(self.snapshot.devices(), &rows, time))
        })
    }
}

/// Where the kinds of devices begin in a pool's content. Before them are driver, state, and how many devices and counters there are.
const CONTENT_HEAD: usize = 4;

/// Sights as columns, in the making.
struct Projection<'a> {
    query: &'a Query,
    gathered: &'a Gathered,
    kinds: Kinds<'a>,
    values: Values<'a>,
    /// Names by text, each with a number.
    names: FxHashMap<&'a str, u32>,
    /// The distinct contents of pools, as [`Self::write`] makes them.
    contents: Lists,
    /// By content, the first pool that has it.
    first: Vec<u32>,
    /// By number of a gathered pool, its content.
    content_of: Vec<Option<u32>>,
    /// The content of one pool, while it is looked up.
    content: Vec<u32>,
    columns: wire::Devices,
}

impl<'a> Projection<'a> {
    fn new(context: &Context, query: &'a Query, gathered: &'a Gathered) -> Self {
        let pools = gathered.pools.len();
        Self {
            query,
            gathered,
            kinds: Kinds::new(context, query, gathered),
            values: Values::new(&query.attributes),
            names: FxHashMap::default(),
            contents: Lists::with_capacity(pools),
            first: Vec::with_capacity(pools),
            content_of: vec![None; pools],
            content: Vec::new(),
            columns: wire::Devices::default(),
        }
    }

    fn columns(mut self) -> wire::Devices {
        let gathered = self.gathered;
        let mut known = Lists::with_capacity(gathered.sights.len());
        // By number of a list, and by text.
        let mut by_list: Vec<u32> = Vec::with_capacity(gathered.sights.len());
        let mut errors: FxHashMap<&Arc<str>, u32> = FxHashMap::default();
        let mut situations: Vec<u32> = Vec::with_capacity(gathered.sights.len());
        // How many pools a sight has, their contents, and values.
        let mut list = Vec::new();
        for sight in &gathered.sights {
            let next = number(self.columns.situations.len());
            let pools = match sight {
                Ok(pools) => *pools,
                Err(error) => {
                    situations.push(*errors.entry(error).or_insert(next));
                    if situations.last() == Some(&next) {
                        self.columns.situations.push(wire::Situation::Error(Arc::clone(error)));
                    }
                    continue;
                }
            };
            let numbers = gathered.numbers_of(pools);
            list.clear();
            list.push(number(numbers.len()));
            list.extend(numbers.iter().map(|pool| self.content_of(*pool)));
            self.values.push_situation(gathered.pools_of(pools).map(|pool| &*pool.pool), &mut list);
            let (place, is_new) = known.number_of(&list);
            if is_new {
                let (contents, values) = list.get(1..).unwrap_or_default().split_at(numbers.len());
                self.add(contents);
                self.columns.values.extend_from_slice(values);
                by_list.push(next);
            }
            situations.push(by_list.get(place as usize).copied().unwrap_or(next));
        }
        let seen = gathered.seen.iter();
        let mut columns = self.columns;
        columns.codes = seen.map(|sight| situations.get(*sight as usize).copied().unwrap_or(0)).collect();
        (columns.kinds, columns.taints) = self.kinds.into_columns();
        columns
    }

    /// Adds a situation of pools with these contents.
    fn add(&mut self, contents: &[u32]) {
        self.columns.situations.push(wire::Situation::Pools(number(contents.len())));
        for content in contents {
            let pool = self.first.get(*content as usize).and_then(|pool| self.gathered.pools.get(*pool as usize));
            if let Some(pool) = pool {
                self.add_pool(&pool.pool, *content);
            }
        }
    }

    fn add_pool(&mut self, pool: &SeenPool, content: u32) {
        let Self { columns, contents, query, .. } = self;
        let content = contents.get(content);
        let (head, devices) = content.split_at_checked(CONTENT_HEAD).unwrap_or_default();
        let (kinds, devices) = devices.split_at_checked(pool.devices.len()).unwrap_or_default();
        let first = number(columns.device_kinds.len());
        columns.pools.push(wire::Pool {
            driver: head.first().copied().unwrap_or(0),
            state: match pool.state {
                PoolState::Ok => wire::PoolState::Ok,
                PoolState::Incomplete => wire::PoolState::Incomplete,
                PoolState::Invalid => wire::PoolState::Invalid,
            },
            devices: number(pool.devices.len()),
            counters: number(pool.counters.len()),
        });
        let counter = |it: &SeenCounter| wire::Counter { total: it.total.into(), held: it.held.into() };
        columns.counters.extend(pool.counters.iter().map(counter));
        columns.device_kinds.extend_from_slice(kinds);
        #[allow(clippy::cast_possible_truncation, reason = "written from bytes")]
        columns.in_use.extend(devices.iter().take(pool.devices.len()).map(|in_use| *in_use as u8));
        columns.held.extend(held(pool).map(|held| wire::Held { device: first + held.device, ..held }));
        if query.names {
            columns.pool_names.push(Arc::clone(&pool.name.name));
            columns.names.extend(pool.devices.iter().map(|seen| Arc::clone(&seen.device.name)));
        }
    }

    /// The number of the content of a gathered pool.
    fn content_of(&mut self, pool: u32) -> u32 {
        let place = pool as usize;
        if let Some(known) = self.content_of.get(place).copied().flatten() {
            return known;
        }
        let Some(gathered) = self.gathered.pools.get(place) else { return 0 };
        let mut content = std::mem::take(&mut self.content);
        content.clear();
        self.write(gathered, &mut content);
        let (number, is_new) = self.contents.number_of(&content);
        if is_new {
            self.first.push(pool);
        }
        self.content = content;
        if let Some(known) = self.content_of.get_mut(place) {
            *known = Some(number);
        }
        number
    }

    /// Writes what [`Self::add_pool`] makes of a pool as numbers: equal where that is.
    fn write(&mut self, gathered: &'a GatheredPool, content: &mut Vec<u32>) {
        let pool = &*gathered.pool;
        content.extend([self.driver(&pool.name.driver), pool.state as u32]);
        content.extend([number(pool.devices.len()), number(pool.counters.len())]);
        content.extend(gathered.devices().map(|(place, seen)| self.kinds.number(place, seen)));
        content.extend(pool.devices.iter().map(|seen| u32::from(in_use(seen))));
        for counter in &pool.counters {
            content.extend(numbers(counter.total));
            content.extend(numbers(counter.held));
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

    fn driver(&mut self, driver: &Arc<str>) -> u32 {
        let drivers = &mut self.columns.drivers;
        let known = drivers.iter().position(|known| Arc::ptr_eq(known, driver) || known == driver);
        number(known.unwrap_or_else(|| {
            drivers.push(Arc::clone(driver));
            drivers.len() - 1
        }))
    }
}

/// How a device is in use.
fn in_use(seen: &SeenDevice) -> u8 {
    let exclusive = if seen.exclusive() { EXCLUSIVE } else { 0 };
    exclusive | if seen.shared().is_some() { SHARED } else { 0 }
}

/// Amounts of the capacities of a pool's devices that shares hold, by the number of the device in the pool; zero amounts are left
/// out.
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
fn lists_of(context: &Context) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = Vec::new();
    let Ok(Some(resolved)) = context.resolved_claims() else { return lists };
    let mut add = |list: Vec<String>| {
        if !list.is_empty() && !lists.contains(&list) {
            lists.push(list);
        }
    };
    let claims = context.snapshot().claims();
    let of_class = |class: &Arc<ClassRecord>| class.selectors.iter().map(|it| it.clone().unwrap_or_default()).collect();
    let expression = |selector: &DeviceSelector| Some(selector.cel.as_ref()?.expression.clone());
    let unallocated = resolved.named.iter().filter(|claim| claim.allocation.is_none());
    let requests = unallocated.flat_map(|claim| claim.spec.requests.iter().flatten());
    for fields in requests.flat_map(DeviceRequest::fields) {
        if let Some(class) = claims.class(&fields.device_class_name) {
            add(of_class(class));
        }
        add(fields.selectors.iter().filter_map(expression).collect());
    }
    if resolved.extended.is_some()
        && let Some(pod) = &context.pod().claims
    {
        pod.resources.iter().filter_map(|resource| claims.class_serving(resource)).map(of_class).for_each(add);
    }
    lists
}

#[cfg(test)]
mod tests;
