//! All pools, as the writer keeps them, and what nodes see of them by name.
//!
//! A change of slices, uses or nodes only notes what is stale: start at [`DeviceTable::apply_slice`]. Before a publication
//! [`DeviceTable::settle`] brings the rows up to date, once for however many changes. A pool of slices with node names costs as
//! much as it has devices; one that selects nodes is looked at for every row, and shares its views among rows of equal sight.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::known::KnownDevices;
use super::model::{Device, SeenDevice, SeenPool, SeenPools};
use super::offer::{Blind, Offer, Sight, Slice};
use super::rules::DeviceRules;
use super::seen::{Devices, Seen, first, in_order};
use super::uses::{Miscounted, Uses};
use crate::columns::{Column, Delta, Row};
use crate::limits::INDEX_ENTRY_BYTES;
use crate::metadata::devices::{DeviceRecord, Reach};
use crate::metadata::{Hold, Labels, PoolName, SliceRecord, TaintRuleRecord};

/// ResourceSlices and uses of devices.
#[derive(Debug, Default)]
pub(crate) struct DeviceTable {
    /// The pool of each slice, by the name of the slice.
    slices: FxHashMap<Arc<str>, Arc<PoolName>>,
    /// Boxed, since the nodes of such a map are half empty.
    pools: BTreeMap<Arc<PoolName>, Box<Pool>>,
    /// Pools with slices that several nodes may see.
    wide: BTreeSet<Arc<PoolName>>,
    uses: Uses,
    known: KnownDevices,
    rules: DeviceRules,
    /// Rules that taint devices, by the name of the DeviceTaintRule.
    taint_rules: BTreeMap<Arc<str>, TaintRuleRecord>,
    /// Views of pools by node, sorted by pool; also of nodes that have no row.
    nodes: FxHashMap<Arc<str>, Vec<Sighting>>,
    /// Whether rows show wide pools.
    shows_wide: bool,
    stale_pools: BTreeMap<Arc<PoolName>, Stale>,
    /// Nodes that came, went, or changed their labels.
    stale_nodes: FxHashSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct Pool {
    /// Slices of the pool, sorted by name.
    slices: Arc<Vec<Arc<Slice>>>,
    /// Views by sight, where several nodes see the pool.
    views: FxHashMap<Sight, Arc<SeenPool>>,
    /// Nodes that see something of it, sorted; mostly one.
    seers: Vec<Arc<str>>,
}

/// View of a pool from one node, or why it cannot be determined.
#[derive(Debug, Clone)]
struct Sighting {
    pool: Arc<PoolName>,
    /// The view, or the error. Errors are boxed, since few nodes have one.
    seen: Result<Arc<SeenPool>, Box<Blind>>,
}

/// Change of a pool that rows do not show yet.
#[derive(Debug)]
enum Stale {
    /// Changed slices, and maybe changed uses.
    Slices,
    /// Changed use of these devices.
    Uses(Vec<Arc<str>>),
}

/// The nodes that have rows.
#[derive(Clone, Copy)]
pub(crate) struct NodeRows<'a> {
    /// Names of the nodes, by row.
    pub(crate) names: &'a Column<Arc<str>>,
    /// Labels of the nodes, by row.
    pub(crate) labels: &'a Column<Labels>,
    /// Row of a node by its name; none where it has no row.
    pub(crate) row: &'a dyn Fn(&str) -> Option<Row>,
}

impl NodeRows<'_> {
    fn labels_of(&self, node: &str) -> Option<&Labels> {
        self.labels.get((self.row)(node)?)
    }
}

impl Sighting {
    fn is_same(&self, other: &Self) -> bool {
        match (&self.seen, &other.seen) {
            (Ok(a), Ok(b)) => Arc::ptr_eq(a, b),
            (Err(a), Err(b)) => a == b,
            _ => false,
        }
    }
}

