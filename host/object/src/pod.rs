//! Pods: identity and spec. Their volumes are in [`crate::volume`]; what the kubelet reports about
//! them is in [`crate::status`].

use serde::{Deserialize, Deserializer};

use crate::affinity::{Affinity, TopologySpreadConstraint};
use crate::field::{name, null_is_default, presence, text_enum};
use crate::node::TaintEffect;
use crate::status::PodStatus;
use crate::volume::Volume;
use crate::{Labels, ResourceList};

/// The namespace of a pod that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// A v1 Pod.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pod {
    /// Name, identity, labels and owners.
    pub metadata: Metadata,
    /// What is to run, and where it may.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: PodSpec,
    /// What is running.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: PodStatus,
}

impl Pod {
    /// `namespace/name`.
    pub fn key(&self) -> String {
        [&self.metadata.namespace, "/", &self.metadata.name].concat()
    }
}

/// `metadata` of a Pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Never empty.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Never empty: [`DEFAULT_NAMESPACE`] where the pod names none.
    #[serde(default = "default_namespace", deserialize_with = "namespace")]
    pub namespace: String,
    /// Empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Opaque; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_version: String,
    /// Labels.
    #[serde(default, deserialize_with = "null_is_default")]
    pub labels: Labels,
    /// Annotations. Their values can be large; what is compiled of a pod has only those that the policy lists.
    #[serde(default, deserialize_with = "null_is_default")]
    pub annotations: Labels,
    /// Whether `deletionTimestamp` is set: the pod is being deleted and still uses its resources.
    #[serde(default, rename = "deletionTimestamp", deserialize_with = "presence")]
    pub terminating: bool,
    /// What the pod belongs to.
    #[serde(default, deserialize_with = "null_is_default")]
    pub owner_references: Vec<OwnerReference>,
}

fn default_namespace() -> String {
    DEFAULT_NAMESPACE.to_owned()
}

fn namespace<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let namespace = Option::<String>::deserialize(deserializer)?;
    Ok(namespace.filter(|namespace| !namespace.is_empty()).unwrap_or_else(default_namespace))
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// The API group and version of the owner's kind.
    #[serde(default, deserialize_with = "null_is_default")]
    pub api_version: String,
    /// The owner's kind; `Node` for a static pod.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: String,
    /// The owner's name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The owner's UID.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
    /// Whether this owner manages the pod; at most one does.
    #[serde(default, deserialize_with = "null_is_default")]
    pub controller: bool,
}

/// `spec` of a Pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// The node the pod is bound to, or asks for by name; empty where neither.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_name: String,
    /// Labels that the node must carry.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_selector: Labels,
    /// Required affinities.
    #[serde(default, deserialize_with = "null_is_default")]
    pub affinity: Affinity,
    /// Tolerations, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tolerations: Vec<Toleration>,
    /// Domains over which to spread.
    #[serde(default, deserialize_with = "null_is_default")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// Volumes, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub volumes: Vec<Volume>,
    /// Claims of devices, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Containers that run together.
    #[serde(default, deserialize_with = "null_is_default")]
    pub containers: Vec<Container>,
    /// Containers that run one after the other before them; restartable ones go on running.
    #[serde(default, deserialize_with = "null_is_default")]
    pub init_containers: Vec<Container>,
    /// What running a pod costs beyond its containers.
    #[serde(default, deserialize_with = "null_is_default")]
    pub overhead: ResourceList,
    /// Requests of the pod as a whole.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resources: Resources,
    /// The scheduler that is to place the pod; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub scheduler_name: String,
    /// Priority; none where the source does not say.
    #[serde(default)]
    pub priority: Option<i32>,
    /// The name of the class that `priority` comes from; empty where there is none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub priority_class_name: String,
    /// The pod's identity towards the API server; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default")]
    pub service_account_name: String,
    /// How containers are run; empty for the node's own way.
    #[serde(default, deserialize_with = "null_is_default")]
    pub runtime_class_name: String,
    /// Whether the pod shares the node's network.
    #[serde(default, deserialize_with = "null_is_default")]
    pub host_network: bool,
    /// Whether the pod uses the user namespace of its node; absent means that it does.
    pub host_users: Option<bool>,
}

