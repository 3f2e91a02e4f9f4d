//! Totals by one [`Measure`], those that pod events keep up to date and those that readers build. [`Tally`] is the writer's
//! side, [`TallyView`] what a snapshot shows. `counts` says which pods there are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::{Namespaces, PodClass, PodCode, Population};
use super::measure::Measure;
use crate::columns::{Column, Delta, DriftReport, Row};
use crate::metadata::{Amounts, PodSelector};

/// A total that pod events keep up to date.
#[derive(Debug)]
struct Maintained<M: Measure> {
    key: Arc<M>,
    rows: Column<M::Total>,
    /// When it was last read, by the clock in [`Shared`].
    read: Arc<AtomicU64>,
}

/// State that readers and the writer share beside the totals themselves.
#[derive(Debug)]
struct Shared<M> {
    clock: AtomicU64,
    /// Totals that were read and that the writer does not maintain yet; no more than it would keep.
    wanted: Mutex<FxHashSet<M>>,
}

impl<M> Default for Shared<M> {
    fn default() -> Self {
        Self { clock: AtomicU64::default(), wanted: Mutex::default() }
    }
}

impl<M: Measure> Shared<M> {
    fn want(&self, key: &M, rows: usize) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        // Without publications, as with a cluster from files, nothing is taken out either.
        if wanted.len() < M::most(rows) {
            wanted.insert(key.clone());
        }
    }

    fn take_wanted(&self, most: usize) -> Vec<M> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.extract_if(|_| true).take(most).collect()
    }
}

/// The totals of one state of the pods, as a snapshot shows them.
#[derive(Debug)]
pub(super) struct TallyView<M: Measure> {
    places: Arc<FxHashMap<Arc<M>, usize>>,
    maintained: Vec<(Column<M::Total>, Arc<AtomicU64>)>,
    /// Totals that readers of this state have built.
    built: RwLock<FxHashMap<M, Column<M::Total>>>,
    shared: Arc<Shared<M>>,
}

impl<M: Measure> Default for TallyView<M> {
    fn default() -> Self {
        Self { places: Arc::default(), maintained: Vec::new(), built: RwLock::default(), shared: Arc::default() }
    }
}

