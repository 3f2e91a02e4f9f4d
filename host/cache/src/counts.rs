//! Materialised counts: per row how many pods match a selector, kept up to date by every pod event.
//!
//! Pods that share namespace and labels are of one [`PodClass`]; a selector is matched against classes, not pods, so
//! that building a count costs a match per class and an addition per pod, and a pod event costs one bit per count.
//!
//! [`Counts`] is the writer's side and maintains what readers have asked for. [`CountView`] is what a snapshot shows: a
//! reader that asks for something new builds it for the snapshot it looks at, and the writer builds it into one of the
//! next, a few at a time. An overlay's view is that of the snapshot below it with its own few changes added to whatever is
//! asked for. Requests choose what is counted, so what they leave here is bounded in number and in bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::table::NodeTable;
use super::{Column, Row};
use crate::limits::{COUNT_KEY_BYTES, COUNTS, COUNTS_BYTES, COUNTS_PER_PUBLICATION};
use crate::metadata::{Labels, PodRecord, PodSelector};

/// What selectors see of a pod.
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
    pub(super) fn of(pod: &PodRecord) -> Self {
        Self {
            namespace: Arc::clone(&pod.namespace),
            labels: Arc::clone(&pod.facts.labels),
            terminating: pod.terminating,
        }
    }
}

/// Labels by namespace.
pub type Namespaces = FxHashMap<Arc<str>, Labels>;

/// What is counted: pods that match all selectors at once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountKey {
    /// Sorted, each once.
    pub selectors: Vec<PodSelector>,
    /// Whether pods that are being deleted count.
    pub terminating: bool,
}

impl CountKey {
    /// Whether a pod of a class counts.
    pub fn matches(&self, class: &PodClass, namespaces: &Namespaces) -> bool {
        let labels_of = |namespace: &str| namespaces.get(namespace).cloned();
        (self.terminating || !class.terminating)
            && self.selectors.iter().all(|selector| selector.matches(&class.namespace, &class.labels, labels_of))
    }

    /// Whether a count by it may be kept beyond the question that asks.
    fn is_kept(&self) -> bool {
        self.selectors.iter().map(PodSelector::bytes).sum::<usize>() <= COUNT_KEY_BYTES
    }
}

/// How many counts of so many rows are kept at most.
fn most(rows: usize) -> usize {
    (COUNTS_BYTES / (rows * size_of::<u32>()).max(1)).clamp(1, COUNTS)
}

/// A count that every pod event keeps up to date.
#[derive(Debug)]
struct Maintained {
    key: Arc<CountKey>,
    rows: Column<u32>,
    /// When it was last read, by the counts' own clock.
    read: Arc<AtomicU64>,
}

/// Which pods are on which rows, by class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Population<'a> {
    pub(super) rows: &'a Column<Arc<Vec<u32>>>,
    /// By code.
    pub(super) classes: &'a Column<Arc<PodClass>>,
    pub(super) namespaces: &'a Namespaces,
}

impl Population<'_> {
    fn counted(&self, key: &CountKey) -> Vec<bool> {
        self.classes.iter().map(|class| key.matches(class, self.namespaces)).collect()
    }

    fn count(&self, counted: &[bool]) -> Column<u32> {
        let mut rows = Column::default();
        for pods in self.rows.iter() {
            let matching = pods.iter().filter(|class| counted.get(**class as usize) == Some(&true)).count();
            // A node never comes near 2^32 pods.
            rows.push(u32::try_from(matching).unwrap_or(u32::MAX));
        }
        rows
    }
}

/// What readers and the writer share beside the counts themselves.
#[derive(Debug, Default)]
struct Shared {
    clock: AtomicU64,
    /// What readers asked for and the writer does not maintain yet; no more than it would keep.
    wanted: Mutex<FxHashSet<CountKey>>,
}

impl Shared {
    fn want(&self, key: &CountKey, rows: usize) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        // Where nothing is published, as with a cluster from files, nothing is ever taken out either.
        if wanted.len() < most(rows) {
            wanted.insert(key.clone());
        }
    }

    /// Takes out as much as one publication builds.
    fn take_wanted(&self) -> Vec<CountKey> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.extract_if(|_| true).take(COUNTS_PER_PUBLICATION).collect()
    }
}

/// The counts of one state of the pods, as a snapshot shows them.
#[derive(Debug, Default)]
pub(super) struct CountView {
    places: Arc<FxHashMap<Arc<CountKey>, usize>>,
    maintained: Vec<(Column<u32>, Arc<AtomicU64>)>,
    /// What readers of this state have built beyond.
    built: RwLock<FxHashMap<CountKey, Column<u32>>>,
    /// What an overlay changes; none in a view of the cache itself.
    overlaid: Option<Overlaid>,
    shared: Arc<Shared>,
}

