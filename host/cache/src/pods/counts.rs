//! Materialised counts: per row how many pods match a selector, kept up to date by every pod event.
//!
//! A selector is matched against classes of pods (`classes`), so that building a count costs a match per class and an
//! addition per pod, and a pod event costs one lookup for its class and one addition per count that includes it.
//!
//! [`Counts`] is the writer's side and maintains the counts that were read. [`CountView`] is what a snapshot shows: a
//! reader that needs a new count builds it for its snapshot, and the writer maintains it from one of the next publications
//! on, a few per publication. The view of an overlay adds the overlay's changes to a count of the snapshot below. Requests
//! choose what is counted, so the counts that they cause are bounded in number and in bytes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::{Namespaces, PodClass, Population};
use crate::columns::sets::Sets;
use crate::columns::{Column, Delta, DriftReport, Row};
use crate::limits::{
    COUNT_KEY_BYTES, COUNT_KEY_PARTS, COUNT_STRIDE_CLASSES, COUNTS, COUNTS_BYTES, COUNTS_PER_PUBLICATION,
};
use crate::metadata::{LabelTest, PodRecord, PodSelector};

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

    /// By code of a class, whether its pods count; `None` once `go_on` says no. The work is that of the classes, a binary
    /// search per label of each, and of the selectors once per namespace, however large the selectors are.
    fn counted(&self, population: &Population, go_on: &dyn Fn() -> bool) -> Option<Vec<bool>> {
        let labels = LabelTest::new(self.selectors.iter().flat_map(|selector| &selector.requirements));
        let namespaces = population.namespaces();
        let labels_of = |namespace: &str| namespaces.get(namespace).cloned();
        let mut known: HashMap<&str, bool> = HashMap::new();
        let mut counted = Vec::new();
        for class in population.classes() {
            if counted.len().is_multiple_of(COUNT_STRIDE_CLASSES) && !go_on() {
                return None;
            }
            let in_namespaces = match known.get(&*class.namespace) {
                Some(known) => *known,
                None => {
                    if !go_on() {
                        return None;
                    }
                    let is_in = |selector: &PodSelector| selector.is_in_namespace(&class.namespace, labels_of);
                    let in_namespaces = self.selectors.iter().all(is_in);
                    known.insert(&class.namespace, in_namespaces);
                    in_namespaces
                }
            };
            counted.push(in_namespaces && (self.terminating || !class.terminating) && labels.matches(&class.labels));
        }
        Some(counted)
    }

    /// Whether a count by it may be kept beyond the read that needs it.
    pub fn is_kept(&self) -> bool {
        self.selectors.iter().map(PodSelector::parts).sum::<usize>() <= COUNT_KEY_PARTS
            && self.selectors.iter().map(PodSelector::bytes).sum::<usize>() <= COUNT_KEY_BYTES
    }
}

/// How many counts of `rows` rows are kept at most.
fn max_counts(rows: usize) -> usize {
    (COUNTS_BYTES / (rows * size_of::<u32>()).max(1)).clamp(1, COUNTS)
}

/// A count that pod events keep up to date.
#[derive(Debug)]
struct Maintained {
    key: Arc<CountKey>,
    rows: Column<u32>,
    /// When it was last read, by the clock in [`Shared`].
    read: Arc<AtomicU64>,
}

/// What readers and the writer share beside the counts themselves.
#[derive(Debug, Default)]
struct Shared {
    clock: AtomicU64,
    /// Counts that were read and that the writer does not maintain yet; no more than it would keep.
    wanted: Mutex<FxHashSet<CountKey>>,
}

impl Shared {
    fn want(&self, key: &CountKey, rows: usize) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        // Without publications, as with a cluster from files, nothing is taken out either.
        if wanted.len() < max_counts(rows) {
            wanted.insert(key.clone());
        }
    }

    /// Takes out as many as one publication builds.
    fn take_wanted(&self) -> Vec<CountKey> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.extract_if(|_| true).take(COUNTS_PER_PUBLICATION).collect()
    }
}

/// The counts of one state of the pods, as a snapshot shows them.
#[derive(Debug, Default)]
pub(crate) struct CountView {
    places: Arc<FxHashMap<Arc<CountKey>, usize>>,
    maintained: Vec<(Column<u32>, Arc<AtomicU64>)>,
    /// Counts that readers of this state have built.
    built: RwLock<FxHashMap<CountKey, Column<u32>>>,
    /// The changes of an overlay; `None` in a view of the cache itself.
    overlaid: Option<Overlaid>,
    shared: Arc<Shared>,
}

