//! Classes of pods: pods with equal namespace, labels and deletion mark are one [`PodClass`], because no selector can tell
//! them apart. [`Population`] says which classes are on which row, and what their pods use.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::columns::sets::Sets;
use crate::columns::{Column, Row};
use crate::metadata::{Amounts, Labels, PodRecord};

/// Properties of a pod that selectors read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodClass {
    /// Namespace of the pods, from `metadata.namespace`.
    pub namespace: Arc<str>,
    /// Labels of the pods, from `metadata.labels`.
    pub labels: Labels,
    /// Whether the pod is being deleted.
    pub terminating: bool,
}

impl PodClass {
    /// The class of a pod.
    pub(crate) fn new(pod: &PodRecord) -> Self {
        Self {
            namespace: Arc::clone(&pod.namespace),
            labels: Arc::clone(&pod.facts.labels),
            terminating: pod.terminating,
        }
    }
}

/// A pod on a row: its class, and what it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodCode {
    /// The code of its class.
    pub(crate) class: u32,
    /// The code of the amounts that it uses.
    pub(crate) usage: u32,
}

/// Labels of namespaces, by the namespace's name.
pub type Namespaces = FxHashMap<Arc<str>, Labels>;

/// Classes of the pods on each row. A clone costs reference counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Population {
    /// The pods on each row.
    rows: Column<Arc<Vec<PodCode>>>,
    /// Classes by code, as of the last [`Population::share`].
    classes: Column<Arc<PodClass>>,
    /// Amounts that pods use by code, as of the last [`Population::share`].
    usages: Column<Arc<Amounts>>,
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

    /// Labels of namespaces, by the namespace's name.
    pub(crate) fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// The codes of the pods on a row, one per pod.
    pub(crate) fn codes_in_row(&self, row: Row) -> Arc<Vec<PodCode>> {
        self.rows.get(row).map(Arc::clone).unwrap_or_default()
    }

    /// The classes by code.
    pub(super) fn classes(&self) -> impl Iterator<Item = &Arc<PodClass>> {
        self.classes.iter()
    }

    /// The codes of the pods on every row, in the order of rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Arc<Vec<PodCode>>> {
        self.rows.iter()
    }

    /// Amounts that pods use, by code.
    pub(super) fn usages(&self) -> &Column<Arc<Amounts>> {
        &self.usages
    }

    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.rows.push(Arc::default());
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.rows.swap_remove(row);
    }

    /// Adds a pod to a row.
    pub(super) fn add(&mut self, row: Row, pod: PodCode) {
        self.rows.update(row, |pods| Arc::make_mut(pods).push(pod));
    }

    /// Removes a pod from a row; false where there is no such pod.
    pub(super) fn remove(&mut self, row: Row, pod: PodCode) -> bool {
        let pods = self.rows.get(row);
        let Some(at) = pods.and_then(|pods| pods.iter().position(|known| *known == pod)) else { return false };
        self.rows.update(row, |pods| {
            Arc::make_mut(pods).swap_remove(at);
        });
        true
    }

    /// Replaces a pod on a row by another; false where there is no such pod.
    pub(super) fn replace(&mut self, row: Row, pod: PodCode, next: PodCode) -> bool {
        let pods = self.rows.get(row);
        let Some(at) = pods.and_then(|pods| pods.iter().position(|known| *known == pod)) else { return false };
        self.rows.update(row, |pods| {
            if let Some(known) = Arc::make_mut(pods).get_mut(at) {
                *known = next;
            }
        });
        true
    }

    /// Replaces the pods on a row.
    pub(super) fn set(&mut self, row: Row, pods: Vec<PodCode>) {
        self.rows.set(row, Arc::new(pods));
    }

    /// Takes over the values of the writer's dictionaries, for the next snapshot.
    pub(super) fn share(&mut self, classes: &Sets<PodClass>, usages: &Sets<Amounts>) {
        self.classes = classes.values();
        self.usages = usages.values();
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
