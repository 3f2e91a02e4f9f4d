//! Compares terms with the pods in the topology domains of all rows. Start at [`Judge`].
//!
//! The host counts the pods that a term means, per row. Rows with any make a table of the domains that have some, by
//! label code, and the table marks the rows: no row looks at pods, or at texts.

use nodesift_sdk::columns::cluster_pods::{self, PodSelector};
use nodesift_sdk::columns::{cluster_affinity, node_labels};
use nodesift_sdk::{kernels, topology};

use crate::terms::Term;

/// The bit of a row that lacks the topology key of an affinity term.
pub(crate) const KEYLESS: u8 = 1;

/// The bit of a row without wanted pods in its domain.
pub(crate) const LONELY: u8 = 2;

/// The bit of a row with unwanted pods in its domain.
pub(crate) const UNWANTED: u8 = 4;

/// The bit of a row in whose domain pods do not want the pod.
pub(crate) const UNWELCOMING: u8 = 8;

/// Pods that are being deleted count here, other than in topology spread.
const TERMINATING: bool = true;

/// Marks the rows in which terms fail.
#[derive(Debug)]
pub(crate) struct Judge {
    /// Per row the bits of what fails there.
    pub(crate) patterns: Vec<u8>,
    /// Columns of topology keys, read once: terms often share a key.
    columns: Vec<(String, Vec<u32>)>,
}

impl Judge {
    pub(crate) fn new(rows: usize) -> Self {
        Self { patterns: vec![0; rows], columns: Vec::new() }
    }

    /// Marks rows that lack a topology key of the affinity, or in whose domains no pod is that meets all of its terms
    /// at once. Where there is no such pod in any domain and the pod meets all terms itself, it is the first of its
    /// kind, and rows need the keys only.
    pub(crate) fn mark_without_wanted(&mut self, terms: &[Term]) {
        if terms.is_empty() {
            return;
        }
        // Where a term means no pod, no pod meets all terms.
        let wanted: Option<Vec<PodSelector>> = terms.iter().map(|term| term.pods.clone()).collect();
        let counts = wanted.as_ref().map(|wanted| cluster_pods::matching(wanted, TERMINATING)).unwrap_or_default();
        let mut found = false;
        for key in keys(terms) {
            let (patterns, codes) = self.column(key);
            let mut table = topology::occupied(codes, &counts, 0, LONELY);
            found |= table.iter().skip(1).any(|bits| *bits == 0);
            if let Some(absent) = table.first_mut() {
                *absent = KEYLESS;
            }
            kernels::mark_by_table(patterns, codes, &table, LONELY);
        }
        if !found && wanted.is_some_and(|wanted| cluster_pods::matches_this_pod(&wanted)) {
            for pattern in &mut self.patterns {
                *pattern &= !LONELY;
            }
        }
    }

    /// Marks rows in whose domain a pod is that a term of the anti-affinity means.
    pub(crate) fn mark_with_unwanted(&mut self, terms: &[Term]) {
        for term in terms {
            let Some(pods) = &term.pods else { continue };
            let counts = cluster_pods::matching(std::slice::from_ref(pods), TERMINATING);
            self.mark_occupied(&term.topology_key, &counts, UNWANTED);
        }
    }

    /// Marks rows in whose domain a pod has a term of anti-affinity that means the pod being filtered.
    pub(crate) fn mark_unwelcoming(&mut self) {
        for key in cluster_affinity::topology_keys() {
            let counts = cluster_affinity::anti_affinity_terms(&key);
            self.mark_occupied(&key, &counts, UNWELCOMING);
        }
    }

    /// Sets `bit` in the rows of domains that something was counted in.
    fn mark_occupied(&mut self, key: &str, counts: &[u32], bit: u8) {
        // Which nodes are in which domain does not matter where there is nothing in any.
        if counts.iter().all(|count| *count == 0) {
            return;
        }
        let (patterns, codes) = self.column(key);
        kernels::mark_by_table(patterns, codes, &topology::occupied(codes, counts, bit, 0), 0);
    }

    /// The patterns, and the column of a topology key.
    fn column(&mut self, key: &str) -> (&mut [u8], &[u32]) {
        let index = self.columns.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            self.columns.push((key.into(), node_labels::column(key)));
            self.columns.len() - 1
        });
        (&mut self.patterns, &self.columns[index].1)
    }
}

/// The topology keys of the terms, each once.
fn keys(terms: &[Term]) -> Vec<&str> {
    let mut keys: Vec<&str> = terms.iter().map(|term| term.topology_key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
