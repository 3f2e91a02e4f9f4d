//! The slices of one pool, and what a node sees of them.
//!
//! A node's [`Sight`] is which slices and devices are for it; [`Offer::view`] makes a [`SeenPool`] of that, equal for nodes of
//! equal sight. Source: `GatherPools` in k8s.io/dynamic-resource-allocation/structured/internal/incubating.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::known::KnownDevices;
use super::model::{Device, Draws, PoolState, Reaches, SeenCounter, SeenDevice, SeenPool, Special};
use super::rules::DeviceRules;
use super::uses::PoolUses;
use crate::metadata::devices::{CounterSet, Reach};
use crate::metadata::{Labels, NanoAmounts, PoolName, SetConsumption, SliceRecord};

/// A slice whose devices are known.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) name: Arc<str>,
    generation: i64,
    /// How many slices the generation has.
    slice_count: i64,
    /// The nodes that the slice says by itself; `None` where it says none.
    reach: Option<Reach>,
    counter_sets: Box<[CounterSet]>,
    pub(super) devices: Box<[Arc<Device>]>,
    /// Per device the nodes that it is for, where the slice leaves that to devices.
    device_reaches: Option<Box<[Reach]>>,
    /// Whether one of the devices draws from counters.
    consumes: bool,
    /// Whether a device may be combined with some others only.
    has_groups: bool,
}

/// A pool: its slices, and which of its devices are in use. A copy costs reference counts.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) name: Arc<PoolName>,
    /// Slices of all generations, sorted by name.
    pub(super) slices: Arc<Vec<Arc<Slice>>>,
    pub(super) uses: Arc<PoolUses>,
    pub(super) rules: DeviceRules,
}

/// Slices of a pool that are for a node: their places, and where slices leave it to devices, per device whether it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Sight {
    slices: Vec<(usize, Vec<Reaches>)>,
}

/// Why it cannot be told which slices are for a node: the first slice of which it cannot, and the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blind {
    pub(super) slice: Arc<str>,
    pub(super) error: Arc<str>,
}

/// Devices draw on a counter that does not exist, or two sets or devices have one name.
struct Invalid;

impl Slice {
    /// A slice; devices are those that are known.
    pub(super) fn new(record: SliceRecord, known: &mut KnownDevices) -> Self {
        let SliceRecord {
            name,
            pool,
            generation,
            slice_count,
            reach,
            counter_sets,
            devices,
            device_reaches,
            has_groups,
        } = record;
        let devices = known.devices(&pool, devices);
        let consumes = devices.iter().any(|device| !device.traits().content.consumes.is_empty());
        let (counter_sets, device_reaches) = (counter_sets.into(), device_reaches.map(Box::from));
        Self { name, generation, slice_count, reach, counter_sets, devices, device_reaches, consumes, has_groups }
    }

    /// The slice with other devices in the place of its own.
    pub(super) fn with_devices(&self, devices: Box<[Arc<Device>]>) -> Self {
        Self {
            name: Arc::clone(&self.name),
            generation: self.generation,
            slice_count: self.slice_count,
            reach: self.reach.clone(),
            counter_sets: self.counter_sets.clone(),
            devices,
            device_reaches: self.device_reaches.clone(),
            consumes: self.consumes,
            has_groups: self.has_groups,
        }
    }

    /// Whether it was made of such a record, whatever the pool.
    pub(super) fn is_of(&self, record: &SliceRecord) -> bool {
        let Self {
            name,
            generation,
            slice_count,
            reach,
            counter_sets,
            devices,
            device_reaches,
            consumes: _,
            has_groups,
        } = self;
        *name == record.name
            && *has_groups == record.has_groups
            && *generation == record.generation
            && *slice_count == record.slice_count
            && *reach == record.reach
            && **counter_sets == *record.counter_sets
            && device_reaches.as_deref() == record.device_reaches.as_deref()
            && devices.len() == record.devices.len()
            && devices.iter().zip(&record.devices).all(|(device, record)| device.is_of(record))
    }

