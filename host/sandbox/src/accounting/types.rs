//! Types that cross to and from an accounting component, named as in `sdk/predicate/wit/accounting`, which documents them: as a guest
//! returns them (`Raw…`), and checked.

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

/// `types.amount`: an amount of one resource.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub struct Amount {
    /// Name of the resource, for example `cpu` or `example.com/gpu`.
    pub resource: Arc<str>,
    /// In the units of the resource.
    pub value: i64,
}

/// `object-owners.owner`: an entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ObjectOwner {
    /// `apiVersion` of the owner, for example `apps/v1`.
    #[component(name = "api-version")]
    pub api_version: Arc<str>,
    /// `kind` of the owner, for example `ReplicaSet`.
    pub kind: Arc<str>,
    /// Name of the owner.
    pub name: Arc<str>,
    /// UID of the owner.
    pub uid: Arc<str>,
    /// Whether it manages the object.
    pub controller: bool,
}

/// Annotations that a component reads and sums that it declares, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Keys of annotations, sorted, each once.
    pub annotations: Vec<Arc<str>>,
    /// Names of sums, sorted, each once.
    pub sums: Vec<Arc<str>>,
}

/// Amounts by the names of sums, sorted, each once. All names are among the needs.
pub type Sums = Vec<(Arc<str>, i64)>;

/// Amounts that a pod takes, checked: each list is sorted and has a name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Amounts that a node must have free for the pod; none is below 0.
    pub requests: Vec<(Arc<str>, i64)>,
    /// Amounts that the pod takes of its node; none is below 0.
    pub usage: Vec<(Arc<str>, i64)>,
    /// Amounts that the pod adds to sums of its node.
    pub sums: Sums,
    /// Marks for operators, such as `migration-source`; no decision depends on them.
    pub flags: Vec<Arc<str>>,
}

/// Ruling of a component about a pod, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The pod takes the amounts that the API states, as without accounting.
    Standard,
    /// The pod takes these amounts in the place of those that the API states.
    Account(Account),
    /// The data read of the pod is inconsistent: one line of at most [`REASON_BYTES`](crate::limits::REASON_BYTES) bytes.
    Broken(String),
}

/// `accounting.needs`, unchecked: the annotations that a component reads, and the sums that it makes.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub(super) struct RawNeeds {
    pub(super) annotations: Vec<Arc<str>>,
    pub(super) sums: Vec<Arc<str>>,
}

/// `accounting.account`, unchecked: the amounts that a pod takes in the place of the standard ones.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub(super) struct RawAccount {
    pub(super) requests: Vec<Amount>,
    pub(super) usage: Vec<Amount>,
    pub(super) sums: RawSums,
    pub(super) flags: Vec<Arc<str>>,
}

/// `accounting.ruling`, unchecked: the answer of a component about a pod.
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(variant)]
pub(super) enum RawRuling {
    #[component(name = "standard")]
    Standard,
    #[component(name = "account")]
    Account(RawAccount),
    #[component(name = "broken")]
    Broken(String),
}

/// A list of sums, unchecked.
pub(super) type RawSums = Vec<(Arc<str>, i64)>;

/// Return type of `node`: the sums, or the component's error for the node.
pub(super) type NodeSums = Result<RawSums, String>;
