//! Non-zero sums: what the pods on each node use of `cpu` and `memory`, with an amount for every container that names none. Start at
//! [`NonZeroSums`].
//!
//! Pods have no such amounts where no policy reads them: the columns are then zeros that no pod changes, and stay shared. Sums wrap, as
//! Go's do.

use std::sync::Arc;

use crate::columns::{Column, Delta, DriftReport, Row};
use crate::metadata::PodRecord;
use crate::metadata::requests::{CPU, MEMORY, NonZero};
use crate::pods::amounts_change::AmountsChange;

/// Usage of all pods per row, with that of containers that name none.
#[derive(Debug, Clone, Default)]
pub(crate) struct NonZeroSums {
    cpu: Column<i64>,
    memory: Column<i64>,
}

impl NonZeroSums {
    /// Bytes of a row.
    pub(crate) const ROW_BYTES: usize = 2 * size_of::<i64>();

    /// Per row the usage of a resource; `None` for any other than `cpu` and `memory`.
    pub(crate) fn get(&self, resource: &str) -> Option<&Column<i64>> {
        match resource {
            CPU => Some(&self.cpu),
            MEMORY => Some(&self.memory),
            _ => None,
        }
    }

    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.cpu.push(0);
        self.memory.push(0);
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.cpu.swap_remove(row);
        self.memory.swap_remove(row);
    }

    /// Adds the usage of a pod to a row, or removes it.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        self.add(row, times(pod.non_zero_usage(), delta));
    }

    /// Pods of a row use something else than before.
    pub(crate) fn change_amounts(&mut self, row: Row, changes: &[AmountsChange]) {
        let states = changes.iter().flat_map(AmountsChange::states);
        let more = states.map(|(pod, delta)| times(pod.non_zero_usage(), delta)).fold(NonZero::default(), plus);
        self.add(row, more);
    }

    fn add(&mut self, row: Row, more: NonZero) {
        for (column, amount) in [(&mut self.cpu, more.cpu), (&mut self.memory, more.memory)] {
            if amount != 0 {
                column.update(row, |sum| *sum = sum.wrapping_add(amount));
            }
        }
    }

    /// Repairs a row by the pods on its node.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let counted = pods.iter().map(|pod| pod.non_zero_usage()).fold(NonZero::default(), plus);
        report.repair_cell("non-zero cpu", &mut self.cpu, row, counted.cpu);
        report.repair_cell("non-zero memory", &mut self.memory, row, counted.memory);
    }

    /// Breaks a sum of a row, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row) {
        self.memory.update(row, |sum| *sum = sum.wrapping_add(1));
    }
}

fn plus(a: NonZero, b: NonZero) -> NonZero {
    NonZero { cpu: a.cpu.wrapping_add(b.cpu), memory: a.memory.wrapping_add(b.memory) }
}

fn times(usage: NonZero, delta: Delta) -> NonZero {
    let sign = delta.sign();
    NonZero { cpu: usage.cpu.wrapping_mul(sign), memory: usage.memory.wrapping_mul(sign) }
}

/// The sums of one row as pods are removed from it one by one; a row of the result for each state that is kept.
#[derive(Debug)]
pub(crate) struct NonZeroSumsStrip {
    now: NonZero,
    rows: Vec<NonZero>,
}

impl NonZeroSumsStrip {
    /// Starts with the sums of a row.
    pub(crate) fn new(sums: &NonZeroSums, row: Row) -> Self {
        let at = |column: &Column<i64>| column.get(row).copied().unwrap_or(0);
        Self { now: NonZero { cpu: at(&sums.cpu), memory: at(&sums.memory) }, rows: Vec::new() }
    }

    /// Removes the usage of a pod.
    pub(crate) fn remove(&mut self, pod: &PodRecord) {
        self.now = plus(self.now, times(pod.non_zero_usage(), Delta::Remove));
    }

    /// Appends a row with the sums as they are now.
    pub(crate) fn push(&mut self) {
        self.rows.push(self.now);
    }

    /// Returns the sums of all rows so far.
    pub(crate) fn finish(self) -> NonZeroSums {
        let column = |of: fn(&NonZero) -> i64| Column::from(self.rows.iter().map(of).collect::<Vec<i64>>());
        NonZeroSums { cpu: column(|sums| sums.cpu), memory: column(|sums| sums.memory) }
    }
}
