//! Builds predicate crates for wasm32 and encodes them as components.
//!
//! There are three steps with a module each: [`toolchain`] finds a Rust toolchain that compiles for
//! `wasm32-unknown-unknown`, [`compile`] compiles all crates with one cargo, and [`component`] encodes core modules as
//! components and reads their imports. [`build`] runs all three; start there. The binary `nodesift-guest` is its
//! command line.

pub mod compile;
pub mod component;
mod standard_library;
pub mod toolchain;

use std::path::{Path, PathBuf};

pub use crate::compile::LockFile;
use crate::component::ComponentError;
use crate::toolchain::{Toolchain, ToolchainError};

/// A built predicate crate.
#[derive(Debug)]
pub struct Built {
    /// The crate's package name.
    pub package: String,
    /// The predicate's name as `package.metadata.nodesift.predicate` gives it.
    pub predicate: Option<String>,
    /// The scorer's name as `package.metadata.nodesift.scorer` gives it.
    pub scorer: Option<String>,
    /// The accounting module's name as `package.metadata.nodesift.accounting` gives it.
    pub accounting: Option<String>,
    /// The directory of the crate.
    pub folder: PathBuf,
    /// The bytes of the component.
    pub component: Vec<u8>,
}

/// Why a predicate was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No toolchain on this machine compiles for wasm32.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The crates did not compile.
    #[error(transparent)]
    Compile(#[from] compile::CompileError),
    /// A crate compiled, but its module does not conform to the contract.
    #[error("{package} cannot be encoded as a component")]
    Component {
        /// The crate's package name.
        package: String,
        /// Why the module cannot be encoded.
        source: ComponentError,
    },
}

/// Builds the crates in `folders` into components, in the order of `folders`. All crates must be in one cargo
/// workspace.
///
/// `target` is cargo's target directory; none is the directory `guest` in the workspace's target directory. It must not
/// be the target directory of a running cargo: both would wait for its lock.
///
/// # Errors
///
/// Where no toolchain is found, a crate does not compile, or its module does not conform to the contract.
pub fn build(folders: &[PathBuf], target: Option<&Path>, lock: LockFile) -> Result<Vec<Built>, BuildError> {
    let Some(first) = folders.first() else { return Ok(Vec::new()) };
    let toolchain = Toolchain::discover(first)?;
    compile::compile(&toolchain, folders, target, lock)?
        .into_iter()
        .map(|compiled| {
            let component = component::encode(&compiled.module)
                .map_err(|source| BuildError::Component { package: compiled.package.clone(), source })?;
            let compile::Compiled { package, predicate, scorer, accounting, folder, module: _ } = compiled;
            Ok(Built { package, predicate, scorer, accounting, folder, component })
        })
        .collect()
}
