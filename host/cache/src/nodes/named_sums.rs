//! Named sums: what nodes and the pods on them add under names that a policy chooses. Start at
//! [`NamedSums::declare`].
//!
//! The names are those that the policy declares, so that no pod makes a column. What is added under any other name
//! is kept with the pod or the node, and counts once the name is declared. Sums wrap, so that the order does not matter.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::columns::{Column, Delta, DriftReport, Row};
use crate::metadata::{PodRecord, Sums};
use crate::pods::amounts_change::AmountsChange;

/// A column for each declared name, and what nodes add themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct NamedSums {
    columns: Arc<BTreeMap<Arc<str>, Column<i64>>>,
    /// Amounts that nodes add themselves, by row; also under names that are not declared.
    own: Column<Sums>,
}

impl NamedSums {
    /// Names of the declared sums, sorted.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.columns.keys()
    }

    /// Per row, what its node and the pods on it add; `None` for a name that is not declared.
    pub(crate) fn get(&self, name: &str) -> Option<&Column<i64>> {
        self.columns.get(name)
    }

    /// Returns the amounts that the node of a row adds itself.
    pub(crate) fn own(&self, row: Row) -> Option<&Sums> {
        self.own.get(row)
    }

    /// Makes columns of these names, counted where they are new, and drops all others. `pods_on` are the pods of a row. True where that
    /// changes something.
    pub(crate) fn declare<'a>(&mut self, names: &[Arc<str>], pods_on: impl Fn(Row) -> &'a [Arc<PodRecord>]) -> bool {
        let mut columns: BTreeMap<Arc<str>, Column<i64>> = BTreeMap::new();
        let mut missing: BTreeMap<Arc<str>, Vec<i64>> = BTreeMap::new();
        for name in names {
            match self.columns.get(name) {
                Some(known) => drop(columns.insert(Arc::clone(name), known.clone())),
                None => drop(missing.insert(Arc::clone(name), vec![0; self.own.len()])),
            }
        }
        if missing.is_empty() && columns.len() == self.columns.len() {
            return false;
        }
        if !missing.is_empty() {
            for ((at, own), row) in self.own.iter().enumerate().zip((0..).map(Row)) {
                for (name, amount) in all(own, pods_on(row)) {
                    if let Some(cell) = missing.get_mut(name).and_then(|cells| cells.get_mut(at)) {
                        *cell = cell.wrapping_add(*amount);
                    }
                }
            }
        }
        columns.extend(missing.into_iter().map(|(name, cells)| (name, Column::from(cells))));
        self.columns = Arc::new(columns);
        true
    }

    /// Appends a row without anything.
    pub(crate) fn push(&mut self) {
        self.own.push(Sums::default());
        self.each(|column| column.push(0));
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.own.swap_remove(row);
        self.each(|column| column.swap_remove(row));
    }

    /// Adds what a pod adds to a row, or takes it away.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        self.add(row, pod.sums(), delta);
    }

    /// Pods of a row add something else than before.
    pub(crate) fn change_amounts(&mut self, row: Row, changes: &[AmountsChange]) {
        let mut more: BTreeMap<&Arc<str>, i64> = BTreeMap::new();
        for (pod, delta) in changes.iter().flat_map(AmountsChange::states) {
            for (name, amount) in pod.sums() {
                let sum = more.entry(name).or_default();
                *sum = sum.wrapping_add(amount.wrapping_mul(delta.sign()));
            }
        }
        let more: Vec<(Arc<str>, i64)> = more.into_iter().map(|(name, amount)| (Arc::clone(name), amount)).collect();
        self.add(row, &more, Delta::Add);
    }

    /// Replaces what the node of a row adds; true where that differs.
    pub(crate) fn set_own(&mut self, row: Row, sums: &Sums) -> bool {
        let Some(old) = self.own.get(row).filter(|old| *old != sums).cloned() else { return false };
        self.add(row, &old, Delta::Remove);
        self.add(row, sums, Delta::Add);
        self.own.set(row, Arc::clone(sums));
        true
    }

    fn add(&mut self, row: Row, sums: &[(Arc<str>, i64)], delta: Delta) {
        // Most pods have none: the columns stay shared then.
        if sums.is_empty() || self.columns.is_empty() {
            return;
        }
        let columns = Arc::make_mut(&mut self.columns);
        for (name, amount) in sums.iter().filter(|(_, amount)| *amount != 0) {
            if let Some(column) = columns.get_mut(name) {
                column.update(row, |sum| *sum = sum.wrapping_add(amount.wrapping_mul(delta.sign())));
            }
        }
    }

    fn each(&mut self, change: impl Fn(&mut Column<i64>)) {
        if !self.columns.is_empty() {
            Arc::make_mut(&mut self.columns).values_mut().for_each(change);
        }
    }

    /// Repairs a row by what its node adds and by the pods on it.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let own = self.own.get(row).cloned().unwrap_or_default();
        let known = Arc::clone(&self.columns);
        for (name, column) in known.iter() {
            let its = all(&own, pods).filter(|(added, _)| added == name);
            let counted = its.fold(0_i64, |sum, (_, amount)| sum.wrapping_add(*amount));
            // Copied only here: a row without drift leaves the columns shared.
            if column.get(row) != Some(&counted)
                && let Some(column) = Arc::make_mut(&mut self.columns).get_mut(name)
            {
                report.repair_cell(&format!("sum {name}"), column, row, counted);
            }
        }
    }

    /// Breaks the first sum of a row, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row) {
        let columns = Arc::make_mut(&mut self.columns).values_mut().take(1);
        columns.for_each(|column| column.update(row, |sum| *sum = sum.wrapping_add(1)));
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        size_of::<Sums>() + self.columns.len() * size_of::<i64>()
    }
}