    /// Whether rules leave it out.
    fn is_left_out(&self, rules: DeviceRules) -> bool {
        // The allocator that shows all pools knows counters only within a slice.
        let has_counters = !self.counter_sets.is_empty() && !rules.shows_all_pools;
        (!rules.partitionable && (has_counters || self.device_reaches.is_some()))
            || (rules.leaves_out_groups && self.has_groups)
    }

    /// Whether every node sees it, whatever nodes it says.
    fn is_everywhere(&self, rules: DeviceRules) -> bool {
        rules.counters_everywhere && !rules.shows_all_pools && !self.counter_sets.is_empty()
    }

    /// The one node that sees it, whatever its labels; `None` where several may, or labels decide about devices.
    pub(super) fn only_node(&self, rules: DeviceRules) -> Option<&Arc<str>> {
        match &self.reach {
            _ if self.is_everywhere(rules) => None,
            Some(Reach::Node(node)) => Some(node).filter(|_| self.device_reaches.is_none()),
            _ => None,
        }
    }

    /// Devices that can be allocated: a slice with counters has none.
    fn offered(&self, rules: DeviceRules) -> &[Arc<Device>] {
        if self.counter_sets.is_empty() || !rules.partitionable { &self.devices } else { &[] }
    }

    /// Whether it is for a node.
    fn is_for(&self, node: &str, labels: &Labels, rules: DeviceRules) -> Result<bool, Blind> {
        if self.is_left_out(rules) || self.is_everywhere(rules) {
            return Ok(!self.is_left_out(rules));
        }
        let has = |reach: &Reach| reach.has(node, labels).map_err(|(_, of_slice)| self.blind(of_slice));
        if let Some(reach) = &self.reach {
            return has(reach);
        }
        for reach in self.device_reaches.iter().flatten() {
            if has(reach)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn blind(&self, error: &Arc<str>) -> Blind {
        Blind { slice: Arc::clone(&self.name), error: Arc::clone(error) }
    }
}

impl Offer {
    /// Returns which of the slices at `places`, which ascend, are for a node, and which of their devices.
    pub(super) fn sight(
        &self,
        places: impl Iterator<Item = usize>,
        node: &str,
        labels: &Labels,
    ) -> Result<Sight, Blind> {
        let mut sight = Sight::default();
        for (place, slice) in places.filter_map(|place| Some((place, self.slices.get(place)?))) {
            if slice.is_for(node, labels, self.rules)? {
                let answer = |reach: &Reach| reach.has(node, labels).map_err(|(error, _)| Arc::clone(error));
                let reaches = slice.device_reaches.iter().flatten().map(answer);
                sight.slices.push((place, reaches.collect()));
            }
        }
        Ok(sight)
    }

    /// The pool as nodes of this sight see it; `None` where they see nothing of it, or a newer generation is elsewhere.
    pub(super) fn view(&self, sight: &Sight) -> Option<SeenPool> {
        let seen = sight.slices.iter().filter_map(|(place, reaches)| Some((&**self.slices.get(*place)?, reaches)));
        let newest = seen.clone().map(|(slice, _)| slice.generation).max()?;
        let here: Vec<(&Slice, &[Reaches])> = seen
            .filter(|(slice, _)| slice.generation == newest)
            .map(|(slice, reaches)| (slice, reaches.as_slice()))
            .collect();
        let wanted = here.first().map_or(0, |(slice, _)| slice.slice_count);
        let mut all: Vec<&Slice> = here.iter().map(|(slice, _)| *slice).collect();
        let is_incomplete = count(all.len()) != wanted;
        if is_incomplete && !self.rules.shows_all_pools {
            if self.slices.iter().any(|slice| slice.generation > newest) {
                return None;
            }
            let leaves_out_groups = self.rules.leaves_out_groups;
            let is_newest =
                |slice: &&Arc<Slice>| slice.generation == newest && !(leaves_out_groups && slice.has_groups);
            all = self.slices.iter().filter(is_newest).map(|slice| &**slice).collect();
            if count(all.len()) != wanted {
                return Some(self.without_devices(PoolState::Incomplete));
            }
        }
        let pool = self.complete(&here, &all).unwrap_or_else(|Invalid| self.invalid(&here));
        let is_shown = is_incomplete && self.rules.shows_all_pools && pool.state == PoolState::Ok;
        Some(if is_shown { SeenPool { state: PoolState::Incomplete, ..pool } } else { pool })
    }

    /// A pool that contradicts itself.
    fn invalid(&self, here: &[(&Slice, &[Reaches])]) -> SeenPool {
        let mut pool = self.without_devices(PoolState::Invalid);
        if self.rules.shows_all_pools {
            let devices = here.iter().flat_map(|(slice, _)| slice.offered(self.rules));
            pool.devices = devices.map(|device| SeenDevice::new(device, None, false)).collect();
        }
        pool
    }

    /// The pool with all devices of its newest generation, whichever nodes see them.
    pub(super) fn whole(&self) -> Option<SeenPool> {
        let slices = (0..self.slices.len()).map(|place| (place, Vec::new())).collect();
        self.view(&Sight { slices })
    }

    /// The nodes that one of its devices is for, of the newest generation that a node sees of it; `None` where it sees none.
    pub(super) fn reach_of(&self, device: &Arc<Device>, node: &str, labels: &Labels) -> Option<&Reach> {
        let reach = |slice: &'_ Arc<Slice>| -> Option<(i64, usize)> {
            let place = slice.offered(self.rules).iter().position(|known| Arc::ptr_eq(known, device))?;
            slice.is_for(node, labels, self.rules).ok()?.then_some((slice.generation, place))
        };
        let found = self.slices.iter().filter_map(|slice| Some((reach(slice)?, slice)));
        let ((_, place), slice) = found.max_by_key(|((generation, _), _)| *generation)?;
        match &slice.device_reaches {
            Some(reaches) => reaches.get(place),
            None => slice.reach.as_ref(),
        }
    }

    fn without_devices(&self, state: PoolState) -> SeenPool {
        SeenPool { name: Arc::clone(&self.name), state, counters: Box::default(), devices: Box::default() }
    }

    /// A pool of which no slice is missing: devices of the slices that are here, counters of all.
    fn complete(&self, here: &[(&Slice, &[Reaches])], all: &[&Slice]) -> Result<SeenPool, Invalid> {
        let rules = self.rules;
        let with_counters = all.iter().filter(|_| rules.partitionable);
        let mut counters = Counters::try_new(with_counters.flat_map(|slice| slice.counter_sets.iter()), rules)?;
        for device in all.iter().filter(|slice| slice.consumes).flat_map(|slice| slice.offered(rules)) {
            let draws = counters.drawn(device)?;
            if self.uses.contains_key(&device.name) {
                counters.hold(&draws);
            }
        }
        let mut names = FxHashSet::default();
        let mut devices = Vec::with_capacity(here.iter().map(|(slice, _)| slice.offered(rules).len()).sum());
        for (slice, reaches) in here {
            for (number, device) in slice.offered(rules).iter().enumerate() {
                if !names.insert(&*device.name) {
                    return Err(Invalid);
                }
                let binding = device.traits().content.binding.as_ref();
                if !rules.binding_conditions && binding.is_some_and(|binding| !binding.conditions.is_empty()) {
                    continue;
                }
                let in_use = self.uses.get(&device.name);
                let reaches = reaches.get(number).cloned().unwrap_or(Ok(true));
                let shared = in_use.and_then(|in_use| in_use.shared()).cloned();
                let special = counters.special(reaches, shared, device)?;
                devices.push(SeenDevice::new(device, special, in_use.is_some_and(|in_use| in_use.is_exclusive())));
            }
        }
        let (counters, devices) = (counters.seen.into(), devices.into());
        Ok(SeenPool { name: Arc::clone(&self.name), state: PoolState::Ok, counters, devices })
    }
}

fn count(slices: usize) -> i64 {
    i64::try_from(slices).unwrap_or(i64::MAX)
}

/// The counters of a pool, and what devices draw of them.
struct Counters<'a> {
    sets: FxHashSet<&'a str>,
    /// Set and name of each, sorted.
    names: Vec<(&'a str, &'a str)>,
    seen: Vec<SeenCounter>,
    /// Counters drawn, by the address of the consumption list in the traits of devices.
    drawn: FxHashMap<*const [SetConsumption], Draws>,
    nothing: Draws,
    /// Devices that draw and have nothing else special, by the address of what they draw.
    drawing: FxHashMap<*const (u32, i128), Arc<Special>>,
    /// Whether there are counters at all. Otherwise devices draw on one that does not exist.
    are_known: bool,
}

