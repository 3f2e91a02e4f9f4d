//! Required anti-affinity terms of pods on nodes, grouped by identity: what an incoming pod costs grows with distinct
//! terms, not with pods.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Row;
use super::counts::Namespaces;
use crate::metadata::{AntiAffinityTerm, Labels};

/// A distinct term and the rows whose pods carry it.
#[derive(Debug, Clone)]
struct Carriers {
    term: Arc<AntiAffinityTerm>,
    /// The hash of a label that every pod has which the term matches.
    required_hash: Option<u64>,
    /// By row, sorted: how many terms of pods on the row are this one.
    rows: Arc<Vec<(Row, u32)>>,
}

/// The topology key of a term that matches a pod, and by row how many such terms its pods carry.
pub type MatchedTerm = (Arc<str>, Arc<Vec<(Row, u32)>>);

/// All distinct terms.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    carriers: Arc<Vec<Carriers>>,
    /// Where a term is in `carriers`.
    places: Arc<FxHashMap<Arc<AntiAffinityTerm>, usize>>,
}

impl Terms {
    /// A pod with this term came to a row (`more`) or left it.
    pub(super) fn change(&mut self, term: &AntiAffinityTerm, row: Row, more: bool) {
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
        match (rows.binary_search_by_key(&row, |(row, _)| *row), more) {
            (Ok(at), true) => rows.iter_mut().skip(at).take(1).for_each(|(_, terms)| *terms += 1),
            (Err(at), true) => rows.insert(at, (row, 1)),
            (Ok(at), false) => {
                rows.iter_mut().skip(at).take(1).for_each(|(_, terms)| *terms = terms.saturating_sub(1));
                rows.retain(|(_, terms)| *terms > 0);
            }
            (Err(_), false) => {}
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

    /// The terms of the pods on a row, each with how many pods' it is.
    pub(super) fn of_row(&self, row: Row) -> Vec<(Arc<AntiAffinityTerm>, u32)> {
        let of_row = |carriers: &Carriers| {
            let at = carriers.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
            Some((Arc::clone(&carriers.term), carriers.rows.get(at)?.1))
        };
        self.carriers.iter().filter_map(of_row).collect()
    }

    /// The terms that match a pod, by topology key: rows with how many such terms their pods carry.
    pub(super) fn matching(&self, namespace: &str, labels: &Labels, namespaces: &Namespaces) -> Vec<MatchedTerm> {
        // Most terms are about one app each, and most pods are of another.
        let mut known: Vec<u64> = labels.iter().map(|(key, value)| hash((key, value))).collect();
        known.sort_unstable();
        self.carriers
            .iter()
            .filter(|carriers| carriers.required_hash.is_none_or(|required| known.binary_search(&required).is_ok()))
            .filter(|carriers| is_met_by(&carriers.term, namespace, labels, namespaces))
            .map(|carriers| (Arc::clone(&carriers.term.topology_key), Arc::clone(&carriers.rows)))
            .collect()
    }
}

fn hash((key, value): (&str, &str)) -> u64 {
    FxBuildHasher.hash_one((key, value))
}

/// Whether a term of a pod on a node keeps a pod with these labels away.
pub(super) fn is_met_by(term: &AntiAffinityTerm, namespace: &str, labels: &Labels, namespaces: &Namespaces) -> bool {
    // Unlike the terms of a pod that is being filtered, which list the namespaces there are, these are asked about one
    // namespace; without an object it has no labels. Source: `GetNamespaceLabelsSnapshot`.
    let labels_of = |namespace: &str| Some(namespaces.get(namespace).cloned().unwrap_or_default());
    term.selector.matches(namespace, labels, labels_of)
}
