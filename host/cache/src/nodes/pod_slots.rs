//! Pod slots: how many pods each node has, how many of them are foreign, and how many more fit.

use std::sync::Arc;

use crate::columns::{Column, Delta, DriftReport, Row};
use crate::metadata::PodRecord;

/// Numbers of pods per row.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodSlots {
    used: Column<i64>,
    foreign: Column<i64>,
    limit: Column<i64>,
    free: Column<i64>,
}

/// The numbers of one row.
#[derive(Debug, Clone, Copy)]
struct Slots {
    used: i64,
    foreign: i64,
    free: i64,
}

impl PodSlots {
    /// Pods on each node.
    pub(crate) fn used(&self) -> &Column<i64> {
        &self.used
    }

    /// Foreign pods on each node.
    pub(crate) fn foreign(&self) -> &Column<i64> {
        &self.foreign
    }

    /// `status.allocatable.pods`; 0 where absent.
    pub(crate) fn limit(&self) -> &Column<i64> {
        &self.limit
    }

    /// The limit less the pods on the node.
    pub(crate) fn free(&self) -> &Column<i64> {
        &self.free
    }

    /// Appends a row without pods and with a limit of 0.
    pub(crate) fn push(&mut self) {
        [&mut self.used, &mut self.foreign, &mut self.limit, &mut self.free].into_iter().for_each(|it| it.push(0));
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        let all = [&mut self.used, &mut self.foreign, &mut self.limit, &mut self.free];
        all.into_iter().for_each(|column| column.swap_remove(row));
    }

    /// Adds a pod to a row, or removes it.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        let sign = delta.sign();
        self.used.update(row, |pods| *pods += sign);
        self.free.update(row, |free| *free = free.wrapping_sub(sign));
        if pod.ownership.is_foreign() {
            self.foreign.update(row, |pods| *pods += sign);
        }
    }

    /// Sets the limit of a row; true where that differs from the one it had.
    pub(crate) fn set_limit(&mut self, row: Row, limit: i64) -> bool {
        let old = self.limit.get(row).copied().unwrap_or(0);
        if old == limit {
            return false;
        }
        let more = limit.wrapping_sub(old);
        self.limit.set(row, limit);
        self.free.update(row, |free| *free = free.wrapping_add(more));
        true
    }

    /// Repairs a row by the pods on its node.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let count = |pods: usize| i64::try_from(pods).unwrap_or(i64::MAX);
        let foreign = pods.iter().filter(|pod| pod.ownership.is_foreign()).count();
        let limit = self.limit.get(row).copied().unwrap_or(0);
        report.repair_cell("pods", &mut self.used, row, count(pods.len()));
        report.repair_cell("foreign pods", &mut self.foreign, row, count(foreign));
        report.repair_cell("free pod slots", &mut self.free, row, limit.wrapping_sub(count(pods.len())));
    }

    /// Breaks the first, second or third number of a row, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row, which: u8) {
        match which {
            0 => self.used.update(row, |pods| *pods += 1),
            1 => self.foreign.update(row, |pods| *pods += 1),
            _ => self.free.update(row, |free| *free -= 7),
        }
    }
}

/// The slots of one row as pods are removed from it one by one; a row of the result for each state that is kept.
#[derive(Debug)]
pub(crate) struct PodSlotsStrip {
    now: Slots,
    limit: i64,
    used: Vec<i64>,
    foreign: Vec<i64>,
    free: Vec<i64>,
}

impl PodSlotsStrip {
    /// Starts with the numbers of a row.
    pub(crate) fn new(slots: &PodSlots, row: Row) -> Self {
        let at = |column: &Column<i64>| column.get(row).copied().unwrap_or(0);
        let now = Slots { used: at(&slots.used), foreign: at(&slots.foreign), free: at(&slots.free) };
        Self { now, limit: at(&slots.limit), used: Vec::new(), foreign: Vec::new(), free: Vec::new() }
    }

    /// Removes a pod from the numbers.
    pub(crate) fn remove(&mut self, pod: &PodRecord) {
        self.now.used -= 1;
        self.now.free = self.now.free.wrapping_add(1);
        self.now.foreign -= i64::from(pod.ownership.is_foreign());
    }

    /// Appends a row with the numbers as they are now.
    pub(crate) fn push(&mut self) {
        self.used.push(self.now.used);
        self.foreign.push(self.now.foreign);
        self.free.push(self.now.free);
    }

    /// Returns the numbers of all rows so far.
    pub(crate) fn finish(self) -> PodSlots {
        let limit = Column::filled(self.used.len(), &self.limit);
        PodSlots {
            used: Column::from(self.used),
            foreign: Column::from(self.foreign),
            limit,
            free: Column::from(self.free),
        }
    }
}
