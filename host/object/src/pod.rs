//! Pods: metadata and spec. Their volumes are in [`crate::volume`], their status is in [`crate::status`].

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::affinity::{Affinity, TopologySpreadConstraint};
use crate::field::{is_default, name, null_is_default, presence, text_enum};
use crate::node::TaintEffect;
use crate::status::PodStatus;
use crate::time::Timestamp;
use crate::volume::Volume;
use crate::{Labels, ResourceList};

/// The namespace of a pod that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Pod of the core API (`v1`), with the fields that predicates read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Pod {
    /// Name, identity, labels and owners.
    pub metadata: Metadata,
    /// Desired state: containers, volumes, and constraints on the node.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub spec: PodSpec,
    /// Observed state: phase, conditions, and resources in force.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub status: PodStatus,
}

impl Pod {
    /// Returns `namespace/name`, unique among pods.
    pub fn key(&self) -> String {
        [&self.metadata.namespace, "/", &self.metadata.name].concat()
    }

    /// Writes the object as JSON, with the fields that are read and no others, and of the annotations those with these keys, sorted: read
    /// again, it is the same but for the other annotations. They may hold whole manifests, with whatever is secret in them.
    ///
    /// # Errors
    ///
    /// None that a pod can cause: its parts all have a form in JSON.
    pub fn to_json(&self, annotation_keys: &[String]) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Object<'a> {
            api_version: &'static str,
            kind: &'static str,
            metadata: Metadata,
            spec: &'a PodSpec,
            #[serde(skip_serializing_if = "Option::is_none")]
            status: Option<&'a PodStatus>,
        }
        let Self { metadata, spec, status } = self;
        let status = Some(status).filter(|status| !is_default(*status));
        let is_listed = |key: &str| annotation_keys.binary_search_by(|listed| listed.as_str().cmp(key)).is_ok();
        let annotations = metadata.annotations.iter().filter(|(key, _)| is_listed(key));
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        let metadata = Metadata { annotations, ..metadata.clone() };
        serde_json::to_string(&Object { api_version: "v1", kind: "Pod", metadata, spec, status })
    }
}

/// `metadata` of a Pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Name of the pod, never empty.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Namespace of the pod, never empty: [`DEFAULT_NAMESPACE`] where it names none.
    #[serde(default = "default_namespace", deserialize_with = "namespace")]
    pub namespace: String,
    /// UID of the pod; empty where the source has none.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub uid: String,
    /// Opaque resourceVersion of the pod; empty where the source has none.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub resource_version: String,
    /// Labels, sorted by key.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub labels: Labels,
    /// Annotations. Their values can be large; what is compiled of a pod has only those that the policy lists.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub annotations: Labels,
    /// When the pod was created, `metadata.creationTimestamp`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub creation_timestamp: Timestamp,
    /// Whether `deletionTimestamp` is set: the pod is being deleted and still uses its resources.
    #[serde(
        default,
        rename = "deletionTimestamp",
        deserialize_with = "presence",
        serialize_with = "some_moment",
        skip_serializing_if = "is_default"
    )]
    pub terminating: bool,
    /// Owners of the pod, for example its ReplicaSet or Job.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub owner_references: Vec<OwnerReference>,
}

/// Writes a flag that is set as a moment, of which only the presence is read.
fn some_moment<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("1970-01-01T00:00:00Z")
}

fn default_namespace() -> String {
    DEFAULT_NAMESPACE.to_owned()
}

fn namespace<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let namespace = Option::<String>::deserialize(deserializer)?;
    Ok(namespace.filter(|namespace| !namespace.is_empty()).unwrap_or_else(default_namespace))
}

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// The API group and version of the owner's kind.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub api_version: String,
    /// The owner's kind; `Node` for a static pod.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub kind: String,
    /// Name of the owner.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// UID of the owner.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub uid: String,
    /// Whether this owner manages the pod; at most one does.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub controller: bool,
}

/// `spec` of a Pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// The node the pod is bound to, or asks for by name; empty where neither.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub node_name: String,
    /// Labels that the node must carry.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub node_selector: Labels,
    /// Required affinity and anti-affinity terms, as in `spec.affinity`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub affinity: Affinity,
    /// Tolerations in the order of `spec.tolerations`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub tolerations: Vec<Toleration>,
    /// Constraints on how pods spread over topology domains.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// Volumes in the order of `spec.volumes`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub volumes: Vec<Volume>,
    /// Claims of devices, in order.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Containers that run together.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub containers: Vec<Container>,
    /// Containers that run one after the other before them; restartable ones go on running.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub init_containers: Vec<Container>,
    /// Resources that the pod uses besides those of its containers, as in `spec.overhead`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub overhead: ResourceList,
    /// Requests of the pod as a whole.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// The scheduler that is to place the pod; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub scheduler_name: String,
    /// Gates that hold the pod back: no scheduler looks at it before all are removed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub scheduling_gates: Vec<SchedulingGate>,
    /// Priority; none where the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// The name of the class that `priority` comes from; empty where there is none.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub priority_class_name: String,
    /// The pod's identity towards the API server; empty where the source does not say.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub service_account_name: String,
    /// Name of the RuntimeClass; empty for the default runtime of the node.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub runtime_class_name: String,
    /// Whether the pod shares the node's network.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub host_network: bool,
    /// Whether the pod uses the user namespace of its node; absent means that it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_users: Option<bool>,
}

