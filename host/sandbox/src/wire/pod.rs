//! Types of the `pod-*` and `node-*` interfaces. The contract documents them under the same names.
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

use super::selectors::LabelSelector;

/// `pod-placement.operator`: the operator of a node selector requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum Operator {
    #[component(name = "in")]
    In,
    #[component(name = "not-in")]
    NotIn,
    #[component(name = "exists")]
    Exists,
    #[component(name = "does-not-exist")]
    DoesNotExist,
    #[component(name = "gt")]
    Gt,
    #[component(name = "lt")]
    Lt,
    #[component(name = "unknown")]
    Unknown,
}

/// `pod-placement.requirement`: a NodeSelectorRequirement, as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Requirement {
    pub key: Arc<str>,
    pub operator: Operator,
    pub values: Vec<Arc<str>>,
}

/// `pod-placement.term`: a NodeSelectorTerm, all of whose requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Term {
    pub expressions: Vec<Requirement>,
    pub fields: Vec<Requirement>,
}

/// `pod-placement.preferred-term`: a PreferredSchedulingTerm, a term with its weight.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct PreferredTerm {
    pub weight: i32,
    pub preference: Term,
}

/// `pod-tolerations.operator`: the operator of a toleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum TolerationOperator {
    #[component(name = "equal")]
    Equal,
    #[component(name = "exists")]
    Exists,
    #[component(name = "other")]
    Other,
}

/// `pod-tolerations.effect`: the effect of a taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum Effect {
    #[component(name = "no-schedule")]
    NoSchedule,
    #[component(name = "prefer-no-schedule")]
    PreferNoSchedule,
    #[component(name = "no-execute")]
    NoExecute,
    #[component(name = "other")]
    Other,
}

/// `pod-tolerations.toleration`: an entry of `spec.tolerations`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Toleration {
    pub key: Arc<str>,
    pub operator: TolerationOperator,
    pub value: Arc<str>,
    pub effect: Option<Effect>,
}

/// `node-taints.taint`: an entry of a node's `spec.taints`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Taint {
    pub key: Arc<str>,
    pub value: Arc<str>,
    pub effect: Effect,
}

/// `node-info.field`: a field of `status.nodeInfo`, or `spec.providerID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum InfoField {
    #[component(name = "kubelet-version")]
    KubeletVersion,
    #[component(name = "kernel-version")]
    KernelVersion,
    #[component(name = "container-runtime-version")]
    ContainerRuntimeVersion,
    #[component(name = "os-image")]
    OsImage,
    #[component(name = "operating-system")]
    OperatingSystem,
    #[component(name = "architecture")]
    Architecture,
    #[component(name = "provider-id")]
    ProviderId,
}

impl InfoField {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeletVersion => "kubelet-version",
            Self::KernelVersion => "kernel-version",
            Self::ContainerRuntimeVersion => "container-runtime-version",
            Self::OsImage => "os-image",
            Self::OperatingSystem => "operating-system",
            Self::Architecture => "architecture",
            Self::ProviderId => "provider-id",
        }
    }
}

/// `pod-resources.request`: the requested amount of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Request {
    pub resource: Arc<str>,
    pub amount: i64,
}

/// `pod-spread.when-unsatisfiable`: `whenUnsatisfiable` of a topology spread constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum WhenUnsatisfiable {
    #[component(name = "do-not-schedule")]
    DoNotSchedule,
    #[component(name = "schedule-anyway")]
    ScheduleAnyway,
    #[component(name = "other")]
    Other,
}

/// `pod-spread.inclusion`: whether the nodes that the pod cannot run on are excluded from the counts or included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum Inclusion {
    #[component(name = "honor")]
    Honor,
    #[component(name = "ignore")]
    Ignore,
    #[component(name = "other")]
    Other,
}

/// `pod-spread.constraint`: an entry of `spec.topologySpreadConstraints`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct SpreadConstraint {
    #[component(name = "max-skew")]
    pub max_skew: i32,
    #[component(name = "topology-key")]
    pub topology_key: Arc<str>,
    #[component(name = "when-unsatisfiable")]
    pub when_unsatisfiable: WhenUnsatisfiable,
    pub selector: Option<LabelSelector>,
    #[component(name = "min-domains")]
    pub min_domains: Option<i32>,
    #[component(name = "node-affinity-policy")]
    pub node_affinity_policy: Option<Inclusion>,
    #[component(name = "node-taints-policy")]
    pub node_taints_policy: Option<Inclusion>,
    #[component(name = "match-label-keys")]
    pub match_label_keys: Vec<Arc<str>>,
}

/// `pod-affinity.term`: a PodAffinityTerm, as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct AffinityTerm {
    pub selector: Option<LabelSelector>,
    pub namespaces: Vec<Arc<str>>,
    #[component(name = "namespace-selector")]
    pub namespace_selector: Option<LabelSelector>,
    #[component(name = "topology-key")]
    pub topology_key: Arc<str>,
    #[component(name = "match-label-keys")]
    pub match_label_keys: Vec<Arc<str>>,
    #[component(name = "mismatch-label-keys")]
    pub mismatch_label_keys: Vec<Arc<str>>,
}

/// `pod-volumes.disk-kind`: the in-tree volume types that kube-scheduler checks for conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub enum DiskKind {
    #[component(name = "gce-persistent-disk")]
    GcePersistentDisk,
    #[component(name = "aws-elastic-block-store")]
    AwsElasticBlockStore,
    #[component(name = "iscsi")]
    Iscsi,
    #[component(name = "rbd")]
    Rbd,
}

/// `pod-volumes.disk`: a disk that the pod names directly, without a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Disk {
    pub kind: DiskKind,
    pub id: Arc<str>,
    #[component(name = "read-only")]
    pub read_only: bool,
    pub monitors: Vec<Arc<str>>,
}

/// `pod-volumes.claim-ref`: a reference to a PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ClaimRef {
    pub name: Arc<str>,
    pub ephemeral: bool,
}

/// `pod-volumes.volume`: an entry of `spec.volumes`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(variant)]
pub enum PodVolume {
    #[component(name = "disk")]
    Disk(Disk),
    #[component(name = "claim")]
    Claim(ClaimRef),
}

/// `pod-owner.owner`: an object that owns pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct Controller {
    #[component(name = "api-version")]
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
}
