//! Compiles predicate crates into core modules, all with one cargo. Start at [`compile`].
//!
//! The cargo may run inside a build script: it has a folder of its own for build products, and takes the profile from
//! its environment, so that the release profile of the workspace stays what it is for everything else.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::toolchain::Toolchain;

/// The profile of guests: small and fast, one unit, no unwinding. Debug information would outweigh the code.
const PROFILE: [(&str, &str); 7] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_STRIP", "true"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
];

/// Separates the flags in `CARGO_ENCODED_RUSTFLAGS`.
const FLAG_SEPARATOR: &str = "\u{1f}";

/// A predicate crate, compiled.
#[derive(Debug)]
pub struct Compiled {
    /// The crate's package name.
    pub package: String,
    /// The predicate's name as `package.metadata.nodesift.predicate` gives it.
    pub predicate: Option<String>,
    /// The folder of the crate.
    pub folder: PathBuf,
    /// The core module.
    pub module: Vec<u8>,
}

/// Why crates did not compile.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A crate's folder cannot be found.
    #[error("no crate at {folder}")]
    Folder {
        /// The folder that was asked for.
        folder: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// Cargo cannot be started.
    #[error("cargo cannot be started")]
    Start(#[source] io::Error),
    /// Cargo refuses the workspace.
    #[error("cargo does not read the workspace: {0}")]
    Workspace(String),
    /// Cargo's messages are not what they are documented to be.
    #[error("cargo's messages cannot be read")]
    Messages(#[source] serde_json::Error),
    /// The folder holds no package of the workspace of the first folder.
    #[error("{0} is not a package of the workspace")]
    NotAPackage(PathBuf),
    /// A crate does not compile; cargo has said why.
    #[error("the crates do not compile: see cargo's messages above")]
    Failed,
    /// The crate makes no wasm module.
    #[error("{0} makes no wasm module: its Cargo.toml needs `[lib]` with `crate-type = [\"cdylib\", \"rlib\"]`")]
    NoModule(String),
    /// A module cannot be read.
    #[error("the module {path} cannot be read")]
    Read {
        /// Where cargo put the module.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
}

/// The workspace around a crate.
#[derive(Debug)]
struct Workspace {
    root: PathBuf,
    /// Where cargo puts build products.
    products: PathBuf,
    /// By folder.
    packages: BTreeMap<PathBuf, Package>,
}

/// A package of the workspace.
#[derive(Debug)]
struct Package {
    name: String,
    predicate: Option<String>,
}

/// Compiles the crates in `folders` into core modules, in the order of `folders`, with build products in `target` or,
/// without it, in a folder `guest` beside the workspace's own.
///
/// # Errors
///
/// Where a folder holds no crate, or a crate does not compile or makes no module.
pub fn compile(
    toolchain: &Toolchain,
    folders: &[PathBuf],
    target: Option<&Path>,
) -> Result<Vec<Compiled>, CompileError> {
    let folders = folders
        .iter()
        .map(|folder| folder.canonicalize().map_err(|source| CompileError::Folder { folder: folder.clone(), source }))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = folders.first() else { return Ok(Vec::new()) };
    let Workspace { root, products, mut packages } = workspace(toolchain, first)?;
    let mut wanted = Vec::with_capacity(folders.len());
    for folder in folders {
        let package = packages.remove(&folder).ok_or_else(|| CompileError::NotAPackage(folder.clone()))?;
        wanted.push((folder, package));
    }

    let mut command = toolchain.cargo("build", &root);
    toolchain.target(&mut command);
    command.args(["--release", "--lib", "--message-format=json-render-diagnostics", "--target-dir"]);
    command.arg(target.map_or_else(|| products.join("guest"), Path::to_owned));
    for (_, package) in &wanted {
        command.args(["--package", &package.name]);
    }
    command.envs(PROFILE).env("CARGO_ENCODED_RUSTFLAGS", flags(toolchain, &root)).stderr(Stdio::inherit());
    let modules = modules(&run(&mut command)?)?;

    wanted
        .into_iter()
        .map(|(folder, package)| {
            let path = modules.get(&folder).ok_or_else(|| CompileError::NoModule(package.name.clone()))?;
            let module = std::fs::read(path).map_err(|source| CompileError::Read { path: path.clone(), source })?;
            Ok(Compiled { package: package.name, predicate: package.predicate, folder, module })
        })
        .collect()
}

/// What cargo knows of the workspace around `folder`.
fn workspace(toolchain: &Toolchain, folder: &Path) -> Result<Workspace, CompileError> {
    let mut command = toolchain.cargo("metadata", folder);
    command.args(["--no-deps", "--format-version", "1"]);
    let output = command.output().map_err(CompileError::Start)?;
    if !output.status.success() {
        return Err(CompileError::Workspace(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(CompileError::Messages)?;
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        if let (Some(name), Some(folder)) = (package["name"].as_str(), folder_of(package)) {
            let predicate = package["metadata"]["nodesift"]["predicate"].as_str().map(str::to_owned);
            packages.insert(folder, Package { name: name.to_owned(), predicate });
        }
    }
    let path = |field: &str| metadata[field].as_str().map(PathBuf::from);
    let root = path("workspace_root").unwrap_or_else(|| folder.to_owned());
    let products = path("target_directory").unwrap_or_else(|| root.join("target"));
    Ok(Workspace { root, products, packages })
}

/// The compiler's flags. Vector instructions are what makes columns fast. Paths of this machine stay out of the
/// modules, so that their digests do not depend on where they were built.
fn flags(toolchain: &Toolchain, root: &Path) -> String {
    let mut flags = vec![String::from("-Ctarget-feature=+simd128")];
    let mut remap = |path: &Path, name: &str| flags.push(format!("--remap-path-prefix={}={name}", path.display()));
    remap(root, "/src");
    if let Some(home) = std::env::home_dir() {
        let home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
        remap(&home, "/cargo");
    }
    if let Some(library) = toolchain.library() {
        remap(library, "/library");
    }
    flags.join(FLAG_SEPARATOR)
}

/// Runs cargo and returns its messages.
fn run(command: &mut Command) -> Result<Vec<Value>, CompileError> {
    let output = command.stdout(Stdio::piped()).output().map_err(CompileError::Start)?;
    if !output.status.success() {
        return Err(CompileError::Failed);
    }
    // Lines that are not JSON are what a build script of a dependency prints.
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{"));
    lines.map(|line| serde_json::from_slice(line).map_err(CompileError::Messages)).collect()
}

/// The modules that cargo says it made, by the folder of their crate.
fn modules(messages: &[Value]) -> Result<BTreeMap<PathBuf, PathBuf>, CompileError> {
    let mut modules = BTreeMap::new();
    for message in messages.iter().filter(|message| message["reason"] == "compiler-artifact") {
        let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from);
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "wasm")) {
            if let Some(folder) = folder_of(message) {
                modules.insert(folder, file);
            }
        }
    }
    Ok(modules)
}

/// The folder of the `manifest_path` that cargo's messages and metadata carry.
fn folder_of(message: &Value) -> Option<PathBuf> {
    Path::new(message["manifest_path"].as_str()?).parent()?.canonicalize().ok()
}
