//! Resources as columns: what nodes advertise in `status.allocatable`, what is free of it, and what foreign pods use.
//!
//! Start at [`Resources`]. `cpu` is in millicores, every other resource in whole units (bytes, devices).

mod strip;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::unadvertised::Unadvertised;
use crate::columns::{Column, Delta, DriftReport, Row};
use crate::metadata::{Amounts, PodRecord, amount_of};
use crate::pods::amounts_change::AmountsChange;
pub(crate) use strip::ResourcesStrip;

/// One resource as columns with one entry per row. What is requested is `allocatable - free`; arithmetic wraps, as Go's
/// does.
#[derive(Debug, Clone)]
pub struct Resource {
    /// `status.allocatable`; 0 where the node does not advertise it.
    pub allocatable: Column<i64>,
    /// Allocatable less the requests of all pods on the node.
    pub free: Column<i64>,
    /// Requests of foreign pods on the node.
    pub foreign: Column<i64>,
    /// How many nodes advertise it.
    advertisers: usize,
    /// Rows whose nodes advertise it, but nothing of it: few, and for most resources none.
    zeros: Arc<BTreeSet<Row>>,
}

/// Whether a node lists a resource in `status.allocatable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Own {
    /// The node does not list the resource.
    None = 0,
    /// The node lists the resource with an amount of zero.
    Zero = 1,
    /// The node lists the resource with any other amount.
    More = 2,
}

impl Resource {
    fn zeros(rows: usize) -> Self {
        let zeros = Column::filled(rows, &0);
        Self { allocatable: zeros.clone(), free: zeros.clone(), foreign: zeros, advertisers: 0, zeros: Arc::default() }
    }

    /// Whether the node of a row lists it.
    fn own(&self, row: Row) -> Own {
        match self.allocatable.get(row) {
            None | Some(0) if self.zeros.contains(&row) => Own::Zero,
            None | Some(0) => Own::None,
            Some(_) => Own::More,
        }
    }

    /// Notes whether the node of a row lists nothing of it.
    fn set_zero(&mut self, row: Row, is_zero: bool) {
        match (self.zeros.contains(&row), is_zero) {
            (false, true) => drop(Arc::make_mut(&mut self.zeros).insert(row)),
            (true, false) => drop(Arc::make_mut(&mut self.zeros).remove(&row)),
            _ => {}
        }
    }

    /// A pod on a row uses `amount` more.
    fn reserve(&mut self, row: Row, amount: i64, is_foreign: bool) {
        self.free.update(row, |free| *free = free.wrapping_sub(amount));
        if is_foreign {
            self.foreign.update(row, |foreign| *foreign = foreign.wrapping_add(amount));
        }
    }
}

/// The columns of every resource that some node advertises, and the pods that use any other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resources {
    columns: Arc<BTreeMap<Arc<str>, Resource>>,
    unadvertised: Unadvertised,
}

impl Resources {
    /// Whether a resource has columns.
    pub(crate) fn is_advertised(&self, name: &str) -> bool {
        self.columns.contains_key(name)
    }

