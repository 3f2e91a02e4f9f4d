//! Affinity and topology spread of pods: terms of node affinity and of pod affinity, and topology spread constraints. Start at
//! [`Affinity`].

use serde::{Deserialize, Serialize};

use crate::field::{is_default, null_is_default, text_enum};
use crate::selector::{LabelSelector, NodeSelector, NodeSelectorTerm};

/// Affinity of a pod, as in `spec.affinity`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// Node affinity; none where the pod has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
    /// Pod affinity: pods that must run in the node's topology domain.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub pod_affinity: PodAffinity,
    /// Pod anti-affinity: pods that must not run in the node's topology domain.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub pod_anti_affinity: PodAffinity,
}

/// Node affinity of a pod, as in `spec.affinity.nodeAffinity`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct NodeAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`; none where absent, which matches every node.
    #[serde(
        default,
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<NodeSelector>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`; none where absent, which is not the same as an empty list.
    #[serde(
        default,
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub preferred: Option<Vec<PreferredTerm>>,
}

/// Preference of a pod for the nodes that a term matches. An entry of the preferred node affinity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct PreferredTerm {
    /// Number that a matching node is worth; 0 switches the preference off.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub weight: i32,
    /// Requirements on the node, as written.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub preference: NodeSelectorTerm,
}

/// Affinity or anti-affinity to other pods, as in `spec.affinity.podAffinity` and `podAntiAffinity`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct PodAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`: all terms must hold.
    #[serde(
        default,
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_is_default",
        skip_serializing_if = "is_default"
    )]
    pub required: Vec<PodAffinityTerm>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`: terms that add to the scores of nodes. kube-scheduler rejects a pod that
    /// has an invalid one.
    #[serde(
        default,
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_is_default",
        skip_serializing_if = "is_default"
    )]
    pub preferred: Vec<WeightedPodAffinityTerm>,
}

impl PodAffinity {
    /// Preferred terms whose selectors Kubernetes cannot parse, in order.
    pub fn invalid_preferred(&self) -> impl Iterator<Item = &PodAffinityTerm> {
        self.preferred.iter().map(|weighted| &weighted.pod_affinity_term).filter(|term| !term.is_valid())
    }
}

/// One preferred term of pod affinity or anti-affinity, with its weight.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedPodAffinityTerm {
    /// Points of each matching pod in the node's topology domain, from 1 to 100 in a valid pod.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub weight: i32,
    /// The term, as a required one.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub pod_affinity_term: PodAffinityTerm,
}

/// One term of pod affinity or anti-affinity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAffinityTerm {
    /// Selector of the other pods by label; none matches no pod, an empty selector every pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Namespaces whose pods count; with neither these nor a selector: the pod's own namespace.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub namespaces: Vec<String>,
    /// Namespaces, by their labels, whose pods count too; an empty selector is every namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The label key whose equal values make nodes near each other.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub topology_key: String,
    /// Keys whose values the other pods must share with this pod. The API server has merged them into
    /// `label_selector` by the time a scheduler reads the pod.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub match_label_keys: Vec<String>,
    /// Keys whose values the other pods must not share with this pod; merged in the same way.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub mismatch_label_keys: Vec<String>,
}

impl PodAffinityTerm {
    /// Whether Kubernetes can parse both selectors. Source: `newAffinityTerm` in kube-scheduler's framework.
    pub fn is_valid(&self) -> bool {
        let is_valid = |selector: &Option<LabelSelector>| selector.as_ref().is_none_or(LabelSelector::is_valid);
        is_valid(&self.label_selector) && is_valid(&self.namespace_selector)
    }
}

text_enum! {
    /// Effect of a spread constraint on nodes where the pod would exceed `maxSkew`, as in `whenUnsatisfiable`.
    WhenUnsatisfiable: absent Other, else Other {
        /// Rejects nodes where the constraint does not hold.
        DoNotSchedule = "DoNotSchedule",
        /// Ranks nodes lower where the constraint does not hold; never rejects one.
        ScheduleAnyway = "ScheduleAnyway",
        /// Any other text, or none.
        Other,
    }
}

text_enum! {
    /// Whether nodes that the pod could not run on anyway count for its skew.
    NodeInclusionPolicy: absent Other, else Other {
        /// Nodes that do not pass are left out.
        Honor = "Honor",
        /// All nodes count, whether they pass or not.
        Ignore = "Ignore",
        /// Any other text, or none.
        Other,
    }
}

/// One entry of `spec.topologySpreadConstraints`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpreadConstraint {
    /// Largest number of matching pods by which a domain may lead the one with the fewest.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub max_skew: i32,
    /// The label key whose values are the domains.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub topology_key: String,
    /// Effect of the constraint on nodes where the pod would exceed `max_skew`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// Selector of the pods that count; none matches no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Fewest domains there must be before the least one may count as more than zero; none means one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    /// Whether nodes excluded by the pod's node affinity and node selector count; none means `Honor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<NodeInclusionPolicy>,
    /// Whether nodes count whose taints the pod does not tolerate; none means `Ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<NodeInclusionPolicy>,
    /// Keys whose values in the pod's own labels narrow the selector.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub match_label_keys: Vec<String>,
}
