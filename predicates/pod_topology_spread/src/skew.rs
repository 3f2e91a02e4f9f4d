//! Counts pods by domain and marks the rows on which the pod would exceed the maximum skew (filtering.go). Start at
//! [`patterns`].
//!
//! Domains are label codes: pods are summed by code, the sums become a table of patterns indexed by code, and a row
//! takes the entry of its code. So the work per row depends neither on the number of pods nor on the length of labels.

use nodesift_sdk::columns::{cluster_pods, node_labels, pod_labels};
use nodesift_sdk::label_selector::Selector;
use nodesift_sdk::node_selector::{Matcher, RequiredAffinity};
use nodesift_sdk::topology::{self, Domain, Sums};
use nodesift_sdk::{kernels, taints};

use crate::constraint::Constraint;

/// The pattern of a row whose domain would exceed the maximum skew.
pub(crate) const SKEWED: u8 = 1;

/// The pattern of a row without the topology key.
pub(crate) const MISSING_KEY: u8 = 2;

/// The exclusion bit of a row without the topology key of some constraint. All constraints exclude it.
pub(crate) const NO_DOMAIN: u8 = 1;

/// The exclusion bit of a row that does not match the pod's node selector or node affinity.
const AFFINITY_MISMATCH: u8 = 2;

/// The exclusion bit of a row with a taint that the pod does not tolerate.
const UNTOLERATED: u8 = 4;

/// The code of rows without the label.
pub(crate) const ABSENT: u32 = 0;

/// The minimum number of pods per domain where there is no domain and none is required. With it no skew is too great.
const NO_MINIMUM: i64 = i32::MAX as i64;

/// Pods with a deletion timestamp are not counted, unlike in pod affinity.
const TERMINATING: bool = false;

/// The result of the first failed constraint: 0, [`SKEWED`] or [`MISSING_KEY`]. One entry per row.
pub(crate) fn patterns(constraints: &[Constraint], rows: usize) -> Vec<u8> {
    let columns: Vec<Vec<u32>> = constraints.iter().map(|one| node_labels::column(&one.topology_key)).collect();
    let excluded = excluded(constraints, &columns, rows);
    let (mut patterns, mut failing) = (vec![0; rows], vec![0; rows]);
    let mut counted: Option<(&Selector, Vec<u32>)> = None;
    for (constraint, codes) in constraints.iter().zip(&columns) {
        // Constraints of a pod mostly count the same pods.
        let counts = match counted.take() {
            Some((selector, counts)) if *selector == constraint.selector => counts,
            _ => counts(constraint, rows),
        };
        let mask = mask(constraint);
        let sums = topology::sums(codes, &counts, &excluded, mask);
        let domains = || topology::domains(codes, &counts, &excluded, mask);
        let table = table(constraint, &sums, domains);
        failing.fill(0);
        // The table has an entry for every code.
        kernels::mark_by_table(&mut failing, codes, &table, 0);
        // The first constraint that fails decides.
        kernels::update(&mut patterns, &failing, |pattern, failing| if pattern == 0 { failing } else { pattern });
        counted = Some((&constraint.selector, counts));
    }
    patterns
}

/// The exclusion bits that a constraint heeds.
pub(crate) fn mask(constraint: &Constraint) -> u8 {
    let affinity = if constraint.honors_affinity { AFFINITY_MISMATCH } else { 0 };
    let taints = if constraint.honors_taints { UNTOLERATED } else { 0 };
    NO_DOMAIN | affinity | taints
}

/// The exclusion bits; one entry per row.
pub(crate) fn excluded(constraints: &[Constraint], columns: &[Vec<u32>], rows: usize) -> Vec<u8> {
    let mut excluded = vec![0; rows];
    for codes in columns {
        kernels::mark_inside(&mut excluded, codes, &[ABSENT], NO_DOMAIN);
    }
    if constraints.iter().any(|constraint| constraint.honors_affinity) {
        let affinity = RequiredAffinity::for_pod();
        if !affinity.is_empty() {
            Matcher::new(rows).mark_unmatched_affinity(&mut excluded, &affinity, AFFINITY_MISMATCH);
        }
    }
    if constraints.iter().any(|constraint| constraint.honors_taints) {
        taints::mark_untolerated(&mut excluded, UNTOLERATED);
    }
    excluded
}

/// The number of pods that the selector of the constraint matches; one entry per row.
pub(crate) fn counts(constraint: &Constraint, rows: usize) -> Vec<u32> {
    // In kube-scheduler an empty selector matches the pod itself, but no existing pod.
    let pods =
        if constraint.selector.is_empty() { None } else { constraint.selector.pods_in(&pod_labels::namespace()) };
    pods.map_or_else(|| vec![0; rows], |pods| cluster_pods::matching(&[pods], TERMINATING))
}

/// The pattern of the rows in each domain; one entry per code of the topology key.
fn table(constraint: &Constraint, sums: &Sums, domains: impl FnOnce() -> Vec<Domain>) -> Vec<u8> {
    let has_any = sums.has_empty || sums.pods.iter().any(|pods| *pods > 0);
    let enough = match constraint.min_domains {
        ..=0 => true,
        1 => has_any,
        // Few constraints need the number of domains, which is expensive.
        wanted => {
            let existing = domains().iter().filter(|domain| domain.nodes > 0).count();
            i64::try_from(existing).is_ok_and(|existing| existing >= i64::from(wanted))
        }
    };
    let least = if !enough || sums.has_empty {
        // Missing domains count as domains without pods.
        0
    } else if has_any {
        sums.pods.iter().filter(|pods| **pods > 0).min().map_or(0, |least| i64::from(*least))
    } else {
        NO_MINIMUM
    };
    let this_pod = i64::from(constraint.selector.matches(pod_labels::label));
    // The maximum number of pods that a domain can have now.
    let most = i64::from(constraint.max_skew) + least - this_pod;
    let mut table = vec![0; sums.pods.len()];
    match u32::try_from(most) {
        Ok(most) => kernels::mark_above(&mut table, &sums.pods, most, SKEWED),
        Err(_) if most < 0 => table.fill(SKEWED),
        Err(_) => {}
    }
    if let Some(absent) = table.first_mut() {
        *absent = MISSING_KEY;
    }
    table
}