/// Changes of slices, of uses and of nodes.
impl DeviceTable {
    /// Adds a slice, or replaces the one of its name.
    pub(crate) fn apply_slice(&mut self, mut record: SliceRecord) {
        if self.holds_slice(&record) {
            return;
        }
        self.taint(&mut record);
        self.remove_slice(&record.name);
        self.known.sweep_if_due();
        let known = &mut self.known;
        let pool = self.pools.get_key_value(&record.pool).map(|(name, _)| Arc::clone(name));
        let pool = pool.unwrap_or_else(|| {
            Arc::new(PoolName { driver: known.text(&record.pool.driver), name: Arc::clone(&record.pool.name) })
        });
        record.pool = (*pool).clone();
        // One text, and not one for each slice: drivers name the pool of a node as the node.
        if let Some(Reach::Node(node)) = &mut record.reach
            && *node == record.pool.name
        {
            *node = Arc::clone(&record.pool.name);
        }
        self.slices.insert(Arc::clone(&record.name), Arc::clone(&pool));
        let slice = Slice::new(record, known);
        let slices = Arc::make_mut(&mut self.pools.entry(Arc::clone(&pool)).or_default().slices);
        let place = slices.partition_point(|other| other.name < slice.name);
        if slices.is_empty() {
            slices.reserve_exact(1);
        }
        slices.insert(place, Arc::new(slice));
        self.stale_pools.insert(pool, Stale::Slices);
    }

    /// Removes a slice by its name.
    pub(crate) fn remove_slice(&mut self, name: &str) {
        let Some(pool) = self.slices.remove(name) else { return };
        if let Some(held) = self.pools.get_mut(&pool) {
            Arc::make_mut(&mut held.slices).retain(|slice| *slice.name != *name);
        }
        self.stale_pools.insert(pool, Stale::Slices);
    }

    /// Whether this is what is held of a slice.
    pub(crate) fn holds_slice(&self, record: &SliceRecord) -> bool {
        let pool = self.slices.get(&record.name).filter(|pool| ***pool == record.pool);
        let slice = pool.and_then(|pool| self.pools.get(pool)).and_then(|pool| {
            let place = pool.slices.binary_search_by(|slice| slice.name.cmp(&record.name)).ok()?;
            pool.slices.get(place)
        });
        let Some(slice) = slice else { return false };
        if self.concerning(&record.pool).next().is_none() {
            return slice.is_of(record);
        }
        let mut tainted = record.clone();
        self.taint(&mut tainted);
        slice.is_of(&tainted)
    }

    /// Adds a DeviceTaintRule, or replaces the one of its name.
    pub(crate) fn apply_taint_rule(&mut self, rule: &TaintRuleRecord) {
        if self.holds_taint_rule(rule) {
            return;
        }
        let (before, bare) =
            (self.taint_rules.insert(Arc::clone(&rule.name), rule.clone()), self.rules.bare_taint_rules);
        let concerned = |pool: &PoolName| before.as_ref().is_some_and(|before| before.concerns(pool, bare));
        self.taint_anew(|pool| rule.concerns(pool, bare) || concerned(pool));
    }

    /// Removes a DeviceTaintRule by its name.
    pub(crate) fn remove_taint_rule(&mut self, name: &str) {
        if let Some(rule) = self.taint_rules.remove(name) {
            let bare = self.rules.bare_taint_rules;
            self.taint_anew(|pool| rule.concerns(pool, bare));
        }
    }

    /// Whether this is what is held of a DeviceTaintRule.
    pub(crate) fn holds_taint_rule(&self, rule: &TaintRuleRecord) -> bool {
        self.taint_rules.get(&rule.name) == Some(rule)
    }

    /// Has rows show slices and devices by these rules from now on.
    pub(crate) fn set_rules(&mut self, rules: DeviceRules) {
        if self.rules == rules {
            return;
        }
        let of_taints = |rules: &DeviceRules| (rules.taint_rules, rules.bare_taint_rules);
        let taints = of_taints(&self.rules) != of_taints(&rules);
        self.rules = rules;
        self.stale_pools.extend(self.pools.keys().map(|pool| (Arc::clone(pool), Stale::Slices)));
        if taints {
            self.taint_anew(|_| true);
        }
    }

