//! Affinity terms that pods on nodes carry and that match other pods, a table per kind. Equal terms are kept once, and are filed by
//! what a pod must be for them to match it: the cost of matching an incoming pod grows neither with the number of pods nor with terms
//! that cannot match it, of which one tenant may have tens of thousands. Start at [`Terms::matching`].
//!
//! | file | holds |
//! |---|---|
//! | `headings` | what terms are filed under |
//! | `owners` | whose terms a question looks through |
//! | `steps` | what a question has taken of its time |
//! | `term_map` | a map from terms that a change copies in part |

mod headings;
mod owners;
mod steps;
mod term_map;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use self::owners::Origin;
pub use self::owners::TermOwner;
pub(crate) use self::steps::Steps;
use self::term_map::TermMap;
use super::classes::Namespaces;
use crate::columns::labels::NodeLabels;
use crate::columns::{Column, Delta, DriftReport, Row};
use crate::limits::TERM_CHUNK;
use crate::metadata::{AntiAffinityTerm, Labels, PodRecord, PodSelector, ScoringTerm};

/// The rows whose pods carry a term, sorted, each with how many of their terms are this one.
pub(crate) type Carriers = Arc<Vec<(Row, u32)>>;

/// The topology key of an anti-affinity term that matches a pod, and per row, sorted, how many terms of its pods are this one.
pub type MatchedTerm = (Arc<str>, Carriers);

/// A term that matches a pod and counts in its scores, and per row, sorted, how many terms of its pods are this one.
pub type MatchedScoringTerm = (Arc<ScoringTerm>, Carriers);

/// Required anti-affinity terms of pods on nodes.
pub(crate) type AntiAffinity = Terms<AntiAffinityTerm>;

/// Terms of pods on nodes that count in scores; none where no policy reads them.
pub(crate) type ScoringTerms = Terms<ScoringTerm>;

/// A kind of term. The order of terms is by their topology key first.
pub(crate) trait Term: Clone + Ord + Hash {
    /// Name of the kind in reports of drift.
    const NAME: &'static str;

    /// The terms of a pod.
    fn of(pod: &PodRecord) -> &[Self];

    /// The label key whose equal values make nodes near each other.
    fn topology_key(&self) -> &Arc<str>;

    /// The pods that it is about.
    fn selector(&self) -> &PodSelector;
}

impl Term for AntiAffinityTerm {
    const NAME: &'static str = "anti-affinity terms";

    fn of(pod: &PodRecord) -> &[Self] {
        &pod.facts.anti_affinity_terms
    }

    fn topology_key(&self) -> &Arc<str> {
        &self.topology_key
    }

    fn selector(&self) -> &PodSelector {
        &self.selector
    }
}

impl Term for ScoringTerm {
    const NAME: &'static str = "scoring terms";

    fn of(pod: &PodRecord) -> &[Self] {
        pod.facts.preferences.as_ref().map_or(&[], |preferences| &preferences.terms)
    }

    fn topology_key(&self) -> &Arc<str> {
        &self.topology_key
    }

    fn selector(&self) -> &PodSelector {
        &self.selector
    }
}

/// All distinct terms of a kind. A clone costs three reference counts, and a change after it copies a chunk of each part.
#[derive(Debug, Clone)]
pub(crate) struct Terms<T> {
    /// Rows of each term, by hash of the term.
    carriers: TermMap<T, Carried>,
    /// Terms by heading. A term is the same allocation here and in `carriers`.
    filed: TermMap<T, ()>,
    /// Per row, how many terms its pods carry: whether a row holds terms that it must not hold shows without a look at every term.
    totals: Column<u32>,
}

/// The rows of a term, and the pod that brought it last.
#[derive(Debug, Clone)]
struct Carried {
    rows: Carriers,
    origin: Arc<Origin>,
}

impl<T> Default for Terms<T> {
    fn default() -> Self {
        Self { carriers: TermMap::default(), filed: TermMap::default(), totals: Column::default() }
    }
}

