//! Why a component is not loaded.

use std::time::Duration;

use super::contract::{self, PACKAGE, VERSION};
use super::interface::Interface;
use crate::fault::Fault;

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The module is larger than [`COMPONENT_BYTES`](crate::limits::COMPONENT_BYTES).
    #[error("the module has {bytes} bytes, at most {limit} are allowed")]
    Size {
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It declares more than [`COMPONENT_DECLARATIONS`](crate::limits::COMPONENT_DECLARATIONS), or in more bytes than
    /// [`COMPONENT_DECLARATION_BYTES`](crate::limits::COMPONENT_DECLARATION_BYTES).
    #[error(
        "the component has {found} {unit} of types, imports, exports, aliases and instances, at most {limit} are allowed: link fewer \
         libraries into it"
    )]
    Declarations {
        /// How many there are.
        found: usize,
        /// Of what: `declarations` or `bytes`.
        unit: &'static str,
        /// How many are allowed.
        limit: usize,
    },
    /// The bytes are not a component. The text says what they are.
    #[error("{0}")]
    NotAComponent(&'static str),
    /// The bytes do not compile.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// Compilation took more processor time than [`COMPILE_TIME`](crate::limits::COMPILE_TIME).
    #[error("the component did not compile within {0:?} of processor time: make it smaller")]
    CompileTime(Duration),
    /// Compilation took longer than [`COMPILE_WAIT`](crate::limits::COMPILE_WAIT).
    #[error("the component did not compile within {0:?}: try again where the machine is less busy")]
    CompileWait(Duration),
    /// Compilation took more memory than [`COMPILE_BYTES`](crate::limits::COMPILE_BYTES).
    #[error("the component did not compile within {} MiB of memory", .limit >> 20)]
    CompileMemory {
        /// Limit on the memory of the compiler, in bytes.
        limit: u64,
    },
    /// It is built for a version of the contract that this host does not serve.
    #[error(
        "the component is built for {PACKAGE} {built_for}, and this nodesift serves {}: take a nodesift that serves \
         {built_for}, or build the component for a version that this one serves",
        contract::served()
    )]
    ContractVersion {
        /// The version in the name of its export.
        built_for: String,
    },
    /// It imports functions that the host does not provide.
    #[error("the component imports what nodesift does not offer: {}; it offers {PACKAGE} {VERSION}: {}", .0.join(", "), Interface::ALL.map(Interface::name).join(", "))]
    UnknownImports(Vec<String>),
    /// It imports interfaces that the policy does not allow.
    #[error("the component imports {}, which `allow` does not list", .0.join(", "))]
    ForbiddenImports(Vec<&'static str>),
    /// Its imports or exports do not have the contract's types.
    #[error("the component does not fit the contract {PACKAGE} {VERSION}: {0}")]
    Contract(String),
    /// Instantiation, `describe` or `configure` failed.
    #[error("{step}: {fault}")]
    Step {
        /// `instantiate`, `describe` or `configure`.
        step: &'static str,
        /// Fault with which the step ended.
        fault: Fault,
    },
    /// A new instance takes more time than a call has, of which it is a part.
    #[error(
        "{step}: a new instance is made and configured within a call where none waits, and takes more than the {budget:?} of one: do less \
         before `filter`, or grant more with `limits.timePerCall`"
    )]
    SlowStart {
        /// Name of the slow step: `instantiate` or `configure`.
        step: &'static str,
        /// Of the least call.
        budget: Duration,
    },
}
