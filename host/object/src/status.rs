//! Status of a pod: phase, conditions, resources in force while a resize in place is under way, and claims made for it. Start at
//! [`PodStatus`].

use serde::{Deserialize, Serialize};

use crate::ResourceList;
use crate::field::{is_default, null_is_default, text_enum};

text_enum! {
    /// Phase of a pod's life, as in `status.phase`.
    Phase: absent Other, else Other {
        /// Accepted by the API server, but not all containers have been started.
        Pending = "Pending",
        /// Bound to a node, with at least one container running, starting or restarting.
        Running = "Running",
        /// Ended well; uses no resources any more.
        Succeeded = "Succeeded",
        /// Ended badly; uses no resources any more.
        Failed = "Failed",
        /// Any other text, `Unknown` included, or none.
        Other,
    }
}

/// `status` of a Pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    /// Phase of the pod's life.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub phase: Phase,
    /// The node for which pods are being preempted in favour of this one; empty where none.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub nominated_node_name: String,
    /// Conditions in the order of `status.conditions`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
    /// Status per container, in the order of `status.containerStatuses`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub container_statuses: Vec<ContainerStatus>,
    /// Status per init container, in the order of `status.initContainerStatuses`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Resources of the pod as a whole that are in force; none where the kubelet does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ActuatedResources>,
    /// Requests of the pod as a whole that the kubelet has admitted.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub allocated_resources: ResourceList,
    /// The ResourceClaims that were made of templates.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub resource_claim_statuses: Vec<ResourceClaimStatus>,
}

/// One entry of `status.resourceClaimStatuses`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// The name of the entry of `spec.resourceClaims`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// The ResourceClaim that was made for it; none where none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claim_name: Option<String>,
}

/// One entry of `status.conditions`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct Condition {
    /// Type of the condition, for example `PodResizePending`.
    #[serde(default, rename = "type", deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub kind: String,
    /// Status of the condition: `True`, `False` or `Unknown`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub status: String,
    /// Machine-readable reason of the condition, one word.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub reason: String,
}

/// One entry of `status.containerStatuses` or `status.initContainerStatuses`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    /// Name of the container or init container.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Resources in force; none where the kubelet does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ActuatedResources>,
    /// Requests that the kubelet has admitted.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub allocated_resources: ResourceList,
}

/// Resources that the kubelet has put in force.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct ActuatedResources {
    /// Requests in force, by resource name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub requests: ResourceList,
}
