//! A topology spread constraint of a pod: which nodes it counts, and how many pods it counts on one.
//!
//! Source: P/podtopologyspread/common.go.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{at, is_set, label, labels, list, namespace, text, texts};
use serde_json::Value;

use crate::selector::{Selector, pod_selects_node};
use crate::tolerations::tolerates_node;

/// A topology spread constraint.
pub(crate) struct Constraint {
    pub(crate) key: String,
    pub(crate) max_skew: i64,
    pub(crate) min_domains: i64,
    pub(crate) selector: Selector,
    honor_affinity: bool,
    honor_taints: bool,
}

/// The constraints of a pod with this `whenUnsatisfiable`, or the error of the first invalid selector.
pub(crate) fn constraints_of(pod: &Value, when_unsatisfiable: &str) -> Result<Vec<Constraint>, String> {
    let written = list(pod, "spec.topologySpreadConstraints").iter();
    written
        .filter(|constraint| text(constraint, "whenUnsatisfiable") == when_unsatisfiable)
        .map(|constraint| Constraint::parse(pod, constraint))
        .collect()
}

impl Constraint {
    /// A constraint as it is written, with the labels of the pod that its `matchLabelKeys` name.
    pub(crate) fn parse(pod: &Value, constraint: &Value) -> Result<Self, String> {
        let selector = Selector::parse(at(constraint, "labelSelector"))?;
        let keys = texts(constraint, "matchLabelKeys");
        let matched: Vec<(String, String)> =
            keys.iter().filter_map(|key| Some((key.clone(), label(pod, key)?.to_owned()))).collect();
        let policy = |field: &str, default: &str| {
            if is_set(constraint, field) { text(constraint, field) == "Honor" } else { default == "Honor" }
        };
        Ok(Self {
            key: text(constraint, "topologyKey").to_owned(),
            max_skew: at(constraint, "maxSkew").as_i64().unwrap_or(0),
            min_domains: at(constraint, "minDomains").as_i64().unwrap_or(1),
            selector: selector.and_labels(&matched),
            honor_affinity: policy("nodeAffinityPolicy", "Honor"),
            honor_taints: policy("nodeTaintsPolicy", "Ignore"),
        })
    }

    /// Whether its two policies let a node be counted.
    pub(crate) fn admits(&self, pod: &Value, node: &Value) -> bool {
        let excluded_by_affinity = self.honor_affinity && !pod_selects_node(pod, node);
        let excluded_by_taints = self.honor_taints && !tolerates_node(pod, node);
        !excluded_by_affinity && !excluded_by_taints
    }

    /// The number of pods on a node that it counts.
    pub(crate) fn matching_pods(&self, cluster: &Cluster, pod: &Value, node: &Value) -> i64 {
        let matching = cluster.pods_on(node).filter(|other| {
            // An empty selector counts no pods, although it matches the incoming pod.
            !self.selector.is_everything()
                && !is_set(other, "metadata.deletionTimestamp")
                && namespace(other) == namespace(pod)
                && self.selector.matches(labels(other))
        });
        i64::try_from(matching.count()).unwrap_or(i64::MAX)
    }
}
