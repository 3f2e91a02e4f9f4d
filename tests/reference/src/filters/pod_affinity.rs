//! InterPodAffinity: required terms of the pod, and required anti-affinity of the pods on nodes.
//!
//! Source: P/interpodaffinity/filtering.go.

use std::collections::BTreeSet;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{label, list};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::outcome::{Code, Failure, Outcome};
use crate::pod_terms::{
    AFFINITY, ANTI_AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY, Term, incoming_terms, terms,
};
use crate::selector::aggregate;

/// Topology domains: label key and value.
type Domains = BTreeSet<(String, String)>;

/// The errors of all invalid terms of a pod as one text, preferred terms included.
fn parse_error(pod: &Value) -> Option<String> {
    let lists = [
        ("requiredAffinityTerms", AFFINITY, ""),
        ("requiredAntiAffinityTerms", ANTI_AFFINITY, ""),
        ("preferredAffinityTerms", PREFERRED_AFFINITY, "podAffinityTerm"),
        ("preferredAntiAffinityTerms", PREFERRED_ANTI_AFFINITY, "podAffinityTerm"),
    ];
    let errors: Vec<String> = lists
        .iter()
        .filter_map(|(name, path, inner)| Some(format!("{name}: {}", terms(pod, list(pod, path), inner).err()?)))
        .collect();
    (!errors.is_empty()).then(|| format!("parsing pod: {}", aggregate(&errors)))
}

pub(super) fn judge(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    if let Some(error) = parse_error(pod) {
        return Outcome::rejected(cluster.nodes(), &Failure::new(Code::UnschedulableAndUnresolvable, error));
    }
    let affinity = incoming_terms(cluster, pod, AFFINITY, "", switches);
    let anti_affinity = incoming_terms(cluster, pod, ANTI_AFFINITY, "", switches);
    let placed = cluster.placed_pods();

    // Those with at least one relevant pod.
    let mut with_affinity = Domains::new();
    let mut with_anti_affinity = Domains::new();
    let mut kept_by_existing = Domains::new();
    for (node, other) in &placed {
        let domain = |term: &Term| Some((term.topology_key.clone(), label(node, &term.topology_key)?.to_owned()));
        if !affinity.is_empty() && affinity.iter().all(|term| term.matches(cluster, other)) {
            with_affinity.extend(affinity.iter().filter_map(domain));
        }
        let repelled = anti_affinity.iter().filter(|term| term.matches(cluster, other));
        with_anti_affinity.extend(repelled.filter_map(domain));
        // An existing pod with an invalid term has no terms at all.
        let existing = terms(other, list(other, ANTI_AFFINITY), "").unwrap_or_default();
        kept_by_existing.extend(existing.iter().filter(|term| term.matches(cluster, pod)).filter_map(domain));
    }
    let is_first = with_affinity.is_empty() && affinity.iter().all(|term| term.matches(cluster, pod));

    Outcome::each_node(cluster.nodes(), |node| {
        let in_domain = |term: &Term, domains: &Domains| {
            let here = label(node, &term.topology_key);
            here.is_some_and(|here| domains.contains(&(term.topology_key.clone(), here.to_owned())))
        };
        let has_keys = affinity.iter().all(|term| label(node, &term.topology_key).is_some());
        let all_near = affinity.iter().all(|term| in_domain(term, &with_affinity));
        if !has_keys || !(all_near || is_first) {
            let reason = "node(s) didn't match pod affinity rules";
            return Some(Failure::new(Code::UnschedulableAndUnresolvable, reason));
        }
        if anti_affinity.iter().any(|term| in_domain(term, &with_anti_affinity)) {
            return Some(Failure::new(Code::Unschedulable, "node(s) didn't match pod anti-affinity rules"));
        }
        let kept = kept_by_existing.iter().any(|(key, value)| label(node, key) == Some(value));
        kept.then(|| Failure::new(Code::Unschedulable, "node(s) didn't satisfy existing pods anti-affinity rules"))
    })
}
