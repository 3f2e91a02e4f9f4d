//! Materialised counts: per row how many pods match a selector, and what they use of a resource, kept up to date by every pod
//! event.
//!
//! A selector is matched against classes of pods (`classes`), so that building a count costs a match per class and an
//! addition per pod, and a pod event costs one lookup for its class and one addition per count that includes it.
//!
//! [`Counts`] is the writer's side and maintains the counts that were read. [`CountView`] is what a snapshot shows: a
//! reader that needs a new count builds it for its snapshot, and the writer maintains it from one of the next publications
//! on, a few per publication. The view of an overlay adds the overlay's changes to a count of the snapshot below. Requests
//! choose what is counted, so the counts that they cause are bounded in number and in bytes. What they have in common,
//! whatever is added up, is in `tally`.

use std::sync::Arc;

use super::amounts_change::AmountsChange;
use super::classes::{Namespaces, PodClass, PodCode, Population};
use super::measure::{CountKey, Measure, SumKey};
use super::tally::{Tally, TallyView};
use crate::columns::sets::Sets;
use crate::columns::{Column, Delta, DriftReport, Row};
use crate::limits::COUNTS_PER_PUBLICATION;
use crate::metadata::{Amounts, PodRecord};

/// The counts of one state of the pods, as a snapshot shows them.
#[derive(Debug, Default)]
pub(crate) struct CountView {
    counts: TallyView<CountKey>,
    sums: TallyView<SumKey>,
    /// The changes of an overlay; `None` in a view of the cache itself.
    overlaid: Option<Overlaid>,
}

/// The changes of an overlay to the counts of the state below it.
#[derive(Debug)]
struct Overlaid {
    base: Arc<CountView>,
    /// Population of the state below.
    population: Population,
    changes: Vec<PodChange>,
}

/// A pod of a class comes to a row or leaves it.
#[derive(Debug, Clone)]
pub(crate) struct PodChange {
    delta: Delta,
    row: Row,
    class: PodClass,
    pod: Arc<PodRecord>,
}

impl PodChange {
    /// The change of a pod that comes to a row, or leaves it.
    pub(crate) fn new(delta: Delta, row: Row, pod: &Arc<PodRecord>) -> Self {
        Self { delta, row, class: PodClass::new(pod), pod: Arc::clone(pod) }
    }
}

impl Overlaid {
    /// The totals of the state below with the changes added, over as many rows as the overlay has; `None` once `go_on` returns false.
    fn column<M: Measure>(
        &self,
        key: &M,
        rows: usize,
        tally: impl Fn(&CountView) -> &TallyView<M> + Copy,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Column<M::Total>> {
        let mut totals = self.base.column(key, &self.population, tally, go_on)?;
        (totals.len()..rows).for_each(|_| totals.push(M::Total::default()));
        let namespaces = self.population.namespaces();
        for change in &self.changes {
            // Few changes, but a huge key takes long to match with each.
            if !key.may_be_kept() && !go_on() {
                return None;
            }
            if key.pods().matches(&change.class, namespaces) {
                totals.update(change.row, |total| key.change(change.delta, total, change.pod.usage()));
            }
        }
        Some(totals)
    }
}

impl CountView {
    /// The counts of a state, changed by an overlay.
    pub(crate) fn overlaid(base: &Arc<Self>, population: &Population, changes: Vec<PodChange>) -> Self {
        let overlaid = Overlaid { base: Arc::clone(base), population: population.clone(), changes };
        Self { overlaid: Some(overlaid), ..Self::default() }
    }

    /// The count of a key per row; built from the population of this state on first use. `None` once `go_on` returns false, which is called
    /// while it is built.
    pub(crate) fn count(
        &self,
        key: &CountKey,
        population: &Population,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Column<u32>> {
        self.column(key, population, |view| &view.counts, go_on)
    }

    /// The sum of a key per row, as [`Self::count`].
    pub(crate) fn sum(&self, key: &SumKey, population: &Population, go_on: &dyn Fn() -> bool) -> Option<Column<i64>> {
        self.column(key, population, |view| &view.sums, go_on)
    }

    fn column<M: Measure>(
        &self,
        key: &M,
        population: &Population,
        tally: impl Fn(&Self) -> &TallyView<M> + Copy,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Column<M::Total>> {
        if let Some(known) = tally(self).known(key) {
            return Some(known);
        }
        let totals = match &self.overlaid {
            Some(overlaid) => overlaid.column(key, population.len(), tally, go_on)?,
            None => tally(self).count(key, population, go_on)?,
        };
        tally(self).keep(key, &totals);
        Some(totals)
    }

    /// How many counts and sums readers of this state have built.
    #[cfg(test)]
    pub(crate) fn built_count(&self) -> usize {
        self.counts.built_count() + self.sums.built_count()
    }
}

/// The writer's side of all counts.
#[derive(Debug)]
pub(crate) struct Counts {
    /// The dictionary of classes.
    classes: Sets<PodClass>,
    /// The dictionary of what pods use: pods of one class may use different amounts.
    usages: Sets<Amounts>,
    counts: Tally<CountKey>,
    sums: Tally<SumKey>,
    view: Arc<CountView>,
    /// Whether pods, rows or namespaces changed since the view was made.
    changed: bool,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            classes: Sets::new(),
            usages: Sets::new(),
            counts: Tally::default(),
            sums: Tally::default(),
            view: Arc::default(),
            changed: false,
        }
    }
}

impl Counts {
    /// How many counts, and how many sums, pod events keep up to date.
    pub(crate) fn maintained_count(&self) -> (usize, usize) {
        (self.counts.maintained_count(), self.sums.maintained_count())
    }

