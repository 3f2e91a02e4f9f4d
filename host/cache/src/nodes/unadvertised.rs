//! Pods that use resources which no node advertises in `status.allocatable`.
//!
//! Only nodes make columns of resources: a pod may name tens of thousands that no node has, and a column of each over all
//! nodes would be a thousand times as large as the pod. The usage of such a resource is summed up on demand from the pods
//! themselves; they are kept here, by row, and their usage becomes columns once a node advertises the resource. Most
//! clusters have no such pod; where a DeviceClass serves a resource that nodes do not advertise, there are some.

use std::sync::Arc;

use crate::columns::{Column, Delta, Row};
use crate::metadata::PodRecord;

/// Pods of one row.
pub(super) type Pods = Arc<[Arc<PodRecord>]>;

/// All such pods, by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Unadvertised {
    rows: Column<Pods>,
    /// How many there are.
    pods: usize,
}

impl Unadvertised {
    /// The pods of these rows.
    pub(super) fn new(rows: Vec<Pods>) -> Self {
        Self { pods: rows.iter().map(|pods| pods.len()).sum(), rows: Column::from(rows) }
    }

    /// How many rows there are.
    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// All pods with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Row, &Arc<PodRecord>)> {
        let rows = (self.pods > 0).then(|| (0..).map(Row).zip(self.rows.iter()));
        rows.into_iter().flatten().flat_map(|(row, pods)| pods.iter().map(move |pod| (row, pod)))
    }

    /// The pods of a row.
    pub(super) fn pods_in_row(&self, row: Row) -> &[Arc<PodRecord>] {
        self.rows.get(row).map_or(&[], |pods| pods)
    }

    /// Replaces the pods of a row.
    pub(super) fn set(&mut self, row: Row, pods: Pods) {
        self.pods = self.pods + pods.len() - self.pods_in_row(row).len();
        self.rows.set(row, pods);
    }

    /// Adds a pod to a row, in the place of any other state of it, or removes it.
    pub(super) fn apply(&mut self, delta: Delta, row: Row, pod: &Arc<PodRecord>) {
        let others = self.pods_in_row(row).iter().filter(|known| known.uid != pod.uid).cloned();
        let pods = others.chain((delta == Delta::Add).then(|| Arc::clone(pod))).collect();
        self.set(row, pods);
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