/// One entry of `spec.resourceClaims`. Of the two names of objects one is there; with both the claim's counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodResourceClaim {
    /// By which containers refer to it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The ResourceClaim; none where it is not said by name.
    #[serde(default)]
    pub resource_claim_name: Option<String>,
    /// The ResourceClaimTemplate of which a ResourceClaim is made for the pod; the pod's status names that.
    #[serde(default)]
    pub resource_claim_template_name: Option<String>,
}

text_enum! {
    /// How a toleration compares its value.
    TolerationOperator: absent Equal, else Other {
        /// The taint has this value. Also where the operator is absent.
        Equal = "Equal",
        /// Any value will do.
        Exists = "Exists",
        /// Any other text: tolerates nothing.
        Other,
    }
}

/// One entry of `spec.tolerations`. How long a taint is tolerated does not matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct Toleration {
    /// The taint's key; empty for every key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// How to compare the value.
    #[serde(default, deserialize_with = "toleration_operator")]
    pub operator: TolerationOperator,
    /// The taint's value.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: String,
    /// The taint's effect; none for every effect.
    #[serde(default, deserialize_with = "toleration_effect")]
    pub effect: Option<TaintEffect>,
}

/// An empty operator is an absent one.
fn toleration_operator<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TolerationOperator, D::Error> {
    Ok(match Option::<String>::deserialize(deserializer)?.as_deref() {
        None | Some("" | "Equal") => TolerationOperator::Equal,
        Some("Exists") => TolerationOperator::Exists,
        Some(_) => TolerationOperator::Other,
    })
}

/// An empty effect is an absent one.
fn toleration_effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaintEffect>, D::Error> {
    Ok(match Option::<String>::deserialize(deserializer)?.as_deref() {
        None | Some("") => None,
        Some("NoSchedule") => Some(TaintEffect::NoSchedule),
        Some("PreferNoSchedule") => Some(TaintEffect::PreferNoSchedule),
        Some("NoExecute") => Some(TaintEffect::NoExecute),
        Some(_) => Some(TaintEffect::Other),
    })
}

/// One container.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// By which its status is found.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The image, as written.
    #[serde(default, deserialize_with = "null_is_default")]
    pub image: String,
    /// Requests.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resources: Resources,
    /// Ports.
    #[serde(default, deserialize_with = "null_is_default")]
    pub ports: Vec<ContainerPort>,
    /// `restartPolicy`; `Always` makes an init container a sidecar.
    #[serde(default, deserialize_with = "null_is_default")]
    pub restart_policy: RestartPolicy,
    /// What happens when the container exits in certain ways.
    #[serde(default, deserialize_with = "null_is_default")]
    pub restart_policy_rules: Vec<RestartPolicyRule>,
}

/// One entry of `restartPolicyRules`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct RestartPolicyRule {
    /// What is done.
    #[serde(default, deserialize_with = "null_is_default")]
    pub action: RestartAction,
}

text_enum! {
    /// What a restart rule does.
    RestartAction: absent Other, else Other {
        /// All containers of the pod are restarted.
        RestartAllContainers = "RestartAllContainers",
        /// Any other text, or none.
        Other,
    }
}

text_enum! {
    /// A container's own restart policy.
    RestartPolicy: absent Other, else Other {
        /// Restarted whenever it ends.
        Always = "Always",
        /// Any other text, or none.
        Other,
    }
}

/// `resources` of a container or of a pod as a whole. Limits are not kept: where only they are written, the API server has
/// made requests of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Resources {
    /// What is set aside.
    #[serde(default, deserialize_with = "null_is_default")]
    pub requests: ResourceList,
}

/// One port of a container; only host ports matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// The port on the node; 0 where none is asked for.
    #[serde(default, deserialize_with = "null_is_default")]
    pub host_port: i32,
    /// The node's address to bind; empty for all.
    #[serde(default, rename = "hostIP", deserialize_with = "null_is_default")]
    pub host_ip: String,
    /// As written; empty means `TCP`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub protocol: String,
}
