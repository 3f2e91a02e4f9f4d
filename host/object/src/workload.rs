//! Workloads that select pods by label: services, and the controllers that make pods. Only their selectors are used, for spread constraints
//! that a policy adds to pods without any.

use serde::Deserialize;

use crate::field::null_is_default;
use crate::pod::Metadata;
use crate::selector::LabelSelector;
use crate::{Kind, Labels};

/// A v1 Service or ReplicationController: its selector is a set of labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BySet {
    /// Namespace, name and the other metadata of the object.
    pub metadata: Metadata,
    /// Selector, as a set of labels.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: SetSpec,
}

/// `spec` of a Service or a ReplicationController.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct SetSpec {
    /// Labels of the pods; without any it selects no pod.
    #[serde(default, deserialize_with = "null_is_default")]
    pub selector: Labels,
}

/// An apps ReplicaSet or StatefulSet: its selector is a label selector.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ByRequirements {
    /// Namespace, name and the other metadata of the object.
    pub metadata: Metadata,
    /// Selector, as a label selector.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: RequirementsSpec,
}

/// `spec` of a ReplicaSet or a StatefulSet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct RequirementsSpec {
    /// Label selector of the controller's pods.
    #[serde(default, deserialize_with = "null_is_default")]
    pub selector: LabelSelector,
}

/// A Service or a controller of pods, with its selector in one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Service, ReplicationController, ReplicaSet or StatefulSet.
    pub kind: Kind,
    /// Namespace, name and the other metadata of the object.
    pub metadata: Metadata,
    /// Selector of its pods; empty for a Service or ReplicationController that selects none.
    pub selector: LabelSelector,
}

impl Workload {
    /// A Service or ReplicationController.
    pub fn by_set(kind: Kind, object: BySet) -> Self {
        let selector = LabelSelector { match_labels: object.spec.selector, match_expressions: Vec::new() };
        Self { kind, metadata: object.metadata, selector }
    }

    /// A ReplicaSet or StatefulSet.
    pub fn by_requirements(kind: Kind, object: ByRequirements) -> Self {
        Self { kind, metadata: object.metadata, selector: object.spec.selector }
    }
}