/// Iterates over the amounts that a node and the pods on it add.
fn all<'a>(own: &'a Sums, pods: &'a [Arc<PodRecord>]) -> impl Iterator<Item = &'a (Arc<str>, i64)> {
    own.iter().chain(pods.iter().flat_map(|pod| pod.sums()))
}

/// The sums of one row as pods are removed from it one by one; a row of the result for each state that is kept.
#[derive(Debug)]
pub(crate) struct NamedSumsStrip {
    own: Sums,
    columns: BTreeMap<Arc<str>, StripColumn>,
    rows: usize,
}

#[derive(Debug)]
struct StripColumn {
    now: i64,
    rows: Vec<i64>,
}

impl NamedSumsStrip {
    /// Starts with the sums of a row.
    pub(crate) fn new(sums: &NamedSums, row: Row) -> Self {
        let column = |(name, column): (&Arc<str>, &Column<i64>)| {
            (Arc::clone(name), StripColumn { now: column.get(row).copied().unwrap_or(0), rows: Vec::new() })
        };
        Self {
            own: sums.own(row).cloned().unwrap_or_default(),
            columns: sums.columns.iter().map(column).collect(),
            rows: 0,
        }
    }

    /// Takes away what a pod adds.
    pub(crate) fn remove(&mut self, pod: &PodRecord) {
        for (name, amount) in pod.sums() {
            if let Some(column) = self.columns.get_mut(name) {
                column.now = column.now.wrapping_sub(*amount);
            }
        }
    }

    /// Appends a row with the sums as they are now.
    pub(crate) fn push(&mut self) {
        self.rows += 1;
        self.columns.values_mut().for_each(|column| column.rows.push(column.now));
    }

    /// Returns the sums of all rows so far.
    pub(crate) fn finish(self) -> NamedSums {
        let columns = self.columns.into_iter().map(|(name, column)| (name, Column::from(column.rows))).collect();
        NamedSums { columns: Arc::new(columns), own: Column::filled(self.rows, &self.own) }
    }
}
