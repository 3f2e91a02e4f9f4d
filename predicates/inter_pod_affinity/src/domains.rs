//! Compares terms with the pods in the topology domains of all rows. Start at [`DomainMatcher`].
//!
//! The host counts the pods that match a term per row. The counts become a table of occupied domains, indexed by label
//! code, and the table marks the rows. So the work per row depends neither on the number of pods nor on the length of
//! labels.

use nodesift_sdk::columns::cluster_pods::{self, PodSelector};
use nodesift_sdk::columns::{cluster_affinity, node_labels};
use nodesift_sdk::{kernels, topology};

use crate::terms::Term;

/// The bit of a row without the topology key of an affinity term.
pub(crate) const MISSING_KEY: u8 = 1;

/// The bit of a row without a pod in its domain that the affinity matches.
pub(crate) const AFFINITY: u8 = 2;

/// The bit of a row with a pod in its domain that the anti-affinity matches.
pub(crate) const ANTI_AFFINITY: u8 = 4;

/// The bit of a row with an existing pod in its domain whose anti-affinity matches the pod.
pub(crate) const EXISTING_ANTI_AFFINITY: u8 = 8;

/// Pods with a deletion timestamp are counted, unlike in topology spread.
const TERMINATING: bool = true;

/// Marks the rows that fail terms.
#[derive(Debug)]
pub(crate) struct DomainMatcher {
    /// One pattern per row.
    pub(crate) patterns: Vec<u8>,
    /// Label columns by topology key, cached because terms often share a key.
    columns: Vec<(String, Vec<u32>)>,
}

impl DomainMatcher {
    pub(crate) fn new(rows: usize) -> Self {
        Self { patterns: vec![0; rows], columns: Vec::new() }
    }

    /// Marks the rows without a topology key of the affinity, and the rows without a pod in their domains that matches
    /// all terms at once. Where no domain has such a pod and the pod being filtered matches all terms itself, rows only
    /// need the keys: otherwise the first pod of a group could never be scheduled.
    pub(crate) fn mark_affinity(&mut self, terms: &[Term]) {
        if terms.is_empty() {
            return;
        }
        // Where a term selects no pod, no pod matches all terms.
        let selectors: Option<Vec<PodSelector>> = terms.iter().map(|term| term.pods.clone()).collect();
        let counts = selectors.as_ref().map(|all| cluster_pods::matching(all, TERMINATING)).unwrap_or_default();
        let mut found = false;
        for key in keys(terms) {
            let (patterns, codes) = self.column(key);
            let mut table = topology::occupied(codes, &counts, 0, AFFINITY);
            found |= table.iter().skip(1).any(|bits| *bits == 0);
            if let Some(absent) = table.first_mut() {
                *absent = MISSING_KEY;
            }
            kernels::mark_by_table(patterns, codes, &table, AFFINITY);
        }
        if !found && selectors.is_some_and(|all| cluster_pods::matches_this_pod(&all)) {
            for pattern in &mut self.patterns {
                *pattern &= !AFFINITY;
            }
        }
    }

    /// Marks the rows with a pod in their domain that a term of the anti-affinity matches.
    pub(crate) fn mark_anti_affinity(&mut self, terms: &[Term]) {
        for term in terms {
            let Some(pods) = &term.pods else { continue };
            let counts = cluster_pods::matching(std::slice::from_ref(pods), TERMINATING);
            self.mark_occupied(&term.topology_key, &counts, ANTI_AFFINITY);
        }
    }

    /// Marks the rows with a pod in their domain that has an anti-affinity term which matches the pod being filtered.
    pub(crate) fn mark_existing_anti_affinity(&mut self) {
        for key in cluster_affinity::topology_keys() {
            let counts = cluster_affinity::anti_affinity_terms(&key);
            self.mark_occupied(&key, &counts, EXISTING_ANTI_AFFINITY);
        }
    }

    /// Sets `bit` in the rows of the domains whose sum of `counts` is not 0.
    fn mark_occupied(&mut self, key: &str, counts: &[u32], bit: u8) {
        // Without any pods the label column is not needed.
        if counts.iter().all(|count| *count == 0) {
            return;
        }
        let (patterns, codes) = self.column(key);
        kernels::mark_by_table(patterns, codes, &topology::occupied(codes, counts, bit, 0), 0);
    }

    /// The patterns, and the label column of a topology key.
    fn column(&mut self, key: &str) -> (&mut [u8], &[u32]) {
        let index = self.columns.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            self.columns.push((key.into(), node_labels::column(key)));
            self.columns.len() - 1
        });
        (&mut self.patterns, &self.columns[index].1)
    }
}

/// The topology keys of the terms, sorted, without duplicates.
fn keys(terms: &[Term]) -> Vec<&str> {
    let mut keys: Vec<&str> = terms.iter().map(|term| term.topology_key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
