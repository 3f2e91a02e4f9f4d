//! NodeAffinity: the weights of the preferences that a node matches, those of the pod and those of the arguments.
//!
//! Sources: P/nodeaffinity/node_affinity.go; component-helpers `scheduling/corev1/nodeaffinity`.

use nodesift_fixtures::json::{at, is_set, labels, list, name};
use serde_json::{Value, json};

use super::{Raw, World};
use crate::selector::{node_selector_matches, term_error};

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A preference with its weight.
struct Preference<'a> {
    weight: i64,
    /// A term of a node selector.
    term: &'a Value,
}

/// The sum of weights. An invalid preference of the pod is an error, even where it matches no node.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let affinity = at(pod, "spec.affinity.nodeAffinity");
    let added = at(world.profile.arguments("NodeAffinity"), "addedAffinity");
    if !is_set(affinity, PREFERRED) && list(added, PREFERRED).is_empty() {
        return Ok(None);
    }
    let own = preferences(affinity);
    if let Some(error) = own.iter().find_map(|preference| term_error(preference.term)) {
        return Err(error);
    }
    let all: Vec<Preference<'_>> = preferences(added).into_iter().chain(own).collect();
    let sum = |node: &&Value| {
        let matched = all.iter().filter(|preference| matches(preference.term, node));
        Some(matched.map(|preference| preference.weight).sum())
    };
    Ok(Some(feasible.iter().map(sum).collect()))
}

/// The preferences of a node affinity, without those of no weight and those that ask for nothing.
fn preferences(affinity: &Value) -> Vec<Preference<'_>> {
    let written = list(affinity, PREFERRED).iter().map(|entry| {
        let weight = at(entry, "weight").as_i64().unwrap_or(0);
        Preference { weight, term: at(entry, "preference") }
    });
    let asks = |term: &Value| !list(term, "matchExpressions").is_empty() || !list(term, "matchFields").is_empty();
    written.filter(|preference| preference.weight != 0 && asks(preference.term)).collect()
}

fn matches(term: &Value, node: &Value) -> bool {
    node_selector_matches(&json!({"nodeSelectorTerms": [term]}), labels(node), name(node))
}
