//! Pods that take something that no node lists.
//!
//! Only nodes make columns of resources: a pod may name tens of thousands that nobody has, and a column of each over all
//! nodes would be a thousand times as large as the pod. What is taken of such a resource is summed up for whoever asks,
//! from the pods themselves; they are kept here, by row, and what they take becomes columns once a node lists it. Most
//! clusters have none; where a DeviceClass serves a resource that nodes do not list, there are some.

use std::sync::Arc;

use super::{Column, Row};
use crate::metadata::{Amounts, PodRecord};

/// Pods of one row.
type Pods = Arc<[Arc<PodRecord>]>;

/// All such pods, by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Unlisted {
    rows: Column<Pods>,
    /// How many there are.
    pods: usize,
}

impl Unlisted {
    /// The pods of these rows.
    pub(super) fn of(rows: Vec<Pods>) -> Self {
        Self { pods: rows.iter().map(|pods| pods.len()).sum(), rows: Column::of(rows) }
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// All pods with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Row, &Arc<PodRecord>)> {
        let rows = (self.pods > 0).then(|| (0..).map(Row).zip(self.rows.iter()));
        rows.into_iter().flatten().flat_map(|(row, pods)| pods.iter().map(move |pod| (row, pod)))
    }

    /// The pods of a row.
    pub(super) fn of_row(&self, row: Row) -> &[Arc<PodRecord>] {
        self.rows.get(row).map_or(&[], |pods| pods)
    }

    /// Replaces the pods of a row.
    pub(super) fn set(&mut self, row: Row, pods: Pods) {
        self.pods = self.pods + pods.len() - self.of_row(row).len();
        self.rows.set(row, pods);
    }

    pub(super) fn add(&mut self, row: Row, pod: &Arc<PodRecord>) {
        let pods = self.others(row, pod).chain([Arc::clone(pod)]).collect();
        self.set(row, pods);
    }

    pub(super) fn remove(&mut self, row: Row, pod: &PodRecord) {
        let pods = self.others(row, pod).collect();
        self.set(row, pods);
    }

    fn others<'a>(&'a self, row: Row, pod: &'a PodRecord) -> impl Iterator<Item = Arc<PodRecord>> + 'a {
        self.of_row(row).iter().filter(|known| known.uid != pod.uid).cloned()
    }

    /// Appends a row without pods.
    pub(super) fn push(&mut self) {
        self.rows.push(Pods::default());
    }

    /// Takes a row out; the last row moves into its place.
    pub(super) fn swap_remove(&mut self, row: Row) {
        self.set(row, Pods::default());
        self.rows.swap_remove(row);
    }
}

/// How much of a resource is in amounts, which are in the order of names.
pub(super) fn amount_of(amounts: &Amounts, resource: &str) -> i64 {
    let at = amounts.binary_search_by(|(known, _)| known.as_ref().cmp(resource));
    at.ok().and_then(|at| amounts.get(at)).map_or(0, |(_, amount)| *amount)
}
