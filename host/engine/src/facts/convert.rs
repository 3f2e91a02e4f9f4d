//! Compiled facts as the contract shows them, and selectors of a guest as the cache counts by them. Pure functions.

use std::sync::Arc;

use nodesift_cache::metadata::{Conditions, LabelRequirement, OwnerFacts, PodSelector};
use nodesift_object::affinity::{
    NodeInclusionPolicy, PodAffinityTerm, TopologySpreadConstraint, WeightedPodAffinityTerm, WhenUnsatisfiable,
};
use nodesift_object::node::{ConditionStatus, TaintEffect};
use nodesift_object::pod::{Toleration, TolerationOperator};
use nodesift_object::selector::{LabelSelector, NodeSelectorTerm, Operator, Requirement};
use nodesift_object::{self as object};
use nodesift_sandbox::wire;

pub(super) fn node_selector_term(term: &NodeSelectorTerm) -> wire::Term {
    wire::Term {
        expressions: term.match_expressions.iter().map(requirement).collect(),
        fields: term.match_fields.iter().map(requirement).collect(),
    }
}

fn requirement(requirement: &Requirement) -> wire::Requirement {
    wire::Requirement {
        key: Arc::from(requirement.key.as_str()),
        operator: match requirement.operator() {
            Operator::In => wire::Operator::In,
            Operator::NotIn => wire::Operator::NotIn,
            Operator::Exists => wire::Operator::Exists,
            Operator::DoesNotExist => wire::Operator::DoesNotExist,
            Operator::Gt => wire::Operator::Gt,
            Operator::Lt => wire::Operator::Lt,
            Operator::Unknown => wire::Operator::Unknown,
        },
        values: requirement.values.iter().map(|value| Arc::from(value.as_str())).collect(),
    }
}

pub(super) fn toleration(toleration: &Toleration) -> wire::Toleration {
    wire::Toleration {
        key: Arc::from(toleration.key.as_str()),
        operator: match toleration.operator {
            TolerationOperator::Equal => wire::TolerationOperator::Equal,
            TolerationOperator::Exists => wire::TolerationOperator::Exists,
            TolerationOperator::Other => wire::TolerationOperator::Other,
        },
        value: Arc::from(toleration.value.as_str()),
        effect: toleration.effect.map(effect),
    }
}

pub(super) fn effect(effect: TaintEffect) -> wire::Effect {
    match effect {
        TaintEffect::NoSchedule => wire::Effect::NoSchedule,
        TaintEffect::PreferNoSchedule => wire::Effect::PreferNoSchedule,
        TaintEffect::NoExecute => wire::Effect::NoExecute,
        TaintEffect::Other => wire::Effect::Other,
    }
}

/// The status of a condition as the contract numbers it; 0 where there is no such condition.
pub(super) fn condition_status(conditions: &Conditions, kind: &str) -> u8 {
    let at = conditions.binary_search_by(|(known, _)| known.as_ref().cmp(kind)).ok();
    at.and_then(|at| conditions.get(at)).map_or(0, |(_, status)| match status {
        ConditionStatus::True => 1,
        ConditionStatus::False => 2,
        ConditionStatus::Unknown => 3,
    })
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

pub(super) fn pod_affinity_term(term: &PodAffinityTerm) -> wire::AffinityTerm {
    wire::AffinityTerm {
        selector: term.label_selector.as_ref().map(label_selector),
        namespaces: texts(&term.namespaces),
        namespace_selector: term.namespace_selector.as_ref().map(label_selector),
        topology_key: Arc::from(term.topology_key.as_str()),
        match_label_keys: texts(&term.match_label_keys),
        mismatch_label_keys: texts(&term.mismatch_label_keys),
    }
}

/// Preferred terms as written, each with its weight.
pub(super) fn weighted_terms(terms: &[WeightedPodAffinityTerm]) -> Vec<(i32, wire::AffinityTerm)> {
    terms.iter().map(|weighted| (weighted.weight, pod_affinity_term(&weighted.pod_affinity_term))).collect()
}

/// A label selector as written.
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

/// Labels as a guest is given them.
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

/// Selectors of a guest in their fixed order, so that equal questions are one count.
pub(super) fn pod_selectors(selectors: &[wire::PodSelector]) -> Option<Vec<PodSelector>> {
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

/// The controller of a pod without its UID, which is another question.
pub(super) fn controller(owner: &OwnerFacts) -> wire::Controller {
    wire::Controller {
        api_version: Arc::clone(&owner.api_version),
        kind: Arc::clone(&owner.kind),
        name: Arc::clone(&owner.name),
    }
}