    /// The DeviceTaintRules that may select devices of a pool, by name.
    fn concerning<'a>(&'a self, pool: &'a PoolName) -> impl Iterator<Item = &'a TaintRuleRecord> {
        let rules = self.taint_rules.values().filter(|_| self.rules.taint_rules);
        rules.filter(|rule| rule.concerns(pool, self.rules.bare_taint_rules))
    }

    /// Gives the devices of a slice the taints of rules.
    fn taint(&self, record: &mut SliceRecord) {
        for rule in self.concerning(&record.pool) {
            for device in record.devices.iter_mut().filter(|device| rule.selects(&device.name)) {
                device.traits.rule_taints.push(rule.taint.clone());
            }
        }
    }

    /// Gives devices of pools the taints that rules have for them now.
    fn taint_anew(&mut self, concerns: impl Fn(&PoolName) -> bool) {
        let pools: Vec<Arc<PoolName>> = self.pools.keys().filter(|pool| concerns(pool)).cloned().collect();
        for name in pools {
            // A rule whose taint changes again and again makes every device anew, and no slice is applied meanwhile.
            self.known.sweep_if_due();
            let Some(mut pool) = self.pools.remove(&name) else { continue };
            let mut is_changed = false;
            for slice in Arc::make_mut(&mut pool.slices) {
                let taints = |device: &Arc<Device>| {
                    let rules = self.concerning(&name).filter(|rule| rule.selects(&device.name));
                    rules.map(|rule| rule.taint.clone()).collect::<Vec<_>>()
                };
                let taints: Vec<_> = slice.devices.iter().map(taints).collect();
                let differs =
                    |(device, taints): (&Arc<Device>, &Vec<_>)| device.traits().content.rule_taints != *taints;
                if !slice.devices.iter().zip(&taints).any(differs) {
                    continue;
                }
                let records = slice.devices.iter().zip(taints).map(|(device, taints)| {
                    let mut record = DeviceRecord::from_device(device);
                    record.traits.rule_taints = taints;
                    record
                });
                let devices = self.known.devices(&name, records.collect());
                *slice = Arc::new(slice.with_devices(devices));
                is_changed = true;
            }
            self.pools.insert(Arc::clone(&name), pool);
            if is_changed {
                self.stale_pools.insert(name, Stale::Slices);
            }
        }
    }

    /// A claim comes to hold a device, or releases it.
    pub(crate) fn apply_hold(&mut self, delta: Delta, hold: &Hold) {
        let pool = PoolName { driver: Arc::clone(&hold.device.driver), name: Arc::clone(&hold.device.pool) };
        if self.uses.apply(delta, &pool, hold) {
            self.use_is_stale(&pool, &hold.device.device);
        }
    }

    fn use_is_stale(&mut self, pool: &PoolName, device: &Arc<str>) {
        if let Some((pool, _)) = self.pools.get_key_value(pool) {
            let stale = self.stale_pools.entry(Arc::clone(pool)).or_insert_with(|| Stale::Uses(Vec::new()));
            if let Stale::Uses(devices) = stale {
                devices.push(Arc::clone(device));
            }
        }
    }

    /// A node came, went, or changed its labels.
    pub(crate) fn node_changed(&mut self, node: &Arc<str>) {
        if !self.pools.is_empty() {
            self.stale_nodes.insert(Arc::clone(node));
        }
    }
}

/// Sizes, and the recount.
impl DeviceTable {
    /// Devices of all slices.
    pub(crate) fn device_count(&self) -> usize {
        let slices = self.pools.values().flat_map(|pool| pool.slices.iter());
        slices.map(|slice| slice.devices.len()).sum()
    }

    /// Devices in use, those that no slice has included.
    pub(crate) fn use_count(&self) -> usize {
        self.uses.len()
    }

    /// Bytes of devices and slices by the lengths of their tables: a lower bound.
    pub(crate) fn bytes(&self) -> usize {
        // A slice refers to the device, and a node sees it.
        let device = size_of::<Device>() + size_of::<Arc<Device>>() + size_of::<SeenDevice>() + INDEX_ENTRY_BYTES;
        self.known.len() * device + self.slices.len() * (size_of::<Slice>() + INDEX_ENTRY_BYTES)
    }

