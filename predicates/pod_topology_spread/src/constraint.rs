//! Topology spread constraints, parsed as kube-scheduler parses them (common.go). Those with `DoNotSchedule` filter, those with
//! `ScheduleAnyway` score. Start at [`for_pod`].

use nodesift_sdk::columns::pod_labels;
use nodesift_sdk::columns::pod_spread::{self, Inclusion, WhenUnsatisfiable};
use nodesift_sdk::label_selector::Selector;

/// The minimum number of domains where a constraint does not set it.
const DEFAULT_MIN_DOMAINS: i32 = 1;

/// A constraint that filters or scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constraint {
    /// A number of pods.
    pub(crate) max_skew: i32,
    pub(crate) topology_key: String,
    /// The pods that are counted.
    pub(crate) selector: Selector,
    pub(crate) min_domains: i32,
    /// Whether nodes that do not match the pod's node selector and node affinity are excluded from the counts.
    pub(crate) honors_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate are excluded from the counts.
    pub(crate) honors_taints: bool,
}

/// Constraints that hold for a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForPod {
    pub(crate) constraints: Vec<Constraint>,
    /// Whether the pod has constraints itself, of any kind; otherwise they are default ones.
    pub(crate) are_own: bool,
}

/// The constraints of the pod that say `when_unsatisfiable`, or `defaults` where the pod has no constraints of any kind.
///
/// # Errors
///
/// The error text of Kubernetes for the first invalid selector.
pub(crate) fn for_pod(when_unsatisfiable: WhenUnsatisfiable, defaults: &[Constraint]) -> Result<ForPod, String> {
    let written = pod_spread::constraints();
    if written.is_empty() {
        return Ok(ForPod { constraints: with_default_selector(defaults), are_own: false });
    }
    let wanted = written.into_iter().filter(|one| one.when_unsatisfiable == when_unsatisfiable);
    Ok(ForPod { constraints: wanted.map(read).collect::<Result<_, _>>()?, are_own: true })
}

/// The default constraints with the default selector of the pod; empty for a pod without one.
fn with_default_selector(defaults: &[Constraint]) -> Vec<Constraint> {
    if defaults.is_empty() {
        return Vec::new();
    }
    match pod_spread::default_selector().map(Selector::read_unchecked_labels) {
        Some(selector) if !selector.is_empty() => {
            defaults.iter().map(|one| Constraint { selector: selector.clone(), ..one.clone() }).collect()
        }
        _ => Vec::new(),
    }
}

fn read(written: pod_spread::Constraint) -> Result<Constraint, String> {
    let selector = Selector::read(written.selector)?;
    // The pod's values for these keys are added to the selector. Keys that the pod does not have are ignored.
    let labels = written.match_label_keys.into_iter().filter_map(|key| {
        let value = pod_labels::label(&key)?;
        Some((key, value))
    });
    Ok(Constraint {
        max_skew: written.max_skew,
        topology_key: written.topology_key,
        selector: selector.and_labels(labels),
        min_domains: written.min_domains.unwrap_or(DEFAULT_MIN_DOMAINS),
        honors_affinity: written.node_affinity_policy.unwrap_or(Inclusion::Honor) == Inclusion::Honor,
        honors_taints: written.node_taints_policy.unwrap_or(Inclusion::Ignore) == Inclusion::Honor,
    })
}

/// A default constraint. Its selector is set for each pod.
pub(crate) fn without_selector(
    max_skew: i32,
    topology_key: String,
    min_domains: Option<i32>,
    honors_affinity: Option<bool>,
    honors_taints: Option<bool>,
) -> Constraint {
    Constraint {
        max_skew,
        topology_key,
        selector: Selector::Nothing,
        min_domains: min_domains.unwrap_or(DEFAULT_MIN_DOMAINS),
        honors_affinity: honors_affinity.unwrap_or(true),
        honors_taints: honors_taints.unwrap_or(false),
    }
}
