//! Policies: which predicates run, in which order, with which arguments and limits.
//!
//! A policy goes through three rooms, each with an error type of its own:
//!
//! ```text
//! text ── document ──────► spec ────────────────► activate ───────────► engine::ActivePolicy
//!         YAML as written   typed and checked      modules loaded and
//!         (Problem)         (PolicyError)          configured (ActivateErrors)
//! ```
//!
//! - `document` parses YAML or JSON and knows where each value stands, by [`tree`]. It interprets nothing.
//! - `declare` makes reader and schema of each map of a document from one declaration.
//! - [`spec`] declares these maps, makes a [`Policy`] of them and reports every problem at once, with line, column and field.
//! - [`kubernetes`] has the versions of Kubernetes whose verdicts there are, and what differs between them.
//! - [`activate`] reads the modules of a [`Policy`] and has the sandbox load them. Only it does I/O beyond the policy's file.
//! - `parts` makes one document of the files of a folder.
//! - [`problem`] is something wrong in a document, with its place.
//! - [`schema()`] is the JSON schema of documents, for editors.
//! - [`object`] is the policy as an object of a cluster: its definition, its document, its status.
//! - [`reload`] follows the files of a policy, or its object, and makes what they hold the active policy of a running engine.
//! - [`remembered`] keeps the last good policy over restarts.
//! - [`import()`] makes a policy of a configuration of kube-scheduler.
//! - [`shadow`] evaluates predicates and policies beside the active one, which decide nothing.
//! - [`PulledFolder`] keeps modules that were pulled from registries.
//! - `proof` is what shows that a component is the one of a policy, where it is kept beside that.
//! - `keys` reads the keys that may sign modules.
//! - `file` reads regular files of a bounded size, and nothing else.
//! - [`Reach`] is what a policy may name: files below one folder, and some registries.
//! - [`limits`] holds every limit of a policy document and of its reload.
//!
//! Evaluating the active policy is the engine's part. Start at [`Policy::read_file`].

mod activate;
mod declare;
mod document;
mod file;
mod import;
mod keys;
pub mod kubernetes;
pub mod limits;
pub mod object;
mod parts;
pub mod problem;
mod proof;
mod pulled;
mod reach;
pub mod reload;
pub mod remembered;
mod schema;
pub mod shadow;
pub mod spec;
pub mod tree;

pub use activate::{
    ActivateError, ActivateErrors, ModuleFile, OciError, activate, activate_beside, activate_with, grants,
    scorer_grants, with_module, with_module_errors,
};
pub use file::{FileError, read_text};
pub use import::{ImportFlags, Imported, import};
pub use keys::KeysError;
pub use problem::Problem;
pub use proof::ProofError;
pub use pulled::{PullError, PulledFolder};
pub use reach::{Folder, NamedPath, Reach, ReachError};
pub use schema::schema;
pub use spec::{
    API_VERSION, AccountingSpec, InstanceLife, Key, ModuleSource, Place, Policy, PolicyError, PolicyText,
    PredicateSpec, RegistryModule, Role, ScorerSpec, SelectError, SpecLimits, bundled,
};
