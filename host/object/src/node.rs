//! Nodes, and the small cluster-wide objects that predicates look up: namespaces and device classes.

use serde::Deserialize;

use crate::device_configuration::DeviceConfiguration;
use crate::field::{name, null_is_default, text_enum};
use crate::image::ImageNames;
use crate::selector::DeviceSelector;
use crate::time::Timestamp;
use crate::{Labels, ResourceList};

/// Node of the core API (`v1`), with the fields that predicates read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Node {
    /// Name, identity and labels.
    pub metadata: Metadata,
    /// Desired state: cordoned or not, taints, provider ID.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: NodeSpec,
    /// Observed state that the kubelet reports: allocatable resources, conditions, system information, images.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: NodeStatus,
}

/// `metadata` of a cluster-scoped object: Node, Namespace or DeviceClass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Name of the object, never empty.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// UID of the object; empty where the source has none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Opaque resourceVersion of the object; empty where the source has none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// Labels, sorted by key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub labels: Labels,
    /// Annotations. Their values can be large; what is compiled of a node has only those that the policy lists.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Labels,
    /// Time at which the object was created.
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
    /// Taints in the order of `spec.taints`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub taints: Vec<Taint>,
    /// The name of the machine with its provider; empty where there is none.
    #[serde(default, rename = "providerID", deserialize_with = "null_is_default")]
    pub provider_id: String,
}

text_enum! {
    /// The effect of a taint, or the effect that a toleration is about.
    TaintEffect: absent Other, else Other {
        /// Rejects pods that do not tolerate the taint.
        NoSchedule = "NoSchedule",
        /// Ranks the node lower for pods that do not tolerate the taint; never rejects.
        PreferNoSchedule = "PreferNoSchedule",
        /// Rejects pods that do not tolerate the taint and evicts running ones.
        NoExecute = "NoExecute",
        /// Any other text, or none.
        Other,
    }
}

/// One entry of a node's `spec.taints`. When it was added does not matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct Taint {
    /// Key of the taint.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// The taint's value, often empty.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: String,
    /// Effect on pods that do not tolerate the taint.
    #[serde(default, deserialize_with = "null_is_default")]
    pub effect: TaintEffect,
}

text_enum! {
    /// The status of a condition.
    ConditionStatus: absent Unknown, else Unknown {
        /// The node is in the condition.
        True = "True",
        /// The node is not in the condition.
        False = "False",
        /// The status is not known; also any other text, or none.
        Unknown,
    }
}

/// One entry of a node's `status.conditions`. The times in it change with every heartbeat and do not matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct Condition {
    /// Type of the condition, for example `Ready`.
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
    /// Resources that pods may request in total. The only amounts of a node that kube-scheduler reads.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocatable: ResourceList,
    /// Total resources of the machine.
    #[serde(default, deserialize_with = "null_is_default")]
    pub capacity: ResourceList,
    /// Names of the features that the kubelet declares.
    #[serde(default, deserialize_with = "null_is_default")]
    pub declared_features: Vec<String>,
    /// Conditions in the order of `status.conditions`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub conditions: Vec<Condition>,
    /// Versions and platform of the machine as the kubelet reports them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_info: NodeInfo,
    /// Names of the images that are present, with their sizes.
    #[serde(default, deserialize_with = "null_is_default")]
    pub images: ImageNames,
}

/// `status.nodeInfo` of a Node. Fields are empty where the kubelet does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// Version of the kubelet, for example `v1.36.2`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kubelet_version: String,
    /// Release of the kernel, as in the output of `uname -r`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kernel_version: String,
    /// Name and version of the container runtime, for example `containerd://2.1.4`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub container_runtime_version: String,
    /// Name of the operating system's distribution.
    #[serde(default, deserialize_with = "null_is_default")]
    pub os_image: String,
    /// Operating system, for example `linux`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operating_system: String,
    /// Processor architecture, for example `arm64`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub architecture: String,
}

/// Namespace of the core API (`v1`), of which predicates read the labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// Name, identity and labels of the namespace.
    pub metadata: Metadata,
}

/// DeviceClass of `resource.k8s.io`: selectors and configuration that requests for devices refer to by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeviceClass {
    /// Name, identity and labels of the class.
    pub metadata: Metadata,
    /// Selectors, configuration and extended resource of the class.
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
    /// CEL selectors; a device is of the class if it matches all of them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub selectors: Vec<DeviceSelector>,
    /// Configuration that drivers get for devices of this class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub config: Vec<DeviceConfiguration>,
}