    /// How many counts and sums were read and are not maintained yet.
    #[cfg(test)]
    pub(crate) fn wanted_count(&self) -> usize {
        self.counts.wanted_count() + self.sums.wanted_count()
    }

    /// The view of the next snapshot: some counts that were read come to be maintained, and beyond the limits those that were
    /// read longest ago are dropped.
    pub(crate) fn publish(&mut self, population: &mut Population) -> Arc<CountView> {
        population.share(&self.classes, &self.usages);
        // Half of them for each; what one does not need is for the other.
        let mut sums = self.sums.take_wanted(COUNTS_PER_PUBLICATION / 2);
        let counts = self.counts.take_wanted(COUNTS_PER_PUBLICATION - sums.len());
        sums.extend(self.sums.take_wanted(COUNTS_PER_PUBLICATION - sums.len() - counts.len()));
        if !self.changed && counts.is_empty() && sums.is_empty() {
            return Arc::clone(&self.view);
        }
        // Counts built by readers stay right as long as no pod comes or goes.
        let before = Some(&*self.view).filter(|_| !self.changed);
        let counts = self.counts.publish(counts, before.map(|view| &view.counts), population);
        let sums = self.sums.publish(sums, before.map(|view| &view.sums), population);
        self.changed = false;
        self.view = Arc::new(CountView { counts, sums, overlaid: None });
        Arc::clone(&self.view)
    }

    /// Adds a pod to a row, or removes it. A pod that was not added removes nothing.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord, population: &mut Population) {
        let (class, usage) = (PodClass::new(pod), pod.usage());
        match delta {
            Delta::Add => {
                let code = self.acquire(class, usage, population.namespaces());
                population.add(row, code);
                self.change(delta, code.class, row, usage);
            }
            Delta::Remove => {
                let (Some(class), Some(of_usage)) = (self.classes.code(&class), self.usages.code(usage)) else {
                    return;
                };
                let code = PodCode { class, usage: of_usage };
                if population.remove(row, code) {
                    self.change(delta, class, row, usage);
                    self.release(code);
                }
            }
        }
    }

    /// Pods of a row use something else than before. How many pods there are of a class stays the same.
    pub(crate) fn change_usages(&mut self, row: Row, changes: &[AmountsChange], population: &mut Population) {
        for AmountsChange { earlier, pod } in changes.iter().filter(|change| change.changes_usage()) {
            let (class, usage) = (self.classes.code(&PodClass::new(pod)), self.usages.code(earlier.usage()));
            let (Some(class), Some(usage)) = (class, usage) else { continue };
            let next = PodCode { class, usage: self.usages.acquire_clone(pod.usage()) };
            if population.replace(row, PodCode { class, usage }, next) {
                self.changed = true;
                self.sums.change(Delta::Remove, class, row, earlier.usage());
                self.sums.change(Delta::Add, class, row, pod.usage());
                self.usages.release(usage);
            } else {
                // It was not added, and the audit will find it.
                self.usages.release(next.usage);
            }
        }
    }

    /// The code of a pod of a class that uses this.
    fn acquire(&mut self, class: PodClass, usage: &Amounts, namespaces: &Namespaces) -> PodCode {
        let (code, is_new) = self.classes.acquire_new(class);
        if is_new && let Some(class) = self.classes.value(code).map(Arc::clone) {
            self.changed = true;
            self.counts.set_class(code, &class, namespaces);
            self.sums.set_class(code, &class, namespaces);
        }
        PodCode { class: code, usage: self.usages.acquire_clone(usage) }
    }

    fn release(&mut self, code: PodCode) {
        self.classes.release(code.class);
        self.usages.release(code.usage);
    }

    fn change(&mut self, delta: Delta, class: u32, row: Row, usage: &Amounts) {
        self.changed = true;
        self.counts.change(delta, class, row, usage);
        self.sums.change(delta, class, row, usage);
    }

    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.changed = true;
        self.counts.push();
        self.sums.push();
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.changed = true;
        self.counts.swap_remove(row);
        self.sums.swap_remove(row);
    }

    /// Repairs the classes and the counts of a row by the pods on its node.
    pub(crate) fn repair(
        &mut self,
        row: Row,
        pods: &[Arc<PodRecord>],
        population: &mut Population,
        report: &mut DriftReport,
    ) {
        let known = |pod: &Arc<PodRecord>| PodCode {
            class: self.classes.code(&PodClass::new(pod)).unwrap_or(u32::MAX),
            usage: self.usages.code(pod.usage()).unwrap_or(u32::MAX),
        };
        let sorted = |mut codes: Vec<PodCode>| {
            codes.sort_unstable();
            codes
        };
        let mut codes: Vec<PodCode> = pods.iter().map(known).collect();
        let held = population.codes_in_row(row);
        if report.differs(|| "classes of pods".to_owned(), &sorted((*held).clone()), &sorted(codes.clone())) {
            let acquired =
                |pod: &Arc<PodRecord>| self.acquire(PodClass::new(pod), pod.usage(), population.namespaces());
            codes = pods.iter().map(acquired).collect();
            held.iter().for_each(|code| self.release(*code));
            population.set(row, codes.clone());
            self.changed = true;
        }
        let pods: Vec<(PodCode, &Amounts)> = codes.into_iter().zip(pods.iter().map(|pod| pod.usage())).collect();
        self.changed |= self.counts.repair(row, &pods, report);
        self.changed |= self.sums.repair(row, &pods, report);
    }

    /// Labels of namespaces changed: counts that depend on them are dropped, and built anew on the next read.
    pub(crate) fn namespaces_changed(&mut self) {
        self.changed = true;
        self.counts.namespaces_changed();
        self.sums.namespaces_changed();
    }
}

#[cfg(test)]
mod tests;