    /// Makes what is in use equal what is held, and gives the devices of which that was not so.
    pub(crate) fn recount<'a>(&mut self, held: impl Iterator<Item = &'a Hold>) -> Vec<Miscounted> {
        let found = self.uses.recount(held);
        for Miscounted { pool, device, .. } in &found {
            self.use_is_stale(pool, device);
        }
        found
    }
}

/// Bringing rows up to date.
impl DeviceTable {
    /// Brings `devices` up to date with all changes, and gives the rows that see something else than before.
    pub(crate) fn settle(&mut self, nodes: NodeRows<'_>, devices: &mut Devices) -> Vec<Row> {
        if self.stale_pools.is_empty() && self.stale_nodes.is_empty() {
            return Vec::new();
        }
        let stale_pools = std::mem::take(&mut self.stale_pools);
        let stale_nodes = std::mem::take(&mut self.stale_nodes);
        let mut changed: FxHashSet<Arc<str>> = FxHashSet::default();
        for (pool, stale) in &stale_pools {
            match stale {
                Stale::Uses(used) if self.has_views(pool) => self.use_changed(pool, used, &mut changed),
                Stale::Uses(_) | Stale::Slices => self.slices_changed(pool, nodes, &mut changed),
            }
        }
        let is_settled = |pool: &&Arc<PoolName>| matches!(stale_pools.get(*pool), Some(Stale::Slices));
        let unsettled: Vec<Arc<PoolName>> = self.wide.iter().filter(|pool| !is_settled(pool)).cloned().collect();
        for pool in &unsettled {
            self.nodes_changed(pool, &stale_nodes, nodes);
        }
        if self.shows_wide || !self.wide.is_empty() {
            self.shows_wide = !self.wide.is_empty();
            let wide = self.wide.iter().filter_map(|name| Some(self.offer(name, self.pools.get(name)?)));
            devices.set_wide(wide.collect());
        }
        changed.extend(stale_nodes);
        let mut lists = FxHashMap::default();
        let mut rows = Vec::new();
        for node in &changed {
            if let Some(row) = (nodes.row)(node)
                && devices.set(row, self.seen_by(node, &mut lists))
            {
                rows.push(row);
            }
        }
        rows.sort_unstable();
        rows
    }

    fn offer(&self, name: &Arc<PoolName>, pool: &Pool) -> Offer {
        let (slices, uses) = (Arc::clone(&pool.slices), self.uses.in_pool(name));
        Offer { name: Arc::clone(name), slices, uses, rules: self.rules }
    }

    fn has_views(&self, pool: &Arc<PoolName>) -> bool {
        self.pools.get(pool).is_some_and(|pool| !pool.views.is_empty())
    }

