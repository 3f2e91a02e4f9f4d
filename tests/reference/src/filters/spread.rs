//! PodTopologySpread: hard constraints only. kube-scheduler's default constraints are soft and never filter.
//!
//! Source: P/podtopologyspread/{filtering,common,plugin}.go.

use std::collections::BTreeMap;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{label, labels};
use serde_json::Value;

use crate::outcome::{Code, Failure, Outcome};
use crate::spread_constraint::{Constraint, constraints_of};

/// The minimum count where no domain is counted.
const NO_DOMAIN: i64 = i32::MAX as i64;

pub(super) fn judge(cluster: &Cluster, pod: &Value) -> Outcome {
    let constraints = match constraints_of(pod, "DoNotSchedule") {
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

/// Matching pods per domain, over the eligible nodes.
fn count(cluster: &Cluster, pod: &Value, constraint: &Constraint, all: &[Constraint]) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for node in cluster.nodes() {
        let has_all_keys = all.iter().all(|constraint| label(node, &constraint.key).is_some());
        if !has_all_keys || !constraint.admits(pod, node) {
            continue;
        }
        let Some(domain) = label(node, &constraint.key) else { continue };
        *counts.entry(domain.to_owned()).or_insert(0) += constraint.matching_pods(cluster, pod, node);
    }
    counts
}