/// One entry of `spec.schedulingGates`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct SchedulingGate {
    /// Name of the gate, for whoever removes it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
}

/// One entry of `spec.resourceClaims`. Of the two names of objects one is there; with both the claim's counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodResourceClaim {
    /// Name by which containers refer to the claim.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// The ResourceClaim; none where it is not said by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claim_name: Option<String>,
    /// The ResourceClaimTemplate of which a ResourceClaim is made for the pod; the pod's status names that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claim_template_name: Option<String>,
}

text_enum! {
    /// How a toleration compares its value.
    TolerationOperator: absent Equal, else Other {
        /// The taint has this value. Also where the operator is absent.
        Equal = "Equal",
        /// The taint may have any value.
        Exists = "Exists",
        /// Any other text: tolerates nothing.
        Other,
    }
}

/// One entry of `spec.tolerations`. How long a taint is tolerated does not matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct Toleration {
    /// The taint's key; empty for every key.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub key: String,
    /// Operator that compares the taint's value.
    #[serde(default, deserialize_with = "toleration_operator", skip_serializing_if = "is_default")]
    pub operator: TolerationOperator,
    /// Value that the taint must have, where the operator is `Equal`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub value: String,
    /// The taint's effect; none for every effect.
    #[serde(default, deserialize_with = "toleration_effect", skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

/// Reads an operator; an empty one means the same as an absent one.
fn toleration_operator<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TolerationOperator, D::Error> {
    Ok(match Option::<String>::deserialize(deserializer)?.as_deref() {
        None | Some("" | "Equal") => TolerationOperator::Equal,
        Some("Exists") => TolerationOperator::Exists,
        Some(_) => TolerationOperator::Other,
    })
}

/// Reads an effect; an empty one means the same as an absent one.
fn toleration_effect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaintEffect>, D::Error> {
    Ok(match Option::<String>::deserialize(deserializer)?.as_deref() {
        None | Some("") => None,
        Some("NoSchedule") => Some(TaintEffect::NoSchedule),
        Some("PreferNoSchedule") => Some(TaintEffect::PreferNoSchedule),
        Some("NoExecute") => Some(TaintEffect::NoExecute),
        Some(_) => Some(TaintEffect::Other),
    })
}

/// A container or init container of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Name of the container, by which its status is found.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// The image, as written.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub image: String,
    /// Resource requests of the container.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// Ports of the container, of which only host ports matter.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub ports: Vec<ContainerPort>,
    /// `restartPolicy`; `Always` makes an init container a sidecar.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub restart_policy: RestartPolicy,
    /// Actions for certain exits of the container, in the order of `restartPolicyRules`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub restart_policy_rules: Vec<RestartPolicyRule>,
    /// Whether a mount of a volume has `bindMountOptions`.
    #[serde(
        default,
        rename = "volumeMounts",
        deserialize_with = "have_bind_mount_options",
        serialize_with = "some_mount",
        skip_serializing_if = "is_default"
    )]
    pub has_bind_mount_options: bool,
}

/// One entry of `volumeMounts`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeMount {
    #[serde(default)]
    bind_mount_options: Option<Vec<serde::de::IgnoredAny>>,
}

fn have_bind_mount_options<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let mounts = Option::<Vec<VolumeMount>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(mounts.iter().filter_map(|mount| mount.bind_mount_options.as_ref()).any(|options| !options.is_empty()))
}

/// Writes a flag that is set as a mount with an option.
fn some_mount<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Mount {
        bind_mount_options: [&'static str; 1],
    }
    serializer.collect_seq([Mount { bind_mount_options: ["some"] }])
}

/// One entry of `restartPolicyRules`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
pub struct RestartPolicyRule {
    /// Action that the rule takes.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub action: RestartAction,
}

text_enum! {
    /// Action of a rule in `restartPolicyRules`.
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Resources {
    /// Requested amounts by resource name, as in `requests`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub requests: ResourceList,
}

/// One port of a container; only host ports matter for placement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// The port on the node; 0 where none is asked for.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub host_port: i32,
    /// The node's address to bind; empty for all.
    #[serde(default, rename = "hostIP", deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub host_ip: String,
    /// Protocol of the port, as written; empty means `TCP`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub protocol: String,
}
