//! Label selectors: those of the pod, which a guest reads unevaluated, and those that a guest passes to count pods. The
//! contract documents the types under the same names.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

/// `selectors.operator`: the operator of a label selector requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum LabelOperator {
    #[component(name = "in")]
    In,
    #[component(name = "not-in")]
    NotIn,
    #[component(name = "exists")]
    Exists,
    #[component(name = "does-not-exist")]
    DoesNotExist,
    #[component(name = "unknown")]
    Unknown,
}

/// `selectors.requirement`: a LabelSelectorRequirement, with its operator as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lift, Lower)]
#[component(record)]
pub struct LabelRequirement {
    pub key: String,
    pub operator: LabelOperator,
    pub values: Vec<String>,
    #[component(name = "operator-text")]
    pub operator_text: String,
}

/// `selectors.label-selector`: a meta/v1 LabelSelector as written, unvalidated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct LabelSelector {
    #[component(name = "match-labels")]
    pub match_labels: Vec<(Arc<str>, Arc<str>)>,
    #[component(name = "match-expressions")]
    pub match_expressions: Vec<LabelRequirement>,
}

/// `cluster-pods.pod-selector`: a selection of pods by namespace and by labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(record)]
pub struct PodSelector {
    pub namespaces: Vec<String>,
    #[component(name = "namespace-requirements")]
    pub namespace_requirements: Option<Vec<LabelRequirement>>,
    pub requirements: Vec<LabelRequirement>,
}
