//! What crosses to and from an accounting component, named as in `sdk/predicate/wit/accounting`, which documents it: as a guest
//! returns it (`Raw…`), and checked.

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, Lower};

/// `types.amount`
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub struct Amount {
    /// The resource name.
    pub resource: Arc<str>,
    /// In the units of the resource.
    pub value: i64,
}

/// `object-owners.owner`
#[derive(Debug, Clone, PartialEq, Eq, Hash, ComponentType, Lower)]
#[component(record)]
pub struct ObjectOwner {
    /// `apiVersion`
    #[component(name = "api-version")]
    pub api_version: Arc<str>,
    /// `kind`
    pub kind: Arc<str>,
    /// `name`
    pub name: Arc<str>,
    /// `uid`
    pub uid: Arc<str>,
    /// Whether it manages the object.
    pub controller: bool,
}

/// What a component reads and adds up, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Keys of annotations, sorted, each once.
    pub annotations: Vec<Arc<str>>,
    /// Names of sums, sorted, each once.
    pub sums: Vec<Arc<str>>,
}

/// Amounts by the names of sums, sorted, each once. All names are among the needs.
pub type Sums = Vec<(Arc<str>, i64)>;

/// What a pod takes, checked: each list is sorted and has a name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// What a node must have free; none is below 0.
    pub requests: Vec<(Arc<str>, i64)>,
    /// What it takes of its node; none is below 0.
    pub usage: Vec<(Arc<str>, i64)>,
    /// What it adds to sums of its node.
    pub sums: Sums,
    /// Marks for operators.
    pub flags: Vec<Arc<str>>,
}

/// What a component says of a pod, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// As without accounting.
    Standard,
    /// It takes this.
    Account(Account),
    /// What was read of it contradicts itself: one line of at most [`REASON_BYTES`](crate::limits::REASON_BYTES) bytes.
    Broken(String),
}

/// `accounting.needs`
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub(super) struct RawNeeds {
    pub(super) annotations: Vec<Arc<str>>,
    pub(super) sums: Vec<Arc<str>>,
}

/// `accounting.account`
#[derive(Debug, Clone, ComponentType, Lift)]
#[component(record)]
pub(super) struct RawAccount {
    pub(super) requests: Vec<Amount>,
    pub(super) usage: Vec<Amount>,
    pub(super) sums: RawSums,
    pub(super) flags: Vec<Arc<str>>,
}

/// `accounting.ruling`
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
