//! A policy document, typed and checked: defaults are filled in, and every reference inside the document holds.
//!
//! | file | holds |
//! |---|---|
//! | `policy` | [`Policy`] and what it consists of |
//! | `read` | file, folder or text → [`Policy`]: the only way to get one |
//! | `check` | the document as written → [`Policy`], or every problem that it has |
//! | `annotation_key` | the API server's rule for annotation keys |
//! | `object_name` | its rule for namespaces and names |
//! | `select` | a policy reduced to some of its predicates |
//!
//! Nothing outside the document is looked at except the names of the built-ins. Whether a module exists and imports only
//! what it may is checked by [`activate`](crate::activate). Start at [`Policy::read`].

mod annotation_key;
mod check;
mod object_name;
mod policy;
mod read;
mod select;

pub use policy::{
    ACCOUNTING, API_VERSION, AccountingSpec, DEFAULT_SCHEDULER, GROUP, InstanceLife, KIND, Key, ModuleSource,
    NamedModule, PLURAL, Place, Policy, PredicateSpec, RegistryModule, SpecLimits, VERSION,
};
pub(crate) use policy::{OCI_INDEX, blob};
pub use read::{PolicyError, PolicyText};
pub(crate) use read::{is_document, locate};
pub use select::SelectError;

#[cfg(test)]
mod tests;