/// The changes of an overlay to the counts of the state below it.
#[derive(Debug)]
struct Overlaid {
    base: Arc<CountView>,
    /// That of the state below.
    population: Population,
    changes: Vec<PodChange>,
}

/// A pod of a class comes to a row or leaves it.
#[derive(Debug, Clone)]
pub(crate) struct PodChange {
    pub(crate) delta: Delta,
    pub(crate) row: Row,
    pub(crate) class: PodClass,
}

impl Overlaid {
    /// The count of the state below with the changes added, over as many rows as the overlay has; `None` once `go_on` says no.
    fn column(&self, key: &CountKey, rows: usize, go_on: &dyn Fn() -> bool) -> Option<Column<u32>> {
        let mut counts = self.base.column(key, &self.population, go_on)?;
        (counts.len()..rows).for_each(|_| counts.push(0));
        let namespaces = self.population.namespaces();
        for change in &self.changes {
            // Few changes, but a huge key takes long to match with each.
            if !key.is_kept() && !go_on() {
                return None;
            }
            if key.matches(&change.class, namespaces) {
                counts.update(change.row, |pods| change.delta.apply_to(pods));
            }
        }
        Some(counts)
    }
}

impl CountView {
    /// The counts of a state, changed by an overlay.
    pub(crate) fn overlaid(base: &Arc<Self>, population: &Population, changes: Vec<PodChange>) -> Self {
        let overlaid = Overlaid { base: Arc::clone(base), population: population.clone(), changes };
        Self { overlaid: Some(overlaid), ..Self::default() }
    }

    /// The count of a key per row; built from the population of this state on first use. `None` once `go_on` says no, which is
    /// asked while it is built.
    pub(crate) fn column(
        &self,
        key: &CountKey,
        population: &Population,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Column<u32>> {
        if let Some((rows, read)) = self.places.get(key).and_then(|place| self.maintained.get(*place)) {
            read.store(self.shared.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            return Some(rows.clone());
        }
        if let Some(rows) = self.built.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Some(rows.clone());
        }
        let (rows, is_kept) = (population.len(), key.is_kept());
        let counts = match &self.overlaid {
            Some(overlaid) => overlaid.column(key, rows, go_on)?,
            None => {
                let counts = population.count(&key.counted(population, go_on)?, go_on)?;
                if is_kept {
                    self.shared.want(key, rows);
                }
                counts
            }
        };
        let mut built = self.built.write().unwrap_or_else(PoisonError::into_inner);
        // Beyond the limit the next read builds it again.
        if is_kept && built.len() < max_counts(rows) {
            built.insert(key.clone(), counts.clone());
        }
        Some(counts)
    }
}

/// The writer's side of all counts.
#[derive(Debug)]
pub(crate) struct Counts {
    /// The dictionary of classes.
    classes: Sets<PodClass>,
    maintained: Vec<Maintained>,
    /// Per class the places of the counts that include its pods: a pod event touches no other count.
    by_class: Vec<Vec<u32>>,
    places: Arc<FxHashMap<Arc<CountKey>, usize>>,
    shared: Arc<Shared>,
    view: Arc<CountView>,
    /// Whether pods, rows or namespaces changed since the view was made.
    changed: bool,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            classes: Sets::new(),
            maintained: Vec::new(),
            by_class: Vec::new(),
            places: Arc::default(),
            shared: Arc::default(),
            view: Arc::default(),
            changed: false,
        }
    }
}

impl Counts {
    /// How many counts pod events keep up to date.
    pub(crate) fn maintained_count(&self) -> usize {
        self.maintained.len()
    }