impl<'a> Counters<'a> {
    fn try_new(sets: impl Iterator<Item = &'a CounterSet>, rules: DeviceRules) -> Result<Self, Invalid> {
        let mut names = FxHashSet::default();
        let mut all: Vec<((&str, &str), i128)> = Vec::new();
        for set in sets {
            if !names.insert(&*set.name) {
                return Err(Invalid);
            }
            all.extend(set.counters.iter().map(|(name, total)| ((&*set.name, &**name), *total)));
        }
        all.sort_unstable();
        let seen = all.iter().map(|(_, total)| SeenCounter { total: *total, held: 0 }).collect();
        let counters = all.into_iter().map(|(name, _)| name).collect();
        let (drawn, drawing) = Default::default();
        let are_known = rules.partitionable;
        Ok(Self { sets: names, names: counters, seen, drawn, nothing: Arc::default(), drawing, are_known })
    }

    /// Returns the counters that a device draws from, computed once for all devices of its traits.
    fn drawn(&mut self, device: &Device) -> Result<Draws, Invalid> {
        let consumes = device.traits().content.consumes.as_slice();
        if consumes.is_empty() {
            return Ok(Arc::clone(&self.nothing));
        }
        if let Some(draws) = self.drawn.get(&std::ptr::from_ref(consumes)) {
            return Ok(Arc::clone(draws));
        }
        let mut draws = Vec::new();
        for consumption in consumes {
            if !self.are_known {
                // A device that cannot be allocated is not left out: a request for all devices fails on it.
                draws.push((u32::MAX, 0));
                continue;
            }
            if !self.sets.contains(&*consumption.set) {
                return Err(Invalid);
            }
            for (name, amount) in consumption.counters.iter() {
                let place = self.names.binary_search(&(&*consumption.set, &**name)).map_err(|_| Invalid)?;
                draws.push((u32::try_from(place).map_err(|_| Invalid)?, *amount));
            }
        }
        let draws: Draws = draws.into();
        self.drawn.insert(std::ptr::from_ref(consumes), Arc::clone(&draws));
        Ok(draws)
    }

    /// Returns the reach, shares and counters of a device; none for most, which have nothing special.
    fn special(
        &mut self,
        reaches: Reaches,
        shared: Option<NanoAmounts>,
        device: &Device,
    ) -> Result<Option<Arc<Special>>, Invalid> {
        let consumes = self.drawn(device)?;
        if reaches != Ok(true) || shared.is_some() {
            return Ok(Some(Arc::new(Special { reaches, shared, consumes })));
        }
        if consumes.is_empty() {
            return Ok(None);
        }
        let drawing = self.drawing.entry(consumes.as_ptr());
        Ok(Some(Arc::clone(drawing.or_insert_with(|| Arc::new(Special { reaches, shared, consumes })))))
    }

    fn hold(&mut self, draws: &[(u32, i128)]) {
        for (place, amount) in draws {
            if let Some(counter) = self.seen.get_mut(*place as usize) {
                counter.held = counter.held.saturating_add(*amount);
            }
        }
    }
}
