//! Why an accounting component is not loaded. Start at [`AccountingError`].

use std::time::Duration;

use super::contract::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
use crate::load_error::LoadError;

/// Why an accounting component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum AccountingError {
    /// It is no component, or too large, or does not compile, or a call at load has failed: as for every component.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It is built for a version of the contract that this host does not serve.
    #[error(
        "the component is built for {ACCOUNTING_PACKAGE} {built_for}, and this nodesift serves {ACCOUNTING_VERSION}: take a nodesift \
         that serves {built_for}, or build the component for {ACCOUNTING_VERSION}"
    )]
    ContractVersion {
        /// The version in the name of its export.
        built_for: String,
    },
    /// It imports functions that the host does not provide.
    #[error(
        "the component imports what nodesift does not offer for accounting: {}; it offers {ACCOUNTING_PACKAGE} {ACCOUNTING_VERSION}: {}",
        .0.join(", "),
        ObjectInterface::ALL.map(ObjectInterface::name).join(", ")
    )]
    UnknownImports(Vec<String>),
    /// It imports interfaces that the policy does not allow.
    #[error("the component imports {}, which `allow` does not list", .0.join(", "))]
    ForbiddenImports(Vec<&'static str>),
    /// Its imports or exports do not have the contract's types.
    #[error("the component does not fit the contract {ACCOUNTING_PACKAGE} {ACCOUNTING_VERSION}: {0}")]
    Contract(String),
    /// `configure` refuses the arguments, with this text.
    #[error("configure: {0}")]
    Refused(String),
    /// It needs annotations that the policy does not grant.
    #[error("the component reads the annotations {}, which `annotations` does not list", .0.join(", "))]
    NotGranted(Vec<String>),
    /// A new instance takes too long to be ready.
    #[error("a new instance is made after each fault, and is not ready within {0:?}: do less in `configure`")]
    SlowStart(Duration),
}
