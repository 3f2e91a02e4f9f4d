//! Single edits of the pod that may help, each evaluated. Start at [`edits`].
//!
//! An edit changes the compiled facts of the pod as the edited object would have them. [`Edit`] writes it as command lines do.

use std::fmt;
use std::sync::Arc;

use nodesift_cache::metadata::PodFacts;
use nodesift_object::node::Taint;
use nodesift_object::pod::{Toleration, TolerationOperator};

use super::answer::{Evidence, TaintFact};
use super::evidence::taints::effect;
use crate::limits::WHY_EDITS;

/// Start of the keys of taints that Kubernetes gives nodes for their state, such as a cordon or pressure. Source: k8s.io/api/core/v1.
const STATE: &str = "node.kubernetes.io/";

/// A single edit of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    /// Tolerates one more taint.
    Tolerate(Taint),
    /// Requests less of a resource.
    Request(Arc<str>, i64),
    /// Has no node selector.
    DropNodeSelector,
    /// Has no affinity, neither to nodes nor to pods.
    DropAffinity,
    /// Lacks the spread constraint at this index.
    DropSpread(usize),
}

/// The edits that may help a pod, by the evidence of its rejections: [`WHY_EDITS`] at most, and how many there are more. Each kind has its
/// turn, so that many of one leave out none of another. Amounts that a component has given cannot be edited.
pub(super) fn edits(pod: &PodFacts, evidence: &[Evidence], is_accounted: bool) -> (Vec<Edit>, usize) {
    let mut drops = Vec::new();
    if !pod.node_selector.is_empty() {
        drops.push(Edit::DropNodeSelector);
    }
    let is_to_pods = !pod.affinity.is_empty() || !pod.anti_affinity.is_empty() || pod.invalid_preferred.is_some();
    if pod.required_affinity.is_some() || is_to_pods {
        drops.push(Edit::DropAffinity);
    }
    let mut requests = Vec::new();
    for fact in evidence.iter().flat_map(|evidence| &evidence.resources).filter(|_| !is_accounted) {
        // Places of pods are no request.
        let is_request = pod.requests.iter().any(|(name, _)| *name == fact.resource);
        if let Some(free) = fact.nearest_free.filter(|free| is_request && (1..fact.requested).contains(free)) {
            requests.push(Edit::Request(Arc::clone(&fact.resource), free));
        }
    }
    let spread = (0..pod.spread.len()).map(Edit::DropSpread).collect();
    let taints = evidence.iter().flat_map(|evidence| &evidence.taints);
    let tolerations = taints.map(|TaintFact { taint, .. }| Edit::Tolerate(taint.clone())).collect();
    let mut kinds = [drops, requests, spread, tolerations].map(Vec::into_iter);
    let mut edits: Vec<Edit> = Vec::new();
    loop {
        let before = edits.len();
        edits.extend(kinds.iter_mut().filter_map(Iterator::next));
        if edits.len() == before {
            break;
        }
    }
    let more = edits.len().saturating_sub(WHY_EDITS);
    edits.truncate(WHY_EDITS);
    (edits, more)
}

impl Edit {
    /// Returns the facts of the edited pod.
    pub(super) fn apply(&self, pod: &PodFacts) -> PodFacts {
        let mut pod = pod.clone();
        match self {
            Self::Tolerate(taint) => pod.tolerations.push(toleration(taint)),
            Self::Request(resource, amount) => {
                let requests = pod.requests.iter_mut().filter(|(name, _)| name == resource);
                requests.for_each(|(_, requested)| *requested = *amount);
            }
            Self::DropNodeSelector => pod.node_selector = Arc::default(),
            Self::DropAffinity => {
                (pod.required_affinity, pod.invalid_preferred) = (None, None);
                pod.affinity.clear();
                pod.anti_affinity.clear();
                pod.anti_affinity_terms.clear();
            }
            Self::DropSpread(at) => {
                if *at < pod.spread.len() {
                    pod.spread.remove(*at);
                }
            }
        }
        pod
    }