    /// Looks at a pool anew, for all nodes that may see something of it.
    fn slices_changed(&mut self, name: &Arc<PoolName>, nodes: NodeRows<'_>, changed: &mut FxHashSet<Arc<str>>) {
        let Some(mut pool) = self.pools.remove(name) else { return };
        let mut before: FxHashMap<Arc<str>, Sighting> = FxHashMap::default();
        for node in std::mem::take(&mut pool.seers) {
            if let Some(sighting) = self.forget(&node, name) {
                before.insert(node, sighting);
            }
        }
        let offer = self.offer(name, &pool);
        let (mut by_node, mut of_many): (FxHashMap<&Arc<str>, Vec<usize>>, Vec<usize>) = Default::default();
        for (place, slice) in offer.slices.iter().enumerate() {
            slice.only_node(self.rules).map_or(&mut of_many, |node| by_node.entry(node).or_default()).push(place);
        }
        let is_wide = !of_many.is_empty();
        self.wide.remove(name);
        if is_wide {
            self.wide.insert(Arc::clone(name));
        }
        let mut views: FxHashMap<Sight, Option<Arc<SeenPool>>> = FxHashMap::default();
        let mut seers = Vec::with_capacity(1);
        let mut look = |node: &Arc<str>, labels: &Labels, places: &[usize]| {
            let held = before.remove(node);
            let seen = match offer.sight(places.iter().copied(), node, labels) {
                Ok(sight) => {
                    let held = held.as_ref().and_then(|held| held.seen.as_ref().ok());
                    let view = views.entry(sight).or_insert_with_key(|sight| view(&offer, sight, held));
                    view.clone().map(Ok)
                }
                Err(blind) => Some(Err(Box::new(blind))),
            };
            let sighting = seen.map(|seen| Sighting { pool: Arc::clone(name), seen });
            if sighting.is_some() {
                seers.push(Arc::clone(node));
            }
            let is_same = match (&sighting, &held) {
                (Some(new), Some(held)) => new.is_same(held),
                (None, None) => true,
                _ => false,
            };
            if !is_same {
                changed.insert(Arc::clone(node));
            }
            if let Some(sighting) = sighting {
                remember(&mut self.nodes, node, sighting);
            }
        };
        if is_wide {
            let mut merged = Vec::new();
            for (node, labels) in nodes.names.iter().zip(nodes.labels.iter()) {
                let Some(own) = by_node.get(node) else {
                    look(node, labels, &of_many);
                    continue;
                };
                merged.clear();
                merged.extend(own.iter().chain(&of_many));
                merged.sort_unstable();
                look(node, labels, &merged);
            }
        } else {
            by_node.iter().for_each(|(node, places)| look(node, &Labels::default(), places));
        }
        changed.extend(before.into_keys());
        seers.sort_unstable();
        pool.seers = seers;
        pool.views.clear();
        if is_wide || pool.seers.len() > 1 {
            pool.views = views.into_iter().filter_map(|(sight, view)| Some((sight, view?))).collect();
        }
        if !pool.slices.is_empty() {
            self.pools.insert(Arc::clone(name), pool);
        }
    }

    /// Makes the views of a pool anew in which the use of devices shows.
    fn use_changed(&mut self, name: &Arc<PoolName>, used: &[Arc<str>], changed: &mut FxHashSet<Arc<str>>) {
        let Some(mut pool) = self.pools.remove(name) else { return };
        let offer = self.offer(name, &pool);
        let used: FxHashSet<&Arc<str>> = used.iter().collect();
        let mut replaced: FxHashMap<*const SeenPool, Arc<SeenPool>> = FxHashMap::default();
        for (sight, held) in &mut pool.views {
            let shows = !held.counters.is_empty() || held.devices.iter().any(|seen| used.contains(&seen.device.name));
            if let Some(view) = view(&offer, sight, Some(held)).filter(|view| shows && !Arc::ptr_eq(view, held)) {
                replaced.insert(Arc::as_ptr(held), Arc::clone(&view));
                *held = view;
            }
        }
        for node in &pool.seers {
            let sighting = self.nodes.get_mut(node).and_then(|all| all.iter_mut().find(|one| one.pool == *name));
            if let Some(Ok(seen)) = sighting.map(|sighting| &mut sighting.seen)
                && let Some(view) = replaced.get(&Arc::as_ptr(seen))
            {
                *seen = Arc::clone(view);
                changed.insert(Arc::clone(node));
            }
        }
        self.pools.insert(Arc::clone(name), pool);
    }