    /// The view of the next snapshot: some counts that were read come to be maintained, and beyond the limits those that were
    /// read longest ago are dropped.
    pub(crate) fn publish(&mut self, population: &mut Population) -> Arc<CountView> {
        population.share_classes(&self.classes);
        let wanted = self.shared.take_wanted();
        if !self.changed && wanted.is_empty() {
            return Arc::clone(&self.view);
        }
        // Counts built by readers stay right as long as no pod comes or goes.
        let mut built = match self.changed {
            true => FxHashMap::default(),
            false => self.view.built.read().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let keys_changed = !wanted.is_empty();
        for key in wanted.into_iter().filter(|key| !self.places.contains_key(key)) {
            // Always there, since nothing stops it.
            let counted = key.counted(population, &|| true).unwrap_or_default();
            let rows = built.remove(&key).or_else(|| population.count(&counted, &|| true)).unwrap_or_default();
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
            self.drop_beyond_limits(population.len());
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

    fn drop_beyond_limits(&mut self, rows: usize) {
        let most = max_counts(rows);
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

    /// Adds a pod to a row, or removes it. A pod that was not added removes nothing.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord, population: &mut Population) {
        let class = PodClass::of(pod);
        match delta {
            Delta::Add => {
                let code = self.acquire(class, population.namespaces());
                population.add(row, code);
                self.change(delta, code, row);
            }
            Delta::Remove => {
                let Some(code) = self.classes.code(&class) else { return };
                if population.remove(row, code) {
                    self.change(delta, code, row);
                    self.classes.release(code);
                }
            }
        }
    }

    /// The code of a class, for one more pod.
    fn acquire(&mut self, class: PodClass, namespaces: &Namespaces) -> u32 {
        let (code, is_new) = self.classes.acquire_new(class);
        if is_new && let Some(class) = self.classes.value(code).map(Arc::clone) {
            self.set_class(code, &class, namespaces);
        }
        code
    }

    fn change(&mut self, delta: Delta, class: u32, row: Row) {
        self.changed = true;
        for place in self.by_class.get(class as usize).into_iter().flatten() {
            if let Some(count) = self.maintained.get_mut(*place as usize) {
                count.rows.update(row, |pods| delta.apply_to(pods));
            }
        }
    }

    /// A code stands for a class from now on.
    fn set_class(&mut self, code: u32, class: &PodClass, namespaces: &Namespaces) {
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
    pub(crate) fn push(&mut self) {
        self.changed = true;
        self.maintained.iter_mut().for_each(|count| count.rows.push(0));
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.changed = true;
        self.maintained.iter_mut().for_each(|count| count.rows.swap_remove(row));
    }

    /// Repairs the classes and the counts of a row by the pods on its node.
    pub(crate) fn repair(
        &mut self,
        row: Row,
        pods: &[Arc<PodRecord>],
        population: &mut Population,
        report: &mut DriftReport,
    ) {
        let classes: Vec<PodClass> = pods.iter().map(|pod| PodClass::of(pod)).collect();
        let sorted = |mut classes: Vec<u32>| {
            classes.sort_unstable();
            classes
        };
        let counted = sorted(classes.iter().map(|class| self.classes.code(class).unwrap_or(u32::MAX)).collect());
        let held = population.of_row(row);
        if report.differs(|| "classes of pods".to_owned(), &sorted((*held).clone()), &counted) {
            let codes = classes.into_iter().map(|class| self.acquire(class, population.namespaces())).collect();
            held.iter().for_each(|code| self.classes.release(*code));
            population.set(row, codes);
            self.changed = true;
        }
        self.repair_counts(row, &population.of_row(row), report);
    }

    fn repair_counts(&mut self, row: Row, classes: &[u32], report: &mut DriftReport) {
        let mut counted = vec![0_u32; self.maintained.len()];
        for place in classes.iter().filter_map(|class| self.by_class.get(*class as usize)).flatten() {
            if let Some(pods) = counted.get_mut(*place as usize) {
                *pods += 1;
            }
        }
        for (count, counted) in self.maintained.iter_mut().zip(counted) {
            let held = count.rows.get(row).copied().unwrap_or(0);
            if report.differs(|| "pods that match a selector".to_owned(), &held, &counted) {
                count.rows.set(row, counted);
                self.changed = true;
            }
        }
    }

    /// Labels of namespaces changed: counts that depend on them are dropped, and built anew on the next read.
    pub(crate) fn namespaces_changed(&mut self) {
        self.changed = true;
        let reads = |key: &CountKey| key.selectors.iter().any(PodSelector::reads_namespace_labels);
        self.retain(|count| !reads(&count.key));
        self.index();
    }
}

#[cfg(test)]
mod tests;
