//! Required anti-affinity terms of pods on nodes. Equal terms are kept once, so that the cost of matching an incoming pod
//! grows with the number of distinct terms and not with the number of pods. Start at [`AntiAffinity::matching`].

use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::classes::Namespaces;
use crate::columns::labels::NodeLabels;
use crate::columns::{Delta, DriftReport, Row};
use crate::metadata::{AntiAffinityTerm, Labels, PodRecord};

/// A distinct term and the rows whose pods carry it.
#[derive(Debug, Clone)]
struct Carriers {
    term: Arc<AntiAffinityTerm>,
    /// The hash of a label that every matching pod has; `None` where there is no such label.
    required_hash: Option<u64>,
    /// By row, sorted: how many terms of pods on the row are this one.
    rows: Arc<Vec<(Row, u32)>>,
}

/// The topology key of a term that matches a pod, and per row, sorted, how many pods carry the term.
pub type MatchedTerm = (Arc<str>, Arc<Vec<(Row, u32)>>);

/// All distinct terms.
#[derive(Debug, Clone, Default)]
pub(crate) struct AntiAffinity {
    carriers: Arc<Vec<Carriers>>,
    /// Where a term is in `carriers`.
    places: Arc<FxHashMap<Arc<AntiAffinityTerm>, usize>>,
}

impl AntiAffinity {
    /// Adds the terms of a pod to a row, or removes them.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        pod.facts.anti_affinity_terms.iter().for_each(|term| self.apply_term(delta, row, term));
    }

    /// The pods of a row are in another row from now on.
    pub(crate) fn move_row(&mut self, from: Row, to: Row, pods: &[Arc<PodRecord>]) {
        for term in pods.iter().flat_map(|pod| &pod.facts.anti_affinity_terms) {
            self.apply_term(Delta::Remove, from, term);
            self.apply_term(Delta::Add, to, term);
        }
    }

    fn apply_term(&mut self, delta: Delta, row: Row, term: &AntiAffinityTerm) {
        let carriers = Arc::make_mut(&mut self.carriers);
        let place = match self.places.get(term) {
            Some(place) => *place,
            None => {
                let term = Arc::new(term.clone());
                Arc::make_mut(&mut self.places).insert(Arc::clone(&term), carriers.len());
                let required_hash = term.selector.required_label().map(hash);
                carriers.push(Carriers { term, required_hash, rows: Arc::default() });
                carriers.len() - 1
            }
        };
        let Some(entry) = carriers.get_mut(place) else { return };
        let rows = Arc::make_mut(&mut entry.rows);
        match (rows.binary_search_by_key(&row, |(row, _)| *row), delta) {
            (Ok(at), _) => {
                rows.iter_mut().skip(at).take(1).for_each(|(_, terms)| delta.apply_to(terms));
                if delta == Delta::Remove {
                    rows.retain(|(_, terms)| *terms > 0);
                }
            }
            (Err(at), Delta::Add) => rows.insert(at, (row, 1)),
            (Err(_), Delta::Remove) => {}
        }
        if rows.is_empty() {
            let gone = carriers.swap_remove(place);
            let places = Arc::make_mut(&mut self.places);
            places.remove(&gone.term);
            if let Some(moved) = carriers.get(place) {
                places.insert(Arc::clone(&moved.term), place);
            }
        }
    }

    /// The terms of the pods on a row, each with the number of pods that carry it.
    fn of_row(&self, row: Row) -> Vec<(Arc<AntiAffinityTerm>, u32)> {
        let of_row = |carriers: &Carriers| {
            let at = carriers.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
            Some((Arc::clone(&carriers.term), carriers.rows.get(at)?.1))
        };
        self.carriers.iter().filter_map(of_row).collect()
    }

    /// The terms that match a pod, each with its topology key and its rows. A term whose topology key no node carries rejects no node, so
    /// it is left out before anything else: pods with thousands of them cost a lookup for each, and no column.
    pub(crate) fn matching(
        &self,
        namespace: &str,
        labels: &Labels,
        namespaces: &Namespaces,
        nodes: &NodeLabels,
    ) -> Vec<MatchedTerm> {
        // Most terms require one label, which most pods do not have.
        let mut known: Vec<u64> = labels.iter().map(|(key, value)| hash((key, value))).collect();
        known.sort_unstable();
        self.carriers
            .iter()
            .filter(|carriers| nodes.has(&carriers.term.topology_key))
            .filter(|carriers| carriers.required_hash.is_none_or(|required| known.binary_search(&required).is_ok()))
            .filter(|carriers| term_matches(&carriers.term, namespace, labels, namespaces))
            .map(|carriers| (Arc::clone(&carriers.term.topology_key), Arc::clone(&carriers.rows)))
            .collect()
    }

    /// Repairs a row by the pods on its node.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let mut counted: FxHashMap<AntiAffinityTerm, u32> = FxHashMap::default();
        for term in pods.iter().flat_map(|pod| &pod.facts.anti_affinity_terms) {
            *counted.entry(term.clone()).or_default() += 1;
        }
        let what = |term: &AntiAffinityTerm| format!("anti-affinity terms by {}", term.topology_key);
        for (term, held) in self.of_row(row) {
            let counted = counted.remove(&*term).unwrap_or(0);
            if report.differs(|| what(&term), &held, &counted) {
                let delta = if held < counted { Delta::Add } else { Delta::Remove };
                (0..held.abs_diff(counted)).for_each(|_| self.apply_term(delta, row, &term));
            }
        }
        for (term, counted) in counted {
            report.differs(|| what(&term), &0, &counted);
            (0..counted).for_each(|_| self.apply_term(Delta::Add, row, &term));
        }
    }
}

fn hash((key, value): (&str, &str)) -> u64 {
    FxBuildHasher.hash_one((key, value))
}

/// Whether a term of a pod on a node matches a pod of this namespace with these labels.
pub(crate) fn term_matches(term: &AntiAffinityTerm, namespace: &str, labels: &Labels, namespaces: &Namespaces) -> bool {
    // The terms of an incoming pod list the namespaces that exist; here one namespace is looked up, and without an object it
    // has no labels. Source: `GetNamespaceLabelsSnapshot`.
    let labels_of = |namespace: &str| Some(namespaces.get(namespace).cloned().unwrap_or_default());
    term.selector.matches(namespace, labels, labels_of)
}
