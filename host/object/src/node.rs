//! Nodes, and the small cluster-wide objects that predicates look up: namespaces and device classes.

use serde::Deserialize;

use crate::device_configuration::DeviceConfiguration;
use crate::field::{name, null_is_default, text_enum};
use crate::image::ImageNames;
use crate::selector::DeviceSelector;
use crate::time::Timestamp;
use crate::{Labels, ResourceList};

/// A v1 Node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Node {
    /// Name, identity and labels.
    pub metadata: Metadata,
    /// What the operator wants.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: NodeSpec,
    /// What the kubelet reports.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: NodeStatus,
}

/// `metadata` of an object without a namespace. Annotations are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Never empty.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Opaque; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// Labels.
    #[serde(default, deserialize_with = "null_is_default")]
    pub labels: Labels,
    /// Annotations. Their values can be large; what is compiled of a node has only those that the policy lists.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Labels,
    /// When it was created.
    #[serde(default, deserialize_with = "null_is_default")]
    pub creation_timestamp: Timestamp,
}

/// `spec` of a Node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSpec {
    /// Whether the node is cordoned.
    #[serde(default, deserialize_with = "null_is_default")]
    pub unschedulable: bool,
    /// Taints, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub taints: Vec<Taint>,
    /// The name of the machine with its provider; empty where there is none.
    #[serde(default, rename = "providerID", deserialize_with = "null_is_default")]
    pub provider_id: String,
}

text_enum! {
    /// The effect of a taint, or the effect that a toleration is about.
    TaintEffect: absent Other, else Other {
        /// New pods are kept away.
        NoSchedule = "NoSchedule",
        /// New pods are kept away where there is a choice; never rejects.
        PreferNoSchedule = "PreferNoSchedule",
        /// New pods are kept away and running ones are evicted.
        NoExecute = "NoExecute",
        /// Any other text, or none.
        Other,
    }
}

/// One entry of a node's `spec.taints`. When it was added does not matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct Taint {
    /// The taint's key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// The taint's value, often empty.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: String,
    /// What it does to pods that do not tolerate it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub effect: TaintEffect,
}

text_enum! {
    /// The status of a condition.
    ConditionStatus: absent Unknown, else Unknown {
        /// The node is in the condition.
        True = "True",
        /// It is not.
        False = "False",
        /// Nobody knows; also any other text, or none.
        Unknown,
    }
}

/// One entry of a node's `status.conditions`. The times in it change with every heartbeat and do not matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct Condition {
    /// For example `Ready`.
    #[serde(default, rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    /// Whether the node is in the condition.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: ConditionStatus,
}

/// `status` of a Node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// What pods may use in all. The only amounts that kube-scheduler reads.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocatable: ResourceList,
    /// What the machine has.
    #[serde(default, deserialize_with = "null_is_default")]
    pub capacity: ResourceList,
    /// Names of the features that the kubelet declares.
    #[serde(default, deserialize_with = "null_is_default")]
    pub declared_features: Vec<String>,
    /// Conditions, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub conditions: Vec<Condition>,
    /// What the kubelet says of the machine and of itself.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_info: NodeInfo,
    /// Names of the images that are present.
    #[serde(default, deserialize_with = "null_is_default")]
    pub images: ImageNames,
}

/// `status.nodeInfo` of a Node. Fields are empty where the kubelet does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// For example `v1.36.2`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kubelet_version: String,
    /// As `uname -r` says.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kernel_version: String,
    /// For example `containerd://2.1.4`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub container_runtime_version: String,
    /// The name of the distribution.
    #[serde(default, deserialize_with = "null_is_default")]
    pub os_image: String,
    /// For example `linux`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operating_system: String,
    /// For example `arm64`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub architecture: String,
}

/// A v1 Namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// Name and labels.
    pub metadata: Metadata,
}

/// A resource.k8s.io DeviceClass.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeviceClass {
    /// Name and labels.
    pub metadata: Metadata,
    /// What the class serves.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: DeviceClassSpec,
}

/// `spec` of a DeviceClass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceClassSpec {
    /// The extended resource that devices of this class satisfy; none where it serves none.
    #[serde(default)]
    pub extended_resource_name: Option<String>,
    /// Which devices are of this class: those that match all.
    #[serde(default, deserialize_with = "null_is_default")]
    pub selectors: Vec<DeviceSelector>,
    /// What drivers are told about devices of this class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub config: Vec<DeviceConfiguration>,
}