    /// A condition under which it may not help.
    pub(super) fn caveat(&self) -> &'static str {
        match self {
            Self::Request(..) => "the amount is that of the whole pod, which its containers share",
            Self::Tolerate(taint) if taint.key.starts_with(STATE) => {
                "the taint is of the node's state: change that instead"
            }
            Self::Tolerate(_) => "the node may be tainted for a reason",
            Self::DropNodeSelector | Self::DropAffinity | Self::DropSpread(_) => "",
        }
    }
}

/// The toleration of a taint; of a taint without a value, one of every value.
fn toleration(taint: &Taint) -> Toleration {
    let operator = if taint.value.is_empty() { TolerationOperator::Exists } else { TolerationOperator::Equal };
    Toleration { key: taint.key.clone(), operator, value: taint.value.clone(), effect: Some(taint.effect) }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tolerate(taint) if taint.value.is_empty() => write!(f, "tolerate={}:{}", taint.key, effect(taint)),
            Self::Tolerate(taint) => write!(f, "tolerate={}={}:{}", taint.key, taint.value, effect(taint)),
            Self::Request(resource, amount) if &**resource == "cpu" => write!(f, "cpu={amount}m"),
            Self::Request(resource, amount) => write!(f, "{resource}={amount}"),
            Self::DropNodeSelector => f.write_str("drop=nodeSelector"),
            Self::DropAffinity => f.write_str("drop=affinity"),
            Self::DropSpread(at) => write!(f, "drop=spread[{at}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodesift_object::node::TaintEffect;
    use nodesift_sandbox::Interface;

    fn taint(value: &str) -> Taint {
        Taint { key: "gpu".to_owned(), value: value.to_owned(), effect: TaintEffect::NoExecute }
    }

    #[test]
    fn edits_are_written_as_command_lines_write_them() {
        let written = [
            (Edit::Tolerate(taint("yes")), "tolerate=gpu=yes:NoExecute"),
            (Edit::Tolerate(taint("")), "tolerate=gpu:NoExecute"),
            (Edit::Request("cpu".into(), 1_500), "cpu=1500m"),
            (Edit::Request("example.com/gpu".into(), 2), "example.com/gpu=2"),
            (Edit::DropNodeSelector, "drop=nodeSelector"),
            (Edit::DropAffinity, "drop=affinity"),
            (Edit::DropSpread(1), "drop=spread[1]"),
        ];
        for (edit, text) in written {
            assert_eq!(edit.to_string(), text);
        }
    }

    #[test]
    fn an_edit_changes_only_what_it_says() {
        let pod = PodFacts {
            node_selector: [("zone".into(), "a".into())].into(),
            requests: vec![("cpu".into(), 4_000), ("memory".into(), 1 << 30)],
            spread: vec![Default::default(), Default::default()],
            ..PodFacts::default()
        };
        assert_eq!(Edit::DropNodeSelector.apply(&pod), PodFacts { node_selector: Arc::default(), ..pod.clone() });
        let less = PodFacts { requests: vec![("cpu".into(), 1_000), ("memory".into(), 1 << 30)], ..pod.clone() };
        assert_eq!(Edit::Request("cpu".into(), 1_000).apply(&pod), less);
        assert_eq!(Edit::DropSpread(0).apply(&pod).spread.len(), 1);
        assert_eq!(Edit::DropSpread(7).apply(&pod), pod);
        let tolerating = Edit::Tolerate(taint("yes")).apply(&pod);
        assert_eq!(tolerating.tolerations.len(), 1);
        assert_eq!(PodFacts { tolerations: Vec::new(), ..tolerating }, pod);
    }

    #[test]
    fn each_kind_of_edit_has_its_turn_and_the_others_are_counted() {
        let pod = PodFacts { spread: vec![Default::default(); 100], ..PodFacts::default() };
        let evidence = Evidence {
            interface: Interface::NodeTaints,
            predicates: Vec::new(),
            rejected: 1,
            explained: None,
            resources: Vec::new(),
            taints: vec![TaintFact { taint: taint("yes"), nodes: 1 }],
            expressions: Vec::new(),
            topologies: Vec::new(),
            facts: Vec::new(),
            omitted: 0,
        };
        let (edits, more) = edits(&pod, &[evidence], false);
        assert_eq!((edits.len(), more), (WHY_EDITS, 101 - WHY_EDITS));
        assert!(edits.contains(&Edit::Tolerate(taint("yes"))));
    }
}
