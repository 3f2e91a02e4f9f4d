//! PodTopologySpread: hard constraints only. kube-scheduler's default constraints are soft and never filter.
//!
//! Source: P/podtopologyspread/{filtering,common,plugin}.go.

use std::collections::BTreeMap;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{at, is_set, label, labels, list, namespace, text, texts};
use serde_json::Value;

use crate::outcome::{Code, Failure, Outcome};
use crate::selector::{Selector, pod_selects_node};
use crate::tolerations::tolerates_node;

/// A hard topology spread constraint.
struct Constraint {
    key: String,
    max_skew: i64,
    min_domains: i64,
    selector: Selector,
    honor_affinity: bool,
    honor_taints: bool,
}

/// The minimum count where no domain is counted.
const NO_DOMAIN: i64 = i32::MAX as i64;

pub(super) fn judge(cluster: &Cluster, pod: &Value) -> Outcome {
    let constraints = match constraints(pod) {
        Ok(constraints) => constraints,
        Err(error) => {
            let reason = format!(
                "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's hard \
                 topology spread constraints: {error}"
            );
            return Outcome::rejected(cluster.nodes(), &Failure::new(Code::Error, reason));
        }
    };
    let counts: Vec<_> = constraints.iter().map(|one| count(cluster, pod, one, &constraints)).collect();

    Outcome::each_node(cluster.nodes(), |node| {
        let reason = "node(s) didn't match pod topology spread constraints";
        for (constraint, counts) in constraints.iter().zip(&counts) {
            let Some(domain) = label(node, &constraint.key) else {
                let reason = format!("{reason} (missing required label)");
                return Some(Failure::new(Code::UnschedulableAndUnresolvable, reason));
            };
            let domains = i64::try_from(counts.len()).unwrap_or(i64::MAX);
            let smallest = counts.values().copied().min().unwrap_or(NO_DOMAIN);
            let smallest = if domains < constraint.min_domains { 0 } else { smallest };
            let own = i64::from(constraint.selector.matches(labels(pod)));
            let here = counts.get(domain).copied().unwrap_or(0);
            if here + own - smallest > constraint.max_skew {
                return Some(Failure::new(Code::Unschedulable, reason));
            }
        }
        None
    })
}

fn constraints(pod: &Value) -> Result<Vec<Constraint>, String> {
    let written = list(pod, "spec.topologySpreadConstraints").iter();
    written
        .filter(|constraint| text(constraint, "whenUnsatisfiable") == "DoNotSchedule")
        .map(|c| parse(pod, c))
        .collect()
}

fn parse(pod: &Value, constraint: &Value) -> Result<Constraint, String> {
    let selector = Selector::parse(at(constraint, "labelSelector"))?;
    let keys = texts(constraint, "matchLabelKeys");
    let matched: Vec<(String, String)> =
        keys.iter().filter_map(|key| Some((key.clone(), label(pod, key)?.to_owned()))).collect();
    let policy = |field: &str, default: &str| {
        if is_set(constraint, field) { text(constraint, field) == "Honor" } else { default == "Honor" }
    };
    Ok(Constraint {
        key: text(constraint, "topologyKey").to_owned(),
        max_skew: at(constraint, "maxSkew").as_i64().unwrap_or(0),
        min_domains: at(constraint, "minDomains").as_i64().unwrap_or(1),
        selector: selector.and_labels(&matched),
        honor_affinity: policy("nodeAffinityPolicy", "Honor"),
        honor_taints: policy("nodeTaintsPolicy", "Ignore"),
    })
}

/// Matching pods per domain, over the eligible nodes.
fn count(cluster: &Cluster, pod: &Value, constraint: &Constraint, all: &[Constraint]) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for node in cluster.nodes() {
        let has_all_keys = all.iter().all(|constraint| label(node, &constraint.key).is_some());
        let excluded_by_affinity = constraint.honor_affinity && !pod_selects_node(pod, node);
        let excluded_by_taints = constraint.honor_taints && !tolerates_node(pod, node);
        if !has_all_keys || excluded_by_affinity || excluded_by_taints {
            continue;
        }
        let Some(domain) = label(node, &constraint.key) else { continue };
        let matching = cluster.pods_on(node).filter(|other| {
            // An empty selector counts no pods, although it matches the incoming pod.
            !constraint.selector.is_everything()
                && !is_set(other, "metadata.deletionTimestamp")
                && namespace(other) == namespace(pod)
                && constraint.selector.matches(labels(other))
        });
        *counts.entry(domain.to_owned()).or_insert(0) += i64::try_from(matching.count()).unwrap_or(i64::MAX);
    }
    counts
}