impl<T: Term> Terms<T> {
    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.totals.push(0);
    }

    /// Takes the last row out, whose pods are in another row by now, or gone. What a defect has left of it goes as well: the next
    /// node gets a row without pods.
    pub(crate) fn pop(&mut self) {
        let Some(last) = self.totals.last_row() else { return };
        if self.totals.get(last).is_some_and(|terms| *terms > 0) {
            self.clear(last);
        }
        self.totals.swap_remove(last);
    }

    /// Forgets the terms of a row.
    fn clear(&mut self, row: Row) {
        for (term, held) in self.terms_in_row(row) {
            (0..held).for_each(|_| self.remove_term(row, &term));
        }
    }

    /// Adds the terms of a pod to a row, or removes them.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        let terms = T::of(pod);
        match delta {
            // Most pods have none.
            Delta::Add if !terms.is_empty() => {
                let origin = Origin::of(pod);
                terms.iter().for_each(|term| self.add_term(row, term, &origin));
            }
            Delta::Add => {}
            Delta::Remove => terms.iter().for_each(|term| self.remove_term(row, term)),
        }
    }

    /// The pods of a row are in another row from now on.
    pub(crate) fn move_row(&mut self, from: Row, to: Row, pods: &[Arc<PodRecord>]) {
        for pod in pods.iter().filter(|pod| !T::of(pod).is_empty()) {
            let origin = Origin::of(pod);
            for term in T::of(pod) {
                // In this order, a term that is on one row only stays where it is filed.
                self.add_term(to, term, &origin);
                self.remove_term(from, term);
            }
        }
    }

    fn add_term(&mut self, row: Row, term: &T, origin: &Arc<Origin>) {
        let number = hash(term);
        let change = |carried: &mut Carried| {
            carried.origin = Arc::clone(origin);
            count(Arc::make_mut(&mut carried.rows), Delta::Add, row)
        };
        let is_changed = self.carriers.update(number, term, change).unwrap_or_else(|| {
            let term = Arc::new(term.clone());
            for heading in headings::term_headings(term.selector()) {
                self.filed.insert(heading, Arc::clone(&term), ());
            }
            let carried = Carried { rows: Arc::new(vec![(row, 1)]), origin: Arc::clone(origin) };
            self.carriers.insert(number, term, carried);
            true
        });
        if is_changed {
            self.totals.update(row, |total| Delta::Add.apply_to(total));
        }
    }

    fn remove_term(&mut self, row: Row, term: &T) {
        let number = hash(term);
        let change = |carried: &mut Carried| {
            let rows = Arc::make_mut(&mut carried.rows);
            (count(rows, Delta::Remove, row), rows.is_empty())
        };
        let Some((is_changed, is_gone)) = self.carriers.update(number, term, change) else { return };
        if is_gone {
            self.carriers.remove(number, term);
            for heading in headings::term_headings(term.selector()) {
                self.filed.remove(heading, term);
            }
        }
        if is_changed {
            self.totals.update(row, |total| Delta::Remove.apply_to(total));
        }
    }

    /// The terms that match a pod, each with its rows, in the order of their hashes; `None` where the steps end first. Equal terms on equal
    /// rows give an equal list, whatever was there before.
    pub(crate) fn matching(
        &self,
        namespace: &str,
        labels: &Labels,
        namespaces: &Namespaces,
        nodes: &NodeLabels,
        steps: &mut Steps<'_>,
    ) -> Option<Vec<(&Arc<T>, &Carriers)>> {
        let matches = |term: &Arc<T>, steps: &mut Steps<'_>| {
            steps.take_match(term.selector())?;
            Some(selector_matches(term.selector(), namespace, labels, namespaces))
        };
        let candidates = self.candidates(namespace, labels, namespaces, nodes, steps)?;
        if self.walks(candidates.len()) {
            let mut found = Vec::new();
            for entry in self.carriers.iter() {
                steps.take(1)?;
                if nodes.has(entry.term.topology_key()) && matches(&entry.term, steps)? {
                    found.push((&entry.term, &entry.value.rows));
                }
            }
            return Some(found);
        }
        let mut matched: Vec<(u64, &Arc<T>)> = Vec::new();
        for term in candidates {
            if matches(term, steps)? {
                steps.take_hash(term.selector())?;
                matched.push((hash(&**term), term));
            }
        }
        matched.sort_unstable();
        // Taken once it is done, so that the clock is looked at before all of them are looked up: there was time a stride ago.
        steps.take_sort(matched.len())?;
        // A term that names the pod's namespace and selects it by its labels, too, is there twice.
        matched.dedup();
        let mut found = Vec::with_capacity(matched.len());
        for (number, term) in matched {
            steps.take(1)?;
            found.extend(self.carriers.get(number, term).map(|carried| (term, &carried.rows)));
        }
        Some(found)
    }

    /// Whether all terms are walked to find those of so many candidates that match. To search for the rows of one takes several times as
    /// long as to pass by one: most of a question where one tenant has hundreds of thousands of terms that match every pod.
    fn walks(&self, candidates: usize) -> bool {
        candidates > TERM_CHUNK && candidates > self.carriers.len() / 2
    }

    /// The terms that may match a pod: all others need not be looked at. `None` where the steps end first.
    fn candidates(
        &self,
        namespace: &str,
        labels: &Labels,
        namespaces: &Namespaces,
        nodes: &NodeLabels,
        steps: &mut Steps<'_>,
    ) -> Option<Vec<&Arc<T>>> {
        let mut candidates = Vec::new();
        self.collect_candidates(namespace, labels, namespaces, nodes, &mut candidates, steps)?;
        Some(candidates)
    }

    /// Collects the terms that may match a pod, and those up to there where the steps end first.
    fn collect_candidates<'a>(
        &'a self,
        namespace: &str,
        labels: &Labels,
        namespaces: &Namespaces,
        nodes: &NodeLabels,
        candidates: &mut Vec<&'a Arc<T>>,
        steps: &mut Steps<'_>,
    ) -> Option<()> {
        let namespace_labels = namespaces.get(namespace).map_or(&[][..], |labels| labels);
        let (counted, is_over) = (RefCell::new(&mut *steps), Cell::new(false));
        let next = |heading| {
            // A pod may have thousands of labels, each of which is searched for.
            is_over.set(is_over.get() || counted.borrow_mut().take(1).is_none());
            let first = (!is_over.get()).then(|| self.filed.seek(heading, |_| false))?;
            self.filed.from(first).next().map(|entry| entry.number)
        };
        let found = headings::pod_headings(namespace, namespace_labels, labels, next);
        if is_over.get() {
            return None;
        }
        for heading in found {
            self.collect(heading, nodes, candidates, steps)?;
        }
        Some(())
    }

    /// Collects the terms under a heading, but those whose topology key no node carries: they change no answer. Few terms are asked
    /// for their keys; where there are more terms than keys of nodes, those are looked up.
    fn collect<'a>(
        &'a self,
        heading: u64,
        nodes: &NodeLabels,
        candidates: &mut Vec<&'a Arc<T>>,
        steps: &mut Steps<'_>,
    ) -> Option<()> {
        let under = |place| {
            let entries = self.filed.from(place);
            entries.take_while(|entry| entry.number == heading).map(|entry| &entry.term)
        };
        let first = self.filed.seek(heading, |_| false);
        let keys = nodes.keys();
        if under(first).nth(keys.len()).is_none() {
            let mut looked_at = 0;
            let has_nodes = |term: &&Arc<T>| {
                looked_at += 1;
                nodes.has(term.topology_key())
            };
            candidates.extend(under(first).filter(has_nodes));
            return steps.take(1 + looked_at);
        }
        let with = |key: &Arc<str>| {
            let key = Arc::clone(key);
            let first = self.filed.seek(heading, |term| *term.topology_key() < key);
            under(first).take_while(move |term| *term.topology_key() == key)
        };
        // Nodes may have thousands of label keys, each of which is searched for.
        steps.take(keys.len())?;
        let mut filed: Vec<&Arc<str>> = keys.filter(|key| with(key).next().is_some()).collect();
        filed.sort_unstable();
        steps.take_sort(filed.len())?;
        for term in filed.into_iter().flat_map(with) {
            steps.take(1)?;
            candidates.push(term);
        }
        Some(())
    }

    /// Repairs a row by the pods on its node. Their terms are looked up; all others are looked through only where the row holds more
    /// terms than those of them.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let mut counted: FxHashMap<&T, (u32, &PodRecord)> = FxHashMap::default();
        for (pod, term) in pods.iter().flat_map(|pod| T::of(pod).iter().map(move |term| (&**pod, term))) {
            Delta::Add.apply_to(&mut counted.entry(term).or_insert((0, pod)).0);
        }
        let (total, mut found) = (self.totals.get(row).copied(), 0_u32);
        for (term, (counted, pod)) in &counted {
            let held = self.carriers.get(hash(term), term).map_or(0, |carried| in_row(&carried.rows, row));
            found = found.saturating_add(held);
            self.repair_term(row, term, (held, *counted), Some(*pod), report);
        }
        if total != Some(found) {
            for (term, held) in self.terms_in_row(row) {
                if !counted.contains_key(&*term) {
                    self.repair_term(row, &term, (held, 0), None, report);
                }
            }
        }
        let total = counted.into_values().map(|(counted, _)| counted).fold(0_u32, u32::saturating_add);
        report.repair_cell(T::NAME, &mut self.totals, row, total);
    }

    /// Repairs what is held of a term in a row, which some pod carries, or none.
    fn repair_term(
        &mut self,
        row: Row,
        term: &T,
        (held, counted): (u32, u32),
        pod: Option<&PodRecord>,
        report: &mut DriftReport,
    ) {
        if report.differs(|| format!("{} by {}", T::NAME, term.topology_key()), &held, &counted) {
            if let Some(origin) = pod.filter(|_| held < counted).map(Origin::of) {
                (held..counted).for_each(|_| self.add_term(row, term, &origin));
            }
            (counted..held).for_each(|_| self.remove_term(row, term));
        }
    }

    /// Returns the terms of the pods on a row, each with how many of their terms are this one, by a look at every term.
    fn terms_in_row(&self, row: Row) -> Vec<(Arc<T>, u32)> {
        let held = self.carriers.iter().map(|entry| (&entry.term, in_row(&entry.value.rows, row)));
        held.filter(|(_, held)| *held > 0).map(|(term, held)| (Arc::clone(term), held)).collect()
    }
}

