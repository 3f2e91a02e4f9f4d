//! Facts about other pods: the pod's spread constraints and affinity terms, counts of pods that match selectors, required
//! anti-affinity terms of pods on nodes that match the pod.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::Context;
use nodesift_cache::metadata::{LabelRequirement, PodSelector};
use nodesift_object::affinity::{NodeInclusionPolicy, PodAffinityTerm, TopologySpreadConstraint, WhenUnsatisfiable};
use nodesift_object::selector::{LabelSelector, Operator};
use nodesift_object::{self as object, Kind};
use nodesift_sandbox::wire;

/// The number of pods per row of the snapshot that match all selectors; `None` where an operator is unknown.
pub(super) fn matching(context: &Context, selectors: &[wire::PodSelector], terminating: bool) -> Option<Arc<[u32]>> {
    let key = Context::count_key(selectors, terminating)?;
    Some(context.column(&context.snapshot.count(&key)))
}

/// Whether the context's pod matches all selectors.
pub(super) fn is_matched_by(context: &Context, selectors: &[PodSelector]) -> bool {
    let namespaces = context.snapshot.namespaces();
    let labels_of = |namespace: &str| namespaces.get(namespace).cloned();
    let pod = &context.pod;
    selectors.iter().all(|selector| selector.matches(&pod.namespace, &pod.labels, labels_of))
}

/// The topology keys of the anti-affinity terms on nodes that match the context's pod.
pub(super) fn anti_affinity_keys(context: &Context) -> Vec<Arc<str>> {
    let keys: BTreeSet<&Arc<str>> = context.matched_terms().iter().map(|(key, _)| key).collect();
    keys.into_iter().cloned().collect()
}

/// The number of anti-affinity terms per row of the snapshot that have this topology key and match the context's pod.
pub(super) fn anti_affinity_terms(context: &Context, topology_key: &str) -> Arc<[u32]> {
    let mut terms = vec![0_u32; context.snapshot.node_count()];
    for (_, rows) in context.matched_terms().iter().filter(|(key, _)| **key == *topology_key) {
        for (row, count) in rows.iter() {
            if let Some(terms) = terms.get_mut(row.index()) {
                *terms += count;
            }
        }
    }
    terms.into()
}

pub(super) fn constraint(constraint: &TopologySpreadConstraint) -> wire::SpreadConstraint {
    wire::SpreadConstraint {
        max_skew: constraint.max_skew,
        topology_key: Arc::from(constraint.topology_key.as_str()),
        when_unsatisfiable: match constraint.when_unsatisfiable {
            WhenUnsatisfiable::DoNotSchedule => wire::WhenUnsatisfiable::DoNotSchedule,
            WhenUnsatisfiable::ScheduleAnyway => wire::WhenUnsatisfiable::ScheduleAnyway,
            WhenUnsatisfiable::Other => wire::WhenUnsatisfiable::Other,
        },
        selector: constraint.label_selector.as_ref().map(label_selector),
        min_domains: constraint.min_domains,
        node_affinity_policy: constraint.node_affinity_policy.map(inclusion),
        node_taints_policy: constraint.node_taints_policy.map(inclusion),
        match_label_keys: texts(&constraint.match_label_keys),
    }
}

pub(super) fn term(term: &PodAffinityTerm) -> wire::AffinityTerm {
    wire::AffinityTerm {
        selector: term.label_selector.as_ref().map(label_selector),
        namespaces: texts(&term.namespaces),
        namespace_selector: term.namespace_selector.as_ref().map(label_selector),
        topology_key: Arc::from(term.topology_key.as_str()),
        match_label_keys: texts(&term.match_label_keys),
        mismatch_label_keys: texts(&term.mismatch_label_keys),
    }
}

