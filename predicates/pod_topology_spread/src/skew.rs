//! Counts pods by domain and judges rows by the skew that the pod would make (filtering.go). Start at [`patterns`].
//!
//! Everything goes by label code: pods are summed by domain, the sums become a table of what fails, and a row takes the
//! entry of its domain. No row looks at pods, or at texts.

use nodesift_sdk::columns::{cluster_pods, node_labels, pod_labels};
use nodesift_sdk::node_selector::{Matcher, RequiredAffinity};
use nodesift_sdk::topology::{self, Domain, Sums};
use nodesift_sdk::{kernels, taints};

use crate::constraint::Constraint;

/// The pattern of a row whose domain has too many pods.
pub(crate) const SKEWED: u8 = 1;

/// The pattern of a row that lacks a topology key.
pub(crate) const KEYLESS: u8 = 2;

/// The bit of a row that lacks the topology key of any constraint: no constraint counts it.
const NO_DOMAIN: u8 = 1;

/// The bit of a row that the pod's node selector or node affinity rules out.
const RULED_OUT: u8 = 2;

/// The bit of a row with a taint that the pod does not tolerate.
const TAINTED: u8 = 4;

/// The code of rows that do not carry a label.
const ABSENT: u32 = 0;

/// The least number of pods where there is no domain at all, and none is demanded: no skew is too great then.
const NO_MINIMUM: i64 = i32::MAX as i64;

/// Pods that are being deleted do not count here, other than in pod affinity.
const TERMINATING: bool = false;

/// Per row what fails first: 0, [`SKEWED`] or [`KEYLESS`].
pub(crate) fn patterns(constraints: &[Constraint], rows: usize) -> Vec<u8> {
    let columns: Vec<Vec<u32>> = constraints.iter().map(|one| node_labels::column(&one.topology_key)).collect();
    let left_out = left_out(constraints, &columns, rows);
    let (mut patterns, mut failing) = (vec![0; rows], vec![0; rows]);
    for (constraint, codes) in constraints.iter().zip(&columns) {
        let counts = counts(constraint, rows);
        let mut mask = NO_DOMAIN;
        mask |= if constraint.honors_affinity { RULED_OUT } else { 0 };
        mask |= if constraint.honors_taints { TAINTED } else { 0 };
        let sums = topology::sums(codes, &counts, &left_out, mask);
        let domains = || topology::domains(codes, &counts, &left_out, mask);
        let table = table(constraint, &sums, domains);
        failing.fill(0);
        // No code is beyond the table.
        kernels::mark_by_table(&mut failing, codes, &table, 0);
        // The first constraint that fails decides.
        kernels::update(&mut patterns, &failing, |pattern, failing| if pattern == 0 { failing } else { pattern });
    }
    patterns
}

/// Per row the bits that keep it out of the counting.
fn left_out(constraints: &[Constraint], columns: &[Vec<u32>], rows: usize) -> Vec<u8> {
    let mut left_out = vec![0; rows];
    for codes in columns {
        kernels::mark_inside(&mut left_out, codes, &[ABSENT], NO_DOMAIN);
    }
    if constraints.iter().any(|constraint| constraint.honors_affinity) {
        let affinity = RequiredAffinity::of_pod();
        if !affinity.is_empty() {
            Matcher::new(rows).mark_unmatched_affinity(&mut left_out, &affinity, RULED_OUT);
        }
    }
    if constraints.iter().any(|constraint| constraint.honors_taints) {
        taints::mark_untolerated(&mut left_out, TAINTED);
    }
    left_out
}

/// Per row how many pods the constraint counts.
fn counts(constraint: &Constraint, rows: usize) -> Vec<u32> {
    // A selector that says nothing selects the pod itself, but none of those that are there.
    let pods =
        if constraint.selector.is_empty() { None } else { constraint.selector.pods_in(&pod_labels::namespace()) };
    pods.map_or_else(|| vec![0; rows], |pods| cluster_pods::matching(&[pods], TERMINATING))
}

/// By code of the topology key, the pattern of rows in this domain.
fn table(constraint: &Constraint, sums: &Sums, domains: impl FnOnce() -> Vec<Domain>) -> Vec<u8> {
    let has_any = sums.has_empty || sums.pods.iter().any(|pods| *pods > 0);
    let enough = match constraint.min_domains {
        ..=0 => true,
        1 => has_any,
        // How many there are only few constraints ask.
        wanted => {
            let existing = domains().iter().filter(|domain| domain.nodes > 0).count();
            i64::try_from(existing).is_ok_and(|existing| existing >= i64::from(wanted))
        }
    };
    let least = if !enough || sums.has_empty {
        // Domains that are still missing have no pods yet.
        0
    } else if has_any {
        sums.pods.iter().filter(|pods| **pods > 0).min().map_or(0, |least| i64::from(*least))
    } else {
        NO_MINIMUM
    };
    let this_pod = i64::from(constraint.selector.matches(pod_labels::label));
    // The most pods that a domain may have.
    let most = i64::from(constraint.max_skew) + least - this_pod;
    let mut table: Vec<u8> = match u32::try_from(most) {
        Ok(most) => sums.pods.iter().map(|pods| if *pods > most { SKEWED } else { 0 }).collect(),
        Err(_) => vec![if most < 0 { SKEWED } else { 0 }; sums.pods.len()],
    };
    if let Some(absent) = table.first_mut() {
        *absent = KEYLESS;
    }
    table
}