/// Changes how many terms of a row are the one with these rows; true where that changes something.
fn count(rows: &mut Vec<(Row, u32)>, delta: Delta, row: Row) -> bool {
    match (rows.binary_search_by_key(&row, |(row, _)| *row), delta) {
        (Ok(at), _) => {
            let Some((_, terms)) = rows.get_mut(at) else { return false };
            let before = *terms;
            delta.apply_to(terms);
            let is_changed = *terms != before;
            if *terms == 0 {
                rows.remove(at);
            }
            is_changed
        }
        (Err(at), Delta::Add) => {
            rows.insert(at, (row, 1));
            true
        }
        (Err(_), Delta::Remove) => false,
    }
}

/// How many terms of a row are the one with these rows.
fn in_row(rows: &[(Row, u32)], row: Row) -> u32 {
    let at = rows.binary_search_by_key(&row, |(row, _)| *row).ok();
    at.and_then(|at| rows.get(at)).map_or(0, |(_, terms)| *terms)
}

fn hash(term: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(term)
}

/// Whether the selector of a term of a pod on a node matches a pod of this namespace with these labels.
pub(crate) fn selector_matches(
    selector: &PodSelector,
    namespace: &str,
    labels: &Labels,
    namespaces: &Namespaces,
) -> bool {
    // The terms of an incoming pod list the namespaces that exist; here one namespace is looked up, and without an object it
    // has no labels. Source: `GetNamespaceLabelsSnapshot`.
    let labels_of = |namespace: &str| Some(namespaces.get(namespace).cloned().unwrap_or_default());
    selector.matches(namespace, labels, labels_of)
}
