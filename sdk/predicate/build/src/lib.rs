//! Builds predicate crates for wasm32 and makes components of them.
//!
//! Three steps, a module each: [`toolchain`] finds a Rust toolchain that can compile for `wasm32-unknown-unknown`,
//! [`compile`] runs one cargo over all crates that are asked for, and [`component`] turns core modules into components
//! and reads their imports back. [`build`] is the three in a row; start there. The binary `nodesift-guest` is the same
//! for an author's own crate.

pub mod compile;
pub mod component;
pub mod toolchain;

use std::path::{Path, PathBuf};

use crate::component::ComponentError;
use crate::toolchain::{Toolchain, ToolchainError};

/// A predicate crate, built.
#[derive(Debug)]
pub struct Built {
    /// The crate's package name.
    pub package: String,
    /// The predicate's name as `package.metadata.nodesift.predicate` gives it.
    pub predicate: Option<String>,
    /// The folder of the crate.
    pub folder: PathBuf,
    /// The component.
    pub component: Vec<u8>,
}

/// Why a predicate was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Nothing on this machine compiles for wasm32.
    #[error(transparent)]
    Toolchain(#[from] ToolchainError),
    /// The crates did not compile.
    #[error(transparent)]
    Compile(#[from] compile::CompileError),
    /// A crate compiled, but its module does not fit the contract.
    #[error("{package} does not make a component")]
    Component {
        /// The crate's package name.
        package: String,
        /// What is wrong with the module.
        source: ComponentError,
    },
}

/// Builds the crates in `folders`, which lie in one cargo workspace, into components, in the order of `folders`.
///
/// `target` is cargo's folder for build products; without it, it is the folder `guest` beside the workspace's own
/// products. It must not be the one of a cargo that is running, or the two would wait for each other.
///
/// # Errors
///
/// Where no toolchain is found, a crate does not compile, or its module does not fit the contract.
pub fn build(folders: &[PathBuf], target: Option<&Path>) -> Result<Vec<Built>, BuildError> {
    let Some(first) = folders.first() else { return Ok(Vec::new()) };
    let toolchain = Toolchain::discover(first)?;
    compile::compile(&toolchain, folders, target)?
        .into_iter()
        .map(|compiled| {
            let component = component::encode(&compiled.module)
                .map_err(|source| BuildError::Component { package: compiled.package.clone(), source })?;
            Ok(Built { package: compiled.package, predicate: compiled.predicate, folder: compiled.folder, component })
        })
        .collect()
}