/// The merged selectors of the services that select the context's pod and of its controller; `None` where there is neither.
/// Source: `DefaultSelector` in pkg/scheduler/framework/plugins/helper/spread.go.
pub(super) fn default_selector(context: &Context) -> Option<wire::LabelSelector> {
    let (workloads, pod) = (context.snapshot.workloads(), &context.pod);
    let selects = |selector: &&LabelSelector| {
        !selector.match_labels.is_empty()
            && selector.match_labels.iter().all(|(key, value)| pod.label(key).is_some_and(|found| **found == **value))
    };
    let mut labels: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    for service in workloads.services(&pod.namespace).filter(selects) {
        labels.extend(pairs(&service.match_labels));
    }
    let mut expressions = Vec::new();
    if let Some((kind, name)) = &pod.controller
        && let Some(selector) = workloads.controller(*kind, &pod.namespace, name)
    {
        let selector = label_selector(selector);
        if *kind == Kind::ReplicationController {
            labels.extend(selector.match_labels);
        } else {
            // Added as expressions: unlike labels, they do not replace the labels of the services.
            expressions.extend(selector.match_labels.into_iter().map(|(key, value)| wire::LabelRequirement {
                key: key.to_string(),
                operator: wire::LabelOperator::In,
                values: vec![value.to_string()],
                operator_text: "In".to_owned(),
            }));
            expressions.extend(selector.match_expressions);
        }
    }
    if labels.is_empty() && expressions.is_empty() {
        return None;
    }
    Some(wire::LabelSelector { match_labels: labels.into_iter().collect(), match_expressions: expressions })
}

/// Converts a label selector, unevaluated, to the contract's type.
pub(super) fn label_selector(selector: &LabelSelector) -> wire::LabelSelector {
    wire::LabelSelector {
        match_labels: pairs(&selector.match_labels),
        match_expressions: selector
            .match_expressions
            .iter()
            .map(|requirement| wire::LabelRequirement {
                key: requirement.key.clone(),
                operator: match requirement.operator() {
                    Operator::In => wire::LabelOperator::In,
                    Operator::NotIn => wire::LabelOperator::NotIn,
                    Operator::Exists => wire::LabelOperator::Exists,
                    Operator::DoesNotExist => wire::LabelOperator::DoesNotExist,
                    Operator::Gt | Operator::Lt | Operator::Unknown => wire::LabelOperator::Unknown,
                },
                values: requirement.values.clone(),
                operator_text: requirement.operator_text.clone(),
            })
            .collect(),
    }
}

/// Converts labels to (key, value) pairs.
pub(super) fn pairs(labels: &object::Labels) -> Vec<(Arc<str>, Arc<str>)> {
    labels.iter().map(|(key, value)| (Arc::from(key), Arc::from(value.as_str()))).collect()
}

fn texts(texts: &[String]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(text.as_str())).collect()
}

fn inclusion(policy: NodeInclusionPolicy) -> wire::Inclusion {
    match policy {
        NodeInclusionPolicy::Honor => wire::Inclusion::Honor,
        NodeInclusionPolicy::Ignore => wire::Inclusion::Ignore,
        NodeInclusionPolicy::Other => wire::Inclusion::Other,
    }
}

/// Compiles the selectors of a guest and sorts them, so that equal selectors share one cached count. `None` where an operator
/// is unknown.
pub(super) fn compile(selectors: &[wire::PodSelector]) -> Option<Vec<PodSelector>> {
    let mut compiled: Vec<PodSelector> = selectors.iter().map(pod_selector).collect::<Option<_>>()?;
    compiled.sort_unstable();
    compiled.dedup();
    Some(compiled)
}

fn pod_selector(selector: &wire::PodSelector) -> Option<PodSelector> {
    let mut namespaces: Vec<Arc<str>> = selector.namespaces.iter().map(|name| Arc::from(name.as_str())).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    let namespace_requirements = match &selector.namespace_requirements {
        Some(requirements) => Some(label_requirements(requirements)?),
        None => None,
    };
    Some(PodSelector { namespaces, namespace_requirements, requirements: label_requirements(&selector.requirements)? })
}

fn label_requirements(requirements: &[wire::LabelRequirement]) -> Option<Vec<LabelRequirement>> {
    let compile = |requirement: &wire::LabelRequirement| {
        let operator = match requirement.operator {
            wire::LabelOperator::In => Operator::In,
            wire::LabelOperator::NotIn => Operator::NotIn,
            wire::LabelOperator::Exists => Operator::Exists,
            wire::LabelOperator::DoesNotExist => Operator::DoesNotExist,
            wire::LabelOperator::Unknown => return None,
        };
        let values = requirement.values.iter().map(|value| Arc::from(value.as_str()));
        LabelRequirement::new(&requirement.key, operator, values)
    };
    let mut compiled: Vec<LabelRequirement> = requirements.iter().map(compile).collect::<Option<_>>()?;
    compiled.sort_unstable();
    compiled.dedup();
    Some(compiled)
}
