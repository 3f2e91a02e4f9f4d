//! The resources of one node, row by row with fewer pods.

use std::sync::Arc;

use super::{Resource, Resources};
use crate::columns::{Column, Row};
use crate::metadata::PodRecord;
use crate::nodes::unadvertised::{Pods, Unadvertised};

/// The resources of one row as pods are removed from it one by one; a row of the result for each state that is kept.
#[derive(Debug)]
pub(crate) struct ResourcesStrip<'a> {
    columns: Vec<StripColumn<'a>>,
    unadvertised: Pods,
    unadvertised_rows: Vec<Pods>,
}

#[derive(Debug)]
struct StripColumn<'a> {
    name: &'a Arc<str>,
    allocatable: i64,
    is_zero: bool,
    free: i64,
    foreign: i64,
    /// `free` of every row so far.
    free_rows: Vec<i64>,
    /// `foreign` of every row so far.
    foreign_rows: Vec<i64>,
}

impl<'a> ResourcesStrip<'a> {
    /// Starts with the amounts of a row; `len` is how many rows are to come.
    pub(crate) fn new(resources: &'a Resources, row: Row, len: usize) -> Self {
        let at = |column: &Column<i64>| column.get(row).copied().unwrap_or(0);
        let column = |(name, resource): (&'a Arc<str>, &Resource)| StripColumn {
            name,
            allocatable: at(&resource.allocatable),
            is_zero: resource.zeros.contains(&row),
            free: at(&resource.free),
            foreign: at(&resource.foreign),
            free_rows: Vec::with_capacity(len),
            foreign_rows: Vec::with_capacity(len),
        };
        Self {
            columns: resources.columns.iter().map(column).collect(),
            unadvertised: resources.unadvertised.pods_in_row(row).into(),
            unadvertised_rows: Vec::with_capacity(len),
        }
    }

    /// Removes the usage of a pod.
    pub(crate) fn remove(&mut self, pod: &PodRecord) {
        for (name, amount) in pod.usage() {
            let Some(column) = self.columns.iter_mut().find(|column| column.name == name) else { continue };
            column.free = column.free.wrapping_add(*amount);
            if pod.ownership.is_foreign() {
                column.foreign = column.foreign.wrapping_sub(*amount);
            }
        }
        if self.unadvertised.iter().any(|known| known.uid == pod.uid) {
            self.unadvertised = self.unadvertised.iter().filter(|known| known.uid != pod.uid).cloned().collect();
        }
    }

    /// Appends a row with the amounts as they are now.
    pub(crate) fn push(&mut self) {
        for column in &mut self.columns {
            column.free_rows.push(column.free);
            column.foreign_rows.push(column.foreign);
        }
        self.unadvertised_rows.push(Arc::clone(&self.unadvertised));
    }

    /// Returns the resources of all rows so far.
    pub(crate) fn finish(self) -> Resources {
        let len = self.unadvertised_rows.len();
        let resource = |column: StripColumn<'_>| {
            let resource = Resource {
                allocatable: Column::filled(len, &column.allocatable),
                free: Column::from(column.free_rows),
                foreign: Column::from(column.foreign_rows),
                advertisers: 1,
                zeros: Arc::new(
                    (0..len).filter(|_| column.is_zero).filter_map(|at| u32::try_from(at).ok().map(Row)).collect(),
                ),
            };
            (Arc::clone(column.name), resource)
        };
        Resources {
            columns: Arc::new(self.columns.into_iter().map(resource).collect()),
            unadvertised: Unadvertised::new(self.unadvertised_rows),
        }
    }
}
