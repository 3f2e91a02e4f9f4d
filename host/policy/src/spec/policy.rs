//! The types of a checked policy. Start at [`Policy`]; `read` makes one.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::reach::NamedPath;
use nodesift_engine::{Mode, OnAccountError, OnError, Phases, PolicyParty};
use nodesift_registry::{Address, PublicKey, hex};
use nodesift_sandbox::Interface;
use nodesift_sandbox::accounting::ObjectInterface;

/// The `apiVersion` of policy documents.
pub const API_VERSION: &str = "nodesift.dev/v1alpha1";
/// API group of policy objects, as in [`API_VERSION`].
pub const GROUP: &str = "nodesift.dev";
/// Version of the API group, as in [`API_VERSION`].
pub const VERSION: &str = "v1alpha1";
/// The name of policies in paths of an API server.
pub const PLURAL: &str = "predicatepolicies";
/// The `kind` of policy documents.
pub const KIND: &str = "PredicatePolicy";
/// The `schedulerNames` of the default policy: kube-scheduler's default profile.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A policy: which predicates run, in which order, and which schedulers' pods are its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// Name of the document in messages, such as the path of its file.
    pub document: String,
    /// `metadata.name`; empty where the document has none.
    pub name: String,
    /// `spec.schedulerNames`, at least one: the schedulers whose pods are evaluated. Pods of any other scheduler are foreign.
    pub scheduler_names: Vec<String>,
    /// `spec.predicates`, at least one, in evaluation order; names are unique.
    pub predicates: Vec<PredicateSpec>,
    /// `spec.accounting`: what says what pods take of their nodes; none where that is what the API says.
    pub accounting: Option<AccountingSpec>,
    /// `spec.facts.annotations`: keys of the annotations that predicates may read, sorted by bytes, without duplicates. At
    /// most [`ANNOTATION_KEYS_MAX`](crate::limits::ANNOTATION_KEYS_MAX); empty where the document lists none.
    pub annotation_keys: Vec<String>,
    /// `spec.facts.configMaps`: ConfigMaps whose entries predicates may read, as `namespace/name`, sorted, each once. At most
    /// [`CONFIG_MAPS_MAX`](crate::limits::CONFIG_MAPS_MAX); empty where the document lists none.
    pub config_maps: Vec<String>,
    /// `spec.parties`: external parties that say which nodes do not suit, names unique. At most
    /// [`PARTIES`](nodesift_negotiation::limits::PARTIES).
    pub parties: Vec<PolicyParty>,
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
    /// How long an instance of a custom module lives. Those of built-ins are reused.
    pub instance: InstanceLife,
    /// The only interfaces that it may import; `None` allows all.
    pub allow: Option<BTreeSet<Interface>>,
    /// Failure policy: the replacement for its verdict when it fails.
    pub on_error: OnError,
    /// Whether its verdicts count.
    pub mode: Mode,
    /// The resources that one call may use.
    pub limits: SpecLimits,
}

/// The accounting component of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountingSpec {
    /// Where it is written.
    pub place: Place,
    /// Where its module is; never a built-in.
    pub module: ModuleSource,
    /// Keys of the annotations that it may read, sorted, each once.
    pub annotation_keys: Vec<String>,
    /// The arguments that it is configured with: always a JSON object, empty where the document has none.
    pub args: Value,
    /// The only interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<ObjectInterface>>,
    /// Usage that is assumed for a pod without a known account.
    pub on_error: OnAccountError,
    /// Namespaces whose pods take nothing, sorted, each once.
    pub ignored_namespaces: Vec<String>,
    /// Sums that are shown as gauges, sorted, each once.
    pub gauges: Vec<String>,
}

impl Policy {
    /// All modules: those of the predicates in their order, then that of the accounting component.
    pub fn modules(&self) -> impl Iterator<Item = NamedModule<'_>> {
        let predicates = self.predicates.iter().map(PredicateSpec::named_module);
        predicates.chain(self.accounting.iter().map(AccountingSpec::named_module))
    }
}

/// A module and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct NamedModule<'a> {
    /// The predicate's name, or [`ACCOUNTING`].
    pub name: &'a str,
    /// Where its entry is.
    pub place: &'a Place,
    /// Where the module is.
    pub module: &'a ModuleSource,
}

