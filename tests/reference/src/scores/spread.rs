//! PodTopologySpread: the fewer matching pods in a node's domains, the better.
//!
//! Source: P/podtopologyspread/scoring.go.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{label, list};
use serde_json::Value;

use super::logarithm::natural_logarithm;
use super::{Raw, World, default_constraints};
use crate::spread_constraint::{Constraint, constraints_of};

const HOSTNAME: &str = "kubernetes.io/hostname";

/// Pods that a constraint counts, by domain.
type Counts = BTreeMap<String, i64>;

/// The pods counted in a node's domains, weighted by how many domains there are.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let brings_own = !list(pod, "spec.topologySpreadConstraints").is_empty();
    let constraints = if brings_own { constraints_of(pod, "ScheduleAnyway")? } else { defaults(world, pod)? };
    if constraints.is_empty() {
        return Ok(None);
    }
    let needs_all_keys = brings_own || !default_constraints::is_system(world);
    let counts = |node: &Value| !needs_all_keys || constraints.iter().all(|one| label(node, &one.key).is_some());
    let scored: Vec<&Value> = feasible.iter().copied().filter(|node| counts(node)).collect();
    let domains: Vec<Counts> = constraints
        .iter()
        .map(|constraint| match constraint.key == HOSTNAME {
            true => Counts::new(),
            false => count(world, pod, constraint, &scored, counts),
        })
        .collect();
    let weights: Vec<f64> = constraints
        .iter()
        .zip(&domains)
        .map(|(constraint, domains)| weight(if constraint.key == HOSTNAME { scored.len() } else { domains.len() }))
        .collect();

    let score = |node: &&Value| {
        if !counts(node) {
            return None;
        }
        let mut sum = 0.0;
        for ((constraint, domains), weight) in constraints.iter().zip(&domains).zip(&weights) {
            let Some(value) = label(node, &constraint.key) else { continue };
            let pods = match constraint.key == HOSTNAME {
                true => constraint.matching_pods(world.cluster, pod, node),
                false => domains.get(value).copied().unwrap_or(0),
            };
            sum += score_of(pods, constraint.max_skew, *weight);
        }
        Some(rounded(sum))
    };
    Ok(Some(feasible.iter().map(score).collect()))
}

/// The soft ones of the default constraints.
fn defaults(world: &World<'_>, pod: &Value) -> Result<Vec<Constraint>, String> {
    let soft = |constraint: &&Value| constraint["whenUnsatisfiable"] == "ScheduleAnyway";
    let defaults = default_constraints::of_profile(world, pod);
    defaults.iter().filter(soft).map(|constraint| Constraint::parse(pod, constraint)).collect()
}

/// Matching pods on all nodes that the constraint admits, by the domains of the scored nodes. A missing label is the empty value.
fn count(
    world: &World<'_>,
    pod: &Value,
    constraint: &Constraint,
    scored: &[&Value],
    counts: impl Fn(&Value) -> bool,
) -> Counts {
    let domain = |node: &Value| label(node, &constraint.key).unwrap_or("").to_owned();
    let mut domains: Counts = scored.iter().map(|node| (domain(node), 0)).collect();
    for node in world.cluster.nodes().filter(|node| counts(node) && constraint.admits(pod, node)) {
        if let Some(count) = domains.get_mut(&domain(node)) {
            *count += constraint.matching_pods(world.cluster, pod, node);
        }
    }
    domains
}

#[allow(clippy::cast_precision_loss, reason = "counts of nodes are small")]
fn weight(size: usize) -> f64 {
    natural_logarithm((size + 2) as f64)
}

#[allow(clippy::cast_precision_loss, reason = "as Go does")]
fn score_of(pods: i64, max_skew: i64, weight: f64) -> f64 {
    let weighted = pods as f64 * weight;
    weighted + (max_skew - 1) as f64
}

#[allow(clippy::cast_possible_truncation, reason = "as Go does")]
fn rounded(sum: f64) -> i64 {
    sum.round() as i64
}
