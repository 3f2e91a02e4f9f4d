//! The types of a checked policy. Start at [`Policy`]; `read` makes one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use nodesift_engine::{OnError, Phases};

/// The `apiVersion` of policy documents.
pub const API_VERSION: &str = "nodesift.dev/v1alpha1";
/// The `kind` of policy documents.
pub const KIND: &str = "PredicatePolicy";
/// The `schedulerNames` of the default policy: kube-scheduler's default profile.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A policy: which predicates run, in which order, and which schedulers' pods are its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// What messages call the document.
    pub document: String,
    /// `metadata.name`; empty where the document has none.
    pub name: String,
    /// `spec.schedulerNames`, at least one: the schedulers whose pods are evaluated. Pods of any other scheduler are foreign.
    pub scheduler_names: Vec<String>,
    /// `spec.predicates`, at least one, in evaluation order; names are unique.
    pub predicates: Vec<PredicateSpec>,
    /// `spec.facts.annotations`: keys of the annotations that predicates may read, sorted by bytes, without duplicates. At
    /// most [`ANNOTATION_KEYS_MAX`](crate::limits::ANNOTATION_KEYS_MAX); empty where the document lists none.
    pub annotation_keys: Vec<String>,
    /// `spec.onUnsupported`: what becomes of the nodes for a pod that asks for what no predicate evaluates.
    pub on_unsupported: OnError,
    /// `spec.rollbackOnQuarantine`: whether a predicate that is put in quarantine brings the policy before back.
    pub rollback_on_quarantine: bool,
}

/// One predicate of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PredicateSpec {
    /// The name of a built-in, or the name that the policy gives to a custom module.
    pub name: String,
    /// Where its entry is.
    pub place: Place,
    /// The phases in which it runs; all where the document names none.
    pub phases: Phases,
    /// The arguments that the module is configured with: always a JSON object, empty where the document has none.
    pub args: Value,
    /// Where its module is.
    pub module: ModuleSource,
    /// Names of the only interfaces that it may import, not checked yet; `None` allows all.
    pub allow: Option<BTreeSet<String>>,
    /// What replaces its verdict when it fails.
    pub on_error: OnError,
    /// The resources that one call may use.
    pub limits: SpecLimits,
}

/// A place in a policy document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
    /// Path of the field, such as `spec.predicates[0]`.
    pub field: String,
}

/// The limits that a policy sets for one predicate; `None` stands for the sandbox's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpecLimits {
    /// Linear memory of one instance, in bytes.
    pub memory_bytes: Option<usize>,
    /// Processor time of one `filter` call.
    pub time_per_call: Option<Duration>,
}

/// Where the module of a predicate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleSource {
    /// In the bundle of built-ins, under the predicate's name.
    Builtin,
    /// In a file.
    Path {
        /// The file; a relative path has been joined to the folder of the policy.
        path: PathBuf,
        /// The SHA-256 that the file must have; `None` accepts any content.
        digest: Option<[u8; 32]>,
    },
}