impl PredicateSpec {
    /// Returns its module, with the predicate's name and place.
    pub fn named_module(&self) -> NamedModule<'_> {
        NamedModule { name: &self.name, place: &self.place, module: &self.module }
    }
}

impl AccountingSpec {
    /// Returns its module, with the name [`ACCOUNTING`] and its place.
    pub fn named_module(&self) -> NamedModule<'_> {
        NamedModule { name: ACCOUNTING, place: &self.place, module: &self.module }
    }
}

/// Name of the accounting component in messages.
pub const ACCOUNTING: &str = "accounting";

/// How long an instance of a custom module lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceLife {
    /// For one call, so that no state of one pod can reach the next.
    #[default]
    Fresh,
    /// For many calls, where one trusts the module.
    Reuse,
}

/// A place in a policy document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file, where the document is in several.
    pub file: Option<Arc<str>>,
    /// Line in the file, from 1.
    pub line: u64,
    /// Column in the line, from 1.
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
    /// Bytes that one `filter` call may pass to the host, not counting the codes of the rows.
    pub output_bytes: Option<usize>,
    /// Lines that it may write to the log in a second.
    pub log_lines: Option<u32>,
}

/// Where the module of a predicate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleSource {
    /// In the bundle of built-ins, under the predicate's name.
    Builtin,
    /// In a component file.
    Path {
        /// The file; a relative path has been joined to the folder of the policy.
        path: NamedPath,
        /// The SHA-256 that the file must have; `None` accepts any content.
        digest: Option<[u8; 32]>,
    },
    /// In a folder with an OCI image layout.
    Oci {
        /// The folder; a relative path has been joined to the folder of the policy.
        layout: NamedPath,
        /// The reference by which the layout's index names the artifact.
        reference: String,
        /// The SHA-256 that the artifact's manifest or its component must have.
        digest: [u8; 32],
        /// `spec.modules.keys`: one of them has to have signed it, in the layout. Where there are none, nobody has to.
        keys: Arc<[Key]>,
    },
    /// In an OCI registry, from which it is pulled.
    Registry(RegistryModule),
}

/// A module in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryModule {
    /// Registry, repository and tag of the artifact.
    pub address: Address,
    /// The SHA-256 that the artifact's manifest or its component must have.
    pub digest: [u8; 32],
    /// `spec.modules.keys`: one of them has to have signed it. Where there are none, nobody has to.
    pub keys: Arc<[Key]>,
}

/// A key that may sign modules of registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// In this file; a relative path has been joined to the folder of the policy.
    Path(NamedPath),
    /// In the document itself, as PEM.
    Inline(PublicKey),
}

impl ModuleSource {
    /// The digest of an artifact's manifest or its component, and the keys of which one has to have signed it; none where it is no
    /// artifact.
    pub(crate) fn artifact(&self) -> Option<(&[u8; 32], &[Key])> {
        match self {
            Self::Builtin | Self::Path { .. } => None,
            Self::Oci { digest, keys, .. } | Self::Registry(RegistryModule { digest, keys, .. }) => {
                Some((digest, keys))
            }
        }
    }

    /// The files on which it depends: where one of them changes, the module may.
    pub fn files(&self) -> Vec<NamedPath> {
        match self {
            Self::Builtin => Vec::new(),
            Self::Path { path, .. } => vec![path.clone()],
            Self::Oci { layout, digest, keys, .. } => {
                let own = [layout.join(OCI_INDEX), layout.join(blob(digest))];
                own.into_iter().chain(key_files(keys)).collect()
            }
            Self::Registry(RegistryModule { keys, .. }) => key_files(keys).collect(),
        }
    }
}

fn key_files(keys: &[Key]) -> impl Iterator<Item = NamedPath> {
    keys.iter().filter_map(|key| match key {
        Key::Path(path) => Some(path.clone()),
        Key::Inline(_) => None,
    })
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("built in"),
            Self::Path { path, .. } => write!(f, "{path}"),
            Self::Registry(RegistryModule { address, .. }) => write!(f, "{address}"),
            Self::Oci { layout, reference, .. } => write!(f, "{reference} in {layout}"),
        }
    }
}

/// The file of an OCI image layout that lists its manifests.
pub(crate) const OCI_INDEX: &str = "index.json";

/// The file of an OCI image layout that holds the content with this digest.
pub(crate) fn blob(digest: &[u8; 32]) -> PathBuf {
    Path::new("blobs").join("sha256").join(hex(digest))
}