    /// Names of all resources that have columns, sorted.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.columns.keys()
    }

    /// The columns of a resource; summed up for this call where only pods name it. `None` where neither does.
    pub(crate) fn get(&self, name: &str) -> Option<Cow<'_, Resource>> {
        match self.columns.get(name) {
            Some(resource) => Some(Cow::Borrowed(resource)),
            None => self.sum_of(name).map(Cow::Owned),
        }
    }

    /// Free amount of a resource in a row; `None` where no node advertises the resource.
    pub(crate) fn free_in(&self, row: Row, name: &str) -> Option<i64> {
        self.columns.get(name).map(|resource| resource.free.get(row).copied().unwrap_or(0))
    }

    /// Amount of a resource that the node of a row advertises; `None` where it does not list it.
    pub(crate) fn allocatable_in(&self, row: Row, name: &str) -> Option<i64> {
        let resource = self.columns.get(name).filter(|resource| resource.own(row) != Own::None)?;
        Some(resource.allocatable.get(row).copied().unwrap_or(0))
    }

    /// Per row, whether its node lists a resource.
    pub(crate) fn own(&self, name: &str, rows: impl IntoIterator<Item = Row>) -> Vec<Own> {
        let resource = self.columns.get(name);
        rows.into_iter().map(|row| resource.map_or(Own::None, |resource| resource.own(row))).collect()
    }

    /// Returns the amounts that a node advertises, without those of zero.
    pub(crate) fn allocatable_of(&self, row: Row) -> Amounts {
        let amount = |resource: &Resource| resource.allocatable.get(row).copied().unwrap_or(0);
        let amounts = self.columns.iter().map(|(name, resource)| (Arc::clone(name), amount(resource)));
        amounts.filter(|(_, amount)| *amount != 0).collect()
    }

    /// Appends a row without anything.
    pub(crate) fn push(&mut self) {
        for resource in Arc::make_mut(&mut self.columns).values_mut() {
            resource.allocatable.push(0);
            resource.free.push(0);
            resource.foreign.push(0);
        }
        self.unadvertised.push();
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        let last = self.unadvertised.row_count().checked_sub(1).and_then(|last| u32::try_from(last).ok()).map(Row);
        for resource in Arc::make_mut(&mut self.columns).values_mut() {
            if let Some(last) = last {
                let is_zero = last != row && resource.zeros.contains(&last);
                resource.set_zero(last, false);
                resource.set_zero(row, is_zero);
            }
            resource.allocatable.swap_remove(row);
            resource.free.swap_remove(row);
            resource.foreign.swap_remove(row);
        }
        self.unadvertised.swap_remove(row);
    }

    /// Adds the usage of a pod to a row, or removes it.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &Arc<PodRecord>) {
        let (sign, foreign) = (delta.sign(), pod.ownership.is_foreign());
        let columns = Arc::make_mut(&mut self.columns);
        let mut uses_unadvertised = false;
        for (name, amount) in pod.usage().iter().filter(|(_, amount)| *amount != 0) {
            match columns.get_mut(name) {
                Some(resource) => resource.reserve(row, amount.wrapping_mul(sign), foreign),
                None => uses_unadvertised = true,
            }
        }
        if uses_unadvertised {
            self.unadvertised.apply(delta, row, pod);
        }
    }

    /// Changes the usage of pods of a row to what they take now.
    pub(crate) fn change_amounts(&mut self, row: Row, changes: &[AmountsChange]) {
        let changes = || changes.iter().filter(|change| change.changes_usage());
        // How much more of each resource, by all and by foreign pods.
        let mut more: BTreeMap<&Arc<str>, (i64, i64)> = BTreeMap::new();
        for (pod, delta) in changes().flat_map(AmountsChange::states) {
            let is_foreign = pod.ownership.is_foreign();
            for (name, amount) in pod.usage().iter().filter(|(_, amount)| *amount != 0) {
                let amount = amount.wrapping_mul(delta.sign());
                let (all, foreign) = more.entry(name).or_default();
                *all = all.wrapping_add(amount);
                *foreign = foreign.wrapping_add(if is_foreign { amount } else { 0 });
            }
        }
        let columns = Arc::make_mut(&mut self.columns);
        let mut uses_unadvertised = false;
        for (name, (all, foreign)) in more {
            let Some(resource) = columns.get_mut(name) else {
                uses_unadvertised = true;
                continue;
            };
            resource.free.update(row, |free| *free = free.wrapping_sub(all));
            if foreign != 0 {
                resource.foreign.update(row, |value| *value = value.wrapping_add(foreign));
            }
        }
        if uses_unadvertised {
            for (pod, delta) in changes().flat_map(AmountsChange::states) {
                if self.uses_unadvertised(pod) {
                    self.unadvertised.apply(delta, row, pod);
                }
            }
        }
    }

    /// A node advertises `new` where it advertised `old`. Returns the resources that no node advertises any more: their
    /// columns stay until [`Self::drop_columns`], and read the same as without them.
    pub(crate) fn set_allocatable(&mut self, row: Row, new: &Amounts, old: &Amounts) -> Vec<Arc<str>> {
        let missing: Vec<Arc<str>> =
            new.iter().map(|(name, _)| name).filter(|name| !self.is_advertised(name)).cloned().collect();
        self.make_columns(&missing);
        let columns = Arc::make_mut(&mut self.columns);
        for resource in columns.values_mut() {
            resource.set_zero(row, false);
        }
        for (name, _) in new.iter().filter(|(_, amount)| *amount == 0) {
            columns.get_mut(name).into_iter().for_each(|resource| resource.set_zero(row, true));
        }
        let mut dropped = Vec::new();
        // New amounts first, so that a resource in both stays advertised.
        for (amounts, delta) in [(new, Delta::Add), (old, Delta::Remove)] {
            for (name, amount) in amounts {
                let Some(resource) = columns.get_mut(name) else { continue };
                let change = amount.wrapping_mul(delta.sign());
                resource.allocatable.update(row, |value| *value = value.wrapping_add(change));
                resource.free.update(row, |value| *value = value.wrapping_add(change));
                resource.advertisers = match delta {
                    Delta::Add => resource.advertisers.saturating_add(1),
                    Delta::Remove => resource.advertisers.saturating_sub(1),
                };
                if resource.advertisers == 0 {
                    dropped.push(Arc::clone(name));
                }
            }
        }
        dropped
    }

    /// Drops the columns of resources that no node advertises; `pods_on` are the pods of a row.
    pub(crate) fn drop_columns<'a>(&mut self, names: &[Arc<str>], pods_on: impl Fn(Row) -> &'a [Arc<PodRecord>]) {
        if names.is_empty() {
            return;
        }
        let columns = Arc::make_mut(&mut self.columns);
        let mut used: BTreeSet<Row> = BTreeSet::new();
        for resource in names.iter().filter_map(|name| columns.remove(name)) {
            let amounts = resource.free.iter().zip(resource.foreign.iter());
            used.extend((0..).map(Row).zip(amounts).filter(|(_, amounts)| *amounts != (&0, &0)).map(|(row, _)| row));
        }
        for row in used {
            let pods = pods_on(row).iter().filter(|pod| self.uses_unadvertised(pod)).cloned().collect();
            self.unadvertised.set(row, pods);
        }
    }

    /// Makes columns of resources that have none, with the usage of pods in them.
    fn make_columns(&mut self, names: &[Arc<str>]) {
        if names.is_empty() {
            return;
        }
        for name in names {
            let made = self.sum_of(name).unwrap_or_else(|| Resource::zeros(self.unadvertised.row_count()));
            Arc::make_mut(&mut self.columns).insert(Arc::clone(name), made);
        }
        let mut rows: Vec<Row> = self.unadvertised.iter().map(|(row, _)| row).collect();
        rows.dedup();
        for row in rows {
            let pods =
                self.unadvertised.pods_in_row(row).iter().filter(|pod| self.uses_unadvertised(pod)).cloned().collect();
            self.unadvertised.set(row, pods);
        }
    }

    /// Whether a pod uses a resource that has no columns.
    fn uses_unadvertised(&self, pod: &PodRecord) -> bool {
        let mut used = pod.usage().iter().filter(|(_, amount)| *amount != 0);
        used.any(|(name, _)| !self.is_advertised(name))
    }

    /// The usage of a resource that has no columns; `None` where no pod uses it.
    fn sum_of(&self, name: &str) -> Option<Resource> {
        let mut sum = None;
        for (row, pod) in self.unadvertised.iter() {
            let amount = amount_of(pod.usage(), name);
            if amount != 0 {
                let resource = sum.get_or_insert_with(|| Resource::zeros(self.unadvertised.row_count()));
                resource.reserve(row, amount, pod.ownership.is_foreign());
            }
        }
        sum
    }

    /// Repairs a row by what its node advertises and by the pods on it. `advertisers` counts the nodes that advertise a
    /// resource, for columns that are missing.
    pub(crate) fn repair(
        &mut self,
        row: Row,
        allocatable: &[(Arc<str>, i64)],
        pods: &[Arc<PodRecord>],
        advertisers: impl Fn(&str) -> usize,
        report: &mut DriftReport,
    ) {
        // By resource: allocatable, free, foreign.
        let mut counted: BTreeMap<Arc<str>, (i64, i64, i64)> = BTreeMap::new();
        for (name, amount) in allocatable {
            let entry = counted.entry(Arc::clone(name)).or_default();
            *entry = (entry.0.wrapping_add(*amount), entry.1.wrapping_add(*amount), 0);
        }
        let missing: Vec<Arc<str>> = counted.keys().filter(|name| !self.is_advertised(name)).cloned().collect();
        self.make_columns(&missing);
        for name in &missing {
            if let Some(resource) = Arc::make_mut(&mut self.columns).get_mut(name) {
                resource.advertisers = advertisers(name);
            }
        }
        for pod in pods {
            for (name, amount) in pod.usage().iter().filter(|(name, _)| self.is_advertised(name)) {
                let entry = counted.entry(Arc::clone(name)).or_default();
                entry.1 = entry.1.wrapping_sub(*amount);
                entry.2 = entry.2.wrapping_add(if pod.ownership.is_foreign() { *amount } else { 0 });
            }
        }
        self.repair_columns(row, &counted, report);
        self.repair_zeros(row, allocatable, report);
        self.repair_unadvertised(row, pods, report);
    }

    fn repair_columns(&mut self, row: Row, counted: &BTreeMap<Arc<str>, (i64, i64, i64)>, report: &mut DriftReport) {
        let known = Arc::clone(&self.columns);
        for (name, resource) in known.iter() {
            let (allocatable, free, foreign) = counted.get(name).copied().unwrap_or_default();
            let is_right = resource.allocatable.get(row) == Some(&allocatable)
                && resource.free.get(row) == Some(&free)
                && resource.foreign.get(row) == Some(&foreign);
            if is_right {
                continue;
            }
            // Copied only here: a row without drift leaves the columns shared.
            if let Some(resource) = Arc::make_mut(&mut self.columns).get_mut(name) {
                report.repair_cell(&format!("allocatable {name}"), &mut resource.allocatable, row, allocatable);
                report.repair_cell(&format!("free {name}"), &mut resource.free, row, free);
                report.repair_cell(&format!("foreign {name}"), &mut resource.foreign, row, foreign);
            }
        }
    }

    fn repair_zeros(&mut self, row: Row, allocatable: &[(Arc<str>, i64)], report: &mut DriftReport) {
        let known = Arc::clone(&self.columns);
        for (name, resource) in known.iter() {
            let is_zero = allocatable.iter().any(|(listed, amount)| listed == name && *amount == 0);
            let what = || format!("advertised at zero {name}");
            if report.differs(what, &resource.zeros.contains(&row), &is_zero)
                && let Some(resource) = Arc::make_mut(&mut self.columns).get_mut(name)
            {
                resource.set_zero(row, is_zero);
            }
        }
    }

    fn repair_unadvertised(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let counted: Vec<&Arc<PodRecord>> = pods.iter().filter(|pod| self.uses_unadvertised(pod)).collect();
        let what = || "pods with unadvertised resources".to_owned();
        // With what they use: a change of amounts that was interrupted leaves the same pods.
        if report.differs(what, &usages_of(self.unadvertised.pods_in_row(row)), &usages_of(counted.iter().copied())) {
            let counted = counted.into_iter().cloned().collect();
            self.unadvertised.set(row, counted);
        }
    }

    /// Breaks what is free of the first resource in a row, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt_free(&mut self, row: Row) {
        let resources = Arc::make_mut(&mut self.columns).values_mut().take(1);
        resources.for_each(|resource| resource.free.update(row, |free| *free += 1));
    }

    /// Breaks the list of pods with unadvertised resources of a row, as a defect could; `pods` are those of the node.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt_unadvertised(&mut self, row: Row, pods: Vec<Arc<PodRecord>>) {
        let wrong = if self.unadvertised.pods_in_row(row).is_empty() { pods } else { Vec::new() };
        self.unadvertised.set(row, wrong.into());
    }
}

/// UIDs of pods, each with what the pod uses, sorted.
fn usages_of<'a>(pods: impl IntoIterator<Item = &'a Arc<PodRecord>>) -> Vec<(&'a str, &'a Amounts)> {
    let mut usages: Vec<(&str, &Amounts)> = pods.into_iter().map(|pod| (&*pod.uid, pod.usage())).collect();
    usages.sort_unstable();
    usages
}
