//! A policy document, typed and checked: defaults are filled in, and every reference inside the document holds.
//!
//! | file | holds |
//! |---|---|
//! | `read` | file, folder or text → [`Policy`]: the only way to get one |
//! | `policy` | [`Policy`]: fields of `spec`, declared, checked and typed |
//! | `predicate`, `score`, `module`, `accounting`, `parties` | the same for each map in it |
//! | `kubernetes` | the version of Kubernetes, with its switches for built-ins |
//! | `check` | what the checks share: the document as written → [`Policy`], or every problem that it has |
//! | `annotation_key` | the API server's rule for annotation keys |
//! | `name` | what predicates, scorers, schedulers and the policy may be called |
//! | `object_name` | its rule for namespaces and names |
//! | `bundled` | every built-in that a document can name, as the bundled policies list it |
//! | `select` | a policy reduced to some of its predicates |
//!
//! Nothing outside the document is looked at except the names of the built-ins. Whether a module exists and imports only
//! what it may is checked by [`activate`](crate::activate). Start at [`Policy::read`].

mod accounting;
mod annotation_key;
mod bundled;
mod check;
mod kubernetes;
mod module;
mod name;
mod object_name;
mod parties;
mod policy;
mod predicate;
mod read;
mod score;
mod select;

pub use accounting::{ACCOUNTING, AccountingSpec};
pub use bundled::bundled;
pub use module::{Key, ModuleSource, NamedModule, RegistryModule, Role};
pub(crate) use module::{OCI_INDEX, blob};
pub(crate) use policy::SpecFields;
pub use policy::{API_VERSION, DEFAULT_SCHEDULER, GROUP, KIND, PLURAL, Place, Policy, VERSION};
pub use predicate::{InstanceLife, PredicateSpec, SpecLimits};
pub use read::{PolicyError, PolicyText};
pub(crate) use read::{is_document, locate};
pub use score::ScorerSpec;
pub use select::SelectError;

#[cfg(test)]
mod tests;