    /// Looks at a pool anew for some nodes.
    fn nodes_changed(&mut self, name: &Arc<PoolName>, stale: &FxHashSet<Arc<str>>, nodes: NodeRows<'_>) {
        let Some(mut pool) = self.pools.remove(name) else { return };
        let offer = self.offer(name, &pool);
        for node in stale {
            let held = self.forget(node, name);
            let place = pool.seers.binary_search(node);
            if let Ok(place) = place {
                pool.seers.remove(place);
            }
            let Some(labels) = nodes.labels_of(node) else { continue };
            let seen = match offer.sight(0..offer.slices.len(), node, labels) {
                Ok(sight) => match pool.views.get(&sight) {
                    Some(view) => Some(Ok(Arc::clone(view))),
                    None => {
                        let held = held.as_ref().and_then(|held| held.seen.as_ref().ok());
                        let view = view(&offer, &sight, held);
                        view.map(|view| Ok(Arc::clone(pool.views.entry(sight).or_insert(view))))
                    }
                },
                Err(blind) => Some(Err(Box::new(blind))),
            };
            if let Some(seen) = seen {
                pool.seers.insert(place.unwrap_or_else(|place| place), Arc::clone(node));
                remember(&mut self.nodes, node, Sighting { pool: Arc::clone(name), seen });
            }
        }
        if pool.views.len() > pool.seers.len() {
            pool.views.retain(|_, view| Arc::strong_count(view) > 1);
        }
        self.pools.insert(Arc::clone(name), pool);
    }

    /// Takes out what a node sees of a pool.
    fn forget(&mut self, node: &Arc<str>, pool: &Arc<PoolName>) -> Option<Sighting> {
        let all = self.nodes.get_mut(node)?;
        let place = all.binary_search_by(|one| one.pool.cmp(pool)).ok()?;
        let sighting = all.remove(place);
        if all.is_empty() {
            self.nodes.remove(node);
        }
        Some(sighting)
    }

    /// Returns the pools that a node sees, or the error of the first slice that cannot be judged. `lists` has the lists made so far, by the
    /// addresses of their pools.
    fn seen_by(&self, node: &str, lists: &mut FxHashMap<Vec<*const SeenPool>, SeenPools>) -> Seen {
        let sightings = self.nodes.get(node).map_or(&[][..], Vec::as_slice);
        let (mut pools, mut blind) = (Vec::with_capacity(sightings.len()), None);
        for sighting in sightings {
            match &sighting.seen {
                Ok(pool) => pools.push(Arc::clone(pool)),
                Err(new) => blind = first(blind, (**new).clone()),
            }
        }
        if let Some(Blind { error, .. }) = blind {
            return Err(error);
        }
        let key = pools.iter().map(Arc::as_ptr).collect();
        Ok(Arc::clone(lists.entry(key).or_insert_with(|| in_order(pools))))
    }
}

/// The view of a sight: the one that is held, if it is the same.
fn view(offer: &Offer, sight: &Sight, held: Option<&Arc<SeenPool>>) -> Option<Arc<SeenPool>> {
    let view = offer.view(sight)?;
    Some(match held {
        Some(held) if **held == view => Arc::clone(held),
        _ => Arc::new(view),
    })
}

fn remember(nodes: &mut FxHashMap<Arc<str>, Vec<Sighting>>, node: &Arc<str>, sighting: Sighting) {
    let all = match nodes.get_mut(node) {
        Some(all) => all,
        None => nodes.entry(Arc::clone(node)).or_insert_with(|| Vec::with_capacity(1)),
    };
    let place = all.partition_point(|one| one.pool < sighting.pool);
    all.insert(place, sighting);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::limits::POOL_SWEEP_MIN;

    #[test]
    fn a_rule_that_changes_again_and_again_leaves_no_devices_behind() {
        let mut table = DeviceTable::default();
        table.set_rules(DeviceRules { taint_rules: true, ..DeviceRules::default() });
        let slice = r#"{"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p"},"nodeName":"n","devices":[{"name":"g"}]}}"#;
        table.apply_slice(SliceRecord::compile(&serde_json::from_str(slice).unwrap()));
        for update in 0..3 * POOL_SWEEP_MIN {
            let rule = format!(
                r#"{{"metadata":{{"name":"r"}},"spec":{{"deviceSelector":{{}},"taint":{{"key":"k{update}","effect":"NoSchedule"}}}}}}"#
            );
            table.apply_taint_rule(&TaintRuleRecord::compile(&serde_json::from_str(&rule).unwrap()));
            assert!(table.known.len() <= POOL_SWEEP_MIN, "{} devices after {update} updates", table.known.len());
        }
    }
}