/// An overlay's changes to the counts of the state below it.
#[derive(Debug)]
struct Overlaid {
    base: Arc<CountView>,
    /// The population of that state.
    rows: Column<Arc<Vec<u32>>>,
    classes: Column<Arc<PodClass>>,
    namespaces: Arc<Namespaces>,
    changes: Vec<PodChange>,
}

/// A pod of a class comes to a row (`more`) or leaves it.
#[derive(Debug, Clone)]
pub(super) struct PodChange {
    pub(super) row: Row,
    pub(super) class: PodClass,
    pub(super) more: bool,
}

impl Overlaid {
    /// The count of the state below, with the changes added, over as many rows as the overlay has.
    fn column(&self, key: &CountKey, rows: usize) -> Column<u32> {
        let population = Population { rows: &self.rows, classes: &self.classes, namespaces: &self.namespaces };
        let mut counts = self.base.column(key, &population);
        (counts.len()..rows).for_each(|_| counts.push(0));
        for change in self.changes.iter().filter(|change| key.matches(&change.class, &self.namespaces)) {
            let count = |pods: &mut u32| *pods = if change.more { *pods + 1 } else { pods.saturating_sub(1) };
            counts.update(change.row, count);
        }
        counts
    }
}

impl CountView {
    /// The counts of the nodes of `base`, changed by an overlay.
    pub(super) fn overlaid(base: &NodeTable, changes: Vec<PodChange>) -> Self {
        let overlaid = Overlaid {
            base: Arc::clone(&base.counts),
            rows: base.pod_classes.clone(),
            classes: base.classes.clone(),
            namespaces: Arc::clone(&base.namespaces),
            changes,
        };
        Self { overlaid: Some(overlaid), ..Self::default() }
    }

    /// The count of a key per row; built from the population of this state on first use.
    pub(super) fn column(&self, key: &CountKey, population: &Population<'_>) -> Column<u32> {
        if let Some((rows, read)) = self.places.get(key).and_then(|place| self.maintained.get(*place)) {
            read.store(self.shared.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            return rows.clone();
        }
        if let Some(rows) = self.built.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return rows.clone();
        }
        let (rows, is_kept) = (population.rows.len(), key.is_kept());
        let counts = match &self.overlaid {
            Some(overlaid) => overlaid.column(key, rows),
            None => {
                if is_kept {
                    self.shared.want(key, rows);
                }
                population.count(&population.counted(key))
            }
        };
        let mut built = self.built.write().unwrap_or_else(PoisonError::into_inner);
        // What does not fit is built again for whoever asks next.
        if is_kept && built.len() < most(rows) {
            built.insert(key.clone(), counts.clone());
        }
        counts
    }
}

/// The writer's side of all counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    maintained: Vec<Maintained>,
    /// Per class the places of the counts that count its pods: a pod event touches no other count.
    by_class: Vec<Vec<u32>>,
    places: Arc<FxHashMap<Arc<CountKey>, usize>>,
    shared: Arc<Shared>,
    view: Arc<CountView>,
    /// Whether pods, rows or namespaces changed since the view was made.
    changed: bool,
}

impl Counts {
    /// How many counts every pod event keeps up to date.
    pub(super) fn maintained_count(&self) -> usize {
        self.maintained.len()
    }

