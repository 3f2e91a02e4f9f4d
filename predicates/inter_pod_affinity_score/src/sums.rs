//! Points of matching terms, added up by topology domain. Start at [`Sums`].
//!
//! Points are collected per topology key and row, and are added up by label code once per key: the work per row grows neither with the
//! number of pods nor with that of terms of other pods.

use std::collections::BTreeMap;

use nodesift_sdk::columns::cluster_pods;
use nodesift_sdk::columns::{cluster_preferences, node_labels};

use crate::terms::Term;

/// Pods with a deletion timestamp count, unlike in topology spread.
const TERMINATING: bool = true;

/// The code of rows without the label.
const ABSENT: u32 = 0;

/// Points of one topology key; one entry per row.
#[derive(Debug, Clone)]
struct Points {
    points: Vec<i64>,
    /// Whether any term matches because of pods on the row, whatever the points.
    is_matched: Vec<bool>,
}

/// Points by topology key.
#[derive(Debug)]
pub(crate) struct Sums {
    rows: usize,
    by_key: BTreeMap<String, Points>,
}

impl Sums {
    /// No points on so many rows.
    pub(crate) fn new(rows: usize) -> Self {
        Self { rows, by_key: BTreeMap::new() }
    }

    /// Adds the points of pods that terms of the pod being scored match.
    pub(crate) fn add_own(&mut self, terms: &[Term]) {
        for term in terms {
            let Some(pods) = &term.pods else { continue };
            let counts = cluster_pods::matching(std::slice::from_ref(pods), TERMINATING);
            self.add(&term.topology_key, &counts, |count, _| term.weight * i64::from(count));
        }
    }

    /// Adds the points of terms of other pods that match the pod being scored. A term of required affinity has `required_weight` points;
    /// where that is 0, such terms do not count.
    pub(crate) fn add_others(&mut self, required_weight: i32) {
        for key in cluster_preferences::topology_keys() {
            let weights = cluster_preferences::weights(&key);
            self.add(&key, &cluster_preferences::preferred_terms(&key), |_, row| {
                weights.get(row).copied().unwrap_or(0)
            });
            if required_weight != 0 {
                let counts = cluster_preferences::required_terms(&key);
                self.add(&key, &counts, |count, _| i64::from(required_weight) * i64::from(count));
            }
        }
    }

    /// Adds points to the rows whose count of matches is not 0; `points` gives them by count and row.
    fn add(&mut self, key: &str, counts: &[u32], points: impl Fn(u32, usize) -> i64) {
        if counts.iter().all(|count| *count == 0) {
            return;
        }
        let rows = self.rows;
        let entry = self.by_key.entry(key.to_owned());
        let sums = entry.or_insert_with(|| Points { points: vec![0; rows], is_matched: vec![false; rows] });
        let rows = sums.points.iter_mut().zip(&mut sums.is_matched).zip(counts).enumerate();
        for (row, ((sum, is_matched), count)) in rows.filter(|(_, (_, count))| **count != 0) {
            *sum = sum.wrapping_add(points(*count, row));
            *is_matched = true;
        }
    }

    /// The raw score of each row: the sums of its domains. None where no term matches in any domain.
    pub(crate) fn raw(&self) -> Option<Vec<i64>> {
        let mut raw = vec![0_i64; self.rows];
        let mut is_any_matched = false;
        for (key, Points { points, is_matched }) in &self.by_key {
            let codes = node_labels::column(key);
            let domains = codes.iter().max().map_or(0, |code| *code as usize) + 1;
            let mut sums = vec![0_i64; domains];
            for ((code, points), is_matched) in codes.iter().zip(points).zip(is_matched) {
                if *is_matched
                    && *code != ABSENT
                    && let Some(sum) = sums.get_mut(*code as usize)
                {
                    *sum = sum.wrapping_add(*points);
                    is_any_matched = true;
                }
            }
            for (raw, code) in raw.iter_mut().zip(&codes) {
                // The sum of rows without the label stays 0.
                *raw = raw.wrapping_add(sums.get(*code as usize).copied().unwrap_or(0));
            }
        }
        is_any_matched.then_some(raw)
    }
}