impl<M: Measure> TallyView<M> {
    /// The total of a key per row that there is already.
    pub(super) fn known(&self, key: &M) -> Option<Column<M::Total>> {
        if let Some((rows, read)) = self.places.get(key).and_then(|place| self.maintained.get(*place)) {
            read.store(self.shared.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            return Some(rows.clone());
        }
        self.built.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The total of a key per row, from the pods themselves; `None` once `go_on` returns false.
    pub(super) fn count(&self, key: &M, population: &Population, go_on: &dyn Fn() -> bool) -> Option<Column<M::Total>> {
        let totals = key.totals(population, &key.pods().counted(population, go_on)?, go_on)?;
        if key.may_be_kept() {
            self.shared.want(key, population.len());
        }
        Some(totals)
    }

    /// Keeps a total for later readers of this state. Beyond the limit the next read builds it again.
    pub(super) fn keep(&self, key: &M, totals: &Column<M::Total>) {
        let mut built = self.built.write().unwrap_or_else(PoisonError::into_inner);
        if key.may_be_kept() && built.len() < M::most(totals.len()) {
            built.insert(key.clone(), totals.clone());
        }
    }

    /// How many totals readers of this state have built.
    #[cfg(test)]
    pub(super) fn built_count(&self) -> usize {
        self.built.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The writer's side of all totals of a measure.
#[derive(Debug)]
pub(super) struct Tally<M: Measure> {
    maintained: Vec<Maintained<M>>,
    /// Per class the places of the totals that include its pods: a pod event touches no other total.
    by_class: Vec<Vec<u32>>,
    places: Arc<FxHashMap<Arc<M>, usize>>,
    shared: Arc<Shared<M>>,
}

impl<M: Measure> Default for Tally<M> {
    fn default() -> Self {
        Self { maintained: Vec::new(), by_class: Vec::new(), places: Arc::default(), shared: Arc::default() }
    }
}

impl<M: Measure> Tally<M> {
    /// How many totals pod events keep up to date.
    pub(super) fn maintained_count(&self) -> usize {
        self.maintained.len()
    }

    /// Totals that were read and are not maintained yet, so many at most; they are so no longer.
    pub(super) fn take_wanted(&self, most: usize) -> Vec<M> {
        self.shared.take_wanted(most)
    }

    /// How many totals were read and are not maintained yet.
    #[cfg(test)]
    pub(super) fn wanted_count(&self) -> usize {
        self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The view of the next snapshot, in which `wanted` are maintained; beyond the limits those that were read longest ago are
    /// dropped. `before` is the view of the last one where no pod has come or gone since.
    pub(super) fn publish(
        &mut self,
        wanted: Vec<M>,
        before: Option<&TallyView<M>>,
        population: &Population,
    ) -> TallyView<M> {
        let built = before.map(|view| view.built.read().unwrap_or_else(PoisonError::into_inner).clone());
        let mut built = built.unwrap_or_default();
        let keys_changed = !wanted.is_empty();
        for key in wanted.into_iter().filter(|key| !self.places.contains_key(key)) {
            // Always there, since nothing stops it.
            let counted = key.pods().counted(population, &|| true).unwrap_or_default();
            let rows = built.remove(&key).or_else(|| key.totals(population, &counted, &|| true)).unwrap_or_default();
            let read = AtomicU64::new(self.shared.clock.load(Ordering::Relaxed));
            // Their number is bounded far below 2^32.
            let place = u32::try_from(self.maintained.len()).unwrap_or(u32::MAX);
            self.by_class.resize_with(counted.len().max(self.by_class.len()), Vec::new);
            for (totals, _) in self.by_class.iter_mut().zip(counted).filter(|(_, counted)| *counted) {
                totals.push(place);
            }
            self.maintained.push(Maintained { key: Arc::new(key), rows, read: Arc::new(read) });
        }
        if keys_changed {
            self.drop_beyond_limits(population.len());
            self.index();
        }
        let column = |total: &Maintained<M>| (total.rows.clone(), Arc::clone(&total.read));
        TallyView {
            places: Arc::clone(&self.places),
            maintained: self.maintained.iter().map(column).collect(),
            built: RwLock::new(built),
            shared: Arc::clone(&self.shared),
        }
    }

    fn drop_beyond_limits(&mut self, rows: usize) {
        let most = M::most(rows);
        if self.maintained.len() > most {
            let mut reads: Vec<u64> = self.maintained.iter().map(|total| total.read.load(Ordering::Relaxed)).collect();
            reads.sort_unstable_by(|a, b| b.cmp(a));
            let oldest_kept = reads.get(most - 1).copied().unwrap_or(0);
            // Of those read at the same time the first ones stay.
            let mut room = most;
            self.retain(|total| {
                let stays = total.read.load(Ordering::Relaxed) >= oldest_kept && room > 0;
                room -= usize::from(stays);
                stays
            });
        }
    }

    /// Keeps some totals; the others move up, and their places with them.
    fn retain(&mut self, mut stays: impl FnMut(&Maintained<M>) -> bool) {
        let mut next = 0..;
        let places: Vec<Option<u32>> =
            self.maintained.iter().map(|total| if stays(total) { next.next() } else { None }).collect();
        let place_of = |old: u32| places.get(old as usize).copied().flatten();
        let mut old = 0..;
        self.maintained.retain(|_| old.next().and_then(place_of).is_some());
        for totals in &mut self.by_class {
            *totals = totals.iter().filter_map(|place| place_of(*place)).collect();
        }
    }

    fn index(&mut self) {
        let places = self.maintained.iter().enumerate().map(|(place, total)| (Arc::clone(&total.key), place));
        self.places = Arc::new(places.collect());
    }

    /// A pod of a class comes to a row, or leaves it.
    pub(super) fn change(&mut self, delta: Delta, class: u32, row: Row, usage: &Amounts) {
        for place in self.by_class.get(class as usize).into_iter().flatten() {
            if let Some(Maintained { key, rows, .. }) = self.maintained.get_mut(*place as usize) {
                rows.update(row, |total| key.change(delta, total, usage));
            }
        }
    }

    /// A code stands for a class from now on.
    pub(super) fn set_class(&mut self, code: u32, class: &PodClass, namespaces: &Namespaces) {
        if self.by_class.len() <= code as usize {
            self.by_class.resize_with(code as usize + 1, Vec::new);
        }
        let matching = (0..).zip(&self.maintained).filter(|(_, total)| total.key.pods().matches(class, namespaces));
        if let Some(totals) = self.by_class.get_mut(code as usize) {
            *totals = matching.map(|(place, _)| place).collect();
        }
    }

    /// Appends a row without pods.
    pub(super) fn push(&mut self) {
        self.maintained.iter_mut().for_each(|total| total.rows.push(M::Total::default()));
    }

    /// Takes a row out; the last row moves into its place.
    pub(super) fn swap_remove(&mut self, row: Row) {
        self.maintained.iter_mut().for_each(|total| total.rows.swap_remove(row));
    }

    /// Repairs the totals of a row by the pods on it, each with what it uses; true where something was wrong.
    pub(super) fn repair(&mut self, row: Row, pods: &[(PodCode, &Amounts)], report: &mut DriftReport) -> bool {
        let mut counted = vec![M::Total::default(); self.maintained.len()];
        for (pod, usage) in pods {
            for place in self.by_class.get(pod.class as usize).into_iter().flatten() {
                if let (Some(total), Some(maintained)) =
                    (counted.get_mut(*place as usize), self.maintained.get(*place as usize))
                {
                    maintained.key.change(Delta::Add, total, usage);
                }
            }
        }
        let mut is_repaired = false;
        for (total, counted) in self.maintained.iter_mut().zip(counted) {
            let held = total.rows.get(row).copied().unwrap_or_default();
            if report.differs(|| M::NAME.to_owned(), &held, &counted) {
                total.rows.set(row, counted);
                is_repaired = true;
            }
        }
        is_repaired
    }

    /// Labels of namespaces changed: totals that depend on them are dropped, and built anew on the next read.
    pub(super) fn namespaces_changed(&mut self) {
        let reads = |key: &M| key.pods().selectors.iter().any(PodSelector::reads_namespace_labels);
        // Of the namespaces of one batch only the first finds any: to keep the rest goes through all classes of pods, of which there are
        // as many as namespaces at least.
        if !self.maintained.iter().any(|total| reads(&total.key)) {
            return;
        }
        self.retain(|total| !reads(&total.key));
        self.index();
    }
}
