//! Classes of pods: pods with equal namespace, labels and deletion mark are one [`PodClass`], because no selector can tell
//! them apart. [`Population`] says which classes are on which row.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::columns::sets::Sets;
use crate::columns::{Column, Row};
use crate::limits::COUNT_STRIDE_PODS;
use crate::metadata::{Labels, PodRecord};

/// What selectors read of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodClass {
    /// `metadata.namespace`.
    pub namespace: Arc<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// Whether the pod is being deleted.
    pub terminating: bool,
}

impl PodClass {
    /// The class of a pod.
    pub(crate) fn of(pod: &PodRecord) -> Self {
        Self {
            namespace: Arc::clone(&pod.namespace),
            labels: Arc::clone(&pod.facts.labels),
            terminating: pod.terminating,
        }
    }
}

/// Labels by namespace.
pub type Namespaces = FxHashMap<Arc<str>, Labels>;

/// Which pods are on which rows, by class. A clone costs reference counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Population {
    /// The classes of the pods on each row, one code per pod.
    rows: Column<Arc<Vec<u32>>>,
    /// By code, as of the last [`Population::share_classes`].
    classes: Column<Arc<PodClass>>,
    namespaces: Arc<Namespaces>,
}

impl Population {
    /// `len` rows without pods.
    pub(crate) fn empty(len: usize) -> Self {
        Self { rows: Column::filled(len, &Arc::default()), ..Self::default() }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Labels by namespace.
    pub(crate) fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// The codes of the pods on a row, one per pod.
    pub(crate) fn of_row(&self, row: Row) -> Arc<Vec<u32>> {
        self.rows.get(row).map(Arc::clone).unwrap_or_default()
    }

    /// The classes by code.
    pub(super) fn classes(&self) -> impl Iterator<Item = &Arc<PodClass>> {
        self.classes.iter()
    }

    /// Per row the number of pods whose class is marked in `counted`; `None` once `go_on` says no.
    pub(super) fn count(&self, counted: &[bool], go_on: &dyn Fn() -> bool) -> Option<Column<u32>> {
        let mut rows = Column::default();
        let mut unasked = 0;
        for pods in self.rows.iter() {
            unasked += pods.len();
            if unasked >= COUNT_STRIDE_PODS {
                unasked = 0;
                if !go_on() {
                    return None;
                }
            }
            let matching = pods.iter().filter(|class| counted.get(**class as usize) == Some(&true)).count();
            // A node never comes near 2^32 pods.
            rows.push(u32::try_from(matching).unwrap_or(u32::MAX));
        }
        Some(rows)
    }

    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.rows.push(Arc::default());
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.rows.swap_remove(row);
    }

    /// Adds a pod of a class to a row.
    pub(super) fn add(&mut self, row: Row, class: u32) {
        self.rows.update(row, |pods| Arc::make_mut(pods).push(class));
    }

    /// Removes a pod of a class from a row; false where there is none.
    pub(super) fn remove(&mut self, row: Row, class: u32) -> bool {
        let pods = self.rows.get(row);
        let Some(at) = pods.and_then(|pods| pods.iter().position(|known| *known == class)) else { return false };
        self.rows.update(row, |pods| {
            Arc::make_mut(pods).swap_remove(at);
        });
        true
    }

    /// Replaces the classes of the pods on a row.
    pub(super) fn set(&mut self, row: Row, classes: Vec<u32>) {
        self.rows.set(row, Arc::new(classes));
    }

    /// Has the next snapshot show the classes of the writer's dictionary.
    pub(super) fn share_classes(&mut self, classes: &Sets<PodClass>) {
        self.classes = classes.values();
    }

    /// Adds a namespace, or replaces its labels; true where that changes something.
    pub(crate) fn set_namespace(&mut self, name: &str, labels: &Labels) -> bool {
        if self.namespaces.get(name) == Some(labels) {
            return false;
        }
        Arc::make_mut(&mut self.namespaces).insert(Arc::from(name), Arc::clone(labels));
        true
    }

    /// Removes a namespace; true where there was one.
    pub(crate) fn remove_namespace(&mut self, name: &str) -> bool {
        self.namespaces.contains_key(name) && Arc::make_mut(&mut self.namespaces).remove(name).is_some()
    }

    /// Has a row show no pods, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row) {
        self.rows.set(row, Arc::default());
    }
}