    /// What the next snapshot shows: some of what readers asked for is built in, what was read longest ago is forgotten
    /// beyond the limits.
    pub(super) fn publish(&mut self, population: &Population<'_>) -> Arc<CountView> {
        let wanted = self.shared.take_wanted();
        if !self.changed && wanted.is_empty() {
            return Arc::clone(&self.view);
        }
        // What readers have built stays right as long as no pod comes or goes.
        let mut built = match self.changed {
            true => FxHashMap::default(),
            false => self.view.built.read().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let keys_changed = !wanted.is_empty();
        for key in wanted.into_iter().filter(|key| !self.places.contains_key(key)) {
            let counted = population.counted(&key);
            let rows = built.remove(&key).unwrap_or_else(|| population.count(&counted));
            let read = AtomicU64::new(self.shared.clock.load(Ordering::Relaxed));
            // Their number is bounded far below 2^32.
            let place = u32::try_from(self.maintained.len()).unwrap_or(u32::MAX);
            self.by_class.resize_with(counted.len().max(self.by_class.len()), Vec::new);
            for (counts, _) in self.by_class.iter_mut().zip(counted).filter(|(_, counted)| *counted) {
                counts.push(place);
            }
            self.maintained.push(Maintained { key: Arc::new(key), rows, read: Arc::new(read) });
        }
        if keys_changed {
            self.forget_beyond_limits(population.rows.len());
            self.index();
        }
        self.changed = false;
        let column = |count: &Maintained| (count.rows.clone(), Arc::clone(&count.read));
        self.view = Arc::new(CountView {
            places: Arc::clone(&self.places),
            maintained: self.maintained.iter().map(column).collect(),
            built: RwLock::new(built),
            overlaid: None,
            shared: Arc::clone(&self.shared),
        });
        Arc::clone(&self.view)
    }

    fn forget_beyond_limits(&mut self, rows: usize) {
        let most = most(rows);
        if self.maintained.len() > most {
            let mut reads: Vec<u64> = self.maintained.iter().map(|count| count.read.load(Ordering::Relaxed)).collect();
            reads.sort_unstable_by(|a, b| b.cmp(a));
            let oldest_kept = reads.get(most - 1).copied().unwrap_or(0);
            // Of those read at the same time the first ones stay.
            let mut room = most;
            self.retain(|count| {
                let stays = count.read.load(Ordering::Relaxed) >= oldest_kept && room > 0;
                room -= usize::from(stays);
                stays
            });
        }
    }

    /// Keeps some counts; the others move up, and their places with them.
    fn retain(&mut self, mut stays: impl FnMut(&Maintained) -> bool) {
        let mut next = 0..;
        let places: Vec<Option<u32>> =
            self.maintained.iter().map(|count| if stays(count) { next.next() } else { None }).collect();
        let place_of = |old: u32| places.get(old as usize).copied().flatten();
        let mut old = 0..;
        self.maintained.retain(|_| old.next().and_then(place_of).is_some());
        for counts in &mut self.by_class {
            *counts = counts.iter().filter_map(|place| place_of(*place)).collect();
        }
    }

    fn index(&mut self) {
        let places = self.maintained.iter().enumerate().map(|(place, count)| (Arc::clone(&count.key), place));
        self.places = Arc::new(places.collect());
    }

    /// A pod of a class came to a row (`more`) or left it.
    pub(super) fn change(&mut self, class: u32, row: Row, more: bool) {
        self.changed = true;
        for place in self.by_class.get(class as usize).into_iter().flatten() {
            if let Some(count) = self.maintained.get_mut(*place as usize) {
                count.rows.update(row, |pods| *pods = if more { *pods + 1 } else { pods.saturating_sub(1) });
            }
        }
    }

    /// A code stands for a class from now on.
    pub(super) fn set_class(&mut self, code: u32, class: &PodClass, namespaces: &Namespaces) {
        self.changed = true;
        if self.by_class.len() <= code as usize {
            self.by_class.resize_with(code as usize + 1, Vec::new);
        }
        let matching = (0..).zip(&self.maintained).filter(|(_, count)| count.key.matches(class, namespaces));
        if let Some(counts) = self.by_class.get_mut(code as usize) {
            *counts = matching.map(|(place, _)| place).collect();
        }
    }

    /// Appends a row without pods.
    pub(super) fn push(&mut self) {
        self.changed = true;
        self.maintained.iter_mut().for_each(|count| count.rows.push(0));
    }

    /// Takes a row out; the last row moves into its place.
    pub(super) fn swap_remove(&mut self, row: Row) {
        self.changed = true;
        self.maintained.iter_mut().for_each(|count| count.rows.swap_remove(row));
    }

    /// The pods of a row are others than was known: what readers have counted does not hold any more.
    pub(super) fn pods_changed(&mut self) {
        self.changed = true;
    }

    /// Counts the pods of a row once more, given by their classes; returns what was held and what was counted where that
    /// differs.
    pub(super) fn heal(&mut self, row: Row, pods: &[u32]) -> Vec<(u32, u32)> {
        let mut counted = vec![0_u32; self.maintained.len()];
        for place in pods.iter().filter_map(|class| self.by_class.get(*class as usize)).flatten() {
            if let Some(pods) = counted.get_mut(*place as usize) {
                *pods += 1;
            }
        }
        let mut wrong = Vec::new();
        for (count, counted) in self.maintained.iter_mut().zip(counted) {
            let held = count.rows.get(row).copied().unwrap_or(0);
            if held != counted {
                count.rows.set(row, counted);
                wrong.push((held, counted));
            }
        }
        self.changed |= !wrong.is_empty();
        wrong
    }

    /// Labels of namespaces changed: counts that read them are forgotten and built anew when somebody asks.
    pub(super) fn namespaces_changed(&mut self) {
        self.changed = true;
        let reads = |key: &CountKey| key.selectors.iter().any(PodSelector::reads_namespace_labels);
        self.retain(|count| !reads(&count.key));
        self.index();
    }
}

#[cfg(test)]
mod tests;
