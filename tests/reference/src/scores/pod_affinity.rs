//! InterPodAffinity: the weights of preferred terms by which the pod and the pods in a node's domains attract or repel each other.
//!
//! Source: P/interpodaffinity/scoring.go.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{at, flag, label, list};
use serde_json::Value;

use super::{Raw, World};
use crate::pod_terms::{
    AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY, PREFERRED_TERM, Term, incoming_terms, terms,
};

/// Sums of weights by label key and value.
type Sums = BTreeMap<(String, String), i64>;

/// Preferred terms, each list with the sign of its weights.
const PREFERRED: [(&str, i64); 2] = [(PREFERRED_AFFINITY, 1), (PREFERRED_ANTI_AFFINITY, -1)];

/// The sum over all labels of a node. A pod that no term concerns is not scored.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let arguments = world.profile.arguments("InterPodAffinity");
    let hard_weight = at(arguments, "hardPodAffinityWeight").as_i64().unwrap_or(1);
    let own: Vec<(Term, i64)> = PREFERRED
        .into_iter()
        .flat_map(|(path, sign)| {
            let terms = incoming_terms(world.cluster, pod, path, PREFERRED_TERM, world.switches);
            terms.into_iter().map(move |term| (term, sign))
        })
        .collect();
    if own.is_empty() && flag(arguments, "ignorePreferredTermsOfExistingPods") {
        return Ok(None);
    }
    let mut sums = Sums::new();
    for (node, other) in world.cluster.placed_pods() {
        let mut add = |term: &Term, weight: i64| {
            if let Some(value) = label(node, &term.topology_key) {
                let sum = sums.entry((term.topology_key.clone(), value.to_owned())).or_default();
                *sum = sum.wrapping_add(weight);
            }
        };
        for (term, sign) in own.iter().filter(|(term, _)| term.matches(world.cluster, other)) {
            add(term, sign * term.weight);
        }
        // An existing pod with an invalid term has no terms of that list.
        let concerns = |term: &Term| term.matches(world.cluster, pod);
        if hard_weight > 0 {
            let required = terms(other, list(other, AFFINITY), "").unwrap_or_default();
            required.iter().filter(|term| concerns(term)).for_each(|term| add(term, hard_weight));
        }
        for (path, sign) in PREFERRED {
            let preferred = terms(other, list(other, path), PREFERRED_TERM).unwrap_or_default();
            preferred.iter().filter(|term| concerns(term)).for_each(|term| add(term, sign * term.weight));
        }
    }
    if sums.is_empty() {
        return Ok(None);
    }
    let sum = |node: &&Value| {
        let here = sums.iter().filter(|((key, value), _)| label(node, key) == Some(value));
        Some(here.fold(0_i64, |sum, (_, weight)| sum.wrapping_add(*weight)))
    };
    Ok(Some(feasible.iter().map(sum).collect()))
}
